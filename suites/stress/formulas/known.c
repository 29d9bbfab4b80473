/* Scenes by their bits: seed 0 has made them before, on every instruction set. Data that are meant
 * to change take new numbers here, those that a failure tells. */
#include "base/random/level.h"
#include "suites/scene_tiles.h"
#include "synth/tokens/tokens.h"

#include <string.h>

enum { SIDE = 70, CHANNELS = 27, SEQUENCES = 64, LENGTH = 65 };

static const struct {
    const char *name;
    struct synth_spec spec; /* sizes and seed are set below */
    uint64_t bits;
} scenes[] = {
    {"default", {.preset = SYNTH_SCENE}, UINT64_C(0xf22a9130550e1ce9)},
    {"points", {.fwhm_nm = SYNTH_OFF}, UINT64_C(0x56ac82e0935fbf89)},
    {"plain",
     {.variability = SYNTH_OFF, .grain = SYNTH_OFF, .prnu = SYNTH_OFF, .dsnu = SYNTH_OFF},
     UINT64_C(0xefd08a6db5cf10ec)},
    {"many",
     {.endmembers = 7, .correlation_px = 5, .target_fraction = 0.1, .blank_bands = true},
     UINT64_C(0x82258f4a7adafb6f)},
    {"few",
     {.endmembers = 2, .correlation_px = 40, .snr_db = 20, .dead_fraction = 0.05, .bits = 8},
     UINT64_C(0xbbbe8e1aa861f525)},
    {"optics",
     {.psf_px = 1.5, .smile_nm = 2, .keystone_px = 1.3, .target_fraction = 0.1},
     UINT64_C(0x5e49c65dbc7a523d)},
    {"cuvis", {.preset = SYNTH_CUVIS}, UINT64_C(0x99742cb261cb5c27)},
    {"grain", {.grain_px = 3}, UINT64_C(0x6436c660066cc32f)},
    {"shapes",
     {.target_shape = SYNTH_MIXED, .target_px = 4.5, .target_fraction = 0.03},
     UINT64_C(0x968d871030a2001b)},
};

/* Values and truth of a cube, in tiles of no round size, and some bands of it. */
static uint64_t bits_of(struct yp_case *t, const struct synth_spec *spec)
{
    enum { TILE = 611, PIXELS = SIDE * SIDE };
    struct synth_scene *scene = synth_scene_create(yp_device_cpu(), spec);
    yp_got(t, scene);
    size_t endmembers = synth_scene_spec(scene)->endmembers;
    float *values = yp_alloc_host(t, PIXELS * CHANNELS * sizeof *values);
    float *fill = yp_alloc_host(t, PIXELS * sizeof *fill);
    float *band = yp_alloc_host(t, PIXELS * sizeof *band);
    float *abundances = yp_alloc_host(t, PIXELS * 7 * sizeof *abundances);
    uint8_t *labels = yp_alloc_host(t, PIXELS), *valid = yp_alloc_host(t, PIXELS);
    bool mixes = spec->preset == SYNTH_SCENE;
    for (size_t at = 0; at < PIXELS; at += TILE) {
        size_t n = PIXELS - at < TILE ? PIXELS - at : TILE;
        struct synth_truth truth = {.labels = labels + at,
                                    .fill = fill + at,
                                    .valid = valid + at,
                                    .abundances = mixes ? abundances + at * endmembers : NULL};
        yp_ok(t, synth_scene_tile(scene, 9, at, n, values + at * CHANNELS, &truth));
    }
    for (size_t c = 0; c < CHANNELS; c += 13) {
        yp_ok(t, synth_scene_band(scene, 9, c, 100, PIXELS - 100, band));
        for (size_t p = 0; p < PIXELS - 100; p++)
            yp_require(t, memcmp(&band[p], &values[(p + 100) * CHANNELS + c], sizeof *band) == 0,
                       "band %zu has other bits at pixel %zu", c, p + 100);
    }
    uint64_t hash = yp_hash_f32(0, values, PIXELS * CHANNELS);
    hash += 3 * yp_hash_f32(0, fill, PIXELS);
    if (mixes)
        hash += 5 * yp_hash_f32(0, abundances, PIXELS * endmembers);
    for (size_t p = 0; p < PIXELS; p++)
        hash = hash * 0x100000001b3 + 2 * labels[p] + valid[p];
    synth_scene_destroy(scene);
    return hash;
}

YP_TEST(synth, known, .tags = "stress small", .timeout = 120, .parallel = true,
        .axes = YP_AXES(yp_axis_string("scene", "default", "points", "plain", "many", "few",
                                       "optics", "cuvis", "grain", "shapes")))
{
    size_t which = 0;
    while (strcmp(scenes[which].name, yp_string(t, "scene")) != 0)
        which++;
    struct synth_spec spec = scenes[which].spec;
    spec.height = spec.width = SIDE;
    spec.channels = CHANNELS;
    for (int level = YPI_LEVEL_AUTO; level <= YPI_LEVEL_AVX512; level++) {
        spec.level = (enum ypi_level)level;
        if (!ypi_level_runs(spec.level))
            continue;
        uint64_t bits = bits_of(t, &spec);
        yp_expect(t, bits == scenes[which].bits,
                  "level %d: the bits are 0x%016llx, known are 0x%016llx", level,
                  (unsigned long long)bits, (unsigned long long)scenes[which].bits);
    }
}

YP_TEST(synth, known_tokens, .tags = "stress small", .timeout = 120, .parallel = true)
{
    const struct synth_tokens chain = {0, 16, 2};
    const uint64_t known = UINT64_C(0x69e94f4003890fe7);
    uint64_t hash = 0;
    int32_t tokens[LENGTH];
    for (uint64_t s = 0; s < SEQUENCES; s++) {
        synth_tokens_sequence(&chain, s, LENGTH, tokens);
        for (size_t i = 0; i < LENGTH; i++)
            hash = hash * 0x100000001b3 + (uint64_t)tokens[i];
    }
    yp_expect(t, hash == known, "the tokens are 0x%016llx, known are 0x%016llx",
              (unsigned long long)hash, (unsigned long long)known);
}

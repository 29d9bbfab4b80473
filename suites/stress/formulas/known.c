/* Scenes by their bits: every instruction set and a GPU makes what has been made before. Data that
 * are meant to change take new numbers here, those that a failure tells. */
#include "base/random/level.h"
#include "suites/scene_tiles.h"
#include "synth/scene/purpose.h"
#include "synth/tokens/tokens.h"

#include <string.h>

enum { SIDE = 70, CHANNELS = 27, SEQUENCES = 64, LENGTH = 65 };

#define SEEDED .seed = UINT64_C(0x0123456789abcdef)
#define SIZED(height_, width_, channels_) \
    .height = height_, .width = width_, .channels = channels_, SEEDED

/* Both presets, each term alone or left out, every variant of the code that makes values; sizes
 * that leave every loop and patch a rest, and that are below or above those of chunks and blocks.
 */
static const struct {
    const char *name;
    struct synth_spec spec; /* without a size: SIDE x SIDE x CHANNELS */
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
    {"one", {SIZED(1, 1, 1)}, UINT64_C(0x81d15bcebdf73c27)},
    {"one_cuvis", {.preset = SYNTH_CUVIS, SIZED(1, 1, 1)}, UINT64_C(0x638c81036c3d9163)},
    {"wide", {SIZED(3, 5, 8193), .target_fraction = 0.3}, UINT64_C(0x996f5d5f942be047)},
    {"wide_cuvis", {.preset = SYNTH_CUVIS, SIZED(3, 5, 8193)}, UINT64_C(0xcbf55c9cc4eb0dfc)},
    {"quads",
     {SIZED(5, 9, 1030), .target_fraction = 0.05, .correlation_px = 1},
     UINT64_C(0x0bc3eda0b453223c)},
    {"column",
     {SIZED(150, 1, 5), .correlation_px = 1, .grain_px = 2, .target_fraction = 1},
     UINT64_C(0xb421d09ffbf96d14)},
    {"row",
     {SIZED(1, 150, 16), .correlation_px = 3, .grain_px = 64, .target_shape = SYNTH_RECTANGLE,
      .target_px = 63.9, .target_fraction = 0.05},
     UINT64_C(0x71211e9c8484e6d9)},
    {"dense",
     {SIZED(37, 49, 10), .correlation_px = 2, .grain_px = 7, .target_shape = SYNTH_DISC,
      .target_px = 1, .target_fraction = 0.015, .fill_low = 0.6, .fill_high = 0.6},
     UINT64_C(0x5208cb5e3ad6016e)},
    {"smooth",
     {SIZED(21, 43, 100), .correlation_px = 65536, .sharpness = 20, .shade = 0.5, .grain = 0.5},
     UINT64_C(0xba3b0cd54204a51e)},
    {"sensor",
     {SIZED(17, 33, 37), .variability = SYNTH_OFF, .prnu = 0.1, .dead_elements = 0.2,
      .target_fraction = 0.3, .snr_db = 1, .path = 1},
     UINT64_C(0xb5b831cf3d11e125)},
    {"elements",
     {SIZED(9, 31, 70), .prnu = SYNTH_OFF, .dsnu = SYNTH_OFF, .dead_elements = 0.05},
     UINT64_C(0xdae4c63c92d7b7e9)},
    {"unread",
     {SIZED(29, 71, 37), .endmembers = 7, .prnu = SYNTH_OFF, .dsnu = SYNTH_OFF, .snr_db = SYNTH_OFF,
      .bits = SYNTH_OFF, .dead_fraction = SYNTH_OFF, .target_fraction = 0.05},
     UINT64_C(0x6390782fea1eef9e)},
    {"unlit",
     {SIZED(29, 71, 13), .shade = SYNTH_OFF, .water = SYNTH_OFF, .path = SYNTH_OFF,
      .dsnu = SYNTH_OFF, .target_fraction = SYNTH_OFF},
     UINT64_C(0xd3b4e6218e347017)},
    {"widths",
     {SIZED(5, 7, 61), .fwhm_nm = 300, .first_nm = 500, .last_nm = 1000, .water = 0.4},
     UINT64_C(0x8485a624798c13f3)},
    {"lines",
     {SIZED(9, 31, 211), .fwhm_nm = 3, .blank_bands = true, .dead_fraction = 0.1},
     UINT64_C(0xa0ab4a07813f6991)},
    {"spread", {SIZED(3, 2, 5), .psf_px = 4, .target_fraction = 0.4}, UINT64_C(0xc1cbb40277da0ebd)},
    {"keystone",
     {SIZED(7, 33, 150), .keystone_px = 4, .variability = SYNTH_OFF, .dead_fraction = 0.1},
     UINT64_C(0x43e7cf60f3b43f99)},
    {"smile",
     {SIZED(3, 41, 200), .smile_nm = 20, .psf_px = 0.01, .dead_elements = 0.05, .water = 1,
      .blank_bands = true, .target_fraction = 0.05},
     UINT64_C(0x3ea1acd6934e6211)},
    {"loud_cuvis",
     {.preset = SYNTH_CUVIS,
      SIZED(145, 71, 3),
      .anomaly_ratio = 0.6,
      .anomaly_strength = 30,
      .noise_std = 1},
     UINT64_C(0xa5bb507a0f27ec0e)},
    {"still_cuvis",
     {.preset = SYNTH_CUVIS, SIZED(45, 71, 37), .anomaly_ratio = SYNTH_OFF, .noise_std = SYNTH_OFF},
     UINT64_C(0x972cc9c83fd8cad9)},
};

static enum yp_status names(struct yp_axis_values *values, const void *arg)
{
    enum yp_status status = YP_OK;
    (void)arg;
    for (size_t i = 0; i < sizeof scenes / sizeof *scenes && status == YP_OK; i++)
        status = yp_axis_add_string(values, scenes[i].name);
    return status;
}

enum { VALUES, FILL, ABUNDANCES, LABELS, VALID, ARRAYS };

/* A pass for each instruction set, on a GPU as many: tiles, and which arrays are wanted. */
enum { PASSES = 4 };
static const size_t tiles[PASSES] = {611, SIZE_MAX, 97, 33};
static const unsigned wanted[PASSES] = {31, 1 << VALUES | 1 << FILL, 1 << VALUES | 1 << ABUNDANCES,
                                        1 << VALUES | 1 << VALID};

/* A cube that is made tile by tile. */
struct made {
    struct synth_scene *scene;
    uint64_t cube;
    size_t pixels, each[ARRAYS];         /* bytes a pixel; 0: there is no such array */
    unsigned char *whole[ARRAYS], *host; /* in the host's memory */
    unsigned char *staging[ARRAYS];      /* in the device's: a pixel, two tiles, a pixel */
};

static struct made made_of(struct yp_case *t, const struct synth_spec *spec)
{
    struct made m = {.cube = spec->seed != 0 ? SYNTH_CUBES - 1 : 9, /* the last has its own too */
                     .pixels = spec->height * spec->width,
                     .each = {4 * spec->channels, 4, 4 * spec->endmembers, 1, 1}};
    for (int i = 0; i < ARRAYS; i++) {
        m.whole[i] = yp_alloc_host(t, m.pixels * m.each[i] + 1);
        m.staging[i] = yp_alloc(t, (2 * m.pixels + 2) * m.each[i] + 1);
    }
    m.host = yp_alloc_host(t, (2 * m.pixels + 2) * (m.each[VALUES] + m.each[ABUNDANCES] + 4));
    return m;
}

/* Pixels of the cube, behind those of the one before it; what is not wanted and what lies around
 * stays as it is. */
static void make_tile(struct yp_case *t, const struct made *m, size_t at, size_t n, unsigned arrays)
{
    struct yp_device *device = yp_device(t);
    void *to[ARRAYS];
    for (int i = 0; i < ARRAYS; i++) {
        memset(m->host, 0xff, (2 * n + 2) * m->each[i]);
        yp_ok(t, yp_device_copy(device, m->staging[i], m->host, (2 * n + 2) * m->each[i]));
        to[i] = (arrays >> i & 1) && m->each[i] > 0 ? m->staging[i] + m->each[i] : NULL;
    }
    struct synth_truth truth = {to[LABELS], to[FILL], to[ABUNDANCES], to[VALID]};
    yp_ok(t, synth_scene_cubes(m->scene, m->cube - 1, 2, at, n, to[VALUES], &truth));
    for (int i = 0; i < ARRAYS; i++) {
        size_t each = m->each[i], last = (2 * n + 1) * each;
        yp_ok(t, yp_device_copy(device, m->host, m->staging[i], last + each));
        for (size_t k = 0; k < each; k++)
            yp_require(t, m->host[k] == 0xff && m->host[last + k] == 0xff,
                       "array %d: written beyond %zu pixels from %zu on", i, n, at);
        if (to[i] != NULL)
            memcpy(m->whole[i] + at * each, m->host + (1 + n) * each, n * each);
    }
}

static uint64_t bits_of(struct yp_case *t, const struct made *m, int pass)
{
    for (int i = 0; i < ARRAYS; i++)
        if (wanted[pass] >> i & 1)
            memset(m->whole[i], 0xff, m->pixels * m->each[i]);
    for (size_t at = 0, n; at < m->pixels; at += n) {
        n = m->pixels - at < tiles[pass] ? m->pixels - at : tiles[pass];
        make_tile(t, m, at, n, wanted[pass]);
    }
    const float *values = (void *)m->whole[VALUES], *fill = (void *)m->whole[FILL];
    uint64_t hash = yp_hash_f32(0, values, m->pixels * m->each[VALUES] / 4);
    hash += 3 * yp_hash_f32(0, fill, m->pixels);
    if (m->each[ABUNDANCES] > 0)
        hash +=
            5 * yp_hash_f32(0, (void *)m->whole[ABUNDANCES], m->pixels * m->each[ABUNDANCES] / 4);
    for (size_t p = 0; p < m->pixels; p++)
        hash = hash * 0x100000001b3 + 2 * m->whole[LABELS][p] + m->whole[VALID][p];
    return hash;
}

static void check_bands(struct yp_case *t, const struct made *m)
{
    size_t channels = m->each[VALUES] / 4, first = m->pixels / 49, n = m->pixels - first;
    const float *values = (void *)m->whole[VALUES];
    float *band = yp_alloc_host(t, n * sizeof *band);
    if (runs_on_gpu(t)) {
        yp_expect(t, synth_scene_band(m->scene, m->cube, 0, 0, 1, band) == YP_UNSUPPORTED,
                  "a GPU makes bands");
        return;
    }
    for (size_t c = 0; c < channels; c += 11) {
        yp_ok(t, synth_scene_band(m->scene, m->cube, c, first, n, band));
        for (size_t p = 0; p < n; p++)
            yp_require(t, memcmp(&band[p], &values[(p + first) * channels + c], sizeof *band) == 0,
                       "band %zu has other bits at pixel %zu", c, p + first);
    }
}

YP_TEST(synth, known, .tags = "stress small", .timeout = 120, .parallel = true,
        .devices = "cpu cuda", .axes = YP_AXES(yp_axis_from("scene", names, NULL)))
{
    size_t which = 0;
    while (strcmp(scenes[which].name, yp_string(t, "scene")) != 0)
        which++;
    struct synth_spec spec = scenes[which].spec;
    bool optics = spec.psf_px > 0 || spec.smile_nm > 0 || spec.keystone_px > 0;
    spec.height = spec.height > 0 ? spec.height : SIDE;
    spec.width = spec.width > 0 ? spec.width : SIDE;
    spec.channels = spec.channels > 0 ? spec.channels : CHANNELS;
    if (spec.preset == SYNTH_SCENE && spec.endmembers == 0)
        spec.endmembers = 6;
    struct made m = made_of(t, &spec);
    for (int pass = 0; pass < PASSES; pass++) {
        spec.level = runs_on_gpu(t) ? YPI_LEVEL_AUTO : (enum ypi_level)pass;
        if (!ypi_level_runs(spec.level))
            continue;
        struct synth_scene *scene = synth_scene_create(yp_device(t), &spec);
        if (optics && runs_on_gpu(t)) {
            yp_expect(t, scene == NULL && strstr(yp_last_error(), "made on the CPU only") != NULL,
                      "optics on a GPU: %s", yp_last_error());
            return;
        }
        yp_got(t, scene);
        m.scene = scene;
        uint64_t bits = bits_of(t, &m, pass);
        check_bands(t, &m);
        synth_scene_destroy(scene);
        yp_expect(t, bits == scenes[which].bits,
                  "pass %d: the bits are 0x%016llx, known are 0x%016llx", pass,
                  (unsigned long long)bits, (unsigned long long)scenes[which].bits);
    }
}

YP_TEST(synth, known_tokens, .tags = "stress small", .timeout = 120, .parallel = true)
{
    static const struct {
        struct synth_tokens chain;
        uint64_t bits;
    } known[] = {{{0, 16, 2}, UINT64_C(0x69e94f4003890fe7)},
                 {{7, 5, 1}, UINT64_C(0x4d4f7ccb68be9254)},
                 {{UINT64_C(1) << 40, 1000, 2}, UINT64_C(0x85a8696b2ddef57a)}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        uint64_t hash = 0;
        int32_t tokens[LENGTH];
        for (uint64_t s = 0; s < SEQUENCES; s++) {
            synth_tokens_sequence(&known[i].chain, s, LENGTH, tokens);
            for (size_t k = 0; k < LENGTH; k++)
                hash = hash * 0x100000001b3 + (uint64_t)tokens[k];
        }
        yp_expect(t, hash == known[i].bits,
                  "chain %zu: the tokens are 0x%016llx, known are 0x%016llx", i,
                  (unsigned long long)hash, (unsigned long long)known[i].bits);
    }
}

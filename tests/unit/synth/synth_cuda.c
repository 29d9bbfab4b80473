/* What synth/'s kernels make, on the emulated device:
 * the CPU's bits, everything that is wanted and nothing beside it. */
#include "synth/cuda/work.h"
#include "synth/scene/device_stream.h"
#include "tests/emulated/device.h"
#include "tests/unit/synth/scene_kit.h"

#include <stdio.h>

enum { GUARD = 64 }; /* bytes before and after what is written, which must stay */

/* Arrays on the device are looked at where they are; new memory is no number, and threads come in
 * orders that find a missing barrier and memory that two have. */
static void set_up(void)
{
    emulated.unprotected = true;
    emulated.kernels.garbage = EMULATED_NAN;
    emulated.kernels.order = YPK_MIXED;
}

TestSuite(synth_cuda, .init = set_up);

/* What a call is to write: `bytes` somewhere in memory of the device. */
struct guarded {
    uint8_t *block, *at;
    size_t bytes;
};

static struct guarded guarded_new(size_t bytes, size_t shift)
{
    struct guarded g = {.bytes = bytes};
    g.block = yp_device_alloc(emulated_device(), bytes + shift + 2 * (size_t)GUARD);
    cr_assert_not_null(g.block);
    memset(g.block, 0xa5, bytes + shift + 2 * (size_t)GUARD);
    g.at = g.block + GUARD + shift;
    return g;
}

static void guarded_check(struct guarded g, const void *right, const char *what)
{
    size_t wrong = 0;
    while (wrong < g.bytes && g.at[wrong] == ((const uint8_t *)right)[wrong])
        wrong++;
    cr_expect_eq(wrong, g.bytes, "%s: byte %zu of %zu differs", what, wrong, g.bytes);
    for (const uint8_t *p = g.block; p < g.at; p++)
        cr_assert_eq(*p, 0xa5, "%s: %td bytes before the first", what, g.at - p);
    for (size_t i = 0; i < GUARD; i++)
        cr_assert_eq(g.at[g.bytes + i], 0xa5, "%s: %zu bytes after the last", what, i);
    yp_device_free(emulated_device(), g.block);
}

/* ---- scenes ---- */

static struct synth_scene *accelerated(const struct synth_spec *spec)
{
    struct synth_scene *scene = synth_scene_create(emulated_device(), spec);
    cr_assert_not_null(scene, "%s", scene == NULL ? yp_last_error() : "");
    return scene;
}

/* Pixels first .. of cubes 3 .. : `shift` bytes put the values out of line. */
struct part {
    size_t first, pixels, cubes, shift;
};

static void check_part(const struct synth_scene *cpu, const struct synth_scene *gpu, struct part p,
                       const char *what)
{
    const struct synth_spec *spec = synth_scene_spec(cpu);
    size_t all = p.pixels * p.cubes, shares = all * spec->endmembers * sizeof(float);
    bool mixing = spec->preset == SYNTH_SCENE;
    struct guarded values = guarded_new(all * spec->channels * sizeof(float), p.shift);
    struct guarded labels = guarded_new(all, 0), valid = guarded_new(all, 0);
    struct guarded fill = guarded_new(all * sizeof(float), 0), shared = guarded_new(shares, 0);
    struct synth_truth truth = {labels.at, (float *)(void *)fill.at,
                                mixing ? (float *)(void *)shared.at : NULL, valid.at};
    cr_assert_eq(
        synth_scene_cubes(gpu, 3, p.cubes, p.first, p.pixels, (float *)(void *)values.at, &truth),
        YP_OK, "%s: %s", what, yp_last_error());

    float *value = malloc(values.bytes + 1), *share = malloc(shares + 1);
    float *filled = malloc(fill.bytes + 1);
    uint8_t *label = malloc(all + 1), *good = malloc(all + 1);
    struct synth_truth right = {label, filled, mixing ? share : NULL, good};
    cr_assert_eq(synth_scene_cubes(cpu, 3, p.cubes, p.first, p.pixels, value, &right), YP_OK);
    guarded_check(values, value, what);
    guarded_check(labels, label, what);
    guarded_check(fill, filled, what);
    guarded_check(valid, good, what);
    if (mixing)
        guarded_check(shared, share, what);
    else
        yp_device_free(emulated_device(), shared.block);
    free(value);
    free(share);
    free(filled);
    free(label);
    free(good);
}

/* Whole, from within, one pixel, several cubes, out of line. */
static void check_scene(const struct synth_spec *spec, const char *what)
{
    struct synth_scene *cpu = kit_scene(spec), *gpu = accelerated(spec);
    size_t pixels = spec->height * spec->width, third = pixels / 3;
    const struct part parts[] = {{0, pixels, 1, 0},
                                 {third, pixels - third - third / 5, 1, 0},
                                 {pixels - 1, 1, 1, 4},
                                 {0, pixels, 2, 0},
                                 {third / 2, third + 1, 3, 8}};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        check_part(cpu, gpu, parts[i], what);
    synth_scene_destroy(gpu);
    synth_scene_destroy(cpu);
}

/* Remainders everywhere; targets and dead pixels that are no rarity. */
static struct synth_spec odd(size_t channels)
{
    struct synth_spec spec = kit_sized(21, 43, channels);
    spec.seed = 0x0123456789abcdef;
    spec.target_fraction = 0.05;
    spec.dead_fraction = 0.02;
    return spec;
}

Test(synth_cuda, makes_the_same_scene_of_any_number_of_channels, .timeout = 120)
{
    static const size_t channels[] = {1, 2, 3, 4, 5, 7, 8, 10, 16, 37, 50, 64, 100, 200};
    for (size_t i = 0; i < sizeof channels / sizeof *channels; i++) {
        char what[64];
        struct synth_spec spec = odd(channels[i]);
        snprintf(what, sizeof what, "%zu channels", channels[i]);
        check_scene(&spec, what);
        spec.endmembers = 7;
        check_scene(&spec, what);
    }
}

/* More than a block's threads have: 256 quads are 1024 channels, 512 or 256. */
Test(synth_cuda, makes_the_same_scene_of_more_channels_than_a_block_has_threads, .timeout = 120)
{
    static const size_t channels[] = {257, 514, 1028, 2200};
    for (size_t i = 0; i < sizeof channels / sizeof *channels; i++) {
        char what[64];
        struct synth_spec spec = odd(channels[i]);
        spec.height = 5;
        spec.width = 9;
        snprintf(what, sizeof what, "%zu channels", channels[i]);
        check_scene(&spec, what);
        spec.preset = SYNTH_CUVIS;
        spec.target_fraction = spec.dead_fraction = 0;
        check_scene(&spec, what);
    }
}

Test(synth_cuda, makes_the_same_scene_with_each_option_off_and_on_alone, .timeout = 120)
{
    static const struct {
        const char *name;
        size_t at;
        double on;
    } options[] = {
#define OPTION(field, on) {#field, offsetof(struct synth_spec, field), on}
        OPTION(variability, 0.25),  OPTION(shade, 0.2),         OPTION(grain, 0.1),
        OPTION(water, 0.97),        OPTION(path, 0.1),          OPTION(snr_db, 40),
        OPTION(prnu, 0.005),        OPTION(dsnu, 0.005),        OPTION(bits, 8),
        OPTION(dead_fraction, 0.3), OPTION(target_fraction, 1), OPTION(dead_elements, 0.2),
#undef OPTION
    };
    for (size_t i = 0; i < sizeof options / sizeof *options; i++)
        for (int on = 0; on < 2; on++)
            for (size_t channels = 35; channels <= 36; channels++) {
                char what[64];
                struct synth_spec spec = odd(channels);
                double value = on ? options[i].on : SYNTH_OFF;
                if (on)
                    spec = kit_off(spec);
                memcpy((char *)&spec + options[i].at, &value, sizeof value);
                snprintf(what, sizeof what, "%s %s, %zu channels", options[i].name,
                         on ? "alone" : "off", channels);
                check_scene(&spec, what);
            }
}

Test(synth_cuda, makes_the_same_scene_with_bands_blank_and_all_off, .timeout = 120)
{
    for (size_t channels = 99; channels <= 100; channels++) {
        struct synth_spec spec = odd(channels);
        spec.blank_bands = true;
        check_scene(&spec, "blank bands");
        spec = kit_off(odd(channels));
        check_scene(&spec, "all off");
    }
}

/* One lattice node a pixel, several patches a cell; fewer pixels than a patch. */
Test(synth_cuda, makes_the_same_scene_over_any_lattice, .timeout = 120)
{
    static const size_t pitches[] = {1, 2, 3, 7, 15, 16, 17, 40, 65536};
    static const size_t sides[][2] = {{1, 1},   {1, 50},  {50, 1}, {16, 16},
                                      {17, 33}, {48, 31}, {37, 48}};
    for (size_t i = 0; i < sizeof pitches / sizeof *pitches; i++)
        for (size_t k = 0; k < sizeof sides / sizeof *sides; k++) {
            char what[64];
            struct synth_spec spec = odd(6);
            spec.correlation_px = pitches[i];
            spec.endmembers = 2 + (i + k) % 6;
            spec.height = sides[k][0];
            spec.width = sides[k][1];
            snprintf(what, sizeof what, "pitch %zu, %zu x %zu", pitches[i], sides[k][0],
                     sides[k][1]);
            check_scene(&spec, what);
        }
}

Test(synth_cuda, makes_the_same_grain_over_any_lattice, .timeout = 120)
{
    static const size_t pitches[] = {2, 3, 7, 16, 64};
    static const size_t sides[][2] = {{1, 1}, {1, 50}, {50, 1}, {17, 33}, {37, 48}};
    for (size_t i = 0; i < sizeof pitches / sizeof *pitches; i++)
        for (size_t k = 0; k < sizeof sides / sizeof *sides; k++) {
            char what[64];
            struct synth_spec spec = odd(6);
            spec.grain_px = pitches[i];
            spec.height = sides[k][0];
            spec.width = sides[k][1];
            snprintf(what, sizeof what, "grain of %zu, %zu x %zu", pitches[i], sides[k][0],
                     sides[k][1]);
            check_scene(&spec, what);
            spec.grain = SYNTH_OFF;
            check_scene(&spec, "no grain of any pitch");
        }
}

Test(synth_cuda, makes_the_same_targets_of_any_shape, .timeout = 120)
{
    static const double sizes[] = {1, 2.7, 6, 17.5, 64};
    static const size_t sides[][2] = {{1, 1}, {1, 150}, {50, 1}, {37, 148}};
    for (int shape = SYNTH_DISC; shape <= SYNTH_MIXED; shape++)
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
            for (size_t k = 0; k < sizeof sides / sizeof *sides; k++) {
                char what[64];
                struct synth_spec spec = odd(6);
                spec.target_shape = (enum synth_shape)shape;
                spec.target_px = sizes[i];
                spec.target_fraction = i < 2 ? 0.015 : 0.05; /* what cells hold */
                spec.grain_px = 1 + i;
                spec.height = sides[k][0];
                spec.width = sides[k][1];
                snprintf(what, sizeof what, "shape %d of %g, %zu x %zu", shape, sizes[i],
                         sides[k][0], sides[k][1]);
                check_scene(&spec, what);
            }
}

Test(synth_cuda, divides_by_what_is_known_before)
{
    static const uint32_t numbers[] = {1,     2,     3,          5,          7,         16,
                                       24,    25,    63,         255,        65535,     65536,
                                       65537, 99991, 0x3fffffff, 0x40000000, 0x7fffffff};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        struct synth_divisor by = synth_divisor(numbers[i]);
        for (size_t k = 0; k < sizeof numbers / sizeof *numbers; k++)
            for (uint32_t off = 0; off < 5; off++) {
                uint32_t n = UINT32_MAX / numbers[k] * numbers[k] - 2 + off, m = numbers[k] - off;
                cr_expect_eq(synth_divided(n, by), n / numbers[i], "%u / %u", n, numbers[i]);
                cr_expect_eq(synth_divided(m, by), m / numbers[i], "%u / %u", m, numbers[i]);
            }
    }
}

Test(synth_cuda, makes_the_same_cuvis, .timeout = 120)
{
    static const size_t channels[] = {1, 3, 4, 10, 37, 50, 100};
    for (size_t i = 0; i < sizeof channels / sizeof *channels; i++)
        for (int noise = 0; noise < 2; noise++) {
            char what[64];
            struct synth_spec spec = kit_sized(noise ? 145 : 45, 71, channels[i]);
            spec.preset = SYNTH_CUVIS;
            spec.noise_std = noise ? 0 : SYNTH_OFF;
            spec.anomaly_ratio = noise ? 0.6 : 0; /* more discs than threads, or few */
            snprintf(what, sizeof what, "cuvis, %zu channels", channels[i]);
            check_scene(&spec, what);
            spec.anomaly_ratio = SYNTH_OFF;
            check_scene(&spec, "cuvis without anomalies");
        }
}

/* Any of them, wanted or not: the rest is not touched (NULL), and what is wanted is the same. */
Test(synth_cuda, gives_the_truth_that_is_wanted, .timeout = 60)
{
    for (int preset = SYNTH_SCENE; preset <= SYNTH_CUVIS; preset++)
        for (int wanted = 0; wanted < 16; wanted++) {
            struct synth_spec spec = odd(6);
            if (preset == SYNTH_CUVIS)
                spec.target_fraction = spec.dead_fraction = 0;
            spec.preset = (enum synth_preset)preset;
            struct synth_scene *gpu = accelerated(&spec);
            struct kit_cube right = kit_cube(&spec, 3);
            size_t n = right.pixels, shares = n * synth_scene_spec(gpu)->endmembers;
            struct guarded values = guarded_new(right.values * sizeof(float), 0);
            struct guarded some[4] = {guarded_new(n, 0), guarded_new(n * sizeof(float), 0),
                                      guarded_new(shares * sizeof(float) + 1, 0),
                                      guarded_new(n, 0)};
            struct synth_truth truth = {
                .labels = wanted & 1 ? some[0].at : NULL,
                .fill = wanted & 2 ? (float *)(void *)some[1].at : NULL,
                .abundances = wanted & 4 && shares > 0 ? (float *)(void *)some[2].at : NULL,
                .valid = wanted & 8 ? some[3].at : NULL};
            cr_assert_eq(synth_scene_tile(gpu, 3, 0, n, (float *)(void *)values.at,
                                          wanted == 0 ? NULL : &truth),
                         YP_OK);
            guarded_check(values, right.value, "values");
            if (wanted & 1)
                cr_expect_arr_eq(some[0].at, right.label, n);
            if (wanted & 2)
                cr_expect_arr_eq(some[1].at, right.fill, n * sizeof(float));
            if (truth.abundances != NULL)
                cr_expect_arr_eq(some[2].at, right.abundances, shares * sizeof(float));
            if (wanted & 8)
                cr_expect_arr_eq(some[3].at, right.valid, n);
            for (int i = 0; i < 4; i++)
                yp_device_free(emulated_device(), some[i].block);
            kit_free(right);
            synth_scene_destroy(gpu);
        }
}

Test(synth_cuda, takes_exactly_the_bytes_it_says_of_both)
{
    struct synth_spec spec = odd(37);
    struct yp_memory before, during, host;
    yp_device_memory(yp_device_cpu(), &before);
    struct synth_scene *gpu = accelerated(&spec);
    yp_device_memory(emulated_device(), &during);
    yp_device_memory(yp_device_cpu(), &host);
    cr_expect_eq(during.allocated, synth_scene_bytes(&spec));
    cr_expect_eq(host.allocated - before.allocated, synth_scene_bytes(&spec));
    synth_scene_destroy(gpu);
    yp_device_memory(emulated_device(), &during);
    yp_device_memory(yp_device_cpu(), &host);
    cr_expect_eq(during.allocated, 0);
    cr_expect_eq(host.allocated, before.allocated);

    for (int which = 0; which < 2; which++) {
        struct yp_device *short_of = which == 0 ? yp_device_cpu() : emulated_device();
        yp_device_fail_allocation(short_of, 1);
        cr_expect_null(synth_scene_create(emulated_device(), &spec));
        cr_expect_not_null(strstr(yp_last_error(), "out of memory"), "%s", yp_last_error());
        yp_device_memory(emulated_device(), &during);
        yp_device_memory(yp_device_cpu(), &host);
        cr_expect_eq(during.allocated + host.allocated, before.allocated, "something leaked");
    }
    emulated.copies_fail = true;
    cr_expect_null(synth_scene_create(emulated_device(), &spec));
    yp_device_memory(emulated_device(), &during);
    yp_device_memory(yp_device_cpu(), &host);
    cr_expect_eq(during.allocated + host.allocated, before.allocated, "something leaked");
}

Test(synth_cuda, makes_no_optics)
{
    static const size_t fields[] = {offsetof(struct synth_spec, psf_px),
                                    offsetof(struct synth_spec, smile_nm),
                                    offsetof(struct synth_spec, keystone_px)};
    static const char *const names[] = {"synth_spec.psf_px", "synth_spec.smile_nm",
                                        "synth_spec.keystone_px"};
    for (size_t i = 0; i < 3; i++) {
        struct synth_spec spec = odd(4);
        double value = 1;
        memcpy((char *)&spec + fields[i], &value, sizeof value);
        cr_expect_null(synth_scene_create(emulated_device(), &spec));
        cr_expect_not_null(strstr(yp_last_error(), names[i]), "%s", yp_last_error());
        cr_expect_not_null(strstr(yp_last_error(), "CPU only"), "%s", yp_last_error());
    }
}

Test(synth_cuda, refuses_what_is_not_allowed)
{
    struct synth_spec spec = odd(4);
    struct synth_scene *gpu = accelerated(&spec);
    float value[8] = {-7};
    size_t all = 21 * 43;
    cr_expect_eq(synth_scene_cubes(gpu, 0, 1, all, 1, value, NULL), YP_INVALID);
    cr_expect_eq(synth_scene_cubes(gpu, UINT64_C(1) << 60, 1, 0, 1, value, NULL), YP_INVALID);
    cr_expect_eq(synth_scene_cubes(gpu, (UINT64_C(1) << 60) - 1, 2, 0, 1, value, NULL), YP_INVALID);
    cr_expect_not_null(strstr(yp_last_error(), "cubes 2"), "%s", yp_last_error());
    cr_expect_eq(synth_scene_cubes(gpu, 0, SIZE_MAX / 16 + 1, 0, 1, value, NULL), YP_INVALID);
    cr_expect_eq(synth_scene_cubes(gpu, 0, 1, 0, 1, NULL, NULL), YP_INVALID);
    cr_expect_eq(synth_scene_band(gpu, 0, 0, 0, 1, value), YP_UNSUPPORTED);
    cr_expect_not_null(strstr(yp_last_error(), "emulated:0"), "%s", yp_last_error());
    cr_expect_eq(synth_scene_cubes(gpu, 0, 0, 0, 1, value, NULL), YP_OK);
    cr_expect_eq(synth_scene_cubes(gpu, 0, 3, 0, 0, value, NULL), YP_OK);
    cr_expect_eq(value[0], -7, "written");
    synth_scene_destroy(gpu);
}

Test(synth_cuda, says_so_where_the_plugin_is_missing)
{
    struct synth_spec spec = odd(4);
    struct ypi_stream stream = {1, 2};
    uint32_t word;
    setenv("YIELDPOINT_PLUGINS", "/nowhere", 1);
    cr_expect_null(synth_scene_create(emulated_device(), &spec));
    cr_expect_not_null(strstr(yp_last_error(), "libyieldpoint-synth-cuda.so"), "%s",
                       yp_last_error());
    cr_expect_eq(synth_device_words(emulated_device(), stream, 0, 1, &word), YP_UNSUPPORTED);
}

/* ---- words ---- */

enum kind { WORDS, NORMALS, CURAND };

static enum yp_status make(struct yp_device *device, enum kind kind, struct ypi_stream stream,
                           uint64_t first, size_t count, void *out)
{
    if (kind == NORMALS)
        return synth_device_normals(device, stream, first, count, out);
    if (kind == CURAND)
        return synth_device_words_curand(device, stream.seed, first, count, out);
    return synth_device_words(device, stream, first, count, out);
}

/* Where a counter's word is about to pass over, and in cuRAND's order the subsequence. */
Test(synth_cuda, makes_the_same_words_and_normals_from_anywhere, .timeout = 60)
{
    static const uint64_t places[] = {0,
                                      1,
                                      2,
                                      3,
                                      262143,
                                      262144,
                                      1000003,
                                      (UINT64_C(1) << 34) - 9,
                                      (UINT64_C(1) << 34) - 8,
                                      (UINT64_C(1) << 61) + 5};
    static const size_t counts[] = {1, 2, 3, 4, 5, 31, 4099};
    struct ypi_stream stream = {0xfedcba9876543210, 0x1234567890};
    uint32_t right[4099];
    for (int kind = WORDS; kind <= CURAND; kind++)
        for (size_t p = 0; p < sizeof places / sizeof *places; p++)
            for (size_t c = 0; c < sizeof counts / sizeof *counts; c++)
                for (size_t shift = 0; shift <= 8; shift += 4) {
                    char what[96];
                    struct guarded g = guarded_new(counts[c] * sizeof *right, shift);
                    snprintf(what, sizeof what, "kind %d from %llu, %zu, shift %zu", kind,
                             (unsigned long long)places[p], counts[c], shift);
                    cr_assert_eq(make(yp_device_cpu(), kind, stream, places[p], counts[c], right),
                                 YP_OK);
                    cr_assert_eq(make(emulated_device(), kind, stream, places[p], counts[c], g.at),
                                 YP_OK);
                    guarded_check(g, right, what);
                }
}

Test(synth_cuda, refuses_words_to_nowhere)
{
    struct ypi_stream stream = {1, 2};
    uint32_t word = 7;
    cr_expect_eq(synth_device_words(NULL, stream, 0, 1, &word), YP_INVALID);
    cr_expect_eq(synth_device_words(yp_device_cpu(), stream, 0, 1, NULL), YP_INVALID);
    cr_expect_eq(synth_device_normals(yp_device_cpu(), stream, 0, 1, NULL), YP_INVALID);
    cr_expect_eq(synth_device_words_curand(yp_device_cpu(), 1, 0, 1, NULL), YP_INVALID);
    cr_expect_eq(synth_device_words_by_curand(yp_device_cpu(), stream, false, 0, 1, &word),
                 YP_UNSUPPORTED);
    cr_expect_eq(synth_device_words(emulated_device(), stream, 0, 0, &word), YP_OK);
    cr_expect_eq(word, 7);
}

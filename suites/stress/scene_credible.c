/* Is the default scene like a real one? Its statistics against those of real scenes, and against a
 * user's own cube with --cube FILE. */
#include "suites/cube_statistics.h"
#include "suites/file_tiles.h"
#include "suites/stress/cube_gaps.h"
#include "synth/scene/scene.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Of cube_statistics; correlation at 32 pixels is left out, it is chance in all but one. */
enum { FIGURES = 13 };
static const char *const names[FIGURES] = {"share of 1 component",
                                           "share of 3",
                                           "share of 10",
                                           "components for 99 %",
                                           "components for 99.9 %",
                                           "virtual dimension",
                                           "correlation 1 apart",
                                           "correlation 8 apart",
                                           "SNR dB",
                                           "tail beyond 0.99",
                                           "tail beyond 0.999",
                                           "tail beyond 0.9999",
                                           "t degrees"};

/* Real scenes, bad bands removed by those who published them.
 * - "abu": Kang, Zhang, Li, Li, Li, Benediktsson, "Hyperspectral anomaly detection with attribute
 *   and edge-preserving filters", IEEE TGRS 55(10), 2017: airports, beaches and towns by AVIRIS,
 *   beach-4 (ROSIS) left out; "hydice" and "san diego" (AVIRIS) as they go with them. Figures:
 *   this program's of the files in github.com/jiojio0505/OT-AD at dd4a580.
 * - "indian pines" (AVIRIS, 220 bands, bad ones too): spectralpython.net/algorithms.html, 32
 *   eigenvalues for 99.9 %; 1.01 % of the pixels above the 0.999 quantile in its RX picture.
 * - "serc" (NEON AOP, 360 bands): NEON tutorial "Unsupervised Spectral Classification in Python:
 *   KMeans & PCA", 5 eigenvalues for 99.9 %. */
static const struct {
    const char *name;
    double figure[FIGURES];
} real_scenes[] = {
    {"abu airport 1",
     {0.9443, 0.9942, 0.9998, 3, 7, 16, 0.879, 0.366, 24.3, 11.13, 79.8, 643.0, 34.5}},
    {"abu airport 2",
     {0.9591, 0.9931, 0.9998, 3, 6, 15, 0.867, 0.278, 25.6, 8.7, 55.6, 438.0, 37.0}},
    {"abu airport 3",
     {0.924, 0.9875, 0.9994, 4, 9, 12, 0.712, 0.127, 19.9, 10.69, 78.7, 633.0, 24.6}},
    {"abu airport 4",
     {0.8342, 0.9963, 0.9998, 3, 6, 9, 0.943, 0.747, 29.6, 12.42, 67.4, 430.0, 49.4}},
    {"abu beach 1",
     {0.9458, 0.9964, 0.9999, 3, 5, 15, 0.908, 0.501, 26.6, 6.64, 58.8, 547.6, 12.7}},
    {"abu beach 2",
     {0.9134, 0.9961, 0.9997, 2, 6, 12, 0.886, 0.35, 27.0, 15.57, 142.1, 1308.0, 11.1}},
    {"abu beach 3",
     {0.7861, 0.9939, 0.9997, 3, 7, 14, 0.938, 0.575, 26.1, 23.3, 169.0, 1247.0, 18.8}},
    {"abu urban 1",
     {0.7689, 0.9882, 0.999, 4, 11, 15, 0.829, 0.343, 25.7, 14.13, 108.5, 892.0, 23.0}},
    {"abu urban 2",
     {0.7632, 0.9936, 0.9995, 3, 8, 13, 0.702, 0.361, 24.7, 20.58, 162.9, 1307.0, 10.2}},
    {"abu urban 3",
     {0.7334, 0.9958, 0.9998, 3, 6, 16, 0.918, 0.518, 31.7, 18.78, 147.2, 1197.0, 11.6}},
    {"abu urban 4",
     {0.8965, 0.9868, 0.9996, 4, 8, 16, 0.654, 0.039, 20.6, 10.26, 87.7, 802.0, 16.6}},
    {"abu urban 5",
     {0.9661, 0.9947, 0.9998, 3, 6, 15, 0.827, 0.179, 22.9, 12.52, 104.2, 923.0, 23.8}},
    {"hydice", {0.7114, 0.9923, 0.9986, 3, 14, 10, 0.877, 0.409, 24.7, 13.41, 101.6, 831.2, 19.9}},
    {"san diego", {0.9575, 0.9941, 0.9993, 3, 9, 12, 0.943, 0.613, 32.0, 9.05, 52.0, 370.0, 31.2}},
    {"indian pines", {NAN, NAN, NAN, NAN, 32, NAN, NAN, NAN, NAN, NAN, 10.1, NAN, NAN}},
    {"serc", {NAN, NAN, NAN, NAN, 5, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN}},
};

/* Real scenes that others publish with: shown beside the rest, but they do not widen the limits.
 * Figures are this program's; docs/scene-figures.md has the files and the commands.
 * - "pavia": 100 x 100 pixels of Pavia Centre, a city by ROSIS, 102 bands from 430 to 860 nm.
 * - "indian pines": fields by AVIRIS, 145 x 145, without the 20 bands of water.
 * - "cuprite" (AVIRIS): the virtual dimension that Orfeo ToolBox's cookbook gives, at 1e-5. */
enum { OTHERS = 3 };
static const struct {
    const char *name;
    double figure[FIGURES];
} other_scenes[OTHERS] = {
    {"pavia", {0.901, 0.983, 0.9965, 5, 28, 6, 0.8637, 0.361, 24.12, 9.58, 58.6, 386.0, 35.2}},
    {"indian pines",
     {0.6849, 0.9352, 0.9692, 25, 69, 48, 0.8738, 0.4732, 35.69, 12.73, 102.0, 844.2, 24.45}},
    {"cuprite", {NAN, NAN, NAN, NAN, NAN, 19, NAN, NAN, NAN, NAN, NAN, NAN, NAN}},
};

static void put_figures(const struct cube_statistics *s, double figure[FIGURES])
{
    const double all[FIGURES] = {s->share[0],       s->share[1],       s->share[2],
                                 s->components_99,  s->components_999, s->virtual_dimension,
                                 s->correlation[0], s->correlation[1], s->snr_db,
                                 s->tail[0],        s->tail[1],        s->tail[2],
                                 s->degrees};
    memcpy(figure, all, sizeof all);
}

static void range_of(int figure, double *low, double *high)
{
    *low = INFINITY;
    *high = -INFINITY;
    for (size_t i = 0; i < sizeof real_scenes / sizeof *real_scenes; i++) {
        *low = fmin(*low, real_scenes[i].figure[figure]); /* fmin and fmax leave NaN out */
        *high = fmax(*high, real_scenes[i].figure[figure]);
    }
}

/* Statistics of one default scene; water bands are blank, as in the real ones, and not valid. */
static void scene_figures(struct yp_case *t, size_t side, uint64_t seed, float *values,
                          double figure[FIGURES])
{
    struct synth_spec spec = {
        .height = side, .width = side, .channels = 200, .seed = seed, .blank_bands = true};
    make_cube(t, yp_device(t), &spec, 0, values, NULL);
    struct cube_statistics statistics;
    yp_ok(t, cube_statistics(yp_device(t), &(struct cube_view){values, side, side, spec.channels},
                             &statistics));
    put_figures(&statistics, figure);
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

enum { MAX_SEEDS = 7 };

struct spread {
    double low, median, high;
};

/* Over `seeds` scenes, an odd number: a seed is a landscape, and there are all kinds. */
static void spread_figures(struct yp_case *t, size_t side, int seeds, struct spread figure[FIGURES])
{
    double all[MAX_SEEDS][FIGURES];
    float *values = yp_alloc(t, side * side * 200 * sizeof *values);
    for (int i = 0; i < seeds; i++)
        scene_figures(t, side, yp_seed(t) + (uint64_t)i, values, all[i]);
    for (int k = 0; k < FIGURES; k++) {
        double column[MAX_SEEDS];
        for (int i = 0; i < seeds; i++)
            column[i] = all[i][k];
        qsort(column, (size_t)seeds, sizeof *column, ascending);
        figure[k] = (struct spread){column[0], column[seeds / 2], column[seeds - 1]};
    }
}

/* small: as large as the real ones. */
YP_TEST(synth, credible, .tags = "stress",
        .cases = YP_CASES(
            yp_case_of("small", .set = YP_SET(yp_set_int("side", 100), yp_set_int("scenes", 7))),
            yp_case_of("medium", .set = YP_SET(yp_set_int("side", 256), yp_set_int("scenes", 5)))),
        .timeout = 300, .parallel = true)
{
    long long scenes = yp_int(t, "scenes");
    yp_require(t, scenes % 2 == 1 && scenes > 0 && scenes <= MAX_SEEDS,
               "scenes is %lld: an odd number up to %d", scenes, MAX_SEEDS);
    struct spread figure[FIGURES];
    spread_figures(t, (size_t)yp_int(t, "side"), (int)scenes, figure);
    for (int k = 0; k < FIGURES; k++) {
        double low, high, median = figure[k].median;
        range_of(k, &low, &high);
        yp_value(t, names[k], median);
        yp_expect(t, median >= low && median <= high, "%s is %.4g: real scenes have %.4g to %.4g",
                  names[k], median, low, high);
    }
}

/* -- a user's own cube -------------------------------------------------------------------- */

/* At most this many pixels to a side, from the middle. */
enum { MAX_SIDE = 512 };

/* What has no data is left out of the values, not of their hash. */
static struct cube_view read_cube(struct yp_case *t, const char *path, uint64_t *hash)
{
    struct synth_cube_file *file = synth_cube_open(yp_device(t), path, SYNTH_SCALED);
    yp_require(t, file != NULL, "%s", yp_last_error());
    const struct synth_cube_info *info = synth_cube_info(file);
    size_t rows = info->height < MAX_SIDE ? info->height : MAX_SIDE;
    size_t columns = info->width < MAX_SIDE ? info->width : MAX_SIDE;
    struct synth_window window = {.row = (info->height - rows) / 2,
                                  .rows = rows,
                                  .column = (info->width - columns) / 2,
                                  .columns = columns,
                                  .bands = info->channels};
    float *values = yp_alloc(t, rows * columns * info->channels * sizeof *values);
    yp_ok(t, synth_cube_read_window(file, 0, &window, values));
    *hash = yp_hash_f32(0, values, rows * columns * info->channels);
    struct cube_gaps gaps;
    cube_gaps_open(&gaps, t, file);
    cube_gaps_count(&gaps, values, rows * columns);
    cube_gaps_judge(&gaps, t);
    cube_gaps_clear(&gaps, values, rows * columns);
    struct cube_view cube = {values, rows, columns, info->channels};
    synth_cube_close(file);
    return cube;
}

/* Without --cube: the default scene, written to a file and read back. */
static void write_own(struct yp_case *t, char path[512])
{
    struct scale s = {.cubes = 1, .height = 100, .width = 100, .channels = 200};
    struct scene_tiles tiles;
    scene_tiles_open(&tiles, t, &s, 1000);
    tmp_file(t, "cube.img", path);
    struct synth_cube_info info = scene_tiles_info(&tiles);
    info.interleave = SYNTH_BIL;
    scene_tiles_write(&tiles, t, path, &info);
    scene_tiles_close(&tiles);
}

static void show_own(double figure)
{
    if (isnan(figure))
        printf(" %9s", "-");
    else
        printf(" %9.4g", figure);
}

/* One line a figure; medians and ranges of the default scene over its seeds. */
static void show(const double own[FIGURES], const struct spread scene[FIGURES])
{
    printf("%-22s %9s %27s %19s", "", "this cube", "default scene", "real scenes");
    for (int i = 0; i < OTHERS; i++)
        printf(" %12s", other_scenes[i].name);
    printf("\n");
    for (int k = 0; k < FIGURES; k++) {
        double low, high;
        range_of(k, &low, &high);
        printf("%-22s", names[k]);
        show_own(own[k]);
        printf(" %9.4g [%6.4g, %6.4g] %9.4g %9.4g", scene[k].median, scene[k].low, scene[k].high,
               low, high);
        for (int i = 0; i < OTHERS; i++)
            if (isnan(other_scenes[i].figure[k]))
                printf(" %12s", "-");
            else
                printf(" %12.4g", other_scenes[i].figure[k]);
        printf("\n");
    }
}

/* What a figure can be at all: shares rise to 1, the others have these limits. */
static void check_figures(struct yp_case *t, const double own[FIGURES], size_t channels)
{
    static const double low[FIGURES] = {0, 0, 0, 1, 1, 0, -1, -1, -INFINITY, 0, 0, 0, 2};
    const double most = (double)channels, rounding = 1e-9;
    const double high[FIGURES] = {1, 1, 1, most, most, most, 1, 1, INFINITY, 100, 1000, 10000, 1e7};
    for (int k = 0; k < FIGURES; k++) {
        if (isnan(own[k]))
            continue;
        yp_value(t, names[k], own[k]);
        yp_expect(t,
                  isfinite(own[k]) && own[k] >= low[k] - rounding && own[k] <= high[k] + rounding,
                  "%s is %g: it can be %g to %g", names[k], own[k], low[k], high[k]);
    }
}

/* Prints the user's cube, the default scene and the real ones beside each other (shown with -s);
 * "-" is what a cube has no value for, such as the correlation of pixels further apart than it is
 * wide. Any cube is accepted; only that its figures can be such is checked. */
YP_TEST(synth, credible_cube, .tags = "stress small",
        .axes = YP_AXES(yp_axis_string("cube", "generated")), .timeout = 600, .parallel = true)
{
    const char *path = yp_string(t, "cube");
    bool generated = strcmp(path, "generated") == 0;
    char own_path[512];
    if (generated)
        write_own(t, own_path);
    uint64_t hash;
    struct cube_view cube = read_cube(t, generated ? own_path : path, &hash);
    yp_data_hash(t, hash);
    struct cube_statistics statistics;
    yp_ok(t, cube_statistics(yp_device(t), &cube, &statistics));
    double own[FIGURES];
    struct spread scene[FIGURES];
    put_figures(&statistics, own);
    spread_figures(t, 100, MAX_SEEDS, scene);
    printf("%zu pixels and %zu channels of %s\n", statistics.pixels, statistics.channels, path);
    show(own, scene);
    check_figures(t, own, statistics.channels);
}

/* What Cholesky in double detects that a float pseudo-inverse does not, over noise and kinds of
 * targets, judged over seeds. */
#include "base/numbers/sort.h"
#include "base/numbers/splitmix.h"
#include "models/metrics/metrics.h"
#include "suites/memory_tiles.h"
#include "suites/pipelines.h"
#include "suites/scene_tiles.h"

#include <math.h>
#include <string.h>

#define THREADS 2

enum { SIDE = 192, PIXELS = SIDE * SIDE, CHANNELS = 200, TILE_PIXELS = 1024, SEEDS = 8 };

/* Without what the sensor does to it. */
static void clear_sensor(struct synth_spec *spec)
{
    spec->snr_db = spec->prnu = spec->dsnu = spec->bits = spec->dead_fraction = SYNTH_OFF;
}

static double uniform(uint64_t *state)
{
    return (double)(ypi_mix64(*state += YPI_GOLDEN) >> 11) * 0x1p-53;
}

/* Targets of a foreign material: one pixel in a thousand becomes x + f (t - b), f uniform in
 * [0.05, 1], where b is the pixel itself without noise and t one of a scene of another seed in the
 * same light: nearly pure materials of the generator's, drawn with no regard to this scene. */
static void put_materials(struct yp_case *t, const struct synth_spec *spec,
                          struct memory_tiles *image)
{
    struct synth_spec clean = *spec, foreign = *spec;
    clear_sensor(&clean);
    clear_sensor(&foreign);
    foreign.seed += 1000;
    foreign.sharpness = 20;
    foreign.shade = foreign.grain = foreign.variability = SYNTH_OFF;
    struct synth_scene *here = open_scene(t, yp_device(t), &clean);
    struct synth_scene *there = open_scene(t, yp_device(t), &foreign);
    uint64_t state = spec->seed;
    enum yp_status status = YP_OK;
    for (size_t p = 0; p < PIXELS && status == YP_OK; p++) {
        float *x = image->values + p * CHANNELS, b[CHANNELS], material[CHANNELS];
        if (uniform(&state) >= 0.001)
            continue;
        float f = (float)(0.05 + 0.95 * uniform(&state));
        size_t from = (size_t)(uniform(&state) * PIXELS);
        status = synth_scene_tile(here, 0, p, 1, b, NULL);
        if (status == YP_OK)
            status = synth_scene_tile(there, 0, from, 1, material, NULL);
        for (size_t c = 0; c < CHANNELS && status == YP_OK; c++)
            x[c] += f * (material[c] - b[c]);
        image->labels[p] = 1;
    }
    synth_scene_destroy(here);
    synth_scene_destroy(there);
    yp_ok(t, status);
}

/* The same memory for every seed. Returns the hash of what is in it. */
static uint64_t make_image(struct yp_case *t, struct memory_tiles *image, uint64_t seed)
{
    bool hidden = strcmp(yp_string(t, "targets"), "hidden") == 0;
    struct synth_spec spec = {.height = SIDE,
                              .width = SIDE,
                              .channels = CHANNELS,
                              .seed = seed,
                              .snr_db = (double)yp_int(t, "db"),
                              .target_fraction = hidden ? 0 : SYNTH_OFF};
    make_cube(t, yp_device(t), &spec, 0, image->values,
              &(struct synth_truth){.labels = image->labels});
    if (!hidden)
        put_materials(t, &spec, image);
    return yp_hash_f32(0, image->values, (size_t)PIXELS * CHANNELS);
}

static double auc_by(struct yp_case *t, struct memory_tiles *image, enum rx_inverse inverse,
                     float *parameters, float *scores)
{
    const struct rx_pipeline_options options = {.channels = CHANNELS,
                                                .tile_pixels = TILE_PIXELS,
                                                .threads = THREADS,
                                                .eps = inverse == RX_CHOLESKY ? 0 : RX_EPS,
                                                .inverse = inverse};
    struct rx_pipeline *pipeline = open_pipeline(t, yp_device(t), &options);
    struct rx *rx = open_rx(t, CHANNELS, TILE_PIXELS, THREADS);
    const struct rx_source source = memory_tiles_source(image);
    double auc = 0;
    size_t skipped = 0;
    yp_ok(t, rx_pipeline_fit(pipeline, rx, &source, parameters, NULL));
    yp_ok(t, rx_pipeline_score(pipeline, &source, parameters, scores, NULL));
    yp_ok(t, metrics_auc(yp_device_cpu(), scores, image->labels, PIXELS, &auc, &skipped));
    rx_pipeline_destroy(pipeline);
    rx_destroy(rx);
    return auc;
}

/* What is asked of the median ratio of ROC-AUC and of how many of the seeds Cholesky is better on.
 * Measured on 48 seeds, as medians of 8 and better of 8:
 *
 *     targets    30 dB                40 dB               50 dB
 *     material   0.99 to 1.01, 3-5    1.08 to 1.25, 5-8   1.16 to 1.34, 7-8
 *     hidden     0.98 to 1.00, 0-4    1.8 to 3.4, 7-8     2.2 to 4.0, 8
 *
 * So at 30 dB no difference is asked for. The covariance has a condition of 1e5 there, near the cut
 * at 4e4: 0 to 184 of 200 directions are dropped, and what is in them is mostly noise. At 40 dB
 * 168 to 194 are dropped, at 50 dB 188 or more. */
static const struct {
    const char *targets;
    long long db;
    double least, most, better; /* NAN: not asked for */
} asked[] = {{"material", 30, 0.96, 1.05, NAN}, {"material", 40, 1.03, NAN, 5},
             {"material", 50, 1.06, NAN, 6},    {"hidden", 30, 0.94, 1.04, NAN},
             {"hidden", 40, 1.5, NAN, 5},       {"hidden", 50, 2, NAN, 7}};

static void budgets_of(const struct yp_case *c, struct yp_budgets *out)
{
    for (size_t i = 0; i < sizeof asked / sizeof *asked; i++) {
        if (strcmp(yp_string(c, "targets"), asked[i].targets) != 0 ||
            yp_int(c, "db") != asked[i].db)
            continue;
        yp_budget_add(out, yp_min_value("ratio", asked[i].least));
        if (!isnan(asked[i].most))
            yp_budget_add(out, yp_max_value("ratio", asked[i].most));
        if (!isnan(asked[i].better))
            yp_budget_add(out, yp_min_value("seeds better", asked[i].better));
    }
}

/* Sorts them. */
static double median(float values[SEEDS])
{
    ypi_sort_f32(values, SEEDS);
    return ((double)values[SEEDS / 2 - 1] + (double)values[SEEDS / 2]) / 2;
}

/* Against the pseudo-inverse in float32 of cuvis.ai, which drops the quiet directions of an image
 * (RX_PINV_F32). "hidden": the scene's own targets, which differ from the background by features
 * that are narrower than those of its materials, so that they are in the quiet directions;
 * "material": of other scenes' spectra, whose difference lies where it happens to. */
YP_TEST(rx, cholesky_and_pinv, .tags = "stress medium", .timeout = 300,
        .axes = YP_AXES(yp_axis_string("targets", "material", "hidden"),
                        yp_axis_int("db", 30, 40, 50)),
        .budgets_of = budgets_of)
{
    size_t n = CHANNELS * (CHANNELS + 1) + 2;
    struct memory_tiles image = {.channels = CHANNELS,
                                 .pixels = PIXELS,
                                 .tile_pixels = TILE_PIXELS,
                                 .values = yp_alloc(t, (size_t)PIXELS * CHANNELS * sizeof(float)),
                                 .labels = yp_alloc(t, PIXELS)};
    float *parameters = yp_alloc(t, n * sizeof *parameters);
    float *scores = yp_alloc(t, PIXELS * sizeof *scores);
    float by_cholesky[SEEDS], by_pinv[SEEDS], ratio[SEEDS];
    size_t better = 0;
    uint64_t hash = 0;
    for (size_t i = 0; i < SEEDS; i++) {
        hash += make_image(t, &image, yp_seed(t) * SEEDS + i);
        by_cholesky[i] = (float)auc_by(t, &image, RX_CHOLESKY, parameters, scores);
        by_pinv[i] = (float)auc_by(t, &image, RX_PINV_F32, parameters, scores);
        ratio[i] = by_cholesky[i] / by_pinv[i];
        better += ratio[i] > 1;
    }
    yp_data_hash(t, hash);
    yp_value(t, "auc", median(by_cholesky));
    yp_value(t, "auc by pinv", median(by_pinv));
    yp_value(t, "ratio", median(ratio));
    yp_value(t, "seeds better", (double)better);
}

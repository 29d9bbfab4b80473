/* Detection on the default scene, calibration of scores, how far the cost can be reduced, and
 * what knowing the target is worth. */
#include "models/metrics/metrics.h"
#include "models/rx/methods/image.h"
#include "models/rx/methods/matched.h"
#include "suites/pipelines.h"
#include "suites/plain_linear.h"
#include "suites/scene_tiles.h"
#include "suites/worst.h"

#include <math.h>
#include <string.h>

#define TILE_PIXELS 1024
#define THREADS 2

/* A million pixels of 200 channels, some thousand targets. */
static const struct scale million = {.cubes = 16, .height = 256, .width = 256, .channels = 200};

/* Fits a pipeline and scores what it was fitted to. */
static float *fit_and_score(struct yp_case *t, const struct rx_pipeline_options *options,
                            const struct rx_source *source, struct rx_start *start)
{
    struct rx_pipeline *pipeline = open_pipeline(t, yp_device(t), options);
    struct rx *rx = open_rx(t, options->channels, options->tile_pixels, THREADS);
    float *parameters = parameters_of(t, pipeline);
    float *scores = yp_alloc_host(t, source->tiles * source->tile_pixels * sizeof *scores);
    yp_ok(t, rx_pipeline_fit(pipeline, rx, source, parameters, start));
    yp_ok(t, rx_pipeline_score(pipeline, source, parameters, scores, NULL));
    rx_pipeline_destroy(pipeline);
    rx_destroy(rx);
    return scores;
}

/* Exact measures of the ranking, and how the background's scores compare with chi-square. */
static void judge(struct yp_case *t, const struct scene_tiles *tiles, const float *scores)
{
    size_t places = tiles->source.tiles * tiles->source.tile_pixels;
    uint8_t *labels = yp_alloc_host(t, places);
    scene_tiles_labels(tiles, t, tiles->scale.cubes, labels);
    size_t targets = 0;
    for (size_t i = 0; i < places; i++)
        targets += labels[i] != 0;
    struct metrics_ranking *ranking = metrics_ranking_create(yp_device_cpu(), targets);
    yp_got(t, ranking);
    yp_ok(t, metrics_ranking_targets(ranking, scores, labels, places));
    yp_ok(t, metrics_ranking_background(ranking, scores, labels, places));
    struct metrics_ranked ranked;
    metrics_ranking_result(ranking, &ranked);
    metrics_ranking_destroy(ranking);

    struct metrics_calibration *calibration = yp_alloc_host(t, sizeof *calibration);
    struct metrics_calibrated calibrated;
    yp_ok(t, metrics_calibration_start(calibration, tiles->scale.channels));
    metrics_calibration_add(calibration, scores, labels, places);
    metrics_calibration_result(calibration, &calibrated);
    yp_value(t, "targets", (double)ranked.targets);
    yp_value(t, "auc", ranked.roc_auc);
    yp_value(t, "average precision", ranked.average_precision);
    yp_value(t, "detection at 1e-3", ranked.detection_1e3);
    yp_value(t, "detection at 1e-4", ranked.detection_1e4);
    yp_value(t, "beyond chi-square 0.999", calibrated.beyond[2]);
    yp_value(t, "Kolmogorov distance", calibrated.distance);
}

/* 40 dB, 0.1 % targets of uniform fill in [0.05, 1], 200 channels. How far the background's scores
 * are from chi-square is reported and not judged: like those of real scenes they have long tails.
 */
YP_TEST(rx, detection, .tags = "stress medium", .devices = "cpu cuda", .timeout = 300,
        .budgets = YP_BUDGETS(yp_min_value("auc", 0.95), yp_min_value("detection at 1e-3", 0.7)))
{
    struct scene_tiles tiles;
    size_t pixels = scale_tile_pixels(&million, yp_device(t), TILE_PIXELS);
    scene_tiles_open(&tiles, t, &million, pixels);
    const struct rx_pipeline_options options = {
        .channels = million.channels, .tile_pixels = pixels, .threads = THREADS, .eps = 0};
    struct rx_start start = {0};
    float *scores = fit_and_score(t, &options, &tiles.source, &start);
    yp_value(t, "score error", start.score_error);
    judge(t, &tiles, scores);
    yp_data_hash(t, scene_tiles_hash(&tiles, t));
    scene_tiles_close(&tiles);
}

/* Gathering from memory, which bounds few channels by variance, has two modes that differ by two as
 * the host leaves bandwidth. With 50 of them the share is 0.14, too little for a floor. */
static void reduced_floor(const struct yp_case *c, struct yp_budgets *out)
{
    long long channels = yp_int(c, "channels");
    if (strcmp(yp_string(c, "by"), "pca") == 0)
        yp_budget_add(out, yp_min_share("reduced", 0.1));
    else if (channels != 50)
        yp_budget_add(out, yp_min_share("reduced", channels < 50 ? 0.16 : 0.1));
}

/* Principal components, and the channels of largest variance, as ways to reduce the quadratic cost:
 * time against detection. */
YP_TEST(rx, reduced, .tags = "stress medium", .timeout = 300,
        .axes = YP_AXES(yp_axis_string("by", "pca", "variance"),
                        yp_axis_int("channels", 10, 25, 50, 100, 200)),
        .budgets_of = reduced_floor)
{
    struct scale s = million;
    s.cubes = 2;
    size_t kept = (size_t)yp_int(t, "channels");
    bool by_pca = strcmp(yp_string(t, "by"), "pca") == 0;
    struct scene_tiles tiles;
    struct kept_tiles all;
    scene_tiles_open(&tiles, t, &s, TILE_PIXELS);
    kept_tiles_open(&all, t, &tiles);
    struct rx_subset *subset = NULL;
    const struct rx_source *source = &all.source;
    if (!by_pca) {
        struct rx_channel *channels = yp_alloc(t, s.channels * sizeof *channels);
        size_t *list = yp_alloc(t, s.channels * sizeof *list);
        yp_ok(t, rx_survey(yp_device(t), &all.source, THREADS, channels));
        size_t count = rx_usable(channels, s.channels, kept, list);
        subset = rx_subset_create(yp_device(t), &all.source, list, count, THREADS);
        yp_require(t, subset != NULL, "%s", yp_last_error());
        source = rx_subset_source(subset);
    }
    struct rx_pipeline_options options = {.channels = source->channels,
                                          .tile_pixels = TILE_PIXELS,
                                          .threads = THREADS,
                                          .components = by_pca && kept < s.channels ? kept : 0};
    struct rx_pipeline *pipeline = open_pipeline(t, yp_device(t), &options);
    struct rx *rx = open_rx(t, options.channels, TILE_PIXELS, THREADS);
    float *parameters = parameters_of(t, pipeline);
    float *scores = yp_alloc(t, source->tiles * TILE_PIXELS * sizeof *scores);
    yp_ok(t, rx_pipeline_fit(pipeline, rx, source, parameters, NULL));
    enum yp_status status = YP_OK;
    /* A projection where there is one, then the triangular product of what is left. Channels by
     * variance are gathered from pixels of all channels: declared are the bytes of those, more than
     * are touched where the chosen ones are neighbours. */
    double left = (double)(options.components > 0 ? options.components : source->channels);
    double projection = options.components > 0 ? 2 * (double)s.channels * left : 0;
    yp_measure (t, "reduced", .items = scale_pixels(&s), .unit = "pixels",
                .flops = scale_pixels(&s) * (projection + left * left),
                .bytes = 4 * scale_values(&s), .traffic = YP_READ,
                .footprint = 4 * scale_values(&s), .threads = THREADS)
        status = rx_pipeline_score(pipeline, source, parameters, scores, NULL);
    yp_ok(t, status);
    yp_value(t, "auc", scene_tiles_auc(&tiles, t, scores, s.cubes));
    rx_pipeline_destroy(pipeline);
    rx_subset_destroy(subset);
    rx_destroy(rx);
    scene_tiles_close(&tiles);
}

/* -- what a known target is worth ------------------------------------------------------------ */

/* Cube `cube` of the default scene of this seed, to `values`. */
static struct rx_image image_of(struct yp_case *t, const struct scale *s, uint64_t seed,
                                uint64_t cube, float *values, const struct synth_truth *truth)
{
    struct synth_spec spec = scale_spec(s, seed);
    make_cube(t, yp_device_cpu(), &spec, cube, values, truth);
    return (struct rx_image){values, s->height, s->width, s->channels};
}

enum { SEEDS = 5, LIBRARY_CUBES = 4 };

/* The targets in the unit of the cube: the mean of pixels, of other cubes, that one fills by three
 * quarters and more. How many there were is in found. */
static void library(struct yp_case *t, const struct scale *s, uint64_t seed, float *values,
                    float *targets, size_t found[SYNTH_TARGETS])
{
    size_t pixels = s->height * s->width, n = s->channels;
    uint8_t *labels = yp_alloc(t, pixels);
    float *fill = yp_alloc(t, pixels * sizeof *fill);
    double *sums = yp_alloc(t, SYNTH_TARGETS * n * sizeof *sums);
    memset(sums, 0, SYNTH_TARGETS * n * sizeof *sums);
    for (uint64_t cube = 1; cube <= LIBRARY_CUBES; cube++) {
        struct rx_image image = image_of(t, s, seed, cube, values,
                                         &(struct synth_truth){.labels = labels, .fill = fill});
        for (size_t p = 0; p < pixels; p++) {
            const float *x = image.values + p * n;
            if (labels[p] == 0 || fill[p] < 0.75F || !finite_pixel(x, n))
                continue;
            found[labels[p] - 1]++;
            for (size_t c = 0; c < n; c++)
                sums[(labels[p] - 1U) * n + c] += (double)x[c];
        }
    }
    for (size_t k = 0; k < SYNTH_TARGETS; k++)
        for (size_t c = 0; c < n; c++)
            targets[k * n + c] = (float)(sums[k * n + c] / (double)found[k]);
}

/* AUC of one target's pixels above those without any. `judged` and `mask` are (pixels). */
static double auc_of(struct yp_case *t, const float *scores, const uint8_t *labels, uint8_t target,
                     size_t pixels, float *judged, uint8_t *mask)
{
    double auc;
    size_t skipped;
    for (size_t p = 0; p < pixels; p++) {
        judged[p] = labels[p] != 0 && labels[p] != target ? NAN : scores[p];
        mask[p] = labels[p] == target;
    }
    yp_ok(t, metrics_auc(yp_device_cpu(), judged, mask, pixels, &auc, &skipped));
    return auc;
}

/* RX knows the background, ACE and the cosine the target as well. Means over the targets; of the
 * seeds the least, and the least that knowing a target gains. Targets as weak as 5 % of a pixel. */
YP_TEST(rx, known_targets, .tags = "stress medium", .timeout = 300,
        .axes = YP_AXES(yp_axis_string("channels", "points", "gaussians")),
        .budgets = YP_BUDGETS(yp_budget_file("budgets.ini")))
{
    const struct scale s = {.cubes = 1,
                            .height = 256,
                            .width = 256,
                            .channels = 60,
                            .points = strcmp(yp_string(t, "channels"), "points") == 0};
    size_t pixels = s.height * s.width, n = s.channels;
    uint8_t *labels = yp_alloc(t, 2 * pixels);
    float *values = yp_alloc(t, pixels * n * sizeof *values);
    float *targets = yp_alloc(t, SYNTH_TARGETS * n * sizeof *targets);
    float *scores = yp_alloc(t, (SYNTH_TARGETS + 2) * pixels * sizeof *scores);
    float *plain = scores + SYNTH_TARGETS * pixels, *judged = plain + pixels;
    double least[3] = {1, 1, 1}, gain = 1, gains = 0;
    uint64_t hash = 0;
    for (uint64_t seed = yp_seed(t); seed < yp_seed(t) + SEEDS; seed++) {
        size_t found[SYNTH_TARGETS] = {0};
        library(t, &s, seed, values, targets, found);
        for (size_t k = 0; k < SYNTH_TARGETS; k++)
            yp_require(t, found[k] > 0, "seed %llu: no pixel is full of target %zu",
                       (unsigned long long)seed, k);
        struct rx_image image =
            image_of(t, &s, seed, 0, values, &(struct synth_truth){.labels = labels});
        hash = hash * 3 + yp_hash_f32(0, values, pixels * n);
        struct rx_image_tiles tiles;
        yp_ok(t, rx_image_pixels(&image, &tiles));
        struct rx *rx = open_rx(t, n, tiles.source.tile_pixels, THREADS);
        yp_ok(t, rx_fit(rx, &tiles.source));
        yp_ok(t, rx_finish(rx, 0));
        struct rx_matched *m = rx_matched_create(yp_device(t), rx, targets, SYNTH_TARGETS,
                                                 tiles.source.tile_pixels, THREADS);
        yp_got(t, m);
        double mean[3] = {0};
        yp_ok(t, rx_score(rx, &tiles.source, plain));
        for (int how = 0; how < 2; how++) {
            yp_ok(t, rx_matched_score(m, &tiles.source, how == 0 ? RX_ACE : RX_MATCHED_FILTER,
                                      scores));
            for (uint8_t k = 0; k < SYNTH_TARGETS; k++)
                mean[how] +=
                    auc_of(t, scores + k * pixels, labels, k + 1, pixels, judged, labels + pixels) /
                    SYNTH_TARGETS;
        }
        for (uint8_t k = 0; k < SYNTH_TARGETS; k++)
            mean[2] +=
                auc_of(t, plain, labels, k + 1, pixels, judged, labels + pixels) / SYNTH_TARGETS;
        for (int i = 0; i < 3; i++)
            least[i] = -worse(-least[i], -mean[i]);
        gain = -worse(-gain, mean[2] - mean[0]);
        gains += (mean[0] - mean[2]) / SEEDS;
        rx_matched_destroy(m);
        rx_destroy(rx);
    }
    yp_data_hash(t, hash);
    yp_value(t, "ACE auc", least[0]);
    yp_value(t, "filter auc", least[1]);
    yp_value(t, "RX auc", least[2]);
    yp_value(t, "gain of ACE", gain);
    yp_value(t, "mean gain of ACE", gains);
}

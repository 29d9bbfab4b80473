/* Decisions, rankings and calibration of a detector's scores, and displacements of paths, against
 * their definitions. */
#include "suites/stress/formulas/ranked.h"

#include "base/numbers/splitmix.h"
#include "models/metrics/metrics.h"
#include "suites/scene_tiles.h"
#include "suites/worst.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { CHANNELS = 10, PIXELS = 1000 };

static bool near(double a, double b)
{
    return (isnan(a) && isnan(b)) || fabs(a - b) <= 1e-12 * fabs(b);
}

/* Scores of a scene by its own statistics and what they are of. In eighths, so that there are ties
 * between targets, in the background and across; some pixels, and the ends of cubes, have none. */
static float *scores_of(struct yp_case *t, size_t *count, uint8_t **labels)
{
    struct scale s = {.cubes = 6, .height = 64, .width = 64, .channels = CHANNELS};
    struct scene_tiles tiles;
    scene_tiles_open(&tiles, t, &s, PIXELS);
    struct rx *rx = open_rx(t, CHANNELS, PIXELS, 2);
    yp_ok(t, rx_fit(rx, &tiles.source));
    yp_ok(t, rx_finish(rx, 0));
    *count = tiles.source.tiles * PIXELS;
    float *scores = yp_alloc_host(t, *count * sizeof *scores);
    *labels = yp_alloc_host(t, *count);
    yp_ok(t, rx_score(rx, &tiles.source, scores));
    scene_tiles_labels(&tiles, t, s.cubes, *labels);
    for (size_t i = 0; i < *count; i++) {
        scores[i] = floorf(scores[i] * 8) / 8;
        /* More of them, some that score as the background does and some of its tail. */
        if (i % 149 == 0 || (i % 4 == 0 && scores[i] > 20))
            (*labels)[i] = 3;
    }
    rx_destroy(rx);
    scene_tiles_close(&tiles);
    yp_data_hash(t, yp_hash_f32(0, scores, *count));
    return scores;
}

/* The threshold is the lowest target's score with no more false alarms than the rate; all targets
 * from there on are detected. */
static void check_detection(struct yp_case *t, struct metrics_ranking *ranking, const float *scores,
                            const uint8_t *labels, size_t n)
{
    for (double rate = 0; rate <= 1; rate = rate < 1e-4 ? 1e-4 : rate * 10) {
        double count[2] = {0}, above[2] = {0};
        float limit, next = -INFINITY; /* the highest target's score below */
        double got = metrics_ranking_detection(ranking, rate, &limit), more = 0;
        for (size_t i = 0; i < n; i++) {
            count[labels[i] != 0] += isnan(scores[i]) ? 0 : 1;
            above[labels[i] != 0] += scores[i] >= limit;
            if (labels[i] != 0 && scores[i] < limit)
                next = fmaxf(next, scores[i]);
        }
        for (size_t i = 0; i < n; i++)
            more += labels[i] == 0 && scores[i] >= next;
        yp_expect(t,
                  near(got, above[1] / count[1]) && above[0] <= rate * count[0] &&
                      (!isfinite(next) || more > rate * count[0]),
                  "rate %g: %g above %g", rate, got, (double)limit);
    }
}

YP_TEST(metrics, definitions, .tags = "stress small", .timeout = 120, .parallel = true)
{
    size_t n;
    uint8_t *labels;
    const float *scores = scores_of(t, &n, &labels), limit = 14;
    float *logits = yp_alloc_host(t, n * sizeof *logits);
    for (size_t i = 0; i < n; i++)
        logits[i] = 0.5F * (scores[i] - limit); /* exact, and so is 0 */
    struct ranked right = ranked_of(scores, labels, n, limit);
    struct metrics_confusion c = {0};
    metrics_confusion_add(&c, logits, labels, n / 3);
    metrics_confusion_add(&c, logits + n / 3, labels + n / 3, n - n / 3);
    yp_expect(t, c.skipped == right.skipped && right.skipped > 0, "%zu NaN", (size_t)c.skipped);
    yp_expect(t,
              near(metrics_precision(&c), right.precision) &&
                  near(metrics_recall(&c), right.recall) && near(metrics_f1(&c), right.f1) &&
                  near(metrics_iou(&c), right.iou),
              "decisions: %g %g %g %g, not %g %g %g %g", metrics_precision(&c), metrics_recall(&c),
              metrics_f1(&c), metrics_iou(&c), right.precision, right.recall, right.f1, right.iou);

    struct metrics_ranking *ranking = metrics_ranking_create(yp_device_cpu(), right.targets);
    yp_got(t, ranking);
    struct metrics_ranked r;
    double auc = NAN;
    for (int again = 0; again < 2; again++) { /* the second time as the first */
        metrics_ranking_reset(ranking);
        yp_ok(t, metrics_ranking_targets(ranking, scores, labels, n));
        yp_ok(t, metrics_ranking_background(ranking, scores, labels, n / 2));
        yp_ok(t, metrics_ranking_background(ranking, scores + n / 2, labels + n / 2, n - n / 2));
        metrics_ranking_result(ranking, &r);
    }
    check_detection(t, ranking, scores, labels, n);
    metrics_ranking_destroy(ranking);
    yp_expect(t,
              r.targets == right.targets && r.background == right.background &&
                  r.skipped == right.skipped,
              "%zu targets, %zu of background", (size_t)r.targets, (size_t)r.background);
    yp_expect(t, near(r.average_precision, right.average_precision),
              "average precision %.17g: %.17g", r.average_precision, right.average_precision);
    yp_expect(t, near(r.roc_auc, right.roc_auc), "AUC %.17g: %.17g", r.roc_auc, right.roc_auc);
    yp_expect(
        t, near(r.detection_1e3, right.detection_1e3) && near(r.detection_1e4, right.detection_1e4),
        "detection %g %g: %g %g", r.detection_1e3, r.detection_1e4, right.detection_1e3,
        right.detection_1e4);
    size_t skipped;
    yp_ok(t, metrics_auc(yp_device_cpu(), scores, labels, n, &auc, &skipped));
    yp_expect(t, near(auc, right.roc_auc), "AUC by sorting %.17g: %.17g", auc, right.roc_auc);
    for (size_t i = 0; i < n; i++) /* and with the larger class the other one */
        labels[i] = labels[i] == 0;
    yp_ok(t, metrics_auc(yp_device_cpu(), scores, labels, n, &auc, &skipped));
    yp_expect(t, fabs(auc + right.roc_auc - 1) < 1e-12, "AUC of the others %.17g", auc);
    yp_value(t, "auc", right.roc_auc);
    yp_value(t, "average precision", right.average_precision);
}

/* -- calibration ------------------------------------------------------------------------------- */

/* 1 - F of chi-square with an even number of degrees of freedom (Abramowitz and Stegun 26.4.5). */
static double beyond(double x, int freedom)
{
    double term = exp(-x / 2), sum = 0;
    for (int j = 0; j < freedom / 2; j++) {
        sum += term;
        term *= x / 2 / (j + 1);
    }
    return x > 0 ? sum : 1;
}

/* Scores are in eighths: both sides of each step of their distribution. */
static void check_kolmogorov(struct yp_case *t, const float *scores, const uint8_t *labels,
                             size_t n, size_t background, int freedom)
{
    double all = 0, distance = NAN;
    for (int k = 0; k < 8 * 400; k++) {
        double below = 0, up_to = 0, f = 1 - beyond(k / 8.0, freedom);
        for (size_t i = 0; i < n; i++) {
            below += labels[i] == 0 && (double)scores[i] < k / 8.0;
            up_to += labels[i] == 0 && (double)scores[i] <= k / 8.0;
        }
        if (up_to > below)
            all = worse(all, worse(f - below / (double)background, up_to / (double)background - f));
    }
    yp_ok(t, metrics_kolmogorov(yp_device_cpu(), scores, labels, n, (size_t)freedom, &distance));
    yp_expect(t, fabs(distance - all) < 1e-10, "distance from %d degrees %.17g: %.17g", freedom,
              distance, all);
}

YP_TEST(metrics, calibration, .tags = "stress small", .timeout = 120, .parallel = true)
{
    size_t n, background = 0, over[METRICS_CALIBRATION_TAILS] = {0};
    uint8_t *labels;
    const float *scores = scores_of(t, &n, &labels);
    struct metrics_calibration *got = yp_alloc_host(t, 2 * sizeof *got);
    struct metrics_calibrated judged;
    for (int i = 0; i < 2; i++)
        yp_ok(t, metrics_calibration_start(&got[i], CHANNELS));
    for (int i = 0; i < METRICS_CALIBRATION_TAILS; i++)
        yp_expect(t, fabs(beyond(got->tails[i], CHANNELS) * pow(10, i + 1) - 1) < 1e-10,
                  "quantile %d is %g", i, got->tails[i]);
    for (int i = 1; i < METRICS_CALIBRATION_BINS; i++)
        yp_expect(t,
                  fabs(beyond(got->edges[i - 1], CHANNELS) + (double)i / METRICS_CALIBRATION_BINS -
                       1) < 1e-10,
                  "edge %d is %g", i, got->edges[i - 1]);
    metrics_calibration_add(&got[0], scores, labels, n / 3);
    metrics_calibration_add(&got[1], scores + n / 3, labels + n / 3, n - n / 3);
    metrics_calibration_merge(&got[0], &got[1]);
    metrics_calibration_result(&got[0], &judged);

    double bins = 0;
    for (size_t i = 0; i < n; i++)
        background += labels[i] == 0 && !isnan(scores[i]);
    for (int k = 0; k < METRICS_CALIBRATION_BINS; k++) {
        double below = 0, edge = k + 1 < METRICS_CALIBRATION_BINS ? got->edges[k] : INFINITY;
        for (size_t i = 0; i < n; i++)
            below += labels[i] == 0 && (double)scores[i] <= edge;
        bins = worse(bins, fabs(below / (double)background - (k + 1.0) / METRICS_CALIBRATION_BINS));
    }
    for (size_t i = 0; i < n; i++)
        for (int k = 0; k < METRICS_CALIBRATION_TAILS && labels[i] == 0; k++)
            over[k] += (double)scores[i] > got->tails[k];
    yp_expect(t, judged.background == background, "%zu of background, not %zu",
              (size_t)judged.background, background);
    for (int k = 0; k < METRICS_CALIBRATION_TAILS; k++)
        yp_expect(t, near(judged.beyond[k], (double)over[k] / (double)background),
                  "beyond quantile %d: %g", k, judged.beyond[k]);
    yp_expect(t, near(judged.distance, bins), "distance by bins %.17g: %.17g", judged.distance,
              bins);
    /* Too few degrees and too many: the distance is on the one side and on the other. */
    for (int freedom = 4; freedom <= 30; freedom += freedom == 4 ? 6 : 20)
        check_kolmogorov(t, scores, labels, n, background, freedom);
    for (size_t i = 0; i < METRICS_CALIBRATION_TAILS; i++) {
        double x = 3.0 * (double)(i + 1);
        yp_expect(t,
                  fabs(metrics_chi_square(x, CHANNELS) + beyond(x, CHANNELS) - 1) < 1e-12 &&
                      near(metrics_chi_square_upper(x, CHANNELS), beyond(x, CHANNELS)),
                  "chi-square at %g: %g", x, metrics_chi_square(x, CHANNELS));
    }
}

/* -- displacement ------------------------------------------------------------------------------ */

enum { NODES = 61, MODES = 4, STEPS = 3, STRIDE = 5 };

/* Off by multiples of 1/64, which a float holds, along (3, 4): distances are 5/64 of them. */
static void draw_paths(struct ypi_seed *seed, float *path, float *logit, float *target, int *off)
{
    for (size_t i = 0; i < (size_t)NODES * STEPS * 2; i++)
        target[i] = floorf((float)ypi_seed_uniform(seed) * 64) / 16;
    for (size_t i = 0; i < (size_t)NODES * MODES; i++)
        logit[i] = floorf((float)ypi_seed_uniform(seed) * 6); /* with ties */
    for (size_t i = 0; i < (size_t)NODES * MODES * STEPS; i++) {
        const size_t node = i / (MODES * STEPS), step = i % STEPS;
        off[i] = (int)(ypi_seed_uniform(seed) * 101) - 50;
        for (size_t k = 0; k < STRIDE; k++)
            path[i * STRIDE + k] = NAN; /* is not read */
        path[i * STRIDE] = target[(node * STEPS + step) * 2] + 3 * (float)off[i] / 64;
        path[i * STRIDE + 1] = target[(node * STEPS + step) * 2 + 1] - 4 * (float)off[i] / 64;
    }
}

static struct metrics_displaced displaced(const struct metrics_paths *all, size_t at_once,
                                          double miss)
{
    struct metrics_displacement sums = {.miss = miss};
    struct metrics_displaced out;
    for (size_t at = 0; at < all->nodes; at += at_once) {
        struct metrics_paths some = *all;
        some.nodes = all->nodes - at < at_once ? all->nodes - at : at_once;
        some.path += at * MODES * STEPS * STRIDE;
        some.logit += at * MODES;
        some.target += at * STEPS * 2;
        some.counts += at;
        metrics_displacement_add(&sums, &some);
    }
    metrics_displacement_result(&sums, &out);
    return out;
}

/* In 64ths of 5, exact. A node counts where its number is no multiple of 7. */
static void check_displaced(struct yp_case *t, const struct metrics_displaced *got,
                            const float *logit, const int *off, int miss)
{
    int nodes = 0, ade = 0, fde = 0, min_ade = 0, min_fde = 0, misses = 0;
    for (int node = 0; node < NODES; node++) {
        int sums[MODES] = {0}, ends[MODES], likely = MODES - 1, best = 1 << 20, end = 1 << 20;
        for (int i = MODES - 1; i >= 0; i--) {
            for (int s = 0; s < STEPS; s++)
                sums[i] += abs(off[(node * MODES + i) * STEPS + s]);
            ends[i] = abs(off[(node * MODES + i) * STEPS + STEPS - 1]);
            likely = logit[node * MODES + i] >= logit[node * MODES + likely] ? i : likely;
            best = sums[i] < best ? sums[i] : best;
            end = ends[i] < end ? ends[i] : end;
        }
        if (node % 7 == 0)
            continue;
        nodes++;
        ade += sums[likely];
        fde += ends[likely];
        min_ade += best;
        min_fde += end;
        misses += 5 * ends[likely] > miss;
    }
    const double unit = 5.0 / 64 / nodes;
    yp_expect(t, (int)got->nodes == nodes && got->skipped == 0, "%zu nodes, %zu skipped",
              (size_t)got->nodes, (size_t)got->skipped);
    yp_expect(t,
              near(got->ade, ade * unit / STEPS) && near(got->fde, fde * unit) &&
                  near(got->min_ade, min_ade * unit / STEPS) && near(got->min_fde, min_fde * unit),
              "%g %g %g %g, not %g %g %g %g", got->ade, got->fde, got->min_ade, got->min_fde,
              ade * unit / STEPS, fde * unit, min_ade * unit / STEPS, min_fde * unit);
    yp_expect(t, near(got->miss_rate, (double)misses / nodes), "%g miss, not %d", got->miss_rate,
              misses);
}

YP_TEST(metrics, displacement, .tags = "stress small", .parallel = true)
{
    float path[NODES * MODES * STEPS * STRIDE], logit[NODES * MODES], target[NODES * STEPS * 2];
    float counts[NODES];
    int off[NODES * MODES * STEPS];
    struct ypi_seed seed = ypi_seed_of(yp_seed(t), 0, 0);
    draw_paths(&seed, path, logit, target, off);
    for (size_t i = 0; i < NODES; i++)
        counts[i] = i % 7 != 0;
    const struct metrics_paths all = {NODES, MODES, STEPS, STRIDE, path, logit, target, counts};
    struct metrics_displaced got = displaced(&all, NODES, 0), parts = displaced(&all, 5, 0);
    check_displaced(t, &got, logit, off, 128);
    yp_expect(t, memcmp(&got, &parts, sizeof got) == 0, "other bits in parts");
    for (int miss = 0; miss <= 250; miss += 25) { /* at 5 times a whole number: the edge itself */
        got = displaced(&all, 9, miss > 0 ? miss / 64.0 : 1e-9);
        check_displaced(t, &got, logit, off, miss);
    }
    path[(8 * MODES + 3) * STEPS * STRIDE] = target[12 * STEPS * 2] = logit[13 * MODES] = NAN;
    got = displaced(&all, NODES, 0);
    yp_expect(t, got.skipped == 3 && got.nodes == NODES - 9 - 3 && isfinite(got.ade), "%zu skipped",
              (size_t)got.skipped);
    got = displaced(&(struct metrics_paths){0}, 1, 0);
    yp_expect(t, got.nodes == 0 && isnan(got.ade) && isnan(got.min_fde) && isnan(got.miss_rate),
              "%g of nothing", got.ade);
}

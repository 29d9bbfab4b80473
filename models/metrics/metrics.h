/* Judging detections and predicted paths. Counts are exact and add up over tiles, in any order.
 * What does not exist (a ratio over nothing) is NaN, which meets no budget; scikit-learn would say
 * 0 and warn. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <yieldpoint/device.h>

/* -- decisions ------------------------------------------------------------------------------- */

/* An item is called a target where sigmoid(logit) >= 0.5, which is logit >= 0. */
struct metrics_confusion {
    uint64_t true_positives, false_positives, false_negatives, true_negatives;
    uint64_t skipped; /* NaN */
};

void metrics_confusion_add(struct metrics_confusion *counts, const float *logits,
                           const uint8_t *labels, size_t n);
/* TP / (TP + FP); NaN: nothing was called */
double metrics_precision(const struct metrics_confusion *counts);
/* TP / (TP + FN); NaN: no targets */
double metrics_recall(const struct metrics_confusion *counts);
/* 2 TP / (2 TP + FP + FN); NaN: neither */
double metrics_f1(const struct metrics_confusion *counts);
/* TP / (TP + FP + FN); NaN: neither */
double metrics_iou(const struct metrics_confusion *counts);

/* Area under the ROC curve: the probability that a target scores higher than the background, ties
 * counting half (Mann and Whitney). Exact; O(n log n) time. `scores` and `labels` have n entries,
 * n < 2^32. Takes 4 bytes of accounted memory for each member of the smaller class while it runs.
 *
 * A NaN score is an error when `skipped` is NULL; otherwise it is left out and counted there.
 * YP_INVALID also when a class is empty. */
enum yp_status metrics_auc(struct yp_device *device, const float *scores, const uint8_t *labels,
                           size_t n, double *auc, size_t *skipped);

/* -- rankings -------------------------------------------------------------------------------- */

/* Exact measures of a ranking by memory that goes with the targets alone: their scores are kept,
 * and each background score is looked up among them. So there are two passes: all targets, then all
 * background. Ties are groups: nothing hangs on the order within one. */
struct metrics_ranking;

struct metrics_ranked {
    uint64_t targets, background;
    uint64_t skipped; /* NaN scores of either class */
    /* sum (R_n - R_{n-1}) P_n over distinct scores from the highest on, R and P recall and
     * precision of "at least that score", as scikit-learn defines it. NaN without targets. */
    double average_precision;
    double roc_auc;       /* as metrics_auc, in the same bits; NaN when a class is empty */
    double detection_1e3; /* metrics_ranking_detection at 1e-3 and 1e-4 */
    double detection_1e4;
};

/* Bytes of accounted memory for up to `targets` targets (1 .. 2^32 - 1); 0 with an error set. */
size_t metrics_ranking_bytes(size_t targets);
struct metrics_ranking *metrics_ranking_create(struct yp_device *device, size_t targets);
void metrics_ranking_destroy(struct metrics_ranking *ranking); /* NULL is allowed */
void metrics_ranking_reset(struct metrics_ranking *ranking);

/* Keeps the scores of the targets among them. YP_INVALID: more than its capacity, or the
 * second pass has begun. */
enum yp_status metrics_ranking_targets(struct metrics_ranking *ranking, const float *scores,
                                       const uint8_t *labels, size_t n);
/* Counts the background among them; the first call ends the first pass. YP_INVALID: 2^32 scores
 * and more. */
enum yp_status metrics_ranking_background(struct metrics_ranking *ranking, const float *scores,
                                          const uint8_t *labels, size_t n);

void metrics_ranking_result(struct metrics_ranking *ranking, struct metrics_ranked *out);

/* The largest part of the targets that a threshold detects ("score >= threshold") whose false
 * alarms are at most that part of the background: none at all when there are fewer than 1 / rate
 * background scores. Writes the lowest such threshold that is a target's score, infinity when even
 * the highest one has too many; `threshold` may be NULL. NaN when a class is empty. */
double metrics_ranking_detection(struct metrics_ranking *ranking, double false_alarms,
                                 float *threshold);

/* -- calibration ----------------------------------------------------------------------------- */

#define METRICS_MAX_FREEDOM 8192 /* degrees of freedom that calibration allows */

/* F(x) = P(k/2, x/2) of chi-square with k > 0 degrees of freedom, and 1 - F without cancellation:
 * the regularised incomplete gamma functions by the series (Abramowitz and Stegun 6.5.29) below
 * x = k + 2 and the continued fraction (6.5.31) above it. Relative error below 1e-10 where the
 * result is above 1e-300, for k up to METRICS_MAX_FREEDOM. 0 and 1 at x <= 0; NaN for NaN, and for
 * k that is not above 0. */
double metrics_chi_square(double x, double k);
double metrics_chi_square_upper(double x, double k);
/* The x with 1 - F(x) = upper, 0 < upper < 1; NaN otherwise. */
double metrics_chi_square_point(double upper, double k);

#define METRICS_CALIBRATION_BINS 1024
#define METRICS_CALIBRATION_TAILS 4

/* Squared Mahalanobis distances of Gaussian data of k dimensions, as RX scores of background are
 * (Reed and Xiaoli, 1990), have the chi-square distribution with k degrees of freedom. This counts
 * how scores follow it: in bins of equal probability, and beyond the quantiles 0.9, 0.99, 0.999,
 * 0.9999. */
struct metrics_calibration {
    double edges[METRICS_CALIBRATION_BINS - 1]; /* quantiles i / BINS */
    double tails[METRICS_CALIBRATION_TAILS];
    uint64_t bins[METRICS_CALIBRATION_BINS];
    uint64_t beyond[METRICS_CALIBRATION_TAILS]; /* score > quantile */
    uint64_t counted, skipped;                  /* NaN */
};

struct metrics_calibrated {
    uint64_t background, skipped;
    double beyond[METRICS_CALIBRATION_TAILS]; /* parts of the background; 0.1, 0.01, ... when it
                                                 fits */
    /* Kolmogorov's: the largest difference of the two distribution functions at an edge of a bin;
     * anywhere it is at most 1 / METRICS_CALIBRATION_BINS more. */
    double distance;
};

/* YP_INVALID when freedom is not 1 to METRICS_MAX_FREEDOM. */
enum yp_status metrics_calibration_start(struct metrics_calibration *calibration, size_t freedom);
/* Adds the background among them; labels NULL: all is background. */
void metrics_calibration_add(struct metrics_calibration *calibration, const float *scores,
                             const uint8_t *labels, size_t n);
/* Adds another one's counts, of the same degrees of freedom. */
void metrics_calibration_merge(struct metrics_calibration *calibration,
                               const struct metrics_calibration *other);
/* NaN without background. */
void metrics_calibration_result(const struct metrics_calibration *calibration,
                                struct metrics_calibrated *out);

/* Kolmogorov's distance itself, of all background scores at once. Takes 4 bytes of accounted memory
 * a score while it runs and one evaluation of F for each: the oracle of the bins. YP_INVALID
 * without background, and when freedom is not 1 to METRICS_MAX_FREEDOM. */
enum yp_status metrics_kolmogorov(struct yp_device *device, const float *scores,
                                  const uint8_t *labels, size_t n, size_t freedom,
                                  double *distance);

/* -- displacement ---------------------------------------------------------------------------- */

#define METRICS_MISS 2.0 /* by default a path misses whose last step is farther off than this */

/* Sums over nodes, in double and in their order: the same bits however they are divided into calls.
 * Begins as all zeros, but for `miss`. */
struct metrics_displacement {
    double miss; /* 0: METRICS_MISS */
    uint64_t nodes, misses;
    uint64_t skipped; /* nodes with a NaN in their paths, logits or target */
    double mean, last, least_mean, least_last;
};

/* What is predicted for nodes, in several modes, and what came. */
struct metrics_paths {
    size_t nodes, modes, steps; /* 1 and more modes and steps */
    size_t stride;              /* numbers of a step in `path`, which x and y begin: at least 2 */
    const float *path;          /* (nodes, modes, steps, stride) */
    const float *logit;         /* (nodes, modes): the largest is the likely one; NULL: the first */
    const float *target;        /* (nodes, steps, 2) */
    const float *counts;        /* (nodes): 0 where a node is left out; NULL: all count */
};

/* All but the number of nodes NaN where there is none. */
struct metrics_displaced {
    uint64_t nodes, skipped;
    /* Of the likely mode: the mean distance over steps, that of the last step, and the part of
     * nodes where that is above `miss`. */
    double ade, fde, miss_rate;
    /* Of the best mode of each node, which may be one for the mean and another for the end. */
    double min_ade, min_fde;
};

void metrics_displacement_add(struct metrics_displacement *displacement,
                              const struct metrics_paths *paths);
void metrics_displacement_result(const struct metrics_displacement *displacement,
                                 struct metrics_displaced *out);

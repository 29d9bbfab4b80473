/*
 * Judging detections. Counts are exact and add up over tiles, in any order. What does not exist (a
 * ratio over nothing) is NaN, which meets no budget; scikit-learn would say 0 and warn.
 */
#ifndef RX_METRICS_H
#define RX_METRICS_H

#include "models/rx/rx.h"

#ifdef __cplusplus
extern "C" {
#endif

/* -- decisions ------------------------------------------------------------------------------- */

/* A pixel is called a target where sigmoid(logit) >= 0.5, which is logit >= 0. */
struct rx_confusion {
    uint64_t true_positives, false_positives, false_negatives, true_negatives;
    uint64_t skipped; /* NaN */
};

void rx_confusion_add(struct rx_confusion *counts, const float *logits, const uint8_t *labels,
                      size_t n);
/* TP / (TP + FP); NaN: nothing was called */
double rx_precision(const struct rx_confusion *counts);
/* TP / (TP + FN); NaN: no targets */
double rx_recall(const struct rx_confusion *counts);
/* 2 TP / (2 TP + FP + FN); NaN: neither */
double rx_f1(const struct rx_confusion *counts);
/* TP / (TP + FP + FN); NaN: neither */
double rx_iou(const struct rx_confusion *counts);

/* -- rankings -------------------------------------------------------------------------------- */

/*
 * Exact measures of a ranking by memory that goes with the targets alone: their scores are kept,
 * and each background score is looked up among them. So there are two passes: all targets, then
 * all background. Ties are groups: nothing hangs on the order within one.
 */
struct rx_ranking;

struct rx_ranked {
    uint64_t targets, background;
    uint64_t skipped; /* NaN scores of either class */
    /* sum (R_n - R_{n-1}) P_n over distinct scores from the highest on, R and P recall and
     * precision of "at least that score", as scikit-learn defines it. NaN without targets. */
    double average_precision;
    double roc_auc;       /* as rx_auc, in the same bits; NaN when a class is empty */
    double detection_1e3; /* rx_ranking_detection at 1e-3 and 1e-4 */
    double detection_1e4;
};

/* Bytes of accounted memory for up to `targets` targets (1 .. 2^32 - 1); 0 with an error set. */
size_t rx_ranking_bytes(size_t targets);
struct rx_ranking *rx_ranking_create(struct yp_device *device, size_t targets);
void rx_ranking_destroy(struct rx_ranking *ranking); /* NULL is allowed */
void rx_ranking_reset(struct rx_ranking *ranking);

/* Keeps the scores of the targets among them. YP_INVALID: more than there is room for, or the
 * second pass has begun. */
enum yp_status rx_ranking_targets(struct rx_ranking *ranking, const float *scores,
                                  const uint8_t *labels, size_t n);
/* Counts the background among them; the first call ends the first pass. YP_INVALID: 2^32 pixels
 * and more. */
enum yp_status rx_ranking_background(struct rx_ranking *ranking, const float *scores,
                                     const uint8_t *labels, size_t n);

void rx_ranking_result(struct rx_ranking *ranking, struct rx_ranked *out);

/* The largest part of the targets that a threshold detects ("score >= threshold") whose false
 * alarms are at most that part of the background: none at all when there are fewer than 1 / rate
 * background pixels. Writes the lowest such threshold that is a target's score, infinity when even
 * the highest one has too many; `threshold` may be NULL. NaN when a class is empty. */
double rx_ranking_detection(struct rx_ranking *ranking, double false_alarms, float *threshold);

/* -- calibration ----------------------------------------------------------------------------- */

/* F(x) = P(k/2, x/2) of chi-square with k > 0 degrees of freedom, and 1 - F without cancellation:
 * the regularised incomplete gamma functions by the series (Abramowitz and Stegun 6.5.29) below
 * x = k + 2 and the continued fraction (6.5.31) above it. Relative error below 1e-10 where the
 * result is above 1e-300, for k up to RX_MAX_CHANNELS. 0 and 1 at x <= 0; NaN for NaN, and for k
 * that is not above 0. */
double rx_chi_square(double x, double k);
double rx_chi_square_upper(double x, double k);
/* The x with 1 - F(x) = upper, 0 < upper < 1; NaN otherwise. */
double rx_chi_square_point(double upper, double k);

#define RX_CALIBRATION_BINS 1024
#define RX_CALIBRATION_TAILS 4

/*
 * RX scores of Gaussian background have the chi-square distribution with as many degrees of
 * freedom as channels (Reed and Xiaoli, 1990). This counts how they do: in bins of equal
 * probability, and beyond the quantiles 0.9, 0.99, 0.999, 0.9999.
 */
struct rx_calibration {
    double edges[RX_CALIBRATION_BINS - 1]; /* quantiles i / BINS */
    double tails[RX_CALIBRATION_TAILS];
    uint64_t bins[RX_CALIBRATION_BINS];
    uint64_t beyond[RX_CALIBRATION_TAILS]; /* score > quantile */
    uint64_t counted, skipped;             /* NaN */
};

struct rx_calibrated {
    uint64_t background, skipped;
    double beyond[RX_CALIBRATION_TAILS]; /* parts of the background; 0.1, 0.01, ... when it fits */
    /* Kolmogorov's: the largest difference of the two distribution functions at an edge of a bin;
     * anywhere it is at most 1 / RX_CALIBRATION_BINS more. */
    double distance;
};

enum yp_status rx_calibration_start(struct rx_calibration *calibration, size_t channels);
/* Adds the background among them; labels NULL: all is background. */
void rx_calibration_add(struct rx_calibration *calibration, const float *scores,
                        const uint8_t *labels, size_t n);
/* Adds another one's counts, of the same number of channels. */
void rx_calibration_merge(struct rx_calibration *calibration, const struct rx_calibration *other);
/* NaN without background. */
void rx_calibration_result(const struct rx_calibration *calibration, struct rx_calibrated *out);

/* Kolmogorov's distance itself, of all background scores at once. Takes 4 bytes of accounted memory
 * a score while it runs and one evaluation of F for each: the oracle of the bins. YP_INVALID
 * without background, and when channels is not 1 to RX_MAX_CHANNELS. */
enum yp_status rx_kolmogorov(struct yp_device *device, const float *scores, const uint8_t *labels,
                             size_t n, size_t channels, double *distance);

#ifdef __cplusplus
}
#endif

#endif

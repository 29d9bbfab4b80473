/* models/metrics: what is over nothing, ties at an edge, chi-square in both tails, and refusals.
 * suites/stress/formulas/metrics.c counts decisions, rankings and calibration. */
#include "models/metrics/metrics.h"
#include "tests/unit/status.h"

#include <math.h>

/* -- decisions ----------------------------------------------------------------------------------
 */

Test(metrics, a_logit_of_zero_is_a_target_and_nan_is_nothing)
{
    const float logits[] = {0, -0.0F, -1e-45F, 1e-45F, NAN, INFINITY, -INFINITY, NAN};
    const uint8_t labels[] = {1, 0, 1, 0, 1, 255, 0, 0};
    struct metrics_confusion c = {0};
    metrics_confusion_add(&c, logits, labels, LENGTH(logits));
    cr_expect(c.true_positives == 2 && c.false_positives == 2 && c.false_negatives == 1 &&
              c.true_negatives == 1 && c.skipped == 2);
}

/* Precision, recall, F1 and IoU; NaN where they are over nothing. */
Test(metrics, ratios_over_nothing_are_nan)
{
    static const struct {
        struct metrics_confusion counts;
        double precision, recall, f1, iou;
    } cases[] = {
        {{.true_negatives = 5, .skipped = 3}, NAN, NAN, NAN, NAN},
        {{.false_negatives = 2, .true_negatives = 5}, NAN, 0, 0, 0},
        {{.false_positives = 2, .true_negatives = 5}, 0, NAN, 0, 0},
    };
    for (size_t i = 0; i < LENGTH(cases); i++) {
        const struct metrics_confusion *c = &cases[i].counts;
        const double got[] = {metrics_precision(c), metrics_recall(c), metrics_f1(c),
                              metrics_iou(c)};
        for (size_t k = 0; k < 4; k++) {
            double wanted = (&cases[i].precision)[k];
            cr_expect(got[k] == wanted || (isnan(got[k]) && isnan(wanted)), "case %zu, %zu: %g", i,
                      k, got[k]);
        }
    }
}

/* -- rankings ------------------------------------------------------------------------------------
 */

static struct metrics_ranking *ranking_of(size_t capacity, const float *scores,
                                          const uint8_t *labels, size_t n)
{
    struct metrics_ranking *ranking = metrics_ranking_create(yp_device_cpu(), capacity);
    cr_assert_not_null(ranking, "%s", yp_last_error());
    OK(metrics_ranking_targets(ranking, scores, labels, n));
    OK(metrics_ranking_background(ranking, scores, labels, n));
    return ranking;
}

/* Targets, background, skipped; average precision, AUC and detection at 1e-3 and 1e-4. */
Test(metrics, rankings_that_do_not_exist_are_nan)
{
    static const struct {
        float scores[6];
        uint8_t labels[6];
        uint64_t counts[3];
        double ap, auc, detection;
    } cases[] = {{{0}, {0}, {0, 6, 0}, NAN, NAN, NAN},
                 {{0}, {1, 1, 1, 1, 1, 1}, {6, 0, 0}, 1, NAN, NAN},
                 {{NAN, NAN, NAN, NAN, NAN, NAN}, {1, 0, 1, 0, 1, 0}, {0, 0, 6}, NAN, NAN, NAN},
                 {{INFINITY, -INFINITY, NAN, 0, INFINITY, -INFINITY},
                  {1, 0, 1, 0, 1, 0},
                  {2, 3, 1},
                  1,
                  1,
                  1},
                 {{7, 7, 7, 7, 7, 7}, {0, 0, 1, 0, 0, 1}, {2, 4, 0}, 2.0 / 6, 0.5, 0}};
    for (size_t i = 0; i < LENGTH(cases); i++) {
        struct metrics_ranked out;
        struct metrics_ranking *ranking = ranking_of(6, cases[i].scores, cases[i].labels, 6);
        metrics_ranking_result(ranking, &out);
        const double got[] = {out.average_precision, out.roc_auc, out.detection_1e3,
                              out.detection_1e4};
        const double wanted[] = {cases[i].ap, cases[i].auc, cases[i].detection, cases[i].detection};
        cr_expect(out.targets == cases[i].counts[0] && out.background == cases[i].counts[1] &&
                      out.skipped == cases[i].counts[2],
                  "case %zu", i);
        for (size_t k = 0; k < 4; k++)
            cr_expect(got[k] == wanted[k] || (isnan(got[k]) && isnan(wanted[k])),
                      "case %zu, %zu: %g", i, k, got[k]);
        metrics_ranking_destroy(ranking);
    }
}

Test(metrics, a_ranking_takes_its_memory_once_and_says_what_it_lacks)
{
    static const float scores[] = {1, 2, 3, 4};
    static const uint8_t labels[] = {1, 1, 1, 0};
    const struct yp_memory before = memory();
    struct metrics_ranking *ranking = ranking_of(3, scores, labels, 4);
    cr_expect_eq(memory().allocated - before.allocated, metrics_ranking_bytes(3));
    cr_expect_eq(memory().allocations, before.allocations + 1);
    FAILS(metrics_ranking_targets(ranking, scores, labels, 4), YP_INVALID, "before it");
    metrics_ranking_destroy(ranking);
    ranking = metrics_ranking_create(yp_device_cpu(), 2);
    FAILS(metrics_ranking_targets(ranking, scores, labels, 4), YP_INVALID, "than the 2 there");
    metrics_ranking_destroy(ranking);
    metrics_ranking_destroy(NULL);
    cr_expect_eq(memory().allocated, before.allocated);
    cr_expect_eq(metrics_ranking_bytes(0), 0);
    cr_expect_not_null(strstr(yp_last_error(), "targets is 0"));
    cr_expect_null(metrics_ranking_create(yp_device_cpu(), 0));
    yp_device_fail_allocation(yp_device_cpu(), 1);
    cr_expect_null(metrics_ranking_create(yp_device_cpu(), 3));
}

/* -- chi-square ----------------------------------------------------------------------------------
 */

/* 1 - F with an even number of degrees: the probability that a Poisson variable of mean x / 2 is
 * below k / 2 (Abramowitz and Stegun, 26.4.21). */
static double poisson(double x, int k)
{
    double sum = 0;
    for (int j = 0; j < k / 2; j++)
        sum += exp(j * log(x / 2) - x / 2 - lgamma(j + 1.0));
    return sum;
}

Test(metrics, chi_square_is_exact_in_both_tails)
{
    /* Quantiles as the tables of handbooks have them, to their last digit. */
    static const struct {
        double degrees, p, x;
    } table[] = {{1, 0.01, 6.635},     {1, 0.001, 10.828}, {10, 0.01, 23.209},
                 {10, 0.001, 29.588},  {50, 0.01, 76.154}, {100, 0.01, 135.807},
                 {100, 0.001, 149.449}};
    static const int degrees[] = {2, 4, 30, 34, 200, 1000, 8192};
    for (size_t i = 0; i < LENGTH(table); i++)
        cr_expect_lt(fabs(metrics_chi_square_point(table[i].p, table[i].degrees) - table[i].x),
                     5.1e-4, "%g degrees, %g", table[i].degrees, table[i].p);
    for (size_t i = 0; i < LENGTH(degrees); i++)
        for (double part = 0.05; part < 8; part *= 1.3) {
            double k = degrees[i], x = k * part, upper = poisson(x, degrees[i]);
            if (upper > 1e-200 && upper < 0.9)
                cr_expect_lt(fabs(metrics_chi_square_upper(x, k) / upper - 1), 1e-9, "%g, %g", k,
                             x);
            cr_expect_lt(fabs(metrics_chi_square(x, k) + upper - 1), 1e-10, "%g, %g", k, x);
        }
    for (double x = 0.01; x < 1000; x *= 1.5) { /* one degree */
        cr_expect_lt(fabs(metrics_chi_square_upper(x, 1) / erfc(sqrt(x / 2)) - 1), 1e-9, "%g", x);
        cr_expect_lt(fabs(metrics_chi_square(x, 1) / erf(sqrt(x / 2)) - 1), 1e-9, "%g", x);
    }
    for (double upper = 1e-12; upper < 1; upper = upper < 0.5 ? upper * 7 : upper + 0.07)
        for (size_t i = 0; i < LENGTH(degrees); i++) {
            double x = metrics_chi_square_point(upper, degrees[i]);
            cr_expect_lt(fabs(metrics_chi_square_upper(x, degrees[i]) / upper - 1), 1e-9, "%g",
                         upper);
        }
    cr_expect(metrics_chi_square(0, 3) == 0 && metrics_chi_square_upper(0, 3) == 1);
    cr_expect(metrics_chi_square(-1, 3) == 0 && metrics_chi_square_upper(-1, 3) == 1);
    cr_expect(metrics_chi_square(INFINITY, 3) == 1 && metrics_chi_square_upper(INFINITY, 3) == 0);
    cr_expect(isnan(metrics_chi_square(NAN, 3)) && isnan(metrics_chi_square(1, 0)));
    cr_expect(isnan(metrics_chi_square_point(0, 3)) && isnan(metrics_chi_square_point(1, 3)));
    cr_expect(isnan(metrics_chi_square_point(NAN, 3)) && isnan(metrics_chi_square_point(0.5, -1)));
}

/* -- calibration ---------------------------------------------------------------------------------
 */

Test(metrics, calibration_leaves_out_targets_and_nan)
{
    const float scores[] = {1, 1e9F, NAN, 2, INFINITY};
    const uint8_t labels[] = {0, 1, 0, 0, 0}, all[] = {1, 1, 1, 1, 1};
    struct metrics_calibration calibration;
    struct metrics_calibrated out;
    double distance;
    OK(metrics_calibration_start(&calibration, 2));
    metrics_calibration_result(&calibration, &out);
    cr_expect(out.background == 0 && isnan(out.distance) && isnan(out.beyond[0]));
    metrics_calibration_add(&calibration, scores, labels, LENGTH(scores));
    metrics_calibration_result(&calibration, &out);
    cr_expect(out.background == 3 && out.skipped == 1);
    for (int t = 0; t < METRICS_CALIBRATION_TAILS; t++)
        cr_expect_float_eq(out.beyond[t], 1.0 / 3, 1e-15);
#define KOLMOGOROV(scores_, labels_, freedom, to) \
    metrics_kolmogorov(yp_device_cpu(), scores_, labels_, 5, freedom, to)
    OK(KOLMOGOROV(scores, NULL, 2, &distance));
    OK(KOLMOGOROV(scores, labels, 2, &distance));
    cr_expect(fabs(out.distance - distance) <= 1.0 / METRICS_CALIBRATION_BINS);
    FAILS(KOLMOGOROV(scores, all, 2, &distance), YP_INVALID, "0 background");
    FAILS(KOLMOGOROV(NULL, labels, 2, &distance), YP_INVALID, "scores is");
    FAILS(KOLMOGOROV(scores, labels, 2, NULL), YP_INVALID, "distance is");
    FAILS(KOLMOGOROV(scores, labels, 0, &distance), YP_INVALID,
          "freedom is 0, allowed are 1 to 8192");
    FAILS(KOLMOGOROV(scores, labels, METRICS_MAX_FREEDOM + 1, &distance), YP_INVALID,
          "freedom is 8193");
    FAILS(metrics_calibration_start(&calibration, 0), YP_INVALID, "freedom is 0");
    FAILS(metrics_calibration_start(&calibration, METRICS_MAX_FREEDOM + 1), YP_INVALID,
          "freedom is 8193");
}

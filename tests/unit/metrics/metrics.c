/* models/metrics/metrics.h against scikit-learn, scipy and plain counting. */
#include "tests/unit/metrics/metrics_reference.h"
#include "tests/unit/rx/rx_fixture.h"

#include "models/metrics/metrics.h"
#include <math.h>
#include <stdio.h>

/* -- the data of metrics_reference.py ---------------------------------------------------- */

struct data {
    size_t n;
    float *scores;
    uint8_t *labels;
};

static struct data data_of(size_t n)
{
    struct data d = {n, calloc(n, sizeof(float)), calloc(n, 1)};
    cr_assert(d.scores != NULL && d.labels != NULL);
    return d;
}

static void data_free(struct data *d)
{
    free(d->scores);
    free(d->labels);
}

static struct data detections(uint64_t seed, size_t n, double rare, double steps, double apart)
{
    struct data d = data_of(n);
    for (size_t i = 0; i < n; i++) {
        d.labels[i] = script_uniform(&seed) * rare < 1 ? 3 : 0;
        double score = script_normal(&seed) + (d.labels[i] != 0 ? apart : 0) - 2;
        d.scores[i] = (float)(floor(score * steps) / steps);
    }
    return d;
}

static struct data squares(uint64_t seed, size_t n, int k, double stretch)
{
    struct data d = data_of(n);
    for (size_t i = 0; i < n; i++) {
        double total = 0;
        for (int c = 0; c < k; c++) {
            double z = script_normal(&seed);
            total += z * z;
        }
        d.scores[i] = (float)(total * stretch);
    }
    return d;
}

/* -- decisions ------------------------------------------------------------------------------ */

Test(metrics, decisions_are_those_of_scikit_learn)
{
    for (size_t i = 0; i < LENGTH(reference_detections); i++) {
        __typeof__(reference_detections[0]) r = reference_detections[i];
        struct data d = detections(r.seed, r.n, r.rare, r.steps, r.apart);
        struct metrics_confusion c = {0};
        for (size_t at = 0; at < d.n; at += 37)
            metrics_confusion_add(&c, d.scores + at, d.labels + at, d.n - at < 37 ? d.n - at : 37);
        cr_expect(c.true_positives == r.tp && c.false_positives == r.fp);
        cr_expect(c.false_negatives == r.fn && c.true_negatives == r.tn && c.skipped == 0);
        cr_expect_float_eq(metrics_precision(&c), r.precision, 1e-15);
        cr_expect_float_eq(metrics_recall(&c), r.recall, 1e-15);
        cr_expect_float_eq(metrics_f1(&c), r.f1, 1e-15);
        cr_expect_float_eq(metrics_iou(&c), r.iou, 1e-15);
        data_free(&d);
    }
}

Test(metrics, a_logit_of_zero_is_a_target_and_nan_is_nothing)
{
    const float logits[] = {0, -0.0F, -1e-45F, 1e-45F, NAN, INFINITY, -INFINITY, NAN};
    const uint8_t labels[] = {1, 0, 1, 0, 1, 255, 0, 0};
    struct metrics_confusion c = {0};
    metrics_confusion_add(&c, logits, labels, LENGTH(logits));
    cr_expect_eq(c.true_positives, 2);
    cr_expect_eq(c.false_positives, 2);
    cr_expect_eq(c.false_negatives, 1);
    cr_expect_eq(c.true_negatives, 1);
    cr_expect_eq(c.skipped, 2);
}

Test(metrics, ratios_over_nothing_are_nan)
{
    struct metrics_confusion empty = {.true_negatives = 5, .skipped = 3};
    cr_expect(isnan(metrics_precision(&empty)) && isnan(metrics_recall(&empty)));
    cr_expect(isnan(metrics_f1(&empty)) && isnan(metrics_iou(&empty)));
    struct metrics_confusion nothing_called = {.false_negatives = 2, .true_negatives = 5};
    cr_expect(isnan(metrics_precision(&nothing_called)));
    cr_expect(metrics_recall(&nothing_called) == 0 && metrics_f1(&nothing_called) == 0);
    cr_expect(metrics_iou(&nothing_called) == 0);
    struct metrics_confusion no_targets = {.false_positives = 2, .true_negatives = 5};
    cr_expect(isnan(metrics_recall(&no_targets)) && metrics_precision(&no_targets) == 0);
    cr_expect(metrics_f1(&no_targets) == 0 && metrics_iou(&no_targets) == 0);
}

/* -- rankings ------------------------------------------------------------------------------- */

static struct metrics_ranking *ranking_of(const struct data *d, size_t capacity, size_t tile)
{
    struct metrics_ranking *ranking = metrics_ranking_create(yp_device_cpu(), capacity);
    cr_assert_not_null(ranking, "%s", yp_last_error());
    for (size_t at = 0; at < d->n; at += tile)
        OK(metrics_ranking_targets(ranking, d->scores + at, d->labels + at,
                                   d->n - at < tile ? d->n - at : tile));
    for (size_t at = 0; at < d->n; at += tile)
        OK(metrics_ranking_background(ranking, d->scores + at, d->labels + at,
                                      d->n - at < tile ? d->n - at : tile));
    return ranking;
}

Test(metrics, rankings_are_those_of_scikit_learn)
{
    for (size_t i = 0; i < LENGTH(reference_detections); i++) {
        __typeof__(reference_detections[0]) r = reference_detections[i];
        struct data d = detections(r.seed, r.n, r.rare, r.steps, r.apart);
        struct metrics_ranking *ranking = ranking_of(&d, (size_t)(r.tp + r.fn), 61);
        struct metrics_ranked out;
        metrics_ranking_result(ranking, &out);
        cr_expect(out.targets == r.tp + r.fn && out.background == r.fp + r.tn);
        cr_expect_float_eq(out.average_precision, r.average_precision, 1e-13, "%zu: %.17g", i,
                           out.average_precision);
        cr_expect_float_eq(out.roc_auc, r.roc_auc, 1e-13, "%zu: %.17g", i, out.roc_auc);
        cr_expect_float_eq(out.detection_1e3, r.detection_1e3, 1e-15);
        cr_expect_float_eq(out.detection_1e4, r.detection_1e4, 1e-15);
        double auc;
        OK(metrics_auc(yp_device_cpu(), d.scores, d.labels, d.n, &auc, NULL));
        cr_expect(auc == out.roc_auc, "not the bits of metrics_auc");
        metrics_ranking_destroy(ranking);
        data_free(&d);
    }
}

/* Tries every threshold there is. */
static double detection_by_search(const struct data *d, double rate, float *threshold)
{
    double best = 0;
    *threshold = INFINITY;
    for (size_t t = 0; t < d->n; t++) {
        size_t targets = 0, hits = 0, background = 0, alarms = 0;
        if (d->labels[t] == 0)
            continue;
        for (size_t i = 0; i < d->n; i++) {
            bool called = d->scores[i] >= d->scores[t];
            *(d->labels[i] != 0 ? &targets : &background) += 1;
            *(d->labels[i] != 0 ? &hits : &alarms) += called;
        }
        if ((double)alarms / (double)background <= rate && d->scores[t] < *threshold) {
            *threshold = d->scores[t];
            best = (double)hits / (double)targets;
        }
    }
    return best;
}

Test(metrics, detection_keeps_to_the_false_alarm_rate)
{
    const double rates[] = {0, 0.001, 0.01, 0.02, 0.5, 1};
    for (uint64_t seed = 20; seed < 26; seed++) {
        struct data d = detections(seed, 400, 10, seed % 2 == 0 ? 2 : 1024, 2);
        struct metrics_ranking *ranking = ranking_of(&d, 400, 400);
        for (size_t i = 0; i < LENGTH(rates); i++) {
            float wanted, got;
            double best = detection_by_search(&d, rates[i], &wanted);
            cr_expect(metrics_ranking_detection(ranking, rates[i], &got) == best, "rate %g",
                      rates[i]);
            cr_expect(got == wanted, "rate %g: %g, not %g", rates[i], (double)got, (double)wanted);
        }
        metrics_ranking_destroy(ranking);
        data_free(&d);
    }
}

Test(metrics, rankings_that_do_not_exist_are_nan)
{
    struct data d = data_of(6);
    struct metrics_ranked out;
    struct metrics_ranking *ranking = ranking_of(&d, 1, 6); /* background alone */
    metrics_ranking_result(ranking, &out);
    cr_expect(out.background == 6 && isnan(out.average_precision) && isnan(out.roc_auc));
    cr_expect(isnan(out.detection_1e3) && isnan(out.detection_1e4));
    metrics_ranking_destroy(ranking);

    memset(d.labels, 1, 6); /* targets alone */
    ranking = ranking_of(&d, 6, 6);
    metrics_ranking_result(ranking, &out);
    cr_expect(out.targets == 6 && out.average_precision == 1 && isnan(out.roc_auc));
    cr_expect(isnan(out.detection_1e3));
    metrics_ranking_destroy(ranking);

    for (int i = 0; i < 6; i++) /* nothing but NaN */
        d.scores[i] = NAN, d.labels[i] = i % 2 == 0;
    ranking = ranking_of(&d, 6, 6);
    metrics_ranking_result(ranking, &out);
    cr_expect(out.skipped == 6 && out.targets == 0 && out.background == 0);
    cr_expect(isnan(out.average_precision) && isnan(out.roc_auc) && isnan(out.detection_1e4));
    metrics_ranking_destroy(ranking);

    const float mixed[] = {INFINITY, -INFINITY, NAN, 0, INFINITY, -INFINITY};
    memcpy(d.scores, mixed, sizeof mixed); /* labels 1 0 1 0 1 0 */
    ranking = ranking_of(&d, 6, 6);
    metrics_ranking_result(ranking, &out);
    cr_expect(out.skipped == 1 && out.roc_auc == 1 && out.average_precision == 1);
    cr_expect(out.detection_1e4 == 1);
    metrics_ranking_destroy(ranking);
    data_free(&d);
}

Test(metrics, everything_tied_is_a_coin)
{
    struct data d = data_of(1000);
    struct metrics_ranked out;
    for (size_t i = 0; i < d.n; i++)
        d.labels[i] = i % 10 == 0;
    struct metrics_ranking *ranking = ranking_of(&d, 100, 7);
    metrics_ranking_result(ranking, &out);
    cr_expect(out.roc_auc == 0.5 && out.average_precision == 0.1 && out.detection_1e3 == 0);
    metrics_ranking_destroy(ranking);
    data_free(&d);
}

Test(metrics, a_ranking_takes_its_memory_once_and_says_what_it_lacks)
{
    struct yp_memory before, during, after;
    struct data d = detections(30, 500, 4, 64, 1);
    yp_device_memory(yp_device_cpu(), &before);
    struct metrics_ranking *ranking = metrics_ranking_create(yp_device_cpu(), 200);
    yp_device_memory(yp_device_cpu(), &during);
    cr_expect_eq(during.allocated - before.allocated, metrics_ranking_bytes(200));
    struct metrics_ranked first, second;
    for (int round = 0; round < 2; round++) {
        metrics_ranking_reset(ranking);
        OK(metrics_ranking_targets(ranking, d.scores, d.labels, d.n));
        OK(metrics_ranking_background(ranking, d.scores, d.labels, d.n));
        metrics_ranking_result(ranking, round == 0 ? &first : &second);
    }
    cr_expect(memcmp(&first, &second, sizeof first) == 0);
    FAILS(metrics_ranking_targets(ranking, d.scores, d.labels, d.n), YP_INVALID, "before it");
    metrics_ranking_destroy(ranking);
    yp_device_memory(yp_device_cpu(), &after);
    cr_expect_eq(after.allocated, before.allocated);
    cr_expect_eq(after.allocations, before.allocations + 1);

    ranking = metrics_ranking_create(yp_device_cpu(), 3);
    FAILS(metrics_ranking_targets(ranking, d.scores, d.labels, d.n), YP_INVALID,
          "than the 3 there");
    metrics_ranking_destroy(ranking);
    metrics_ranking_destroy(NULL);
    cr_expect_eq(metrics_ranking_bytes(0), 0);
    cr_expect_not_null(strstr(yp_last_error(), "targets is 0"));
    cr_expect_null(metrics_ranking_create(yp_device_cpu(), 0));
    yp_device_fail_allocation(yp_device_cpu(), 1);
    cr_expect_null(metrics_ranking_create(yp_device_cpu(), 3));
    data_free(&d);
}

/* -- calibration ---------------------------------------------------------------------------- */

Test(metrics, chi_square_has_ten_digits_in_both_tails)
{
    double worst = 0;
    for (size_t i = 0; i < LENGTH(reference_chi_square); i++) {
        double k = reference_chi_square[i].k, x = reference_chi_square[i].x;
        double below = fabs(metrics_chi_square(x, k) / reference_chi_square[i].below - 1);
        double above = fabs(metrics_chi_square_upper(x, k) / reference_chi_square[i].above - 1);
        cr_expect(below < 1e-10 && above < 1e-10, "k %g, x %g: %g, %g", k, x, below, above);
        worst = fmax(worst, fmax(below, above));
    }
    fprintf(stderr, "chi-square: relative error at most %.2g\n", worst);
    cr_expect(metrics_chi_square(0, 3) == 0 && metrics_chi_square_upper(0, 3) == 1);
    cr_expect(metrics_chi_square(-1, 3) == 0 && metrics_chi_square_upper(-1, 3) == 1);
    cr_expect(metrics_chi_square(INFINITY, 3) == 1 && metrics_chi_square_upper(INFINITY, 3) == 0);
    cr_expect(isnan(metrics_chi_square(NAN, 3)) && isnan(metrics_chi_square(1, 0)));
    cr_expect(isnan(metrics_chi_square(1, NAN)));
}

/* Quantiles of chi-square as the tables of handbooks have them, to their last digit. */
Test(metrics, chi_square_has_the_values_of_the_tables)
{
    static const struct {
        double degrees, p, x;
    } table[] = {{1, 0.01, 6.635},     {1, 0.001, 10.828}, {10, 0.01, 23.209},
                 {10, 0.001, 29.588},  {50, 0.01, 76.154}, {100, 0.01, 135.807},
                 {100, 0.001, 149.449}};
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        cr_expect_lt(fabs(metrics_chi_square_point(table[i].p, table[i].degrees) - table[i].x),
                     5.1e-4, "%g degrees, %g", table[i].degrees, table[i].p);
    for (double x = 0.01; x < 1000; x *= 1.5) { /* closed forms: 2 and 4 degrees, and 1 */
        cr_expect_lt(fabs(metrics_chi_square_upper(x, 2) / exp(-x / 2) - 1), 1e-10, "%g", x);
        cr_expect_lt(fabs(metrics_chi_square_upper(x, 4) / (exp(-x / 2) * (1 + x / 2)) - 1), 1e-10);
        cr_expect_lt(fabs(metrics_chi_square_upper(x, 1) / erfc(sqrt(x / 2)) - 1), 1e-9, "%g", x);
    }
    cr_expect_eq(metrics_chi_square_upper(0, 5), 1);
    cr_expect_lt(
        fabs(metrics_chi_square_upper(metrics_chi_square_point(1e-4, 200), 200) / 1e-4 - 1), 1e-9);
}

Test(metrics, chi_square_points_are_scipys)
{
    for (size_t i = 0; i < LENGTH(reference_points); i++) {
        double k = reference_points[i].k, upper = reference_points[i].upper;
        double x = metrics_chi_square_point(upper, k);
        cr_expect(fabs(x / reference_points[i].x - 1) < 1e-10, "k %g, upper %g: %.17g", k, upper,
                  x);
    }
    cr_expect(isnan(metrics_chi_square_point(0, 3)) && isnan(metrics_chi_square_point(1, 3)));
    cr_expect(isnan(metrics_chi_square_point(NAN, 3)) && isnan(metrics_chi_square_point(0.5, -1)));
}

Test(metrics, calibration_is_scipys)
{
    for (size_t i = 0; i < LENGTH(reference_calibration); i++) {
        __typeof__(reference_calibration[0]) r = reference_calibration[i];
        struct data d = squares(r.seed, r.n, r.k, r.stretch);
        struct metrics_calibration half, other;
        struct metrics_calibrated out;
        double distance;
        OK(metrics_kolmogorov(yp_device_cpu(), d.scores, NULL, d.n, (size_t)r.k, &distance));
        cr_expect_float_eq(distance, r.distance, 1e-10, "%zu: %.17g", i, distance);
        OK(metrics_calibration_start(&half, (size_t)r.k));
        OK(metrics_calibration_start(&other, (size_t)r.k));
        metrics_calibration_add(&half, d.scores, NULL, d.n / 2);
        metrics_calibration_add(&other, d.scores + d.n / 2, d.labels + d.n / 2, d.n - d.n / 2);
        metrics_calibration_merge(&half, &other);
        metrics_calibration_result(&half, &out);
        cr_expect(out.background == d.n && out.skipped == 0);
        for (int t = 0; t < METRICS_CALIBRATION_TAILS; t++)
            cr_expect_float_eq(out.beyond[t], r.beyond[t], 1e-15);
        cr_expect(out.distance <= distance + 1e-12 &&
                      out.distance >= distance - 1.0 / METRICS_CALIBRATION_BINS,
                  "%zu: %g of %g", i, out.distance, distance);
        data_free(&d);
    }
}

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
    OK(metrics_kolmogorov(yp_device_cpu(), scores, labels, LENGTH(scores), 2, &distance));
    cr_expect(fabs(out.distance - distance) <= 1.0 / METRICS_CALIBRATION_BINS);
    FAILS(metrics_kolmogorov(yp_device_cpu(), scores, all, LENGTH(scores), 2, &distance),
          YP_INVALID, "0 background");
    FAILS(metrics_kolmogorov(yp_device_cpu(), NULL, labels, 5, 2, &distance), YP_INVALID,
          "scores is");
    FAILS(metrics_kolmogorov(yp_device_cpu(), scores, labels, 5, 2, NULL), YP_INVALID,
          "distance is");
    FAILS(metrics_kolmogorov(yp_device_cpu(), scores, labels, 5, 0, &distance), YP_INVALID,
          "freedom is 0, allowed are 1 to 8192");
    FAILS(
        metrics_kolmogorov(yp_device_cpu(), scores, labels, 5, METRICS_MAX_FREEDOM + 1, &distance),
        YP_INVALID, "freedom is 8193");
    FAILS(metrics_calibration_start(&calibration, 0), YP_INVALID, "freedom is 0");
    FAILS(metrics_calibration_start(&calibration, METRICS_MAX_FREEDOM + 1), YP_INVALID,
          "freedom is 8193");
}

#include "suites/stress/formulas/ranked.h"

#include <math.h>

/* Scores of one class at or above x; `equal`: those that are x. */
static size_t above(const float *scores, const uint8_t *labels, size_t n, int target, float x,
                    size_t *equal)
{
    size_t count = 0;
    *equal = 0;
    for (size_t i = 0; i < n; i++)
        if ((labels[i] != 0) == target) {
            count += scores[i] >= x; /* no NaN is */
            *equal += scores[i] == x;
        }
    return count;
}

static void decide(const float *scores, const uint8_t *labels, size_t n, float limit,
                   struct ranked *r)
{
    size_t equal;
    double found = (double)above(scores, labels, n, 1, limit, &equal);
    double wrong = (double)above(scores, labels, n, 0, limit, &equal);
    r->precision = found / (found + wrong);
    r->recall = found / (double)r->targets;
    r->f1 = 2 / (1 / r->precision + 1 / r->recall);
    r->iou = found / ((double)r->targets + wrong);
}

struct ranked ranked_of(const float *scores, const uint8_t *labels, size_t n, float limit)
{
    struct ranked r = {0};
    for (size_t i = 0; i < n; i++) {
        r.skipped += isnan(scores[i]) ? 1 : 0;
        r.targets += !isnan(scores[i]) && labels[i] != 0;
        r.background += !isnan(scores[i]) && labels[i] == 0;
    }
    decide(scores, labels, n, limit, &r);
    double t = (double)r.targets, b = (double)r.background;
    for (size_t i = 0; i < n; i++) {
        size_t same, tied;
        if (labels[i] == 0 || isnan(scores[i]))
            continue;
        double hits = (double)above(scores, labels, n, 1, scores[i], &same);
        double alarms = (double)above(scores, labels, n, 0, scores[i], &tied);
        /* Its group's part of the recall, shared among the members of the group. */
        r.average_precision += hits / (hits + alarms) / t;
        r.roc_auc += (b - alarms + (double)tied / 2) / (t * b);
        if (alarms <= 1e-3 * b)
            r.detection_1e3 = fmax(r.detection_1e3, hits / t);
        if (alarms <= 1e-4 * b)
            r.detection_1e4 = fmax(r.detection_1e4, hits / t);
    }
    return r;
}

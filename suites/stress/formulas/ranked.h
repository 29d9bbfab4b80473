/* Measures of scores by counting pairs, as their definitions say: the oracle of models/metrics. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* What does not exist is NaN. A target is decided for at a score of `limit` and more. */
struct ranked {
    size_t targets, background, skipped; /* skipped: NaN */
    double precision, recall, f1, iou;
    double average_precision, roc_auc, detection_1e3, detection_1e4;
};

/* Time goes with targets times n. */
struct ranked ranked_of(const float *scores, const uint8_t *labels, size_t n, float limit);

/* The exact area under the ROC curve. Targets are rare, so only the smaller class is sorted, and
 * each score of the larger is looked up in it: memory goes with the smaller class alone. */
#include "models/metrics/metrics.h"

#include "base/numbers/sort.h"
#include "device/host.h"

#include <inttypes.h>
#include <math.h>

/* How many of the sorted values are below x, or not above x. */
static size_t rank(const float *sorted, size_t n, float x, bool equal_too)
{
    size_t low = 0, high = n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (sorted[middle] < x || (equal_too && sorted[middle] == x))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

struct classes {
    uint64_t targets, background;
    size_t nan, first_nan;
};

static struct classes count(const float *scores, const uint8_t *labels, size_t n)
{
    struct classes found = {0};
    for (size_t i = 0; i < n; i++) {
        if (isnan(scores[i])) {
            if (found.nan++ == 0)
                found.first_nan = i;
        } else if (labels[i] != 0) {
            found.targets++;
        } else {
            found.background++;
        }
    }
    return found;
}

/* Twice the number of pairs in which the larger class's member is above, ties once. */
static uint64_t pairs_above(const float *scores, const uint8_t *labels, size_t n,
                            bool targets_sorted, const float *sorted, size_t members)
{
    uint64_t twice = 0;
    for (size_t i = 0; i < n; i++)
        if (!isnan(scores[i]) && (labels[i] != 0) != targets_sorted)
            twice +=
                rank(sorted, members, scores[i], false) + rank(sorted, members, scores[i], true);
    return twice;
}

static enum yp_status check(const float *scores, const uint8_t *labels, size_t n, const double *auc)
{
    if (scores == NULL || labels == NULL || auc == NULL)
        return yp_set_error(YP_INVALID, "metrics_auc: %s is NULL",
                            scores == NULL   ? "scores"
                            : labels == NULL ? "labels"
                                             : "auc");
    /* Twice the number of pairs, n^2 / 2 at most, must fit 64 bits. */
    if (n > UINT32_MAX)
        return yp_set_error(YP_INVALID, "metrics_auc: n is %zu, allowed are up to %" PRIu32, n,
                            UINT32_MAX);
    return YP_OK;
}

enum yp_status metrics_auc(struct yp_device *device, const float *scores, const uint8_t *labels,
                           size_t n, double *auc, size_t *skipped)
{
    enum yp_status status = ypi_check_host("metrics_auc", device);
    if (status == YP_OK)
        status = check(scores, labels, n, auc);
    if (status != YP_OK)
        return status;
    struct classes found = count(scores, labels, n);
    if (skipped != NULL)
        *skipped = found.nan;
    else if (found.nan > 0)
        return yp_set_error(YP_INVALID,
                            "metrics_auc: %zu of %zu scores are NaN, the first is at %zu",
                            found.nan, n, found.first_nan);
    if (found.targets == 0 || found.background == 0)
        return yp_set_error(YP_INVALID,
                            "metrics_auc: %" PRIu64 " targets and %" PRIu64
                            " background scores; each class needs one",
                            found.targets, found.background);

    bool sort_targets = found.targets <= found.background;
    size_t members = (size_t)(sort_targets ? found.targets : found.background);
    float *sorted = yp_device_alloc(device, members * sizeof *sorted);
    if (sorted == NULL)
        return YP_OUT_OF_MEMORY;
    for (size_t i = 0, at = 0; i < n; i++)
        if (!isnan(scores[i]) && (labels[i] != 0) == sort_targets)
            sorted[at++] = scores[i];
    ypi_sort_f32(sorted, members);
    uint64_t all = 2 * found.targets * found.background;
    uint64_t above = pairs_above(scores, labels, n, sort_targets, sorted, members);
    *auc = (double)(sort_targets ? all - above : above) / (double)all;
    yp_device_free(device, sorted);
    return YP_OK;
}

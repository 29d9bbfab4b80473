/* How far predicted paths end up from the true ones. */
#include "models/metrics/metrics.h"

#include <math.h>

static double distance(const float *at, const float *target)
{
    const double x = (double)at[0] - (double)target[0], y = (double)at[1] - (double)target[1];
    return sqrt(x * x + y * y);
}

/* The first one of the largest. */
static size_t likeliest(const float *logit, size_t modes)
{
    size_t best = 0;
    for (size_t i = 1; i < modes; i++)
        best = logit[i] > logit[best] ? i : best;
    return best;
}

static void add_node(struct metrics_displacement *d, const struct metrics_paths *paths, size_t node)
{
    const float *logit = paths->logit != NULL ? paths->logit + node * paths->modes : NULL;
    const float *target = paths->target + node * paths->steps * 2;
    const size_t likely = logit != NULL ? likeliest(logit, paths->modes) : 0;
    double mean = 0, last = 0, least_mean = INFINITY, least_last = INFINITY, all = 0;
    for (size_t i = 0; i < paths->modes; i++) {
        const float *path = paths->path + (node * paths->modes + i) * paths->steps * paths->stride;
        double sum = 0, end = 0;
        for (size_t s = 0; s < paths->steps; s++)
            sum += end = distance(path + s * paths->stride, target + 2 * s);
        all += sum + (logit != NULL ? (double)logit[i] : 0);
        least_mean = fmin(least_mean, sum / (double)paths->steps);
        least_last = fmin(least_last, end);
        mean = i == likely ? sum / (double)paths->steps : mean;
        last = i == likely ? end : last;
    }
    if (isnan(all)) {
        d->skipped++;
        return;
    }
    d->nodes++;
    d->misses += last > (d->miss > 0 ? d->miss : METRICS_MISS);
    d->mean += mean;
    d->last += last;
    d->least_mean += least_mean;
    d->least_last += least_last;
}

void metrics_displacement_add(struct metrics_displacement *displacement,
                              const struct metrics_paths *paths)
{
    for (size_t i = 0; i < paths->nodes; i++)
        if (paths->counts == NULL || paths->counts[i] != 0)
            add_node(displacement, paths, i);
}

void metrics_displacement_result(const struct metrics_displacement *displacement,
                                 struct metrics_displaced *out)
{
    const struct metrics_displacement *d = displacement;
    const double nodes = d->nodes > 0 ? (double)d->nodes : NAN;
    *out = (struct metrics_displaced){.nodes = d->nodes,
                                      .skipped = d->skipped,
                                      .ade = d->mean / nodes,
                                      .fde = d->last / nodes,
                                      .min_ade = d->least_mean / nodes,
                                      .min_fde = d->least_last / nodes,
                                      .miss_rate = (double)d->misses / nodes};
}

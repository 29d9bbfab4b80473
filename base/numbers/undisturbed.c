#include "base/numbers/undisturbed.h"

#include "base/numbers/stats.h"
#include "base/text/text.h"

#include <math.h>
#include <stdlib.h>

/* No evidence is enough before: a game that wins 1.9 times its capital each time needs 8 pairs for
 * an error of 1 %. One pair of RARE that is faster than all others tells nothing of the machine. */
enum { FIRST_LOOK = 8, RARE = 40 };
/* Limits stand on a grid, so that few of them are ever used. */
#define GRID 0.05
/* More than processes of one program scatter, less than a busy host costs. */
#define APART 0.14
/* Half of that: what one side of a pair is slow by. */
#define SLOW (APART / 2)
/* Pairs in which one side alone is slow: fewer may be a moment of the machine. One in ALONE_PART of
 * all pairs is too few to matter. */
enum { ALONE_LEAST = 2, ALONE_TIMES = 3, ALONE_PART = 10 };
/* Of the error, for the first limit, as most machines need no other, and for all others. */
#define FIRST_SHARE (0.9 * (1 - YPI_ALL_PAIRS_SHARE))
#define LATER_SHARE (0.1 * (1 - YPI_ALL_PAIRS_SHARE))

/* Keeps `lowest` in ascending order; its last one goes where it is full. */
static void insert(double *lowest, size_t *count, size_t most, double level)
{
    size_t at = *count < most ? (*count)++ : most;
    for (; at > 0 && lowest[at - 1] > level; at--)
        if (at < most)
            lowest[at] = lowest[at - 1];
    if (at < most)
        lowest[at] = level;
}

struct ypi_undisturbed ypi_undisturbed_mark(const double *levels, size_t count, bool *keep)
{
    size_t most = 1 + count / RARE;
    double *lowest = ypi_calloc(most, sizeof *lowest);
    size_t held = 0;
    double line = INFINITY;
    int lines = 0;
    for (size_t n = 1; n <= count; n++) {
        insert(lowest, &held, most, levels[n - 1]);
        double now = floor(lowest[n / RARE] / GRID);
        /* Up by more than a step of the grid: what lies at a step would count each time. */
        if (n >= FIRST_LOOK && (lines == 0 || now < line || now > line + 1)) {
            line = now;
            lines++;
        }
    }
    free(lowest);
    struct ypi_undisturbed found = {0, FIRST_SHARE};
    if (lines > 1)
        found.share = LATER_SHARE / ((double)(lines - 1) * lines);
    double limit = lines > 0 ? (line + 1) * GRID + APART : INFINITY;
    for (size_t i = 0; i < count; i++) {
        keep[i] = levels[i] <= limit;
        found.count += keep[i];
    }
    return found;
}

struct ypi_undisturbed_spans ypi_undisturbed_spans(const double *kept, struct ypi_undisturbed found,
                                                   const double *all, size_t count, double error)
{
    struct ypi_span agree = ypi_sequential_span(kept, found.count, 2 * YPI_UNDISTURBED_AGREES);
    struct ypi_span whole = ypi_sequential_span(all, count, YPI_ALL_PAIRS_SHARE * error);
    return (struct ypi_undisturbed_spans){
        .kept = ypi_sequential_span(kept, found.count, found.share * error),
        .all = {fmin(whole.low, agree.low), fmax(whole.high, agree.high)}};
}

/* Above which a side's time is slow. */
static double slow_limit(const double *times, const bool *keep, size_t count)
{
    double *kept = ypi_calloc(count + 1, sizeof *kept);
    size_t kept_count = 0;
    for (size_t i = 0; i < count; i++)
        if (keep[i])
            kept[kept_count++] = times[i];
    double limit = kept_count > 0 ? ypi_quantile(kept, kept_count, 0.5) * exp(SLOW) : INFINITY;
    free(kept);
    return limit;
}

struct ypi_undisturbed_alone ypi_undisturbed_alone(const double *base, const double *head,
                                                   const bool *keep, size_t count)
{
    double base_limit = slow_limit(base, keep, count);
    double head_limit = slow_limit(head, keep, count);
    struct ypi_undisturbed_alone alone = {0};
    for (size_t i = 0; i < count; i++) {
        bool base_slow = base[i] > base_limit;
        bool head_slow = head[i] > head_limit;
        alone.base += !keep[i] && base_slow && !head_slow;
        alone.head += !keep[i] && head_slow && !base_slow;
    }
    return alone;
}

static size_t more_of(struct ypi_undisturbed_alone alone)
{
    return alone.base > alone.head ? alone.base : alone.head;
}

bool ypi_undisturbed_leans(struct ypi_undisturbed_alone alone)
{
    size_t more = more_of(alone);
    size_t less = alone.base + alone.head - more;
    return more >= ALONE_LEAST && more > ALONE_TIMES * less;
}

bool ypi_undisturbed_is_one_sided(struct ypi_undisturbed_alone alone, size_t count)
{
    return ypi_undisturbed_leans(alone) && ALONE_PART * more_of(alone) > count;
}

/* Which pairs of runs a machine measured undisturbed.
 *
 * While a host is busy, both sides of a pair can be slower, and by different factors. The ratio of
 * such a pair then differs from that on a quiet machine. A pair's level is the mean of the
 * logarithms of both sides' times. A pair counts as undisturbed while its level is less
 * than about 15 % to 21 % above that of the fastest pair (of more than 40 pairs the second fastest
 * one, of more than 80 the third, ...).
 *
 * The level treats both sides alike, so the choice leaves the ratios of the chosen pairs symmetric
 * about their centre, as ypi_evidence() (sequential.h) needs it. It would not if it looked at the
 * times of one side alone: a pair with a fast base is one with a large ratio.
 *
 * Given all levels, the choice changes only where the limit moves, and each limit is a game of its
 * own. The k-th one gets a share of the error, and all shares together are 1 (a union bound), so
 * looking after each pair costs nothing here either.
 *
 * Where levels scatter widely about one centre, as those of a case bound by memory do, most pairs
 * lie above the limit although nothing disturbed them. So there are two ways to a verdict: the
 * undisturbed pairs alone, or all pairs together, each at half of the error. All pairs together
 * refute a centre only where the undisturbed pairs refute it too, at YPI_UNDISTURBED_AGREES: a
 * ratio that only a busy machine has is not mistaken for that of the quiet one.
 *
 * A machine that is busy from the first pair to the verdict shows nothing of it. */
#pragma once

#include "base/numbers/sequential.h"

#include <stdbool.h>
#include <stddef.h>

/* Of the error: for a verdict by all pairs together. */
#define YPI_ALL_PAIRS_SHARE 0.5
/* How often the undisturbed pairs may be wrong where they only confirm, on each side. */
#define YPI_UNDISTURBED_AGREES 0.05

struct ypi_undisturbed {
    size_t count; /* of pairs that are undisturbed */
    double share; /* of the error that a verdict by these alone may spend now: above 0, at most
                     1 - YPI_ALL_PAIRS_SHARE */
};

/* The intervals of both ways, each as ypi_sequential_span() has them (sequential.h). */
struct ypi_undisturbed_spans {
    struct ypi_span kept, all;
};

/* Of the ratios of all pairs and, `found` by ypi_undisturbed_mark(), of the undisturbed ones. */
struct ypi_undisturbed_spans ypi_undisturbed_spans(const double *kept, struct ypi_undisturbed found,
                                                   const double *all, size_t count, double error);

/* Of the pairs that are left out: those in which one side alone is slow, by more than 7 % beside
 * its median in the kept pairs. */
struct ypi_undisturbed_alone {
    size_t base, head;
};

/* `base` and `head`: positive times. */
struct ypi_undisturbed_alone ypi_undisturbed_alone(const double *base, const double *head,
                                                   const bool *keep, size_t count);

/* Whether one side is slow alone more often than chance or the machine explains: in 2 or more
 * pairs, and in more than three times as many as the other one. */
bool ypi_undisturbed_leans(struct ypi_undisturbed_alone alone);

/* Whether that side has two speeds, so that its fast pairs must not speak for it: it leans, and by
 * more than a tenth of all `count` pairs. Fewer cannot move the median of all pairs far, and some
 * come among hundreds on any machine.
 *
 * Both sides are treated alike, and a verdict is only withheld: a wrong one becomes no likelier,
 * whichever side it favours. */
bool ypi_undisturbed_is_one_sided(struct ypi_undisturbed_alone alone, size_t count);

/* Marks in keep[0..count) the pairs that are undisturbed, by their levels in the order in which
 * they were measured. With fewer pairs than any verdict needs all are. */
struct ypi_undisturbed ypi_undisturbed_mark(const double *levels, size_t count, bool *keep);

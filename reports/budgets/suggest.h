/* What a limit should be, from the figures of earlier processes: numbers alone. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

enum {
    YPI_SUGGEST_AT_LEAST = 5,       /* processes, for a figure that varies */
    YPI_SUGGEST_EXACT_AT_LEAST = 2, /* for one that is exact: a single one cannot show it */
};

/* The figures of one budget. */
struct ypi_figures_of {
    const double *measured; /* one a process, finite */
    const int *machine;     /* of each, from 0 */
    int count;
    int machine_count;
    bool at_least; /* a limit that they must reach; else one that they must not pass */
    bool exact;    /* bytes and counts */
};

struct ypi_spread {
    double typical; /* median of all */
    double least, most;
    double
        processes;   /* largest minus smallest of one machine, of the machine with the most of it */
    double machines; /* the same of the machines' medians */
};
struct ypi_spread ypi_spread_of(const struct ypi_figures_of *f);

/* A limit that a run like these misses at most at the rate `error`, 0 < error < 0.5, rounded
 * outwards. Exact figures: the value that all have, else the largest (smallest) and their spread.
 * Others: the prediction bound of one more process, of the worst machine. NaN with the reason,
 * static, where the figures do not support one. */
double ypi_suggest(const struct ypi_figures_of *f, double error, const char **why_not);

/* The bound of one more of `count` figures, count >= 2: of their logarithms where all are
 * positive, else of themselves. */
double ypi_prediction_bound(const double *figures, int count, bool lower, double error);

/* Away from zero when `up` and positive, and so on: to 3 digits below 4 of the first digit, else
 * to 2, so that 2.5 % are lost at most. */
double ypi_round_outwards(double value, bool up);

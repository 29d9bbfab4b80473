/* What a kind of machine reached for a case before: what a later run is compared with. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum ypi_baseline_of {
    YPI_BASELINE_SHARE, /* of a measurement: of the ceiling that bounds it */
    YPI_BASELINE_TIME,  /* of a measurement that no ceiling bounds: seconds an iteration */
    YPI_BASELINE_EXACT, /* bytes, counts, values, the hash: equal, or changed */
};

struct ypi_baseline {
    enum ypi_baseline_of of;
    char *name;       /* owned: of the measurement; exact: "peak host", "value loss", "hash", ... */
    double typical;   /* the median over processes; NaN: exact */
    double slower;    /* the same in the slower of two states of the machine; NaN: it has one */
    double deviation; /* standard deviation over `typical`, between processes of the faster state */
    char *exact;      /* owned: the figure as ypi_baseline_exact_text() has it; NULL: not exact */
    uint64_t seed;    /* of the data; of exact figures alone */
    int processes, runs;
    char commit[41]; /* "": not known */
    char date[11];   /* of the newest of these runs: "2026-11-28", UTC */
};

struct ypi_baselines {
    struct ypi_baseline *list; /* owned */
    int count;
    int so_far; /* processes that could be learned from; of YPI_BASELINE_PROCESSES */
};

/* Least number of processes, and of runs they come from, before a figure is typical. */
enum { YPI_BASELINE_PROCESSES = 5, YPI_BASELINE_RUNS = 2 };

struct yp_case;
struct ypi_result;

/* Of the measurement `name`, not exact; NULL: there is none. */
const struct ypi_baseline *ypi_baseline_of(const struct yp_case *c, const char *name);

/* How much worse a figure is: 0.25 where a time is 1.25 times the typical one, or a share the
 * typical one divided by 1.25; below 0 where it is better. */
double ypi_baseline_worse(const struct ypi_baseline *b, double typical, double figure);

/* "0.31 of its ceiling" or "1.2 ms", as the baseline has it. */
void ypi_baseline_figure(char out[128], const struct ypi_baseline *b, double figure);
/* "0.31 of its ceiling at 3f0a12c4e5 on 2026-11-28 (6 processes, 2 runs)". The caller frees. */
char *ypi_baseline_text(const struct ypi_baseline *b);

/* The figure of a result that an exact baseline is of, as text; NULL: it has none. The caller
 * frees. */
char *ypi_baseline_exact_text(const struct ypi_result *r, const char *name);

void ypi_baseline_clear(struct ypi_baseline *b);

/* The stored results of cases on one machine, in the order of time, and where they change. */
#pragma once

#include "base/numbers/change_points.h"
#include "harness/history/history.h"

#include <stdbool.h>

enum {
    YPI_TREND_LEAST = 5,                    /* points of a segment */
    YPI_TREND_POINTS = 2 * YPI_TREND_LEAST, /* of a series in which a change can be found */
};

/* Texts are those of the command line. */
struct ypi_trend_request {
    const char *history;
    const char *machine; /* how its fingerprint begins; NULL: that of the newest result */
    struct ypi_selection cases;
    double error;  /* of the whole command */
    double change; /* 0.02: what is smaller is counted and not printed */
    bool json, verbose;
};

struct ypi_trend_run {
    const char *id;     /* texts are the rows' */
    const char *commit; /* "" where it is not known */
    const char *accelerator;
    char *options; /* that change the work or its speed; owned */
    bool dirty;
    bool counts; /* false: it timed nothing, or something else than the work */
};

/* One or more results of the same code: of one run, or of a commit on one day. */
struct ypi_trend_point {
    const struct ypi_trend_run *run; /* the first one's */
    double first, last;              /* seconds since 1970 */
    int results;
    double value; /* logarithm of the median of seconds an iteration, or an exact figure */
    double share; /* logarithm of the share of its bound; NaN: none */
};

enum ypi_trend_cause {
    YPI_TREND_UNKNOWN, /* no shares, or they leave it open */
    YPI_TREND_WORK,    /* the share of the bound changed */
    YPI_TREND_MACHINE, /* it did not: what bounds the work changed by as much */
};

struct ypi_trend_change {
    size_t place;           /* the first point after it */
    double before, after;   /* medians of the segments; exact figures */
    struct ypi_shift ratio; /* after over before; of exact figures the middle alone */
    struct ypi_shift share; /* the same of the shares; NaN: not known */
    enum ypi_trend_cause cause;
};

enum ypi_trend_quantity { YPI_TREND_TIME, YPI_TREND_PEAK, YPI_TREND_ALLOCATIONS };

/* One measurement of one case, or one exact figure, under one set of options. */
struct ypi_trend_series {
    const char *id; /* of the case */
    char *name; /* of the measurement, or "host" or "device" of memory; owned, as the lists are */
    const char *options;
    enum ypi_trend_quantity quantity;
    struct ypi_trend_point *points;
    size_t count;
    struct ypi_trend_change *changes; /* that are printed, oldest first */
    size_t change_count;
    size_t small; /* changes that are too small to be printed */
    bool varies;  /* an exact figure that does not repeat itself */
    bool drifts;
    size_t steady;          /* the first point of the segment that the drift is of */
    struct ypi_shift drift; /* by how many times the last point of it is the first */
};

struct ypi_trend {
    cJSON *cases, *runs; /* rows that own texts */
    char *machine;
    struct ypi_trend_run *run_list; /* by id */
    size_t run_count;
    struct ypi_trend_series *series; /* by case */
    size_t series_count;
    size_t case_count; /* that have a result that counts */
};

/* Reads the series of the cases, which it takes over; `machine`: its whole fingerprint. False with
 * yp_last_error() set; to be freed in any case. */
bool ypi_trend_load(sqlite3 *db, cJSON *cases, const char *machine, struct ypi_trend *out);
void ypi_trend_free(struct ypi_trend *t);

/* Finds the changes of all series. */
void ypi_trend_find(struct ypi_trend *t, const struct ypi_trend_request *r);

const char *ypi_trend_name(enum ypi_trend_quantity quantity); /* "time", "peak memory", ... */

struct ypi_trend_counts {
    int changed, unchanged, too_short, varying; /* series */
    int small;                                  /* changes */
};
struct ypi_trend_counts ypi_trend_count(const struct ypi_trend *t);
bool ypi_trend_is_short(const struct ypi_trend_series *s);

void ypi_trend_print(const struct ypi_trend *t, const struct ypi_trend_request *r);
/* The caller deletes. */
cJSON *ypi_trend_document(const struct ypi_trend *t, const struct ypi_trend_request *r);

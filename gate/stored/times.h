/* Times of cases as stored runs have them: one figure a run, for what differs between two runs of
 * the same is more than what differs between its repetitions. */
#pragma once

#include "base/numbers/ratio.h"
#include "gate/stored/stored.h"

/* One measurement of one case. */
struct ypi_times {
    const char *id, *name; /* the case's, the measurement's; of the struct ypi_timed */
    double *seconds;       /* logarithms of the median, in each run the mean of its repetitions */
    double *shares;        /* the same of the share of its bound; NaN where there is none */
    double *inside;        /* how far the samples of a run leave its figure open: a standard
                              deviation of the logarithm, of the worst repetition */
    int count;             /* of runs */
};

struct ypi_timed {
    cJSON *rows;
    struct ypi_times *list; /* by id and name */
    int count;
};

/* Those of all cases; false with yp_last_error() set. *out is to be cleared in any case. */
bool ypi_times_read(const struct ypi_stored *runs, struct ypi_timed *out);
void ypi_times_clear(struct ypi_timed *timed);

/* The first measurement of a case, behind which its others stand; NULL: it has none. */
const struct ypi_times *ypi_times_of_case(const struct ypi_timed *timed, const char *id);
/* NULL: there is none. */
const struct ypi_times *ypi_times_of(const struct ypi_timed *timed, const char *id,
                                     const char *name);

/* The normal runs of one machine with the same options of the work, whatever commit they were of.
 */
struct ypi_earlier {
    cJSON *rows;
    const char **ids; /* owned array, sorted; the texts are of the rows */
    size_t count;     /* 0 also where the history cannot be read */
    sqlite3_stmt *series;
};

/* `db` stays open until it is closed. */
void ypi_earlier_open(struct ypi_earlier *earlier, sqlite3 *db, const char *machine,
                      const char *options);
void ypi_earlier_close(struct ypi_earlier *earlier);

/* How far the figures of that case in the newest of those runs scatter; without freedom where there
 * are too few or the history cannot be read. */
struct ypi_scatter ypi_times_scatter(const struct ypi_earlier *earlier, const struct ypi_times *of,
                                     bool by_share);

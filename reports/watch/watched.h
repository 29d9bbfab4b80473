/* What is known of a run that goes on: read from the history and from the run's directory, never
 * written. */
#pragma once

#include "harness/history/history.h"

#include <time.h>

enum { YPI_WATCHED_OUTCOMES = 16, YPI_WATCHED_FAILURES = 5 };

struct ypi_planned {
    const char *id, *device; /* of the plan */
    double usual;            /* seconds, of its newest result before this run; NaN: there is none */
    bool done;
};

struct ypi_watched {
    char *history; /* path */
    char *run;     /* UUID */
    char *command; /* its command line */
    double started;
    double ended; /* NaN: it goes on, or it was killed */
    int exit_code;
    enum ypi_run_life life;

    cJSON *plan; /* which `list` refers to; NULL: it cannot be read */
    struct ypi_planned *list;
    int *by_id; /* places in `list`, by id */
    int total;  /* 0: not known */

    long long newest; /* of the results that were read, their row */
    int done;
    int count[YPI_WATCHED_OUTCOMES]; /* by ypi_store_outcome() */
    double spent;                    /* seconds of the processes of those that are done */
    /* The newest failures, the newest last: id and reason as one text. */
    char *failures[YPI_WATCHED_FAILURES];
    int failure_count;
    cJSON *now;              /* ypi_run_now(), each with `rate`, a text; NULL while there is none */
    struct timespec seen[2]; /* when the history's files changed last */
    double changed;          /* when that was seen, monotonic */
};

/* The run that `word` names among those that go on: NULL the newest, else the begin of its UUID,
 * from four digits on, or a part of its command line. A run that has ended is found by its UUID.
 * False with an empty *out where there is none; `*why` is then a text that says so, which the
 * caller frees, or NULL with yp_last_error() set. */
bool ypi_watched_find(struct ypi_watched *out, const char *history, const char *word, char **why);

/* Reads what is new. YP_IO with yp_last_error() set. */
enum yp_status ypi_watched_read(struct ypi_watched *w);

/* It does not go on: `ended` is when and how it ended, or NaN, for it was killed. */
bool ypi_watched_is_over(const struct ypi_watched *w);

/* Seconds until it has ended; NaN: nothing is known of how long its cases take. */
double ypi_watched_left(const struct ypi_watched *w, double now);

/* Results of one outcome. */
int ypi_watched_count(const struct ypi_watched *w, const char *outcome);

void ypi_watched_clear(struct ypi_watched *w);

/* Rows of the history as those who read it have them. */
#pragma once

#include <cJSON.h>
#include <sqlite3.h>
#include <stdbool.h>

/* The rows that a query gives, an array of objects with a member for each column: NULL becomes
 * null, infinity "inf" or "-inf", a BOOLEAN column true or false, text is made valid UTF-8, a
 * BLOB becomes the array of its doubles. `parameters` are bound as texts, NULL as NULL. Owned by
 * the caller: cJSON_Delete(). NULL with yp_last_error() set. */
cJSON *ypi_store_rows(sqlite3 *db, const char *sql, int count, const char *const *parameters);

/* The same with one parameter, by a statement that stays ready: *ready is made of `sql` when it is
 * NULL; the caller finalizes it. */
cJSON *ypi_store_rows_ready(sqlite3 *db, const char *sql, sqlite3_stmt **ready,
                            const char *parameter);

/* NULL where there is none, also of NULL. */
const cJSON *ypi_member(const cJSON *object, const char *name);
/* A member as it is in the history: NaN for null and for what is not there. */
double ypi_real(const cJSON *object, const char *name);
/* The same as a whole number, which somebody else may have written: 0 for what is none or below,
 * INT_MAX for what is above. */
int ypi_whole(const cJSON *object, const char *name);
/* "" for null and for what is not there. */
const char *ypi_text_of(const cJSON *object, const char *name);

/* The row that a statement stands at, an object with a member for each column; the caller owns it.
 */
cJSON *ypi_row_read(sqlite3_stmt *s);

/* -- what gates and machines store ----------------------------------------------------------- */

/* What `yieldpoint gate` found of two revisions, the figures as in gate/comparison.h. Texts may be
 * NULL. */
struct ypi_gate_record {
    char id[37];    /* UUID; ypi_gate_store() makes it */
    double started; /* seconds since 1970 */
    double seconds;
    const char *base, *base_commit, *base_machine;
    const char *head, *head_commit, *head_machine;
    bool base_dirty, head_dirty, whole;
    double threshold, error;
    int exit_code;
    const char *notes; /* a line each */
};

struct ypi_comparison_record {
    const char *id, *quantity, *name, *verdict;
    bool by_share;
    double base, head;
    const char *base_text, *head_text, *unit;
    double ratio, low, high;
    int pairs;
    double seconds;
    const char *note;
};

/* What a machine, or an accelerator of it, was measured to do at most. */
struct ypi_figure {
    char name[20];   /* "copy", "fp32", "sgemm", "fork", "storage read", "upload", ... */
    char level[8];   /* "L1", ..., "memory" of traffic, else "" */
    char isa[12];    /* of probes, else "" */
    char unit[8];    /* "B/s", "op/s"; "s": a latency */
    int threads;     /* that did it together; 0: an accelerator did */
    double measured; /* seconds since 1970 */
    double rate;     /* the median of several runs; NaN: it could not be measured */
    double low, high;
};

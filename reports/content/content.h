/* What a report is about: the newest result of each case of the chosen runs, what changed since an
 * earlier run, and each case's past. Read from one state of a history. Documents are loaded one at
 * a time, so that ten thousand cases need not fit in memory. */
#pragma once

#include "harness/history/history.h"

#include <cJSON.h>
#include <sqlite3.h>
#include <stdbool.h>
#include <stddef.h>

struct ypi_content_request {
    const char **runs; /* words that name runs, as for `yieldpoint compare`; none: the newest run */
    int run_count;
    const char *against; /* the run to compare with; NULL: the one before, of the same machine */
    struct ypi_selection selection; /* -m, -k, ids */
    int past;                       /* how many earlier results of a case are listed; 0: 20 */
};

/* Sections of a report, in this order. */
enum ypi_section { YPI_FAILED, YPI_UNDECIDED, YPI_CHANGED, YPI_PASSED, YPI_SKIPPED, YPI_SECTIONS };

/* One figure of a case beside that of the run compared with. A ratio is now over before; its
 * interval is that of base/numbers/ratio.h, NaN where samples are missing. */
struct ypi_change {
    const char *what; /* "outcome", "time", "memory", "allocations", "value", "hash", "error" */
    const char *name; /* of the measurement or value; "" for others */
    double before, now, ratio, low, high; /* in seconds, bytes, the value's unit; NaN: no number */
    const char *before_text, *now_text;   /* of outcomes and hashes; NULL: figures */
    bool better, worse;                   /* neither: another value without a direction */
};

/* Texts belong to the content and stay until it is freed. */
struct ypi_report_case {
    const char *id, *test; /* test: the id without axis values and device */
    const char *device, *tags, *outcome;
    const char *result, *run; /* UUIDs */
    const char *before;       /* UUID of the result compared with; NULL: there is none */
    enum ypi_section section;
    const struct ypi_change *changes;
    size_t change_count;
    /* Its results on the same machine up to this one, oldest first, at most `past` of them: an
     * array of {result, run, began, commit, dirty, outcome, peak, measurements: [{name, median,
     * low, high}]}; times in seconds, memory in bytes. */
    const cJSON *past;
};

struct ypi_content {
    const char *history;  /* the file's path */
    const cJSON *runs;    /* documents of the reported runs (ypi_document_of_run), newest first */
    const cJSON *against; /* that of the run compared with; NULL: there is none */
    /* By section, in a section by id. */
    const struct ypi_report_case *list;
    size_t count;
    size_t of_section[YPI_SECTIONS];
};

/* Owned by the caller. NULL with *right false after telling stderr what is malformed or which run
 * or id does not exist; NULL with *right true and yp_last_error() set where the file fails. */
struct ypi_content *ypi_content_load(sqlite3 *db, const struct ypi_content_request *what,
                                     bool *right);
void ypi_content_free(struct ypi_content *content);

/* The document of a case's result, as ypi_document_of_result() makes it, with samples. Owned by the
 * caller. NULL with yp_last_error() set. */
cJSON *ypi_content_document(const struct ypi_content *content, size_t at);

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

/* One figure of a case that differs from that of the run compared with, by the rules of `yieldpoint
 * compare` (docs/gate.md): a time only where it is surely slower or faster by more than the
 * threshold, the error rate being that of the whole report; other figures exactly. */
struct ypi_change {
    /* "outcome", "time", "share" (a time by its share of its bound, where the machines differ),
     * "memory", "allocations", "instructions", "value", "error", "hash" */
    const char *what;
    /* Of the measurement or value; "host", "device" or "resident" of memory; "" for others. */
    const char *name;
    const char *word; /* "slower", "faster", "more", "less", "broken", "mended", "changed", "only in
                         base", "only in head" */
    const char *text; /* all of it: "time of nap 1.21 ms -> 1.34 ms, 1.107 times [1.081, 1.142]" */
    const char *unit; /* of a value; "" where there is none */
    double before, now; /* in seconds, bytes, the value's unit; NaN: no number */
    /* Now over before (of shares the other way round, so that above 1 is slower) and the interval
     * of base/numbers/ratio.h; NaN where there is none: only times and shares have an interval. */
    double ratio, low, high;
    const char *before_text, *now_text; /* of outcomes and hashes; NULL: figures */
    bool better, worse;                 /* neither: another value without a direction */
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
    const struct ypi_change *unsure; /* times of which `compare` cannot say whether they changed */
    size_t unsure_count;
    /* Its results on the same machine and with the same options up to this one, oldest first, at
     * most `past` of them: an array of {result, run, began, commit, dirty, outcome, peak,
     * measurements: [{name, median, low, high}]}; times in seconds, memory in bytes (`peak`: of the
     * device where the case has one). There after ypi_content_document() for this case, until its
     * next call; NULL else: it would be too much for ten thousand cases. */
    const cJSON *past;
};

struct ypi_content {
    const char *history;  /* the file's path */
    const cJSON *runs;    /* documents of the reported runs (ypi_document_of_run), newest first */
    const cJSON *against; /* that of the run compared with; NULL: there is none */
    size_t other_bases; /* further runs compared with: of several reported ones each has its own */
    /* By section, in a section by id. */
    const struct ypi_report_case *list;
    size_t count;
    size_t of_section[YPI_SECTIONS];
    /* Chosen cases that the run compared with has and the reported ones do not. */
    const char *const *gone;
    size_t gone_count;
    double threshold, error;  /* of times: 0.03 is 3 %; false alarms in the whole report */
    const char *const *notes; /* on the comparison as a whole, a sentence each */
    size_t note_count;
};

/* Owned by the caller. NULL with *right false after telling stderr what is malformed or which run
 * or id does not exist; NULL with *right true and yp_last_error() set where the file fails. */
struct ypi_content *ypi_content_load(sqlite3 *db, const struct ypi_content_request *what,
                                     bool *right);
void ypi_content_free(struct ypi_content *content);

/* The document of a case's result, as ypi_document_of_result() makes it, with samples; and the
 * case's past. Owned by the caller. NULL with yp_last_error() set. */
cJSON *ypi_content_document(struct ypi_content *content, size_t at);

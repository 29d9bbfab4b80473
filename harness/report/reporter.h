/* Where the events of a run go. The runner emits them and knows no reporter; a reporter is a file
 * that defines a struct ypi_reporter, and its line below. */
#pragma once

#include "base/system/atomic_file.h"
#include "harness/report/words.h"

/* A line each, in the order in which they get an event and their options stand in --help. */
#define YPI_REPORTERS(ENTRY) \
    ENTRY(ypi_junit_reporter) \
    ENTRY(ypi_benchmark_reporter) \
    ENTRY(ypi_csv_reporter) \
    ENTRY(ypi_tap_reporter) \
    ENTRY(ypi_terminal_reporter)

enum ypi_event {
    YPI_RUN_OPENS, /* of one without has_file: refuses, before anything is stored or run */
    YPI_RUN_BEGINS,
    YPI_STORED, /* a result, of a fresh process too */
    YPI_RESULT, /* the last word on a case or a relation (ypi_is_relation), stored before */
    YPI_RUN_ENDS,
    YPI_RUN_DROPPED, /* after YPI_RUN_OPENS: nothing was run */
    YPI_EVENTS
};

/* A reporter in a run. */
struct ypi_reporting {
    const struct ypi_reporter *reporter;
    const char *path; /* its option's; NULL: that is a flag */
    struct ypi_atomic_file file;
    FILE *out; /* of its file, else the program's standard output */
    const struct ypi_session *s;
    const struct ypi_totals *totals; /* whole at YPI_RUN_ENDS */
    const struct ypi_result *r;      /* of YPI_STORED and YPI_RESULT */
    int number;                      /* of results, with the present one */
    void *state;                     /* the reporter's own, freed at the end */
};

struct ypi_reporter {
    /* Each asks for it, by a flag or with the path of a file. None: it has standard output where no
     * protocol has it. */
    struct ypi_option options[3];
    /* A program reads it from standard output: all else goes to standard error, and failures are in
     * its lines, not in the exit code. */
    bool protocol;
    bool has_file; /* of which nobody reads half: it is at `path` when the run is over */
    bool appends;  /* to that at `path`; nothing under --slowdown, of which rows do not tell */
    /* Each may be NULL, and sets yp_last_error(). */
    enum yp_status (*on[YPI_EVENTS])(struct ypi_reporting *to);
};

#define YPI_DECLARE_REPORTER(name) extern const struct ypi_reporter name;
YPI_REPORTERS(YPI_DECLARE_REPORTER)

/* Begins as {0}. */
struct ypi_reports {
    struct ypi_reporting list[YPI_REPORTERS_MAX];
    int count;
};

/* Whether standard output is that of a protocol. */
bool ypi_reports_protocol(const struct ypi_options *o);
/* Begins those that are asked for, up to the first that refuses. */
enum yp_status ypi_reports_open(struct ypi_reports *all, const struct ypi_session *s, FILE *out,
                                const struct ypi_totals *totals);
/* To all of them. False after writing to standard error what went wrong. */
bool ypi_report(struct ypi_reports *all, enum ypi_event event, const struct ypi_result *r);

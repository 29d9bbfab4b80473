/* What a run ends with: the short summary, the slowest durations and the line of counts. */
#pragma once

#include "base/text/text.h"
#include "harness/report/repeats.h"
#include "harness/report/screen.h"
#include "harness/report/words.h"

/* What stands for an outcome: among letters of progress, behind -r, as a word, in colour. */
struct ypi_look {
    char letter, report; /* report: '\0' where -r has none */
    const char *word;
    enum ypi_colour colour;
};
extern const struct ypi_look ypi_looks[YPI_OUTCOMES];

struct ypi_skip {
    char *line; /* "FILE:LINE: reason" */
    int count;
};

struct ypi_lasted {
    double seconds;
    const char *phase; /* "setup", "call", "teardown" */
    char *id;
};

/* Begins as {0}. */
struct ypi_summary {
    struct ypi_text lines[sizeof YPI_REPORT_LETTERS - 1];
    struct ypi_text notes;
    struct ypi_skip *skips;
    int skip_count;
    struct ypi_lasted *lasted; /* if durations are asked for */
    int lasted_count;
    struct ypi_repeats repeats; /* under --repeat */
};

void ypi_summary_add(struct ypi_summary *s, const struct ypi_screen *screen,
                     const struct ypi_options *o, const struct ypi_result *r);

/* "medians of several processes": of what --repeat measured more than once. */
void ypi_summary_repeats(struct ypi_summary *s, const struct ypi_screen *screen);

/* "slowest 3 durations", then "short test summary info": each where it is asked for and there is
 * something. */
void ypi_summary_durations(struct ypi_summary *s, const struct ypi_screen *screen,
                           const struct ypi_options *o);
void ypi_summary_short(const struct ypi_summary *s, const struct ypi_screen *screen,
                       const struct ypi_options *o);

/* "1 failed, 2 passed in 0.12s", as a rule or, under -q, without. */
void ypi_summary_counts(const struct ypi_screen *screen, const struct ypi_session *session,
                        const struct ypi_totals *totals);

void ypi_summary_clear(struct ypi_summary *s);

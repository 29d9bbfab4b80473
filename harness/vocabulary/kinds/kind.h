/* A kind of budget: how it is named, declared, read from a file, judged, worded and stored. To add
 * one: its constructor and its place before YP_BUDGET_FOR_DEVICE in yieldpoint/budget.h, and its
 * row in the table of its family, which is a file of this folder. */
#pragma once

#include "harness/vocabulary/result.h"

/* The families; each table ends with a row without a name. */
#define YPI_BUDGET_FAMILIES(ENTRY) \
    ENTRY(ypi_measured_kinds) \
    ENTRY(ypi_memory_kinds) \
    ENTRY(ypi_value_kinds)

/* What a budget has beside kind, name and memory. */
enum ypi_budget_detail { YPI_NO_DETAIL, YPI_QUANTILE, YPI_COUNTER };

/* Runs that record a figure and do not judge it. */
enum ypi_unjudged {
    YPI_WHEN_COUNTING = 1,  /* under --instructions and --audit */
    YPI_WHEN_SANITIZED = 2, /* of code of its own, not of a command */
    YPI_WHEN_ONCE = 4,      /* each body runs once */
};

struct ypi_budget_kind {
    enum yp_budget_kind kind;
    const char *name; /* in files of budgets, the history and messages: "min rate" */
    bool at_least;    /* else at most */
    bool speed;       /* judged on an interval that fresh processes confirm */
    bool confirmed;   /* by fresh processes where it is not met, without being speed */
    bool of_ceiling;  /* compared with the machine's own, so that it may stand in a file */
    bool any_sign;    /* of its limit; else from 0 */
    bool inside;      /* of what goes on inside of a process, so not of a command */
    bool host_only;   /* of memory: neither a device nor the heap has it */
    bool ordinal;     /* limit and figure are places in a list: they have no ratio */
    bool relative;    /* to what this kind of machine reached before: they have none either */
    enum ypi_budget_detail detail;
    int unjudged;         /* bits of enum ypi_unjudged */
    enum ypi_cause cause; /* of a failure; 0: YPI_CAUSE_BUDGET */
    const char *alone;    /* what is wrong with it where the test is no relation; NULL: nothing */
    /* Words: "BEFORE name DETAIL OF at most FIGURE", of memory "host memory: at most FIGURE OF",
     * or "PHRASE FIGURE". */
    const char *before, *of, *phrase;
    const char *of_heap;   /* in place of `of`; NULL: that */
    const char *undecided; /* instead of "too noisy, " */
    /* A figure: by a function, else as a rate or a value with the unit of the measurement or value,
     * or this one. */
    void (*figure)(char out[128], double value);
    bool rate;
    const char *unit;
    size_t estimate, work; /* of speed: where in a struct ypi_measured; work 0: a time or a share */
    /* The verdict: one of these, by what it is of. Leaves v->met where there is no figure. */
    bool gradient; /* its error */
    void (*measured)(struct ypi_verdict *v, const struct ypi_measured *m);
    void (*value)(struct ypi_verdict *v, const struct ypi_value *value);
    /* `of`: the host's or the device's in `all`. */
    void (*memory)(struct ypi_verdict *v, const struct ypi_memory *all, const struct yp_memory *of);
};

#define YPI_DECLARE_FAMILY(name) extern const struct ypi_budget_kind name[];
YPI_BUDGET_FAMILIES(YPI_DECLARE_FAMILY)

/* Of what is no budget: a row named "none". */
const struct ypi_budget_kind *ypi_budget_kind(enum yp_budget_kind kind);
/* The same of a text that is a kind's name, or begins with it and a blank; the longest of them. */
const struct ypi_budget_kind *ypi_budget_kind_at(const char *text);

/* A verdict on an exact figure; NaN is never good enough. */
void ypi_verdict_exact(struct ypi_verdict *v, double measured);
/* A verdict on an interval. */
void ypi_verdict_between(struct ypi_verdict *v, double measured, double low, double high);

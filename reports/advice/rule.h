/* A sentence is a rule, a row of a table: what it is called, how urgent it is, what it needs of a
 * document, when it holds, what it says and what to try. A file has one family of rules; the family
 * is a line of its table in advisor.c.
 *
 * A rule of a case sees one part of one document (cases/). A rule of the run sees the cases that
 * differ in one axis alone (runs/). Either returns false where the figures do not support it, and
 * what it has told the finding until then is dropped. */
#pragma once

#include "reports/advice/finding.h"
#include "reports/advice/kept.h"
#include "reports/content/content.h"

#include <cJSON.h>
#include <stdbool.h>
#include <stddef.h>

/* -- of a case ----------------------------------------------------------------------------- */

enum ypi_part { YPI_A_CASE, YPI_A_MEASUREMENT, YPI_A_BUDGET, YPI_A_CHANGE };

/* What a rule cannot do without; a part of a document that lacks it is not shown to the rule. */
enum ypi_need {
    YPI_NEEDS_TIME = 1,     /* median and mean above 0 */
    YPI_NEEDS_SAMPLES = 2,  /* 8 at least */
    YPI_NEEDS_PHASES = 4,   /* one at least, with a time */
    YPI_NEEDS_SHARE = 8,    /* of a ceiling, with its interval */
    YPI_NEEDS_NOISE = 16,   /* figures of what happened meanwhile */
    YPI_NEEDS_CPU = 32,     /* processor time */
    YPI_NEEDS_ITEMS = 64,   /* work of an iteration */
    YPI_NEEDS_DEVICE = 128, /* an accelerator */
};

struct ypi_seen {
    const struct ypi_report_case *which;
    const cJSON *document;
    const struct ypi_kept *kept;
    double limit; /* bytes that the case may take; NaN: not known */
    /* Of a measurement; of a budget or change that which it names, all empty where there is none.
     */
    const cJSON *m, *noise;
    const char *name;
    double median, low, high, mean; /* seconds; NaN: not known */
    const double *samples;
    size_t count;
    const cJSON *budget;             /* of a budget */
    const struct ypi_change *change; /* of a change */
};

struct ypi_case_rule {
    const char *kind;
    enum ypi_urgency urgency;
    unsigned needs;
    bool (*holds)(const struct ypi_seen *seen, struct ypi_finding *f);
    const char *sentence; /* {slot} stands for what `holds` has put there; in `tries`, too */
    const char *tries[8];
};

struct ypi_case_family {
    enum ypi_part part;
    bool one; /* the first rule that holds speaks, the others do not */
    const struct ypi_case_rule *rules;
    size_t count;
};

extern const struct ypi_case_family ypi_undecided_rules, ypi_unsure_rules, ypi_memory_rules,
    ypi_bottleneck_rules, ypi_stage_rules, ypi_device_rules, ypi_device_slow_rules,
    ypi_variation_rules, ypi_warmup_rules, ypi_epoch_rules;

/* -- of the run ---------------------------------------------------------------------------- */

/* One case, or one measurement of it, at its place along an axis. */
struct ypi_point {
    const struct ypi_kept *kept;
    const struct ypi_kept_measure *m; /* NULL: the rule is about cases */
    double x;
    char *key; /* of what all points of a group have in common */
    size_t at; /* the order in which they were taken */
};

struct ypi_run_rule {
    const char *kind;
    enum ypi_urgency urgency;
    double (*place)(const struct ypi_kept *kept); /* NaN: it has none */
    const char *const *varied;                    /* axes that may differ, ended by NULL */
    bool of_cases;                                /* not of each measurement */
    size_t least;                                 /* points */
    /* The points of a group, by x. `limit`: bytes, 0: what the machine has. */
    bool (*holds)(const struct ypi_point *points, size_t count, double limit,
                  struct ypi_finding *f);
    const char *sentence;
    const char *tries[8];
};

struct ypi_run_family {
    bool one;
    const struct ypi_run_rule *rules;
    size_t count;
};

extern const struct ypi_run_family ypi_recommended_rules, ypi_batching_rules, ypi_tile_rules,
    ypi_headroom_rules, ypi_scale_rules, ypi_warmup_study_rules, ypi_hardware_rules;

/* The least of `limit` and what the machine, or its accelerator, has; NaN: not known. */
double ypi_memory_within(const struct ypi_kept *kept, double limit);

/* What the parts of a relation share: relation.c and relation_*.c. */
#pragma once

#include "base/numbers/order.h"
#include "harness/judge/relation.h"

/* One relation while it is worked out. */
struct ypi_relation_work {
    const struct ypi_relation_input *input;
    struct ypi_result *r;
    const struct yp_relation *relation;
    const struct ypi_relation_kind *kind;
    struct ypi_relation_findings *findings; /* NULL: not wanted */
    struct ypi_orders orders;               /* of the series that is looked at; of yp_order */
};

struct ypi_relation_cases { /* indices into the input */
    int *at;                /* owned */
    int count;
};

/* -- relation_read.c: what there is to read; `i` is an index into the input ------------------ */

/* Both end the working out: false. The reason is taken over. */
bool ypi_relation_missing(struct ypi_relation_work *w, char *reason);
bool ypi_relation_misuse(struct ypi_relation_work *w, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

const struct yp_case *ypi_relation_case(const struct ypi_relation_work *w, int i);

/* Adds the cases that a node names, each once. */
bool ypi_relation_find(struct ypi_relation_work *w, const char *node,
                       struct ypi_relation_cases *list);

bool ypi_relation_was_skipped(const struct ypi_relation_work *w, int i);

/* Why a case has nothing to read; NULL when it has. The caller frees. */
char *ypi_relation_absence(const struct ypi_relation_work *w, int i);
bool ypi_relation_has_result(struct ypi_relation_work *w, int i);

/* Whether the measurement of the relation's name was taken beside others that wanted the same
 * processors. */
bool ypi_relation_was_crowded(const struct ypi_relation_work *w, int i);

/* Whether it had more ranks than processors. */
bool ypi_relation_is_oversubscribed(const struct ypi_relation_work *w, int i);

/* The measurement, its share of what bounds it, or the value, of the relation's name. NULL, or
 * false, when there is none, which is then reported. */
const struct ypi_estimate *ypi_relation_time(struct ypi_relation_work *w, int i);
const struct ypi_estimate *ypi_relation_share(struct ypi_relation_work *w, int i);
bool ypi_relation_value(struct ypi_relation_work *w, int i, double *out);

/* Whether the case's test has the relation's axis, of which the device is one if `devices` says so;
 * whether that has numbers, for a `what` of the user's words; and this value on it. What is not so
 * is reported. */
bool ypi_relation_has_axis(struct ypi_relation_work *w, const struct yp_case *c, bool devices);
bool ypi_relation_has_numbers(struct ypi_relation_work *w, const struct yp_case *c,
                              const char *what);
bool ypi_relation_has_end(struct ypi_relation_work *w, const struct yp_case *c, const char *text);

/* -- relation.c: what is found ---------------------------------------------------------------- */

struct ypi_spread {
    double value, low, high;
    bool crowded; /* see ypi_value */
};

static inline struct ypi_spread ypi_spread_of(double value, double low, double high)
{
    return (struct ypi_spread){.value = value, .low = low, .high = high};
}

void ypi_relation_add_value(struct ypi_relation_work *w, struct ypi_spread s);

/* Of several spreads the worst by the budgets is reported: when it is inside, all are. One that is
 * certainly outside is worse than an undecided one, which is worse than one inside; among equals
 * the one nearest to a limit is. */
struct ypi_rank {
    int level;     /* 0: inside all limits, 1: undecided, 2: certainly outside one */
    double margin; /* to the nearest limit */
};

struct ypi_relation_worst {
    struct ypi_spread spread;
    struct ypi_rank rank;
    struct ypi_orders orders;
    int candidates;
    char *note;   /* owned: which one */
    bool partial; /* it lacks cases, so the note is worth telling of a single one too */
    char *left;   /* owned: why others were left out; NULL: none were */
};

/* One more finding, made of these `count` cases. Takes the note. */
void ypi_relation_consider(const struct ypi_relation_work *w, struct ypi_relation_worst *worst,
                           struct ypi_spread s, const int *cases, int count, char *note);
void ypi_relation_add_worst(struct ypi_relation_work *w, const struct ypi_relation_worst *worst,
                            const char *of);

/* -- relation_compare.c, relation_growth.c, relation_scaling.c: one of each kind -------------- */

void ypi_relation_ratio(struct ypi_relation_work *w);
void ypi_relation_ratio_over(struct ypi_relation_work *w);
void ypi_relation_value_ratio(struct ypi_relation_work *w);
void ypi_relation_growth(struct ypi_relation_work *w);
void ypi_relation_scaling(struct ypi_relation_work *w);
void ypi_relation_same_hash(struct ypi_relation_work *w);

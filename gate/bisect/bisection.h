/* What a bisection came to, as text, Markdown and JSON. */
#pragma once

#include "gate/bisect/commits.h"
#include "gate/bisect/followed.h"
#include "gate/report.h"

/* A commit that was run beside another one. */
struct ypi_bisect_step {
    const struct ypi_commit *commit; /* not owned */
    struct ypi_commit_words words;
    enum ypi_judged verdict;
    char *reason;                 /* why it was skipped, or was not or could not be run */
    char code[33];                /* of its build: `struct ypi_revision`; "": not known */
    struct ypi_comparisons found; /* the base is the other one */
};
void ypi_bisect_step_clear(struct ypi_bisect_step *step);

struct ypi_bisection {
    char *id;                     /* of the case */
    struct ypi_comparisons first; /* good beside bad */
    bool faster;                  /* what became better is looked for */
    bool follows;                 /* something is worse: */
    struct ypi_followed followed;
    int commit_count;              /* behind good, up to bad */
    struct ypi_bisect_step *steps; /* beside good, in the order they were tried */
    int step_count;
    struct ypi_bisect_step *left; /* the commits that may be the first bad one */
    int left_count;
    bool has_own;
    struct ypi_bisect_step own; /* the first bad one beside its parent: ypi_followed_judge_own() */
    double seconds;             /* that comparisons took */
    bool whole;                 /* it was not interrupted */
};

/* An exit code of `enum ypi_gate_exit`: 0 one commit was found, 1 nothing is worse, 2 interrupted,
 * 6 cannot say, or a set of commits. */
int ypi_bisection_exit(const struct ypi_bisection *b);

/* That exit code, or YPI_GATE_INTERNAL after telling stderr what cannot be written. */
int ypi_bisection_put(const struct ypi_report *report, const struct ypi_bisection *b);
void ypi_bisection_clear(struct ypi_bisection *b);

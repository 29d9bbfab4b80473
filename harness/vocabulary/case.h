/* A case: one test with its axis values and device. Made at collection, in the runner and again
 * in the process that runs it. */
#pragma once

#include "device/kind.h"
#include "harness/vocabulary/baseline.h"

#include <yieldpoint/case.h>
#include <yieldpoint/test.h>

#include <string.h>

/* The value of an axis or of a parameter of the named case. */
struct ypi_setting {
    const char *axis;       /* its name */
    enum yp_axis_kind kind; /* int, double or string */
    long long i;
    double d;
    const char *s;
    bool parameter; /* of the named case: in the id only when it is `given` */
    bool given;     /* by --set */
};

#define YPI_MAX_SETTINGS (YP_MAX_AXES + YP_MAX_PARAMETERS)

/* The i-th axis of a test, with that of its types in front and that of its ranks at the end; NULL:
 * it has no more. Of a declaration that is right they are YP_MAX_AXES together. */
const struct yp_axis *ypi_axis_at(const struct yp_test *test, int i);

#define YPI_RANKS_MOST 4096 /* of one case */

struct yp_case {
    const struct yp_test *test;
    const struct yp_case_decl *decl;               /* NULL: the test has no named cases */
    struct ypi_setting settings[YPI_MAX_SETTINGS]; /* axes, then parameters, as declared */
    int setting_count;
    char device[16];  /* "" when the test declares none: it then runs on the CPU */
    char *id;         /* owned, like tags */
    char *tags;       /* all of them, each once, sorted, separated by one blank */
    double timeout;   /* seconds */
    const char *skip; /* reason known before the run; NULL: run it */
    const char *xfail;
    /* What it is held to: owned, with its texts; ended by one of YP_BUDGET_NONE. NULL: nothing. */
    const struct yp_budget *budgets;
    const struct ypi_baselines *baselines; /* not owned; NULL: none were looked for */
    /* That it is given, in the order of .fixtures; owned. */
    struct yp_case **fixtures;
    int fixture_count;
    char *missing; /* owned: why the case is skipped, where --set took a fixture away; NULL */
    int depth;     /* of a fixture: that of its deepest fixture + 1, from 1; 0: it is none */
    bool needed;   /* a fixture that a selected case is given */
    uint64_t seed;
    int repeat;              /* 0 .. --repeat - 1 */
    struct ypi_child *child; /* only in the process that runs the body */
};

/* How many processes work together in the case: the value of its axis "ranks"; 1 without it. */
int ypi_ranks(const struct yp_case *c);

const char *ypi_axis_kind_name(enum yp_axis_kind kind); /* "int", "double", "string" */

static inline bool ypi_is_relation(const struct yp_case *c)
{
    return c->test->relation.kind != YP_RELATION_NONE;
}

static inline bool ypi_on_accelerator(const struct yp_case *c)
{
    return ypi_device_kind(c->device) != NULL;
}

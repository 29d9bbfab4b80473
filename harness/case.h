/* A case: one test with its axis values and device. Made at collection, in the runner and again
 * in the process that runs it. */
#ifndef YPI_CASE_H
#define YPI_CASE_H

#include <yieldpoint/case.h>
#include <yieldpoint/test.h>

#include <string.h>

struct ypi_setting {
    const char *axis;
    enum yp_axis_kind kind;
    long long i;
    double d;
    const char *s;
};

struct yp_case {
    const struct yp_test *test;
    const struct yp_case_decl *decl; /* NULL: the test has no named cases */
    struct ypi_setting settings[YP_MAX_AXES];
    int setting_count;
    char device[16];  /* "" when the test declares none: it then runs on the CPU */
    char *id;         /* owned, like tags */
    char *tags;       /* all of them, each once, sorted, separated by one blank */
    double timeout;   /* seconds */
    const char *skip; /* reason known before the run; NULL: run it */
    const char *xfail;
    uint64_t seed;
    int repeat;              /* 0 .. --repeat - 1 */
    struct ypi_child *child; /* only in the process that runs the body */
};

static inline bool ypi_on_accelerator(const struct yp_case *c)
{
    return strncmp(c->device, "cuda", 4) == 0;
}

#endif

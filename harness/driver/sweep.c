#include "harness/driver/sweep.h"

#include "base/text/text.h"

#include <stdio.h>
#include <string.h>

static double *value_of(struct ypi_result *whole, const char *name)
{
    for (int i = 0; i < whole->value_count; i++)
        if (strcmp(whole->values[i].name, name) == 0)
            return &whole->values[i].value;
    whole->values =
        ypi_realloc(whole->values, (size_t)whole->value_count + 1, sizeof *whole->values);
    struct ypi_value *v = &whole->values[whole->value_count++];
    *v = (struct ypi_value){0};
    snprintf(v->name, sizeof v->name, "%s", name);
    return &v->value;
}

static void count(struct ypi_result *whole, const char *name)
{
    double *value = value_of(whole, name);
    *value += 1;
    for (int i = 0; i < whole->value_count; i++)
        whole->values[i].low = whole->values[i].high = whole->values[i].value;
}

/* Failures that a case may report when it gets no memory. */
static bool is_reported(enum ypi_cause cause)
{
    return cause == YPI_CAUSE_OUT_OF_MEMORY || cause == YPI_CAUSE_EXPECTATION ||
           cause == YPI_CAUSE_USAGE || cause == YPI_CAUSE_BUDGET || cause == YPI_CAUSE_GRADIENT;
}

void ypi_failed_allocation(struct ypi_result *whole, const struct ypi_result *r)
{
    enum { REPORTED_MAX = 10 };
    bool bad = !r->ended;
    const char *what = r->failure_count > 0 ? r->failures[0].message : "it ended too early";
    enum ypi_cause cause = r->failure_count > 0 ? r->failures[0].cause : YPI_CAUSE_EXIT;
    for (int i = 0; i < r->failure_count; i++)
        if (!is_reported(r->failures[i].cause)) {
            bad = true;
            what = r->failures[i].message;
            cause = r->failures[i].cause;
        }
    uint64_t left = r->memory.leaked_bytes + r->memory.device.allocated;
    if (!bad && left > 0) {
        bad = true;
        what = "it left accounted memory behind";
        cause = YPI_CAUSE_LEAK;
    }
    for (int i = 0; !bad && i < r->verdict_count; i++)
        if (r->verdicts[i].budget->kind == YP_BUDGET_MAX_LEAK &&
            r->verdicts[i].budget->memory == YP_HEAP && r->verdicts[i].met == YPI_NOT_MET) {
            bad = true;
            what = "it left memory of the heap behind";
            cause = YPI_CAUSE_LEAK;
        }
    count(whole, "allocations refused");
    if (!bad)
        count(whole, r->failure_count > 0 ? "ended with a failure" : "found another way");
    else if (whole->failure_count < REPORTED_MAX)
        ypi_result_fail(
            whole, cause, NULL, 0, "with allocation %llu refused (--fail-allocation=%llu): %s",
            (unsigned long long)r->fail_allocation, (unsigned long long)r->fail_allocation, what);
}

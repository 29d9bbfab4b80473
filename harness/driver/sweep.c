#include "harness/driver/sweep.h"

#include "base/text/text.h"
#include "harness/vocabulary/case.h"

#include <stdio.h>
#include <stdlib.h>
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

/* Failures that a case may report when it gets no memory. Of several ranks the others may miss the
 * one that has reported its own, which then is the first failure; not one that went without. */
static bool is_reported(const struct ypi_result *r, int number)
{
    const enum ypi_cause cause = r->failures[number].cause;
    return cause == YPI_CAUSE_OUT_OF_MEMORY || cause == YPI_CAUSE_EXPECTATION ||
           cause == YPI_CAUSE_USAGE || cause == YPI_CAUSE_BUDGET || cause == YPI_CAUSE_GRADIENT ||
           (cause == YPI_CAUSE_RANKS && number > 0);
}

/* Of several ranks not all make as many requests as the one with most of them. */
static bool is_refused(const struct ypi_result *r)
{
    return ypi_ranks(r->c) < 2 || r->failure_count > 0 || r->memory.host.refused > 0 ||
           r->memory.device.refused > 0 || r->memory.heap.refused > 0;
}

/* "--fail-allocation=4: request 2 of rank 1". The caller frees. */
static char *number_text(const struct ypi_result *r)
{
    const unsigned long long number = r->fail_allocation;
    const unsigned long long ranks = (unsigned long long)ypi_ranks(r->c);
    if (ranks < 2)
        return ypi_format("--fail-allocation=%llu", number);
    return ypi_format("--fail-allocation=%llu: request %llu of rank %llu", number,
                      (number - 1) / ranks + 1, (number - 1) % ranks);
}

void ypi_failed_allocation(struct ypi_result *whole, const struct ypi_result *r)
{
    enum { REPORTED_MAX = 10 };
    bool bad = !r->ended;
    const char *what = r->failure_count > 0 ? r->failures[0].message : "it ended too early";
    enum ypi_cause cause = r->failure_count > 0 ? r->failures[0].cause : YPI_CAUSE_EXIT;
    for (int i = 0; i < r->failure_count; i++)
        if (!is_reported(r, i)) {
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
    if (!bad && !is_refused(r))
        return;
    count(whole, "allocations refused");
    if (!bad) {
        count(whole, r->failure_count > 0 ? "ended with a failure" : "found another way");
    } else if (whole->failure_count < REPORTED_MAX) {
        char *number = number_text(r);
        ypi_result_fail(whole, cause, NULL, 0, "with allocation %llu refused (%s): %s",
                        (unsigned long long)r->fail_allocation, number, what);
        free(number);
    }
}

/* One allocation refused: which ends are sound. */
#include "harness/driver/sweep.h"
#include "harness/vocabulary/case.h"

#include <criterion/criterion.h>
#include <string.h>

TestSuite(sweep, .timeout = 60);

static const struct yp_test test;
static const struct yp_case one = {.test = &test};
static struct ypi_result whole;

static double value(const char *name)
{
    for (int i = 0; i < whole.value_count; i++)
        if (strcmp(whole.values[i].name, name) == 0)
            return whole.values[i].value;
    return 0;
}

static void refuse(bool ended, enum ypi_cause cause, const char *message, uint64_t leaked)
{
    struct ypi_result r = {
        .c = &one, .ended = ended, .fail_allocation = 7, .memory.leaked_bytes = leaked};
    if (message != NULL)
        ypi_result_fail(&r, cause, NULL, 0, "%s", message);
    ypi_failed_allocation(&whole, &r);
    ypi_result_clear(&r);
}

Test(sweep, a_told_failure_and_another_way_are_sound)
{
    refuse(true, YPI_CAUSE_OUT_OF_MEMORY, "out of memory", 0);
    refuse(true, YPI_CAUSE_EXPECTATION, "rx != NULL", 0);
    refuse(true, 0, NULL, 0);
    cr_expect_eq(whole.failure_count, 0);
    cr_expect_eq(value("allocations refused"), 3);
    cr_expect_eq(value("ended with a failure"), 2);
    cr_expect_eq(value("found another way"), 1);
}

Test(sweep, crashes_hangs_and_leaks_are_not)
{
    refuse(false, YPI_CAUSE_SIGNAL, "crashed in the body: SIGSEGV (Segmentation fault)", 0);
    refuse(true, YPI_CAUSE_TIMEOUT, "timeout", 0);
    refuse(true, YPI_CAUSE_ORPHANS, "left 1 process running", 0);
    refuse(true, YPI_CAUSE_OUT_OF_MEMORY, "out of memory", 64);
    refuse(false, 0, NULL, 0);
    cr_expect_eq(whole.failure_count, 5);
    cr_expect_eq(whole.failures[0].cause, YPI_CAUSE_SIGNAL);
    cr_expect_str_eq(
        whole.failures[0].message,
        "with allocation 7 refused (--fail-allocation=7): crashed in the body: SIGSEGV "
        "(Segmentation fault)");
    cr_expect_eq(whole.failures[3].cause, YPI_CAUSE_LEAK);
    cr_expect_eq(value("ended with a failure"), 0);
    for (int i = 0; i < 20; i++)
        refuse(false, YPI_CAUSE_SIGNAL, "crashed", 0);
    cr_expect_eq(whole.failure_count, 10, "the first ten tell enough");
    cr_expect_eq(value("allocations refused"), 25);
}

/* Of several ranks one refuses, and the others may miss it. */
static void refuse_of_ranks(enum ypi_cause cause, const char *message, bool missed,
                            uint64_t refused)
{
    static const struct yp_test of_ranks = {.ranks = "3"};
    struct yp_case three = {.test = &of_ranks, .setting_count = 1};
    three.settings[0] = (struct ypi_setting){.axis = ypi_axis_at(&of_ranks, 0)->name, .i = 3};
    struct ypi_result r = {
        .c = &three, .ended = true, .fail_allocation = 5, .memory.host.refused = refused};
    if (message != NULL)
        ypi_result_fail(&r, cause, NULL, 0, "%s", message);
    if (missed)
        ypi_result_fail(&r, YPI_CAUSE_RANKS, NULL, 0, "rank 0: yp_barrier: rank 1 has left");
    ypi_failed_allocation(&whole, &r);
    ypi_result_clear(&r);
}

Test(sweep, of_several_ranks_one_refuses)
{
    refuse_of_ranks(YPI_CAUSE_OUT_OF_MEMORY, "rank 1: out of memory", true, 1);
    refuse_of_ranks(0, NULL, false, 1);
    refuse_of_ranks(0, NULL, false, 0);
    cr_expect_eq(whole.failure_count, 0);
    cr_expect_eq(value("allocations refused"), 2, "no request was refused in one of them");
    refuse_of_ranks(0, NULL, true, 1);
    cr_expect_eq(whole.failure_count, 1);
    cr_expect_str_eq(whole.failures[0].message,
                     "with allocation 5 refused (--fail-allocation=5: request 2 of rank 1): rank "
                     "0: yp_barrier: rank 1 has left");
}

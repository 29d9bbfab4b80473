/* One allocation refused: which ends are sound. */
#include "harness/driver/sweep.h"

#include <criterion/criterion.h>
#include <string.h>

TestSuite(sweep, .timeout = 60);

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
    struct ypi_result r = {.ended = ended, .fail_allocation = 7, .memory.leaked_bytes = leaked};
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

/* Who gets the time when there is too little of it for all. */
#include "gate/schedule.h"

#include <criterion/criterion.h>
#include <math.h>

TestSuite(gate_schedule, .timeout = 60);

static const struct ypi_prospect far = {.seconds = INFINITY};
static const struct ypi_prospect over = {.seconds = -1};

static struct ypi_prospect same_in(double seconds)
{
    return (struct ypi_prospect){.seconds = seconds};
}

static struct ypi_prospect slower_in(double seconds)
{
    return (struct ypi_prospect){.seconds = seconds, .slower = true};
}

Test(gate_schedule, who_looks_slower_comes_first)
{
    const struct ypi_prospect list[] = {same_in(1), slower_in(20), far, slower_in(10), over};
    const double spent[] = {5, 5, 5, 5, 5};
    cr_expect_eq(ypi_schedule_next(list, spent, 5, 60), 3);
    cr_expect_eq(ypi_schedule_next(list, spent, 3, 60), 1);
}

/* It is no use to begin what will not be known by the end. */
Test(gate_schedule, a_suspect_that_time_does_not_allow_waits)
{
    const struct ypi_prospect list[] = {slower_in(90), same_in(4), same_in(3), far};
    const double spent[] = {5, 5, 5, 1};
    cr_expect_eq(ypi_schedule_next(list, spent, 4, 60), 2);
    cr_expect_eq(ypi_schedule_next(list, spent, 4, 100), 0);
}

/* What comes no nearer must not keep the others waiting, and takes turns with its like. */
Test(gate_schedule, the_undecidable_share_what_is_left)
{
    const struct ypi_prospect list[] = {far, far, over, far};
    const double spent[] = {7, 6, 1, 8};
    cr_expect_eq(ypi_schedule_next(list, spent, 4, 60), 1);
    cr_expect_eq(ypi_schedule_next(&list[2], &spent[2], 1, 60), -1);
    cr_expect_eq(ypi_schedule_next(list, spent, 0, 60), -1);
}

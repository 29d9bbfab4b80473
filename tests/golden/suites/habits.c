/* What habits/test_habits.py has: habits/habits.py runs both. */
#include <stdio.h>
#include <yieldpoint/yieldpoint.h>

#define N .axes = YP_AXES(yp_axis_int("n", 1, 2))

YP_TEST(habits, passes)
{
    (void)t;
    puts("hello");
}

YP_TEST(habits, each, N)
{
    if (yp_int(t, "n") != 1)
        yp_fail(t, "n is %lld", yp_int(t, "n"));
}

YP_TEST(habits, skipped, .skip = "no licence")
{
    (void)t;
}

YP_TEST(habits, skipped_twice, N, .skip = "no solver")
{
    (void)t;
}

YP_TEST(habits, known, .xfail = "known")
{
    yp_fail(t, "diverged");
}

YP_TEST(habits, known_too, .xfail = "known, too")
{
    (void)t;
}

static void licence(struct yp_case *t)
{
    yp_fail(t, "no licence");
}

YP_TEST(habits, needs_licence, .tags = "slow", .setup = licence)
{
    (void)t;
}

YP_TEST(habits, last, .tags = "slow")
{
    yp_fail(t, "the last one");
}

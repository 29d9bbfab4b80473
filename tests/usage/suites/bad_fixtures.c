/* Declarations of fixtures, each of them wrong. */
#include <yieldpoint/yieldpoint.h>

YP_FIXTURE(bad, numbers, .axes = YP_AXES(yp_axis_int("n", 1, 2)))
{
    yp_provide(t, 1);
}

#define BAD(name_, ...) \
    YP_TEST(bad, name_, __VA_ARGS__) \
    { \
    }
BAD(misspelt, .fixtures = "numbers[n=3]")
BAD(many, .axes = YP_AXES(yp_axis_int("i", 1, 2, 3)), .fixtures = "numbers")
BAD(a_test, .fixtures = "many[i=1]")
BAD(word, .fixtures = "numbers[n={m}]")
BAD(empty, .fixtures = " ")
BAD(too_many, .fixtures = "a b c d e f g h i")

YP_FIXTURE(bad, expected, .xfail = "it fails")
{
    yp_provide(t, 1);
}

YP_FIXTURE(bad, expected_case, .cases = YP_CASES(yp_case_of("small", .xfail = "it fails")))
{
    yp_provide(t, 1);
}

BAD(each_rank, .each_rank = true)
BAD(placement, .placement = "spread:core")
BAD(placement_word, .ranks = "2", .placement = "spread:core spread:socket")

YP_FIXTURE(bad, judged, .each_rank = true, .budgets = YP_BUDGETS(yp_max_peak(YP_HOST, 1)))
{
    yp_provide(t, 1);
}

YP_FIXTURE(bad, timed, .each_rank = true, .timeout = 1)
{
    yp_provide(t, 1);
}

YP_FIXTURE(bad, own, .each_rank = true)
{
    yp_provide(t, 1);
}

YP_FIXTURE(bad, nested, .fixtures = "own")
{
    yp_provide(t, 1);
}

YP_COMMAND(bad, command, .command = "true", .fixtures = "numbers[n=1]");

YP_RELATION(bad, relation, .fixtures = "numbers[n=1]",
            .relation = yp_same_hash("bad_fixtures.c::many", "bad_fixtures.c::many"));

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

YP_COMMAND(bad, command, .command = "true", .fixtures = "numbers[n=1]");

YP_RELATION(bad, relation, .fixtures = "numbers[n=1]",
            .relation = yp_same_hash("bad_fixtures.c::many", "bad_fixtures.c::many"));

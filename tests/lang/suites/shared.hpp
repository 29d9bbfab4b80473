/* And what C++ has more than C: tests of types. */
#include "tests/lang/suites/shared.h"

YP_TEST(lang, everything, .tags = "stress perf",
        .cases = YP_CASES(yp_case_of("small"), yp_case_of("large", .tags = "slow", .timeout = 60)),
        .axes = YP_AXES(yp_axis_int("channels", 10, 100), yp_axis_double("noise", 0.125, 0.5),
                        yp_axis_string("kind", "flat", "rough")),
        .filter = small_ones, .devices = "cpu", .timeout = 30, .setup = set_up,
        .teardown = tear_down, .xfail_strict = false, .parallel = false,
        .budgets = YP_BUDGETS(yp_min_rate("work", 1e-3), yp_min_flops("work", 1e-3),
                              yp_min_bandwidth("work", 1e-3), yp_max_latency("work", 60),
                              yp_max_peak(YP_HOST, 1 * YP_MIB), yp_max_resident(1 * YP_GIB),
                              yp_max_resident_tree(1 * YP_GIB), yp_max_leak(YP_HOST, 0),
                              yp_max_allocations(YP_HOST, 8), yp_min_value("sum", 1),
                              yp_max_value("sum", 1e12), yp_max_gradient_error("square", 1e-5)))
{
    do_everything(t);
}

namespace my
{
class half
{
    unsigned short bits;

  public:
    explicit half(int value) : bits((unsigned short)value)
    {
    }
    int value() const
    {
        return bits;
    }
};
template <class A, class B> class pair_of
{
    A a;
    B b;

  public:
    explicit pair_of(int value) : a((A)value), b((B)value)
    {
    }
};
} // namespace my

YP_TYPE_NAME("short_pair", my::pair_of<short, my::pair_of<int, char>>);

#define REALS (float, double)

YP_TEST_TYPES(lang, typed,
              (float, unsigned int, my::half, my::pair_of<int, double>,
               my::pair_of<short, my::pair_of<int, char>>),
              .axes = YP_AXES(yp_axis_int("n", 1, 2)), .devices = "cpu", .parallel = true,
              .budgets = YP_BUDGETS(yp_min_value("bytes", 1)))
{
    const T x((int)yp_int(t, "n"));
    yp_keep(x);
    yp_value(t, "bytes", (double)sizeof(T));
}

YP_TEST_TYPES(lang, reals, REALS, .parallel = true)
{
    yp_expect(t, (T)1 / 3 * 3 == (T)1, "%s", yp_string(t, "type"));
}

YP_TEST_TYPES(lang, least, (char))
{
    yp_expect(t, sizeof(T) == 1, "%zu", sizeof(T));
}

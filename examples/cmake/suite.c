#include "sums.h"

#include <yieldpoint/yieldpoint.h>

/* Times something: CTest runs it alone. */
YP_TEST(sums, speed, .tags = "perf", .axes = YP_AXES(yp_axis_int("n", 1000, 100000)),
        .budgets = YP_BUDGETS(yp_max_peak(YP_HOST, YP_MIB)))
{
    size_t n = (size_t)yp_int(t, "n");
    double *x = yp_alloc(t, n * sizeof *x);
    double total = 0;
    for (size_t i = 0; i < n; i++)
        x[i] = 1;
    yp_measure (t, "sum", .bytes = (double)(n * sizeof *x))
        total = sum(n, x);
    yp_expect(t, total == (double)n, "the sum is %g", total);
}

YP_TEST(sums, of_none, .tags = "small", .parallel = true)
{
    yp_expect(t, sum(0, NULL) == 0, "the sum of nothing is not 0");
}

YP_TEST(sums, by_vector, .tags = "small", .parallel = true)
{
    yp_skip(t, "not written yet");
}

YP_TEST(sums, all_night, .tags = "nightly", .parallel = true)
{
    double x[] = {1, 2, 3};
    yp_expect(t, sum(3, x) == 6, "1 + 2 + 3");
}

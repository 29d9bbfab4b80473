/* Fixtures of a run: right ones, and every way in which one can go wrong. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <yieldpoint/yieldpoint.h>

/* One line a process that computes it, for whoever counts them. */
static void count(const struct yp_case *t)
{
    const char *path = getenv("COUNTS");
    FILE *file = path != NULL ? fopen(path, "a") : NULL;
    if (file == NULL)
        return;
    fprintf(file, "%s\n", yp_id(t));
    fclose(file);
}

YP_FIXTURE(data, numbers,
           .cases = YP_CASES(yp_case_of("small", .set = YP_SET(yp_set_int("count", 1000))),
                             yp_case_of("large", .set = YP_SET(yp_set_int("count", 1000000)))))
{
    size_t n = (size_t)yp_int(t, "count");
    long long *x = yp_provide(t, n * sizeof *x);
    count(t);
    yp_expect(t, x[0] == 0 && x[n - 1] == 0, "it begins as zeros");
    for (size_t i = 0; i < n; i++)
        x[i] = (long long)yp_seed(t) + (long long)i;
    yp_data_hash(t, (uint64_t)x[n - 1]);
}

static long long sum(const long long *x, size_t bytes)
{
    long long all = 0;
    for (size_t i = 0; i < bytes / sizeof *x; i++)
        all += x[i];
    return all;
}

YP_TEST(data, sums, .cases = YP_CASES(yp_case_of("small"), yp_case_of("large")),
        .fixtures = "numbers[{case}]", .parallel = true)
{
    size_t bytes = 0;
    const long long *x = yp_fixture(t, "numbers", &bytes);
    long long n = (long long)(bytes / sizeof *x);
    yp_expect(t, n == (strcmp(yp_case_name(t), "small") == 0 ? 1000 : 1000000), "%lld numbers", n);
    yp_expect(t, sum(x, bytes) == n * (n - 1) / 2 + n * (long long)yp_seed(t), "their sum is %lld",
              sum(x, bytes));
    yp_expect(t, yp_fixture(t, "numbers[{case}]", NULL) == x, "it is elsewhere now");
    yp_value(t, "sum", (double)sum(x, bytes));
}

YP_TEST(data, reads, .axes = YP_AXES(yp_axis_int("n", 1, 2, 3, 4)), .fixtures = "numbers[small]",
        .parallel = true)
{
    const long long *x = yp_fixture(t, "numbers", NULL);
    yp_expect(t, x[yp_int(t, "n")] == yp_int(t, "n"), "x[n] is %lld", x[yp_int(t, "n")]);
}

YP_TEST(data, times, .fixtures = "fixtures.c::numbers[small]")
{
    size_t bytes = 0;
    const long long *x = yp_fixture(t, "numbers", &bytes);
    yp_measure (t, "sum", .samples = 5) {
        long long all = sum(x, bytes);
        yp_keep(all);
    }
}

YP_TEST(data, several, .fixtures = "numbers[small] numbers[large]")
{
    size_t small = 0;
    size_t large = 0;
    yp_fixture(t, "numbers[small]", &small);
    yp_fixture(t, "numbers[large]", &large);
    yp_expect(t, small == 8000 && large == 8000000, "%zu and %zu bytes", small, large);
    yp_fixture(t, "numbers", NULL);
}

YP_TEST(data, writes, .fixtures = "numbers[small]")
{
    *(long long *)(uintptr_t)yp_fixture(t, "numbers", NULL) = 1;
}

YP_TEST(data, plain, .parallel = true)
{
    yp_value(t, "nothing", 0);
}

/* With a fixture of its own. */
YP_FIXTURE(data, doubled, .fixtures = "numbers[small]")
{
    size_t bytes = 0;
    const long long *x = yp_fixture(t, "numbers", &bytes);
    long long *y = yp_provide(t, bytes);
    count(t);
    for (size_t i = 0; i < bytes / sizeof *x; i++)
        y[i] = 2 * x[i];
}

YP_TEST(data, chain, .fixtures = "doubled numbers[small]")
{
    const long long *x = yp_fixture(t, "numbers", NULL);
    const long long *y = yp_fixture(t, "doubled", NULL);
    yp_expect(t, y[999] == 2 * x[999], "%lld and %lld", x[999], y[999]);
}

/* By an axis: --set reaches both. */
YP_FIXTURE(data, sized, .axes = YP_AXES(yp_axis_int("bytes", 1, 5000)))
{
    memset(yp_provide(t, (size_t)yp_int(t, "bytes")), 7, (size_t)yp_int(t, "bytes"));
}

YP_TEST(data, of_size, .axes = YP_AXES(yp_axis_int("bytes", 1, 5000)),
        .fixtures = "sized[bytes={bytes}]")
{
    size_t bytes = 0;
    const char *x = yp_fixture(t, "sized", &bytes);
    yp_expect(t, (long long)bytes == yp_int(t, "bytes") && x[bytes - 1] == 7, "%zu bytes", bytes);
}

/* With a device in the name of its user alone. */
YP_TEST(data, on_device, .devices = "cpu", .fixtures = "sized[bytes=1]")
{
    yp_expect(t, *(const char *)yp_fixture(t, "sized", NULL) == 7, "it is another");
}

/* -- what goes wrong ---------------------------------------------------------------------- */

YP_FIXTURE(bad, broken)
{
    yp_provide(t, 1);
    yp_fail(t, "no such data");
}

YP_FIXTURE(bad, upon, .fixtures = "broken")
{
    yp_provide(t, 1);
}

YP_FIXTURE(bad, absent)
{
    yp_skip(t, "there are no data here");
}

YP_FIXTURE(bad, left_out, .skip = "not today")
{
    yp_provide(t, 1);
}

YP_FIXTURE(bad, crashing)
{
    yp_provide(t, 1);
    raise(SIGSEGV);
}

YP_FIXTURE(bad, hanging, .timeout = 0.5)
{
    yp_provide(t, 1);
    for (;;)
        ;
}

/* A test whose body is run only when its fixtures are there. */
#define BAD(name_, ...) \
    YP_TEST(bad, name_, __VA_ARGS__) \
    { \
        yp_value(t, "auc", 1); \
    }
BAD(without, .fixtures = "broken", .budgets = YP_BUDGETS(yp_min_value("auc", 0.5)))
BAD(far, .fixtures = "upon")
BAD(expected, .fixtures = "broken", .xfail = "its data are broken")
BAD(skipped, .fixtures = "absent")
BAD(left_out_too, .fixtures = "left_out")
BAD(after_crash, .fixtures = "crashing")
BAD(after_hang, .fixtures = "hanging")

YP_FIXTURE(bad, nothing)
{
    count(t);
}

YP_TEST(bad, of_nothing, .fixtures = "nothing")
{
    yp_fixture(t, "nothing", NULL);
}

YP_FIXTURE(bad, twice)
{
    yp_provide(t, 1);
    yp_provide(t, 1);
}

YP_FIXTURE(bad, zero)
{
    yp_provide(t, 0);
}

YP_FIXTURE(bad, too_large)
{
    yp_provide(t, (size_t)1 << 62);
}

YP_TEST(bad, no_fixture)
{
    yp_provide(t, 1);
}

YP_TEST(bad, unknown, .fixtures = "numbers[small]")
{
    yp_fixture(t, "number", NULL);
}

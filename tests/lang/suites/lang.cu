/* The same in CUDA C++20, and a kernel on the case's device. */
#include <cmath>
#include <cstdio>
#include <cuda_runtime.h>
#include <yieldpoint/yieldpoint.h>

static void set_up(struct yp_case *t)
{
    static int data = 7;
    yp_set_data(t, &data);
}

static void tear_down(struct yp_case *t)
{
    printf("tear_down of %s\n", yp_id(t));
}

static bool small_ones(const struct yp_case *t)
{
    return yp_int(t, "channels") < 100 || yp_double(t, "noise") < 0.25;
}

static void reset(void *arg)
{
    *static_cast<double *>(arg) = 0;
}

YP_OPTION(word, .value = "WORD", .help = "for bodies to read");
YP_OPTION(kinds, .value = "KIND", .help = "an axis", .axis = "kind", .path = false);

YP_TEST(lang, everything, .tags = "stress perf",
        .cases = YP_CASES(yp_case_of("small"), yp_case_of("large", .tags = "slow", .timeout = 60)),
        .axes = YP_AXES(yp_axis_int("channels", 10, 100), yp_axis_double("noise", 0.125, 0.5),
                        yp_axis_string("kind", "flat", "rough")),
        .filter = small_ones, .devices = "cpu", .timeout = 30, .setup = set_up,
        .teardown = tear_down, .xfail_strict = false, .parallel = false,
        .budgets = YP_BUDGETS(yp_min_rate("work", 1e-3), yp_max_peak(YP_HOST, 1 * YP_MIB),
                              yp_max_value("sum", 1e12)))
{
    double *values = static_cast<double *>(yp_alloc(t, 1000 * sizeof *values));
    double sum = 0;
    yp_require(t, *static_cast<const int *>(yp_data(t)) == 7, "data is another");
    yp_measure (t, "work", .items = 1000, .unit = "values", .reset = reset, .arg = &sum,
                .warmup = 2, .samples = 5) {
        yp_phase (t, "write") {
            for (int i = 0; i < 1000; i++)
                values[i] = double(yp_int(t, "channels"));
        }
        yp_phase (t, "read") {
            for (int i = 0; i < 1000; i++)
                sum += values[i];
            yp_keep(sum);
        }
    }
    yp_value(t, "sum", sum);
    yp_data_hash(t, yp_seed(t) + (yp_case_name(t)[0] == 's'));
    yp_ok(t, yp_device_synchronize(yp_device(t)));
}

static __global__ void triad(int n, const float *x, const float *y, float *z)
{
    int i = int(blockIdx.x * blockDim.x + threadIdx.x);
    if (i < n)
        z[i] = x[i] + 2 * y[i];
}

static void triad_on_host(int n, const float *x, const float *y, float *z)
{
    for (int i = 0; i < n; i++)
        z[i] = x[i] + 2 * y[i];
}

YP_TEST(lang, triad, .devices = "cpu cuda", .timeout = 60)
{
    yp_expect(t, yp_option(word) == NULL, "it was not given");
    const int n = 1 << 16;
    float *x = static_cast<float *>(yp_alloc(t, 3 * n * sizeof *x));
    float *y = x + n;
    float *z = y + n;
    float first = 0;
    if (yp_device_memory_kind(yp_device(t)) == YP_HOST) {
        for (int i = 0; i < n; i++)
            x[i] = 1, y[i] = 2;
        yp_measure (t, "triad", .bytes = 12.0 * n, .footprint = 12.0 * n, .samples = 3)
            triad_on_host(n, x, y, z);
        first = z[0];
    } else {
        cudaStream_t stream =
            static_cast<cudaStream_t>(yp_stream_native(yp_device_stream(yp_device(t))));
        cudaMemsetAsync(x, 0, 3 * n * sizeof *x, stream);
        yp_measure (t, "triad", .bytes = 12.0 * n, .footprint = 12.0 * n, .samples = 3)
            triad<<<n / 256, 256, 0, stream>>>(n, x, y, z);
        yp_expect(t, cudaGetLastError() == cudaSuccess, "the kernel could not be launched");
        yp_ok(t, yp_device_copy(yp_device(t), &first, z, sizeof first));
        first += 5;
    }
    yp_expect(t, first == 5, "z[0] is %g", double(first));
}

YP_TEST(lang, limits, .axes = YP_AXES(yp_axis_int("n", 64, 256, 1024)), .devices = "cpu",
        .budgets = YP_BUDGETS(yp_min_share("work", 1e-9), yp_max_percentile("work", 50, 60),
                              yp_max_cpu_time("work", 60), yp_max_growth("work", 1 * YP_GIB)))
{
    int n = int(yp_int(t, "n"));
    double *values = static_cast<double *>(yp_alloc(t, size_t(n) * sizeof *values));
    yp_measure (t, "work", .flops = 1.0 * n, .bytes = 16.0 * n, .arithmetic = YP_FP64,
                .traffic = YP_COPY, .footprint = 8.0 * n,
                .bounds = YP_WORK(yp_work(YP_INT32, n), yp_traffic(YP_FILL, 8 * n, 8 * n),
                                  yp_then(), yp_traffic(YP_READ, 8, YP_FOOTPRINT_MEMORY)),
                .threads = 1, .max_samples = 20, .max_seconds = 0.05)
        for (int i = 0; i < n; i++) {
            values[i] = n;
            yp_keep(values);
        }
    yp_value(t, "n", n);
    yp_data_hash(t, 7);
}

/* Each case is held to the last of four sources. */
static void hold(const struct yp_case *c, struct yp_budgets *out)
{
    yp_budget_add(out, yp_max_peak(YP_HOST, 1024 * yp_int(c, "n")),
                  yp_required(yp_min_value("n", 1), "none is not enough"));
    if (yp_case_name(c)[0] == 's')
        yp_budget_add(out, yp_max_value("n", NAN));
}

YP_TEST(lang, held,
        .cases = YP_CASES(yp_case_of("small",
                                     .budgets = YP_BUDGETS(yp_max_allocations(YP_HOST, 1))),
                          yp_case_of("large", .budgets = YP_BUDGETS(yp_max_allocations(YP_HOST, 1),
                                                                    yp_max_value("n", 2)))),
        .axes = YP_AXES(yp_axis_int("n", 1, 2)),
        .budgets = YP_BUDGETS(yp_max_value("n", 0), yp_max_allocations(YP_HOST, 0)),
        .budgets_of = hold)
{
    yp_alloc(t, size_t(1024 * yp_int(t, "n")));
    yp_value(t, "n", double(yp_int(t, "n")));
}

YP_TEST(lang, counted, .budgets = YP_BUDGETS(yp_max_count("work", YP_PAGE_FAULTS, 1e9)))
{
    yp_measure (t, "work", .max_samples = 10, .max_seconds = 0.02)
        yp_keep(t);
}

YP_TEST(lang, serves, .budgets = YP_BUDGETS(yp_max_percentile("all", 50, 60)))
{
    int answered = 0;
    yp_serve (t, "all", .rate = 10000, .seconds = 1, .requests = 20, .warmup = 1, .regular = true) {
        answered++;
        yp_keep(answered);
    }
    yp_serve (t, "plain", .rate = 10000, .requests = 5, .warmup = -1)
        answered++;
    yp_expect(t, answered == 26, "answered %d", answered);
}

YP_COMMAND(lang, command, .axes = YP_AXES(yp_axis_int("n", 1, 2)),
           .budgets = YP_BUDGETS(yp_min_value("half", 0.5), yp_max_value("half", 0.5)),
           .command = "cat; echo \"$GREETING {n}\"",
           .input = "{\"value\": \"half\", \"number\": 0.5}\n",
           .environment = "GREETING='hello you'");

YP_RELATION(lang, ratio, .tags = "perf",
            .budgets = YP_BUDGETS(yp_min_value("ratio", 1e-9), yp_max_value("ratio", 1e9)),
            .relation = yp_ratio("lang.cu::limits[n=64-cpu]", "lang.cu::limits[n=256-cpu]",
                                 "work"));
YP_RELATION(lang, ratio_over, .budgets = YP_BUDGETS(yp_min_value("ratio", 1e-9)),
            .relation = yp_ratio_over("lang.cu::limits", "work", "n", "64", "1024"));
YP_RELATION(lang, value_ratio,
            .budgets = YP_BUDGETS(yp_min_value("ratio", 4), yp_max_value("ratio", 4)),
            .relation = yp_value_ratio("lang.cu::limits[n=256-cpu]", "lang.cu::limits[n=64-cpu]",
                                       "n"));
YP_RELATION(lang, growth, .budgets = YP_BUDGETS(yp_max_value("exponent", 1e9)),
            .relation = yp_growth("lang.cu::limits", "work", "n"));
YP_RELATION(lang, same_hash,
            .relation = yp_same_hash("lang.cu::limits", "lang.cu::limits[n=64-cpu]"));

static const int powers_count = 4;

static enum yp_status powers(struct yp_axis_values *values, const void *arg)
{
    for (int n = 1; n <= *static_cast<const int *>(arg); n *= 2)
        yp_axis_add_int(values, n);
    return YP_OK;
}

YP_TEST(lang, parameters,
        .cases = YP_CASES(
            yp_case_of("small", .set = YP_SET(yp_set_int("cubes", 2), yp_set_double("noise", 0.125),
                                              yp_set_string("kind", "flat"))),
            yp_case_of("large", .tags = "slow",
                       .set = YP_SET(yp_set_int("cubes", 30), yp_set_double("noise", 0.5),
                                     yp_set_string("kind", "rough")))),
        .axes = YP_AXES(yp_axis_from("n", powers, &powers_count)), .parallel = true)
{
    yp_value(t, "cubes", double(yp_int(t, "cubes")));
    yp_value(t, "n", double(yp_int(t, "n")));
    yp_value(t, "noise", yp_double(t, "noise"));
    yp_expect(t, yp_string(t, "kind")[0] == (yp_int(t, "cubes") == 2 ? 'f' : 'r'), "kind is %s",
              yp_string(t, "kind"));
}

static enum yp_status attempt(struct yp_case *t, void *arg)
{
    void *block = yp_device_alloc(yp_device(t), 1000);
    *static_cast<bool *>(arg) = block != NULL;
    yp_device_free(yp_device(t), block);
    return block != NULL ? YP_OK : YP_OUT_OF_MEMORY;
}

YP_TEST(lang, memory, .parallel = true)
{
    void *block = NULL;
    bool got = false;
    yp_expect_memory (t, "a block", .host = 1000)
        block = yp_device_alloc(yp_device(t), 1000);
    yp_expect_memory (t, "nothing", .host = 1, .host_at_most = true)
        yp_keep(block);
    yp_expect_no_requests (t, "giving back") {
        yp_device_free(yp_device_at(t, yp_device_count(t) - 1), block);
    }
    int refused = yp_refuse_each(t, yp_device(t), attempt, &got);
    yp_expect(t, refused == 1 && got, "%d", refused);
}

YP_TEST(lang, kept, .parallel = true)
{
    static int in_memory;
    double x = 2, y = 3;
    int n = 4;
    long double wide = 5;
    int list[2] = {6, 7};
    const int never = 8;
    in_memory = 9;
    yp_keep(x);
    yp_keep(n);
    yp_keep(wide);
    yp_keep(list);
    yp_keep(never);
    yp_use(x + y);
    yp_clobber();
    yp_expect(t,
              !__builtin_constant_p(x) && !__builtin_constant_p(n) && !__builtin_constant_p(wide) &&
                  !__builtin_constant_p(list[1]) && !__builtin_constant_p(in_memory),
              "the compiler knows what was kept");
    yp_expect(t,
              x == 2 && y == 3 && n == 4 && wide == 5 && list[0] == 6 && list[1] == 7 &&
                  never == 8 && in_memory == 9,
              "a value has changed");
}

static const long long primes[] = {2, 3, 5};
static const double halves[] = {0.5, 1.5};
static const char *const words[] = {"a", "b"};

YP_TEST(lang, arrays,
        .axes = YP_AXES(yp_axis_int_of("p", primes), yp_axis_double_of("h", halves),
                        yp_axis_string_of("w", words)),
        .parallel = true)
{
    yp_expect(t, yp_int(t, "p") > 1 && yp_double(t, "h") < 2 && yp_string(t, "w")[1] == '\0', "%s",
              yp_id(t));
}

YP_TEST(lang, ranges,
        .axes = YP_AXES(yp_axis_range("r", 1, 50, 49), yp_axis_geometric("g", 1, 100, 10),
                        yp_axis_threads("threads", 1, 3)),
        .parallel = true)
{
    yp_expect(t, yp_int(t, "r") + yp_int(t, "g") + yp_int(t, "threads") > 2, "%s", yp_id(t));
}

namespace my
{
struct half {
    unsigned short bits;
    explicit half(int value) : bits((unsigned short)value)
    {
    }
};
template <class A, class B> struct pair_of {
    A a;
    B b;
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

YP_TEST(lang, fails, .parallel = true)
{
    yp_fail(t, "in %s", yp_device_of(t));
}

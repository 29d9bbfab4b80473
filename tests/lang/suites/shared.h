/* What a declaration and a body may hold, in the order of the fields, as all languages take it. */
#include <math.h>
#include <stdio.h>
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
    *(double *)arg = 0;
}

static void square(void *arg, const double *x, double *y)
{
    (void)arg;
    for (int i = 0; i < 3; i++)
        y[i] = x[i] * x[i];
}

static void square_vjp(void *arg, const double *x, const double *c, double *g)
{
    (void)arg;
    for (int i = 0; i < 3; i++)
        g[i] = 2 * x[i] * c[i];
}

YP_OPTION(word, .value = "WORD", .help = "for bodies to read");
YP_OPTION(kinds, .value = "KIND", .help = "an axis", .axis = "kind", .path = false);

/* The body of `everything`, which each language declares for itself. */
static void do_everything(struct yp_case *t)
{
    double *values = (double *)yp_alloc(t, 1000 * sizeof *values);
    double sum = 0;
    yp_require(t, *(const int *)yp_data(t) == 7, "data is %d", *(const int *)yp_data(t));
    yp_measure (t, "work", .items = 1000, .unit = "values", .flops = 1000, .bytes = 8000,
                .reset = reset, .arg = &sum, .warmup = 2, .samples = 5) {
        yp_phase (t, "write") {
            for (int i = 0; i < 1000; i++)
                values[i] = (double)yp_int(t, "channels");
        }
        yp_phase (t, "read") {
            for (int i = 0; i < 1000; i++)
                sum += values[i];
            yp_keep(sum);
        }
    }
    yp_measure (t, "adaptive", .min_samples = 3, .max_samples = 10, .max_seconds = 0.02)
        yp_keep(sum);
    yp_measure (t, "plain", .samples = 3)
        yp_keep(sum);
    yp_expect(t, sum > 0, "sum is %g", sum);
    yp_value(t, "sum", sum);
    yp_value_unit(t, "noise", yp_double(t, "noise"), "dB");
    yp_data_hash(t, yp_seed(t) + (uint64_t)(yp_case_name(t)[0] == 's'));
    static const double x[] = {1, -2, 3};
    struct yp_gradient gradient = {
        .name = "square", .inputs = 3, .outputs = 3, .f = square, .vjp = square_vjp, .x = x};
    yp_check_gradient(t, &gradient);
    yp_ok(t, yp_device_synchronize(yp_device(t)));
}

YP_TEST(lang, gradients, .parallel = true)
{
    yp_expect(t, yp_option(word) == NULL, "it was not given");
    static const double x[] = {1, -2, 3};
    static const float got[] = {1, 4, 9};
    static const double oracle[] = {1, 4, 9};
    static const struct yp_tensor tensors[] = {{"first", 0, 1}, {"rest", 1, 2}};
    struct yp_gradient gradient = {.name = "square",
                                   .inputs = 3,
                                   .outputs = 3,
                                   .f = square,
                                   .vjp = square_vjp,
                                   .x = x,
                                   .tensors = tensors,
                                   .n_tensors = 2};
    struct yp_precision precision = {
        .name = "values", .count = 3, .oracle = oracle, .plain = got, .got = got};
    yp_check_gradient(t, &gradient);
    yp_check_precision(t, &precision);
    yp_expect_close(t, "array", .got = got, .want = oracle, .count = 3, .number = YP_NUMBER_FLOAT32,
                    .want_number = YP_NUMBER_FLOAT64, .ulp = 1, .got_on = yp_device(t));
    precision.tensors = tensors;
    precision.n_tensors = 2;
    yp_check_precision(t, &precision);
}

YP_TEST(lang, bare)
{
}

YP_TEST(lang, most_values,
        .axes = YP_AXES(yp_axis_int("n", 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17,
                                    18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32)),
        .parallel = true)
{
}

YP_TEST(lang, most_axes,
        .axes = YP_AXES(yp_axis_int("a", 1), yp_axis_int("b", 2), yp_axis_int("c", 3),
                        yp_axis_int("d", 4), yp_axis_int("e", 5), yp_axis_int("f", 6),
                        yp_axis_int("g", 7), yp_axis_int("h", 8)),
        .parallel = true)
{
    yp_expect(t, yp_int(t, "a") + yp_int(t, "h") == 9, "h is %lld", yp_int(t, "h"));
}

YP_TEST(lang, skipped, .skip = "not here")
{
}

YP_TEST(lang, expected_to_fail, .xfail = "known")
{
    yp_fail(t, "as known");
}

YP_TEST(lang, limits, .axes = YP_AXES(yp_axis_int("n", 64, 256, 1024)), .devices = "cpu",
        .budgets = YP_BUDGETS(yp_min_share("work", 1e-9), yp_max_percentile("work", 50, 60),
                              yp_max_cpu_time("work", 60), yp_max_growth("work", 1 * YP_GIB)))
{
    int n = (int)yp_int(t, "n");
    double *values = (double *)yp_alloc(t, (size_t)n * sizeof *values);
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
    yp_alloc(t, (size_t)(1024 * yp_int(t, "n")));
    yp_value(t, "n", (double)yp_int(t, "n"));
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
            .relation = yp_ratio("shared.h::limits[n=64-cpu]", "shared.h::limits[n=256-cpu]",
                                 "work"));
YP_RELATION(lang, ratio_over, .budgets = YP_BUDGETS(yp_min_value("ratio", 1e-9)),
            .relation = yp_ratio_over("shared.h::limits", "work", "n", "64", "1024"));
YP_RELATION(lang, value_ratio,
            .budgets = YP_BUDGETS(yp_min_value("ratio", 4), yp_max_value("ratio", 4)),
            .relation = yp_value_ratio("shared.h::limits[n=256-cpu]", "shared.h::limits[n=64-cpu]",
                                       "n"));
YP_RELATION(lang, growth, .budgets = YP_BUDGETS(yp_max_value("exponent", 1e9)),
            .relation = yp_growth("shared.h::limits", "work", "n"));
YP_RELATION(lang, same_hash,
            .relation = yp_same_hash("shared.h::limits", "shared.h::limits[n=64-cpu]"));

static const int powers_count = 4;

static enum yp_status powers(struct yp_axis_values *values, const void *arg)
{
    for (int n = 1; n <= *(const int *)arg; n *= 2)
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
    yp_value(t, "cubes", (double)yp_int(t, "cubes"));
    yp_value(t, "n", (double)yp_int(t, "n"));
    yp_value(t, "noise", yp_double(t, "noise"));
    yp_expect(t, yp_string(t, "kind")[0] == (yp_int(t, "cubes") == 2 ? 'f' : 'r'), "kind is %s",
              yp_string(t, "kind"));
}

static enum yp_status attempt(struct yp_case *t, void *arg)
{
    void *block = yp_device_alloc(yp_device(t), 1000);
    *(bool *)arg = block != NULL;
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
        yp_device_free(yp_device(t), block);
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

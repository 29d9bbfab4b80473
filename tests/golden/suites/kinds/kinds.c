/* Every kind of failure as it is printed. What brings them about is the zoo's subject. */
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <yieldpoint/yieldpoint.h>

YP_TEST(kinds, expectation)
{
    int found = 41;
    printf("looking for the answer\n");
    yp_expect(t, found == 42, "found is %d", found);
    yp_expect(t, found > 42, "found is %d", found);
    fprintf(stderr, "without a line end");
}

YP_TEST(kinds, requirement)
{
    yp_require(t, 1 > 2, "one is not greater than %d", 2);
}

YP_TEST(kinds, plain_failure)
{
    yp_fail(t, "two lines:\nthe second");
}

YP_TEST(kinds, status)
{
    yp_ok(t, yp_set_error(YP_IO, "scene.cu3s: No such file or directory"));
}

YP_TEST(kinds, status_out_of_memory)
{
    yp_ok(t, yp_set_error(YP_OUT_OF_MEMORY, "1024 bytes asked for"));
}

YP_TEST(kinds, usage, .axes = YP_AXES(yp_axis_int("channels", 10)))
{
    yp_value(t, "channels", (double)yp_int(t, "chanels"));
}

YP_TEST(kinds, budgets,
        .budgets = YP_BUDGETS(yp_min_rate("step", 1e9), yp_min_flops("step", 1e15),
                              yp_min_bandwidth("step", 1e15), yp_max_latency("step", 1e-6),
                              yp_max_peak(YP_HOST, 1 * YP_MIB), yp_max_leak(YP_HOST, 16),
                              yp_max_allocations(YP_HOST, 1), yp_min_value("auc", 0.95),
                              yp_max_value("loss", 0.5), yp_min_value("depth", 0)))
{
    yp_alloc(t, (size_t)(2 * YP_MIB));
    yp_device_alloc(yp_device(t), 32);
    yp_value(t, "auc", 0.5);
    yp_value_unit(t, "loss", 0.75, "nat");
    yp_value_unit(t, "depth", 12, "m");
    yp_measure (t, "step", .samples = 8, .items = 10, .unit = "steps", .flops = 1e6, .bytes = 1e6,
                .footprint = 1e6)
        usleep(30000); /* longer than others get at a time */
}

YP_TEST(kinds, resident, .budgets = YP_BUDGETS(yp_max_resident(8 * YP_MIB)))
{
    char *block = malloc((size_t)(64 * YP_MIB));
    memset(block, 1, (size_t)(64 * YP_MIB));
    yp_keep(block);
    free(block);
}

YP_TEST(kinds, unmeasured,
        .budgets = YP_BUDGETS(yp_min_rate("fit", 1), yp_min_value("auc", 0.5),
                              yp_max_gradient_error("loss", 1e-4)))
{
}

static void square(void *arg, const double *x, double *y)
{
    (void)arg;
    for (int i = 0; i < 3; i++)
        y[i] = x[i] * x[i];
}

static void square_vjp(void *arg, const double *x, const double *c, double *g)
{
    for (int i = 0; i < 3; i++)
        g[i] = 2 * *(double *)arg * x[i] * c[i];
}

YP_TEST(kinds, gradient)
{
    double scale = 1.5;
    yp_check_gradient(t, &(struct yp_gradient){.name = "square",
                                               .inputs = 3,
                                               .outputs = 3,
                                               .f = square,
                                               .vjp = square_vjp,
                                               .arg = &scale,
                                               .x = (const double[]){1, -2, 3}});
}

YP_TEST(kinds, gradient_budget, .budgets = YP_BUDGETS(yp_max_gradient_error("square", 0.125)))
{
    double scale = 1.5;
    yp_check_gradient(t, &(struct yp_gradient){.name = "square",
                                               .inputs = 3,
                                               .outputs = 3,
                                               .f = square,
                                               .vjp = square_vjp,
                                               .arg = &scale,
                                               .x = (const double[]){1, -2, 3}});
}

YP_TEST(kinds, precision)
{
    yp_check_precision(t, &(struct yp_precision){.name = "scores",
                                                 .count = 2,
                                                 .oracle = (const double[]){3, 4},
                                                 .plain = (const float[]){3, 4.0625f},
                                                 .got = (const float[]){3, 4.5f}});
}

YP_TEST(kinds, crash)
{
    printf("about to crash\n");
    raise(SIGSEGV);
}

YP_TEST(kinds, exits)
{
    _exit(3);
}

YP_TEST(kinds, timeout, .timeout = 0.2)
{
    for (;;)
        pause();
}

YP_TEST(kinds, out_of_memory)
{
    yp_alloc(t, (size_t)(64 * YP_MIB));
}

YP_TEST(kinds, leak)
{
    for (int i = 0; i < 2; i++)
        yp_device_alloc(yp_device(t), 500);
}

/* Ends by itself, so that its output stays short where nothing bounds it; waits to be caught. */
YP_TEST(kinds, output)
{
    for (int i = 0; i < 4000; i++)
        printf("%0600d\n", i);
    fflush(stdout);
    pause();
}

YP_TEST(kinds, orphan)
{
    if (fork() == 0) {
        execlp("sleep", "sleep", "100", (char *)NULL);
        _exit(1);
    }
    usleep(100000);
}

YP_TEST(kinds, forks)
{
    for (int i = 0; i < 200; i++)
        if (fork() == 0) {
            for (;;)
                pause();
        }
    for (;;)
        pause();
}

YP_TEST(kinds, descriptors)
{
    close(STDIN_FILENO);
}

YP_TEST(kinds, strict_xfail, .xfail = "not supported yet", .xfail_strict = true)
{
}

YP_TEST(kinds, array)
{
    static const float got[] = {1, 2, 3, 4, 5.5F, 6, 7, 8, 9, 10, 11, 12.25F};
    static const double want[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
    static const float nan[] = {1, (float)NAN, 3};
    yp_expect_close(t, "scores", .got = got, .want = want, .count = 12, .columns = 4,
                    .number = YP_NUMBER_FLOAT32, .want_number = YP_NUMBER_FLOAT64, .absolute = 1e-3,
                    .relative = 1e-3);
    yp_expect_close(t, "whole", .got = got, .want = want, .count = 12, .number = YP_NUMBER_FLOAT32,
                    .want_number = YP_NUMBER_FLOAT64, .nmse = 1e-6);
    yp_expect_close(t, "gaps", .got = nan, .want = got, .count = 3, .number = YP_NUMBER_FLOAT32,
                    .ulp = 4);
    yp_expect_close(t, "right", .got = got, .want = got, .count = 12, .number = YP_NUMBER_FLOAT32);
}

YP_TEST(kinds, array_usage)
{
    static const float one[] = {1};
    yp_expect_close(t, "scores", .got = one, .want = one, .count = 1, .number = YP_NUMBER_FLOAT32,
                    .absolute = -1);
}

static void setup_fails(struct yp_case *t)
{
    yp_fail(t, "no licence for the %s", "solver");
}

YP_TEST(kinds, setup_error, .setup = setup_fails)
{
}

static void teardown_fails(struct yp_case *t)
{
    yp_fail(t, "could not put it back");
}

YP_TEST(kinds, teardown_failure, .teardown = teardown_fails)
{
}

/* Arrivals under a clock of the test's own, which only the waiting and the work move. */
#include "base/system/clock.h"
#include "harness/measure/measurement.h"

#include <criterion/criterion.h>
#include <math.h>
#include <time.h>

TestSuite(serve, .timeout = 60);

static double now;

double ypi_now(void)
{
    return now += 1e-7; /* looking takes time, or waiting would have no end */
}

/* In place of the C library's: waking up is late. */
/* NOLINTNEXTLINE(readability-inconsistent-declaration-parameter-name): reserved there */
int nanosleep(const struct timespec *requested_time, struct timespec *remaining)
{
    (void)remaining;
    now += (double)requested_time->tv_sec + 1e-9 * (double)requested_time->tv_nsec + 60e-6;
    return 0;
}

static struct ypi_arrivals *open_at(double rate, int requests, double seconds, bool regular)
{
    struct yp_serve_options o = {
        .rate = rate, .requests = requests, .seconds = seconds, .regular = regular};
    return ypi_arrivals_open(&o, 42, now);
}

Test(serve, evenly_spaced_and_in_time)
{
    struct ypi_arrivals *a = open_at(1000, 100, 0, true);
    for (int i = 1; i <= 100; i++) {
        cr_assert(ypi_arrivals_wait(a));
        cr_expect_float_eq(now, 1e-3 * i, 1e-6, "request %d at %g", i, now);
        cr_expect(ypi_arrivals_latency(a) < 1e-6);
    }
    cr_expect_not(ypi_arrivals_wait(a));
    ypi_arrivals_close(a);
}

Test(serve, waiting_behind_others_counts)
{
    struct ypi_arrivals *a = open_at(1000, 10, 0, true);
    /* Each takes 3 ms, and one comes every millisecond: number i waits for 2 (i - 1) ms. */
    for (int i = 1; i <= 10; i++) {
        cr_assert(ypi_arrivals_wait(a));
        now += 3e-3;
        cr_expect_float_eq(ypi_arrivals_latency(a), 3e-3 + 2e-3 * (i - 1), 1e-5, "request %d: %g",
                           i, ypi_arrivals_latency(a));
    }
    ypi_arrivals_close(a);
}

Test(serve, ends_when_the_seconds_of_arrivals_are_over)
{
    struct ypi_arrivals *a = open_at(100, 0, 1.0001, true);
    int count = 0;
    while (ypi_arrivals_wait(a)) {
        now += 0.1; /* however long it takes to answer them */
        count++;
    }
    cr_expect_eq(count, 100, "%d", count);
    ypi_arrivals_close(a);
}

/* A Poisson process: gaps have mean 1 / rate and as large a standard deviation. */
Test(serve, arrivals_are_those_of_the_seed)
{
    enum { COUNT = 20000 };
    double first[3];
    double sum = 0;
    double squares = 0;
    for (int round = 0; round < 2; round++) {
        now = 0;
        struct ypi_arrivals *a = open_at(100, COUNT, 0, false);
        double before = 0;
        sum = squares = 0;
        for (int i = 0; i < COUNT; i++) {
            cr_assert(ypi_arrivals_wait(a));
            double due = now - ypi_arrivals_latency(a);
            double gap = due - before;
            before = due;
            sum += gap;
            squares += gap * gap;
            if (round == 0 && i < 3)
                first[i] = gap;
            else if (i < 3)
                cr_expect_float_eq(gap, first[i], 1e-6);
        }
        ypi_arrivals_close(a);
    }
    double mean = sum / COUNT;
    double sd = sqrt(squares / COUNT - mean * mean);
    cr_expect_float_eq(mean, 0.01, 0.0003, "%g", mean);
    cr_expect_float_eq(sd, 0.01, 0.0004, "%g", sd);
}

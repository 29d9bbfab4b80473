/*
 * The measuring loop under a clock of the test's own: how often the block runs, what is timed,
 * when it stops. What the loop asks of a case's process and of a device stands in here, so these
 * take the place of the library's.
 */
#include <yieldpoint/measure.h>

#include "case.h"
#include "child.h"
#include "process.h"
#include "sanitizer.h"

#include <criterion/criterion.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A body that is left leaves its measurement to the end of the process. */
SANITIZER_OPTIONS("detect_leaks=0")

TestSuite(measure, .timeout = 60);

/* -- in place of the library --------------------------------------------------------------- */

static double clock_seconds;
static struct ypi_measured told; /* with its samples; owned by the test */
static int told_count;
static char failure[512]; /* the last */
static jmp_buf left;
static struct yp_measurement *running;
static int synchronized;

struct yp_stream {
    int unused;
};
struct yp_event {
    double at;
};

double ypi_now(void)
{
    return clock_seconds;
}

struct yp_device *yp_device(const struct yp_case *t)
{
    (void)t;
    return NULL;
}

struct yp_stream *yp_device_stream(struct yp_device *device)
{
    (void)device;
    static struct yp_stream stream;
    return &stream;
}

enum yp_status yp_device_synchronize(struct yp_device *device)
{
    (void)device;
    synchronized++;
    return YP_OK;
}

struct yp_event *yp_event_create(struct yp_device *device)
{
    (void)device;
    return calloc(1, sizeof(struct yp_event));
}

void yp_event_destroy(struct yp_event *event)
{
    free(event);
}

enum yp_status yp_event_record(struct yp_event *event, struct yp_stream *stream)
{
    cr_assert_not_null(stream);
    event->at = clock_seconds;
    return YP_OK;
}

double yp_event_seconds(struct yp_event *begin, struct yp_event *end)
{
    return end->at - begin->at;
}

void ypi_child_name(struct yp_case *t, const char *what, const char *name)
{
    (void)t;
    cr_expect_str_eq(what, "measurement");
    cr_expect_not_null(name);
}

struct yp_measurement **ypi_child_measurement(struct yp_case *t)
{
    (void)t;
    return &running;
}

void ypi_child_fail(const struct yp_case *t, enum ypi_cause cause, const char *file, int line,
                    const char *format, ...)
{
    (void)t, (void)file, (void)line;
    cr_expect_eq(cause, YPI_CAUSE_USAGE);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(failure, sizeof failure, format, arguments);
    va_end(arguments);
}

void ypi_child_leave(const struct yp_case *t)
{
    (void)t;
    longjmp(left, 1);
}

void ypi_child_send(const struct yp_case *t, enum ypi_message kind, const void *first,
                    size_t first_size, const void *second, size_t second_size)
{
    (void)t;
    cr_assert(kind == YPI_MESSAGE_MEASURED && first_size == sizeof told);
    free(told.samples);
    memcpy(&told, first, sizeof told);
    cr_assert_eq(second_size, told.count * sizeof(double));
    told.samples = malloc(second_size + 1);
    if (second_size > 0)
        memcpy(told.samples, second, second_size);
    told_count++;
}

/* -- helpers ------------------------------------------------------------------------------- */

static const struct yp_test test = {.name = "t"};
static struct yp_case subject = {.test = &test};
static struct yp_case *const t = &subject;

static void expect_samples(double seconds)
{
    for (size_t i = 0; i < told.count; i++)
        cr_assert_float_eq(told.samples[i], seconds, 1e-6 * seconds, "sample %zu: %g", i,
                           told.samples[i]);
}

static void expect_told(size_t count, uint64_t batch, enum ypi_stop stop)
{
    cr_expect_eq(told_count, 1);
    cr_expect_null(running);
    cr_expect_eq(told.count, count, "%zu samples, wanted %zu", told.count, count);
    cr_expect_eq(told.batch, batch, "batch %d", (int)told.batch);
    cr_expect_eq(told.stop, stop, "stopped by %s", ypi_stop_name(told.stop));
}

/* -- how often ----------------------------------------------------------------------------- */

Test(measure, steady_work_needs_the_fewest_samples)
{
    int iterations = 0;
    yp_measure (t, "fit") {
        iterations++;
        clock_seconds += 1e-3;
    }
    expect_told(10, 1, YPI_STOP_PRECISION);
    expect_samples(1e-3);
    cr_expect(told.warmup >= 50 && told.warmup <= 51, "0.05 s of warm-up: %d", (int)told.warmup);
    cr_expect_eq((size_t)iterations, told.warmup + told.count);
    /* It takes no more of a short measurement than a tenth. */
    yp_measure (t, "short", .max_seconds = 0.1) {
        clock_seconds += 1e-3;
    }
    cr_expect(told.warmup >= 10 && told.warmup <= 11, "%d", (int)told.warmup);
}

Test(measure, what_it_was_told_is_stored)
{
    yp_measure (t, "fit", .items = 3, .unit = "cubes", .flops = 5, .bytes = 7, .samples = 1) {
        clock_seconds += 1;
    }
    cr_expect_str_eq(told.name, "fit");
    cr_expect_str_eq(told.unit, "cubes");
    cr_expect(told.items == 3 && told.flops == 5 && told.bytes == 7 && told.phase_count == 0);
    yp_measure (t, "bare", .samples = 1) {
        clock_seconds += 1;
    }
    cr_expect_str_eq(told.name, "bare");
    cr_expect_str_eq(told.unit, "");
    cr_expect(told.items == 0 && told.flops == 0 && told.bytes == 0);
}

Test(measure, short_work_is_timed_in_batches)
{
    uint64_t iterations = 0;
    yp_measure (t, "fit") {
        iterations++;
        clock_seconds += 1e-6;
    }
    /* 64 are the first power of 2 that is 50 us long. */
    expect_told(10, 64, YPI_STOP_PRECISION);
    expect_samples(1e-6);
    cr_expect_eq(iterations, told.warmup + 64 * told.count);
    cr_expect(told.warmup >= 50000 && told.warmup < 50000 + 128, "%d", (int)told.warmup);
}

Test(measure, a_fixed_protocol_is_kept_to_the_letter)
{
    static const struct {
        int warmup, samples;
        uint64_t warmed;
    } table[] = {{0, 7, 1}, {-1, 7, 0}, {5, 7, 5}, {1, 1, 1}, {-1, 1, 0}};
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        uint64_t iterations = 0;
        told_count = 0;
        yp_measure (t, "fit", .warmup = table[i].warmup, .samples = table[i].samples,
                    .max_seconds = 1e-9, .max_samples = 1, .min_samples = 100) {
            iterations++;
            clock_seconds += 1e-7 * (double)iterations;
        }
        expect_told((size_t)table[i].samples, 1, YPI_STOP_FIXED);
        cr_expect_eq(told.warmup, table[i].warmed, "%d: %d", (int)i, (int)told.warmup);
        cr_expect_eq(iterations, table[i].warmed + (uint64_t)table[i].samples);
        for (size_t k = 0; k < told.count; k++)
            cr_expect_float_eq(told.samples[k], 1e-7 * (double)(table[i].warmed + k + 1), 1e-12);
    }
}

Test(measure, a_given_warm_up_is_kept)
{
    yp_measure (t, "fit", .warmup = 3) {
        clock_seconds += 1e-3;
    }
    cr_expect_eq(told.warmup, 3);
    expect_told(10, 1, YPI_STOP_PRECISION);
    told_count = 0;
    yp_measure (t, "fit", .warmup = -1) {
        clock_seconds += 1e-3;
    }
    cr_expect_eq(told.warmup, 0);
    expect_told(10, 1, YPI_STOP_PRECISION);
}

/* Twice as long every other time: the interval never gets narrow. */
static void noisy_work(int *iterations)
{
    clock_seconds += ++*iterations % 2 ? 1e-3 : 2e-3;
}

Test(measure, noisy_work_stops_by_the_clock)
{
    int iterations = 0;
    yp_measure (t, "fit") {
        noisy_work(&iterations);
    }
    cr_expect_eq(told.stop, YPI_STOP_TIME);
    cr_expect(told.count >= 666 && told.count <= 668, "1 s of samples: %zu", told.count);
    told_count = 0;
    yp_measure (t, "fit", .max_seconds = 0.3) {
        noisy_work(&iterations);
    }
    cr_expect_eq(told.stop, YPI_STOP_TIME);
    cr_expect(told.count >= 199 && told.count <= 201, "%zu", told.count);
}

Test(measure, noisy_work_stops_by_the_number)
{
    int iterations = 0;
    yp_measure (t, "fit", .max_samples = 100) {
        noisy_work(&iterations);
    }
    expect_told(100, 1, YPI_STOP_SAMPLES);
    told_count = 0;
    yp_measure (t, "fit", .max_seconds = 100) {
        noisy_work(&iterations);
    }
    expect_told(10000, 1, YPI_STOP_SAMPLES);
}

Test(measure, the_fewest_are_taken_however_long_it_takes)
{
    yp_measure (t, "fit", .max_seconds = 0.5) {
        clock_seconds += 10;
    }
    cr_expect_eq(told.count, 10);
    told_count = 0;
    yp_measure (t, "fit", .min_samples = 3, .max_seconds = 0.5) {
        clock_seconds += 10;
    }
    cr_expect_eq(told.count, 3);
    told_count = 0;
    yp_measure (t, "fit", .min_samples = 30) {
        clock_seconds += 1e-3;
    }
    expect_told(30, 1, YPI_STOP_PRECISION);
    told_count = 0;
    yp_measure (t, "fit", .min_samples = 30, .max_samples = 4) {
        clock_seconds += 1e-3;
    }
    cr_expect_eq(told.count, 4, "the most go before the fewest");
}

static bool is_narrow(size_t count, double precision)
{
    struct ypi_estimate e = ypi_estimate(told.samples, count);
    return (e.high - e.low) / 2 <= precision * e.median;
}

/* 1 + u ms with u from a fixed sequence in [-0.1, 0.1]: narrow enough after some dozens. */
Test(measure, stops_when_the_interval_is_narrow)
{
    static const double precisions[] = {0.05, 0.02, 0.01, 0 /* 0.01 by default */};
    size_t before = 0;
    for (int i = 0; i < 4; i++) {
        uint32_t state = 1;
        yp_measure (t, "fit", .precision = precisions[i], .max_seconds = 1000) {
            state = state * 1664525u + 1013904223u;
            clock_seconds += 1e-3 * (0.9 + 0.2 * (state >> 8) / (1 << 24));
        }
        cr_expect_eq(told.stop, YPI_STOP_PRECISION);
        double precision = i < 3 ? precisions[i] : 0.01;
        cr_expect(is_narrow(told.count, precision));
        cr_expect(told.count > before || i == 3, "narrower takes more: %zu", told.count);
        before = told.count;
        /* Looked at often enough to stop soon after, but not each time. */
        size_t first = 10;
        while (!is_narrow(first, precision))
            first++;
        cr_expect(told.count >= first && told.count <= first + first / 4 + 1,
                  "%zu, narrow from %zu on", told.count, first);
    }
    cr_expect_gt(before, 50);
}

/* -- what is timed ------------------------------------------------------------------------- */

static void reset_slowly(void *arg)
{
    clock_seconds += 1e-3;
    ++*(int *)arg;
}

Test(measure, a_reset_is_not_timed)
{
    int resets = 0;
    int iterations = 0;
    yp_measure (t, "fit", .reset = reset_slowly, .arg = &resets, .samples = 20, .warmup = 2) {
        cr_expect_eq(resets, ++iterations, "before every iteration, once");
        clock_seconds += 1e-6;
    }
    expect_told(20, 1, YPI_STOP_FIXED);
    expect_samples(1e-6);
    cr_expect_eq(resets, 22, "%d", resets);
    told_count = 0;
    resets = iterations = 0;
    yp_measure (t, "fit", .reset = reset_slowly, .arg = &resets, .max_seconds = 100) {
        cr_expect_eq(resets, ++iterations);
        clock_seconds += 1e-6;
    }
    cr_expect_eq(told.batch, 1, "iterations are timed one by one");
    expect_samples(1e-6);
}

Test(measure, phases_add_up)
{
    yp_measure (t, "fit", .samples = 4) {
        for (int i = 0; i < 3; i++) {
            yp_phase (t, "forward") {
                clock_seconds += 1e-3;
            }
            yp_phase (t, "backward") {
                clock_seconds += 2e-3;
            }
        }
        clock_seconds += 1e-3;
    }
    cr_assert_eq(told.phase_count, 2);
    cr_expect_str_eq(told.phases[0].name, "forward");
    cr_expect_str_eq(told.phases[1].name, "backward");
    cr_expect_float_eq(told.phases[0].seconds, 3e-3, 1e-9);
    cr_expect_float_eq(told.phases[1].seconds, 6e-3, 1e-9);
    expect_samples(1e-2);
    cr_expect_eq(synchronized, 2 * 6 * 5, "at both ends of each phase of each iteration");
}

Test(measure, phases_are_of_one_iteration)
{
    yp_measure (t, "fit") {
        yp_phase (t, "all") {
            clock_seconds += 1e-6;
        }
    }
    cr_expect_eq(told.batch, 64);
    cr_expect_float_eq(told.phases[0].seconds, 1e-6, 1e-11);
}

Test(measure, a_break_drops_the_sample)
{
    int iterations = 0;
    yp_measure (t, "fit", .samples = 100, .warmup = -1) {
        clock_seconds += 1;
        if (++iterations == 5)
            break;
    }
    expect_told(4, 1, YPI_STOP_BREAK);
    told_count = 0;
    yp_measure (t, "fit", .warmup = 3) {
        break;
    }
    expect_told(0, 1, YPI_STOP_BREAK);
}

Test(measure, continue_ends_one_iteration)
{
    int iterations = 0;
    yp_measure (t, "fit", .samples = 10, .warmup = -1) {
        clock_seconds += 1;
        if (++iterations % 2)
            continue;
        clock_seconds += 1;
    }
    expect_told(10, 1, YPI_STOP_FIXED);
    cr_expect(told.samples[0] == 1 && told.samples[1] == 2);
}

/* -- misuse -------------------------------------------------------------------------------- */

/* Runs the rest of the line unless the body was left; then what was told is in `failure`. */
#define LEAVES(...) \
    do { \
        failure[0] = '\0'; \
        if (setjmp(left) == 0) { \
            __VA_ARGS__; \
            cr_expect_fail("the body went on"); \
        } \
        running = NULL; \
    } while (0)

static void expect_refused(struct yp_measure_options options, const char *wanted)
{
    options.name = "fit";
    LEAVES(ypi_measure_begin(t, options));
    char all[512];
    snprintf(all, sizeof all, "yp_measure 'fit': %s", wanted);
    cr_expect_str_eq(failure, all, "%s, wanted %s", failure, all);
}

Test(measure, options_that_are_not_allowed)
{
#define REFUSED(wanted, ...) expect_refused((struct yp_measure_options){__VA_ARGS__}, wanted)
    REFUSED(".items is -1: allowed is a finite number from 0", .items = -1);
    REFUSED(".items is nan: allowed is a finite number from 0", .items = (double)NAN);
    REFUSED(".flops is inf: allowed is a finite number from 0", .flops = INFINITY);
    REFUSED(".bytes is -0.5: allowed is a finite number from 0", .bytes = -0.5);
    REFUSED(".max_seconds is -1: allowed is a finite number from 0", .max_seconds = -1);
    REFUSED(".precision is nan: allowed is a finite number from 0", .precision = (double)NAN);
    REFUSED(".warmup is -2: allowed is -1 (none) or more", .warmup = -2);
    REFUSED(".samples, .min_samples or .max_samples is -1: allowed is 0 (the default) or more",
            .samples = -1);
    REFUSED(".samples, .min_samples or .max_samples is -3: allowed is 0 (the default) or more",
            .min_samples = -3);
    REFUSED(".samples, .min_samples or .max_samples is -4: allowed is 0 (the default) or more",
            .max_samples = -4);
    cr_expect_eq(told_count, 0);
}

Test(measure, nothing_is_timed_where_others_may_run)
{
    static const struct yp_test parallel = {.name = "t", .parallel = true};
    subject.test = &parallel;
    LEAVES(yp_measure (t, "fit") { clock_seconds += 1; });
    cr_expect_str_eq(failure, "yp_measure 'fit' in a test that declares .parallel: others may run "
                              "beside it, so nothing in it can be timed");
}

static void measure_inside(void)
{
    yp_measure (t, "inner") {
        clock_seconds += 1;
    }
}

static void phase_inside(void)
{
    yp_phase (t, "b") {
        clock_seconds += 1;
    }
}

Test(measure, is_not_nested)
{
    LEAVES(yp_measure (t, "outer") { measure_inside(); });
    cr_expect_str_eq(failure,
                     "yp_measure 'inner' inside another yp_measure: use yp_phase for a part");
}

Test(measure, phases_have_their_place)
{
    LEAVES(phase_inside());
    cr_expect_str_eq(failure, "yp_phase 'b' outside yp_measure");
    LEAVES(yp_measure(t, "fit") { yp_phase(t, "a") { phase_inside();
}
});
cr_expect_str_eq(failure, "yp_phase 'b' inside another phase");
}

static void run_phases(int count)
{
    yp_measure (t, "fit", .samples = 2) {
        for (int i = 0; i < count; i++) {
            char name[16];
            snprintf(name, sizeof name, "p%d", i);
            yp_phase (t, name) {
                clock_seconds += 1;
            }
        }
    }
}

Test(measure, phases_are_counted)
{
    run_phases(YPI_PHASES_MAX);
    cr_expect_eq(told.phase_count, YPI_PHASES_MAX);
    LEAVES(run_phases(YPI_PHASES_MAX + 1));
    cr_expect_str_eq(failure, "phase 'p8' of 'fit' is one too many: at most 8");
}

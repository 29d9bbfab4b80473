/*
 * The measuring loop under a clock of the test's own: how often the block runs, what is timed,
 * when it stops. What the loop asks of a case's process and of a device stands in here, so these
 * take the place of the library's.
 */
#include <yieldpoint/measure.h>

#include "base/system/clock.h"
#include "device/backend.h"
#include "harness/body/child.h"
#include "harness/measure/count/callgrind.h"
#include "harness/measure/measurement.h"
#include "harness/vocabulary/case.h"
#include "tests/unit/harness/folder.h"
#include "tests/unit/harness/sanitizer.h"

#include <criterion/criterion.h>
#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

/* A body that is left leaves its measurement to the end of the process. */
SANITIZER_OPTIONS("detect_leaks=0")

TestSuite(measure, .timeout = 60);

/* -- in place of the library --------------------------------------------------------------- */

static double clock_seconds;
static struct ypi_measured sent; /* with its samples; owned by the test */
static int told_count;
static char failure[512]; /* the last */
static enum ypi_cause failed;
static jmp_buf left;
static struct yp_measurement *running;
static int synchronized;

struct event {
    struct yp_event base;
    double at;
};

static double tick; /* what looking takes */

double ypi_now(void)
{
    return clock_seconds += tick;
}

double ypi_wall_clock(void)
{
    return clock_seconds;
}

/* A device whose clock is the test's. */
static struct yp_device fake;
static uint64_t accounted;

static void memory_of(const struct yp_device *of, struct yp_memory *out)
{
    (void)of;
    *out = (struct yp_memory){.allocated = accounted};
}

static struct yp_stream *stream_of(struct yp_device *of)
{
    static struct yp_stream stream;
    stream.device = of;
    return &stream;
}

static enum yp_status synchronize(struct yp_device *of)
{
    (void)of;
    synchronized++;
    return YP_OK;
}

static struct yp_event *event_create(struct yp_device *of)
{
    struct event *event = calloc(1, sizeof *event);
    event->base.device = of;
    return &event->base;
}

static void event_destroy(struct yp_event *event)
{
    free(event);
}

static enum yp_status event_record(struct yp_event *event, struct yp_stream *stream)
{
    cr_assert_not_null(stream);
    ((struct event *)event)->at = clock_seconds;
    return YP_OK;
}

static double event_seconds(struct yp_event *begin, struct yp_event *end)
{
    return ((struct event *)end)->at - ((struct event *)begin)->at;
}

static struct ypi_backend backend = {.kind = YP_HOST,
                                     .memory = memory_of,
                                     .stream = stream_of,
                                     .synchronize = synchronize,
                                     .event_create = event_create,
                                     .event_destroy = event_destroy,
                                     .event_record = event_record,
                                     .event_seconds = event_seconds};

struct yp_device *yp_device(const struct yp_case *t)
{
    (void)t;
    fake.backend = &backend;
    return &fake;
}

void ypi_child_name(struct yp_case *t, const char *what, const char *name)
{
    (void)t;
    cr_expect(strcmp(what, "measurement") == 0 || strcmp(what, "value") == 0);
    cr_expect_not_null(name);
}

struct yp_measurement **ypi_child_measurement(struct yp_case *t)
{
    (void)t;
    return &running;
}

/* The case has one rank. */
struct ypk_communicator *yp_ranks_communicator(const struct yp_case *t)
{
    (void)t;
    return NULL;
}

void ypi_child_send_value(const struct yp_case *t, const char *name, double value, const char *unit)
{
    (void)t, (void)name, (void)value, (void)unit;
    cr_assert(false, "a measurement of one rank has no skew and no waits to send");
}

void ypi_child_stands_in(const char *phase)
{
    (void)phase;
}

void ypi_child_captures(const struct yp_case *t, bool captures)
{
    (void)t;
    (void)captures;
}

void ypi_child_fail(const struct yp_case *t, enum ypi_cause cause, const char *file, int line,
                    const char *format, ...)
{
    (void)t, (void)file, (void)line;
    failed = cause;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(failure, sizeof failure, format, arguments);
    va_end(arguments);
}

void ypi_child_quit(const struct yp_case *t, enum ypi_cause cause, const char *format, ...)
{
    (void)t;
    failed = cause;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(failure, sizeof failure, format, arguments);
    va_end(arguments);
    longjmp(left, 1);
}

static bool body_left;

void ypi_child_leave(const struct yp_case *t)
{
    (void)t;
    body_left = true;
    longjmp(left, 1);
}

void yp_skip(struct yp_case *t, const char *format, ...)
{
    (void)t, (void)format;
    longjmp(left, 1);
}

void ypi_child_send_measured(const struct yp_case *t, const struct ypi_measured *measured)
{
    (void)t;
    free(sent.samples);
    free(sent.cpu);
    free(sent.slowed);
    sent = *measured;
    sent.slowed = malloc((sent.slowed_count + 1) * sizeof *sent.slowed);
    for (size_t i = 0; i < sent.slowed_count; i++)
        sent.slowed[i] = measured->slowed[i];
    sent.samples = malloc((sent.count + 1) * sizeof *sent.samples);
    sent.cpu = malloc((sent.count + 1) * sizeof *sent.cpu);
    memcpy(sent.samples, measured->samples, sent.count * sizeof *sent.samples);
    memcpy(sent.cpu, measured->cpu, sent.count * sizeof *sent.cpu);
    told_count++;
}

static struct ypi_job job = {.speed_judged = true};

const struct ypi_job *ypi_child_job(const struct yp_case *t)
{
    (void)t;
    return &job;
}

static int framework_depth;

void ypi_child_heap_pauses(const struct yp_case *t, bool pauses)
{
    (void)t;
    (void)pauses;
}

void ypi_child_framework_begins(struct yp_case *t)
{
    (void)t;
    framework_depth++;
}

void ypi_child_framework_ends(struct yp_case *t)
{
    (void)t;
    framework_depth--;
}

uint64_t yp_seed(const struct yp_case *t)
{
    (void)t;
    return 7;
}

double ypi_processor_seconds(void)
{
    return 2 * clock_seconds; /* two threads, both busy */
}

static uint64_t resident;

uint64_t ypi_child_resident(const struct yp_case *t)
{
    (void)t;
    return resident;
}

static bool under_callgrind;
static double instructions;

bool ypi_callgrind_running(void)
{
    return under_callgrind;
}

void ypi_callgrind_start(void)
{
}

double ypi_callgrind_stop(void)
{
    return instructions++;
}

static struct ypi_value valued[20]; /* that were told */
static int valued_count;

void ypi_child_send(const struct yp_case *to, enum ypi_message kind, const void *first,
                    size_t first_size, const void *second, size_t second_size)
{
    (void)to, (void)second, (void)second_size;
    cr_assert(kind == YPI_MESSAGE_VALUE && first_size == sizeof *valued && valued_count < 20);
    memcpy(&valued[valued_count++], first, first_size);
}

static int toggled;

void ypi_callgrind_toggle(void)
{
    toggled++;
}

/* A roofline whose probes take a millisecond of the test's clock. */
static int probes;
static bool probe_each;
static double share_told; /* of every stretch */

struct ypi_roofline *ypi_roofline_open(struct yp_device *device, struct ypi_measured *measured,
                                       bool each, struct ypk_communicator *ranks)
{
    (void)device, (void)ranks;
    probes = 0;
    probe_each = each;
    return measured->flops > 0 ? (struct ypi_roofline *)&probes : NULL;
}

void ypi_roofline_probe(struct ypi_roofline *r, struct ypi_measured *measured)
{
    (void)r;
    clock_seconds += 1e-3;
    if (probes++ == 0)
        return;
    measured->shares =
        realloc(measured->shares, (measured->share_count + 1) * sizeof *measured->shares);
    measured->shares[measured->share_count++] = share_told;
}

bool ypi_roofline_due(const struct ypi_roofline *r, double stretch)
{
    (void)r;
    return probe_each && stretch >= 0.02;
}

void ypi_roofline_close(struct ypi_roofline *r, struct ypi_measured *measured)
{
    (void)r;
    measured->bound = YPI_BOUND_ARITHMETIC;
}

/* -- helpers ------------------------------------------------------------------------------- */

static const struct yp_test test = {.name = "t"};
static struct yp_case subject = {.test = &test};
static struct yp_case *const t = &subject;

static void expect_samples(double seconds)
{
    for (size_t i = 0; i < sent.count; i++)
        cr_assert_float_eq(sent.samples[i], seconds, 1e-6 * seconds, "sample %zu: %g", i,
                           sent.samples[i]);
}

static void expect_sent(size_t count, uint64_t batch, enum ypi_stop stop)
{
    cr_expect_eq(told_count, 1);
    cr_expect_null(running);
    cr_expect_eq(sent.count, count, "%zu samples, wanted %zu", sent.count, count);
    cr_expect_eq(sent.batch, batch, "batch %d", (int)sent.batch);
    cr_expect_eq(sent.stop, stop, "stopped by %s", ypi_stop_name(sent.stop));
    told_count = 0;
}

/* The case has these budgets. */
static void have_budgets(struct yp_budget first, struct yp_budget second)
{
    static struct yp_test budgeted;
    budgeted = (struct yp_test){.name = "t", .budgets = {first, second}};
    subject.test = &budgeted;
    subject.budgets = budgeted.budgets;
}

static const struct yp_budget none;
#define BUDGET(...) ((struct yp_budget)__VA_ARGS__)

/* Runs the rest of the line, which leaves the body; what was sent then is in `failure`. */
#define LEAVES(...) \
    do { \
        failure[0] = '\0'; \
        if (setjmp(left) == 0) { \
            __VA_ARGS__; \
            cr_expect_fail("the body went on"); \
        } \
        running = NULL; \
    } while (0)

/* -- how often ----------------------------------------------------------------------------- */

Test(measure, steady_work_is_measured_so_often)
{
    static const struct {
        const char *name;
        double seconds; /* an iteration */
        struct yp_measure_options o;
        size_t count;
        uint64_t batch;
        enum ypi_stop stop;
        uint64_t warmup, more; /* iterations, and how many more there may be */
    } table[] = {
        {"by default 0.05 s of warm-up", 1e-3, {0}, 10, 1, YPI_STOP_PRECISION, 50, 1},
        {"short", 1e-3, {.max_seconds = 0.1}, 10, 1, YPI_STOP_PRECISION, 10, 1},
        /* 64 are the first power of 2 that is 50 us long. */
        {"in batches", 1e-6, {0}, 10, 64, YPI_STOP_PRECISION, 50000, 127},
        {"cold, however short", 1e-6, {.cold = true, .warmup = 1}, 10, 1, YPI_STOP_PRECISION, 1, 0},
        {"a warm-up", 1e-3, {.warmup = 3}, 10, 1, YPI_STOP_PRECISION, 3, 0},
        {"no warm-up", 1e-3, {.warmup = -1}, 10, 1, YPI_STOP_PRECISION, 0, 0},
        {"however long it takes", 10, {.max_seconds = 0.5}, 10, 1, YPI_STOP_TIME, 1, 0},
        {"3", 10, {.min_samples = 3, .max_seconds = 0.5}, 3, 1, YPI_STOP_TIME, 1, 0},
        {"30", 1e-3, {.min_samples = 30}, 30, 1, YPI_STOP_PRECISION, 50, 1},
        {"4 of 30", 1e-3, {.min_samples = 30, .max_samples = 4}, 4, 1, YPI_STOP_SAMPLES, 50, 1},
    };
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        uint64_t iterations = 0;
        struct yp_measure_options o = table[i].o;
        o.name = "fit";
        struct yp_measurement *m = ypi_measure_begin(t, o);
        while (ypi_measure_next(m)) {
            uint64_t batch = ypi_measure_batch(m);
            iterations += batch;
            clock_seconds += (double)batch * table[i].seconds;
            ypi_measure_sampled(m, 0);
        }
        cr_expect(sent.count == table[i].count && sent.stop == table[i].stop, "%s: %zu, by %s",
                  table[i].name, sent.count, ypi_stop_name(sent.stop));
        expect_sent(table[i].count, table[i].batch, table[i].stop);
        expect_samples(table[i].seconds);
        for (size_t k = 0; k < sent.count; k++)
            cr_expect_float_eq(sent.cpu[k], 2 * table[i].seconds, 1e-6 * table[i].seconds,
                               "%s: an iteration's, not a batch's", table[i].name);
        cr_expect(sent.warmup >= table[i].warmup && sent.warmup <= table[i].warmup + table[i].more,
                  "%s: %d to warm up", table[i].name, (int)sent.warmup);
        cr_expect_eq(iterations, sent.warmup + sent.count * sent.batch, "%s", table[i].name);
        cr_expect_eq(sent.cold, table[i].o.cold);
    }
}

Test(measure, a_fixed_protocol_is_kept_to_the_letter)
{
    static const struct {
        int warmup, samples;
        uint64_t warmed;
    } table[] = {{0, 7, 1}, {-1, 7, 0}, {5, 7, 5}, {1, 1, 1}, {-1, 1, 0}};
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        uint64_t iterations = 0;
        yp_measure (t, "fit", .warmup = table[i].warmup, .samples = table[i].samples,
                    .max_seconds = 1e-9, .max_samples = 1, .min_samples = 100) {
            iterations++;
            clock_seconds += 1e-7 * (double)iterations;
        }
        expect_sent((size_t)table[i].samples, 1, YPI_STOP_FIXED);
        cr_expect_eq(sent.warmup, table[i].warmed, "%d: %d", (int)i, (int)sent.warmup);
        cr_expect_eq(iterations, table[i].warmed + (uint64_t)table[i].samples);
        for (size_t k = 0; k < sent.count; k++)
            cr_expect_float_eq(sent.samples[k], 1e-7 * (double)(table[i].warmed + k + 1), 1e-12);
    }
}

/* Twice as long every other time: the interval never gets narrow. */
static void noisy_work(int *iterations)
{
    clock_seconds += ++*iterations % 2 ? 1e-3 : 2e-3;
}

/* Anything from 1 to 9 ms: the interval narrows as more is taken, but slowly. */
static void uneven_work(void)
{
    static uint32_t state = 1;
    state = state * 1664525u + 1013904223u;
    clock_seconds += 1e-3 + 8e-3 * (double)state / 4294967296.0;
}

Test(measure, uneven_work_stops_by_the_clock_or_the_number)
{
    yp_measure (t, "fit")
        uneven_work();
    cr_expect_eq(sent.stop, YPI_STOP_TIME);
    cr_expect(sent.count >= 190 && sent.count <= 210, "1 s of samples: %zu", sent.count);
    yp_measure (t, "fit", .max_seconds = 0.3)
        uneven_work();
    cr_expect_eq(sent.stop, YPI_STOP_TIME);
    cr_expect(sent.count >= 50 && sent.count <= 70, "%zu", sent.count);
    told_count = 0;
    yp_measure (t, "fit", .max_samples = 100, .max_seconds = 100)
        uneven_work();
    expect_sent(100, 1, YPI_STOP_SAMPLES);
}

Test(measure, noise_that_does_not_average_out_stops)
{
    int iterations = 0;
    yp_measure (t, "fit", .max_seconds = 100)
        noisy_work(&iterations);
    expect_sent(sent.count, 1, YPI_STOP_SETTLED);
    cr_expect(sent.count >= 333, "not before half a second: %zu", sent.count);
    cr_expect(sent.count < 2000, "%zu", sent.count);
}

static bool is_narrow(size_t count, double precision)
{
    struct ypi_estimate e = ypi_estimate(sent.samples, count);
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
        cr_expect_eq(sent.stop, YPI_STOP_PRECISION);
        double precision = i < 3 ? precisions[i] : 0.01;
        cr_expect(is_narrow(sent.count, precision));
        cr_expect(sent.count > before || i == 3, "narrower takes more: %zu", sent.count);
        before = sent.count;
        /* Looked at often enough to stop soon after, but not each time. */
        size_t first = 10;
        while (!is_narrow(first, precision))
            first++;
        cr_expect(sent.count >= first && sent.count <= first + first / 4 + 1,
                  "%zu, narrow from %zu on", sent.count, first);
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
    expect_sent(20, 1, YPI_STOP_FIXED);
    expect_samples(1e-6);
    cr_expect_eq(resets, 22, "%d", resets);
    resets = iterations = 0;
    yp_measure (t, "fit", .reset = reset_slowly, .arg = &resets, .max_seconds = 100) {
        cr_expect_eq(resets, ++iterations);
        clock_seconds += 1e-6;
    }
    cr_expect_eq(sent.batch, 1, "iterations are timed one by one");
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
    cr_assert_eq(sent.phase_count, 2);
    cr_expect_str_eq(sent.phases[0].name, "forward");
    cr_expect_str_eq(sent.phases[1].name, "backward");
    cr_expect_float_eq(sent.phases[0].seconds, 3e-3, 1e-9);
    cr_expect_float_eq(sent.phases[1].seconds, 6e-3, 1e-9);
    expect_samples(1e-2);
    cr_expect_eq(synchronized, 2 * 6 * 5, "at both ends of each phase of each iteration");
    yp_measure (t, "short") {
        yp_phase (t, "all") {
            clock_seconds += 1e-6;
        }
    }
    cr_expect_eq(sent.batch, 64);
    cr_expect_float_eq(sent.phases[0].seconds, 1e-6, 1e-11, "of one iteration");
}

/* -- slowed down on purpose ---------------------------------------------------------------- */

static void slowed_down(double factor)
{
    job.slowdown = factor;
    tick = 30e-9;
}

Test(measure, a_sample_slowed_down_takes_that_many_times_as_long)
{
    static const double factors[] = {1.2, 2, 4};
    for (size_t f = 0; f < sizeof factors / sizeof factors[0]; f++) {
        slowed_down(factors[f]);
        yp_measure (t, "fit", .samples = 5, .warmup = 3) {
            yp_phase (t, "first") {
                clock_seconds += 2e-6;
            }
            clock_seconds += 8e-6;
        }
        cr_assert_eq(sent.count, 5);
        for (size_t i = 0; i < sent.count; i++) {
            cr_expect_float_eq(sent.samples[i], factors[f] * 1e-5, 0.01 * factors[f] * 1e-5, "%g",
                               sent.samples[i]);
            cr_expect_float_eq(sent.cpu[i], factors[f] * 2e-5, 0.01 * factors[f] * 2e-5,
                               "of both threads: %g", sent.cpu[i]);
        }
        cr_expect_float_eq(sent.phases[0].seconds, factors[f] * 2e-6, 0.02 * factors[f] * 2e-6,
                           "a phase has its own share: %g", sent.phases[0].seconds);
    }
    yp_measure (t, "batched as ever")
        clock_seconds += 1e-6;
    cr_expect_eq(sent.batch, 64, "%d", (int)sent.batch);
    cr_expect_float_eq(sent.samples[0], 4e-6, 0.04e-6, "%g", sent.samples[0]);
}

Test(measure, requests_slowed_down_wait_for_each_other)
{
    slowed_down(2);
    yp_serve (t, "requests", .rate = 1000, .requests = 5, .regular = true, .warmup = -1)
        clock_seconds += 3e-3;
    cr_assert_eq(sent.count, 5);
    for (size_t i = 0; i < sent.count; i++)
        cr_expect_float_eq(sent.samples[i], 6e-3 + 5e-3 * (double)i, 1e-5, "request %zu: %g", i,
                           sent.samples[i]);
}

Test(measure, a_break_drops_the_sample)
{
    int iterations = 0;
    yp_measure (t, "fit", .samples = 100, .warmup = -1) {
        clock_seconds += 1;
        if (++iterations == 5)
            break;
    }
    expect_sent(4, 1, YPI_STOP_BREAK);
    yp_measure (t, "fit", .warmup = 3) {
        break;
    }
    expect_sent(0, 1, YPI_STOP_BREAK);
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
    expect_sent(10, 1, YPI_STOP_FIXED);
    cr_expect(sent.samples[0] == 1 && sent.samples[1] == 2);
}

/* -- misuse -------------------------------------------------------------------------------- */

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
    REFUSED(".footprint of .bytes is -2: allowed is a finite number from 0, or YP_FOOTPRINT_MEMORY",
            .footprint = -2);
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

Test(measure, bounds_that_are_not_allowed)
{
#define REFUSED_BOUNDS(wanted, ...) REFUSED(wanted, .bounds = YP_WORK(__VA_ARGS__))
    REFUSED_BOUNDS(".bounds[1] is -1: allowed is a finite number from 0", yp_work(YP_FP32, 1),
                   yp_work(YP_INT32, -1));
    REFUSED_BOUNDS(".bounds[0] is nan: allowed is a finite number from 0",
                   yp_traffic(YP_FILL, NAN, 5));
    REFUSED_BOUNDS(".footprint of .bounds[0] is inf: allowed is a finite number from 0, or "
                   "YP_FOOTPRINT_MEMORY",
                   yp_traffic(YP_FILL, 1, INFINITY));
    REFUSED_BOUNDS(".bounds[0]: fill is a ceiling of traffic: yp_traffic() declares that",
                   yp_work(YP_FILL, 1));
    REFUSED_BOUNDS(".bounds[0]: int32 is a ceiling of arithmetic: yp_work() declares that",
                   yp_traffic(YP_INT32, 1, 1));
    REFUSED_BOUNDS(".bounds[0]: 0 is no ceiling", yp_work(YP_NO_CEILING, 1));
    REFUSED_BOUNDS(".bounds[0]: only an accelerator has fp8, and this case runs on the CPU",
                   yp_work(YP_FP8, 1));
    REFUSED_BOUNDS(".bounds[0] and .bounds[2] are both of fp32: add them up", yp_work(YP_FP32, 1),
                   yp_work(YP_INT32, 1), yp_work(YP_FP32, 1));
    REFUSED_BOUNDS("yp_then() in .bounds without work before or behind it", yp_then(),
                   yp_work(YP_FP32, 1));
    REFUSED_BOUNDS("yp_then() in .bounds without work before or behind it", yp_work(YP_FP32, 1),
                   yp_then());
    REFUSED_BOUNDS("yp_then() in .bounds without work before or behind it", yp_work(YP_FP32, 1),
                   yp_then(), yp_then(), yp_work(YP_FP32, 1));
    REFUSED(".flops and .bounds[0] are both of fp32: add them up", .flops = 1,
            .bounds = YP_WORK(yp_work(YP_FP32, 1)));
    REFUSED(".flops: only an accelerator has tf32, and this case runs on the CPU", .flops = 1,
            .arithmetic = YP_TF32);
    cr_expect_eq(told_count, 0);
}

static void expect_no_level(const char *what, struct yp_measure_options options)
{
    char wanted[256];
    snprintf(wanted, sizeof wanted,
             "a share is asked for, and %s does not say which cache holds the bytes, or whether "
             "none does: declare the footprint, or YP_FOOTPRINT_MEMORY",
             what);
    expect_refused(options, wanted);
}

/* A figure that may be of any level cannot be judged, and is not refused where none is asked for.
 */
Test(measure, a_share_of_bytes_says_of_which_level)
{
    have_budgets(BUDGET(yp_min_share("fit", 0.5)), none);
    expect_no_level(".bytes", (struct yp_measure_options){.bytes = 1});
    expect_no_level(".bounds[1]",
                    (struct yp_measure_options){
                        .bounds = YP_WORK(yp_work(YP_FP32, 1), yp_traffic(YP_FILL, 1, 0))});
    yp_measure (t, "fit", .bytes = 1, .cold = true, .samples = 1)
        clock_seconds += 1;
    have_budgets(BUDGET(yp_min_rate("fit", 0.5)), none);
    yp_measure (t, "fit2", .bytes = 1, .samples = 1)
        clock_seconds += 1;
    cr_expect_eq(told_count, 2);
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
    cr_expect_eq(sent.phase_count, YPI_PHASES_MAX);
}

static void measure_inside(void)
{
    yp_measure (t, "inner")
        clock_seconds += 1;
}

static void phase_inside(void)
{
    yp_phase (t, "b")
        clock_seconds += 1;
}

static void pause_inside(void)
{
    yp_pause(t) clock_seconds += 1;
}

static void rate_often(int count)
{
    for (int i = 0; i < count; i++) {
        char name[] = {(char)('a' + i), '\0'};
        yp_rate(t, name, 1);
    }
}

/* What follows `message` leaves the body, and this is said. */
#define SAYS(message, ...) \
    do { \
        LEAVES(__VA_ARGS__); \
        cr_expect_str_eq(failure, message, "%s", failure); \
    } while (0)

/* clang-format off */
Test(measure, parts_have_their_place)
{
    static const char left_early[] = " was left by break, continue or goto: its end was not seen";
    static const char no_clock[] = "yp_iteration_time outside a yp_measure with .manual_time";
    char long_name[YPI_NAME_MAX + 1] = "", wanted[128];
    memset(long_name, 'x', YPI_NAME_MAX);
    SAYS("yp_measure 'inner' inside another yp_measure: use yp_phase for a part",
         yp_measure (t, "outer") measure_inside());
    SAYS("yp_phase 'b' outside yp_measure", phase_inside());
    SAYS("yp_phase 'b' inside another phase",
         yp_measure (t, "fit") { yp_phase (t, "a") phase_inside(); });
    SAYS("yp_phase 'b' inside a pause", yp_measure (t, "fit") { yp_pause(t) phase_inside(); });
    SAYS("phase 'p8' of 'fit' is one too many: at most 8", run_phases(YPI_PHASES_MAX + 1));
    snprintf(wanted, sizeof wanted, "yp_phase 'p'%s", left_early);
    SAYS(wanted, yp_measure (t, "fit") { yp_phase (t, "p") break; });
    LEAVES(yp_measure (t, "fit") { yp_phase (t, long_name) break; });
    cr_expect_not_null(strstr(failure, "64 characters"), "%s", failure);
    SAYS("yp_pause outside yp_measure", pause_inside());
    SAYS("yp_pause inside another phase",
         yp_measure (t, "fit") { yp_phase (t, "p") pause_inside(); });
    SAYS("yp_pause inside a pause", yp_measure (t, "fit") { yp_pause(t) pause_inside(); });
    snprintf(wanted, sizeof wanted, "a yp_pause%s", left_early);
    SAYS(wanted, yp_measure (t, "fit") { yp_pause(t) break; });
    SAYS("yp_pause in yp_serve: what a request waits for is part of its time",
         yp_serve (t, "e", .rate = 1000, .requests = 5) pause_inside());
    SAYS("yp_rate 'r' outside yp_measure", yp_rate(t, "r", 1));
    SAYS("yp_average 'r' in 'a': nan: allowed is a finite number",
         yp_measure (t, "a") yp_average(t, "r", NAN));
    SAYS("'q' in 'b' is one too many: at most 16", yp_measure (t, "b") rate_often(17));
    SAYS(no_clock, yp_iteration_time(t, 1));
    SAYS(no_clock, yp_measure (t, "a") yp_iteration_time(t, 1));
    SAYS("yp_measure 'c' has .manual_time: yp_iteration_time was called 0 times in 1 iterations",
         yp_measure (t, "c", .manual_time = true) clock_seconds += 1);
    SAYS("yp_measure 'd' has .manual_time: yp_iteration_time was called 2 times in 1 iterations",
         yp_measure (t, "d", .manual_time = true) {
             yp_iteration_time(t, 1);
             yp_iteration_time(t, 1);
         });
    static const double wrong[] = {0, -1, NAN, INFINITY};
    for (volatile int i = 0; i < 4; i++) {
        LEAVES(yp_measure (t, "b", .manual_time = true) yp_iteration_time(t, wrong[i]));
        cr_expect_not_null(strstr(failure, "allowed are finite seconds above 0"), "%s", failure);
    }
    static const struct yp_test parallel = {.name = "t", .parallel = true};
    subject.test = &parallel;
    SAYS("yp_measure 'fit' in a test that declares .parallel: others may run beside it, so "
         "nothing in it can be timed", yp_measure (t, "fit") clock_seconds += 1);
}
/* clang-format on */

/* -- budgets ------------------------------------------------------------------------------- */

static void measure_budgeted(struct yp_budget first, struct yp_budget second)
{
    have_budgets(first, second);
    yp_measure (t, "fit", .flops = 1, .max_seconds = 100)
        uneven_work();
}

Test(measure, stops_when_its_budgets_are_decided)
{
    const struct yp_budget far = yp_max_latency("fit", 20e-3),
                           near = yp_max_latency("fit", 5.02e-3);
    measure_budgeted(far, BUDGET(yp_max_latency("other", 5e-3)));
    cr_expect_eq(sent.stop, YPI_STOP_DECIDED);
    cr_expect(sent.count >= 20 && sent.count < 60, "a tenth of a second: %zu", sent.count);
    measure_budgeted(near, none);
    cr_expect(sent.count > 1000, "a limit in the middle takes long: %zu", sent.count);
    measure_budgeted(near, BUDGET(yp_max_cpu_time("fit", 1)));
    cr_expect(sent.count > 1000, "one that is decided ends nothing: %zu", sent.count);
    measure_budgeted(BUDGET(yp_max_regression("fit", 0.25)), far);
    cr_expect(sent.stop == YPI_STOP_DECIDED && sent.count > 60, "a narrow interval: %zu",
              sent.count);
    job.speed_judged = false;
    measure_budgeted(far, none);
    cr_expect_neq(sent.stop, YPI_STOP_DECIDED, "where speed is recorded no budget matters");
    const size_t before = sent.count;
    job.max_seconds = 0.05;
    measure_budgeted(far, none);
    cr_expect(sent.stop == YPI_STOP_TIME && sent.count < before, "--max-seconds: %zu", sent.count);
    job.max_seconds = 0;
}

Test(measure, a_share_is_asked_of_stretches)
{
    share_told = 0.6;
    measure_budgeted(BUDGET(yp_min_share("fit", 0.5)), none);
    cr_expect_eq(sent.stop, YPI_STOP_DECIDED);
    cr_expect_geq(sent.share_count, 8, "fewer have no interval of 99 %%: %zu", sent.share_count);
    cr_expect_eq((size_t)probes, sent.share_count + 1, "one probe before, one after each");
    /* Without such a budget: before and after. */
    yp_measure (t, "free", .flops = 1)
        clock_seconds += 1e-3;
    cr_expect_eq(sent.share_count, 1);
    cr_expect_eq(probes, 2);
}

/* A body may have as many places for its results as it asked for samples. */
Test(measure, a_fixed_protocol_does_not_settle_after_a_probe)
{
    static const int warmups[] = {-1, 0, 5};
    have_budgets(BUDGET(yp_min_share("fit", 0.5)), none);
    for (size_t i = 0; i < sizeof warmups / sizeof warmups[0]; i++) {
        uint64_t iterations = 0;
        yp_measure (t, "fit", .flops = 1, .warmup = warmups[i], .samples = 100) {
            iterations++;
            clock_seconds += 1e-3;
        }
        expect_sent(100, 1, YPI_STOP_FIXED);
        cr_expect_eq(iterations, sent.warmup + 100, "%d", (int)iterations);
        cr_expect_geq(probes, 5, "one every 20 ms: %d", probes);
    }
}

/* -- what is sent of the samples ------------------------------------------------------------ */

Test(measure, what_stays_behind_is_a_slope)
{
    yp_measure (t, "leak", .samples = 1000) {
        clock_seconds += 1e-3;
        resident += 4096;
        accounted += 100;
    }
    cr_expect_float_eq(sent.growth_resident, 4096, 1e-6, "%g", sent.growth_resident);
    cr_expect_float_eq(sent.growth_accounted, 100, 1e-6, "%g", sent.growth_accounted);
    yp_measure (t, "flat", .samples = 5000)
        clock_seconds += 1e-3;
    cr_expect(sent.growth_resident == 0 && sent.growth_accounted == 0);
    yp_measure (t, "two", .samples = 2)
        clock_seconds += 1e-3;
    cr_expect(isnan(sent.growth_resident));
}

Test(measure, once_is_one_iteration)
{
    job.once = job.untimed = true;
    int iterations = 0;
    yp_measure (t, "fit", .warmup = 5, .samples = 50)
        iterations++;
    expect_sent(0, 1, YPI_STOP_FIXED);
    cr_expect_eq(iterations, 1);
}

static void count_reset(void *count)
{
    ++*(int *)count;
}

/* tests/usage/verdicts.py has what --speed=off stores. */
Test(measure, untimed_work_runs_as_often_as_it_may_rely_on)
{
    job.untimed = true;
    int iterations = 0;
    int resets = 0;
    yp_measure (t, "fixed", .warmup = 5, .samples = 7, .min_samples = 3, .reset = count_reset,
                .arg = &resets) {
        yp_phase (t, "forward")
            iterations++;
    }
    cr_expect(iterations == 7 && resets == 7, "before each: %d, %d", iterations, resets);
    cr_expect_eq(sent.phase_count, 0);
    yp_measure (t, "adaptive", .min_samples = 3)
        iterations++;
    cr_expect_eq(iterations, 10);
    yp_serve (t, "one", .rate = 1e-6)
        iterations++;
    cr_expect_eq(iterations, 11, "nothing is waited for");
}

Test(measure, untimed_work_may_be_left)
{
    job.untimed = true;
    yp_measure (t, "fit")
        break;
    cr_expect_eq(sent.stop, YPI_STOP_BREAK);
    cr_expect_eq(sent.warmup, 0);
    LEAVES(yp_measure (t, "other") { yp_phase (t, "forward") { break;
}
});
cr_expect_eq(failed, YPI_CAUSE_USAGE);
}

Test(measure, instructions_are_counted_three_times)
{
    under_callgrind = true;
    instructions = 1000;
    int iterations = 0;
    yp_measure (t, "fit") {
        iterations++;
    }
    cr_expect_eq(iterations, 4, "one that warms up: %d", iterations);
    cr_expect_eq(sent.kind, YPI_MEASURED_COUNT);
    cr_expect_eq(sent.count, 0);
    cr_expect_eq(sent.counts[YP_INSTRUCTIONS].source, YPI_COUNTED_CALLGRIND);
    cr_expect_float_eq(sent.counts[YP_INSTRUCTIONS].count, 1001, 1e-9, "the least of three");
    instructions = NAN;
    yp_measure (t, "none") {
        iterations++;
    }
    cr_expect_eq(sent.counts[YP_INSTRUCTIONS].source, YPI_NOT_COUNTED);
}

/* -- on an accelerator ------------------------------------------------------------------------ */

static int holds, releases, flushes, looks;
static int late;               /* looks that come too late to find anything */
static bool opens_early;       /* whoever launches waits for its work */
static double others;          /* seconds */
static double seen = 1;        /* of what an iteration takes, by the events */
static uint64_t throttled_for; /* how many looks find it slowed down */

static enum yp_status hold(struct yp_stream *stream, double seconds)
{
    cr_expect(stream != NULL && seconds > 0);
    cr_expect_eq(holds, releases, "never held twice");
    holds++;
    return YP_OK;
}

static bool release(struct yp_stream *stream)
{
    (void)stream;
    releases++;
    return !opens_early;
}

static double others_after(struct yp_event *end)
{
    cr_expect_not_null(end);
    looks++;
    return looks > late ? others : 0;
}

static enum yp_status flush(struct yp_stream *stream)
{
    (void)stream;
    clock_seconds += 1; /* no part of what is timed */
    flushes++;
    return YP_OK;
}

static bool condition(struct yp_device *of, struct ypi_condition *out)
{
    (void)of;
    bool slow = throttled_for > 0;
    throttled_for -= slow;
    *out = (struct ypi_condition){.clock = slow ? 1.8e9 : 1.9e9,
                                  .clock_max = 2e9,
                                  .temperature = 50,
                                  .power = 300,
                                  .utilisation = 1,
                                  .used = 7,
                                  .throttled = slow ? 0x8 : 0x1};
    return true;
}

static double seen_seconds(struct yp_event *begin, struct yp_event *end)
{
    return seen * event_seconds(begin, end);
}

static void on_an_accelerator(void)
{
    backend.kind = YP_DEVICE;
    backend.hold = hold;
    backend.release = release;
    backend.others_after = others_after;
    backend.flush = flush;
    backend.condition = condition;
    backend.event_seconds = seen_seconds;
}

Test(measure, work_of_an_accelerator_is_held_until_it_is_launched, .init = on_an_accelerator)
{
    yp_measure (t, "fit", .max_samples = 20)
        clock_seconds += 1e-3;
    cr_expect(sent.on_device.there && sent.on_device.held);
    cr_expect_eq(holds, releases);
    cr_expect_eq((size_t)holds, sent.warmup + sent.count - 1, "all but the first: %d", holds);
    cr_expect_eq(looks, 3);
    cr_expect_eq(sent.slowed_count, 0);
    cr_expect_eq(sent.on_device.throttled, 1);
    cr_expect_float_eq(sent.on_device.clock, 1.9e9, 1);
    cr_expect_eq(sent.on_device.clock_max, 2e9);
    yp_measure (t, "short")
        clock_seconds += 1e-6;
    cr_expect_eq(sent.batch, 512, "longer batches, for its clock is coarser: %d", (int)sent.batch);
}

Test(measure, a_sample_of_an_accelerator_is_slowed_down_too, .init = on_an_accelerator)
{
    slowed_down(3);
    yp_measure (t, "fit", .samples = 4)
        clock_seconds += 1e-3;
    cr_assert_eq(sent.count, 4);
    for (size_t i = 0; i < sent.count; i++)
        cr_expect_float_eq(sent.samples[i], 3e-3, 1e-6, "%g", sent.samples[i]);
    cr_expect_eq(looks, 3, "other streams are looked at as ever");
}

Test(measure, a_batch_that_ran_early_is_taken_again, .init = on_an_accelerator)
{
    int iterations = 0;
    yp_measure (t, "fit", .warmup = 2, .samples = 5) {
        iterations++;
        opens_early = iterations == 4;
        clock_seconds += opens_early ? 9 : 1e-3;
    }
    cr_expect_eq(iterations, 8, "2 to warm up, 5 samples and one again: %d", iterations);
    cr_expect_eq(sent.count, 5);
    expect_samples(1e-3);
    cr_expect(sent.on_device.held, "once may be the processor's fault");
}

/* Looks that come too late find nothing; the batch must not grow for ever, and they come again.
 * tests/fake_cuda has those that come in time. */
Test(measure, work_on_another_stream_is_a_mistake, .init = on_an_accelerator)
{
    seen = 1e-4;
    late = 3;
    others = 0.5e-3;
    LEAVES(yp_measure (t, "fit") clock_seconds += 1e-5);
    cr_expect_eq(failed, YPI_CAUSE_USAGE);
    cr_expect_eq(looks, 6, "%d looks", looks);
    cr_expect_not_null(strstr(failure, "goes on for 0.5 ms on another stream"), "%s", failure);
}

Test(measure, work_that_the_stream_never_sees_ends_too, .init = on_an_accelerator)
{
    seen = 1e-4;
    yp_measure (t, "elsewhere")
        clock_seconds += 1e-5;
    cr_expect_eq(told_count, 1);
    cr_expect_eq(sent.batch, 32768, "%d: 10 us each, in 0.5 s", (int)sent.batch);
    cr_expect_geq(sent.count, 10);
}

Test(measure, a_little_after_the_end_is_none, .init = on_an_accelerator)
{
    others = 90e-6;
    yp_measure (t, "fit")
        clock_seconds += 1e-3;
    cr_expect_eq(told_count, 1);
    others = 4e-3; /* of 100 ms */
    yp_measure (t, "long", .max_seconds = 2)
        clock_seconds += 0.1;
    cr_expect_eq(told_count, 2);
}

Test(measure, samples_of_a_slowed_device_are_set_aside_and_taken_again, .init = on_an_accelerator)
{
    int iterations = 0;
    throttled_for = 2;
    yp_measure (t, "fit", .warmup = 1, .samples = 50) {
        iterations++;
        clock_seconds += 1e-3;
    }
    cr_expect_eq(sent.count, 50);
    cr_expect(sent.slowed_count > 0 && sent.slowed_count < 100, "%zu", sent.slowed_count);
    cr_expect_eq((size_t)iterations, 1 + sent.count + sent.slowed_count);
    cr_expect_eq(sent.on_device.throttled, 0x9);
    cr_expect_eq(sent.on_device.clock_min, 1.8e9);
    for (size_t i = 0; i < sent.slowed_count; i++)
        cr_expect_float_eq(sent.slowed[i], 1e-3, 1e-9);
}

Test(measure, a_device_that_stays_slow_is_taken_as_it_is, .init = on_an_accelerator)
{
    throttled_for = UINT64_MAX;
    yp_measure (t, "fit", .warmup = 1, .samples = 200)
        clock_seconds += 1e-3;
    cr_expect_eq(sent.count, 200);
    cr_expect(sent.slowed_count >= 3 && sent.slowed_count <= 66, "three stretches: %zu",
              sent.slowed_count);
}

/* Of the work, though the host has gone on: the clock is the stream's. */
Test(measure, phases_on_a_device_wait_for_nothing, .init = on_an_accelerator)
{
    yp_measure (t, "fit", .max_samples = 20) {
        yp_phase (t, "forward") {
            clock_seconds += 1e-3;
        }
        yp_phase (t, "backward") {
            clock_seconds += 2e-3;
        }
    }
    cr_assert_eq(sent.phase_count, 2);
    cr_expect_float_eq(sent.phases[0].seconds, 1e-3, 1e-9);
    cr_expect_float_eq(sent.phases[1].seconds, 2e-3, 1e-9);
    cr_expect_eq(synchronized, 0, "%d", synchronized);
    cr_expect(sent.on_device.held, "work is launched before it runs");
}

/* tests/fake_cuda has one that is neither reset nor asked for. */
Test(measure, the_first_batch_of_a_device_is_no_time, .init = on_an_accelerator)
{
    int iterations = 0;
    yp_measure (t, "reset", .reset = reset_slowly, .arg = &iterations, .max_samples = 20)
        clock_seconds += iterations == 1 ? 10 : 1e-3;
    cr_expect(sent.warmup > 1, "%d", (int)sent.warmup);
    yp_measure (t, "asked", .warmup = 1, .samples = 5)
        clock_seconds += 1e-3;
    cr_expect_eq(sent.warmup, 1, "it is one of those asked for");
}

Test(measure, a_device_s_caches_are_emptied_by_itself, .init = on_an_accelerator)
{
    yp_measure (t, "fit", .cold = true, .warmup = 1, .samples = 4)
        clock_seconds += 1e-3;
    cr_expect_eq(flushes, 5);
    expect_samples(1e-3);
}

/* -- pauses, and a clock of the body's own --------------------------------------------------- */

Test(measure, a_pause_is_not_timed)
{
    int iterations = 0;
    yp_measure (t, "fit", .samples = 20, .warmup = 2) {
        clock_seconds += 1e-6;
        yp_pause(t)
        {
            clock_seconds += 1e-3;
            iterations++;
        }
        clock_seconds += 2e-6;
    }
    expect_sent(20, 1, YPI_STOP_FIXED);
    expect_samples(3e-6);
    cr_expect_eq(iterations, 22);
    cr_expect_eq(sent.phase_count, 0, "it is no phase");
    for (size_t i = 0; i < sent.count; i++)
        cr_expect_float_eq(sent.cpu[i], 6e-6, 1e-9, "nor is its processor time: %g", sent.cpu[i]);
}

Test(measure, a_pause_beside_phases)
{
    yp_measure (t, "fit", .samples = 4) {
        yp_phase (t, "forward") {
            clock_seconds += 1e-3;
        }
        yp_pause(t)
        {
            clock_seconds += 5e-3;
        }
        yp_phase (t, "backward") {
            clock_seconds += 2e-3;
        }
    }
    expect_samples(3e-3);
    cr_expect_float_eq(sent.phases[0].seconds, 1e-3, 1e-9);
    cr_expect_float_eq(sent.phases[1].seconds, 2e-3, 1e-9);
}

/* A batch that is doubled until its work can be timed would take minutes in its pauses. */
Test(measure, long_pauses_keep_batches_short)
{
    double begun = clock_seconds;
    yp_measure (t, "fit", .max_seconds = 1) {
        clock_seconds += 1e-6;
        yp_pause(t)
        {
            clock_seconds += 0.1;
        }
    }
    cr_expect(sent.batch <= 8 && sent.count >= 10, "%d in a batch", (int)sent.batch);
    cr_expect(clock_seconds - begun < 15, "%g s", clock_seconds - begun);
    expect_samples(1e-6);
}

Test(measure, a_pause_on_a_device_is_by_its_events, .init = on_an_accelerator)
{
    yp_measure (t, "fit", .max_samples = 20) {
        clock_seconds += 1e-3;
        yp_pause(t)
        {
            clock_seconds += 4e-3;
        }
    }
    expect_samples(1e-3);
    cr_expect_eq(synchronized, 0, "it waits for nothing");
}

Test(measure, what_is_paused_is_not_counted)
{
    under_callgrind = true;
    yp_measure (t, "fit") {
        yp_pause(t)
        {
            cr_expect_eq(toggled % 2, 1);
        }
        cr_expect_eq(toggled % 2, 0);
    }
    cr_expect_eq(toggled, 8);
}

Test(measure, what_iterations_did_is_averaged)
{
    int iterations = 0;
    yp_measure (t, "fit", .samples = 10, .warmup = 5) {
        bool warm = iterations++ >= 5; /* what warms up is no part of it */
        clock_seconds += 2e-3;
        yp_average(t, "probes", warm ? iterations % 2 : 1000);
        yp_rate(t, "lookups", warm ? 3 : 1000);
        yp_rate(t, "lookups", warm ? 1 : 1000);
    }
    cr_assert_eq(valued_count, 2);
    cr_expect_str_eq(valued[0].name, "probes");
    cr_expect_str_eq(valued[0].unit, "an iteration");
    cr_expect_float_eq(valued[0].value, 0.5, 1e-12);
    cr_expect_str_eq(valued[1].name, "lookups");
    cr_expect_str_eq(valued[1].unit, "/s");
    cr_expect_float_eq(valued[1].value, 2000, 1e-6);
    cr_expect(valued[0].of_speed && valued[1].of_speed, "judged as speed is");
}

Test(measure, a_rate_has_the_interval_of_its_time)
{
    int i = 0;
    yp_measure (t, "fit", .samples = 101, .warmup = -1) {
        clock_seconds += i++ % 2 ? 1e-3 : 3e-3;
        yp_rate(t, "up", 6);
        yp_rate(t, "down", -6);
    }
    cr_expect_float_eq(valued[0].low, 2000, 1e-6, "%g", valued[0].low);
    cr_expect_float_eq(valued[0].high, 6000, 1e-6, "%g", valued[0].high);
    cr_expect_float_eq(valued[1].low, -6000, 1e-6, "%g", valued[1].low);
    cr_expect_float_eq(valued[1].high, -2000, 1e-6, "%g", valued[1].high);
}

Test(measure, a_rate_of_what_is_not_timed_is_no_number)
{
    job.untimed = true;
    yp_measure (t, "c")
        yp_rate(t, "r", 1);
    cr_expect(valued_count == 1 && isnan(valued[0].value) && valued[0].of_speed);
}

Test(measure, a_clock_of_the_body_s_own)
{
    yp_measure (t, "fit", .manual_time = true, .max_samples = 30) {
        clock_seconds += 1e-2;
        yp_iteration_time(t, 2e-3);
    }
    expect_samples(2e-3);
    cr_expect_float_eq(sent.cpu[0], 2e-2, 1e-6, "processor time is the body's");
    yp_measure (t, "short", .manual_time = true, .max_seconds = 1) {
        clock_seconds += 1e-5;
        yp_iteration_time(t, 1e-6);
    }
    cr_expect(sent.batch > 1);
    expect_samples(1e-6);
}

/* -- in turns ------------------------------------------------------------------------------ */

/* The other end of a connection: it gives all orders at once, and is gone when they are over. */
static struct giver {
    struct sockaddr_un address;
    int listener, peer;
    pthread_t thread;
    const char *orders;
} giver = {.address = {.sun_family = AF_UNIX}};

static void *give(void *unused)
{
    giver.peer = accept(giver.listener, NULL, NULL);
    cr_assert(write(giver.peer, giver.orders, strlen(giver.orders)) > 0);
    shutdown(giver.peer, SHUT_WR);
    return unused;
}

static void give_turns(const char *orders)
{
    make_directory();
    snprintf(giver.address.sun_path, sizeof giver.address.sun_path, "%s/socket", directory);
    giver.listener = socket(AF_UNIX, SOCK_STREAM, 0);
    const struct sockaddr *address = (const struct sockaddr *)&giver.address;
    cr_assert_eq(bind(giver.listener, address, sizeof giver.address), 0);
    cr_assert_eq(listen(giver.listener, 1), 0);
    giver.orders = orders;
    job.turns = giver.address.sun_path;
    cr_assert_eq(pthread_create(&giver.thread, NULL, give, NULL), 0);
}

/* What the process has written. */
static const char *turns_were_given(void)
{
    static char heard[1024];
    pthread_join(giver.thread, NULL);
    cr_assert(recv(giver.peer, heard, sizeof heard - 1, MSG_DONTWAIT) > 0);
    remove_directory();
    return heard;
}

Test(measure, in_turns_it_runs_what_is_ordered)
{
    volatile int iterations = 0;
    give_turns("run 3\nrun 1\nnext\nrun 2\nleave\n");
    if (setjmp(left) == 0) {
        yp_measure (t, "fit", .flops = 1) {
            iterations = iterations + 1;
            clock_seconds += 1e-3;
        }
        cr_expect_eq(sent.stop, YPI_STOP_FIXED);
        cr_expect_eq(sent.count, 4, "%zu samples", sent.count);
        /* 10 warm up, and one settles before each turn. */
        cr_expect_eq((size_t)iterations, sent.warmup + 4 + 2, "%d", iterations);
        cr_expect(sent.warmup >= 10 && sent.warmup <= 11, "%d", (int)sent.warmup);
        cr_expect_eq(probes, 0, "nothing is probed beside it");
        yp_measure (t, "solve x", .samples = 9) {
            clock_seconds += 1;
        }
        cr_assert_fail("the body goes on");
    }
    cr_expect(body_left);
    cr_expect_str_eq(turns_were_given(),
                     "turns 1\nmeasurement fit\n"
                     "took 0.0030000000000000027 3\ntook 0.0010000000000000009 1\n"
                     "measurement solve x\ntook 2 2\n");
}

Test(measure, in_turns_a_body_may_have_had_enough)
{
    give_turns("run 2\nrun 1\nnext\n");
    yp_measure (t, "twice", .samples = 2) {
        clock_seconds += 1;
    }
    cr_expect_eq(sent.count, 2);
    yp_measure (t, "broken") {
        clock_seconds += 1;
        break;
    }
    cr_expect_not_null(strstr(turns_were_given(), "over\n"));
}

Test(measure, in_turns_nobody_there_leaves_the_body)
{
    give_turns("run 1\n");
    LEAVES(yp_measure (t, "fit") clock_seconds += 1);
    cr_expect(body_left);
    turns_were_given();
}

Test(measure, in_turns_what_is_no_order_is_told)
{
    give_turns("run 0\n");
    LEAVES(yp_measure (t, "fit") clock_seconds += 1);
    cr_expect_eq(failed, YPI_CAUSE_USAGE);
    cr_expect_not_null(strstr(failure, "'run 0' is no order"), "%s", failure);
    turns_were_given();
}

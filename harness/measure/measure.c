/* The measuring loop: warm-up, batches, samples. */
#include "base/system/clock.h"
#include "base/text/text.h"
#include "harness/judge/budget.h"
#include "harness/measure/callgrind.h"
#include "harness/measure/measurement.h"

#include "device/backend.h"
#include "device/ceiling/ceiling.h"
#include "device/registry.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    DEFAULT_MIN_SAMPLES = 10,
    DEFAULT_MAX_SAMPLES = 10000,
    DEFAULT_REQUESTS_WARMUP = 10,
    COUNTED_ITERATIONS = 3, /* under Callgrind */
    FIRST_CAPACITY = 1024,
};
#define DEFAULT_MAX_SECONDS 1.0
#define DEFAULT_SERVE_SECONDS 2.0
#define DEFAULT_PRECISION 0.01
/* A sample this long keeps the clock's resolution and its reading (some 50 ns) below 0.1 %. */
#define SAMPLE_SECONDS 50e-6
/* Events of a device tick every half microsecond. */
#define DEVICE_SAMPLE_SECONDS 500e-6
#define WARMUP_SECONDS 0.05
/* What takes longer does not notice what a probe left in the caches. */
#define SETTLE_SECONDS 0.01
#define MAX_BATCH (UINT64_C(1) << 30)

/* -- options ------------------------------------------------------------------------------ */

static void refuse(struct yp_case *t, const char *name, const char *what, double given,
                   const char *allowed)
{
    ypi_child_fail(t, YPI_CAUSE_USAGE, NULL, 0, "yp_measure '%s': %s is %g: allowed is %s", name,
                   what, given, allowed);
    ypi_child_leave(t);
}

static void check_amounts(struct yp_case *t, const struct yp_measure_options *o)
{
    const struct {
        const char *what;
        double given;
    } amounts[] = {{".items", o->items},
                   {".flops", o->flops},
                   {".bytes", o->bytes},
                   {".footprint", o->footprint},
                   {".max_seconds", o->max_seconds},
                   {".precision", o->precision}};
    for (size_t i = 0; i < sizeof amounts / sizeof amounts[0]; i++)
        if (!(amounts[i].given >= 0) || isinf(amounts[i].given))
            refuse(t, o->name, amounts[i].what, amounts[i].given, "a finite number from 0");
}

static void check_work(struct yp_case *t, const struct yp_measure_options *o)
{
    if (o->arithmetic != YP_NO_CEILING &&
        (o->arithmetic < YP_NO_CEILING || o->arithmetic >= YP_CEILINGS ||
         ypi_is_traffic(o->arithmetic)))
        refuse(t, o->name, ".arithmetic", o->arithmetic,
               "YP_FP64, YP_FP32, YP_BF16, YP_INT8, YP_INT32 or an accelerator's");
    if (o->traffic != YP_NO_CEILING && !ypi_is_traffic(o->traffic))
        refuse(t, o->name, ".traffic", o->traffic, "YP_READ, YP_COPY, YP_FILL or an accelerator's");
    if (o->threads < 0)
        refuse(t, o->name, ".threads", o->threads, "0 (as many as the case may use) or more");
}

static void check_options(struct yp_case *t, const struct yp_measure_options *o)
{
    check_amounts(t, o);
    check_work(t, o);
    if (o->warmup < -1)
        refuse(t, o->name, ".warmup", o->warmup, "-1 (none) or more");
    if (o->samples < 0 || o->min_samples < 0 || o->max_samples < 0)
        refuse(t, o->name, ".samples, .min_samples or .max_samples",
               o->samples < 0       ? o->samples
               : o->min_samples < 0 ? o->min_samples
                                    : o->max_samples,
               "0 (the default) or more");
    if (t->test->parallel) {
        ypi_child_fail(t, YPI_CAUSE_USAGE, NULL, 0,
                       "yp_measure '%s' in a test that declares .parallel: others may run beside "
                       "it, so nothing in it can be timed",
                       o->name);
        ypi_child_leave(t);
    }
}

static void take_defaults(struct yp_measure_options *o)
{
    o->min_samples = o->min_samples > 0 ? o->min_samples : DEFAULT_MIN_SAMPLES;
    o->max_samples = o->max_samples > 0 ? o->max_samples : DEFAULT_MAX_SAMPLES;
    o->max_seconds = o->max_seconds > 0 ? o->max_seconds : DEFAULT_MAX_SECONDS;
    o->precision = o->precision > 0 ? o->precision : DEFAULT_PRECISION;
    o->arithmetic = o->arithmetic != YP_NO_CEILING ? o->arithmetic : YP_FP32;
    o->traffic = o->traffic != YP_NO_CEILING ? o->traffic : YP_COPY;
    o->threads = o->threads > 0 ? o->threads : ypi_processors();
    if (o->min_samples > o->max_samples)
        o->min_samples = o->max_samples;
}

/* -- begin and end ------------------------------------------------------------------------- */

static bool is_asked(const struct yp_case *t, enum yp_budget_kind kind, const char *name)
{
    const struct yp_budget *b = NULL;
    for (int next = 0; (b = ypi_next_budget(t, &next)) != NULL;)
        if (b->kind == kind && strcmp(b->name, name) == 0)
            return true;
    return false;
}

/* Where nothing is timed a body runs as often as it may rely on, and once at least. Growth is over
 * iterations, so it needs what it has at least. */
static uint64_t iterations_wanted(const struct yp_case *t, const struct yp_measure_options *o,
                                  bool growth)
{
    if (ypi_callgrind_running())
        return 1 + COUNTED_ITERATIONS;
    if (ypi_child_job(t)->once)
        return 1;
    int least = o->samples > 0       ? o->samples
                : o->min_samples > 0 ? o->min_samples
                : growth             ? DEFAULT_MIN_SAMPLES
                                     : 1;
    return (uint64_t)least;
}

static void describe(struct yp_measurement *m)
{
    const struct yp_measure_options *o = &m->options;
    struct ypi_measured *measured = &m->measured;
    snprintf(measured->name, sizeof measured->name, "%s", o->name);
    snprintf(measured->unit, sizeof measured->unit, "%s", o->unit != NULL ? o->unit : "");
    measured->items = o->items;
    measured->flops = o->flops;
    measured->bytes = o->bytes;
    measured->footprint = o->footprint;
    measured->threads = o->threads;
    measured->cold = o->cold;
    measured->bound = -1;
    measured->on_device = (struct ypi_on_device){.opening = NAN,
                                                 .launching = NAN,
                                                 .clock = NAN,
                                                 .clock_least = NAN,
                                                 .clock_most = NAN,
                                                 .temperature = NAN,
                                                 .power = NAN,
                                                 .utilisation = NAN,
                                                 .used = NAN,
                                                 .reserved = NAN,
                                                 .granule = NAN};
    measured->growth_accounted = measured->growth_resident = NAN;
}

/* The framework's own memory that is resident beside the case's. */
size_t ypi_measure_own_bytes(const struct yp_measurement *m)
{
    return 2 * m->capacity * sizeof(double) + (m->scratch != NULL ? ypi_cache_flush_bytes() : 0) +
           (m->roofline != NULL ? ypi_roofline_bytes(m->roofline) : 0);
}

static void set_capacity(struct yp_measurement *m, size_t capacity)
{
    m->measured.samples = ypi_realloc(m->measured.samples, capacity, sizeof *m->measured.samples);
    m->measured.cpu = ypi_realloc(m->measured.cpu, capacity, sizeof *m->measured.cpu);
    memset(m->measured.samples + m->capacity, 1,
           (capacity - m->capacity) * sizeof *m->measured.samples);
    memset(m->measured.cpu + m->capacity, 1, (capacity - m->capacity) * sizeof *m->measured.cpu);
    m->capacity = capacity;
}

static void begin_untimed(struct yp_measurement *m)
{
    const struct ypi_job *job = ypi_child_job(m->t);
    bool growth = !job->once && !ypi_callgrind_running() &&
                  is_asked(m->t, YP_BUDGET_MAX_GROWTH, m->options.name);
    m->iterations_wanted = iterations_wanted(m->t, &m->options, growth);
    if (growth)
        m->growth = ypi_growth_open();
}

static struct yp_measurement *open_measurement(struct yp_case *t,
                                               const struct yp_measure_options *options)
{
    ypi_child_name(t, "measurement", options->name);
    if (*ypi_child_measurement(t) != NULL) {
        ypi_child_fail(t, YPI_CAUSE_USAGE, NULL, 0,
                       "yp_measure '%s' inside another yp_measure: use yp_phase for a part",
                       options->name);
        ypi_child_leave(t);
    }
    check_options(t, options);
    const struct ypi_job *job = ypi_child_job(t);
    ypi_child_own_memory(t, 0); /* what the case itself has used until now */
    struct yp_measurement *m = ypi_calloc(1, sizeof *m);
    m->t = t;
    m->options = *options;
    m->untimed = job->untimed || ypi_callgrind_running();
    if (m->untimed)
        begin_untimed(m);
    m->threads_unknown = options->threads == 0;
    take_defaults(&m->options);
    m->device = yp_device(t);
    m->stream = yp_device_stream(m->device);
    m->begin = yp_event_create(m->device);
    m->end = yp_event_create(m->device);
    m->batch = 1;
    m->phase = -1;
    m->judged = job->speed_judged;
    m->audited = job->audit;
    if (m->device->backend->kind == YP_DEVICE && !m->untimed)
        m->accelerated = ypi_accelerated_open(m->device, options->name);
    describe(m);
    set_capacity(m, FIRST_CAPACITY);
    *ypi_child_measurement(t) = m;
    return m;
}

struct yp_measurement *ypi_measure_begin(struct yp_case *t, struct yp_measure_options options)
{
    struct yp_measurement *m = open_measurement(t, &options);
    if (m->untimed || m->audited)
        return m;
    m->each = is_asked(t, YP_BUDGET_MIN_SHARE, m->measured.name);
    m->roofline = ypi_roofline_open(m->device, &m->options, &m->measured, m->each);
    m->counters = ypi_counters_open();
    m->growth = ypi_growth_open();
    if (m->options.cold && m->accelerated == NULL)
        m->scratch = ypi_calloc(1, ypi_cache_flush_bytes());
    ypi_child_own_memory(t, ypi_measure_own_bytes(m));
    return m;
}

struct yp_measurement *ypi_serve_begin(struct yp_case *t, struct yp_serve_options options)
{
    if (!(options.rate > 0) || isinf(options.rate))
        refuse(t, options.name, ".rate", options.rate, "requests a second, above 0");
    if (options.requests < 0)
        refuse(t, options.name, ".requests", options.requests, "0 (by .seconds) or more");
    if (options.warmup == 0)
        options.warmup = DEFAULT_REQUESTS_WARMUP;
    if (!(options.seconds > 0))
        options.seconds = DEFAULT_SERVE_SECONDS;
    struct yp_measure_options common = {.name = options.name,
                                        .items = 1,
                                        .unit = "requests",
                                        .warmup = options.warmup,
                                        .min_samples = (int)options.requests};
    struct yp_measurement *m = open_measurement(t, &common);
    m->measured.kind = YPI_MEASURED_SERVE;
    m->measured.rate = options.rate;
    if (m->untimed || m->audited)
        return m;
    m->serve = options;
    m->counters = ypi_counters_open();
    m->growth = ypi_growth_open();
    ypi_child_own_memory(t, ypi_measure_own_bytes(m));
    return m;
}

void ypi_counting_pause(struct yp_measurement *m)
{
    if (!m->counting)
        return;
    struct ypi_count now[YP_COUNTERS] = {0};
    ypi_counters_stop(m->counters, now);
    m->counting = false;
    for (int i = 0; i < YP_COUNTERS; i++) {
        struct ypi_count *total = &m->measured.counts[i];
        total->count += now[i].count;
        total->source = isnan(total->count) ? YPI_NOT_COUNTED : now[i].source;
    }
}

static void tell_noise(struct yp_measurement *m)
{
    struct ypi_noise_mark now;
    ypi_noise_mark(&now);
    m->measured.noise = ypi_noise_between(&m->noise, &now);
}

static void close_parts(struct yp_measurement *m)
{
    struct ypi_measured *measured = &m->measured;
    double iterations = (double)measured->count * (double)m->batch;
    ypi_counting_pause(m);
    for (int i = 0; i < YP_COUNTERS; i++)
        measured->counts[i].count /= iterations > 0 ? iterations : 1;
    if (m->state == YPI_MEASURE_SAMPLING)
        tell_noise(m);
    if (m->roofline != NULL) {
        if (measured->count > 0)
            ypi_roofline_probe(m->roofline, measured);
        ypi_roofline_close(m->roofline, measured);
    }
    ypi_phase_close(m);
    ypi_accelerated_close(m);
    if (m->growth != NULL)
        ypi_growth_close(m->growth, measured);
    ypi_counters_close(m->counters);
    ypi_arrivals_close(m->arrivals);
    free(m->scratch);
}

bool ypi_measure_finish(struct yp_measurement *m, enum ypi_stop stop)
{
    struct ypi_measured *measured = &m->measured;
    measured->stop = stop;
    measured->batch = m->batch;
    if (m->threads_unknown && ypi_working_threads() < measured->threads)
        measured->threads = ypi_working_threads();
    ypi_child_own_memory(m->t, ypi_measure_own_bytes(m));
    close_parts(m);
    for (int i = 0; i < measured->phase_count; i++)
        measured->phases[i].seconds /=
            measured->count > 0 ? (double)(measured->count + measured->slowed_count) : 1;
    ypi_child_send_measured(m->t, measured);
    *ypi_child_measurement(m->t) = NULL;
    yp_event_destroy(m->begin);
    yp_event_destroy(m->end);
    ypi_measured_clear(measured);
    ypi_child_own_memory(m->t, 0);
    free(m);
    return false;
}

/* -- the loop ----------------------------------------------------------------------------- */

static bool alone(const struct yp_measurement *m)
{
    return m->options.reset != NULL || m->options.cold || m->options.samples > 0;
}

/* What comes between iterations and is no part of them. */
void ypi_measure_prepare(struct yp_measurement *m)
{
    if (m->options.reset == NULL && !m->options.cold)
        return;
    ypi_counting_pause(m);
    if (m->options.reset != NULL)
        m->options.reset(m->options.arg);
    if (m->scratch != NULL)
        ypi_cache_flush(m->scratch);
    if (m->options.cold && m->accelerated != NULL)
        (void)m->device->backend->flush(m->stream);
}

bool ypi_measure_batch_begin(struct yp_measurement *m)
{
    ypi_measure_prepare(m);
    memset(m->phase_seconds, 0, sizeof m->phase_seconds);
    ypi_phase_forget(m);
    m->whole = false;
    if (m->arrivals != NULL) {
        ypi_counting_pause(m);
        if (!ypi_arrivals_wait(m->arrivals))
            return ypi_measure_finish(m, YPI_STOP_FIXED);
    }
    if (m->state == YPI_MEASURE_SAMPLING && !m->counting) {
        ypi_counters_start(m->counters);
        m->counting = true;
    }
    if (m->state == YPI_MEASURE_UNTIMED) {
        if (ypi_callgrind_running())
            ypi_callgrind_start();
        return true;
    }
    m->cpu = ypi_processor_seconds();
    if (m->state == YPI_MEASURE_CAPTURING) {
        ypi_accelerated_capture_begin(m);
        return true;
    }
    ypi_accelerated_begin(m);
    yp_event_record(m->begin, m->stream);
    if (ypi_accelerated_replays(m))
        ypi_accelerated_replay(m);
    return true;
}

/* Seconds of the batch; of a request, from when it was due. */
static double end_batch(struct yp_measurement *m)
{
    double seconds = 0;
    if (m->arrivals != NULL) {
        yp_device_synchronize(m->device);
        seconds = ypi_arrivals_latency(m->arrivals);
    } else {
        yp_event_record(m->end, m->stream);
        ypi_accelerated_end(m);
        seconds = yp_event_seconds(m->begin, m->end);
    }
    m->cpu = ypi_processor_seconds() - m->cpu;
    return seconds;
}

static bool begin_sampling(struct yp_measurement *m, double batch_seconds)
{
    if (ypi_accelerated_wants_graph(m)) {
        m->state = YPI_MEASURE_CAPTURING;
        return ypi_measure_batch_begin(m);
    }
    /* The pool that the work uses is there by now. */
    ypi_bind_self(ypi_child_job(m->t)->bind);
    ypi_bind_threads(ypi_child_job(m->t)->bind);
    m->state = YPI_MEASURE_SAMPLING;
    if (m->roofline != NULL)
        ypi_roofline_probe(m->roofline, &m->measured);
    m->started = m->stretch = ypi_now();
    m->next_check = (size_t)m->options.min_samples;
    ypi_noise_mark(&m->noise);
    if (m->measured.kind == YPI_MEASURED_SERVE)
        m->arrivals = ypi_arrivals_open(&m->serve, yp_seed(m->t), ypi_now());
    else if (m->roofline != NULL && batch_seconds > 0 && batch_seconds < SETTLE_SECONDS)
        m->state = YPI_MEASURE_SETTLING;
    return ypi_measure_batch_begin(m);
}

/* Warm-up also finds the batch: doubled until it is long enough to be timed. */
static bool warm(struct yp_measurement *m, double seconds)
{
    const struct yp_measure_options *o = &m->options;
    m->measured.warmup += m->batch;
    /* With what a reset takes, which may be much longer than the work itself. */
    m->warm_seconds = fmax(m->warm_seconds + seconds, ypi_now() - m->started);
    bool serve = m->measured.kind == YPI_MEASURED_SERVE;
    bool fixed = o->warmup != 0 || o->samples > 0;
    double least = m->accelerated != NULL ? DEVICE_SAMPLE_SECONDS : SAMPLE_SECONDS;
    if (ypi_accelerated_was_first(m) && !(fixed && (serve || alone(m)))) {
        m->warm_seconds = 0;
        m->started = ypi_now();
        return ypi_measure_batch_begin(m);
    }
    if (!serve && !alone(m) && seconds < least && m->batch < MAX_BATCH) {
        m->batch *= 2;
        return ypi_measure_batch_begin(m);
    }
    bool enough = fixed ? m->measured.warmup >= (uint64_t)(o->warmup > 0 ? o->warmup : 1)
                        : m->warm_seconds >= fmin(WARMUP_SECONDS, o->max_seconds / 10);
    return enough ? begin_sampling(m, seconds) : ypi_measure_batch_begin(m);
}

static void keep_sample(struct yp_measurement *m, double seconds)
{
    struct ypi_measured *measured = &m->measured;
    if (measured->count == m->capacity) {
        ypi_counting_pause(m);
        set_capacity(m, 2 * m->capacity);
        ypi_child_own_memory(m->t, ypi_measure_own_bytes(m));
    }
    measured->samples[measured->count] = seconds / (double)m->batch;
    measured->cpu[measured->count] = m->cpu / (double)m->batch;
    measured->count++;
    for (int i = 0; i < measured->phase_count; i++)
        measured->phases[i].seconds += m->phase_seconds[i] / (double)m->batch;
    ypi_growth_look(m->growth, measured->count * m->batch, m->device, ypi_measure_own_bytes(m));
}

static bool sample(struct yp_measurement *m, double seconds)
{
    enum ypi_stop why = YPI_STOP_TIME;
    keep_sample(m, seconds);
    if (m->arrivals != NULL || ypi_accelerated_slowed(m))
        return ypi_measure_batch_begin(m);
    bool due = m->roofline != NULL && ypi_roofline_due(m->roofline, ypi_now() - m->stretch);
    if (due) {
        ypi_counting_pause(m);
        ypi_roofline_probe(m->roofline, &m->measured);
        m->stretch = ypi_now();
    }
    if (ypi_stop_now(m, &why))
        return ypi_measure_finish(m, why);
    if (due && seconds < SETTLE_SECONDS)
        m->state = YPI_MEASURE_SETTLING;
    return ypi_measure_batch_begin(m);
}

/* -- the states ----------------------------------------------------------------------------- */

/* The batch was launched into a graph, and has not run. */
static bool captured(struct yp_measurement *m)
{
    ypi_phase_check(m);
    ypi_accelerated_capture_end(m);
    return m->whole ? begin_sampling(m, 0) : ypi_measure_finish(m, YPI_STOP_BREAK);
}

bool ypi_measure_next(struct yp_measurement *m)
{
    if (m->audited)
        return ypi_audited_next(m);
    if (m->state == YPI_MEASURE_STARTING && m->untimed)
        return ypi_untimed_start(m);
    if (m->state == YPI_MEASURE_STARTING) {
        m->started = ypi_now();
        m->state = YPI_MEASURE_WARMING;
        return m->options.warmup == -1 ? begin_sampling(m, 0) : ypi_measure_batch_begin(m);
    }
    if (m->state == YPI_MEASURE_UNTIMED)
        return ypi_untimed_ran(m);
    if (m->state == YPI_MEASURE_CAPTURING)
        return captured(m);
    double seconds = end_batch(m);
    ypi_phase_check(m);
    if (!m->whole)
        return ypi_measure_finish(m, YPI_STOP_BREAK);
    if (!ypi_accelerated_counts(m, seconds))
        return ypi_measure_batch_begin(m);
    ypi_phase_read(m);
    switch (m->state) {
    case YPI_MEASURE_WARMING:
        return warm(m, seconds);
    case YPI_MEASURE_SETTLING:
        m->state = YPI_MEASURE_SAMPLING;
        return ypi_measure_batch_begin(m);
    default:
        return sample(m, seconds);
    }
}

uint64_t ypi_measure_batch(struct yp_measurement *m)
{
    return ypi_accelerated_replays(m) && m->state != YPI_MEASURE_CAPTURING ? 0 : m->batch;
}

/* A break leaves some of the batch. */
uint64_t ypi_measure_sampled(struct yp_measurement *m, uint64_t left)
{
    m->whole = left == 0;
    return 0;
}

size_t yp_rotations(size_t bytes)
{
    size_t flush = ypi_cache_flush_bytes(); /* twice the largest cache at least */
    size_t device = 2 * ypi_device_cache_bytes();
    flush = device > flush ? device : flush;
    return bytes > 0 ? flush / bytes + 2 : 2;
}

/* The measuring loop: warm-up, batches, samples, and when to stop. */
#include <yieldpoint/measure.h>

#include "child.h"
#include "process.h"
#include "text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    DEFAULT_MIN_SAMPLES = 10,
    DEFAULT_MAX_SAMPLES = 10000,
};
#define DEFAULT_MAX_SECONDS 1.0
#define DEFAULT_PRECISION 0.01
/* A sample this long keeps the clock's resolution and its reading (some 50 ns) below 0.1 %. */
#define SAMPLE_SECONDS 50e-6
#define WARMUP_SECONDS 0.05
#define MAX_BATCH (UINT64_C(1) << 30)

enum state { STARTING, WARMING, SAMPLING, DONE };

struct yp_measurement {
    struct yp_case *t;
    struct yp_measure_options options;
    struct yp_device *device;
    struct yp_stream *stream;
    struct yp_event *begin, *end;
    enum state state;
    bool whole; /* the batch ran to its end */
    uint64_t batch;
    double warm_seconds, started;
    double *samples;
    size_t count, room, next_check;
    double phase_seconds[YPI_PHASES_MAX]; /* of the current batch */
    double phase_begun;
    int phase; /* being timed, -1: none */
    struct ypi_measured told;
};

/* -- options ------------------------------------------------------------------------------ */

static void refuse(struct yp_case *t, const char *name, const char *what, double given,
                   const char *allowed)
{
    ypi_child_fail(t, YPI_CAUSE_USAGE, NULL, 0, "yp_measure '%s': %s is %g: allowed is %s", name,
                   what, given, allowed);
    ypi_child_leave(t);
}

static void check_options(struct yp_case *t, const struct yp_measure_options *o)
{
    const struct {
        const char *what;
        double given;
    } amounts[] = {{".items", o->items},
                   {".flops", o->flops},
                   {".bytes", o->bytes},
                   {".max_seconds", o->max_seconds},
                   {".precision", o->precision}};
    for (size_t i = 0; i < sizeof amounts / sizeof amounts[0]; i++)
        if (!(amounts[i].given >= 0) || isinf(amounts[i].given))
            refuse(t, o->name, amounts[i].what, amounts[i].given, "a finite number from 0");
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
    if (o->min_samples > o->max_samples)
        o->min_samples = o->max_samples;
}

struct yp_measurement *ypi_measure_begin(struct yp_case *t, struct yp_measure_options options)
{
    ypi_child_name(t, "measurement", options.name);
    if (*ypi_child_measurement(t) != NULL) {
        ypi_child_fail(t, YPI_CAUSE_USAGE, NULL, 0,
                       "yp_measure '%s' inside another yp_measure: use yp_phase for a part",
                       options.name);
        ypi_child_leave(t);
    }
    check_options(t, &options);
    take_defaults(&options);
    struct yp_measurement *m = ypi_calloc(1, sizeof *m);
    m->t = t;
    m->options = options;
    m->device = yp_device(t);
    m->stream = yp_device_stream(m->device);
    m->begin = yp_event_create(m->device);
    m->end = yp_event_create(m->device);
    m->batch = 1;
    m->phase = -1;
    m->told.warmup = 0;
    snprintf(m->told.name, sizeof m->told.name, "%s", options.name);
    snprintf(m->told.unit, sizeof m->told.unit, "%s", options.unit != NULL ? options.unit : "");
    m->told.items = options.items;
    m->told.flops = options.flops;
    m->told.bytes = options.bytes;
    *ypi_child_measurement(t) = m;
    return m;
}

/* -- the loop ----------------------------------------------------------------------------- */

static bool start_batch(struct yp_measurement *m)
{
    if (m->options.reset != NULL)
        m->options.reset(m->options.arg);
    memset(m->phase_seconds, 0, sizeof m->phase_seconds);
    m->whole = false;
    yp_event_record(m->begin, m->stream);
    return true;
}

static double end_batch(struct yp_measurement *m)
{
    yp_event_record(m->end, m->stream);
    return yp_event_seconds(m->begin, m->end);
}

static bool finish(struct yp_measurement *m, enum ypi_stop stop)
{
    struct ypi_measured *told = &m->told;
    told->stop = stop;
    told->batch = m->batch;
    told->count = m->count;
    for (int i = 0; i < told->phase_count; i++)
        told->phases[i].seconds /= m->count > 0 ? (double)m->count : 1;
    ypi_child_send(m->t, YPI_MESSAGE_MEASURED, told, sizeof *told, m->samples,
                   m->count * sizeof *m->samples);
    *ypi_child_measurement(m->t) = NULL;
    yp_event_destroy(m->begin);
    yp_event_destroy(m->end);
    free(m->samples);
    free(m);
    return false;
}

/* Warm-up also finds the batch: doubled until it is long enough to be timed. */
static bool warm(struct yp_measurement *m, double seconds)
{
    const struct yp_measure_options *o = &m->options;
    m->told.warmup += m->batch;
    /* With what a reset takes, which may be much longer than the work itself. */
    m->warm_seconds = fmax(m->warm_seconds + seconds, ypi_now() - m->started);
    bool fixed = o->warmup != 0 || o->samples > 0;
    bool alone = o->reset != NULL || o->samples > 0;
    if (!alone && seconds < SAMPLE_SECONDS && m->batch < MAX_BATCH) {
        m->batch *= 2;
        return start_batch(m);
    }
    bool enough = fixed ? m->told.warmup >= (uint64_t)(o->warmup > 0 ? o->warmup : 1)
                        : m->warm_seconds >= fmin(WARMUP_SECONDS, o->max_seconds / 10);
    if (enough) {
        m->state = SAMPLING;
        m->started = ypi_now();
        m->next_check = (size_t)o->min_samples;
    }
    return start_batch(m);
}

static bool precise(const struct yp_measurement *m)
{
    struct ypi_estimate e = ypi_estimate(m->samples, m->count);
    return (e.high - e.low) / 2 <= m->options.precision * e.median;
}

/* Whether to stop, and why. The interval costs a sort, so it is looked at ever more rarely. */
static bool decided(struct yp_measurement *m, enum ypi_stop *why)
{
    const struct yp_measure_options *o = &m->options;
    if (o->samples > 0) {
        *why = YPI_STOP_FIXED;
        return m->count >= (size_t)o->samples;
    }
    if (m->count < (size_t)o->min_samples)
        return false;
    *why = YPI_STOP_SAMPLES;
    if (m->count >= (size_t)o->max_samples)
        return true;
    *why = YPI_STOP_TIME;
    if (ypi_now() - m->started >= o->max_seconds)
        return true;
    if (m->count < m->next_check)
        return false;
    m->next_check = m->count + m->count / 4 + 1;
    *why = YPI_STOP_PRECISION;
    return precise(m);
}

static void keep_sample(struct yp_measurement *m, double seconds)
{
    if (m->count == m->room) {
        m->room = m->room > 0 ? 2 * m->room : 64;
        m->samples = ypi_realloc(m->samples, m->room, sizeof *m->samples);
    }
    m->samples[m->count++] = seconds / (double)m->batch;
    for (int i = 0; i < m->told.phase_count; i++)
        m->told.phases[i].seconds += m->phase_seconds[i] / (double)m->batch;
}

bool ypi_measure_next(struct yp_measurement *m)
{
    double seconds = m->state == STARTING ? 0 : end_batch(m);
    if (m->state != STARTING && !m->whole)
        return finish(m, YPI_STOP_BREAK);
    switch (m->state) {
    case STARTING:
        m->state = m->options.warmup == -1 ? SAMPLING : WARMING;
        m->started = ypi_now();
        m->next_check = (size_t)m->options.min_samples;
        return start_batch(m);
    case WARMING:
        return warm(m, seconds);
    case SAMPLING: {
        enum ypi_stop why = YPI_STOP_TIME;
        keep_sample(m, seconds);
        return decided(m, &why) ? finish(m, why) : start_batch(m);
    }
    case DONE:
        break;
    }
    return false;
}

uint64_t ypi_measure_batch(struct yp_measurement *m)
{
    return m->batch;
}

bool ypi_measure_sampled(struct yp_measurement *m)
{
    m->whole = true;
    return false;
}

/* -- phases ------------------------------------------------------------------------------- */

static int phase_of(struct yp_measurement *m, const char *name)
{
    struct ypi_measured *told = &m->told;
    for (int i = 0; i < told->phase_count; i++)
        if (strcmp(told->phases[i].name, name) == 0)
            return i;
    if (told->phase_count == YPI_PHASES_MAX) {
        ypi_child_fail(m->t, YPI_CAUSE_USAGE, NULL, 0,
                       "phase '%s' of '%s' is one too many: at most %d", name, told->name,
                       YPI_PHASES_MAX);
        ypi_child_leave(m->t);
    }
    snprintf(told->phases[told->phase_count].name, YPI_NAME_MAX, "%s", name);
    return told->phase_count++;
}

bool ypi_phase_begin(struct yp_case *t, const char *name)
{
    struct yp_measurement *m = *ypi_child_measurement(t);
    if (m == NULL || m->phase >= 0) {
        ypi_child_fail(t, YPI_CAUSE_USAGE, NULL, 0, "yp_phase '%s' %s", name,
                       m == NULL ? "outside yp_measure" : "inside another phase");
        ypi_child_leave(t);
    }
    m->phase = phase_of(m, name);
    yp_device_synchronize(m->device);
    m->phase_begun = ypi_now();
    return true;
}

bool ypi_phase_end(struct yp_case *t)
{
    struct yp_measurement *m = *ypi_child_measurement(t);
    yp_device_synchronize(m->device);
    m->phase_seconds[m->phase] += ypi_now() - m->phase_begun;
    m->phase = -1;
    return false;
}

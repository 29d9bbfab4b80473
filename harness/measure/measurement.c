/* The begin and the end of a measurement. */
#include "harness/measure/measurement.h"
#include "base/text/text.h"
#include "harness/measure/count/callgrind.h"
#include "harness/measure/turns.h"
#include "harness/vocabulary/budget.h"

#include "device/backend.h"
#include "device/ceiling/ceiling.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <yieldpoint/ranks.h>

enum { FIRST_CAPACITY = 1024 };

static void describe(struct yp_measurement *m)
{
    const struct yp_measure_options *o = &m->options;
    struct ypi_measured *measured = &m->measured;
    snprintf(measured->name, sizeof measured->name, "%s", o->name);
    snprintf(measured->unit, sizeof measured->unit, "%s", o->unit != NULL ? o->unit : "");
    measured->items = o->items;
    measured->flops = o->flops;
    measured->bytes = o->bytes;
    measured->footprint = fmax(0, o->footprint);
    measured->threads = o->threads;
    measured->cold = o->cold;
    ypi_measure_bounds(o, ypk_size(yp_ranks_communicator(m->t)), measured);
    measured->on_device = (struct ypi_on_device){.opening = NAN,
                                                 .launching = NAN,
                                                 .clock = NAN,
                                                 .clock_min = NAN,
                                                 .clock_max = NAN,
                                                 .temperature = NAN,
                                                 .power = NAN,
                                                 .utilisation = NAN,
                                                 .used = NAN,
                                                 .reserved = NAN,
                                                 .granule = NAN};
    measured->growth_accounted = measured->growth_resident = NAN;
}

bool ypi_measure_in_turns(const struct yp_measurement *m)
{
    return ypi_child_job(m->t)->turns != NULL && m->measured.kind == YPI_MEASURED_WORK;
}

void ypi_measure_capacity(struct yp_measurement *m, size_t capacity)
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
                  ypi_budget_of(m->t, YP_BUDGET_MAX_GROWTH, m->options.name) != NULL;
    m->iterations_wanted = ypi_measure_iterations(m->t, &m->options, growth);
    if (growth)
        m->growth = ypi_growth_open();
}

static struct yp_measurement *open_measurement(struct yp_case *t,
                                               const struct yp_measure_options *options)
{
    ypi_child_name(t, "measurement", options->name);
    if (*ypi_child_measurement(t) != NULL)
        ypi_child_quit(t, YPI_CAUSE_USAGE,
                       "yp_measure '%s' inside another yp_measure: use yp_phase for a part",
                       options->name);
    ypi_measure_check(t, options);
    const struct ypi_job *job = ypi_child_job(t);
    struct yp_measurement *m = ypi_calloc(1, sizeof *m);
    m->t = t;
    m->options = *options;
    m->untimed = job->untimed || ypi_callgrind_running();
    if (m->untimed)
        begin_untimed(m);
    m->threads_unknown = options->threads == 0;
    ypi_measure_defaults(&m->options);
    if (job->max_seconds > 0)
        m->options.max_seconds = fmin(m->options.max_seconds, job->max_seconds);
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
    ypi_measure_capacity(m, FIRST_CAPACITY);
    *ypi_child_measurement(t) = m;
    return m;
}

/* Emptied once, so that all of it is resident. */
static void open_scratch(struct yp_measurement *m)
{
    if (!m->options.cold || m->accelerated != NULL)
        return;
    m->scratch = ypi_calloc(1, ypi_cache_flush_bytes());
    ypi_cache_flush(m->scratch);
}

static void open_instruments(struct yp_measurement *m)
{
    if (ypi_measure_in_turns(m)) { /* nothing beside the work */
        ypi_turns_connect(m->t);
        open_scratch(m);
        return;
    }
    m->each = ypi_budget_of(m->t, YP_BUDGET_MIN_SHARE, m->measured.name) != NULL;
    m->roofline = ypi_roofline_open(m->device, &m->measured, m->each, yp_ranks_communicator(m->t));
    m->counters = ypi_counters_open();
    m->growth = ypi_growth_open();
    open_scratch(m);
}

struct yp_measurement *ypi_measure_begin(struct yp_case *t, struct yp_measure_options options)
{
    ypi_child_framework_begins(t);
    struct yp_measurement *m = open_measurement(t, &options);
    if (!m->untimed && !m->audited)
        open_instruments(m);
    if (!m->untimed && !m->audited)
        m->together = ypi_together_open(t);
    ypi_child_heap_pauses(t, !options.heap);
    ypi_child_framework_ends(t);
    return m;
}

struct yp_measurement *ypi_serve_begin(struct yp_case *t, struct yp_serve_options options)
{
    ypi_child_framework_begins(t);
    ypi_serve_check(t, &options);
    struct yp_measure_options common = {.name = options.name,
                                        .items = 1,
                                        .unit = "requests",
                                        .warmup = options.warmup,
                                        .min_samples = (int)options.requests};
    struct yp_measurement *m = open_measurement(t, &common);
    m->measured.kind = YPI_MEASURED_SERVE;
    m->measured.rate = options.rate;
    if (!m->untimed && !m->audited) {
        m->serve = options;
        m->counters = ypi_counters_open();
        m->growth = ypi_growth_open();
    }
    ypi_child_heap_pauses(t, true);
    ypi_child_framework_ends(t);
    return m;
}

static void take_noise(struct yp_measurement *m)
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
        take_noise(m);
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
    struct yp_case *t = m->t;
    struct ypi_measured *measured = &m->measured;
    ypi_child_framework_begins(t);
    measured->stop = stop;
    measured->batch = m->batch;
    ypi_turns_over(m);
    if (m->threads_unknown && ypi_working_threads() < measured->threads)
        measured->threads = ypi_working_threads();
    close_parts(m);
    for (int i = 0; i < measured->phase_count; i++)
        measured->phases[i].seconds /=
            measured->count > 0 ? (double)(measured->count + measured->slowed_count) : 1;
    ypi_child_send_measured(t, measured);
    ypi_tallies_close(m);
    ypi_together_close(m);
    *ypi_child_measurement(t) = NULL;
    yp_event_destroy(m->begin);
    yp_event_destroy(m->end);
    ypi_measured_clear(measured);
    free(m);
    ypi_child_heap_pauses(t, false);
    ypi_child_framework_ends(t);
    return false;
}

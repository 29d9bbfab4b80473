/* The measuring loop: warm-up, batches, samples. */
#include "base/system/clock.h"
#include "harness/measure/count/callgrind.h"
#include "harness/measure/measurement.h"
#include "harness/measure/turns.h"

#include "device/backend.h"
#include "device/ceiling/ceiling.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* A sample this long keeps the clock's resolution and its reading (some 50 ns) below 0.1 %. */
#define SAMPLE_SECONDS 50e-6
/* Events of a device tick every half microsecond. */
#define DEVICE_SAMPLE_SECONDS 500e-6
#define WARMUP_SECONDS 0.05
/* In turns a batch that is not timed comes before each turn, and processes are many and short. */
#define TURNS_WARMUP_SECONDS 0.01
/* What takes longer does not notice what a probe left in the caches. */
#define SETTLE_SECONDS 0.01
#define MAX_BATCH (UINT64_C(1) << 30)

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

void ypi_counting_go_on(struct yp_measurement *m)
{
    if (m->state != YPI_MEASURE_SAMPLING || m->counting || m->counters == NULL)
        return;
    ypi_counters_start(m->counters);
    m->counting = true;
}

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
    m->paused_cpu = m->manual_seconds = 0;
    m->manual_count = 0;
    ypi_tallies_forget(m);
    m->whole = false;
    if (m->arrivals != NULL) {
        ypi_counting_pause(m);
        if (!ypi_arrivals_wait(m->arrivals))
            return ypi_measure_finish(m, YPI_STOP_FIXED);
        m->served = ypi_now();
    }
    ypi_together_start(m);
    ypi_counting_go_on(m);
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
        m->served = ypi_now() - m->served;
    } else {
        yp_event_record(m->end, m->stream);
        ypi_accelerated_end(m);
        seconds = yp_event_seconds(m->begin, m->end);
    }
    m->cpu = ypi_processor_seconds() - m->cpu - m->paused_cpu;
    return seconds;
}

void yp_iteration_time(struct yp_case *t, double seconds)
{
    struct yp_measurement *m = *ypi_child_measurement(t);
    if (m == NULL || !m->options.manual_time)
        ypi_child_quit(t, YPI_CAUSE_USAGE,
                       "yp_iteration_time outside a yp_measure with .manual_time");
    if (!(seconds > 0) || isinf(seconds))
        ypi_child_quit(t, YPI_CAUSE_USAGE,
                       "yp_iteration_time in '%s': %g: allowed are finite seconds above 0",
                       m->measured.name, seconds);
    m->manual_seconds += seconds;
    m->manual_count++;
}

/* Of what the events or the clock saw, what belongs to the iterations. */
static double own_seconds(struct yp_measurement *m, double seconds)
{
    if (!m->options.manual_time)
        return seconds - m->phase_seconds[YPI_PAUSE];
    if (m->manual_count != m->batch)
        ypi_child_quit(m->t, YPI_CAUSE_USAGE,
                       "yp_measure '%s' has .manual_time: yp_iteration_time was called %" PRIu64
                       " times in %" PRIu64 " iterations",
                       m->measured.name, m->manual_count, m->batch);
    return m->manual_seconds;
}

/* A batch after a pause finds caches and pools cold, and is not timed, unless it is so long that it
 * does not notice, or the body counts on so many iterations. */
static bool settles(const struct yp_measurement *m, double batch_seconds)
{
    return batch_seconds > 0 && batch_seconds < SETTLE_SECONDS && m->options.samples == 0;
}

static bool begin_turn(struct yp_measurement *m, double batch_seconds)
{
    m->state = settles(m, batch_seconds) ? YPI_MEASURE_SETTLING : YPI_MEASURE_SAMPLING;
    return ypi_measure_batch_begin(m);
}

static bool begin_sampling(struct yp_measurement *m, double batch_seconds)
{
    if (ypi_accelerated_wants_graph(m)) {
        m->state = YPI_MEASURE_CAPTURING;
        return ypi_measure_batch_begin(m);
    }
    bool turns = ypi_measure_in_turns(m);
    ypi_child_framework_begins(m->t);
    /* The pool that the work uses is there by now. */
    ypi_bind_self(ypi_child_job(m->t)->bind);
    ypi_bind_threads(ypi_child_job(m->t)->bind);
    if (m->roofline != NULL)
        ypi_roofline_probe(m->roofline, &m->measured);
    if (!turns)
        ypi_noise_mark(&m->noise);
    ypi_child_framework_ends(m->t);
    m->state = YPI_MEASURE_SAMPLING;
    m->started = m->stretch = ypi_now();
    if (turns)
        return ypi_turns_begin(m) ? begin_turn(m, batch_seconds)
                                  : ypi_measure_finish(m, YPI_STOP_FIXED);
    m->next_check = (size_t)m->options.min_samples;
    if (m->measured.kind == YPI_MEASURED_SERVE)
        m->arrivals = ypi_arrivals_open(&m->serve, yp_seed(m->t), ypi_now());
    else if (m->roofline != NULL && settles(m, batch_seconds))
        m->state = YPI_MEASURE_SETTLING;
    return ypi_measure_batch_begin(m);
}

static double warmup_of(const struct yp_measurement *m)
{
    return ypi_measure_in_turns(m) ? TURNS_WARMUP_SECONDS : WARMUP_SECONDS;
}

/* Warm-up also finds the batch: doubled until it is long enough to be timed, or until warm-up has
 * taken so long that hardly any of it is timed: the rest is paused, or on another stream. */
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
    const bool too_long = (m->pauses || o->manual_time || m->accelerated != NULL) &&
                          m->warm_seconds >= 10 * warmup_of(m);
    const bool too_short_here = !serve && !alone(m) && seconds < least && m->batch < MAX_BATCH;
    const bool enough_here = fixed ? m->measured.warmup >= (uint64_t)(o->warmup > 0 ? o->warmup : 1)
                                   : m->warm_seconds >= fmin(warmup_of(m), o->max_seconds / 10);
    enum { ENOUGH = 1, TOO_SHORT = 2, TOO_LONG = 4 };
    const int decision =
        ypi_together_decide(m, (enough_here ? ENOUGH : 0) | (too_short_here ? TOO_SHORT : 0) |
                                   (too_long ? TOO_LONG : 0));
    const bool too_short = (decision & TOO_SHORT) != 0;
    if (too_short && (decision & TOO_LONG) == 0) {
        m->batch *= 2;
        return ypi_measure_batch_begin(m);
    }
    if (too_short)
        ypi_accelerated_look_again(m);
    return (decision & ENOUGH) != 0 ? begin_sampling(m, seconds) : ypi_measure_batch_begin(m);
}

static void keep_sample(struct yp_measurement *m, double seconds)
{
    struct ypi_measured *measured = &m->measured;
    if (measured->count == m->capacity) {
        ypi_counting_pause(m);
        ypi_child_framework_begins(m->t);
        ypi_measure_capacity(m, 2 * m->capacity);
        ypi_child_framework_ends(m->t);
    }
    measured->samples[measured->count] = seconds / (double)m->batch;
    measured->cpu[measured->count] = m->cpu / (double)m->batch;
    measured->count++;
    ypi_tallies_keep(m);
    for (int i = 0; i < measured->phase_count; i++)
        measured->phases[i].seconds += m->phase_seconds[i] / (double)m->batch;
    if (m->growth != NULL)
        ypi_growth_look(m->growth, measured->count * m->batch, m);
}

/* How many samples there may be is the body's affair; when to stop is not. */
static bool sample_of_turn(struct yp_measurement *m, double seconds)
{
    bool turned = false;
    if (!ypi_turns_batch(m, seconds, &turned))
        return ypi_measure_finish(m, YPI_STOP_FIXED);
    if (m->options.samples > 0 && m->measured.count >= (size_t)m->options.samples)
        return ypi_measure_finish(m, YPI_STOP_FIXED);
    return turned ? begin_turn(m, seconds) : ypi_measure_batch_begin(m);
}

static void probe(struct yp_measurement *m)
{
    ypi_counting_pause(m);
    ypi_child_framework_begins(m->t);
    ypi_roofline_probe(m->roofline, &m->measured);
    ypi_child_framework_ends(m->t);
    m->stretch = ypi_now();
}

/* Probes and the end are for all ranks at once. */
static bool sample_together(struct yp_measurement *m, double seconds)
{
    enum { DUE = 1, STOP = 2 };
    enum ypi_stop why = YPI_STOP_TIME;
    ypi_together_keep(m, seconds);
    const bool due = m->roofline != NULL && ypi_roofline_due(m->roofline, ypi_now() - m->stretch);
    const bool stop = ypi_stop_now(m, &why);
    const int decision =
        ypi_together_decide(m, (due ? DUE : 0) | (stop ? STOP : 0) | (int)why << 2);
    if ((decision & STOP) != 0)
        return ypi_measure_finish(m, (enum ypi_stop)(decision >> 2));
    if ((decision & DUE) != 0 && m->roofline != NULL)
        probe(m);
    if ((decision & DUE) != 0 && settles(m, seconds))
        m->state = YPI_MEASURE_SETTLING;
    return ypi_measure_batch_begin(m);
}

static bool sample(struct yp_measurement *m, double seconds)
{
    enum ypi_stop why = YPI_STOP_TIME;
    seconds = ypi_slow_down(m, seconds);
    keep_sample(m, seconds);
    if (ypi_measure_in_turns(m))
        return sample_of_turn(m, seconds);
    if (m->together != NULL)
        return sample_together(m, seconds);
    if (m->arrivals != NULL || ypi_accelerated_slowed(m))
        return ypi_measure_batch_begin(m);
    bool due = m->roofline != NULL && ypi_roofline_due(m->roofline, ypi_now() - m->stretch);
    if (due)
        probe(m);
    if (ypi_stop_now(m, &why))
        return ypi_measure_finish(m, why);
    if (due && settles(m, seconds))
        m->state = YPI_MEASURE_SETTLING;
    return ypi_measure_batch_begin(m);
}

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
    bool counts = ypi_accelerated_counts(m, seconds);
    if (counts) {
        ypi_phase_read(m);
        seconds = own_seconds(m, seconds);
    }
    if (m->together != NULL)
        ypi_counting_pause(m);
    seconds = ypi_together_slowest(m, seconds, &counts);
    if (!counts)
        return ypi_measure_batch_begin(m);
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

/* Measuring on an accelerator: work is launched before it runs, nothing of it goes on elsewhere,
 * and what slows the device is seen. */
#include "base/system/clock.h"
#include "base/text/text.h"
#include "harness/measure/measurement.h"

#include "device/backend.h"
#include "device/registry.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Work whose launches take longer than this, or that waits for its own results, cannot be held. */
#define HOLD_SECONDS 0.02
/* A sample that was not held though others were: the processor was taken away meanwhile. */
enum { LATE_MAX = 3 };
/* Other streams are looked at after this many batches; the shortest of their times is believed, for
 * what disturbs the processor only makes them longer. */
enum { LOOKS = 3 };
#define OTHERS_SECONDS 100e-6
#define OTHERS_PART 0.05
#define ONE_LOOK_SECONDS 2e-3 /* where there was no second look */
/* How often the device is asked for its clocks, which takes it up to a millisecond. */
#define CONDITION_SECONDS 0.02
enum { AGAIN_MAX = 3 }; /* stretches; then the device is taken as it is */

struct ypi_accelerated {
    struct yp_device *device;
    bool hold, holding, late;
    struct ypi_graph *graph; /* NULL: the body launches */
    int batches, lates;
    int looks;
    double held_at, launching; /* seconds: when the hold began, of all holds that were in time */
    int holds;
    double others, shortest; /* seconds: of others after the end, of a batch */
    double looked;           /* when the device was last asked */
    size_t first;            /* sample of the stretch */
    bool power_capped;       /* as of the last look */
    int again;
    double clocks, powers, utilisations; /* sums over `conditions` */
    int conditions;
};

struct ypi_accelerated *ypi_accelerated_open(struct yp_device *device, const char *name)
{
    struct ypi_accelerated *a = ypi_calloc(1, sizeof *a);
    a->device = device;
    a->hold = device->backend->hold != NULL;
    a->others = a->shortest = INFINITY;
    if (device->backend->range != NULL)
        device->backend->range(name);
    return a;
}

/* -- around a batch -------------------------------------------------------------------------- */

void ypi_accelerated_begin(struct yp_measurement *m)
{
    struct ypi_accelerated *a = m->accelerated;
    if (a == NULL)
        return;
    /* The first time a kernel is loaded, which waits for the whole device. */
    a->holding = ++a->batches > 1 && a->hold && m->arrivals == NULL &&
                 a->device->backend->hold(m->stream, HOLD_SECONDS) == YP_OK;
    a->held_at = ypi_now();
}

void ypi_accelerated_end(struct yp_measurement *m)
{
    struct ypi_accelerated *a = m->accelerated;
    if (a == NULL)
        return;
    double launching = ypi_now() - a->held_at;
    a->late = a->holding && !a->device->backend->release(m->stream);
    if (a->holding && !a->late) {
        a->launching += launching;
        a->holds++;
    }
    a->holding = false;
}

/* -- graphs ------------------------------------------------------------------------------------ */

bool ypi_accelerated_wants_graph(const struct yp_measurement *m)
{
    const struct ypi_accelerated *a = m->accelerated;
    return a != NULL && m->options.graph && a->graph == NULL && m->arrivals == NULL;
}

static void refuse_graph(struct yp_measurement *m)
{
    ypi_child_quit(m->t, YPI_CAUSE_USAGE, "yp_measure '%s': .graph: %s", m->measured.name,
                   yp_last_error());
}

void ypi_accelerated_capture_begin(struct yp_measurement *m)
{
    const struct ypi_backend *backend = m->device->backend;
    if (backend->capture_begin == NULL) {
        yp_set_error(YP_UNSUPPORTED, "this device has no graphs");
        refuse_graph(m);
    }
    ypi_child_captures(m->t, true);
    if (backend->capture_begin(m->stream) != YP_OK)
        refuse_graph(m);
}

void ypi_accelerated_capture_end(struct yp_measurement *m)
{
    ypi_child_captures(m->t, false);
    if (m->device->backend->capture_end(m->stream, &m->accelerated->graph) != YP_OK)
        refuse_graph(m);
}

bool ypi_accelerated_captures(const struct yp_measurement *m)
{
    return m != NULL && m->state == YPI_MEASURE_CAPTURING;
}

bool ypi_accelerated_replays(const struct yp_measurement *m)
{
    return m->accelerated != NULL && m->accelerated->graph != NULL;
}

/* What goes wrong with it shows in the batch's events. */
void ypi_accelerated_replay(struct yp_measurement *m)
{
    (void)m->device->backend->replay(m->accelerated->graph, m->stream);
}

/* -- other streams --------------------------------------------------------------------------- */

static void fail_others(struct yp_measurement *m)
{
    const struct ypi_accelerated *a = m->accelerated;
    ypi_child_quit(m->t, YPI_CAUSE_USAGE,
                   "yp_measure '%s': work goes on for %.3g ms on another stream after the end of "
                   "the measured one: launch it on yp_stream_native(yp_device_stream(device)), or "
                   "let that stream wait for it",
                   m->measured.name, a->others * 1e3);
}

static void look_at_others(struct yp_measurement *m, double seconds)
{
    struct ypi_accelerated *a = m->accelerated;
    if (a->looks >= LOOKS || a->device->backend->others_after == NULL || m->arrivals != NULL)
        return;
    a->looks++;
    a->others = fmin(a->others, a->device->backend->others_after(m->end));
    a->shortest = fmin(a->shortest, seconds);
    if (a->looks == LOOKS && a->others > OTHERS_SECONDS && a->others > OTHERS_PART * a->shortest)
        fail_others(m);
}

void ypi_accelerated_look_again(struct yp_measurement *m)
{
    struct ypi_accelerated *a = m->accelerated;
    if (a == NULL)
        return;
    a->looks = 0;
    a->others = a->shortest = INFINITY;
}

/* -- what the device itself does -------------------------------------------------------------- */

/* Whether it is slowed down now. */
static bool look_at_device(struct yp_measurement *m)
{
    struct ypi_accelerated *a = m->accelerated;
    struct ypi_on_device *seen = &m->measured.on_device;
    struct ypi_condition now;
    a->looked = ypi_now();
    if (a->device->backend->condition == NULL || !a->device->backend->condition(a->device, &now))
        return false;
    a->power_capped = (now.throttled & YPI_POWER_CAPPED) != 0;
    a->conditions++;
    a->clocks += now.clock;
    a->powers += now.power;
    a->utilisations += now.utilisation;
    seen->clock_min = fmin(seen->clock_min, now.clock);
    seen->clock_max = now.clock_max;
    seen->temperature = fmax(seen->temperature, now.temperature);
    seen->used = fmax(seen->used, now.used);
    seen->throttled |= now.throttled;
    return ypi_condition_is_slow(&now);
}

/* -- verdicts on a batch ---------------------------------------------------------------------- */

bool ypi_accelerated_was_first(const struct yp_measurement *m)
{
    return m->accelerated != NULL && m->accelerated->batches == 1;
}

bool ypi_accelerated_counts(struct yp_measurement *m, double seconds)
{
    struct ypi_accelerated *a = m->accelerated;
    if (a == NULL)
        return true;
    if (isnan(seconds))
        ypi_child_quit(m->t, YPI_CAUSE_DEVICE, "yp_measure '%s': %s", m->measured.name,
                       yp_last_error());
    look_at_others(m, seconds);
    if (!a->late)
        return true;
    a->lates++;
    if (m->state == YPI_MEASURE_WARMING || a->lates >= LATE_MAX)
        a->hold = false;
    return m->state != YPI_MEASURE_SAMPLING;
}

static void set_aside(struct yp_measurement *m)
{
    struct ypi_accelerated *a = m->accelerated;
    struct ypi_measured *measured = &m->measured;
    size_t count = measured->count - a->first;
    measured->slowed =
        ypi_realloc(measured->slowed, measured->slowed_count + count, sizeof *measured->slowed);
    memcpy(measured->slowed + measured->slowed_count, measured->samples + a->first,
           count * sizeof(double));
    measured->slowed_count += count;
    measured->count = a->first;
    a->again++;
}

static void keep_stretch(struct yp_measurement *m)
{
    struct ypi_accelerated *a = m->accelerated;
    if (a->power_capped)
        m->measured.on_device.power_capped += m->measured.count - a->first;
    a->first = m->measured.count;
}

bool ypi_accelerated_slowed(struct yp_measurement *m)
{
    struct ypi_accelerated *a = m->accelerated;
    if (a == NULL)
        return false;
    if (m->measured.count > a->first && ypi_now() - a->looked < CONDITION_SECONDS)
        return false;
    bool slow = look_at_device(m) && m->measured.count > a->first;
    if (slow && a->again < AGAIN_MAX) {
        set_aside(m);
        return true;
    }
    keep_stretch(m);
    return false;
}

static void take_memory(struct yp_device *device, struct ypi_on_device *seen)
{
    struct yp_memory memory;
    yp_device_memory(device, &memory);
    if (memory.allocated_peak > 0)
        seen->reserved = (double)memory.reserved_peak / (double)memory.allocated_peak;
    if (memory.granule > 0)
        seen->granule = (double)memory.granule;
}

void ypi_accelerated_close(struct yp_measurement *m)
{
    struct ypi_accelerated *a = m->accelerated;
    struct ypi_on_device *seen = &m->measured.on_device;
    if (a == NULL)
        return;
    bool left = a->looks > 0 && a->looks < LOOKS && a->others > ONE_LOOK_SECONDS &&
                a->others > OTHERS_PART * a->shortest;
    (void)look_at_device(m);
    keep_stretch(m);
    seen->there = true;
    seen->opening = ypi_device_opening();
    take_memory(a->device, seen);
    seen->held = a->hold && a->batches > 1;
    seen->launching = a->holds > 0 ? a->launching / a->holds : NAN;
    seen->clock = a->conditions > 0 ? a->clocks / a->conditions : NAN;
    seen->power = a->conditions > 0 ? a->powers / a->conditions : NAN;
    seen->utilisation = a->conditions > 0 ? a->utilisations / a->conditions : NAN;
    if (left)
        ypi_child_fail(m->t, YPI_CAUSE_USAGE, NULL, 0,
                       "yp_measure '%s': work goes on for %.3g ms on another stream after the end "
                       "of the measured one",
                       m->measured.name, a->others * 1e3);
    if (a->device->backend->range != NULL)
        a->device->backend->range(NULL);
    seen->replayed = a->graph != NULL;
    if (a->graph != NULL)
        a->device->backend->graph_destroy(a->graph);
    free(a);
    m->accelerated = NULL;
}

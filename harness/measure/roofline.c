/*
 * Ceilings beside the samples: short probes before, between and after stretches of them, so that
 * what a machine could do is known of the same second in which it was asked for. Whatever slows the
 * processor slows both.
 *
 * The roofline: Williams, Waterman and Patterson, "Roofline: an insightful visual performance model
 * for multicore architectures", CACM 52 (2009).
 */
#include "base/system/clock.h"
#include "base/text/text.h"
#include "device/cpu/task.h"
#include "harness/measure/measurement.h"
#include "harness/run/process.h"

#include "device/backend.h"
#include "device/ceiling/ceiling.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* A probe is the best of some short runs: what disturbs one only ever makes it slower. */
#define PROBE_SECONDS 0.001
enum { PROBE_RUNS = 4 };
#define STRETCH_SECONDS 0.02
/* A bound that is so much farther away than the other is not probed again. */
#define FARTHER 1.5
/* A pool of threads may watch for more work for some milliseconds before it sleeps. */
#define QUIET_SECONDS 0.05
#define QUIET_LOOK_NS 200000

struct bound {
    struct ypi_probe *probe;               /* both NULL: no such work, or it cannot be probed */
    struct ypi_device_probe *device_probe; /* of an accelerator's */
    double *rates;                         /* of all probes */
    size_t count, capacity;
    bool far;
};

struct ypi_roofline {
    struct yp_device *device;
    struct bound bounds[YPI_BOUNDS];
    bool each;
    bool probed;   /* once at least */
    size_t shared; /* samples that are in a share already */
    size_t share_capacity;
};

static bool is_traffic(enum yp_ceiling ceiling)
{
    return ceiling == YP_READ || ceiling == YP_COPY || ceiling == YP_FILL;
}

static struct bound open_device_bound(struct yp_device *device, struct ypi_ceiling *measured,
                                      enum yp_ceiling ceiling, double footprint, double work)
{
    struct bound b = {0};
    *measured = (struct ypi_ceiling){
        .ceiling = ceiling, .rate = NAN, .low = NAN, .high = NAN, .work = work};
    if (work > 0 && device->backend->probe_open != NULL)
        b.device_probe = device->backend->probe_open(device, ceiling, footprint);
    if (b.device_probe != NULL)
        snprintf(measured->level, sizeof measured->level, "%s",
                 device->backend->probe_level(b.device_probe));
    return b;
}

static struct bound open_bound(struct ypi_ceiling *measured, enum yp_ceiling ceiling,
                               const struct yp_measure_options *o, double work)
{
    struct ypi_level level = ypi_level_of(o->footprint, o->threads);
    struct bound b = {0};
    *measured = (struct ypi_ceiling){.ceiling = ceiling,
                                     .threads = o->threads,
                                     .rate = NAN,
                                     .low = NAN,
                                     .high = NAN,
                                     .work = work};
    if (is_traffic(ceiling))
        memcpy(measured->level, level.name, sizeof measured->level);
    if (work > 0)
        b.probe =
            ypi_probe_open(ceiling, is_traffic(ceiling) ? &level : NULL, o->threads, yp_isa());
    return b;
}

struct ypi_roofline *ypi_roofline_open(struct yp_device *device,
                                       const struct yp_measure_options *options,
                                       struct ypi_measured *measured, bool each)
{
    struct ypi_roofline *r = ypi_calloc(1, sizeof *r);
    r->each = each;
    r->device = device;
    if (device->backend->kind == YP_DEVICE) {
        for (int i = 0; i < YPI_BOUNDS; i++)
            r->bounds[i] = open_device_bound(
                device, &measured->bounds[i],
                i == YPI_BOUND_ARITHMETIC ? options->arithmetic : options->traffic,
                options->footprint, i == YPI_BOUND_ARITHMETIC ? options->flops : options->bytes);
        return r;
    }
    r->bounds[YPI_BOUND_ARITHMETIC] = open_bound(&measured->bounds[YPI_BOUND_ARITHMETIC],
                                                 options->arithmetic, options, options->flops);
    r->bounds[YPI_BOUND_TRAFFIC] =
        open_bound(&measured->bounds[YPI_BOUND_TRAFFIC], options->traffic, options, options->bytes);
    return r;
}

/* Whether another thread of this process is running, by its state: its processor time is brought up
 * to date only every few milliseconds. */
static bool others_run(void)
{
    enum { CAPACITY = 1024 };
    pid_t tasks[CAPACITY];
    int count = ypi_tasks("", tasks, CAPACITY);
    pid_t self = gettid();
    for (int i = 0; i < count && i < CAPACITY; i++)
        if (tasks[i] != self && ypi_process_state(tasks[i]) == 'R')
            return true;
    return false;
}

/* Until the work's own threads are asleep: the probe wants their processors. */
static void wait_for_quiet(void)
{
    static const struct timespec pause = {.tv_nsec = QUIET_LOOK_NS};
    double end = ypi_now() + QUIET_SECONDS;
    while (others_run() && ypi_now() < end)
        nanosleep(&pause, NULL);
}

static void append(double **list, size_t *count, size_t *capacity, double value)
{
    if (*count == *capacity) {
        *capacity = *capacity > 0 ? 2 * *capacity : 32;
        *list = ypi_realloc(*list, *capacity, sizeof **list);
    }
    (*list)[(*count)++] = value;
}

/* The seconds that the declared work takes at the ceilings as they were lately: the better of the
 * last two probes, or the one there is. */
static double bound_seconds(const struct ypi_roofline *r, const struct ypi_measured *measured)
{
    double longest = NAN;
    for (int i = 0; i < YPI_BOUNDS; i++) {
        const struct bound *b = &r->bounds[i];
        if (b->count == 0 && measured->bounds[i].work > 0)
            return NAN; /* could not be probed: what bounds the work is not known */
        if (b->count == 0)
            continue;
        double rate = b->rates[b->count - 1];
        if (b->count > 1)
            rate = fmax(rate, b->rates[b->count - 2]);
        longest = fmax(longest, measured->bounds[i].work / rate);
    }
    return longest;
}

static void leave_the_farther_alone(struct ypi_roofline *r, const struct ypi_measured *measured)
{
    struct bound *b = r->bounds;
    if (b[0].count == 0 || b[1].count == 0)
        return;
    double first = measured->bounds[0].work / b[0].rates[b[0].count - 1];
    double second = measured->bounds[1].work / b[1].rates[b[1].count - 1];
    b[0].far = first * FARTHER < second;
    b[1].far = second * FARTHER < first;
}

static bool has_probe(const struct bound *b)
{
    return b->probe != NULL || b->device_probe != NULL;
}

static double probe(const struct ypi_roofline *r, const struct bound *b)
{
    double best = 0;
    for (int i = 0; i < PROBE_RUNS; i++)
        best = fmax(best, b->probe != NULL
                              ? ypi_probe_run(b->probe, PROBE_SECONDS)
                              : r->device->backend->probe_run(b->device_probe, PROBE_SECONDS));
    return best;
}

void ypi_roofline_probe(struct ypi_roofline *r, struct ypi_measured *measured)
{
    if (!has_probe(&r->bounds[0]) && !has_probe(&r->bounds[1]))
        return;
    /* No samples since the last probe: another one would speak of none. */
    if (r->probed && measured->count == r->shared)
        return;
    r->probed = true;
    if (measured->count < r->shared) /* some were set aside */
        r->shared = measured->count;
    if (r->device->backend->kind == YP_HOST)
        wait_for_quiet();
    else
        (void)yp_device_synchronize(r->device);
    for (int i = 0; i < YPI_BOUNDS; i++) {
        struct bound *b = &r->bounds[i];
        double rate = has_probe(b) && !b->far ? probe(r, b) : 0;
        if (rate > 0) /* a device that has failed tells none */
            append(&b->rates, &b->count, &b->capacity, rate);
    }
    if (measured->count > r->shared) {
        struct ypi_estimate stretch =
            ypi_estimate(measured->samples + r->shared, measured->count - r->shared);
        double share = bound_seconds(r, measured) / stretch.median;
        if (!isnan(share))
            append(&measured->shares, &measured->share_count, &r->share_capacity, share);
    }
    r->shared = measured->count;
    if (r->each)
        leave_the_farther_alone(r, measured);
}

bool ypi_roofline_due(const struct ypi_roofline *r, double stretch)
{
    return r->each && stretch >= STRETCH_SECONDS;
}

size_t ypi_roofline_bytes(const struct ypi_roofline *r)
{
    size_t bytes = 0;
    for (int i = 0; i < YPI_BOUNDS; i++)
        bytes += r->bounds[i].probe != NULL ? ypi_probe_bytes(r->bounds[i].probe) : 0;
    return bytes;
}

static void tell_bound(const struct bound *b, struct ypi_ceiling *measured)
{
    struct ypi_estimate e = ypi_estimate(b->rates, b->count);
    measured->probes = (int)b->count;
    measured->rate = e.median;
    measured->low = e.min;
    measured->high = e.max;
}

void ypi_roofline_close(struct ypi_roofline *r, struct ypi_measured *measured)
{
    double longest = 0;
    measured->bound = -1;
    for (int i = 0; i < YPI_BOUNDS; i++) {
        struct bound *b = &r->bounds[i];
        tell_bound(b, &measured->bounds[i]);
        double seconds = measured->bounds[i].work / measured->bounds[i].rate;
        if (b->count > 0 && seconds > longest) {
            longest = seconds;
            measured->bound = i;
        }
        ypi_probe_close(b->probe);
        if (b->device_probe != NULL)
            r->device->backend->probe_close(b->device_probe);
        free(b->rates);
    }
    free(r);
}

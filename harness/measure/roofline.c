/*
 * Ceilings beside the samples: short probes before, between and after stretches of them, so that
 * what a machine could do is known of the same second in which it was asked for. Whatever slows the
 * processor slows both.
 *
 * The roofline: Williams, Waterman and Patterson, "Roofline: an insightful visual performance model
 * for multicore architectures", CACM 52 (2009).
 */
#include "base/system/clock.h"
#include "base/system/process.h"
#include "base/text/text.h"
#include "device/cpu/task.h"
#include "harness/measure/measurement.h"

#include "device/backend.h"
#include "device/ceiling/ceiling.h"
#include "ranks/link.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* A probe is the best of some short runs: what disturbs one only ever makes it slower. */
#define PROBE_SECONDS 0.001
enum { PROBE_RUNS = 4 };
/* So many ceilings are probed in full at first; of more, one run each tells which are far. */
enum { PROBED_AT_ONCE = 2 };
#define STRETCH_SECONDS 0.02
/* A bound that is so much farther away than the nearest of its step is not probed again, nor are
 * those of a step that is so small a part of all. */
#define FARTHER 1.5
#define SMALL_PART 0.05
/* A pool of threads may watch for more work for some milliseconds before it sleeps. */
#define QUIET_SECONDS 0.05
#define QUIET_LOOK_NS 200000

/* A ceiling, which may be that of several bounds. */
struct ceiling {
    enum yp_ceiling ceiling;
    char level[sizeof((struct ypi_ceiling *)0)->level];
    struct ypi_probe *probe;               /* all NULL: it cannot be probed */
    struct ypi_device_probe *device_probe; /* of an accelerator's */
    struct ypk_link *link;                 /* of an exchange among ranks ... */
    double size, bus;                      /* ... with its bytes, and those of the bus */
    double *rates;                         /* of all probes */
    size_t count, capacity;
    bool far;
};

struct ypi_roofline {
    struct yp_device *device;
    struct ceiling ceilings[YPI_BOUNDS];
    int count;
    int of[YPI_BOUNDS];       /* which ceiling a bound has; -1: no such work */
    bool unknown[YPI_BOUNDS]; /* which level of memory it means was not declared */
    bool each;
    bool probed;   /* once at least */
    size_t shared; /* samples that are in a share already */
    size_t share_capacity;
};

/* -- what to probe ------------------------------------------------------------------------- */

static bool has_levels(enum yp_ceiling ceiling)
{
    return ceiling == YP_READ || ceiling == YP_COPY || ceiling == YP_FILL;
}

static void open_on_device(struct ceiling *c, struct yp_device *device, double footprint)
{
    if (device->backend->probe_open != NULL)
        c->device_probe = device->backend->probe_open(device, c->ceiling, fmax(0, footprint));
    if (c->device_probe != NULL)
        snprintf(c->level, sizeof c->level, "%s", device->backend->probe_level(c->device_probe));
}

static int find(const struct ypi_roofline *r, const struct ceiling *c)
{
    for (int i = 0; i < r->count; i++)
        if (r->ceilings[i].ceiling == c->ceiling && r->ceilings[i].size == c->size &&
            strcmp(r->ceilings[i].level, c->level) == 0)
            return i;
    return -1;
}

static int add(struct ypi_roofline *r, const struct ceiling *c)
{
    r->ceilings[r->count] = *c;
    return r->count++;
}

/* The ceiling of a bound of an accelerator: which level is meant, its probe knows. */
static int device_ceiling(struct ypi_roofline *r, const struct ypi_ceiling *bound)
{
    struct ceiling c = {.ceiling = bound->ceiling};
    open_on_device(&c, r->device, bound->footprint);
    int there = find(r, &c);
    if (there < 0)
        return add(r, &c);
    if (c.device_probe != NULL)
        r->device->backend->probe_close(c.device_probe);
    return there;
}

static int host_ceiling(struct ypi_roofline *r, const struct ypi_ceiling *bound, int threads)
{
    struct ypi_level level = ypi_level_of(bound->footprint, threads);
    struct ceiling c = {.ceiling = bound->ceiling};
    if (has_levels(bound->ceiling))
        memcpy(c.level, level.name, sizeof c.level);
    int there = find(r, &c);
    if (there >= 0)
        return there;
    c.probe = ypi_probe_open(bound->ceiling, has_levels(bound->ceiling) ? &level : NULL, threads,
                             yp_isa());
    return add(r, &c);
}

/* Its rate depends on its size. That of accelerators' memory cannot be probed. */
static int exchange_ceiling(struct ypi_roofline *r, const struct ypi_ceiling *bound,
                            struct ypk_communicator *ranks)
{
    struct ceiling c = {.ceiling = bound->ceiling, .size = bound->footprint, .bus = bound->work};
    memcpy(c.level, bound->level, sizeof c.level);
    const int there = find(r, &c);
    if (there >= 0)
        return there;
    if (r->device->backend->kind == YP_HOST &&
        ypk_link_open(&c.link, ranks, ypi_probe_of_exchange(c.ceiling), (size_t)c.size) != YP_OK)
        c.link = NULL; /* a rank is missing, which the next call says */
    return add(r, &c);
}

/* Whether a step has no other bound than bytes of an unknown level: whatever else is probed, there
 * is no share. */
static bool is_hopeless(const struct ypi_roofline *r, const struct ypi_measured *measured)
{
    bool known[YPI_BOUNDS] = {false};
    for (int i = 0; i < YPI_BOUNDS; i++)
        if (measured->bounds[i].work > 0 && !r->unknown[i])
            known[measured->bounds[i].stage] = true;
    for (int i = 0; i < YPI_BOUNDS; i++)
        if (measured->bounds[i].work > 0 && !known[measured->bounds[i].stage])
            return true;
    return false;
}

struct ypi_roofline *ypi_roofline_open(struct yp_device *device, struct ypi_measured *measured,
                                       bool each, struct ypk_communicator *ranks)
{
    struct ypi_roofline *r = ypi_calloc(1, sizeof *r);
    bool host = device->backend->kind == YP_HOST;
    r->each = each;
    r->device = device;
    for (int i = 0; i < YPI_BOUNDS; i++) {
        const struct ypi_ceiling *b = &measured->bounds[i];
        r->of[i] = -1;
        r->unknown[i] = has_levels(b->ceiling) && b->footprint == 0 && !measured->cold;
    }
    bool hopeless = is_hopeless(r, measured);
    for (int i = 0; i < YPI_BOUNDS; i++) {
        struct ypi_ceiling *b = &measured->bounds[i];
        b->threads = ypi_is_exchange(b->ceiling) ? ypk_size(ranks) : host ? measured->threads : 0;
        if (!(b->work > 0) || hopeless)
            continue;
        r->of[i] = ypi_is_exchange(b->ceiling) ? exchange_ceiling(r, b, ranks)
                   : host                      ? host_ceiling(r, b, measured->threads)
                                               : device_ceiling(r, b);
        memcpy(b->level, r->ceilings[r->of[i]].level, sizeof b->level);
    }
    return r;
}

/* -- probing ------------------------------------------------------------------------------- */

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

/* The better of the last two probes, or the one there is; NaN: none. */
static double lately(const struct ceiling *c)
{
    if (c->count == 0)
        return NAN; /* could not be probed: what bounds the work is not known */
    return c->count > 1 ? fmax(c->rates[c->count - 1], c->rates[c->count - 2]) : c->rates[0];
}

static double newest(const struct ceiling *c)
{
    return c->count > 0 ? c->rates[c->count - 1] : NAN;
}

/* Seconds that each bound takes at the rate of its ceiling; 0: no such bound. */
static void bound_seconds(const struct ypi_roofline *r, const struct ypi_measured *measured,
                          double (*rate)(const struct ceiling *), double out[YPI_BOUNDS])
{
    for (int i = 0; i < YPI_BOUNDS; i++)
        out[i] = r->of[i] >= 0 ? measured->bounds[i].work / rate(&r->ceilings[r->of[i]]) : 0;
}

/* The least time of the declared work at the ceilings as they were lately; NaN where it is not
 * known. */
static double least_seconds(const struct ypi_roofline *r, const struct ypi_measured *measured)
{
    double seconds[YPI_BOUNDS];
    int nearest[YPI_BOUNDS];
    bound_seconds(r, measured, lately, seconds);
    double sum = ypi_nearest_bounds(measured, seconds, nearest);
    for (int stage = 0; stage < YPI_BOUNDS; stage++)
        if (nearest[stage] >= 0 && r->unknown[nearest[stage]])
            return NAN;
    return sum > 0 ? sum : NAN;
}

static void leave_the_farther_alone(struct ypi_roofline *r, const struct ypi_measured *measured)
{
    double seconds[YPI_BOUNDS];
    int nearest[YPI_BOUNDS];
    bound_seconds(r, measured, newest, seconds);
    double sum = ypi_nearest_bounds(measured, seconds, nearest);
    if (isnan(sum))
        return;
    for (int i = 0; i < r->count; i++)
        r->ceilings[i].far = r->ceilings[i].link == NULL; /* all ranks must probe it */
    for (int i = 0; i < YPI_BOUNDS; i++) {
        if (r->of[i] < 0)
            continue;
        double longest = seconds[nearest[measured->bounds[i].stage]];
        if (seconds[i] * FARTHER >= longest && longest >= SMALL_PART * sum)
            r->ceilings[r->of[i]].far = false;
    }
}

/* All ranks have the same times, and so stop together. Large copies take longer than a probe
 * should; two runs are of two kinds. */
static double probe_link(const struct ceiling *c, int runs)
{
    double best = 0;
    double spent = 0;
    for (int i = 0; i < runs && (i < 2 || spent < STRETCH_SECONDS); i++) {
        double seconds = 0;
        if (ypk_link_run(c->link, PROBE_SECONDS, &seconds) != YP_OK)
            return 0;
        best = fmax(best, c->bus / seconds);
        spent += seconds;
    }
    return best;
}

static double probe(const struct ypi_roofline *r, const struct ceiling *c, int runs)
{
    double best = 0;
    if (c->link != NULL)
        return probe_link(c, runs);
    for (int i = 0; i < runs; i++)
        best = fmax(best, c->probe != NULL
                              ? ypi_probe_run(c->probe, PROBE_SECONDS)
                              : r->device->backend->probe_run(c->device_probe, PROBE_SECONDS));
    return best;
}

static void probe_all(struct ypi_roofline *r, int runs)
{
    for (int i = 0; i < r->count; i++) {
        struct ceiling *c = &r->ceilings[i];
        bool can = c->probe != NULL || c->device_probe != NULL || c->link != NULL;
        double rate = can && !c->far ? probe(r, c, runs) : 0;
        if (rate > 0) /* a device that has failed tells none */
            append(&c->rates, &c->count, &c->capacity, rate);
    }
}

/* The first time: one run of each ceiling, then as many as ever of those that are near. */
static void probe_many(struct ypi_roofline *r, const struct ypi_measured *measured)
{
    probe_all(r, 1);
    leave_the_farther_alone(r, measured);
    for (int i = 0; i < r->count; i++) {
        struct ceiling *c = &r->ceilings[i];
        if (c->count > 0 && !c->far)
            c->rates[0] = fmax(c->rates[0], probe(r, c, PROBE_RUNS - 1));
    }
}

static void add_share(struct ypi_roofline *r, struct ypi_measured *measured)
{
    struct ypi_estimate stretch =
        ypi_estimate(measured->samples + r->shared, measured->count - r->shared);
    double share = least_seconds(r, measured) / stretch.median;
    if (!isnan(share))
        append(&measured->shares, &measured->share_count, &r->share_capacity, share);
}

void ypi_roofline_probe(struct ypi_roofline *r, struct ypi_measured *measured)
{
    if (r->count == 0)
        return;
    /* No samples since the last probe: another one would speak of none. */
    if (r->probed && measured->count == r->shared)
        return;
    if (measured->count < r->shared) /* some were set aside */
        r->shared = measured->count;
    if (r->device->backend->kind == YP_HOST)
        wait_for_quiet();
    else
        (void)yp_device_synchronize(r->device);
    if (!r->probed && r->count > PROBED_AT_ONCE)
        probe_many(r, measured);
    else
        probe_all(r, PROBE_RUNS);
    r->probed = true;
    if (measured->count > r->shared)
        add_share(r, measured);
    r->shared = measured->count;
    leave_the_farther_alone(r, measured);
}

bool ypi_roofline_due(const struct ypi_roofline *r, double stretch)
{
    return r->each && stretch >= STRETCH_SECONDS;
}

/* -- what is stored -------------------------------------------------------------------------- */

static void take_ceilings(const struct ypi_roofline *r, struct ypi_measured *measured)
{
    for (int i = 0; i < YPI_BOUNDS; i++) {
        struct ypi_ceiling *b = &measured->bounds[i];
        if (r->of[i] < 0)
            continue;
        const struct ceiling *c = &r->ceilings[r->of[i]];
        struct ypi_estimate e = ypi_estimate(c->rates, c->count);
        b->probes = (int)c->count;
        b->rate = e.median;
        b->low = e.min;
        b->high = e.max;
    }
}

/* Of the ceilings that were probed. */
static int find_bound(const struct ypi_roofline *r, const struct ypi_measured *measured)
{
    double seconds[YPI_BOUNDS] = {0};
    int nearest[YPI_BOUNDS];
    int bound = -1;
    for (int i = 0; i < YPI_BOUNDS; i++)
        if (measured->bounds[i].probes > 0)
            seconds[i] = measured->bounds[i].work / measured->bounds[i].rate;
    (void)ypi_nearest_bounds(measured, seconds, nearest);
    for (int stage = 0; stage < YPI_BOUNDS; stage++) {
        if (nearest[stage] < 0)
            continue;
        if (r->unknown[nearest[stage]])
            return -1;
        if (bound < 0 || seconds[nearest[stage]] > seconds[bound])
            bound = nearest[stage];
    }
    return bound;
}

void ypi_roofline_close(struct ypi_roofline *r, struct ypi_measured *measured)
{
    take_ceilings(r, measured);
    measured->bound = find_bound(r, measured);
    for (int i = 0; i < r->count; i++) {
        struct ceiling *c = &r->ceilings[i];
        ypi_probe_close(c->probe);
        ypk_link_close(c->link);
        if (c->device_probe != NULL)
            r->device->backend->probe_close(c->device_probe);
        free(c->rates);
    }
    free(r);
}

/* The CPU as a device: heap memory, streams with nothing in them, since work is done when it is
 * called, events that read the clock. */
#include "device/backend.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define ALIGNMENT ((size_t)64)
#define LIVE UINT64_C(0x79696c64706f6e74)

/* Stands in the 64 bytes before every block, so that freeing needs no table. */
struct header {
    uint64_t mark;
    uint64_t bytes;
};

struct event {
    struct yp_event base;
    struct timespec at;
    bool recorded;
};

static const struct ypi_backend backend;
static struct yp_device cpu = {.backend = &backend};
static struct yp_stream only_stream = {.device = &cpu};
static _Atomic uint64_t reserved, reserved_peak;

/* Addresses given back lately: what a block that is freed twice had in front of it may be another's
 * by then, or, when it was large, no memory at all. */
enum { LATELY_BITS = 10 };
static _Atomic uintptr_t lately[1 << LATELY_BITS];

struct yp_device *yp_device_cpu(void)
{
    return &cpu;
}

static const char *name_of(const struct yp_device *device)
{
    (void)device;
    return "cpu";
}

static _Atomic uintptr_t *lately_of(const void *block)
{
    uint64_t mixed = (uint64_t)(uintptr_t)block * UINT64_C(0x9e3779b97f4a7c15);
    return &lately[mixed >> (64 - LATELY_BITS)];
}

static size_t whole_of(size_t bytes)
{
    return (bytes + 2 * ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

void ypi_cpu_reserve(size_t bytes)
{
    ypi_raise_peak(&reserved_peak, atomic_fetch_add(&reserved, bytes) + bytes);
}

void ypi_cpu_release(size_t bytes)
{
    atomic_fetch_sub(&reserved, bytes);
}

static void *allocate(struct yp_device *device, size_t bytes)
{
    (void)device;
    size_t whole = whole_of(bytes);
    struct header *header = aligned_alloc(ALIGNMENT, whole);
    if (header == NULL) {
        yp_set_error(YP_OUT_OF_MEMORY, "out of memory: the system refused %zu bytes", bytes);
        return NULL;
    }
    ypi_cpu_reserve(whole);
    *header = (struct header){.mark = LIVE, .bytes = bytes};
    void *block = (char *)header + ALIGNMENT;
    uintptr_t address = (uintptr_t)block;
    atomic_compare_exchange_strong(lately_of(block), &address, 0);
    return block;
}

static size_t deallocate(struct yp_device *device, void *block)
{
    (void)device;
    struct header *header = (struct header *)((char *)block - ALIGNMENT);
    uintptr_t address = (uintptr_t)block;
    if (atomic_exchange(lately_of(block), address) == address || header->mark != LIVE) {
        fprintf(stderr,
                "yp_device_free: %p was freed before, was not allocated by this device, or "
                "something was written in front of it\n",
                block);
        abort();
    }
    size_t bytes = header->bytes;
    *(volatile uint64_t *)&header->mark = 0; /* compilers drop plain stores in front of free() */
    free(header);
    ypi_cpu_release(whole_of(bytes));
    return bytes;
}

static void memory(const struct yp_device *device, struct yp_memory *out)
{
    (void)device;
    out->reserved = atomic_load(&reserved);
    out->reserved_peak = atomic_load(&reserved_peak);
}

static void reset_peak(struct yp_device *device)
{
    (void)device;
    atomic_store(&reserved_peak, atomic_load(&reserved));
}

static struct yp_stream *stream(struct yp_device *device)
{
    (void)device;
    return &only_stream;
}

static struct yp_stream *stream_create(struct yp_device *device)
{
    struct yp_stream *made = calloc(1, sizeof *made);
    if (made == NULL)
        yp_set_error(YP_OUT_OF_MEMORY, "out of memory: a stream could not be created");
    else
        made->device = device;
    return made;
}

static void stream_destroy(struct yp_stream *of)
{
    free(of);
}

static enum yp_status copy(struct yp_device *device, void *to, const void *from, size_t bytes)
{
    (void)device;
    memmove(to, from, bytes);
    return YP_OK;
}

static struct yp_event *event_create(struct yp_device *device)
{
    struct event *event = calloc(1, sizeof *event);
    if (event == NULL) {
        yp_set_error(YP_OUT_OF_MEMORY, "out of memory: an event could not be created");
        return NULL;
    }
    event->base.device = device;
    return &event->base;
}

static void event_destroy(struct yp_event *event)
{
    free(event);
}

static enum yp_status event_record(struct yp_event *event, struct yp_stream *on)
{
    (void)on;
    struct event *e = (struct event *)event;
    clock_gettime(CLOCK_MONOTONIC, &e->at);
    e->recorded = true;
    return YP_OK;
}

static double event_seconds(struct yp_event *begin, struct yp_event *end)
{
    const struct event *b = (const struct event *)begin;
    const struct event *e = (const struct event *)end;
    if (!b->recorded || !e->recorded)
        return NAN;
    return (double)(e->at.tv_sec - b->at.tv_sec) + 1e-9 * (double)(e->at.tv_nsec - b->at.tv_nsec);
}

static const struct ypi_backend backend = {
    .kind = YP_HOST,
    .name = name_of,
    .allocate = allocate,
    .deallocate = deallocate,
    .allocate_pinned = allocate,
    .deallocate_pinned = deallocate,
    .memory = memory,
    .reset_peak = reset_peak,
    .stream = stream,
    .stream_create = stream_create,
    .stream_destroy = stream_destroy,
    .copy = copy,
    .event_create = event_create,
    .event_destroy = event_destroy,
    .event_record = event_record,
    .event_seconds = event_seconds,
};

/* The CPU as a device: heap memory, streams with nothing in them, since work is done when it is
 * called, events that read the clock. */
#include "device/backend.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define ALIGNMENT ((size_t)64)
#define LIVE UINT64_C(0x79696c64706f6e74)

/* Stands in the 64 bytes before every block, so that freeing needs no table. What is left of them,
 * and 64 bytes at least behind the block, is written by nobody: see check_guards(). */
struct header {
    uint64_t mark;
    uint64_t bytes;
    unsigned char guard[ALIGNMENT - 2 * sizeof(uint64_t)];
};
_Static_assert(sizeof(struct header) == ALIGNMENT, "a block stays aligned");
#define GUARD 0xa5

/* Present in a program built with AddressSanitizer, which then tells of the very access. */
extern void __asan_poison_memory_region(const volatile void *address, size_t bytes)
    __attribute__((weak));
extern void __asan_unpoison_memory_region(const volatile void *address, size_t bytes)
    __attribute__((weak));

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

/* Header, block and guard; `bytes` at most SIZE_MAX / 2. */
static size_t whole_of(size_t bytes)
{
    return (bytes + 3 * ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

static unsigned char *end_of(struct header *header)
{
    return (unsigned char *)(header + 1) + header->bytes;
}

static size_t guard_behind(const struct header *header)
{
    return whole_of(header->bytes) - sizeof *header - header->bytes;
}

static void set_guards(struct header *header)
{
    memset(header->guard, GUARD, sizeof header->guard);
    memset(end_of(header), GUARD, guard_behind(header));
    if (__asan_poison_memory_region != NULL) {
        __asan_poison_memory_region(end_of(header), guard_behind(header));
        __asan_poison_memory_region(header, sizeof *header);
    }
}

static void (*report_damage)(const char *message);

void ypi_cpu_report_damage(void (*report)(const char *message))
{
    report_damage = report;
}

static void name_damage(const struct header *header, size_t first, size_t last, bool behind)
{
    char message[256];
    snprintf(message, sizeof message,
             "something was written %s a block of %zu bytes: %zu to %zu bytes %s",
             behind ? "behind" : "in front of", (size_t)header->bytes, first, last,
             behind ? "from its end" : "before its beginning");
    if (report_damage != NULL) {
        report_damage(message);
    } else {
        fprintf(stderr, "yp_device_free: %s\n", message);
        abort();
    }
}

/* The first byte is the guard's, and each next one is the same. */
static bool is_whole(const unsigned char *guard, size_t bytes)
{
    return guard[0] == GUARD && memcmp(guard, guard + 1, bytes - 1) == 0;
}

/* A write outside of the block is reported when the block is given back. */
static void check_guards(const struct header *header)
{
    const unsigned char *behind = (const unsigned char *)(header + 1) + header->bytes;
    const size_t sizes[] = {sizeof header->guard, guard_behind(header)};
    if (is_whole(header->guard, sizes[0]) && is_whole(behind, sizes[1]))
        return;
    for (int side = 0; side < 2; side++) {
        size_t first = 0; /* from 1: the distance to the block */
        size_t last = 0;
        for (size_t i = 1; i <= sizes[side]; i++) {
            unsigned char byte = side == 0 ? header->guard[sizes[0] - i] : behind[i - 1];
            if (byte == GUARD)
                continue;
            first = first == 0 ? i : first;
            last = i;
        }
        if (first > 0)
            name_damage(header, first, last, side == 1);
    }
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
    struct header *header =
        bytes <= SIZE_MAX / 2 ? aligned_alloc(ALIGNMENT, whole_of(bytes)) : NULL;
    if (header == NULL) {
        yp_set_error(YP_OUT_OF_MEMORY, "out of memory: the system refused %zu bytes", bytes);
        return NULL;
    }
    ypi_cpu_reserve(whole_of(bytes));
    header->mark = LIVE;
    header->bytes = bytes;
    set_guards(header);
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
    bool again = atomic_exchange(lately_of(block), address) == address;
    if (!again && __asan_unpoison_memory_region != NULL)
        __asan_unpoison_memory_region(header, sizeof *header);
    if (again || header->mark != LIVE) {
        fprintf(stderr,
                "yp_device_free: %p was freed before, was not allocated by this device, or "
                "something was written in front of it\n",
                block);
        abort();
    }
    size_t bytes = header->bytes;
    if (__asan_unpoison_memory_region != NULL)
        __asan_unpoison_memory_region(end_of(header), guard_behind(header));
    check_guards(header);
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
    long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    out->capacity = pages > 0 && page > 0 ? (uint64_t)pages * (uint64_t)page : 0;
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

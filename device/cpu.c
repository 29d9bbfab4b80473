/* The CPU as a device: accounted heap memory, one synchronous stream, events that read the clock.
 */
#include <inttypes.h>
#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <yieldpoint/device.h>

#define ALIGNMENT ((size_t)64)
#define LIVE UINT64_C(0x79696c64706f6e74)

/* Stands in the 64 bytes before every block, so that freeing needs no table. */
struct header {
    uint64_t mark;
    uint64_t bytes;
};

struct yp_stream {
    struct yp_device *device;
};

struct yp_device {
    struct yp_stream stream;
    _Atomic uint64_t allocated, allocated_peak, reserved, reserved_peak;
    _Atomic uint64_t total, allocations, frees, refused, limit;
    _Atomic uint64_t requests, fail_request; /* the latter: which one to refuse, 0: none */
};

struct yp_event {
    struct timespec at;
    bool recorded;
};

static struct yp_device cpu;

/* Addresses given back lately: what a block that is freed twice had in front of it may be another's
 * by then, or, when it was large, no memory at all. */
enum { LATELY_BITS = 10 };
static _Atomic uintptr_t lately[1 << LATELY_BITS];

struct yp_device *yp_device_cpu(void)
{
    return &cpu;
}

const char *yp_device_name(const struct yp_device *device)
{
    (void)device;
    return "cpu";
}

enum yp_memory_kind yp_device_memory_kind(const struct yp_device *device)
{
    (void)device;
    return YP_HOST;
}

static void raise_peak(_Atomic uint64_t *peak, uint64_t now)
{
    uint64_t seen = atomic_load_explicit(peak, memory_order_relaxed);
    while (now > seen && !atomic_compare_exchange_weak(peak, &seen, now)) {
    }
}

static _Atomic uintptr_t *lately_of(const void *block)
{
    uint64_t mixed = (uint64_t)(uintptr_t)block * UINT64_C(0x9e3779b97f4a7c15);
    return &lately[mixed >> (64 - LATELY_BITS)];
}

/* Takes `bytes` out of what the limit allows; false when they do not fit any more. */
static bool account(struct yp_device *device, uint64_t bytes)
{
    uint64_t limit = atomic_load(&device->limit);
    uint64_t now = atomic_load(&device->allocated);
    do {
        if (limit != 0 && (bytes > limit || now > limit - bytes)) {
            atomic_fetch_add(&device->refused, 1);
            yp_set_error(YP_OUT_OF_MEMORY,
                         "out of memory: %" PRIu64 " bytes asked of the %s, %" PRIu64
                         " of the limit of %" PRIu64 " bytes in use",
                         bytes, yp_device_name(device), now, limit);
            return false;
        }
    } while (!atomic_compare_exchange_weak(&device->allocated, &now, now + bytes));
    raise_peak(&device->allocated_peak, now + bytes);
    return true;
}

void *yp_device_alloc(struct yp_device *device, size_t bytes)
{
    if (bytes == 0 || bytes > SIZE_MAX - 2 * ALIGNMENT) {
        yp_set_error(YP_INVALID, "bytes is %zu: an allocation has 1 to %zu bytes", bytes,
                     SIZE_MAX - 2 * ALIGNMENT);
        return NULL;
    }
    uint64_t request = atomic_fetch_add(&device->requests, 1) + 1;
    if (request == atomic_load(&device->fail_request)) {
        atomic_fetch_add(&device->refused, 1);
        yp_set_error(YP_OUT_OF_MEMORY,
                     "out of memory: request %" PRIu64 " of the %s, %zu bytes, refused on purpose",
                     request, yp_device_name(device), bytes);
        return NULL;
    }
    if (!account(device, bytes))
        return NULL;

    size_t whole = (bytes + 2 * ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    struct header *header = aligned_alloc(ALIGNMENT, whole);
    if (header == NULL) {
        atomic_fetch_sub(&device->allocated, bytes);
        atomic_fetch_add(&device->refused, 1);
        yp_set_error(YP_OUT_OF_MEMORY, "out of memory: the system refused %zu bytes", bytes);
        return NULL;
    }
    uint64_t reserved = atomic_fetch_add(&device->reserved, whole) + whole;
    raise_peak(&device->reserved_peak, reserved);
    atomic_fetch_add(&device->total, bytes);
    atomic_fetch_add(&device->allocations, 1);
    *header = (struct header){.mark = LIVE, .bytes = bytes};
    void *block = (char *)header + ALIGNMENT;
    uintptr_t address = (uintptr_t)block;
    atomic_compare_exchange_strong(lately_of(block), &address, 0);
    return block;
}

void yp_device_free(struct yp_device *device, void *block)
{
    if (block == NULL)
        return;
    struct header *header = (struct header *)((char *)block - ALIGNMENT);
    uintptr_t address = (uintptr_t)block;
    if (atomic_exchange(lately_of(block), address) == address || header->mark != LIVE) {
        fprintf(stderr,
                "yp_device_free: %p was freed before, was not allocated by this device, or "
                "something was written in front of it\n",
                block);
        abort();
    }
    uint64_t bytes = header->bytes;
    *(volatile uint64_t *)&header->mark = 0; /* compilers drop plain stores in front of free() */
    free(header);
    atomic_fetch_sub(&device->allocated, bytes);
    atomic_fetch_sub(&device->reserved, (bytes + 2 * ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT);
    atomic_fetch_add(&device->frees, 1);
}

void yp_device_memory(const struct yp_device *device, struct yp_memory *out)
{
    *out = (struct yp_memory){
        .allocated = atomic_load(&device->allocated),
        .allocated_peak = atomic_load(&device->allocated_peak),
        .reserved = atomic_load(&device->reserved),
        .reserved_peak = atomic_load(&device->reserved_peak),
        .total = atomic_load(&device->total),
        .allocations = atomic_load(&device->allocations),
        .frees = atomic_load(&device->frees),
        .refused = atomic_load(&device->refused),
        .limit = atomic_load(&device->limit),
    };
}

void yp_device_reset_peak(struct yp_device *device)
{
    atomic_store(&device->allocated_peak, atomic_load(&device->allocated));
    atomic_store(&device->reserved_peak, atomic_load(&device->reserved));
}

void yp_device_set_limit(struct yp_device *device, uint64_t bytes)
{
    atomic_store(&device->limit, bytes);
}

void yp_device_fail_allocation(struct yp_device *device, uint64_t nth)
{
    uint64_t seen = atomic_load(&device->requests);
    atomic_store(&device->fail_request, nth > 0 ? seen + nth : 0);
}

struct yp_stream *yp_device_stream(struct yp_device *device)
{
    device->stream.device = device;
    return &device->stream;
}

enum yp_status yp_device_synchronize(struct yp_device *device)
{
    (void)device;
    return YP_OK;
}

struct yp_event *yp_event_create(struct yp_device *device)
{
    (void)device;
    struct yp_event *event = calloc(1, sizeof *event);
    if (event == NULL)
        yp_set_error(YP_OUT_OF_MEMORY, "out of memory: an event could not be created");
    return event;
}

void yp_event_destroy(struct yp_event *event)
{
    free(event);
}

enum yp_status yp_event_record(struct yp_event *event, struct yp_stream *stream)
{
    (void)stream;
    clock_gettime(CLOCK_MONOTONIC, &event->at);
    event->recorded = true;
    return YP_OK;
}

double yp_event_seconds(struct yp_event *begin, struct yp_event *end)
{
    if (!begin->recorded || !end->recorded)
        return NAN;
    return (double)(end->at.tv_sec - begin->at.tv_sec) +
           1e-9 * (double)(end->at.tv_nsec - begin->at.tv_nsec);
}

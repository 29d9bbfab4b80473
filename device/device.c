/* What every device does alike: accounting, limits and refusals. Memory itself, streams and events
 * are its backend's. */
#include "backend.h"

#include <inttypes.h>

#define ALIGNMENT ((size_t)64)

/* The requests of all devices, and which of them to refuse; 0: none. */
static _Atomic uint64_t requests_of_all, fail_of_all;

void ypi_fail_any_allocation(uint64_t nth)
{
    uint64_t seen = atomic_load(&requests_of_all);
    atomic_store(&fail_of_all, nth > 0 ? seen + nth : 0);
}

const char *yp_device_name(const struct yp_device *device)
{
    return device->backend->name(device);
}

enum yp_memory_kind yp_device_memory_kind(const struct yp_device *device)
{
    return device->backend->kind;
}

/* -- memory --------------------------------------------------------------------------------- */

static void raise_peak(_Atomic uint64_t *peak, uint64_t now)
{
    uint64_t seen = atomic_load_explicit(peak, memory_order_relaxed);
    while (now > seen && !atomic_compare_exchange_weak(peak, &seen, now)) {
    }
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

static bool refused_on_purpose(struct yp_device *device, size_t bytes)
{
    uint64_t request = atomic_fetch_add(&device->requests, 1) + 1;
    uint64_t of_all = atomic_fetch_add(&requests_of_all, 1) + 1;
    if (request != atomic_load(&device->fail_request) && of_all != atomic_load(&fail_of_all))
        return false;
    atomic_fetch_add(&device->refused, 1);
    yp_set_error(YP_OUT_OF_MEMORY,
                 "out of memory: request %" PRIu64 " of the %s, %zu bytes, refused on purpose",
                 request, yp_device_name(device), bytes);
    return true;
}

void *yp_device_alloc(struct yp_device *device, size_t bytes)
{
    if (bytes == 0 || bytes > SIZE_MAX - 2 * ALIGNMENT) {
        yp_set_error(YP_INVALID, "bytes is %zu: an allocation has 1 to %zu bytes", bytes,
                     SIZE_MAX - 2 * ALIGNMENT);
        return NULL;
    }
    if (refused_on_purpose(device, bytes) || !account(device, bytes))
        return NULL;
    void *block = device->backend->take(device, bytes);
    if (block == NULL) {
        atomic_fetch_sub(&device->allocated, bytes);
        atomic_fetch_add(&device->refused, 1);
        return NULL;
    }
    atomic_fetch_add(&device->total, bytes);
    atomic_fetch_add(&device->allocations, 1);
    return block;
}

void yp_device_free(struct yp_device *device, void *block)
{
    if (block == NULL)
        return;
    size_t bytes = device->backend->give(device, block);
    atomic_fetch_sub(&device->allocated, bytes);
    atomic_fetch_add(&device->frees, 1);
}

void yp_device_memory(const struct yp_device *device, struct yp_memory *out)
{
    *out = (struct yp_memory){
        .allocated = atomic_load(&device->allocated),
        .allocated_peak = atomic_load(&device->allocated_peak),
        .total = atomic_load(&device->total),
        .allocations = atomic_load(&device->allocations),
        .frees = atomic_load(&device->frees),
        .refused = atomic_load(&device->refused),
        .limit = atomic_load(&device->limit),
    };
    device->backend->memory(device, out);
}

void yp_device_reset_peak(struct yp_device *device)
{
    atomic_store(&device->allocated_peak, atomic_load(&device->allocated));
    device->backend->reset_peak(device);
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

/* -- work ----------------------------------------------------------------------------------- */

struct yp_stream *yp_device_stream(struct yp_device *device)
{
    return device->backend->stream(device);
}

void *yp_stream_native(const struct yp_stream *stream)
{
    return stream->device->backend->native_stream(stream);
}

enum yp_status yp_device_synchronize(struct yp_device *device)
{
    return device->backend->synchronize(device);
}

enum yp_status yp_device_copy(struct yp_device *device, void *to, const void *from, size_t bytes)
{
    if (bytes == 0)
        return YP_OK;
    if (to == NULL || from == NULL)
        return yp_set_error(YP_INVALID, "%s is NULL: %zu bytes are to be copied",
                            to == NULL ? "to" : "from", bytes);
    return device->backend->copy(device, to, from, bytes);
}

struct yp_event *yp_event_create(struct yp_device *device)
{
    return device->backend->event_create(device);
}

void yp_event_destroy(struct yp_event *event)
{
    if (event != NULL)
        event->device->backend->event_destroy(event);
}

enum yp_status yp_event_record(struct yp_event *event, struct yp_stream *stream)
{
    return event->device->backend->event_record(event, stream);
}

double yp_event_seconds(struct yp_event *begin, struct yp_event *end)
{
    return begin->device->backend->event_seconds(begin, end);
}

/* What every device does alike: accounting, limits and refusals. Memory itself, streams and events
 * are its backend's. */
#include "base/heap/heap.h"
#include "device/backend.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define ALIGNMENT ((size_t)64)

/* The requests of all devices, and which of them to refuse; 0: none. */
static _Atomic uint64_t requests_of_all, fail_of_all;

void ypi_fail_any_allocation(uint64_t nth)
{
    uint64_t seen = atomic_load(&requests_of_all);
    atomic_store(&fail_of_all, nth > 0 ? seen + nth : 0);
}

int ypi_refuse_of_all(void)
{
    return atomic_fetch_add(&requests_of_all, 1) + 1 == atomic_load(&fail_of_all);
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

void ypi_raise_peak(_Atomic uint64_t *peak, uint64_t now)
{
    uint64_t seen = atomic_load_explicit(peak, memory_order_relaxed);
    while (now > seen && !atomic_compare_exchange_weak(peak, &seen, now)) {
    }
}

/* What is allocated but for what was there before the account; that may have been freed since. */
static uint64_t of_account(const struct yp_device *device, uint64_t allocated)
{
    uint64_t kept = atomic_load(&device->kept);
    return allocated > kept ? allocated - kept : 0;
}

/* Takes `bytes` out of what the limit allows; false when they do not fit any more. */
static bool account(struct yp_device *device, uint64_t bytes)
{
    uint64_t limit = atomic_load(&device->limit);
    uint64_t now = atomic_load(&device->allocated);
    do {
        uint64_t used = of_account(device, now);
        if (limit != 0 && (bytes > limit || used > limit - bytes)) {
            atomic_fetch_add(&device->refused, 1);
            yp_set_error(YP_OUT_OF_MEMORY,
                         "out of memory: %" PRIu64 " bytes asked of the %s, %" PRIu64
                         " of the limit of %" PRIu64 " bytes in use",
                         bytes, yp_device_name(device), used, limit);
            return false;
        }
    } while (!atomic_compare_exchange_weak(&device->allocated, &now, now + bytes));
    ypi_raise_peak(&device->allocated_peak, now + bytes);
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

/* Of `of`'s memory, by the backend of `device`. */
static void *allocate(struct yp_device *of, struct yp_device *device, size_t bytes,
                      void *(*by)(struct yp_device *, size_t))
{
    if (bytes == 0 || bytes > SIZE_MAX - 2 * ALIGNMENT) {
        yp_set_error(YP_INVALID, "bytes is %zu: an allocation has 1 to %zu bytes", bytes,
                     SIZE_MAX - 2 * ALIGNMENT);
        return NULL;
    }
    if (refused_on_purpose(of, bytes) || !account(of, bytes))
        return NULL;
    void *block = by(device, bytes);
    if (block == NULL) {
        atomic_fetch_sub(&of->allocated, bytes);
        atomic_fetch_add(&of->refused, 1);
        return NULL;
    }
    atomic_fetch_add(&of->total, bytes);
    atomic_fetch_add(&of->allocations, 1);
    return block;
}

static void account_freed(struct yp_device *of, size_t bytes)
{
    atomic_fetch_sub(&of->allocated, bytes);
    atomic_fetch_add(&of->frees, 1);
}

void *yp_device_alloc(struct yp_device *device, size_t bytes)
{
    YPI_HEAP_OWN;
    return allocate(device, device, bytes, device->backend->allocate);
}

void yp_device_free(struct yp_device *device, void *block)
{
    YPI_HEAP_OWN;
    if (block != NULL)
        account_freed(device, device->backend->deallocate(device, block));
}

void *yp_device_alloc_pinned(struct yp_device *device, size_t bytes)
{
    YPI_HEAP_OWN;
    struct yp_device *cpu = yp_device_cpu();
    void *block = allocate(cpu, device, bytes, device->backend->allocate_pinned);
    if (block != NULL && device != cpu)
        ypi_cpu_reserve(bytes);
    return block;
}

void yp_device_free_pinned(struct yp_device *device, void *block)
{
    YPI_HEAP_OWN;
    struct yp_device *cpu = yp_device_cpu();
    if (block == NULL)
        return;
    size_t bytes = device->backend->deallocate_pinned(device, block);
    if (device != cpu)
        ypi_cpu_release(bytes);
    account_freed(cpu, bytes);
}

void yp_device_memory(const struct yp_device *device, struct yp_memory *out)
{
    *out = (struct yp_memory){
        .allocated = of_account(device, atomic_load(&device->allocated)),
        .allocated_peak = of_account(device, atomic_load(&device->allocated_peak)),
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

void ypi_device_renew_account(struct yp_device *device)
{
    atomic_store(&device->total, 0);
    atomic_store(&device->allocations, 0);
    atomic_store(&device->frees, 0);
    atomic_store(&device->refused, 0);
    atomic_store(&device->requests, 0);
    atomic_store(&device->fail_request, 0);
    atomic_store(&device->kept, atomic_load(&device->allocated));
    yp_device_reset_peak(device);
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
    const struct ypi_backend *backend = stream->device->backend;
    return backend->native_stream != NULL ? backend->native_stream(stream) : NULL;
}

struct yp_stream *yp_stream_create(struct yp_device *device)
{
    YPI_HEAP_OWN;
    return device->backend->stream_create(device);
}

void yp_stream_destroy(struct yp_stream *stream)
{
    YPI_HEAP_OWN;
    if (stream == NULL)
        return;
    if (stream == yp_device_stream(stream->device)) {
        fprintf(stderr, "yp_stream_destroy: the default stream of %s is the device's\n",
                yp_device_name(stream->device));
        abort();
    }
    (void)yp_stream_synchronize(stream);
    stream->device->backend->stream_destroy(stream);
}

static enum yp_status of_one_device(const struct yp_stream *stream, const struct yp_event *event)
{
    if (stream->device == event->device)
        return YP_OK;
    return yp_set_error(YP_INVALID, "event is of %s and stream of %s: they must be of one device",
                        yp_device_name(event->device), yp_device_name(stream->device));
}

enum yp_status yp_stream_wait(struct yp_stream *stream, struct yp_event *event)
{
    const struct ypi_backend *backend = stream->device->backend;
    enum yp_status status = of_one_device(stream, event);
    return status == YP_OK && backend->stream_wait != NULL ? backend->stream_wait(stream, event)
                                                           : status;
}

static enum yp_status check_copy(const void *to, const void *from, size_t bytes)
{
    if (bytes == 0 || (to != NULL && from != NULL))
        return YP_OK;
    return yp_set_error(YP_INVALID, "%s is NULL: %zu bytes are to be copied",
                        to == NULL ? "to" : "from", bytes);
}

enum yp_status yp_stream_copy(struct yp_stream *stream, void *to, const void *from, size_t bytes)
{
    const struct ypi_backend *backend = stream->device->backend;
    enum yp_status status = check_copy(to, from, bytes);
    if (bytes == 0 || status != YP_OK)
        return status;
    return backend->stream_copy != NULL ? backend->stream_copy(stream, to, from, bytes)
                                        : backend->copy(stream->device, to, from, bytes);
}

enum yp_status yp_stream_synchronize(struct yp_stream *stream)
{
    const struct ypi_backend *backend = stream->device->backend;
    return backend->stream_synchronize != NULL ? backend->stream_synchronize(stream) : YP_OK;
}

enum yp_status yp_device_synchronize(struct yp_device *device)
{
    const struct ypi_backend *backend = device->backend;
    return backend->synchronize != NULL ? backend->synchronize(device) : YP_OK;
}

enum yp_status yp_device_copy(struct yp_device *device, void *to, const void *from, size_t bytes)
{
    enum yp_status status = check_copy(to, from, bytes);
    return status == YP_OK && bytes > 0 ? device->backend->copy(device, to, from, bytes) : status;
}

struct yp_event *yp_event_create(struct yp_device *device)
{
    YPI_HEAP_OWN;
    return device->backend->event_create(device);
}

void yp_event_destroy(struct yp_event *event)
{
    YPI_HEAP_OWN;
    if (event != NULL)
        event->device->backend->event_destroy(event);
}

enum yp_status yp_event_record(struct yp_event *event, struct yp_stream *stream)
{
    enum yp_status status = of_one_device(stream, event);
    return status == YP_OK ? event->device->backend->event_record(event, stream) : status;
}

enum yp_status yp_event_synchronize(struct yp_event *event)
{
    const struct ypi_backend *backend = event->device->backend;
    return backend->event_synchronize != NULL ? backend->event_synchronize(event) : YP_OK;
}

double yp_event_seconds(struct yp_event *begin, struct yp_event *end)
{
    return begin->device->backend->event_seconds(begin, end);
}

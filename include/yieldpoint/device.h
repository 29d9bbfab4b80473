/*
 * Devices: memory, streams and events of the CPU and of accelerators.
 *
 * A device allocates memory, which it accounts for, and runs work on streams, which it can time
 * without stopping them. The CPU is a device too. Its streams are synchronous and its events are
 * readings of the monotonic clock, so code for this header needs no second path for an accelerator.
 */
#ifndef YIELDPOINT_DEVICE_H
#define YIELDPOINT_DEVICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* YPI_OR_ZERO: a field that an initialiser may leave out: 0. Only C++ would warn without it. */
#ifdef __cplusplus
#define YPI_BEGIN_C extern "C" {
#define YPI_END_C }
#define YPI_OR_ZERO = {}
#else
#define YPI_BEGIN_C
#define YPI_END_C
#define YPI_OR_ZERO
#endif

YPI_BEGIN_C

#define YP_KIB (1024LL)
#define YP_MIB (1024LL * 1024)
#define YP_GIB (1024LL * 1024 * 1024)

enum yp_status {
    YP_OK = 0,
    YP_INVALID,       /* an argument is not allowed; yp_last_error() names it */
    YP_OUT_OF_MEMORY, /* no memory left on the machine or device, or under --memory-limit */
    YP_UNSUPPORTED,   /* this build or this device cannot do it */
    YP_IO,            /* a file or a database could not be read or written */
    YP_DEVICE_FAULT,  /* the device or its driver failed; the process cannot use it again */
};

/* The message of this thread's last call that did not return YP_OK (or returned NULL): the
 * argument, its value, the allowed values. Valid until the thread's next such call. */
const char *yp_last_error(void);

/* The status of that call, also if it returned NULL. */
enum yp_status yp_last_status(void);

/* Sets both and returns `status`. For libraries that report errors in the same way. */
enum yp_status yp_set_error(enum yp_status status, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* The memory that a figure or a budget refers to: what yp_alloc and yp_device_alloc take of the
 * host or a device; the heap is what malloc, new and the like take in a test with .heap (test.h).
 */
enum yp_memory_kind { YP_HOST = 0, YP_DEVICE = 1, YP_HEAP = 2 };

struct yp_device;
struct yp_stream;
struct yp_event;

/* Figures are bytes unless stated otherwise; `allocated` + headers never exceed `reserved`. */
struct yp_memory {
    uint64_t allocated;      /* allocated and not yet freed */
    uint64_t allocated_peak; /* maximum of `allocated` since the last reset */
    uint64_t reserved;       /* taken from the system, including the allocator's overhead */
    uint64_t reserved_peak;
    uint64_t total;       /* sum of all requests so far */
    uint64_t allocations; /* number of requests granted */
    uint64_t frees;       /* number of blocks freed */
    uint64_t refused;     /* number of requests that failed */
    uint64_t limit;       /* `allocated` may not exceed this; 0: no limit */
    /* The driver's figure for this process on the device: context, code and libraries in addition
     * to `reserved`. 0: unknown, or the CPU. */
    uint64_t system;
    /* The unit in which the device's pool takes memory from the driver: `reserved` is a multiple of
     * it. 0: unknown, or the CPU. */
    uint64_t granule;
    /* All memory of the device, used or not; for the CPU the machine's, of which a control group
     * may allow less. 0: unknown. */
    uint64_t capacity;
};

/* The CPU of this process. Never NULL, never freed, safe to use from every thread. */
struct yp_device *yp_device_cpu(void);

const char *yp_device_name(const struct yp_device *device); /* "cpu", "cuda:0" */
enum yp_memory_kind yp_device_memory_kind(const struct yp_device *device);

/* Uninitialised memory of the device, aligned to at least 64 bytes; the caller frees it with
 * yp_device_free(). NULL, with yp_last_error() set, if `bytes` is 0 or the memory is refused. Safe
 * to call from every thread. */
void *yp_device_alloc(struct yp_device *device, size_t bytes);

/* Frees a block; NULL is allowed. Work launched before, on the default stream or on those of
 * yp_stream_create(), may still use it: the call does not wait, and the memory is reused after that
 * work. A block that `device` did not allocate, or that is already freed, aborts the process with a
 * message. */
void yp_device_free(struct yp_device *device, void *block);

/* Page-locked memory of the host: `device` copies from and to it beside other work and at full
 * speed (yp_stream_copy). It counts as memory of the CPU, in its figures and its limit. The caller
 * frees it with yp_device_free_pinned(), on the same device, once no copy uses it. It is scarce and
 * slow to allocate: allocate it once. For the CPU the same as yp_device_alloc(). */
void *yp_device_alloc_pinned(struct yp_device *device, size_t bytes);
void yp_device_free_pinned(struct yp_device *device, void *block);

void yp_device_memory(const struct yp_device *device, struct yp_memory *out);

/* Resets the peaks to the current use. */
void yp_device_reset_peak(struct yp_device *device);

/* Refuses every request that would raise `allocated` above `bytes`; 0 removes the limit. */
void yp_device_set_limit(struct yp_device *device, uint64_t bytes);

/* Refuses only the `nth` request from now on, counted from 1, as out of memory; 0 cancels that. To
 * test how a program handles failed allocations, refuse each of them once. */
void yp_device_fail_allocation(struct yp_device *device, uint64_t nth);

/* The device's default stream, whose work is measured. Owned by the device. */
struct yp_stream *yp_device_stream(struct yp_device *device);

/* The stream to launch kernels on: a cudaStream_t for a CUDA device, NULL for the CPU. */
void *yp_stream_native(const struct yp_stream *stream);

/*
 * Creates a stream. Its work runs in order, beside the work of other streams, so the next data can
 * be copied while the current data are processed:
 *
 *     yp_stream_wait(copies, free);              // until the buffer is no longer read
 *     yp_stream_copy(copies, buffer, host, bytes);
 *     yp_event_record(there, copies);
 *     yp_stream_wait(yp_device_stream(device), there);
 *     ...                                        // launch the kernels that read the buffer
 *     yp_event_record(free, yp_device_stream(device));
 *
 * Only the default stream is measured. Work of another stream is part of a measurement if it first
 * waits for an event of the default stream, and the default stream waits for its end
 * (yp_stream_wait for both). Work that continues after the end of the default stream fails the
 * case. The caller destroys the stream. NULL, with yp_last_error() set, on failure. On the CPU,
 * work is done when its call returns.
 */
struct yp_stream *yp_stream_create(struct yp_device *device);
/* Waits for the stream's work, then frees it. NULL is allowed; the default stream, owned by the
 * device, aborts the process. */
void yp_stream_destroy(struct yp_stream *stream);

/* Work launched on the stream from now on begins when the event's last recorded point is reached;
 * at once if the event was never recorded. YP_INVALID if stream and event belong to two devices. */
enum yp_status yp_stream_wait(struct yp_stream *stream, struct yp_event *event);

/* yp_device_copy() in the order of the stream, without waiting: the caller leaves both sides alone
 * until the copy is done. With memory of the host that is not page-locked, the call may take as
 * long as the copy. */
enum yp_status yp_stream_copy(struct yp_stream *stream, void *to, const void *from, size_t bytes);

/* Waits until all work on the stream is done. */
enum yp_status yp_stream_synchronize(struct yp_stream *stream);

/* Waits until all work on all streams of the device is done. */
enum yp_status yp_device_synchronize(struct yp_device *device);

/* Copies `bytes` between memory of the host and of `device`, in either direction or within one of
 * them, in the order of the default stream, and waits for the copy. */
enum yp_status yp_device_copy(struct yp_device *device, void *to, const void *from, size_t bytes);

/* An event marks a point in a stream's order. Owned by the caller; destroy accepts NULL. */
struct yp_event *yp_event_create(struct yp_device *device);
void yp_event_destroy(struct yp_event *event);
enum yp_status yp_event_record(struct yp_event *event, struct yp_stream *stream);
/* The host waits until the event is reached; not at all if it was never recorded. */
enum yp_status yp_event_synchronize(struct yp_event *event);

/* Seconds between two recorded events; waits for `end`. NaN if either was never recorded. */
double yp_event_seconds(struct yp_event *begin, struct yp_event *end);

YPI_END_C

#endif

/*
 * Where memory lives and work runs.
 *
 * A device hands out memory that it accounts for, and runs work on streams that it can time
 * without stopping them. The CPU is a device too: its streams are synchronous and its events
 * are readings of the monotonic clock, so code written against this header needs no second
 * path for an accelerator.
 */
#ifndef YIELDPOINT_DEVICE_H
#define YIELDPOINT_DEVICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A field that an initialiser may leave out: 0. C needs no word for it, C++ warns without one. */
#ifdef __cplusplus
#define YPI_OR_ZERO = {}
#else
#define YPI_OR_ZERO
#endif

#define YP_KIB (1024LL)
#define YP_MIB (1024LL * 1024)
#define YP_GIB (1024LL * 1024 * 1024)

enum yp_status {
    YP_OK = 0,
    YP_INVALID,       /* an argument is not allowed; yp_last_error() names it */
    YP_OUT_OF_MEMORY, /* the machine, the device or --memory-limit has no more */
    YP_UNSUPPORTED,   /* this build or this device cannot do it */
    YP_IO,            /* a file or a database could not be read or written */
    YP_DEVICE_FAULT,  /* the device or its driver failed; this process can use it no more */
};

/* What the last call on this thread that did not return YP_OK (or returned NULL) had to say:
 * the argument, what it was, what is allowed. Valid until the thread's next such call. */
const char *yp_last_error(void);

/* What that call returned, or would have returned instead of NULL. */
enum yp_status yp_last_status(void);

/* Sets both and returns `status`. For libraries that report in the same way. */
enum yp_status yp_set_error(enum yp_status status, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Which memory a figure or a budget speaks of. */
enum yp_memory_kind { YP_HOST = 0, YP_DEVICE = 1 };

struct yp_device;
struct yp_stream;
struct yp_event;

/* All figures in bytes unless said otherwise; `allocated` + headers never exceed `reserved`. */
struct yp_memory {
    uint64_t allocated;      /* handed out and not yet freed */
    uint64_t allocated_peak; /* the highest `allocated` since the last reset */
    uint64_t reserved;       /* taken from the system, the allocator's own overhead included */
    uint64_t reserved_peak;
    uint64_t total;       /* sum of all requests so far */
    uint64_t allocations; /* number of requests granted */
    uint64_t frees;       /* number of blocks freed */
    uint64_t refused;     /* number of requests that failed */
    uint64_t limit;       /* `allocated` may not exceed this; 0: no limit */
    /* What the driver counts for this process on the device: its context, code and libraries beside
     * what is reserved. 0: not known, or the CPU. */
    uint64_t system;
    /* What the device's pool takes from the driver at a time: `reserved` is whole multiples of it.
     * 0: not known, or the CPU. */
    uint64_t granule;
    /* All that the device has, whoever uses it; of the CPU the machine's, of which a control group
     * may allow less. 0: not known. */
    uint64_t capacity;
};

/* The CPU of this process. Never NULL, never freed, safe to use from every thread. */
struct yp_device *yp_device_cpu(void);

const char *yp_device_name(const struct yp_device *device); /* "cpu", "cuda:0" */
enum yp_memory_kind yp_device_memory_kind(const struct yp_device *device);

/* Uninitialised memory of the device, aligned to 64 bytes at least; the caller frees it with
 * yp_device_free(). NULL when `bytes` is 0 or the memory is refused, with yp_last_error() set.
 * Safe to call from every thread. */
void *yp_device_alloc(struct yp_device *device, size_t bytes);

/* Frees a block; NULL is allowed. Work launched before, on the default stream or on those of
 * yp_stream_create(), may still use it: the memory is reused once that work is done, and the call
 * does not wait for it. A block that `device` did not allocate, or that was freed before, aborts
 * the process with a message. */
void yp_device_free(struct yp_device *device, void *block);

/* Memory of the host, page-locked so that `device` copies from and to it by itself, beside other
 * work and at full speed (yp_stream_copy). It counts as the CPU's, in its figures and its limit.
 * The caller frees it with yp_device_free_pinned(), on the same device, once no copy uses it. It is
 * scarce and slow to allocate: allocate it once. For the CPU the same as yp_device_alloc(). */
void *yp_device_alloc_pinned(struct yp_device *device, size_t bytes);
void yp_device_free_pinned(struct yp_device *device, void *block);

void yp_device_memory(const struct yp_device *device, struct yp_memory *out);

/* Sets the peaks back to what is in use now. */
void yp_device_reset_peak(struct yp_device *device);

/* Refuses every request that would take `allocated` beyond `bytes`; 0 lifts the limit. */
void yp_device_set_limit(struct yp_device *device, uint64_t bytes);

/* Refuses the `nth` request from now on, counted from 1, as if there were no more memory, and only
 * that one; 0 cancels that. To see what a program makes of a failed allocation, refuse each in
 * turn. */
void yp_device_fail_allocation(struct yp_device *device, uint64_t nth);

/* The device's default stream, the one whose work is measured. Owned by the device. */
struct yp_stream *yp_device_stream(struct yp_device *device);

/* What kernels are launched on: a cudaStream_t, of a device of CUDA; NULL for the CPU. */
void *yp_stream_native(const struct yp_stream *stream);

/*
 * Another stream: its work runs in its own order, beside the work of other streams. So the next
 * data can be copied while the present ones are worked on:
 *
 *     yp_stream_wait(copies, free);              // the buffer is not read any more
 *     yp_stream_copy(copies, buffer, host, bytes);
 *     yp_event_record(there, copies);
 *     yp_stream_wait(yp_device_stream(device), there);
 *     ...                                        // launch what reads the buffer
 *     yp_event_record(free, yp_device_stream(device));
 *
 * What is measured is the default stream. Work of another one belongs to a measurement when it
 * waits for an event of the default stream to begin, and the default stream waits for its end
 * (yp_stream_wait, both); work that goes on after the end of the default stream fails the case.
 * NULL with yp_last_error() set. The caller destroys it. On the CPU, work is done when it is
 * called.
 */
struct yp_stream *yp_stream_create(struct yp_device *device);
/* Waits for its work, then frees it. NULL is allowed; the default stream, the device's own, aborts
 * the process. */
void yp_stream_destroy(struct yp_stream *stream);

/* Work launched on the stream from now on begins once the point that the event recorded last is
 * reached; at once when it recorded none. YP_INVALID when they are not of one device. */
enum yp_status yp_stream_wait(struct yp_stream *stream, struct yp_event *event);

/* yp_device_copy() in the order of that stream, without waiting: both sides stay as they are until
 * it is done. From memory of the host that is not page-locked the call may take as long as the
 * copy. */
enum yp_status yp_stream_copy(struct yp_stream *stream, void *to, const void *from, size_t bytes);

/* Waits until all work on the stream is done. */
enum yp_status yp_stream_synchronize(struct yp_stream *stream);

/* Waits until all work of all streams of the device is done. */
enum yp_status yp_device_synchronize(struct yp_device *device);

/* Copies `bytes` between memory of the host and of `device`, either way or within one of them, in
 * the order of its default stream, and waits until it is done. */
enum yp_status yp_device_copy(struct yp_device *device, void *to, const void *from, size_t bytes);

/* Events mark a point in a stream's order. Owned by the caller; destroy takes NULL. */
struct yp_event *yp_event_create(struct yp_device *device);
void yp_event_destroy(struct yp_event *event);
enum yp_status yp_event_record(struct yp_event *event, struct yp_stream *stream);
/* Waits on the host until it is reached; not at all when it was never recorded. */
enum yp_status yp_event_synchronize(struct yp_event *event);

/* Seconds between two recorded events; waits for `end`. NaN when either was never recorded. */
double yp_event_seconds(struct yp_event *begin, struct yp_event *end);

#ifdef __cplusplus
}
#endif

#endif

/* What stands behind a device: the accounting is the same for all (device.c), each backend brings
 * memory, streams and events. A backend may live in a plugin, which is built with the same
 * compiler and checked by YPI_BACKEND_ABI; nothing here is C++. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <yieldpoint/ceiling.h>
#include <yieldpoint/device.h>

/* One more with every change of what is laid out here. */
#define YPI_BACKEND_ABI 9U

struct ypi_backend;

/* The beginning of every backend's own structure; begins as zeros but for `backend`. */
struct yp_device {
    const struct ypi_backend *backend;
    _Atomic uint64_t allocated, allocated_peak;
    _Atomic uint64_t total, allocations, frees, refused, limit;
    _Atomic uint64_t requests, fail_request; /* the latter: which one to refuse, 0: none */
    _Atomic uint64_t kept; /* of `allocated`: what was there when the account was opened anew */
};
struct yp_stream {
    struct yp_device *device;
};
struct yp_event {
    struct yp_device *device;
};

struct ypi_graph;        /* work that was captured, each backend's own */
struct ypi_device_probe; /* of a ceiling, each backend's own */

/* What the device itself was doing over some time; NaN: not known. */
struct ypi_condition {
    double at;          /* monotonic seconds */
    double clock;       /* Hz, of the multiprocessors */
    double clock_max;   /* Hz, that it may reach */
    double temperature; /* degrees Celsius */
    double power;       /* W */
    double utilisation; /* of the time that a kernel ran lately, 0 to 1 */
    double used;        /* bytes of the device's memory, all processes together */
    uint64_t throttled; /* reasons, as NVML's bits: YPI_POWER_CAPPED, those of YPI_SLOWED */
};

/* What a device counts of the work on it: operations, instructions (INTEGER) and bytes. */
enum ypi_audited {
    YPI_AUDIT_FP64 = 0,
    YPI_AUDIT_FP32,
    YPI_AUDIT_FP16,
    YPI_AUDIT_INTEGER,
    YPI_AUDIT_TENSOR_FP64, /* of matrix units, from here on */
    YPI_AUDIT_TENSOR_TF32,
    YPI_AUDIT_TENSOR_BF16,
    YPI_AUDIT_TENSOR_FP16,
    YPI_AUDIT_TENSOR_FP8,
    YPI_AUDIT_TENSOR_INT8,
    YPI_AUDIT_READ, /* of the device's memory */
    YPI_AUDIT_WRITTEN,
    YPI_AUDIT_CACHE, /* between multiprocessors and the second-level cache */
    YPI_AUDITED
};

/* HW slowdown, SW thermal, HW thermal, HW power brake: something is wrong with the machine. */
#define YPI_SLOWED UINT64_C(0xe8)
/* SW power cap: where matrix products run all day, so no reason to doubt a sample. */
#define YPI_POWER_CAPPED UINT64_C(0x4)

/* Whether it is slowed down: samples of that moment are set aside. At its power cap a device does
 * what it can all day, which is no slowdown unless its clock is below this part of its highest. */
#define YPI_SLOW_CLOCK 0.75
static inline bool ypi_condition_is_slow(const struct ypi_condition *c)
{
    return (c->throttled & YPI_SLOWED) != 0 || c->clock < YPI_SLOW_CLOCK * c->clock_max;
}

struct ypi_backend {
    enum yp_memory_kind kind;
    const char *(*name)(const struct yp_device *device);
    /* Uninitialised memory, ready for every stream; NULL with yp_last_error() set. */
    void *(*allocate)(struct yp_device *device, size_t bytes);
    /* Frees a block once no work uses it any more and returns how many bytes were asked for; aborts
     * on a block that is not its own. */
    size_t (*deallocate)(struct yp_device *device, void *block);
    /* For debugging: `bytes` of a block of its own in place of a part of `block`, not accounted for
     * and freed with it; the same one for the same part. NULL: `block` is none of this
     * device's, or there is no memory. NULL in place of the function: parts stay parts. */
    void *(*separate)(struct yp_device *device, void *block, size_t offset, size_t bytes);
    /* The same of page-locked memory of the host. */
    void *(*allocate_pinned)(struct yp_device *device, size_t bytes);
    size_t (*deallocate_pinned)(struct yp_device *device, void *block);
    /* Fills `reserved`, `reserved_peak` and `system`. */
    void (*memory)(const struct yp_device *device, struct yp_memory *out);
    void (*reset_peak)(struct yp_device *device);
    struct yp_stream *(*stream)(struct yp_device *device);
    struct yp_stream *(*stream_create)(struct yp_device *device);
    void (*stream_destroy)(struct yp_stream *stream); /* one that was created, once it is idle */
    enum yp_status (*copy)(struct yp_device *device, void *to, const void *from, size_t bytes);
    struct yp_event *(*event_create)(struct yp_device *device);
    void (*event_destroy)(struct yp_event *event);
    enum yp_status (*event_record)(struct yp_event *event, struct yp_stream *stream);
    double (*event_seconds)(struct yp_event *begin, struct yp_event *end);

    /* The rest is NULL for the CPU, where work is done when it is called. */

    void *(*native_stream)(const struct yp_stream *stream);
    enum yp_status (*stream_wait)(struct yp_stream *stream, struct yp_event *event);
    enum yp_status (*stream_copy)(struct yp_stream *stream, void *to, const void *from,
                                  size_t bytes); /* NULL: copy() */
    enum yp_status (*stream_synchronize)(struct yp_stream *stream);
    enum yp_status (*synchronize)(struct yp_device *device);
    enum yp_status (*event_synchronize)(struct yp_event *event);

    /* For measuring. */

    /* Work of the stream waits from here to release(), so that it is launched before it runs. It
     * waits no longer than `seconds`. */
    enum yp_status (*hold)(struct yp_stream *stream, double seconds);
    /* Lets it run; false when it had run before that: the launching thread waited for it. */
    bool (*release)(struct yp_stream *stream);
    /* Records the event for its time alone: in work that becomes a graph it is recorded each time
     * that is launched, where event_record() says what comes after what. */
    enum yp_status (*event_mark)(struct yp_event *event, struct yp_stream *stream);
    /* What is launched on the stream between the two is not run but becomes a graph. */
    enum yp_status (*capture_begin)(struct yp_stream *stream);
    enum yp_status (*capture_end)(struct yp_stream *stream, struct ypi_graph **out);
    enum yp_status (*replay)(struct ypi_graph *graph, struct yp_stream *stream);
    void (*graph_destroy)(struct ypi_graph *graph);
    /* Waits for `end`, then for the whole device: the seconds that other streams went on after it.
     * NaN where that is not known. */
    double (*others_after)(struct yp_event *end);
    /* Empties the caches and leaves nothing in them to be written back, in the order of the
     * stream. */
    enum yp_status (*flush)(struct yp_stream *stream);
    size_t (*cache_bytes)(const struct yp_device *device);
    /* False where nothing is known. */
    bool (*condition)(struct yp_device *device, struct ypi_condition *out);

    /* Where the device is on the bus, "0000:4e:00.0". */
    const char *(*place)(const struct yp_device *device);
    /* Marks a range for profilers, until the matching range(NULL). */
    void (*range)(const char *name);
    /* Ceilings. `footprint` bytes that are touched again and again choose the cache, 0: memory.
     * NULL with yp_last_error() set. */
    struct ypi_device_probe *(*probe_open)(struct yp_device *device, enum yp_ceiling ceiling,
                                           double footprint);
    const char *(*probe_level)(const struct ypi_device_probe *probe); /* "L2", "memory" or "" */
    double (*probe_run)(struct ypi_device_probe *probe, double seconds);
    void (*probe_close)(struct ypi_device_probe *probe);
    /* Counting what work does, which is executed once for each pass: open() once a process, before
     * the first kernel; then begin() before and end() after each pass, and read() when there are
     * no more. NULL: not on this device. YP_UNSUPPORTED: it is not permitted, or cannot be here. */
    enum yp_status (*audit_open)(struct yp_device *device);
    enum yp_status (*audit_begin)(struct yp_device *device, bool first);
    enum yp_status (*audit_end)(struct yp_device *device, bool *more);
    /* NaN: this device does not count it. */
    enum yp_status (*audit_read)(struct yp_device *device, double out[YPI_AUDITED]);
    /* Returns a fault of earlier work that nothing has reported yet. */
    enum yp_status (*close)(struct yp_device *device);
};

/* Raises `peak` to `now`, if that is more. */
void ypi_raise_peak(_Atomic uint64_t *peak, uint64_t now);

/* Blocks of the CPU have guard bytes on both sides, which are looked at when they are given back.
 * Where some were written `report` is called with a sentence, by the thread that frees; NULL: the
 * process is aborted. */
void ypi_cpu_report_damage(void (*report)(const char *message));

/* Memory of the host that another device took for the CPU, or gave back: what is reserved. */
void ypi_cpu_reserve(size_t bytes);
void ypi_cpu_release(size_t bytes);

/* Numbers the requests of all devices together, and refuses the `nth` from now on, whichever device
 * it is made of; 0 takes it back. */
void ypi_fail_any_allocation(uint64_t nth);
/* Numbers a request that is made of no device as one of them; not 0: it is to be refused. */
int ypi_refuse_of_all(void);

/* Counts, peaks and what is allocated begin at nothing, as in a process that has just started; what
 * is there already is no part of the account. For a process that runs several cases. */
void ypi_device_renew_account(struct yp_device *device);

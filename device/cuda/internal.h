/* What the parts of the CUDA device share. */
#pragma once

#include "device/backend.h"
#include "device/cuda/cuda_plugin.h"
#include "device/cuda/host.h"

#include <cuda_runtime_api.h>
#include <pthread.h>

struct ypi_blocks; /* of memory.c */
struct ypi_part;

struct ypi_cuda_stream {
    struct yp_stream base;
    cudaStream_t native;
    cudaEvent_t mark;             /* its end, when a block was last freed */
    struct ypi_cuda_stream *next; /* of the device's; under the device's lock */
};

struct ypi_cuda_device {
    struct yp_device base;
    struct ypi_cuda_stream stream; /* of `work`; the first of all that there are */
    cudaStream_t work;             /* the measured one */
    cudaStream_t memory; /* where memory is allocated and freed, so that it waits for no work */
    cudaMemPool_t pool;  /* NULL: the device has none, blocks are allocated one by one */
    pthread_mutex_t lock;
    struct ypi_blocks *blocks;
    struct ypi_blocks *pinned;        /* of the host */
    struct ypi_part *parts;           /* allocations in place of parts of blocks; under the lock */
    bool separates;                   /* every block and part is an allocation of CUDA's own */
    uint64_t reserved, reserved_peak; /* where there is no pool; under the lock */
    uint64_t granule;                 /* what the pool takes from the driver at a time */
    uint64_t capacity;                /* of the device; 0: not known */
    uint64_t system;                  /* the driver's figure, as it was at `system_at` */
    double system_at;
    unsigned *gate; /* pinned: [0] open, [1] timed out */
    char *scratch;  /* for emptying the second-level cache; allocated at its first use */
    bool capturing; /* work of `work` is recorded, and does not run: by the thread `captor` */
    bool freed;     /* memory, by that thread, since the capture began */
    pthread_t captor;
    size_t cache; /* bytes of the second-level cache */
    int multiprocessors;
    char pci[32];
    struct ypi_nvml *nvml; /* NULL: not there */
};

static inline struct ypi_cuda_device *ypi_cuda(const struct yp_device *device)
{
    return (struct ypi_cuda_device *)(uintptr_t)device;
}

/* -- status.c ------------------------------------------------------------------------------- */

double ypi_cuda_now(void); /* monotonic seconds */

/* What a call comes to, with the host's message set: `what` names it. */
enum yp_status ypi_cuda_status(cudaError_t error, const char *what);

/* -- memory.c ------------------------------------------------------------------------------- */

enum yp_status ypi_cuda_memory_open(struct ypi_cuda_device *d);
void *ypi_cuda_allocate(struct yp_device *device, size_t bytes);
void *ypi_cuda_separate(struct yp_device *device, void *block, size_t offset, size_t bytes);
size_t ypi_cuda_deallocate(struct yp_device *device, void *block);
void *ypi_cuda_allocate_pinned(struct yp_device *device, size_t bytes);
size_t ypi_cuda_deallocate_pinned(struct yp_device *device, void *block);
void ypi_cuda_memory(const struct yp_device *device, struct yp_memory *out);
void ypi_cuda_reset_peak(struct yp_device *device);

/* -- stream.c ------------------------------------------------------------------------------- */

enum yp_status ypi_cuda_stream_open(struct ypi_cuda_device *d);
/* What is launched on `memory` from now on comes after all work that the device's streams have been
 * given; the host waits for nothing. Under the device's lock. */
cudaError_t ypi_cuda_memory_after_work(struct ypi_cuda_device *d);
/* Whether this thread's work is recorded for a graph. */
bool ypi_cuda_captures(const struct ypi_cuda_device *d);
struct yp_stream *ypi_cuda_stream(struct yp_device *device);
void *ypi_cuda_native_stream(const struct yp_stream *stream);
struct yp_stream *ypi_cuda_stream_create(struct yp_device *device);
void ypi_cuda_stream_destroy(struct yp_stream *stream);
enum yp_status ypi_cuda_stream_wait(struct yp_stream *stream, struct yp_event *event);
enum yp_status ypi_cuda_stream_copy(struct yp_stream *stream, void *to, const void *from,
                                    size_t bytes);
enum yp_status ypi_cuda_stream_synchronize(struct yp_stream *stream);
enum yp_status ypi_cuda_synchronize(struct yp_device *device);
enum yp_status ypi_cuda_copy(struct yp_device *device, void *to, const void *from, size_t bytes);
struct yp_event *ypi_cuda_event_create(struct yp_device *device);
void ypi_cuda_event_destroy(struct yp_event *event);
enum yp_status ypi_cuda_event_record(struct yp_event *event, struct yp_stream *stream);
enum yp_status ypi_cuda_event_mark(struct yp_event *event, struct yp_stream *stream);
enum yp_status ypi_cuda_event_synchronize(struct yp_event *event);
double ypi_cuda_event_seconds(struct yp_event *begin, struct yp_event *end);
enum yp_status ypi_cuda_hold(struct yp_stream *stream, double seconds);
bool ypi_cuda_release(struct yp_stream *stream);
enum yp_status ypi_cuda_capture_begin(struct yp_stream *stream);
enum yp_status ypi_cuda_capture_end(struct yp_stream *stream, struct ypi_graph **out);
enum yp_status ypi_cuda_replay(struct ypi_graph *graph, struct yp_stream *stream);
/* Ends a capture that the body left. */
void ypi_cuda_capture_abandon(struct ypi_cuda_device *d);
void ypi_cuda_graph_destroy(struct ypi_graph *graph);
double ypi_cuda_others_after(struct yp_event *end);
enum yp_status ypi_cuda_flush(struct yp_stream *stream);
size_t ypi_cuda_cache_bytes(const struct yp_device *device);

/* -- probe.c: ceilings ---------------------------------------------------------------------- */

struct ypi_device_probe *ypi_cuda_probe_open(struct yp_device *device, enum yp_ceiling ceiling,
                                             double footprint);
const char *ypi_cuda_probe_level(const struct ypi_device_probe *probe);
double ypi_cuda_probe_run(struct ypi_device_probe *probe, double seconds);
void ypi_cuda_probe_close(struct ypi_device_probe *probe);

/* -- audit.c: counting by CUPTI -------------------------------------------------------------- */

enum yp_status ypi_cuda_audit_open(struct yp_device *device);
enum yp_status ypi_cuda_audit_begin(struct yp_device *device, bool first);
enum yp_status ypi_cuda_audit_end(struct yp_device *device, bool *more);
enum yp_status ypi_cuda_audit_read(struct yp_device *device, double out[YPI_AUDITED]);
void ypi_cuda_audit_close(void);

/* -- nvml.c --------------------------------------------------------------------------------- */

struct ypi_nvml *ypi_nvml_open(const char *pci); /* NULL: no library, or it does not know it */
uint64_t ypi_nvml_own_bytes(struct ypi_nvml *n); /* of this process; 0: not known */
void ypi_nvml_facts(struct ypi_nvml *n, ypi_cuda_fact *report, void *arg);
bool ypi_cuda_condition(struct yp_device *device, struct ypi_condition *out);

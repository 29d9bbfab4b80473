/* Streams and events, and what measuring needs beside them. */
#include "device/cuda/internal.h"
#include "device/cuda/kernels.h"

#include <math.h>
#include <stdlib.h>

enum { LINE = 128, BLOCKS_EACH = 4 }; /* bytes; blocks a multiprocessor */

struct event {
    struct yp_event base;
    cudaEvent_t event;
    bool recorded;
};

static enum yp_status create_mark(struct ypi_cuda_stream *s)
{
    return ypi_cuda_status(cudaEventCreateWithFlags(&s->mark, cudaEventDisableTiming), "an event");
}

/* A stream that CUDA's default one waits for, and that waits for it: work of a library that takes
 * no stream is then in order with what is measured, and inside of it. */
enum yp_status ypi_cuda_stream_open(struct ypi_cuda_device *d)
{
    enum yp_status status =
        ypi_cuda_status(cudaStreamCreateWithFlags(&d->work, cudaStreamDefault), "a stream");
    if (status == YP_OK)
        status = ypi_cuda_status(cudaStreamCreateWithFlags(&d->memory, cudaStreamNonBlocking),
                                 "a stream for memory");
    if (status == YP_OK)
        status = ypi_cuda_status(
            cudaHostAlloc((void **)&d->gate, 2 * sizeof *d->gate, cudaHostAllocMapped), "a gate");
    if (status == YP_OK)
        status = create_mark(&d->stream);
    d->stream.base.device = &d->base;
    d->stream.native = d->work;
    return status;
}

/* Nothing was left on it when the capture began, and nothing has run since. */
static bool is_captured(const struct ypi_cuda_stream *s)
{
    enum cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
    return cudaStreamIsCapturing(s->native, &status) == cudaSuccess &&
           status != cudaStreamCaptureStatusNone;
}

cudaError_t ypi_cuda_memory_after_work(struct ypi_cuda_device *d)
{
    cudaError_t error = cudaSuccess;
    for (struct ypi_cuda_stream *s = &d->stream; s != NULL && error == cudaSuccess; s = s->next) {
        if (d->capturing && is_captured(s))
            continue;
        error = cudaEventRecord(s->mark, s->native);
        if (error == cudaSuccess)
            error = cudaStreamWaitEvent(d->memory, s->mark, 0);
    }
    return error;
}

bool ypi_cuda_captures(const struct ypi_cuda_device *d)
{
    return d->capturing && pthread_equal(d->captor, pthread_self()) != 0;
}

struct yp_stream *ypi_cuda_stream(struct yp_device *device)
{
    return &ypi_cuda(device)->stream.base;
}

static cudaStream_t native(const struct yp_stream *stream)
{
    return ((const struct ypi_cuda_stream *)stream)->native;
}

void *ypi_cuda_native_stream(const struct yp_stream *stream)
{
    return native(stream);
}

/* One that CUDA's default stream does not wait for: nothing but events orders it. */
struct yp_stream *ypi_cuda_stream_create(struct yp_device *device)
{
    struct ypi_cuda_device *d = ypi_cuda(device);
    struct ypi_cuda_stream *s = calloc(1, sizeof *s);
    if (s == NULL) {
        ypi_cuda_host->set_error(YP_OUT_OF_MEMORY, "out of memory: a stream could not be created");
        return NULL;
    }
    s->base.device = device;
    if (ypi_cuda_status(cudaStreamCreateWithFlags(&s->native, cudaStreamNonBlocking), "a stream") !=
        YP_OK) {
        free(s);
        return NULL;
    }
    if (create_mark(s) != YP_OK) {
        (void)cudaStreamDestroy(s->native);
        free(s);
        return NULL;
    }
    pthread_mutex_lock(&d->lock);
    s->next = d->stream.next;
    d->stream.next = s;
    pthread_mutex_unlock(&d->lock);
    return &s->base;
}

void ypi_cuda_stream_destroy(struct yp_stream *stream)
{
    struct ypi_cuda_device *d = ypi_cuda(stream->device);
    struct ypi_cuda_stream *s = (struct ypi_cuda_stream *)stream;
    pthread_mutex_lock(&d->lock);
    struct ypi_cuda_stream **at = &d->stream.next;
    while (*at != s)
        at = &(*at)->next;
    *at = s->next;
    pthread_mutex_unlock(&d->lock);
    (void)cudaEventDestroy(s->mark);
    (void)cudaStreamDestroy(s->native);
    free(s);
}

enum yp_status ypi_cuda_stream_wait(struct yp_stream *stream, struct yp_event *event)
{
    const struct event *e = (const struct event *)event;
    if (!e->recorded)
        return YP_OK;
    return ypi_cuda_status(cudaStreamWaitEvent(native(stream), e->event, 0),
                           "a stream that waits for an event");
}

enum yp_status ypi_cuda_stream_copy(struct yp_stream *stream, void *to, const void *from,
                                    size_t bytes)
{
    return ypi_cuda_status(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, native(stream)),
                           "a copy");
}

enum yp_status ypi_cuda_stream_synchronize(struct yp_stream *stream)
{
    return ypi_cuda_status(cudaStreamSynchronize(native(stream)), "work on a stream");
}

enum yp_status ypi_cuda_synchronize(struct yp_device *device)
{
    (void)device;
    return ypi_cuda_status(cudaDeviceSynchronize(), "work on the device");
}

enum yp_status ypi_cuda_copy(struct yp_device *device, void *to, const void *from, size_t bytes)
{
    struct ypi_cuda_device *d = ypi_cuda(device);
    cudaError_t error = cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, d->work);
    if (error == cudaSuccess)
        error = cudaStreamSynchronize(d->work);
    return ypi_cuda_status(error, "a copy");
}

/* -- events -------------------------------------------------------------------------------- */

struct yp_event *ypi_cuda_event_create(struct yp_device *device)
{
    struct event *e = calloc(1, sizeof *e);
    if (e == NULL) {
        ypi_cuda_host->set_error(YP_OUT_OF_MEMORY, "out of memory: an event could not be created");
        return NULL;
    }
    e->base.device = device;
    if (ypi_cuda_status(cudaEventCreateWithFlags(&e->event, cudaEventDefault), "an event") == YP_OK)
        return &e->base;
    free(e);
    return NULL;
}

void ypi_cuda_event_destroy(struct yp_event *event)
{
    struct event *e = (struct event *)event;
    (void)cudaEventDestroy(e->event);
    free(e);
}

enum yp_status ypi_cuda_event_record(struct yp_event *event, struct yp_stream *stream)
{
    struct event *e = (struct event *)event;
    enum yp_status status =
        ypi_cuda_status(cudaEventRecord(e->event, native(stream)), "recording an event");
    e->recorded = status == YP_OK;
    return status;
}

enum yp_status ypi_cuda_event_mark(struct yp_event *event, struct yp_stream *stream)
{
    struct event *e = (struct event *)event;
    if (!ypi_cuda_captures(ypi_cuda(stream->device)))
        return ypi_cuda_event_record(event, stream);
    enum yp_status status =
        ypi_cuda_status(cudaEventRecordWithFlags(e->event, native(stream), cudaEventRecordExternal),
                        "recording an event in a graph");
    e->recorded = status == YP_OK;
    return status;
}

enum yp_status ypi_cuda_event_synchronize(struct yp_event *event)
{
    const struct event *e = (const struct event *)event;
    if (!e->recorded)
        return YP_OK;
    return ypi_cuda_status(cudaEventSynchronize(e->event), "waiting for an event");
}

double ypi_cuda_event_seconds(struct yp_event *begin, struct yp_event *end)
{
    const struct event *b = (const struct event *)begin;
    const struct event *e = (const struct event *)end;
    float milliseconds = 0;
    if (!b->recorded || !e->recorded ||
        ypi_cuda_status(cudaEventSynchronize(b->event), "waiting for an event") != YP_OK ||
        ypi_cuda_status(cudaEventSynchronize(e->event), "waiting for an event") != YP_OK ||
        ypi_cuda_status(cudaEventElapsedTime(&milliseconds, b->event, e->event),
                        "the time between events") != YP_OK)
        return NAN;
    return (double)milliseconds * 1e-3;
}

/* -- for measuring ------------------------------------------------------------------------- */

enum yp_status ypi_cuda_hold(struct yp_stream *stream, double seconds)
{
    struct ypi_cuda_device *d = ypi_cuda(stream->device);
    volatile unsigned *gate = d->gate;
    gate[0] = gate[1] = 0;
    return ypi_cuda_status(ypi_kernel_gate(d->gate, (unsigned long long)(seconds * 1e9), d->work),
                           "holding the stream");
}

bool ypi_cuda_release(struct yp_stream *stream)
{
    struct ypi_cuda_device *d = ypi_cuda(stream->device);
    volatile unsigned *gate = d->gate;
    bool held = gate[1] == 0;
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    gate[0] = 1;
    return held;
}

/* Of this thread alone: other threads may go on with what a capture does not allow. Errors of
 * earlier work are reported here, not by the graph. */
enum yp_status ypi_cuda_capture_begin(struct yp_stream *stream)
{
    struct ypi_cuda_device *d = ypi_cuda(stream->device);
    enum yp_status status = ypi_cuda_synchronize(stream->device);
    if (status == YP_OK)
        status = ypi_cuda_status(cudaStreamBeginCapture(d->work, cudaStreamCaptureModeThreadLocal),
                                 "beginning a graph");
    d->captor = pthread_self();
    d->freed = false;
    d->capturing = status == YP_OK;
    return status;
}

void ypi_cuda_capture_abandon(struct ypi_cuda_device *d)
{
    cudaGraph_t captured = NULL;
    if (!d->capturing)
        return;
    d->capturing = false;
    if (cudaStreamEndCapture(d->work, &captured) == cudaSuccess && captured != NULL)
        (void)cudaGraphDestroy(captured);
    (void)cudaGetLastError();
}

enum yp_status ypi_cuda_capture_end(struct yp_stream *stream, struct ypi_graph **out)
{
    cudaGraph_t captured = NULL;
    cudaGraphExec_t graph = NULL;
    struct ypi_cuda_device *d = ypi_cuda(stream->device);
    cudaError_t error = cudaStreamEndCapture(d->work, &captured);
    d->capturing = false;
    if (error == cudaSuccess && captured == NULL)
        error = cudaErrorStreamCaptureInvalidated;
    if (error == cudaSuccess)
        error = cudaGraphInstantiate(&graph, captured, 0);
    if (captured != NULL)
        (void)cudaGraphDestroy(captured);
    *out = (struct ypi_graph *)graph;
    enum yp_status status = ypi_cuda_status(error, "work that should become a graph");
    if (status != YP_OK || !d->freed)
        return status;
    ypi_cuda_graph_destroy(*out);
    return ypi_cuda_host->set_error(YP_INVALID, "memory was given back while work became a graph, "
                                                "which uses it each time it is launched");
}

enum yp_status ypi_cuda_replay(struct ypi_graph *graph, struct yp_stream *stream)
{
    return ypi_cuda_status(cudaGraphLaunch((cudaGraphExec_t)graph, ypi_cuda(stream->device)->work),
                           "launching a graph");
}

void ypi_cuda_graph_destroy(struct ypi_graph *graph)
{
    (void)cudaGraphExecDestroy((cudaGraphExec_t)graph);
}

double ypi_cuda_others_after(struct yp_event *end)
{
    const struct event *e = (const struct event *)end;
    if (ypi_cuda_status(cudaEventSynchronize(e->event), "waiting for an event") != YP_OK)
        return NAN;
    double before = ypi_cuda_now();
    if (ypi_cuda_status(cudaDeviceSynchronize(), "work on another stream") != YP_OK)
        return NAN;
    return ypi_cuda_now() - before;
}

/* One half is written all over with what is no cache's content any more; then the other, which
 * stays as it is, is read: the work does not pay for lines that are still to be written back. Each
 * is twice the cache. Not accounted for: it is the framework's own. */
enum yp_status ypi_cuda_flush(struct yp_stream *stream)
{
    struct ypi_cuda_device *d = ypi_cuda(stream->device);
    size_t bytes = 2 * d->cache / LINE * LINE;
    cudaError_t error = cudaSuccess;
    if (bytes == 0)
        return YP_OK;
    if (d->scratch == NULL) {
        error = cudaMalloc((void **)&d->scratch, 2 * bytes);
        if (error == cudaSuccess)
            error = ypi_kernel_words((unsigned *)(void *)(d->scratch + bytes),
                                     bytes / sizeof(unsigned), d->work);
    }
    unsigned *dirty = (unsigned *)(void *)d->scratch;
    if (error == cudaSuccess)
        error = ypi_kernel_words(dirty, bytes / sizeof(unsigned), d->work);
    if (error == cudaSuccess)
        error = ypi_kernel_traffic(YP_READ, d->scratch + bytes, NULL, bytes, 1, dirty,
                                   BLOCKS_EACH * d->multiprocessors, d->work);
    return ypi_cuda_status(error, "emptying the caches");
}

size_t ypi_cuda_cache_bytes(const struct yp_device *device)
{
    return ypi_cuda(device)->cache;
}

/* A runtime of CUDA's on the emulated device, for the tests of the CUDA device: work is done when
 * it is launched, and takes the time that it is told to. Only what device/cuda calls is there;
 * headers are CUDA's own, so that a call that is not as declared does not compile.
 *
 * FAKE_CUDA names what it should be like, words apart by blanks:
 *     driver=N      of what version, 0: none there; 12040 is CUDA 12.4 [13000]
 *     devices=N     [1]
 *     capability=N  [90]
 *     memory=N      bytes of the device [1 GiB]
 *     pinned=N      bytes of the host that one block may page-lock [1 GiB]
 *     mode=N        compute mode; 2 prohibits contexts [0]
 *     pools=N       0: it has no pools of memory [1]
 *     busy          it is another process's alone
 *     full          there is no memory for a context
 *     lost          it fails when it is first used
 *     fault=N       wait N (from 1) finds that a kernel has failed
 *     context=N     0: the driver tells none [1]
 *     hang          asking for it never ends
 *     crash         asking for it ends the process
 */
#include "tests/emulated/device.h"
#include "tests/fake_cuda/fake.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* Between the host and the device. */
#define COPIED_A_SECOND 10e9

enum { GRANULE = 512, CHUNK = 2 << 20, DRIVER = 13000, BLOCKS = 4096 };

struct CUevent_st {
    double at;
    bool recorded;
    struct CUstream_st *held; /* NULL, or by whose gate: `at` is as if that had been open */
    struct CUevent_st *next;  /* that is held, too */
};
/* Seconds of work, and what is recorded after how many of them. */
struct CUgraph_st {
    double seconds;
    struct recorded {
        struct CUevent_st *event;
        double after;
    } events[1 << 13];
    int count;
};
struct CUstream_st {
    struct ypk_native_stream native; /* for kernels of device/cuda/frame.h */
    int number;                      /* of the emulated device's */
    double busy_until;
    volatile unsigned *gate; /* NULL, or what its work waits for since `gated` */
    double gated, worked;    /* worked: seconds that the CPU ran its kernels since then */
    struct CUevent_st *held;
    double captured; /* seconds of work that is recorded */
    struct CUgraph_st recording;
    bool capturing, gone;
};
struct CUgraphExec_st {
    struct CUgraph_st graph;
};
/* Large blocks are used again for others of the same size alone, as if there were no gap for them;
 * small ones share chunks. */
struct CUmemPoolHandle_st {
    uint64_t used, used_high, reserved, reserved_high;
    uint64_t small_used, small_reserved;
    uint64_t kept[BLOCKS]; /* sizes of large blocks that were given back */
    int kept_count;
};

/* The one device, as it is now. */
static struct {
    pthread_mutex_t lock;
    struct CUmemPoolHandle_st pool;
    struct CUstream_st streams[EMULATED_STREAMS];
    int stream_count;
    uint64_t outside; /* bytes by cudaMalloc */
    int waits;
    cudaError_t last, sticky;
} now = {.lock = PTHREAD_MUTEX_INITIALIZER};

static bool word(const char *name, long long *value)
{
    const char *all = getenv("FAKE_CUDA");
    size_t length = strlen(name);
    for (const char *at = all; at != NULL && *at != '\0'; at += strspn(at, " ")) {
        size_t whole = strcspn(at, " ");
        if (strncmp(at, name, length) == 0 && (whole == length || at[length] == '=')) {
            if (value != NULL && at[length] == '=')
                *value = atoll(at + length + 1);
            return true;
        }
        at += whole;
    }
    return false;
}

static long long number(const char *name, long long otherwise)
{
    (void)word(name, &otherwise);
    return otherwise;
}

double fake_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static cudaError_t report(cudaError_t error)
{
    if (now.sticky != cudaSuccess)
        error = now.sticky;
    if (error != cudaSuccess)
        now.last = error;
    return error;
}

/* -- the driver and the device ------------------------------------------------------------- */

static cudaError_t whether_usable(void)
{
    if (number("driver", DRIVER) < DRIVER)
        return cudaErrorInsufficientDriver;
    return number("devices", 1) > 0 ? cudaSuccess : cudaErrorNoDevice;
}

cudaError_t cudaGetDeviceCount(int *count)
{
    if (word("hang", NULL))
        for (;;)
            pause();
    if (word("crash", NULL))
        raise(SIGSEGV);
    *count = (int)number("devices", 1);
    return report(whether_usable());
}

cudaError_t cudaDriverGetVersion(int *version)
{
    *version = (int)number("driver", DRIVER);
    return cudaSuccess;
}

cudaError_t cudaRuntimeGetVersion(int *version)
{
    *version = DRIVER;
    return cudaSuccess;
}

cudaError_t cudaDeviceGetAttribute(int *value, enum cudaDeviceAttr attribute, int device)
{
    int capability = (int)number("capability", 90);
    if (device != 0)
        return report(cudaErrorInvalidDevice);
    switch (attribute) {
    case cudaDevAttrComputeCapabilityMajor:
        *value = capability / 10;
        break;
    case cudaDevAttrComputeCapabilityMinor:
        *value = capability % 10;
        break;
    case cudaDevAttrComputeMode:
        *value = (int)number("mode", cudaComputeModeDefault);
        break;
    case cudaDevAttrL2CacheSize:
        *value = 1 << 20;
        break;
    case cudaDevAttrMultiProcessorCount:
        *value = 4;
        break;
    case cudaDevAttrMemoryPoolsSupported:
        *value = (int)number("pools", 1);
        break;
    default:
        return report(cudaErrorInvalidValue);
    }
    return cudaSuccess;
}

cudaError_t cudaGetDeviceProperties(struct cudaDeviceProp *p, int device)
{
    memset(p, 0, sizeof *p);
    if (device != 0)
        return report(cudaErrorInvalidDevice);
    snprintf(p->name, sizeof p->name, "Fake GPU");
    p->major = (int)number("capability", 90) / 10;
    p->minor = (int)number("capability", 90) % 10;
    p->totalGlobalMem = (size_t)number("memory", 1 << 30);
    p->multiProcessorCount = 4;
    p->l2CacheSize = 1 << 20;
    return cudaSuccess;
}

cudaError_t cudaDeviceGetPCIBusId(char *pciBusId, int len, int device)
{
    const char *seen = getenv("CUDA_VISIBLE_DEVICES");
    (void)device;
    snprintf(pciBusId, (size_t)len, "0000:%02x:00.0", seen != NULL ? atoi(seen) & 0xff : 0);
    return cudaSuccess;
}

cudaError_t cudaSetDevice(int device)
{
    if (word("busy", NULL))
        return report(cudaErrorDevicesUnavailable);
    if (word("full", NULL))
        return report(cudaErrorMemoryAllocation);
    if (word("lost", NULL))
        return report(cudaErrorUnknown);
    return report(device == 0 ? whether_usable() : cudaErrorInvalidDevice);
}

const char *cudaGetErrorName(cudaError_t error)
{
    return error == cudaErrorMemoryAllocation           ? "cudaErrorMemoryAllocation"
           : error == cudaErrorIllegalAddress           ? "cudaErrorIllegalAddress"
           : error == cudaErrorUnknown                  ? "cudaErrorUnknown"
           : error == cudaErrorDevicesUnavailable       ? "cudaErrorDevicesUnavailable"
           : error == cudaErrorStreamCaptureUnsupported ? "cudaErrorStreamCaptureUnsupported"
                                                        : "cudaErrorOther";
}

const char *cudaGetErrorString(cudaError_t error)
{
    return error == cudaErrorMemoryAllocation ? "out of memory"
           : error == cudaErrorIllegalAddress ? "an illegal memory access was encountered"
           : error == cudaErrorStreamCaptureUnsupported
               ? "the operation is not permitted when the stream is capturing"
               : "some error";
}

cudaError_t cudaGetLastError(void)
{
    cudaError_t error = now.last;
    now.last = now.sticky;
    return error;
}

/* -- the driver's functions ---------------------------------------------------------------- */

static int current_context(void **out)
{
    *out = &now;
    return number("context", 1) > 0 ? 0 : 201;
}

cudaError_t cudaGetDriverEntryPointByVersion(const char *symbol, void **funcPtr,
                                             unsigned cudaVersion, unsigned long long flags,
                                             enum cudaDriverEntryPointQueryResult *driverStatus)
{
    int (*function)(void **) = current_context;
    bool known =
        strcmp(symbol, "cuCtxGetCurrent") == 0 && cudaVersion >= 4000 && flags == cudaEnableDefault;
    *driverStatus = known ? cudaDriverEntryPointSuccess : cudaDriverEntryPointSymbolNotFound;
    memcpy(funcPtr, &function, sizeof function);
    return report(cudaSuccess);
}

/* -- memory -------------------------------------------------------------------------------- */

static uint64_t taken(void)
{
    return now.pool.reserved + now.outside;
}

static cudaError_t keep(void **out, size_t bytes, bool pooled)
{
    /* What misses a barrier, or reads what nothing has written, comes out otherwise. */
    emulated.kernels.order = YPK_MIXED;
    emulated.kernels.garbage = EMULATED_NAN;
    emulated.unprotected = true; /* else each launch would take as long as many system calls */
    *out = emulated_take(bytes);
    if (*out == NULL)
        return cudaErrorMemoryAllocation;
    emulated_block(*out)->pooled = pooled;
    return cudaSuccess;
}

static size_t let_go(void *block, bool *pooled)
{
    const struct emulated_block *b = emulated_block(block);
    if (b == NULL)
        return 0;
    *pooled = b->pooled;
    return emulated_give(block);
}

cudaError_t cudaMemPoolCreate(cudaMemPool_t *memPool, const struct cudaMemPoolProps *poolProps)
{
    if (poolProps->location.type != cudaMemLocationTypeDevice ||
        poolProps->allocType != cudaMemAllocationTypePinned)
        return report(cudaErrorInvalidValue);
    *memPool = &now.pool;
    return report(cudaSuccess);
}

cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t pool, enum cudaMemPoolAttr attribute, void *value)
{
    uint64_t given = 0;
    memcpy(&given, value, sizeof given);
    if (attribute == cudaMemPoolAttrReservedMemHigh && given == 0)
        pool->reserved_high = pool->reserved;
    else if (attribute == cudaMemPoolAttrUsedMemHigh && given == 0)
        pool->used_high = pool->used;
    else if (attribute != cudaMemPoolAttrReleaseThreshold)
        return report(cudaErrorInvalidValue);
    return report(cudaSuccess);
}

cudaError_t cudaMemPoolGetAttribute(cudaMemPool_t pool, enum cudaMemPoolAttr attribute, void *value)
{
    uint64_t v = attribute == cudaMemPoolAttrReservedMemCurrent ? pool->reserved
                 : attribute == cudaMemPoolAttrReservedMemHigh  ? pool->reserved_high
                 : attribute == cudaMemPoolAttrUsedMemCurrent   ? pool->used
                                                                : pool->used_high;
    memcpy(value, &v, sizeof v);
    return report(cudaSuccess);
}

static uint64_t whole(uint64_t bytes, uint64_t unit)
{
    return (bytes + unit - 1) / unit * unit;
}

cudaError_t cudaMemPoolTrimTo(cudaMemPool_t memPool, size_t minBytesToKeep)
{
    pthread_mutex_lock(&now.lock);
    while (memPool->kept_count > 0 && memPool->reserved > minBytesToKeep)
        memPool->reserved -= memPool->kept[--memPool->kept_count];
    uint64_t small = whole(memPool->small_used, CHUNK);
    memPool->reserved -= memPool->small_reserved - small;
    memPool->small_reserved = small;
    pthread_mutex_unlock(&now.lock);
    return report(cudaSuccess);
}

/* How much more the pool takes from the device for a block, which is then its. */
static uint64_t more_for(struct CUmemPoolHandle_st *pool, size_t size)
{
    uint64_t chunks = whole(size, CHUNK);
    if (size < CHUNK) {
        uint64_t wanted = whole(pool->small_used + whole(size, GRANULE), CHUNK);
        return wanted > pool->small_reserved ? wanted - pool->small_reserved : 0;
    }
    for (int i = 0; i < pool->kept_count; i++)
        if (pool->kept[i] == chunks)
            return 0;
    return chunks;
}

static void take_from(struct CUmemPoolHandle_st *pool, size_t size, uint64_t more)
{
    if (size < CHUNK) {
        pool->small_used += whole(size, GRANULE);
        pool->small_reserved += more;
    } else if (more == 0) {
        int i = 0;
        while (pool->kept[i] != whole(size, CHUNK))
            i++;
        pool->kept[i] = pool->kept[--pool->kept_count];
    }
    pool->reserved += more;
    pool->used += whole(size, GRANULE);
    pool->used_high = pool->used > pool->used_high ? pool->used : pool->used_high;
    if (pool->reserved > pool->reserved_high)
        pool->reserved_high = pool->reserved;
}

cudaError_t cudaMallocFromPoolAsync(void **ptr, size_t size, cudaMemPool_t memPool,
                                    cudaStream_t stream)
{
    (void)stream;
    pthread_mutex_lock(&now.lock);
    uint64_t more = more_for(memPool, size);
    cudaError_t error = taken() + more > (uint64_t)number("memory", 1 << 30)
                            ? cudaErrorMemoryAllocation
                            : keep(ptr, size, true);
    if (error == cudaSuccess)
        take_from(memPool, size, more);
    pthread_mutex_unlock(&now.lock);
    return report(error);
}

cudaError_t cudaMalloc(void **devPtr, size_t size)
{
    pthread_mutex_lock(&now.lock);
    cudaError_t error = taken() + size > (uint64_t)number("memory", 1 << 30)
                            ? cudaErrorMemoryAllocation
                            : keep(devPtr, size, false);
    now.outside += error == cudaSuccess ? size : 0;
    pthread_mutex_unlock(&now.lock);
    return report(error);
}

cudaError_t cudaFree(void *devPtr)
{
    bool pooled = false;
    if (devPtr == NULL)
        return report(cudaSuccess);
    pthread_mutex_lock(&now.lock);
    size_t bytes = let_go(devPtr, &pooled);
    now.outside -= pooled ? 0 : bytes;
    pthread_mutex_unlock(&now.lock);
    return report(bytes > 0 ? cudaSuccess : cudaErrorInvalidValue);
}

cudaError_t cudaFreeAsync(void *devPtr, cudaStream_t hStream)
{
    (void)hStream;
    bool pooled = false;
    pthread_mutex_lock(&now.lock);
    size_t bytes = let_go(devPtr, &pooled);
    if (pooled) {
        now.pool.used -= whole(bytes, GRANULE);
        if (bytes < CHUNK)
            now.pool.small_used -= whole(bytes, GRANULE);
        else
            now.pool.kept[now.pool.kept_count++] = whole(bytes, CHUNK);
    }
    pthread_mutex_unlock(&now.lock);
    return report(bytes > 0 ? cudaSuccess : cudaErrorInvalidValue);
}

cudaError_t cudaHostAlloc(void **pHost, size_t size, unsigned flags)
{
    (void)flags;
    *pHost = size <= (size_t)number("pinned", 1 << 30) ? malloc(size) : NULL;
    return report(*pHost != NULL ? cudaSuccess : cudaErrorMemoryAllocation);
}

cudaError_t cudaFreeHost(void *ptr)
{
    free(ptr);
    return report(cudaSuccess);
}

cudaError_t cudaMemGetInfo(size_t *free, size_t *total)
{
    *total = (size_t)number("memory", 1 << 30);
    *free = *total - taken();
    return report(cudaSuccess);
}

cudaError_t cudaMemcpyAsync(void *dst, const void *src, size_t count, enum cudaMemcpyKind kind,
                            cudaStream_t stream)
{
    (void)kind;
    if (emulated_has(dst, count) || emulated_has(src, count))
        emulated_copy(stream->number, dst, src, count);
    else
        memmove(dst, src, count);
    fake_work(stream, (double)count / COPIED_A_SECOND);
    return report(cudaSuccess);
}

/* -- streams and events -------------------------------------------------------------------- */

static void wait_until(double at)
{
    while (fake_now() < at) {
    }
}

static cudaError_t waited(void)
{
    if (++now.waits == number("fault", 0))
        now.sticky = cudaErrorIllegalAddress;
    return report(cudaSuccess);
}

/* The CPU has run the kernel by the time it is launched. */
static void launch(struct ypk_native_stream *native, const struct ypk_work *work)
{
    struct CUstream_st *stream = (struct CUstream_st *)native;
    struct ypk_native_stream *own = &emulated.streams[stream->number].native;
    double begin = fake_now();
    own->launch(own, work);
    if (stream->gate == NULL)
        return;
    double seconds = fake_now() - begin;
    stream->worked += seconds;
    fake_work(stream, seconds);
}

/* -- the gate -- */

/* Who waits for work behind a gate that is still closed would wait until it runs out of patience,
 * which is at once here. What was launched meanwhile begins when the gate opens. */
static void settle(cudaStream_t stream)
{
    if (stream->gate == NULL)
        return;
    double later = fake_now() - stream->gated - stream->worked;
    later = later > 0 ? later : 0;
    if (stream->gate[0] == 0)
        stream->gate[1] = 1;
    stream->gate = NULL;
    stream->busy_until += later;
    for (struct CUevent_st *e = stream->held; e != NULL; e = e->next) {
        e->at += later;
        e->held = NULL;
    }
    stream->held = NULL;
}

static void settle_event(cudaEvent_t event)
{
    if (event->held != NULL)
        settle(event->held);
}

/* When the work that begins on a stream now does so; of one that is held, as if it were not. */
static double beginning(const struct CUstream_st *stream)
{
    double at = stream->gate != NULL ? stream->gated : fake_now();
    return stream->busy_until > at ? stream->busy_until : at;
}

void fake_gate(cudaStream_t stream, unsigned *gate)
{
    settle(stream);
    stream->gated = beginning(stream);
    stream->worked = 0;
    stream->gate = gate;
}

/* So many seconds after that. */
static void record(cudaEvent_t event, cudaStream_t stream, double after)
{
    if (event->held != NULL && event->held != stream)
        settle(event->held);
    event->at = beginning(stream) + after;
    event->recorded = true;
    if (stream->gate != NULL && event->held == NULL) {
        event->held = stream;
        event->next = stream->held;
        stream->held = event;
    }
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t *pStream, unsigned flags)
{
    (void)flags;
    int i = 0, number = emulated_stream_open();
    if (number < 0)
        return report(cudaErrorMemoryAllocation);
    while (i < now.stream_count && !now.streams[i].gone)
        i++;
    now.stream_count += i == now.stream_count;
    now.streams[i] = (struct CUstream_st){.native.launch = launch, .number = number};
    *pStream = &now.streams[i];
    return report(cudaSuccess);
}

cudaError_t cudaStreamDestroy(cudaStream_t stream)
{
    if (stream->gone)
        return report(cudaErrorInvalidResourceHandle);
    settle(stream);
    stream->gone = true;
    emulated_stream_close(stream->number);
    return report(cudaSuccess);
}

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned flags)
{
    (void)flags;
    if (!event->recorded)
        return report(cudaErrorInvalidResourceHandle);
    stream->busy_until = event->at > stream->busy_until ? event->at : stream->busy_until;
    return report(cudaSuccess);
}

/* A wait ends a capture, which is then no graph any more. */
cudaError_t cudaStreamSynchronize(cudaStream_t stream)
{
    if (stream->capturing) {
        stream->captured = -1;
        return report(cudaErrorStreamCaptureUnsupported);
    }
    settle(stream);
    wait_until(stream->busy_until);
    return waited();
}

cudaError_t cudaDeviceSynchronize(void)
{
    for (int i = 0; i < now.stream_count; i++)
        if (now.streams[i].capturing) {
            now.streams[i].captured = -1;
            return report(cudaErrorStreamCaptureUnsupported);
        }
    for (int i = 0; i < now.stream_count; i++) {
        settle(&now.streams[i]);
        wait_until(now.streams[i].busy_until);
    }
    return waited();
}

__attribute__((visibility("default"))) void fake_work(cudaStream_t stream, double seconds)
{
    if (stream->capturing)
        stream->captured += stream->captured < 0 ? 0 : seconds;
    else
        stream->busy_until = beginning(stream) + seconds;
}

__attribute__((visibility("default"))) void fake_work_elsewhere(cudaStream_t stream, double seconds)
{
    fake_work(stream == &now.streams[0] ? &now.streams[1] : &now.streams[0], seconds);
}

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, enum cudaStreamCaptureMode mode)
{
    (void)mode;
    stream->capturing = true;
    stream->captured = 0;
    stream->recording.count = 0;
    return report(cudaSuccess);
}

cudaError_t cudaStreamIsCapturing(cudaStream_t stream, enum cudaStreamCaptureStatus *pCaptureStatus)
{
    *pCaptureStatus =
        stream->capturing ? cudaStreamCaptureStatusActive : cudaStreamCaptureStatusNone;
    return report(cudaSuccess);
}

cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t *pGraph)
{
    bool whole = stream->capturing && stream->captured >= 0;
    stream->capturing = false;
    *pGraph = whole ? malloc(sizeof **pGraph) : NULL;
    if (*pGraph != NULL) {
        **pGraph = stream->recording;
        (*pGraph)->seconds = stream->captured;
    }
    return report(*pGraph != NULL ? cudaSuccess : cudaErrorStreamCaptureInvalidated);
}

cudaError_t cudaGraphInstantiate(cudaGraphExec_t *pGraphExec, cudaGraph_t graph,
                                 unsigned long long flags)
{
    (void)flags;
    *pGraphExec = malloc(sizeof **pGraphExec);
    if (*pGraphExec != NULL)
        (*pGraphExec)->graph = *graph;
    return report(*pGraphExec != NULL ? cudaSuccess : cudaErrorMemoryAllocation);
}

cudaError_t cudaGraphDestroy(cudaGraph_t graph)
{
    free(graph);
    return report(cudaSuccess);
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t graphExec, cudaStream_t stream)
{
    for (int i = 0; i < graphExec->graph.count; i++)
        record(graphExec->graph.events[i].event, stream, graphExec->graph.events[i].after);
    fake_work(stream, graphExec->graph.seconds);
    return report(cudaSuccess);
}

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t graphExec)
{
    free(graphExec);
    return report(cudaSuccess);
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned flags)
{
    (void)flags;
    *event = calloc(1, sizeof **event);
    return report(*event != NULL ? cudaSuccess : cudaErrorMemoryAllocation);
}

cudaError_t cudaEventDestroy(cudaEvent_t event)
{
    settle_event(event);
    free(event);
    return report(cudaSuccess);
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream)
{
    record(event, stream, 0);
    return report(cudaSuccess);
}

/* In a capture it is recorded when the graph runs. */
cudaError_t cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t stream, unsigned flags)
{
    struct CUgraph_st *g = &stream->recording;
    if (!stream->capturing || flags != cudaEventRecordExternal ||
        g->count == (int)(sizeof g->events / sizeof *g->events))
        return report(cudaErrorInvalidValue);
    g->events[g->count++] = (struct recorded){event, stream->captured};
    return report(cudaSuccess);
}

cudaError_t cudaEventSynchronize(cudaEvent_t event)
{
    settle_event(event);
    wait_until(event->at);
    return waited();
}

cudaError_t cudaEventElapsedTime(float *ms, cudaEvent_t start, cudaEvent_t end)
{
    settle_event(start);
    settle_event(end);
    *ms = (float)(1e3 * (end->at - start->at));
    return report(cudaSuccess);
}

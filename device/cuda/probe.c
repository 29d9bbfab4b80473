/* Probes of the device's ceilings: kernels that do nothing but what the ceiling is about, timed by
 * events. */
#include "device/ceiling/ceiling.h"
#include "device/cuda/internal.h"
#include "device/cuda/kernels.h"

#include <math.h>
#include <stdlib.h>

/* BEYOND times the second-level cache does not fit into it; 1 / INSIDE of it does, on every
 * partition of it. */
enum { BEYOND = 16, INSIDE = 4, GROUPS_EACH = 4, ALIGNED = 4096, TRANSFERRED = 64 << 20 };
/* Launches are made so long that what they cost does not matter. */
#define CALIBRATED_SECONDS 200e-6
#define STEPS_MAX (1U << 28)
#define HOLD_SECONDS 0.02

struct ypi_device_probe {
    struct ypi_cuda_device *device;
    enum yp_ceiling ceiling;
    const char *level;
    char *from, *to; /* NULL: this ceiling has no use for it */
    char *host;      /* the other end of a transfer */
    size_t bytes;    /* of each */
    unsigned *sink;
    int capability;
    double step_seconds; /* of one more step or pass, as it was lately */
    cudaEvent_t begin, end;
};

static bool is_upload(enum yp_ceiling ceiling)
{
    return ceiling == YP_UPLOAD || ceiling == YP_UPLOAD_PAGEABLE;
}

static bool is_pinned(enum yp_ceiling ceiling)
{
    return ceiling == YP_UPLOAD || ceiling == YP_DOWNLOAD;
}

const char *ypi_cuda_probe_level(const struct ypi_device_probe *p)
{
    return p->level;
}

static cudaError_t transfer(struct ypi_device_probe *p, unsigned steps, double *amount)
{
    cudaError_t error = cudaSuccess;
    *amount = (double)p->bytes * steps;
    for (unsigned i = 0; i < steps && error == cudaSuccess; i++)
        error = is_upload(p->ceiling) ? cudaMemcpyAsync(p->to, p->host, p->bytes,
                                                        cudaMemcpyHostToDevice, p->device->work)
                                      : cudaMemcpyAsync(p->host, p->to, p->bytes,
                                                        cudaMemcpyDeviceToHost, p->device->work);
    return error;
}

/* Kernels that do next to nothing. */
static cudaError_t begin_kernels(struct ypi_device_probe *p, unsigned steps, double *amount)
{
    cudaError_t error = cudaSuccess;
    *amount = steps;
    for (unsigned i = 0; i < steps && error == cudaSuccess; i++)
        error = ypi_kernel_words(p->sink, 1, p->device->work);
    return error;
}

/* One launch of `steps`; what it did in *amount. */
static cudaError_t launch(struct ypi_device_probe *p, unsigned steps, double *amount)
{
    struct ypi_cuda_device *d = p->device;
    if (ypi_is_transfer(p->ceiling))
        return transfer(p, steps, amount);
    if (p->ceiling == YP_LAUNCH)
        return begin_kernels(p, steps, amount);
    if (!ypi_is_memory_traffic(p->ceiling))
        return ypi_kernel_arithmetic(p->ceiling, steps, d->multiprocessors, p->capability, p->sink,
                                     amount, d->work);
    *amount = (double)p->bytes * steps * (p->ceiling == YP_COPY ? 2 : 1);
    return ypi_kernel_traffic(p->ceiling, p->from, p->to, p->bytes, steps, p->sink,
                              GROUPS_EACH * d->multiprocessors, d->work);
}

/* Launched before it runs, as measured work is: what a launch costs is not in between. Kernels that
 * were not loaded yet and transfers, which wait, are not. */
static bool hold(const struct ypi_device_probe *p)
{
    return p->step_seconds > 0 && !ypi_is_transfer(p->ceiling) && p->ceiling != YP_LAUNCH &&
           ypi_cuda_hold(&p->device->stream.base, HOLD_SECONDS) == YP_OK;
}

/* Seconds of one launch; NaN with the error set. */
static double timed(struct ypi_device_probe *p, unsigned steps, double *amount)
{
    float milliseconds = 0;
    cudaStream_t stream = p->device->work;
    bool held = hold(p);
    cudaError_t error = cudaEventRecord(p->begin, stream);
    if (error == cudaSuccess)
        error = launch(p, steps, amount);
    if (error == cudaSuccess)
        error = cudaEventRecord(p->end, stream);
    if (held)
        (void)ypi_cuda_release(&p->device->stream.base);
    if (error == cudaSuccess)
        error = cudaEventSynchronize(p->end);
    if (error == cudaSuccess)
        error = cudaEventElapsedTime(&milliseconds, p->begin, p->end);
    return ypi_cuda_status(error, "a probe") == YP_OK ? 1e-3 * (double)milliseconds : (double)NAN;
}

/* Doubles the steps until one of them can be timed. False when the device has no such unit. */
static bool calibrate(struct ypi_device_probe *p)
{
    double amount = 0;
    double seconds = timed(p, 1, &amount); /* the first one also loads the kernel */
    unsigned steps = 1;
    if (!isnan(seconds) && amount <= 0) {
        ypi_cuda_host->set_error(YP_UNSUPPORTED, "this device has no unit for %s",
                                 p->ceiling == YP_FP8 ? "fp8" : "that arithmetic");
        return false;
    }
    while (!isnan(seconds = timed(p, steps, &amount)) && seconds < CALIBRATED_SECONDS &&
           steps < STEPS_MAX)
        steps *= 2;
    p->step_seconds = seconds / steps;
    return !isnan(seconds) && seconds > 0;
}

double ypi_cuda_probe_run(struct ypi_device_probe *p, double seconds)
{
    double amount = 0;
    double steps = fmin(fmax(1, round(seconds / p->step_seconds)), STEPS_MAX);
    double took = timed(p, (unsigned)steps, &amount);
    if (!(took > 0))
        return 0;
    p->step_seconds = took / steps;
    return amount / took;
}

static cudaError_t get_buffer(char **out, size_t bytes, cudaStream_t stream)
{
    cudaError_t error = cudaMalloc((void **)out, bytes);
    return error == cudaSuccess
               ? ypi_kernel_words((unsigned *)(void *)*out, bytes / sizeof(unsigned), stream)
               : error;
}

static cudaError_t get_both_ends(struct ypi_device_probe *p)
{
    p->bytes = TRANSFERRED;
    cudaError_t error = get_buffer(&p->to, p->bytes, p->device->work);
    if (error == cudaSuccess && is_pinned(p->ceiling))
        error = cudaHostAlloc((void **)&p->host, p->bytes, cudaHostAllocDefault);
    else if (error == cudaSuccess && (p->host = malloc(p->bytes)) == NULL)
        error = cudaErrorMemoryAllocation;
    for (size_t i = 0; error == cudaSuccess && i < p->bytes; i++)
        p->host[i] = (char)(i * 167 + 1); /* every page is there, and none of zeros */
    return error;
}

static cudaError_t get_buffers(struct ypi_device_probe *p, double footprint)
{
    struct ypi_cuda_device *d = p->device;
    bool cached = footprint > 0 && footprint <= (double)d->cache / 2;
    size_t bytes = cached ? d->cache / INSIDE : BEYOND * d->cache;
    cudaError_t error = cudaMalloc((void **)&p->sink, sizeof *p->sink);
    if (ypi_is_transfer(p->ceiling) && error == cudaSuccess)
        return get_both_ends(p);
    if (!ypi_is_memory_traffic(p->ceiling))
        return error;
    p->level = cached ? "L2" : "memory";
    p->bytes = bytes / (p->ceiling == YP_COPY ? 2 : 1) / ALIGNED * ALIGNED;
    if (p->bytes == 0)
        p->bytes = (size_t)256 << 20;
    if (error == cudaSuccess && p->ceiling != YP_FILL)
        error = get_buffer(&p->from, p->bytes, d->work);
    if (error == cudaSuccess && p->ceiling != YP_READ)
        error = get_buffer(&p->to, p->bytes, d->work);
    return error;
}

struct ypi_device_probe *ypi_cuda_probe_open(struct yp_device *device, enum yp_ceiling ceiling,
                                             double footprint)
{
    int major = 0;
    int minor = 0;
    if (ceiling <= YP_NO_CEILING || ceiling > YP_LAUNCH) {
        ypi_cuda_host->set_error(YP_INVALID, "ceiling is %d: allowed are %d to %d", (int)ceiling,
                                 YP_NO_CEILING + 1, YP_LAUNCH);
        return NULL;
    }
    struct ypi_device_probe *p = calloc(1, sizeof *p);
    if (p == NULL) {
        ypi_cuda_host->set_error(YP_OUT_OF_MEMORY, "out of memory: a probe");
        return NULL;
    }
    p->device = ypi_cuda(device);
    p->ceiling = ceiling;
    p->level = "";
    cudaError_t error = cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, 0);
    if (error == cudaSuccess)
        error = cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, 0);
    p->capability = 10 * major + minor;
    if (error == cudaSuccess)
        error = cudaEventCreateWithFlags(&p->begin, cudaEventDefault);
    if (error == cudaSuccess)
        error = cudaEventCreateWithFlags(&p->end, cudaEventDefault);
    if (error == cudaSuccess)
        error = get_buffers(p, footprint);
    if (ypi_cuda_status(error, "a probe") == YP_OK && calibrate(p))
        return p;
    ypi_cuda_probe_close(p);
    return NULL;
}

void ypi_cuda_probe_close(struct ypi_device_probe *p)
{
    if (p == NULL)
        return;
    (void)cudaFree(p->from);
    (void)cudaFree(p->to);
    (void)cudaFree(p->sink);
    if (!is_pinned(p->ceiling))
        free(p->host);
    else if (p->host != NULL)
        (void)cudaFreeHost(p->host);
    if (p->begin != NULL)
        (void)cudaEventDestroy(p->begin);
    if (p->end != NULL)
        (void)cudaEventDestroy(p->end);
    (void)cudaGetLastError();
    free(p);
}

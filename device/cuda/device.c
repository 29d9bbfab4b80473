/* The CUDA device: whether there is one, and what it is made of. */
#include "device/cuda/internal.h"
#include "device/cuda/kernels.h"

#ifdef YPI_NVTX
#include <nvtx3/nvToolsExt.h>
#endif
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* -- whether there is one ------------------------------------------------------------------ */

static void version_text(char out[16], int version)
{
    snprintf(out, 16, "%d.%d", version / 1000, version % 1000 / 10);
}

/* The runtime says the same of a driver that is too old and of none. */
static enum yp_status explain_driver(cudaError_t error)
{
    int driver = 0;
    int needed = 0;
    char found[16];
    char least[16];
    if (error == cudaErrorNoDevice)
        return ypi_cuda_host->set_error(
            YP_UNSUPPORTED, "no CUDA device: the driver finds none%s",
            getenv("CUDA_VISIBLE_DEVICES") != NULL ? " (CUDA_VISIBLE_DEVICES is set)" : "");
    if (error != cudaErrorInsufficientDriver && error != cudaErrorStubLibrary)
        return ypi_cuda_status(error, "no CUDA device");
    if (cudaDriverGetVersion(&driver) != cudaSuccess)
        driver = 0;
    (void)cudaGetLastError();
    (void)cudaRuntimeGetVersion(&needed);
    if (driver == 0)
        return ypi_cuda_host->set_error(
            YP_UNSUPPORTED, "no CUDA device: the driver's library libcuda.so.1 is not there");
    version_text(found, driver);
    version_text(least, needed / 1000 * 1000);
    return ypi_cuda_host->set_error(YP_UNSUPPORTED,
                                    "no CUDA device: the driver is too old: it is for CUDA %s, "
                                    "this build needs one for %s or later",
                                    found, least);
}

static int attribute(enum cudaDeviceAttr which)
{
    int value = 0;
    if (cudaDeviceGetAttribute(&value, which, 0) != cudaSuccess) {
        (void)cudaGetLastError();
        return 0;
    }
    return value;
}

static enum yp_status check_capability(void)
{
    int has = 10 * attribute(cudaDevAttrComputeCapabilityMajor) +
              attribute(cudaDevAttrComputeCapabilityMinor);
    if (has >= YPI_CUDA_LEAST)
        return YP_OK;
    return ypi_cuda_host->set_error(YP_UNSUPPORTED,
                                    "no CUDA device: it is of compute capability %d.%d, this build "
                                    "has code from %d.%d on (-Dcuda-arch)",
                                    has / 10, has % 10, YPI_CUDA_LEAST / 10, YPI_CUDA_LEAST % 10);
}

static enum yp_status find(void)
{
    int count = 0;
    cudaError_t error = cudaGetDeviceCount(&count);
    if (error == cudaSuccess && count == 0)
        error = cudaErrorNoDevice;
    if (error != cudaSuccess) {
        (void)cudaGetLastError();
        return explain_driver(error);
    }
    if (attribute(cudaDevAttrComputeMode) == cudaComputeModeProhibited)
        return ypi_cuda_host->set_error(
            YP_UNSUPPORTED, "no CUDA device: its compute mode prohibits contexts (nvidia-smi -c)");
    return check_capability();
}

static void report_number(ypi_cuda_fact *report, void *arg, const char *key, long long value)
{
    char text[32];
    snprintf(text, sizeof text, "%lld", value);
    report(arg, key, text);
}

static void report_facts(ypi_cuda_fact *report, void *arg)
{
    struct cudaDeviceProp p;
    char text[32] = "";
    int version = 0;
    if (cudaGetDeviceProperties(&p, 0) != cudaSuccess) {
        (void)cudaGetLastError();
        return;
    }
    report(arg, "gpu.name", p.name);
    snprintf(text, sizeof text, "%d.%d", p.major, p.minor);
    report(arg, "gpu.capability", text);
    report_number(report, arg, "gpu.memory", (long long)p.totalGlobalMem);
    report_number(report, arg, "gpu.multiprocessors", p.multiProcessorCount);
    report_number(report, arg, "gpu.l2", p.l2CacheSize);
    report(arg, "gpu.ecc", p.ECCEnabled ? "on" : "off");
    if (cudaDeviceGetPCIBusId(text, (int)sizeof text, 0) == cudaSuccess)
        report(arg, "gpu.pci", text);
    if (cudaDriverGetVersion(&version) == cudaSuccess) {
        version_text(text, version);
        report(arg, "gpu.driver.cuda", text);
    }
    if (cudaRuntimeGetVersion(&version) == cudaSuccess) {
        version_text(text, version);
        report(arg, "library.cuda", text);
    }
    if (cudaDeviceGetPCIBusId(text, (int)sizeof text, 0) == cudaSuccess) {
        struct ypi_nvml *nvml = ypi_nvml_open(text);
        if (nvml != NULL)
            ypi_nvml_facts(nvml, report, arg);
    }
}

static enum yp_status look(ypi_cuda_fact *report, void *arg)
{
    enum yp_status status = find();
    if (status == YP_OK && report != NULL)
        report_facts(report, arg);
    return status;
}

/* -- opening -------------------------------------------------------------------------------- */

static const char *name(const struct yp_device *device)
{
    (void)device;
    const char *given = getenv("YIELDPOINT_DEVICE");
    return given != NULL ? given : "cuda:0";
}

static const char *place(const struct yp_device *device)
{
    return ypi_cuda(device)->pci;
}

/* For Nsight and its like; costs next to nothing where none is attached. */
static void range(const char *of)
{
#ifdef YPI_NVTX
    if (of != NULL)
        (void)nvtxRangePushA(of);
    else
        (void)nvtxRangePop();
#else
    (void)of;
#endif
}

/* Faults of work that nobody waited for show here. */
static enum yp_status close_device(struct yp_device *device)
{
    ypi_cuda_capture_abandon(ypi_cuda(device));
    enum yp_status status = ypi_cuda_synchronize(device);
    ypi_cuda_audit_close();
    return status;
}

static const struct ypi_backend backend = {
    .kind = YP_DEVICE,
    .name = name,
    .allocate = ypi_cuda_allocate,
    .deallocate = ypi_cuda_deallocate,
    .separate = ypi_cuda_separate,
    .allocate_pinned = ypi_cuda_allocate_pinned,
    .deallocate_pinned = ypi_cuda_deallocate_pinned,
    .memory = ypi_cuda_memory,
    .reset_peak = ypi_cuda_reset_peak,
    .stream = ypi_cuda_stream,
    .native_stream = ypi_cuda_native_stream,
    .stream_create = ypi_cuda_stream_create,
    .stream_destroy = ypi_cuda_stream_destroy,
    .stream_wait = ypi_cuda_stream_wait,
    .stream_copy = ypi_cuda_stream_copy,
    .stream_synchronize = ypi_cuda_stream_synchronize,
    .synchronize = ypi_cuda_synchronize,
    .copy = ypi_cuda_copy,
    .event_create = ypi_cuda_event_create,
    .event_destroy = ypi_cuda_event_destroy,
    .event_record = ypi_cuda_event_record,
    .event_synchronize = ypi_cuda_event_synchronize,
    .event_seconds = ypi_cuda_event_seconds,
    .event_mark = ypi_cuda_event_mark,
    .hold = ypi_cuda_hold,
    .release = ypi_cuda_release,
    .capture_begin = ypi_cuda_capture_begin,
    .capture_end = ypi_cuda_capture_end,
    .replay = ypi_cuda_replay,
    .graph_destroy = ypi_cuda_graph_destroy,
    .others_after = ypi_cuda_others_after,
    .flush = ypi_cuda_flush,
    .cache_bytes = ypi_cuda_cache_bytes,
    .condition = ypi_cuda_condition,
    .place = place,
    .range = range,
    .probe_open = ypi_cuda_probe_open,
    .probe_level = ypi_cuda_probe_level,
    .probe_run = ypi_cuda_probe_run,
    .probe_close = ypi_cuda_probe_close,
    .audit_open = ypi_cuda_audit_open,
    .audit_begin = ypi_cuda_audit_begin,
    .audit_end = ypi_cuda_audit_end,
    .audit_read = ypi_cuda_audit_read,
    .close = close_device,
};

/* The context is made by the first call that needs one. */
static enum yp_status make_context(void)
{
    cudaError_t error = cudaSetDevice(0);
    if (error == cudaSuccess)
        error = cudaFree(NULL);
    if (error == cudaSuccess)
        error = ypi_kernel_check();
    if (error == cudaErrorDevicesUnavailable || error == cudaErrorDeviceAlreadyInUse) {
        (void)cudaGetLastError();
        return ypi_cuda_host->set_error(YP_UNSUPPORTED,
                                        "the CUDA device is in use by another process, and is one "
                                        "process's at a time (compute mode exclusive)");
    }
    return ypi_cuda_status(error, "a context on the CUDA device");
}

static enum yp_status open_device(struct yp_device **out)
{
    static struct ypi_cuda_device device;
    struct ypi_cuda_device *d = &device;
    *out = &d->base;
    if (d->base.backend != NULL)
        return YP_OK;
    enum yp_status status = find();
    if (status == YP_OK)
        status = make_context();
    if (status == YP_OK)
        status = ypi_cuda_stream_open(d);
    if (status == YP_OK)
        status = ypi_cuda_memory_open(d);
    if (status != YP_OK)
        return status;
    d->cache = (size_t)attribute(cudaDevAttrL2CacheSize);
    d->multiprocessors = attribute(cudaDevAttrMultiProcessorCount);
    if (cudaDeviceGetPCIBusId(d->pci, (int)sizeof d->pci, 0) == cudaSuccess)
        d->nvml = ypi_nvml_open(d->pci);
    d->base.backend = &backend;
    return YP_OK;
}

static const struct ypi_cuda_plugin table = {YPI_BACKEND_ABI, look, open_device};

YP_PLUGIN(YPI_CUDA_PLUGIN, table, ypi_cuda_host)

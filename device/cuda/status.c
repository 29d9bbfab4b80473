/* What the other files of the device stand on: the host, its clock, and what an error of CUDA
 * means. */
#include "device/cuda/internal.h"

#include <time.h>

const struct yp_plugin_host *ypi_cuda_host;

double ypi_cuda_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Nothing is broken: this process cannot use the device. */
static bool is_absence(cudaError_t error)
{
    switch (error) {
    case cudaErrorNoDevice:
    case cudaErrorInsufficientDriver:
    case cudaErrorStubLibrary:
    case cudaErrorDevicesUnavailable:
    case cudaErrorDeviceAlreadyInUse:
    case cudaErrorCompatNotSupportedOnDevice:
    case cudaErrorSystemDriverMismatch:
    case cudaErrorSystemNotReady:
    case cudaErrorCallRequiresNewerDriver:
    case cudaErrorNoKernelImageForDevice:
    case cudaErrorUnsupportedPtxVersion:
    case cudaErrorJitCompilerNotFound:
    case cudaErrorNotSupported:
        return true;
    default:
        return false;
    }
}

/* The caller's: an argument, more than a launch can have, or what a capture does not allow. */
static bool is_misuse(cudaError_t error)
{
    if (error >= cudaErrorStreamCaptureUnsupported && error <= cudaErrorStreamCaptureWrongThread)
        return true;
    return error == cudaErrorInvalidValue || error == cudaErrorInvalidConfiguration ||
           error == cudaErrorInvalidResourceHandle || error == cudaErrorLaunchOutOfResources;
}

enum yp_status ypi_cuda_status(cudaError_t error, const char *what)
{
    if (error == cudaSuccess)
        return YP_OK;
    (void)cudaGetLastError(); /* those that are not sticky are over with that */
    enum yp_status status = error == cudaErrorMemoryAllocation ? YP_OUT_OF_MEMORY
                            : is_absence(error)                ? YP_UNSUPPORTED
                            : is_misuse(error)                 ? YP_INVALID
                                                               : YP_DEVICE_FAULT;
    return ypi_cuda_host->set_error(status, "%s%s: %s (%s)",
                                    status == YP_OUT_OF_MEMORY ? "out of memory: " : "", what,
                                    cudaGetErrorString(error), cudaGetErrorName(error));
}

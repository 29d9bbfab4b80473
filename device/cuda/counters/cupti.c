/* CUPTI's library: found, loaded, and what its results mean. */
#include "device/cuda/counters/cupti.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* -- finding -------------------------------------------------------------------------------- */

/* The range profiler is there since 12.6; a library serves its own major version of the driver
 * and older ones. */
static const char *const names[] = {"libcupti.so.13", "libcupti.so.12", "libcupti.so"};

static void *load_from(const char *directory)
{
    char path[4096];
    void *library = NULL;
    for (size_t i = 0; i < sizeof names / sizeof *names && library == NULL; i++) {
        int length = snprintf(path, sizeof path, "%s%s", directory, names[i]);
        if (length > 0 && (size_t)length < sizeof path)
            library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    }
    return library;
}

static void *load_from_toolkit(const char *root)
{
    static const char *const folders[] = {"extras/CUPTI/lib64", "lib64", "lib"};
    char directory[4096];
    void *library = NULL;
    for (size_t i = 0; root != NULL && i < sizeof folders / sizeof *folders && library == NULL;
         i++) {
        int length = snprintf(directory, sizeof directory, "%s/%s/", root, folders[i]);
        if (length > 0 && (size_t)length < sizeof directory)
            library = load_from(directory);
    }
    return library;
}

static void *find_library(void)
{
    const char *given = getenv("YIELDPOINT_CUPTI");
    if (given != NULL) {
        void *named = dlopen(given, RTLD_NOW | RTLD_LOCAL);
        if (named == NULL)
            (void)ypi_cuda_host->set_error(YP_UNSUPPORTED, "CUPTI's library (YIELDPOINT_CUPTI): %s",
                                           dlerror());
        return named;
    }
    const char *const roots[] = {getenv("CUDA_HOME"), getenv("CUDA_PATH"), "/usr/local/cuda"};
    void *library = load_from("");
    for (size_t i = 0; i < sizeof roots / sizeof *roots && library == NULL; i++)
        library = load_from_toolkit(roots[i]);
    if (library == NULL)
        (void)ypi_cuda_host->set_error(
            YP_UNSUPPORTED,
            "CUPTI's library libcupti.so is not there: it is in CUDA's toolkit and in the Python "
            "package nvidia-cuda-cupti; YIELDPOINT_CUPTI, CUDA_HOME or LD_LIBRARY_PATH name where");
    return library;
}

/* C has no conversion from a pointer to data to one to a function. */
static bool attach(void *library, struct ypi_cupti *c)
{
    const struct {
        const char *name;
        void *where;
    } functions[] = {
        {"cuptiGetResultString", &c->name},
        {"cuptiProfilerInitialize", &c->initialize},
        {"cuptiDeviceGetChipName", &c->chip},
        {"cuptiProfilerDeviceSupported", &c->supported},
        {"cuptiProfilerGetCounterAvailability", &c->availability},
        {"cuptiProfilerHostInitialize", &c->host_open},
        {"cuptiProfilerHostDeinitialize", &c->host_close},
        {"cuptiProfilerHostGetMetricProperties", &c->properties},
        {"cuptiProfilerHostConfigAddMetrics", &c->add},
        {"cuptiProfilerHostGetConfigImageSize", &c->config_size},
        {"cuptiProfilerHostGetConfigImage", &c->config},
        {"cuptiProfilerHostGetNumOfPasses", &c->passes},
        {"cuptiProfilerHostEvaluateToGpuValues", &c->values},
        {"cuptiRangeProfilerEnable", &c->enable},
        {"cuptiRangeProfilerDisable", &c->disable},
        {"cuptiRangeProfilerSetConfig", &c->set},
        {"cuptiRangeProfilerStart", &c->start},
        {"cuptiRangeProfilerStop", &c->stop},
        {"cuptiRangeProfilerPushRange", &c->push},
        {"cuptiRangeProfilerPopRange", &c->pop},
        {"cuptiRangeProfilerDecodeData", &c->decode},
        {"cuptiRangeProfilerGetCounterDataSize", &c->counted_size},
        {"cuptiRangeProfilerCounterDataImageInitialize", &c->counted_init},
        {"cuptiRangeProfilerGetCounterDataInfo", &c->counted_info},
    };
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        void *symbol = dlsym(library, functions[i].name);
        if (symbol == NULL) {
            (void)ypi_cuda_host->set_error(
                YP_UNSUPPORTED, "CUPTI's library is too old: it has no %s, which is of CUDA 12.6",
                functions[i].name);
            return false;
        }
        memcpy(functions[i].where, &symbol, sizeof symbol);
    }
    return true;
}

const struct ypi_cupti *ypi_cupti_load(void)
{
    static struct ypi_cupti all;
    static bool loaded;
    void *library = loaded ? NULL : find_library();
    if (library != NULL && !(loaded = attach(library, &all)))
        dlclose(library);
    return loaded ? &all : NULL;
}

/* -- results -------------------------------------------------------------------------------- */

/* Why it cannot be, and what can be done; NULL: it ought to be possible. */
static const char *explain(int result)
{
    switch (result) {
    case YPI_CUPTI_PRIVILEGES:
        return "the driver keeps the device's counters for the administrator: run as root (or with "
               "CAP_SYS_ADMIN), or load its module with NVreg_RestrictProfilingToAdminUsers=0";
    case YPI_CUPTI_VIRTUALIZED:
        return "the device is virtual, and has no counters";
    case YPI_CUPTI_VIRTUALIZED_PRIVILEGES:
        return "the device is virtual, and its hypervisor does not allow counting";
    case YPI_CUPTI_CONFIDENTIAL:
        return "nothing is counted in confidential computing";
    case YPI_CUPTI_MIG:
        return "a part of a device (MIG) is not counted";
    case YPI_CUPTI_OTHERS:
    case YPI_CUPTI_DISABLED:
        return "another profiler or debugger is attached to the process";
    case YPI_CUPTI_BUSY:
        return "another process reads the device's counters";
    case YPI_CUPTI_NOT_INITIALIZED:
        return "it does not reach the driver, which may be older than the library";
    case YPI_CUPTI_CHIP:
        return "the library does not know this device: one of a newer CUDA may";
    case YPI_CUPTI_NOT_SUPPORTED:
        return "not on this device or system";
    default:
        return NULL;
    }
}

enum yp_status ypi_cupti_status(const struct ypi_cupti *c, int result, const char *what)
{
    const char *name = NULL;
    const char *why = explain(result);
    if (result == YPI_CUPTI_OK)
        return YP_OK;
    if (c->name(result, &name) != YPI_CUPTI_OK || name == NULL)
        name = "an unknown error";
    enum yp_status status = result == YPI_CUPTI_OUT_OF_MEMORY ? YP_OUT_OF_MEMORY
                            : why != NULL                     ? YP_UNSUPPORTED
                                                              : YP_DEVICE_FAULT;
    return ypi_cuda_host->set_error(status, "CUPTI: %s: %s (%s, %d)", what,
                                    why != NULL ? why : "it failed", name, result);
}

/*
 * Plugins: code for an accelerator in its own shared object, loaded only by processes that use it.
 *
 * A component with kernels (a generator, a model, your project) puts them into a plugin
 * `libyieldpoint-NAME.so`. The plugin links the device's runtime and exports one function:
 *
 *     // mine_cuda.h, included by both sides
 *     struct mine_cuda {
 *         enum yp_status (*scale)(struct yp_device *device, size_t n, float a, float *x);
 *     };
 *
 *     // mine.cu, in the plugin
 *     static const struct yp_plugin_host *host;
 *     static enum yp_status scale(struct yp_device *device, size_t n, float a, float *x)
 *     {
 *         scale_kernel<<<blocks(n), 256, 0, yp_plugin_stream(host, device)>>>(n, a, x);
 *         return yp_plugin_launched(host, "scale");
 *     }
 *     static const struct mine_cuda table = {scale};
 *     YP_PLUGIN("mine-cuda", table, host)
 *
 *     // mine.c, in the program: the same case runs on both devices
 *     if (yp_device_memory_kind(device) == YP_DEVICE) {
 *         const struct mine_cuda *cuda = yp_plugin_table("mine-cuda", sizeof *cuda);
 *         return cuda != NULL ? cuda->scale(device, n, a, x) : YP_UNSUPPORTED;
 *     }
 *
 * All work goes to the device's default stream, which is the measured one. Functions of a table
 * launch and return. A caller that needs the result on the host calls yp_device_copy(), which
 * waits, or yp_device_synchronize(), which also reports faults. Allocate memory only by
 * yp_device_alloc(), before the work, so that it is accounted for. Use the host's streams, events
 * and copies too: the host then knows which work may still use a freed block.
 *
 * A plugin creates objects that it needs once per process (a library's handle, its workspace) when
 * the device is opened, and frees them when it is closed:
 *
 *     static enum yp_status open_blas(struct yp_device *device) { ... cublasCreate() ... }
 *     static void close_blas(struct yp_device *device) { ... }
 *     YP_PLUGIN_OPENED("mine-cuda", table, host, open_blas, close_blas)
 *
 * The process sees one CUDA device, as device 0, whatever number the case names.
 */
#ifndef YIELDPOINT_PLUGIN_H
#define YIELDPOINT_PLUGIN_H

#include <yieldpoint/device.h>

YPI_BEGIN_C

#define YP_PLUGIN_ABI 2U

/* Functions of the loading program that a plugin may call; those of <yieldpoint/device.h> unless
 * stated otherwise. */
struct yp_plugin_host {
    unsigned abi;
    enum yp_status (*set_error)(enum yp_status status, const char *format, ...)
        __attribute__((format(printf, 2, 3)));
    const char *(*last_error)(void);
    struct yp_device *(*cpu)(void);
    void *(*alloc)(struct yp_device *device, size_t bytes);
    void (*free)(struct yp_device *device, void *block);
    enum yp_memory_kind (*memory_kind)(const struct yp_device *device);
    void *(*stream)(struct yp_device *device); /* native handle of the default stream */
    void *(*alloc_pinned)(struct yp_device *device, size_t bytes);
    void (*free_pinned)(struct yp_device *device, void *block);
    enum yp_status (*copy)(struct yp_device *device, void *to, const void *from, size_t bytes);
    enum yp_status (*synchronize)(struct yp_device *device);
    struct yp_stream *(*default_stream)(struct yp_device *device);
    struct yp_stream *(*stream_create)(struct yp_device *device);
    void (*stream_destroy)(struct yp_stream *stream);
    void *(*stream_native)(const struct yp_stream *stream);
    enum yp_status (*stream_wait)(struct yp_stream *stream, struct yp_event *event);
    enum yp_status (*stream_copy)(struct yp_stream *stream, void *to, const void *from,
                                  size_t bytes);
    enum yp_status (*stream_synchronize)(struct yp_stream *stream);
    struct yp_event *(*event_create)(struct yp_device *device);
    void (*event_destroy)(struct yp_event *event);
    enum yp_status (*event_record)(struct yp_event *event, struct yp_stream *stream);
    enum yp_status (*event_synchronize)(struct yp_event *event);
    double (*event_seconds)(struct yp_event *begin, struct yp_event *end);
};

/* A plugin's description of itself. */
struct yp_plugin {
    unsigned abi;
    const char *name;
    const void *table;
    size_t table_size; /* bytes */
    /* Called once, after the process has opened `device` and before the table is used. Returns
     * YP_OK, or sets the host's error; the table is then unavailable. NULL: nothing to do. */
    enum yp_status (*open)(struct yp_device *device);
    /* Called at the end of the case, before the check for leaks. NULL: nothing to do. */
    void (*close)(struct yp_device *device);
};

/* The table of `libyieldpoint-NAME.so`. The first call loads the plugin, which stays loaded. NULL,
 * with yp_last_error() set, on failure: YP_UNSUPPORTED if there is no such plugin or it cannot be
 * loaded, YP_INVALID if its version or the size of its table differs.
 *
 * The search covers the directories of YIELDPOINT_PLUGINS (separated by colons) or, if that is not
 * set, the program's directory, the four above it, and the framework's installation. A file is
 * ignored if it belongs to a user other than root and this one, or if others may write to it. */
const void *yp_plugin_table(const char *name, size_t table_size);

/* The exported function of a plugin. Keeps `host`, which stays valid; NULL if that is too old. */
typedef const struct yp_plugin *yp_plugin_open_function(const struct yp_plugin_host *host);

/* Defines that function, from the plugin's name, its table, the static pointer that receives the
 * host, and its open and close functions or NULL. */
#ifdef __cplusplus
#define YPI_PLUGIN_EXTERN extern "C"
#else
#define YPI_PLUGIN_EXTERN extern
#endif
#define YP_PLUGIN(name_, table_, host_) YP_PLUGIN_OPENED(name_, table_, host_, NULL, NULL)
#define YP_PLUGIN_OPENED(name_, table_, host_, open_, close_) \
    YPI_PLUGIN_EXTERN __attribute__((visibility("default"))) const struct yp_plugin * \
    yp_plugin_open(const struct yp_plugin_host *given); \
    const struct yp_plugin *yp_plugin_open(const struct yp_plugin_host *given) \
    { \
        static const struct yp_plugin self = {YP_PLUGIN_ABI,  name_, &(table_), \
                                              sizeof(table_), open_, close_}; \
        if (given->abi != YP_PLUGIN_ABI) \
            return NULL; \
        (host_) = given; \
        return &self; \
    }

YPI_END_C

/* For files compiled by nvcc. */
#ifdef __CUDACC__
static inline cudaStream_t yp_plugin_stream(const struct yp_plugin_host *host,
                                            struct yp_device *device)
{
    return static_cast<cudaStream_t>(host->stream(device));
}

/* The status of a CUDA runtime call. Clears the runtime's last error, so the process can continue
 * after out of memory. */
static inline enum yp_status yp_plugin_status(const struct yp_plugin_host *host, cudaError_t error,
                                              const char *what)
{
    if (error == cudaSuccess)
        return YP_OK;
    (void)cudaGetLastError();
    if (error == cudaErrorMemoryAllocation)
        return host->set_error(YP_OUT_OF_MEMORY, "out of memory: %s: %s", what,
                               cudaGetErrorString(error));
    if (error >= cudaErrorStreamCaptureUnsupported && error <= cudaErrorStreamCaptureWrongThread)
        return host->set_error(YP_INVALID, "%s: %s (%s)", what, cudaGetErrorString(error),
                               cudaGetErrorName(error));
    bool wrong = error == cudaErrorInvalidValue || error == cudaErrorInvalidConfiguration ||
                 error == cudaErrorInvalidDeviceFunction ||
                 error == cudaErrorNoKernelImageForDevice || error == cudaErrorLaunchOutOfResources;
    return host->set_error(wrong ? YP_UNSUPPORTED : YP_DEVICE_FAULT, "%s: %s (%s)", what,
                           cudaGetErrorString(error), cudaGetErrorName(error));
}

/* After a launch: whether it was accepted. Errors during its run appear at the next wait. */
static inline enum yp_status yp_plugin_launched(const struct yp_plugin_host *host,
                                                const char *kernel)
{
    return yp_plugin_status(host, cudaGetLastError(), kernel);
}
#endif

#endif

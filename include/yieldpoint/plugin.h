/*
 * Code for an accelerator in a shared object of its own, loaded only where it is used.
 *
 * A component that has kernels (a generator, a model, a project of yours) puts them into a plugin
 * `libyieldpoint-NAME.so`, which links the device's runtime and exports one function:
 *
 *     // mine_cuda.h, read by both sides
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
 * All work goes to the device's default stream: it is the one that is measured. Functions of a
 * table launch and return; whoever needs the result on the host calls yp_device_copy(), which
 * waits, or yp_device_synchronize(), which also reports faults. Memory comes from
 * yp_device_alloc() alone, before the work, so that it is accounted for. Streams, events and copies
 * are the host's as well: so it knows what may still use a block that is freed.
 *
 * What a plugin needs once a process (a library's handle, its workspace) it creates when the device
 * is opened and frees when it is closed:
 *
 *     static enum yp_status open_blas(struct yp_device *device) { ... cublasCreate() ... }
 *     static void close_blas(struct yp_device *device) { ... }
 *     YP_PLUGIN_OPENED("mine-cuda", table, host, open_blas, close_blas)
 *
 * The process sees one device of CUDA only, as device 0, whichever number the case names.
 */
#ifndef YIELDPOINT_PLUGIN_H
#define YIELDPOINT_PLUGIN_H

#include <yieldpoint/device.h>

#ifdef __cplusplus
extern "C" {
#endif

#define YP_PLUGIN_ABI 2U

/* What a plugin may call of the program that loaded it: functions of <yieldpoint/device.h>, unless
 * said otherwise. */
struct yp_plugin_host {
    unsigned abi;
    enum yp_status (*set_error)(enum yp_status status, const char *format, ...)
        __attribute__((format(printf, 2, 3)));
    const char *(*last_error)(void);
    struct yp_device *(*cpu)(void);
    void *(*alloc)(struct yp_device *device, size_t bytes);
    void (*free)(struct yp_device *device, void *block);
    enum yp_memory_kind (*memory_kind)(const struct yp_device *device);
    void *(*stream)(struct yp_device *device); /* the default one's native stream */
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

/* What a plugin is. */
struct yp_plugin {
    unsigned abi;
    const char *name;
    const void *table;
    size_t table_size; /* bytes */
    /* Called once, after the process has opened `device` and before anyone gets the table. It
     * returns YP_OK, or sets the host's error, and nobody gets the table. NULL: nothing to do. */
    enum yp_status (*open)(struct yp_device *device);
    /* Called at the end of the case, before leaks are looked for. NULL: nothing is to be done. */
    void (*close)(struct yp_device *device);
};

/* The table of `libyieldpoint-NAME.so`, which is loaded when it is asked for the first time and
 * stays. NULL with yp_last_error() set: YP_UNSUPPORTED when there is none or it cannot be loaded,
 * YP_INVALID when it is of another version or its table has another size.
 *
 * It is looked for in the directories of YIELDPOINT_PLUGINS (separated by colons) and, where that
 * is not set, in the program's directory, the four above it and where the framework was installed.
 * A file is passed over that belongs to another user than root or this one, or that others may
 * write. */
const void *yp_plugin_table(const char *name, size_t table_size);

/* The one function a plugin exports. Keeps `host`, which stays valid; NULL when that is too old. */
typedef const struct yp_plugin *yp_plugin_open_function(const struct yp_plugin_host *host);

/* Defines it: the plugin's name, its table, and the static pointer that is to hold the host; then
 * its open and close functions, or NULL. */
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

#ifdef __cplusplus
}
#endif

/* For files that CUDA's compiler reads. */
#ifdef __CUDACC__
static inline cudaStream_t yp_plugin_stream(const struct yp_plugin_host *host,
                                            struct yp_device *device)
{
    return static_cast<cudaStream_t>(host->stream(device));
}

/* What a call of CUDA's runtime comes to. The runtime's last error is
 * cleared: after out of memory the process can go on. */
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

/* After a launch: whether it was accepted. What goes wrong while it runs shows at the next wait. */
static inline enum yp_status yp_plugin_launched(const struct yp_plugin_host *host,
                                                const char *kernel)
{
    return yp_plugin_status(host, cudaGetLastError(), kernel);
}
#endif

#endif

/* NCCL's library: found, loaded once. */
#include "ranks/nccl/library.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAME "libnccl.so.2"

static void *load_from_toolkit(const char *root)
{
    static const char *const folders[] = {"lib64", "lib"};
    char path[4096];
    void *library = NULL;
    for (size_t i = 0; root != NULL && i < sizeof folders / sizeof *folders && library == NULL;
         i++) {
        const int length = snprintf(path, sizeof path, "%s/%s/" NAME, root, folders[i]);
        if (length > 0 && (size_t)length < sizeof path)
            library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    }
    return library;
}

static void *find_library(void)
{
    const char *given = getenv("YIELDPOINT_NCCL");
    if (given != NULL) {
        void *named = dlopen(given, RTLD_NOW | RTLD_LOCAL);
        if (named == NULL)
            (void)ypk_nccl_host->set_error(YP_UNSUPPORTED, "NCCL's library (YIELDPOINT_NCCL): %s",
                                           dlerror());
        return named;
    }
    const char *const roots[] = {getenv("CUDA_HOME"), getenv("CUDA_PATH"), "/usr/local/cuda"};
    void *library = dlopen(NAME, RTLD_NOW | RTLD_LOCAL);
    for (size_t i = 0; i < sizeof roots / sizeof *roots && library == NULL; i++)
        library = load_from_toolkit(roots[i]);
    if (library == NULL)
        (void)ypk_nccl_host->set_error(
            YP_UNSUPPORTED,
            "NCCL's library " NAME " is not there: NVIDIA's package libnccl2 and the Python "
            "packages nvidia-nccl-cu13 and -cu12 have it; YIELDPOINT_NCCL, CUDA_HOME or "
            "LD_LIBRARY_PATH name where");
    return library;
}

/* C has no conversion from a pointer to data to one to a function. */
static bool attach(void *library, struct ypk_nccl_library *l)
{
    const struct {
        const char *name;
        void *where;
    } functions[] = {{"ncclGetVersion", &l->get_version},
                     {"ncclGetErrorString", &l->error_string},
                     {"ncclGetUniqueId", &l->unique_id},
                     {"ncclCommInitRankConfig", &l->init},
                     {"ncclCommGetAsyncError", &l->async_error},
                     {"ncclCommFinalize", &l->finalize},
                     {"ncclCommDestroy", &l->destroy},
                     {"ncclCommAbort", &l->abort},
                     {"ncclGroupStart", &l->group_start},
                     {"ncclGroupEnd", &l->group_end},
                     {"ncclBroadcast", &l->broadcast},
                     {"ncclAllGather", &l->all_gather},
                     {"ncclAllReduce", &l->all_reduce},
                     {"ncclReduceScatter", &l->reduce_scatter},
                     {"ncclSend", &l->send},
                     {"ncclRecv", &l->receive}};
    void *found = dlsym(library, "ncclGetLastError");
    memcpy(&l->last_error, &found, sizeof found);
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        found = dlsym(library, functions[i].name);
        if (found == NULL) {
            (void)ypk_nccl_host->set_error(YP_UNSUPPORTED,
                                           "NCCL's library has no %s: it is older than 2.14",
                                           functions[i].name);
            return false;
        }
        memcpy(functions[i].where, &found, sizeof found);
    }
    return true;
}

const struct ypk_nccl_library *ypk_nccl_functions(void)
{
    static struct ypk_nccl_library library;
    if (library.version > 0)
        return &library;
    void *object = find_library();
    int version = 0;
    if (object == NULL)
        return NULL;
    if (!attach(object, &library)) {
        dlclose(object);
        return NULL;
    }
    const int result = library.get_version(&version);
    if (result != YPK_NCCL_SUCCESS || version < YPK_NCCL_LEAST) {
        (void)ypk_nccl_host->set_error(YP_UNSUPPORTED,
                                       "NCCL's version is %d (%s); 2.14 (%d) and later are used",
                                       version, library.error_string(result), YPK_NCCL_LEAST);
        dlclose(object);
        return NULL;
    }
    library.version = version;
    return &library;
}

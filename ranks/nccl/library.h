/* NCCL's library as the plugin calls it: loaded by name and declared here, since CUDA's toolkit
 * need not have its header. Functions, numbers and structures are those of "NVIDIA Collective
 * Communication Library (NCCL) Documentation"; tests/fake_nccl/header.c compares them with the
 * header. */
#pragma once

#include "ranks/nccl/nccl_plugin.h"

#include <yieldpoint/plugin.h>

extern const struct yp_plugin_host *ypk_nccl_host;

#define YPK_NCCL_LEAST 21400 /* calls that do not block, which a limit needs */

enum ypk_nccl_result {
    YPK_NCCL_SUCCESS = 0,
    YPK_NCCL_CUDA_ERROR = 1,
    YPK_NCCL_SYSTEM_ERROR = 2,
    YPK_NCCL_INTERNAL_ERROR = 3,
    YPK_NCCL_INVALID_ARGUMENT = 4,
    YPK_NCCL_INVALID_USAGE = 5,
    YPK_NCCL_REMOTE_ERROR = 6,
    YPK_NCCL_IN_PROGRESS = 7
};

enum ypk_nccl_type {
    YPK_NCCL_INT8 = 0,
    YPK_NCCL_INT64 = 4,
    YPK_NCCL_FLOAT32 = 7,
    YPK_NCCL_FLOAT64 = 8
};

enum ypk_nccl_op { YPK_NCCL_SUM = 0, YPK_NCCL_MAX = 2, YPK_NCCL_MIN = 3 };

/* As version 2.14 has it: later ones take what is behind it as not given. */
struct ypk_nccl_config {
    size_t size;
    unsigned magic, version;
    int blocking;
};
#define YPK_NCCL_MAGIC 0xcafebeefU

typedef void *ypk_nccl_comm;
typedef void *ypk_nccl_stream;

struct ypk_nccl_library {
    int version;
    int (*get_version)(int *version);
    const char *(*error_string)(int result);
    const char *(*last_error)(ypk_nccl_comm comm); /* NULL: the library has none */
    int (*unique_id)(struct ypk_nccl_id *out);
    int (*init)(ypk_nccl_comm *out, int size, struct ypk_nccl_id id, int rank,
                struct ypk_nccl_config *config);
    int (*async_error)(ypk_nccl_comm comm, int *result);
    int (*finalize)(ypk_nccl_comm comm);
    int (*destroy)(ypk_nccl_comm comm);
    int (*abort)(ypk_nccl_comm comm);
    int (*group_start)(void);
    int (*group_end)(void);
    int (*broadcast)(const void *from, void *to, size_t count, int type, int root,
                     ypk_nccl_comm comm, ypk_nccl_stream stream);
    int (*all_gather)(const void *from, void *to, size_t count, int type, ypk_nccl_comm comm,
                      ypk_nccl_stream stream);
    int (*all_reduce)(const void *from, void *to, size_t count, int type, int op,
                      ypk_nccl_comm comm, ypk_nccl_stream stream);
    int (*reduce_scatter)(const void *from, void *to, size_t count, int type, int op,
                          ypk_nccl_comm comm, ypk_nccl_stream stream);
    int (*send)(const void *from, size_t count, int type, int peer, ypk_nccl_comm comm,
                ypk_nccl_stream stream);
    int (*receive)(void *to, size_t count, int type, int peer, ypk_nccl_comm comm,
                   ypk_nccl_stream stream);
};

/* Loaded once; NULL with the host's error set. */
const struct ypk_nccl_library *ypk_nccl_functions(void);

/* -- kernels.cu ------------------------------------------------------------------------------ */

#ifdef __cplusplus
extern "C" {
#endif

/* *at = value when the stream comes to it; `at` is page-locked memory of the host. */
struct ypk_nccl_mark {
    volatile unsigned *at;
    unsigned value;
};

enum yp_status ypk_nccl_set_mark(struct yp_device *device, const struct ypk_nccl_mark *job);
enum yp_status ypk_nccl_combine_parts(struct yp_device *device, const struct ypk_nccl_combine *job);

#ifdef __cplusplus
}
#endif

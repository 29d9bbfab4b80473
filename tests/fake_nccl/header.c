/* NCCL's own header says what ranks/nccl/library.h declares; nothing to run. */
#include "ranks/nccl/library.h"

#include <assert.h>
#include <nccl.h>
#include <stddef.h>

#define SAME(name_, ...) \
    static_assert(__builtin_types_compatible_p(__typeof__(name_), ncclResult_t(__VA_ARGS__)), \
                  #name_)
#define AS(ours_, theirs_) static_assert((int)(ours_) == (int)(theirs_), #theirs_)

static_assert(sizeof(ncclUniqueId) == sizeof(struct ypk_nccl_id), "an id");
static_assert(sizeof(ncclResult_t) == sizeof(int), "a result");
static_assert(sizeof(ncclDataType_t) == sizeof(int), "a type");
static_assert(sizeof(ncclRedOp_t) == sizeof(int), "an operation");
static_assert(sizeof(ncclConfig_t) >= sizeof(struct ypk_nccl_config), "a configuration");
static_assert(offsetof(ncclConfig_t, magic) == offsetof(struct ypk_nccl_config, magic), "magic");
static_assert(offsetof(ncclConfig_t, version) == offsetof(struct ypk_nccl_config, version),
              "version");
static_assert(offsetof(ncclConfig_t, blocking) == offsetof(struct ypk_nccl_config, blocking),
              "blocking");

AS(YPK_NCCL_SUCCESS, ncclSuccess);
AS(YPK_NCCL_CUDA_ERROR, ncclUnhandledCudaError);
AS(YPK_NCCL_SYSTEM_ERROR, ncclSystemError);
AS(YPK_NCCL_INTERNAL_ERROR, ncclInternalError);
AS(YPK_NCCL_INVALID_ARGUMENT, ncclInvalidArgument);
AS(YPK_NCCL_INVALID_USAGE, ncclInvalidUsage);
AS(YPK_NCCL_REMOTE_ERROR, ncclRemoteError);
AS(YPK_NCCL_IN_PROGRESS, ncclInProgress);
AS(YPK_NCCL_INT8, ncclInt8);
AS(YPK_NCCL_INT64, ncclInt64);
AS(YPK_NCCL_FLOAT32, ncclFloat32);
AS(YPK_NCCL_FLOAT64, ncclFloat64);
AS(YPK_NCCL_SUM, ncclSum);
AS(YPK_NCCL_MAX, ncclMax);
AS(YPK_NCCL_MIN, ncclMin);
AS(YPK_NCCL_LEAST, NCCL_VERSION(2, 14, 0));

SAME(ncclGetVersion, int *);
SAME(ncclGetUniqueId, ncclUniqueId *);
SAME(ncclCommInitRankConfig, ncclComm_t *, int, ncclUniqueId, int, ncclConfig_t *);
SAME(ncclCommGetAsyncError, ncclComm_t, ncclResult_t *);
SAME(ncclCommFinalize, ncclComm_t);
SAME(ncclCommDestroy, ncclComm_t);
SAME(ncclCommAbort, ncclComm_t);
SAME(ncclBroadcast, const void *, void *, size_t, ncclDataType_t, int, ncclComm_t, cudaStream_t);
SAME(ncclAllGather, const void *, void *, size_t, ncclDataType_t, ncclComm_t, cudaStream_t);
SAME(ncclAllReduce, const void *, void *, size_t, ncclDataType_t, ncclRedOp_t, ncclComm_t,
     cudaStream_t);
SAME(ncclReduceScatter, const void *, void *, size_t, ncclDataType_t, ncclRedOp_t, ncclComm_t,
     cudaStream_t);
SAME(ncclSend, const void *, size_t, ncclDataType_t, int, ncclComm_t, cudaStream_t);
SAME(ncclRecv, void *, size_t, ncclDataType_t, int, ncclComm_t, cudaStream_t);

/* What the ranks' devices do themselves: parts combined in the order of ranks, and a sign for the
 * host. */
#include "device/cuda/frame.h"
#include "ranks/nccl/library.h"

#define THREADS 256U
#define BLOCKS 1024U /* at most: threads take several elements beyond */

enum { SUM, MAX }; /* of ypk_op; the other one is the minimum */

/* One after the other, as the ranks' own communicator has it: the same bits. */
#define COMBINE_KERNEL(name_, type_) \
    YPK_KERNEL(name_, struct ypk_nccl_combine, job, THREADS) \
    { \
        const type_ *from = (const type_ *)job.from; \
        type_ *to = (type_ *)job.to; \
        YPK_EVERY (t) \
            for (size_t i = YPK_INDEX(t); i < job.count; i += (size_t)YPK_GRID_X * YPK_THREADS) { \
                type_ all = from[i]; \
                for (unsigned part = 1; part < job.parts; part++) { \
                    const type_ one = from[(size_t)part * job.stride + i]; \
                    if (job.op == SUM) \
                        all = all + one; \
                    else if (job.op == MAX) \
                        all = all > one ? all : one; \
                    else \
                        all = all < one ? all : one; \
                } \
                to[i] = all; \
            } \
    }

COMBINE_KERNEL(combine_float_kernel, float)
COMBINE_KERNEL(combine_double_kernel, double)
COMBINE_KERNEL(combine_int64_kernel, int64_t)

YPK_KERNEL(mark_kernel, struct ypk_nccl_mark, job, 1)
{
    *job.at = job.value;
}

/* -- launches --------------------------------------------------------------------------------- */

#ifdef __cplusplus
extern "C" {
#endif

enum yp_status ypk_nccl_set_mark(struct yp_device *device, const struct ypk_nccl_mark *job)
{
    YPK_LAUNCH(mark_kernel, ypk_grid(1, 1), 1, 0, ypk_stream(ypk_nccl_host, device), *job);
    return ypk_launched(ypk_nccl_host, "mark");
}

enum yp_status ypk_nccl_combine_parts(struct yp_device *device, const struct ypk_nccl_combine *job)
{
    ypk_stream_type stream = ypk_stream(ypk_nccl_host, device);
    const unsigned wanted = ypk_blocks(job->count, THREADS);
    const unsigned blocks = job->count < (size_t)BLOCKS * THREADS ? wanted : BLOCKS;
    if (job->count == 0)
        return YP_OK;
    if (job->type == 0)
        YPK_LAUNCH(combine_float_kernel, ypk_grid(blocks, 1), THREADS, 0, stream, *job);
    else if (job->type == 1)
        YPK_LAUNCH(combine_double_kernel, ypk_grid(blocks, 1), THREADS, 0, stream, *job);
    else
        YPK_LAUNCH(combine_int64_kernel, ypk_grid(blocks, 1), THREADS, 0, stream, *job);
    return ypk_launched(ypk_nccl_host, "combine");
}

#ifdef __cplusplus
}
#endif

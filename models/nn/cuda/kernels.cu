/* Operators on a GPU: the kernels and their launches. */
#include "models/nn/cuda/attention.h"
#include "models/nn/cuda/gemm.h"
#include "models/nn/cuda/rows.h"

#include <yieldpoint/plugin.h>

static const struct yp_plugin_host *host;

#define THREADS 256U
#define BLOCKS 2048U /* at most: threads take several elements beyond */

#define EVERY_ELEMENT(i_, count_) \
    YPK_EVERY (t) \
        for (size_t i_ = YPK_INDEX(t); i_ < (count_); i_ += (size_t)YPK_GRID_X * YPK_THREADS)

/* -- elements ------------------------------------------------------------------------------- */

YPK_KERNEL(narrow_kernel, struct nn_cuda_narrow, job, THREADS)
{
    EVERY_ELEMENT(i, job.n)
    job.y[i] = nn_to_bf16(job.x[i]);
}

YPK_KERNEL(add_kernel, struct nn_cuda_add, job, THREADS)
{
    EVERY_ELEMENT(i, job.n)
    {
        float value = nn_get(job.a, i, job.bf16);
        if (job.b != NULL)
            value += nn_get(job.b, i, job.bf16);
        nn_put(job.y, i, value, job.bf16);
    }
}

YPK_KERNEL(embedding_kernel, struct nn_cuda_embedding, job, THREADS)
{
    EVERY_ELEMENT(i, job.n * job.d)
    {
        int32_t token = job.token[i / job.d];
        float value = YPK_NAN;
        if (token >= 0 && (size_t)token < job.v)
            value = nn_get(job.table, (size_t)token * job.d + i % job.d, job.bf16);
        nn_put(job.y, i, value, job.bf16);
    }
}

YPK_KERNEL(zero_kernel, struct nn_cuda_embedding, job, THREADS)
{
    EVERY_ELEMENT(i, job.v * job.d)
    job.dtable[i] = 0;
}

#define SHARES 32U /* of the table's rows, which blocks of their own add to */

/* A column of the rows of one share, in the order of the tokens. */
YPK_KERNEL(embedding_vjp_kernel, struct nn_cuda_embedding, job, THREADS)
{
    YPK_EVERY (t) {
        size_t column = YPK_INDEX(t);
        for (size_t i = 0; i < job.n && column < job.d; i++) {
            int32_t token = job.token[i];
            if (token >= 0 && (size_t)token < job.v && (unsigned)token % SHARES == YPK_BLOCK_Y)
                job.dtable[(size_t)token * job.d + column] +=
                    nn_get(job.dy, i * job.d + column, job.bf16);
        }
    }
}

YPK_KERNEL(rope_kernel, struct nn_cuda_rope, job, THREADS)
{
    size_t pairs = job.e / 2;
    EVERY_ELEMENT(at, job.b * job.t * job.h * pairs)
    {
        size_t i = at % pairs, row = at / pairs, angle = row / job.h % job.t * pairs + i;
        size_t near = row * job.e + 2 * i, first = row * job.e + i, second = first + pairs;
        float cosine = job.cosine[angle], sine = job.sine[angle];
        if (job.back) {
            float a = nn_get(job.x, first, job.bf16), b = nn_get(job.x, second, job.bf16);
            nn_put(job.y, near, a * cosine + b * sine, job.bf16);
            nn_put(job.y, near + 1, b * cosine - a * sine, job.bf16);
        } else {
            float a = nn_get(job.x, near, job.bf16), b = nn_get(job.x, near + 1, job.bf16);
            nn_put(job.y, first, a * cosine - b * sine, job.bf16);
            nn_put(job.y, second, a * sine + b * cosine, job.bf16);
        }
    }
}

YPK_KERNEL(swiglu_kernel, struct nn_cuda_swiglu, job, THREADS)
{
    EVERY_ELEMENT(i, job.n)
    {
        float gate = nn_get(job.gate, i, job.bf16);
        nn_put(job.y, i, gate / (1 + expf(-gate)) * nn_get(job.up, i, job.bf16), job.bf16);
    }
}

YPK_KERNEL(swiglu_vjp_kernel, struct nn_cuda_swiglu, job, THREADS)
{
    EVERY_ELEMENT(i, job.n)
    {
        float gate = nn_get(job.gate, i, job.bf16), dy = nn_get(job.dy, i, job.bf16);
        float s = 1 / (1 + expf(-gate));
        if (job.dgate != NULL)
            nn_put(job.dgate, i, dy * nn_get(job.up, i, job.bf16) * (s * (1 + gate * (1 - s))),
                   job.bf16);
        if (job.dup != NULL)
            nn_put(job.dup, i, dy * (gate * s), job.bf16);
    }
}

/* -- rows, columns, products ---------------------------------------------------------------- */

YPK_KERNEL(rmsnorm_kernel, struct nn_cuda_rmsnorm, job, ROWS_THREADS)
{
    YPK_SHARED(struct rows_shared, shared);
    rmsnorm_row(&job, YPK_BLOCK_X, &shared);
}

YPK_KERNEL(rmsnorm_vjp_kernel, struct nn_cuda_rmsnorm, job, ROWS_THREADS)
{
    YPK_SHARED(struct rows_shared, shared);
    rmsnorm_row_vjp(&job, YPK_BLOCK_X, &shared);
}

YPK_KERNEL(cross_entropy_kernel, struct nn_cuda_cross_entropy, job, ROWS_THREADS)
{
    YPK_SHARED(struct rows_shared, shared);
    cross_entropy_row(&job, YPK_BLOCK_X, &shared);
}

YPK_KERNEL(cross_entropy_vjp_kernel, struct nn_cuda_cross_entropy, job, THREADS)
{
    EVERY_ELEMENT(at, job.n * job.v)
    cross_entropy_slope(&job, at);
}

YPK_KERNEL(columns_kernel, struct nn_cuda_columns, job, THREADS)
{
    YPK_EVERY (t)
        if (YPK_INDEX(t) < job.c)
            columns_part(&job, YPK_BLOCK_Y, YPK_INDEX(t));
}

YPK_KERNEL(columns_merge_kernel, struct nn_cuda_columns, job, THREADS)
{
    EVERY_ELEMENT(i, job.c)
    columns_merge(&job, i);
}

YPK_KERNEL(gemm_kernel, struct nn_cuda_gemm, job, GEMM_THREADS)
{
    YPK_SHARED(struct gemm_shared, shared);
    YPK_PRIVATE(struct gemm_own, own, GEMM_THREADS);
    gemm_block(&job, YPK_BLOCK_X, &shared, own);
}

/* -- attention: blocks (tiles, heads of all sequences) -------------------------------------- */

YPK_KERNEL(attention_kernel, struct nn_cuda_attention, job, ATTENTION_THREADS)
{
    YPK_DYNAMIC(float, memory);
    YPK_PRIVATE(struct attention_own, own, ATTENTION_THREADS);
    attention_forward(&job, (size_t)YPK_BLOCK_X * ATTENTION_TILE, YPK_BLOCK_Y, memory, own);
}

YPK_KERNEL(attention_along_kernel, struct nn_cuda_attention, job, ATTENTION_THREADS)
{
    YPK_DYNAMIC(float, memory);
    attention_along(&job, (size_t)YPK_BLOCK_X * ATTENTION_TILE, YPK_BLOCK_Y, memory);
}

YPK_KERNEL(attention_rows_kernel, struct nn_cuda_attention, job, ATTENTION_THREADS, 2)
{
    YPK_DYNAMIC(float, memory);
    YPK_PRIVATE(struct attention_own, own, ATTENTION_THREADS);
    attention_rows_vjp(&job, (size_t)YPK_BLOCK_X * ATTENTION_TILE, YPK_BLOCK_Y, memory, own);
}

YPK_KERNEL(attention_columns_kernel, struct nn_cuda_attention, job, ATTENTION_THREADS)
{
    YPK_DYNAMIC(float, memory);
    YPK_PRIVATE(struct attention_own, own, ATTENTION_THREADS);
    attention_columns_vjp(&job, (size_t)YPK_BLOCK_X * ATTENTION_TILE, YPK_BLOCK_Y, memory, own);
}

/* -- launches ------------------------------------------------------------------------------- */

static unsigned blocks_for(size_t count)
{
    return count < (size_t)BLOCKS * THREADS ? ypk_blocks(count, THREADS) : BLOCKS;
}

#define LAUNCH(kernel_, grid_, threads_, what_) \
    do { \
        YPK_LAUNCH(kernel_, grid_, threads_, 0, ypk_stream(host, device), *job); \
        return ypk_launched(host, what_); \
    } while (0)
#define LAUNCH_ELEMENTS(kernel_, count_, what_) \
    LAUNCH(kernel_, ypk_grid(blocks_for(count_), 1), THREADS, what_)

static enum yp_status narrow(struct yp_device *device, const struct nn_cuda_narrow *job)
{
    LAUNCH_ELEMENTS(narrow_kernel, job->n, "narrow");
}

static enum yp_status add(struct yp_device *device, const struct nn_cuda_add *job)
{
    LAUNCH_ELEMENTS(add_kernel, job->n, "add");
}

static enum yp_status embedding(struct yp_device *device, const struct nn_cuda_embedding *job)
{
    LAUNCH_ELEMENTS(embedding_kernel, job->n * job->d, "embedding");
}

static enum yp_status embedding_vjp(struct yp_device *device, const struct nn_cuda_embedding *job)
{
    if (!job->add)
        YPK_LAUNCH(zero_kernel, ypk_grid(blocks_for(job->v * job->d), 1), THREADS, 0,
                   ypk_stream(host, device), *job);
    LAUNCH(embedding_vjp_kernel, ypk_grid(ypk_blocks(job->d, THREADS), SHARES), THREADS,
           "embedding's vjp");
}

static enum yp_status rmsnorm(struct yp_device *device, const struct nn_cuda_rmsnorm *job)
{
    LAUNCH(rmsnorm_kernel, ypk_grid((unsigned)job->n, 1), ROWS_THREADS, "rmsnorm");
}

static enum yp_status columns(struct yp_device *device, const struct nn_cuda_columns *job)
{
    unsigned groups = job->n < NN_CUDA_GROUPS ? (unsigned)job->n : NN_CUDA_GROUPS;
    YPK_LAUNCH(columns_kernel, ypk_grid(ypk_blocks(job->c, THREADS), groups), THREADS, 0,
               ypk_stream(host, device), *job);
    LAUNCH_ELEMENTS(columns_merge_kernel, job->c, "columns");
}

static enum yp_status rmsnorm_vjp(struct yp_device *device, const struct nn_cuda_rmsnorm *job)
{
    if (job->dgain != NULL) {
        struct nn_cuda_columns sums = {job->n, job->d, job->bf16,  job->add_dgain, job->dy,
                                       job->x, job->r, job->dgain, job->work};
        enum yp_status status = columns(device, &sums);
        if (status != YP_OK)
            return status;
    }
    if (job->dx == NULL)
        return YP_OK;
    LAUNCH(rmsnorm_vjp_kernel, ypk_grid((unsigned)job->n, 1), ROWS_THREADS, "rmsnorm's vjp");
}

static enum yp_status rope(struct yp_device *device, const struct nn_cuda_rope *job)
{
    LAUNCH_ELEMENTS(rope_kernel, job->b * job->t * job->h * (job->e / 2), "rope");
}

static enum yp_status swiglu(struct yp_device *device, const struct nn_cuda_swiglu *job)
{
    LAUNCH_ELEMENTS(swiglu_kernel, job->n, "swiglu");
}

static enum yp_status swiglu_vjp(struct yp_device *device, const struct nn_cuda_swiglu *job)
{
    LAUNCH_ELEMENTS(swiglu_vjp_kernel, job->n, "swiglu's vjp");
}

#define ATTENTION_LAUNCH(kernel_, vjp_) \
    do { \
        size_t bytes = attention_shared_bytes(job->e, vjp_); \
        status = ypk_allow_shared(host, kernel_, bytes, "attention"); \
        if (status == YP_OK) \
            YPK_LAUNCH(kernel_, \
                       ypk_grid(ypk_blocks(job->t, ATTENTION_TILE), (unsigned)(job->b * job->h)), \
                       ATTENTION_THREADS, bytes, ypk_stream(host, device), *job); \
    } while (0)

static enum yp_status attention_fits(const struct nn_cuda_attention *job)
{
    if (job->e <= NN_CUDA_CHANNELS && job->b * job->h <= 65535)
        return YP_OK;
    return host->set_error(YP_UNSUPPORTED,
                           "attention: %zu channels a head and %zu heads of all sequences: a GPU "
                           "takes %u and 65535 at most",
                           job->e, job->b * job->h, NN_CUDA_CHANNELS);
}

static enum yp_status attention(struct yp_device *device, const struct nn_cuda_attention *job)
{
    enum yp_status status = attention_fits(job);
    if (status == YP_OK)
        ATTENTION_LAUNCH(attention_kernel, false);
    return status == YP_OK ? ypk_launched(host, "attention") : status;
}

static enum yp_status attention_vjp(struct yp_device *device, const struct nn_cuda_attention *job)
{
    enum yp_status status = attention_fits(job);
    if (status == YP_OK)
        ATTENTION_LAUNCH(attention_along_kernel, true);
    if (status == YP_OK && job->dq != NULL)
        ATTENTION_LAUNCH(attention_rows_kernel, true);
    if (status == YP_OK && (job->dk != NULL || job->dv != NULL))
        ATTENTION_LAUNCH(attention_columns_kernel, true);
    return status == YP_OK ? ypk_launched(host, "attention's vjp") : status;
}

static enum yp_status cross_entropy(struct yp_device *device,
                                    const struct nn_cuda_cross_entropy *job)
{
    LAUNCH(cross_entropy_kernel, ypk_grid((unsigned)job->n, 1), ROWS_THREADS, "cross-entropy");
}

static enum yp_status cross_entropy_vjp(struct yp_device *device,
                                        const struct nn_cuda_cross_entropy *job)
{
    LAUNCH_ELEMENTS(cross_entropy_vjp_kernel, job->n * job->v, "cross-entropy's vjp");
}

static enum yp_status gemm(struct yp_device *device, const struct nn_cuda_gemm *job)
{
    LAUNCH(gemm_kernel, ypk_grid(ypk_blocks(job->m, GEMM_TILE) * ypk_blocks(job->n, GEMM_TILE), 1),
           GEMM_THREADS, "matrix product");
}

static const struct nn_cuda table = {narrow,
                                     add,
                                     {embedding, embedding_vjp},
                                     {rmsnorm, rmsnorm_vjp},
                                     rope,
                                     {swiglu, swiglu_vjp},
                                     {attention, attention_vjp},
                                     {cross_entropy, cross_entropy_vjp},
                                     columns,
                                     gemm};
YP_PLUGIN(NN_CUDA_PLUGIN, table, host)

/* Operators on a GPU: the kernels and their launches. */
#include "models/nn/cuda/attention.h"
#include "models/nn/cuda/gemm.h"
#include "models/nn/cuda/graphs.h"
#include "models/nn/cuda/images.h"
#include "models/nn/cuda/mixtures.h"
#include "models/nn/cuda/patches.h"
#include "models/nn/cuda/rows.h"
#include "models/nn/cuda/sequences.h"
#include "models/nn/cuda/sparse.h"

#include <yieldpoint/plugin.h>

static const struct yp_plugin_host *host;

#define THREADS 256U
#define BLOCKS 2048U /* at most: threads take several elements beyond */

#define EVERY_ELEMENT(i_, count_) \
    YPK_EVERY (t) \
        for (size_t i_ = YPK_INDEX(t); i_ < (count_); i_ += (size_t)YPK_GRID_X * YPK_THREADS)

/* A kernel that does one_(&job, i) for each i below count_ of its job; the last arguments are its
 * bounds. */
#define ELEMENT_KERNEL(name_, type_, count_, one_, ...) \
    YPK_KERNEL(name_, type_, job, __VA_ARGS__) \
    { \
        EVERY_ELEMENT(i, count_) \
        one_(&job, i); \
    }

/* -- elements ------------------------------------------------------------------------------- */

/* The share of a normal distribution below x. */
YPK_FUNCTION float normal_below(float x)
{
    return 0.5F * erfcf(-0.70710678F * x);
}

YPK_KERNEL(narrow_kernel, struct nn_cuda_narrow, job, THREADS)
{
    EVERY_ELEMENT(i, job.n)
    nn_put(job.y, i, job.x[i], job.type);
}

YPK_KERNEL(add_kernel, struct nn_cuda_add, job, THREADS)
{
    EVERY_ELEMENT(i, job.n)
    {
        float value = nn_get(job.a, i, job.type);
        if (job.b != NULL)
            value += nn_get(job.b, i, job.type);
        nn_put(job.y, i, value, job.type);
    }
}

YPK_KERNEL(scale_kernel, struct nn_cuda_scale, job, THREADS)
{
    EVERY_ELEMENT(i, job.n)
    nn_put(job.y, i, job.x[i] * job.factor, job.type);
}

YPK_KERNEL(line_kernel, struct nn_cuda_line, job, THREADS)
{
    EVERY_ELEMENT(i, job.n)
    {
        float x = nn_get(job.x, i, job.type), value = x < 0 ? 0 : x;
        if (job.function == NN_CUDA_GELU)
            value = x * normal_below(x);
        if (job.function == NN_CUDA_LEAKY_RELU)
            value = x > 0 ? x : job.slope * x;
        nn_put(job.y, i, value, job.type);
    }
}

YPK_KERNEL(line_vjp_kernel, struct nn_cuda_line, job, THREADS)
{
    EVERY_ELEMENT(i, job.n)
    {
        float x = nn_get(job.x, i, job.type), slope = x <= 0 ? 0 : 1;
        if (job.function == NN_CUDA_GELU)
            slope = normal_below(x) + x * 0.39894228F * expf(-0.5F * x * x);
        if (job.function == NN_CUDA_LEAKY_RELU)
            slope = x > 0 ? 1 : job.slope;
        slope *= nn_get(job.dy, i, job.type);
        if (job.add)
            slope += nn_get(job.dx, i, job.type);
        nn_put(job.dx, i, slope, job.type);
    }
}

YPK_KERNEL(embedding_kernel, struct nn_cuda_embedding, job, THREADS)
{
    EVERY_ELEMENT(i, job.n * job.d)
    {
        int32_t token = job.token[i / job.d];
        float value = YPK_NAN;
        if (token >= 0 && (size_t)token < job.v)
            value = nn_get(job.table, (size_t)token * job.d + i % job.d, job.type);
        nn_put(job.y, i, value, job.type);
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
                    nn_get(job.dy, i * job.d + column, job.type);
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
            float a = nn_get(job.x, first, job.type), b = nn_get(job.x, second, job.type);
            nn_put(job.y, near, a * cosine + b * sine, job.type);
            nn_put(job.y, near + 1, b * cosine - a * sine, job.type);
        } else {
            float a = nn_get(job.x, near, job.type), b = nn_get(job.x, near + 1, job.type);
            nn_put(job.y, first, a * cosine - b * sine, job.type);
            nn_put(job.y, second, a * sine + b * cosine, job.type);
        }
    }
}

YPK_KERNEL(swiglu_kernel, struct nn_cuda_swiglu, job, THREADS)
{
    EVERY_ELEMENT(i, job.n)
    {
        float gate = nn_get(job.gate, i, job.type);
        nn_put(job.y, i, gate / (1 + expf(-gate)) * nn_get(job.up, i, job.type), job.type);
    }
}

YPK_KERNEL(swiglu_vjp_kernel, struct nn_cuda_swiglu, job, THREADS)
{
    EVERY_ELEMENT(i, job.n)
    {
        float gate = nn_get(job.gate, i, job.type), dy = nn_get(job.dy, i, job.type);
        float s = 1 / (1 + expf(-gate));
        if (job.dgate != NULL)
            nn_put(job.dgate, i, dy * nn_get(job.up, i, job.type) * (s * (1 + gate * (1 - s))),
                   job.type);
        if (job.dup != NULL)
            nn_put(job.dup, i, dy * (gate * s), job.type);
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

YPK_KERNEL(int8_rows_kernel, struct nn_cuda_int8_rows, job, ROWS_THREADS)
{
    YPK_SHARED(struct rows_shared, shared);
    int8_row(&job, YPK_BLOCK_X, &shared);
}

YPK_KERNEL(layer_norm_kernel, struct nn_cuda_norm, job, ROWS_THREADS)
{
    YPK_SHARED(struct rows_shared, shared);
    layer_norm_row(&job, YPK_BLOCK_X, &shared);
}

YPK_KERNEL(layer_norm_vjp_kernel, struct nn_cuda_norm, job, ROWS_THREADS)
{
    YPK_SHARED(struct rows_shared, shared);
    layer_norm_row_vjp(&job, YPK_BLOCK_X, &shared);
}

/* r (c) = 1 / sqrt(r + eps). */
YPK_KERNEL(batch_norm_roots_kernel, struct nn_cuda_norm, job, THREADS)
{
    EVERY_ELEMENT(i, job.c)
    job.r[i] = 1 / sqrtf(job.r[i] + job.eps);
}

ELEMENT_KERNEL(batch_norm_kernel, struct nn_cuda_norm, (job.n * job.c), batch_norm_value, THREADS)
ELEMENT_KERNEL(batch_norm_vjp_kernel, struct nn_cuda_norm, (job.n * job.c), batch_norm_slope,
               THREADS)

YPK_KERNEL(mse_kernel, struct nn_cuda_mse, job, ROWS_THREADS)
{
    YPK_SHARED(struct rows_shared, shared);
    mse_row(&job, YPK_BLOCK_X, &shared);
}

ELEMENT_KERNEL(mse_vjp_kernel, struct nn_cuda_mse, (job.n * job.c), mse_slope, THREADS)

YPK_KERNEL(cross_entropy_kernel, struct nn_cuda_cross_entropy, job, ROWS_THREADS)
{
    YPK_SHARED(struct rows_shared, shared);
    cross_entropy_row(&job, YPK_BLOCK_X, &shared);
}

ELEMENT_KERNEL(cross_entropy_vjp_kernel, struct nn_cuda_cross_entropy, (job.n * job.v),
               cross_entropy_slope, THREADS)

YPK_KERNEL(columns_kernel, struct nn_cuda_columns, job, THREADS)
{
    YPK_EVERY (t)
        if (YPK_INDEX(t) < job.c)
            columns_part(&job, YPK_BLOCK_Y, YPK_INDEX(t));
}

ELEMENT_KERNEL(columns_merge_kernel, struct nn_cuda_columns, job.c, columns_merge, THREADS)

YPK_KERNEL(gemm_kernel, struct nn_cuda_gemm, job, GEMM_THREADS)
{
    YPK_SHARED(struct gemm_shared, shared);
    YPK_PRIVATE(struct gemm_own, own, GEMM_THREADS);
    gemm_block(&job, NULL, YPK_BLOCK_X, &shared, own);
}

YPK_KERNEL(gemm_of_views_kernel, struct nn_cuda_gemm_of_views, job, GEMM_THREADS)
{
    YPK_SHARED(struct gemm_shared, shared);
    YPK_PRIVATE(struct gemm_own, own, GEMM_THREADS);
    gemm_block(&job.gemm, &job.views, YPK_BLOCK_X, &shared, own);
}

/* -- images and sequences ------------------------------------------------------------------- */

ELEMENT_KERNEL(depthwise_kernel, struct nn_cuda_depthwise, (job.points * job.patches.c),
               depthwise_point, THREADS)

YPK_KERNEL(depthwise_weights_kernel, struct nn_cuda_depthwise, job, THREADS)
{
    YPK_EVERY (t)
        if (YPK_INDEX(t) < (size_t)job.patches.r * job.patches.s * job.patches.c)
            depthwise_part(&job, YPK_BLOCK_Y, YPK_INDEX(t));
}

ELEMENT_KERNEL(upsample_kernel, struct nn_cuda_upsample, (job.b * job.p * job.q * job.c),
               upsample_value, THREADS)
ELEMENT_KERNEL(upsample_vjp_kernel, struct nn_cuda_upsample, (job.b * job.h * job.w * job.c),
               upsample_slope, THREADS, 2)
ELEMENT_KERNEL(tokens_kernel, struct nn_cuda_tokens, (job.b * job.t * job.d), tokens_value, THREADS)
ELEMENT_KERNEL(tokens_vjp_kernel, struct nn_cuda_tokens, (job.t * job.d), tokens_slope, THREADS)
ELEMENT_KERNEL(slice_kernel, struct nn_cuda_slice, (job.b * job.m * job.d), slice_value, THREADS)
ELEMENT_KERNEL(slice_vjp_kernel, struct nn_cuda_slice, (job.b * job.t * job.d), slice_slope,
               THREADS)

/* -- graphs --------------------------------------------------------------------------------- */

ELEMENT_KERNEL(segments_kernel, struct nn_cuda_segments, (job.n * job.c), segments_sum, THREADS)
ELEMENT_KERNEL(segments_vjp_kernel, struct nn_cuda_segments, (job.n * job.c), segments_copy,
               THREADS)
ELEMENT_KERNEL(gate_kernel, struct nn_cuda_gate, job.n, gate_value, THREADS)
ELEMENT_KERNEL(gate_vjp_kernel, struct nn_cuda_gate, job.n, gate_slope, THREADS)
ELEMENT_KERNEL(edge_pair_kernel, struct nn_cuda_edge_pair, (job.n * job.c), edge_pair_values,
               THREADS)
ELEMENT_KERNEL(edge_pair_vjp_kernel, struct nn_cuda_edge_pair, (job.n * job.c), edge_pair_slopes,
               THREADS)
ELEMENT_KERNEL(gatv2_weights_kernel, struct nn_cuda_gatv2, (job.n * job.h), gatv2_weights, THREADS)
ELEMENT_KERNEL(gatv2_kernel, struct nn_cuda_gatv2, (job.n * job.c), gatv2_value, THREADS)
ELEMENT_KERNEL(gatv2_logits_vjp_kernel, struct nn_cuda_gatv2, (job.n * job.h), gatv2_logit_slopes,
               THREADS)
ELEMENT_KERNEL(gatv2_nodes_vjp_kernel, struct nn_cuda_gatv2, (job.n * job.h * job.c),
               gatv2_node_slopes, THREADS)
ELEMENT_KERNEL(gatv2_parameters_vjp_kernel, struct nn_cuda_gatv2, (job.h * job.c * (1 + job.f)),
               gatv2_parameter_slope, THREADS)
ELEMENT_KERNEL(gatv2_features_vjp_kernel, struct nn_cuda_gatv2, (job.n * job.f),
               gatv2_feature_slopes, THREADS)
ELEMENT_KERNEL(sparse_kernel, struct nn_cuda_sparse, (job.m * job.n), sparse_value, THREADS)
ELEMENT_KERNEL(sparse_values_vjp_kernel, struct nn_cuda_sparse, job.m, sparse_value_slopes, THREADS)

YPK_KERNEL(sparse_x_vjp_kernel, struct nn_cuda_sparse, job, THREADS)
{
    YPK_EVERY (t)
        if (YPK_INDEX(t) < job.n)
            sparse_x_slopes(&job, YPK_BLOCK_Y, SHARES, YPK_INDEX(t));
}

ELEMENT_KERNEL(softmax_kernel, struct nn_cuda_softmax, (job.n * job.h), softmax_values, THREADS)
ELEMENT_KERNEL(softmax_vjp_kernel, struct nn_cuda_softmax, (job.n * job.h), softmax_slopes, THREADS,
               1)
ELEMENT_KERNEL(head_dot_kernel, struct nn_cuda_head_dot, (job.n * job.h), head_dot_value, THREADS)
ELEMENT_KERNEL(head_dot_vjp_kernel, struct nn_cuda_head_dot, (job.n * job.h * job.c),
               head_dot_slope, THREADS)
ELEMENT_KERNEL(head_dot_sums_kernel, struct nn_cuda_head_dot, (job.h * job.c), head_dot_sum,
               THREADS)
ELEMENT_KERNEL(scale_rows_kernel, struct nn_cuda_scale_rows, (job.n * job.c), scale_rows_value,
               THREADS)
ELEMENT_KERNEL(scale_rows_vjp_kernel, struct nn_cuda_scale_rows, (job.n * job.c), scale_rows_slope,
               THREADS)
ELEMENT_KERNEL(scale_rows_sums_kernel, struct nn_cuda_scale_rows, job.n, scale_rows_sum, THREADS)

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

/* -- sequences and segments ------------------------------------------------------------------ */

ELEMENT_KERNEL(add_embedding_kernel, struct nn_cuda_add_embedding, (job.n * job.c),
               add_embedding_value, THREADS)
ELEMENT_KERNEL(add_embedding_vjp_kernel, struct nn_cuda_add_embedding, (job.v * job.d),
               add_embedding_sum, THREADS)

YPK_KERNEL(add_embedding_pass_kernel, struct nn_cuda_add_embedding, job, THREADS)
{
    EVERY_ELEMENT(at, job.n * job.c)
    graphs_put(job.dx, at, nn_get(job.dy, at, job.type), job.type, job.add_dx);
}

ELEMENT_KERNEL(mode_steps_kernel, struct nn_cuda_mode_steps, (job.n * job.k * job.t * job.c),
               mode_steps_value, THREADS)
ELEMENT_KERNEL(mode_steps_vjp_kernel, struct nn_cuda_mode_steps, ((job.n + job.k + job.t) * job.c),
               mode_steps_slope, THREADS)
ELEMENT_KERNEL(dropout_kernel, struct nn_cuda_dropout, job.n, dropout_value, THREADS)
ELEMENT_KERNEL(hidden_kernel, struct nn_cuda_hidden, job.n, hidden_value, THREADS)
ELEMENT_KERNEL(hidden_vjp_kernel, struct nn_cuda_hidden, job.n, hidden_slope, THREADS)
ELEMENT_KERNEL(attention_pool_kernel, struct nn_cuda_attention_pool, (job.g * job.c),
               attention_pool_value, THREADS)
ELEMENT_KERNEL(attention_pool_scores_kernel, struct nn_cuda_attention_pool, (job.g * job.i),
               attention_pool_score_slope, THREADS)
ELEMENT_KERNEL(attention_pool_vjp_kernel, struct nn_cuda_attention_pool, (job.g * job.i * job.c),
               attention_pool_slope, THREADS)
ELEMENT_KERNEL(lstm_kernel, struct nn_cuda_lstm, (job.n * job.h), lstm_cell, THREADS)
ELEMENT_KERNEL(lstm_vjp_kernel, struct nn_cuda_lstm, (job.n * job.h), lstm_slope, THREADS)
ELEMENT_KERNEL(segment_attention_kernel, struct nn_cuda_segment_attention,
               (job.g * job.i * job.h * job.d), segment_attention_value, THREADS)
ELEMENT_KERNEL(segment_along_kernel, struct nn_cuda_segment_attention, (job.g * job.i * job.h),
               segment_along, THREADS)
ELEMENT_KERNEL(segment_queries_kernel, struct nn_cuda_segment_attention, (job.i * job.h * job.d),
               segment_query_slope, THREADS)
ELEMENT_KERNEL(segment_rows_kernel, struct nn_cuda_segment_attention, (job.n * job.h * job.d),
               segment_row_slope, THREADS)

/* -- mixtures: where the bound says one block, the compiler would else spill registers ------ */

ELEMENT_KERNEL(mixture_nll_kernel, struct nn_cuda_mixture, job.n, likelihood_f32, THREADS)
ELEMENT_KERNEL(mixture_nll_vjp_kernel, struct nn_cuda_mixture, job.n, likelihood_vjp_f32, THREADS,
               1)

YPK_KERNEL(trajectory_terms_kernel, struct nn_cuda_mixture, job, THREADS, 1)
{
    EVERY_ELEMENT(i, job.n)
    terms_f32(&job, i, false);
}

YPK_KERNEL(trajectory_terms_vjp_kernel, struct nn_cuda_mixture, job, THREADS)
{
    EVERY_ELEMENT(i, job.n)
    terms_f32(&job, i, true);
}

/* Whether a graph's offsets are those of nodes. */
YPK_FUNCTION bool is_graph(const struct nn_cuda_mixture *job, size_t i)
{
    return job->offset[i] >= 0 && job->offset[i] <= job->offset[i + 1] &&
           (size_t)job->offset[i + 1] <= job->n;
}

YPK_KERNEL(collision_kernel, struct nn_cuda_mixture, job, THREADS)
{
    EVERY_ELEMENT(i, job.graphs)
    if (is_graph(&job, i))
        graph_f32(&job, i, false);
    else
        ((float *)job.loss)[i] = YPK_NAN;
}

YPK_KERNEL(collision_vjp_kernel, struct nn_cuda_mixture, job, THREADS, 1)
{
    EVERY_ELEMENT(i, job.graphs)
    if (is_graph(&job, i))
        graph_f32(&job, i, true);
}

ELEMENT_KERNEL(mixture_head_kernel, struct nn_cuda_mixture_head, (5 * job.n), mixture_head_value,
               THREADS)
ELEMENT_KERNEL(mixture_head_vjp_kernel, struct nn_cuda_mixture_head, (5 * job.n),
               mixture_head_slope, THREADS)
ELEMENT_KERNEL(coverage_kernel, struct nn_cuda_coverage, job.n, coverage_value, THREADS)
ELEMENT_KERNEL(coverage_vjp_kernel, struct nn_cuda_coverage, job.n, coverage_slope, THREADS)

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

static enum yp_status scale(struct yp_device *device, const struct nn_cuda_scale *job)
{
    LAUNCH_ELEMENTS(scale_kernel, job->n, "scale");
}

static enum yp_status line(struct yp_device *device, const struct nn_cuda_line *job)
{
    LAUNCH_ELEMENTS(line_kernel, job->n, "a function");
}

static enum yp_status line_vjp(struct yp_device *device, const struct nn_cuda_line *job)
{
    if (job->dx == NULL)
        return YP_OK;
    LAUNCH_ELEMENTS(line_vjp_kernel, job->n, "a function's vjp");
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

static unsigned groups_of(size_t rows)
{
    return rows < NN_CUDA_GROUPS ? (unsigned)rows : NN_CUDA_GROUPS;
}

/* Unless there is nowhere to put them. */
static enum yp_status columns(struct yp_device *device, const struct nn_cuda_columns *job)
{
    if (job->sums == NULL)
        return YP_OK;
    YPK_LAUNCH(columns_kernel, ypk_grid(ypk_blocks(job->c, THREADS), groups_of(job->n)), THREADS, 0,
               ypk_stream(host, device), *job);
    LAUNCH_ELEMENTS(columns_merge_kernel, job->c, "columns");
}

/* Sums of dy (n, c) alone; by rows. */
static struct nn_cuda_columns columns_of(size_t n, size_t c, enum nn_type type, const void *dy,
                                         float *sums, bool add, double *work)
{
    struct nn_cuda_columns job = {n, c, type, false, false, add, dy, NULL, NULL, NULL, sums, work};
    return job;
}

static enum yp_status rmsnorm_vjp(struct yp_device *device, const struct nn_cuda_rmsnorm *job)
{
    struct nn_cuda_columns sums =
        columns_of(job->n, job->d, job->type, job->dy, job->dgain, job->add_dgain, job->work);
    sums.x = job->x;
    sums.r = job->r;
    enum yp_status status = columns(device, &sums);
    if (status != YP_OK || job->dx == NULL)
        return status;
    LAUNCH(rmsnorm_vjp_kernel, ypk_grid((unsigned)job->n, 1), ROWS_THREADS, "rmsnorm's vjp");
}

static enum yp_status int8_rows(struct yp_device *device, const struct nn_cuda_int8_rows *job)
{
    LAUNCH(int8_rows_kernel, ypk_grid((unsigned)job->n, 1), ROWS_THREADS, "rows in 8 bits");
}

static enum yp_status layer_norm(struct yp_device *device, const struct nn_cuda_norm *job)
{
    LAUNCH(layer_norm_kernel, ypk_grid((unsigned)job->n, 1), ROWS_THREADS, "layer norm");
}

static enum yp_status layer_norm_vjp(struct yp_device *device, const struct nn_cuda_norm *job)
{
    struct nn_cuda_columns along =
        columns_of(job->n, job->c, job->type, job->dy, job->dgain, job->add_dgain, job->work);
    const struct nn_cuda_columns all =
        columns_of(job->n, job->c, job->type, job->dy, job->dshift, job->add_dshift, job->work);
    along.x = job->x;
    along.mean = job->mean;
    along.r = job->r;
    enum yp_status status = columns(device, &along);
    if (status == YP_OK)
        status = columns(device, &all);
    if (status != YP_OK || job->dx == NULL)
        return status;
    LAUNCH(layer_norm_vjp_kernel, ypk_grid((unsigned)job->n, 1), ROWS_THREADS, "layer norm's vjp");
}

/* The variance first stands where r is to be. */
static enum yp_status batch_norm(struct yp_device *device, const struct nn_cuda_norm *job)
{
    struct nn_cuda_columns mean =
        columns_of(job->n, job->c, job->type, job->x, job->mean, false, job->work);
    mean.average = true;
    struct nn_cuda_columns variance = mean;
    variance.dy = NULL;
    variance.x = job->x;
    variance.mean = job->mean;
    variance.by_column = true;
    variance.sums = job->r;
    enum yp_status status = columns(device, &mean);
    if (status == YP_OK)
        status = columns(device, &variance);
    if (status != YP_OK)
        return status;
    YPK_LAUNCH(batch_norm_roots_kernel, ypk_grid(blocks_for(job->c), 1), THREADS, 0,
               ypk_stream(host, device), *job);
    LAUNCH_ELEMENTS(batch_norm_kernel, job->n * job->c, "batch norm");
}

/* sums (c) to a gradient, or added to it; NULL: it is not wanted. */
static enum yp_status put_sums(struct yp_device *device, size_t c, const float *sums, bool to_it,
                               float *gradient)
{
    const struct nn_cuda_add job = {c, NN_FLOAT, sums, to_it ? gradient : NULL, gradient};
    return gradient != NULL ? add(device, &job) : YP_OK;
}

static enum yp_status batch_norm_vjp(struct yp_device *device, const struct nn_cuda_norm *job)
{
    float *along = (float *)(void *)(job->work + groups_of(job->n) * job->c), *all = along + job->c;
    const struct nn_cuda_columns sum =
        columns_of(job->n, job->c, job->type, job->dy, all, false, job->work);
    struct nn_cuda_columns of_units = sum;
    of_units.x = job->x;
    of_units.mean = job->mean;
    of_units.r = job->r;
    of_units.by_column = true;
    of_units.sums = along;
    enum yp_status status = columns(device, &sum);
    if (status == YP_OK)
        status = columns(device, &of_units);
    if (status == YP_OK)
        status = put_sums(device, job->c, along, job->add_dgain, job->dgain);
    if (status == YP_OK)
        status = put_sums(device, job->c, all, job->add_dshift, job->dshift);
    if (status != YP_OK || job->dx == NULL)
        return status;
    struct nn_cuda_norm slopes = *job;
    slopes.dgain = along;
    slopes.dshift = all;
    YPK_LAUNCH(batch_norm_vjp_kernel, ypk_grid(blocks_for(job->n * job->c), 1), THREADS, 0,
               ypk_stream(host, device), slopes);
    return ypk_launched(host, "batch norm's vjp");
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

/* Indices of patches are int's. */
static enum yp_status patches_fit(size_t points, const struct nn_cuda_patches *p)
{
    size_t taps = (size_t)p->r * p->s * p->c;
    if (points <= INT32_MAX && taps <= INT32_MAX)
        return YP_OK;
    return host->set_error(YP_UNSUPPORTED,
                           "convolution: %zu points of %zu taps: a GPU takes %d each at most",
                           points, taps, INT32_MAX);
}

static unsigned gemm_blocks(const struct nn_cuda_gemm *g)
{
    return ypk_blocks(g->m, GEMM_TILE) * ypk_blocks(g->n, GEMM_TILE);
}

static enum yp_status gemm(struct yp_device *device, const struct nn_cuda_gemm *job)
{
    LAUNCH(gemm_kernel, ypk_grid(gemm_blocks(job), 1), GEMM_THREADS, "matrix product");
}

static enum yp_status gemm_of_views(struct yp_device *device,
                                    const struct nn_cuda_gemm_of_views *job)
{
    enum yp_status status = YP_OK;
    if (job->views.a == NN_CUDA_PATCHES || job->views.b == NN_CUDA_PATCHES)
        status = patches_fit(job->views.a == NN_CUDA_PATCHES ? job->gemm.m : job->gemm.k,
                             &job->views.patches);
    if (status != YP_OK)
        return status;
    LAUNCH(gemm_of_views_kernel, ypk_grid(gemm_blocks(&job->gemm), 1), GEMM_THREADS,
           "product of views");
}

static enum yp_status depthwise(struct yp_device *device, const struct nn_cuda_depthwise *job)
{
    enum yp_status status = patches_fit(job->points, &job->patches);
    if (status != YP_OK)
        return status;
    LAUNCH_ELEMENTS(depthwise_kernel, job->points * job->patches.c, "depthwise convolution");
}

static enum yp_status depthwise_weights(struct yp_device *device,
                                        const struct nn_cuda_depthwise *job)
{
    const struct nn_cuda_patches *p = &job->patches;
    const struct nn_cuda_columns sums =
        columns_of(job->points, (size_t)p->r * p->s * p->c, NN_FLOAT, NULL, job->dweights, job->add,
                   job->work);
    enum yp_status status = patches_fit(job->points, p);
    if (status != YP_OK)
        return status;
    YPK_LAUNCH(depthwise_weights_kernel,
               ypk_grid(ypk_blocks(sums.c, THREADS), groups_of(job->points)), THREADS, 0,
               ypk_stream(host, device), *job);
    YPK_LAUNCH(columns_merge_kernel, ypk_grid(blocks_for(sums.c), 1), THREADS, 0,
               ypk_stream(host, device), sums);
    return ypk_launched(host, "depthwise convolution's vjp");
}

static enum yp_status mse(struct yp_device *device, const struct nn_cuda_mse *job)
{
    LAUNCH(mse_kernel, ypk_grid((unsigned)job->n, 1), ROWS_THREADS, "mse");
}

static enum yp_status mse_vjp(struct yp_device *device, const struct nn_cuda_mse *job)
{
    LAUNCH_ELEMENTS(mse_vjp_kernel, job->n * job->c, "mse's vjp");
}

static enum yp_status upsample(struct yp_device *device, const struct nn_cuda_upsample *job)
{
    LAUNCH_ELEMENTS(upsample_kernel, job->b * job->p * job->q * job->c, "upsample");
}

static enum yp_status upsample_vjp(struct yp_device *device, const struct nn_cuda_upsample *job)
{
    if (job->dx == NULL)
        return YP_OK;
    LAUNCH_ELEMENTS(upsample_vjp_kernel, job->b * job->h * job->w * job->c, "upsample's vjp");
}

static enum yp_status tokens(struct yp_device *device, const struct nn_cuda_tokens *job)
{
    LAUNCH_ELEMENTS(tokens_kernel, job->b * job->t * job->d, "tokens");
}

static enum yp_status tokens_vjp(struct yp_device *device, const struct nn_cuda_tokens *job)
{
    LAUNCH_ELEMENTS(tokens_vjp_kernel, job->t * job->d, "tokens' vjp");
}

static enum yp_status slice(struct yp_device *device, const struct nn_cuda_slice *job)
{
    LAUNCH_ELEMENTS(slice_kernel, job->b * job->m * job->d, "slice");
}

static enum yp_status slice_vjp(struct yp_device *device, const struct nn_cuda_slice *job)
{
    if (job->dx == NULL)
        return YP_OK;
    LAUNCH_ELEMENTS(slice_vjp_kernel, job->b * job->t * job->d, "slice's vjp");
}

static enum yp_status segments(struct yp_device *device, const struct nn_cuda_segments *job)
{
    LAUNCH_ELEMENTS(segments_kernel, job->n * job->c, "segments");
}

static enum yp_status segments_vjp(struct yp_device *device, const struct nn_cuda_segments *job)
{
    LAUNCH_ELEMENTS(segments_vjp_kernel, job->n * job->c, "segments' vjp");
}

static enum yp_status gate(struct yp_device *device, const struct nn_cuda_gate *job)
{
    LAUNCH_ELEMENTS(gate_kernel, job->n, "gate");
}

static enum yp_status gate_vjp(struct yp_device *device, const struct nn_cuda_gate *job)
{
    LAUNCH_ELEMENTS(gate_vjp_kernel, job->n, "gate's vjp");
}

static enum yp_status edge_pair(struct yp_device *device, const struct nn_cuda_edge_pair *job)
{
    LAUNCH_ELEMENTS(edge_pair_kernel, job->n * job->c, "edge_pair");
}

static enum yp_status edge_pair_vjp(struct yp_device *device, const struct nn_cuda_edge_pair *job)
{
    LAUNCH_ELEMENTS(edge_pair_vjp_kernel, job->n * job->c, "edge_pair's vjp");
}

#define LAUNCH_BEFORE(kernel_, count_) \
    YPK_LAUNCH(kernel_, ypk_grid(blocks_for(count_), 1), THREADS, 0, ypk_stream(host, device), *job)

static enum yp_status gatv2(struct yp_device *device, const struct nn_cuda_gatv2 *job)
{
    LAUNCH_BEFORE(gatv2_weights_kernel, job->n * job->h);
    LAUNCH_ELEMENTS(gatv2_kernel, job->n * job->c, "gatv2");
}

static enum yp_status gatv2_vjp(struct yp_device *device, const struct nn_cuda_gatv2 *job)
{
    LAUNCH_BEFORE(gatv2_logits_vjp_kernel, job->n * job->h);
    LAUNCH_BEFORE(gatv2_nodes_vjp_kernel, job->n * job->h * job->c);
    LAUNCH_BEFORE(gatv2_parameters_vjp_kernel, job->h * job->c * (1 + job->f));
    if (job->dfeature != NULL)
        LAUNCH_BEFORE(gatv2_features_vjp_kernel, job->n * job->f);
    return ypk_launched(host, "gatv2's vjp");
}

static enum yp_status sparse_matmul(struct yp_device *device, const struct nn_cuda_sparse *job)
{
    LAUNCH_ELEMENTS(sparse_kernel, job->m * job->n, "sparse_matmul");
}

static enum yp_status sparse_matmul_vjp(struct yp_device *device, const struct nn_cuda_sparse *job)
{
    if (job->dvalue != NULL)
        LAUNCH_BEFORE(sparse_values_vjp_kernel, job->m);
    if (job->dx != NULL)
        YPK_LAUNCH(sparse_x_vjp_kernel, ypk_grid(ypk_blocks(job->n, THREADS), SHARES), THREADS, 0,
                   ypk_stream(host, device), *job);
    return ypk_launched(host, "sparse_matmul's vjp");
}

static enum yp_status segment_softmax(struct yp_device *device, const struct nn_cuda_softmax *job)
{
    LAUNCH_ELEMENTS(softmax_kernel, job->n * job->h, "segment_softmax");
}

static enum yp_status segment_softmax_vjp(struct yp_device *device,
                                          const struct nn_cuda_softmax *job)
{
    if (job->dx == NULL)
        return YP_OK;
    LAUNCH_ELEMENTS(softmax_vjp_kernel, job->n * job->h, "segment_softmax's vjp");
}

static enum yp_status head_dot(struct yp_device *device, const struct nn_cuda_head_dot *job)
{
    LAUNCH_ELEMENTS(head_dot_kernel, job->n * job->h, "head_dot");
}

static enum yp_status head_dot_vjp(struct yp_device *device, const struct nn_cuda_head_dot *job)
{
    if (job->dx != NULL)
        LAUNCH_BEFORE(head_dot_vjp_kernel, job->n * job->h * job->c);
    if (job->da != NULL)
        LAUNCH_BEFORE(head_dot_sums_kernel, job->h * job->c);
    return ypk_launched(host, "head_dot's vjp");
}

static enum yp_status scale_rows(struct yp_device *device, const struct nn_cuda_scale_rows *job)
{
    LAUNCH_ELEMENTS(scale_rows_kernel, job->n * job->c, "scale_rows");
}

static enum yp_status scale_rows_vjp(struct yp_device *device, const struct nn_cuda_scale_rows *job)
{
    if (job->dx != NULL)
        LAUNCH_BEFORE(scale_rows_vjp_kernel, job->n * job->c);
    if (job->dw != NULL)
        LAUNCH_BEFORE(scale_rows_sums_kernel, job->n);
    return ypk_launched(host, "scale_rows's vjp");
}

static enum yp_status add_embedding(struct yp_device *device,
                                    const struct nn_cuda_add_embedding *job)
{
    LAUNCH_ELEMENTS(add_embedding_kernel, job->n * job->c, "add_embedding");
}

static enum yp_status add_embedding_vjp(struct yp_device *device,
                                        const struct nn_cuda_add_embedding *job)
{
    if (job->dx != NULL)
        LAUNCH_BEFORE(add_embedding_pass_kernel, job->n * job->c);
    if (job->dtable != NULL)
        LAUNCH_BEFORE(add_embedding_vjp_kernel, job->v * job->d);
    return ypk_launched(host, "add_embedding's vjp");
}

static enum yp_status mode_steps(struct yp_device *device, const struct nn_cuda_mode_steps *job)
{
    LAUNCH_ELEMENTS(mode_steps_kernel, job->n * job->k * job->t * job->c, "mode_steps");
}

static enum yp_status mode_steps_vjp(struct yp_device *device, const struct nn_cuda_mode_steps *job)
{
    LAUNCH_ELEMENTS(mode_steps_vjp_kernel, (job->n + job->k + job->t) * job->c, "mode_steps's vjp");
}

static enum yp_status dropout(struct yp_device *device, const struct nn_cuda_dropout *job)
{
    LAUNCH_ELEMENTS(dropout_kernel, job->n, "dropout");
}

static enum yp_status hidden(struct yp_device *device, const struct nn_cuda_hidden *job)
{
    LAUNCH_ELEMENTS(hidden_kernel, job->n, "hidden rows");
}

static enum yp_status hidden_vjp(struct yp_device *device, const struct nn_cuda_hidden *job)
{
    LAUNCH_ELEMENTS(hidden_vjp_kernel, job->n, "hidden rows' vjp");
}

static enum yp_status attention_pool(struct yp_device *device,
                                     const struct nn_cuda_attention_pool *job)
{
    LAUNCH_ELEMENTS(attention_pool_kernel, job->g * job->c, "attention_pool");
}

static enum yp_status attention_pool_vjp(struct yp_device *device,
                                         const struct nn_cuda_attention_pool *job)
{
    if (job->dscore != NULL)
        LAUNCH_BEFORE(attention_pool_scores_kernel, job->g * job->i);
    if (job->dx != NULL)
        LAUNCH_BEFORE(attention_pool_vjp_kernel, job->g * job->i * job->c);
    return ypk_launched(host, "attention_pool's vjp");
}

static enum yp_status lstm(struct yp_device *device, const struct nn_cuda_lstm *job)
{
    LAUNCH_ELEMENTS(lstm_kernel, job->n * job->h, "lstm");
}

static enum yp_status lstm_vjp(struct yp_device *device, const struct nn_cuda_lstm *job)
{
    LAUNCH_ELEMENTS(lstm_vjp_kernel, job->n * job->h, "lstm's vjp");
}

static enum yp_status segment_attention(struct yp_device *device,
                                        const struct nn_cuda_segment_attention *job)
{
    LAUNCH_ELEMENTS(segment_attention_kernel, job->g * job->i * job->h * job->d,
                    "segment_attention");
}

static enum yp_status segment_attention_vjp(struct yp_device *device,
                                            const struct nn_cuda_segment_attention *job)
{
    LAUNCH_BEFORE(segment_along_kernel, job->g * job->i * job->h);
    if (job->dq != NULL)
        LAUNCH_BEFORE(segment_queries_kernel, job->i * job->h * job->d);
    if (job->dk != NULL || job->dv != NULL)
        LAUNCH_BEFORE(segment_rows_kernel, job->n * job->h * job->d);
    return ypk_launched(host, "segment_attention's vjp");
}

static enum yp_status mixture_nll(struct yp_device *device, const struct nn_cuda_mixture *job)
{
    LAUNCH_ELEMENTS(mixture_nll_kernel, job->n, "mixture_nll");
}

static enum yp_status mixture_nll_vjp(struct yp_device *device, const struct nn_cuda_mixture *job)
{
    LAUNCH_ELEMENTS(mixture_nll_vjp_kernel, job->n, "mixture_nll's vjp");
}

static enum yp_status trajectory_terms(struct yp_device *device, const struct nn_cuda_mixture *job)
{
    LAUNCH_ELEMENTS(trajectory_terms_kernel, job->n, "trajectory_terms");
}

static enum yp_status trajectory_terms_vjp(struct yp_device *device,
                                           const struct nn_cuda_mixture *job)
{
    LAUNCH_ELEMENTS(trajectory_terms_vjp_kernel, job->n, "trajectory_terms's vjp");
}

static enum yp_status collision(struct yp_device *device, const struct nn_cuda_mixture *job)
{
    LAUNCH_ELEMENTS(collision_kernel, job->graphs, "collision");
}

static enum yp_status collision_vjp(struct yp_device *device, const struct nn_cuda_mixture *job)
{
    LAUNCH_ELEMENTS(collision_vjp_kernel, job->graphs, "collision's vjp");
}

static enum yp_status mixture_head(struct yp_device *device, const struct nn_cuda_mixture_head *job)
{
    LAUNCH_ELEMENTS(mixture_head_kernel, 5 * job->n, "mixture_head");
}

static enum yp_status mixture_head_vjp(struct yp_device *device,
                                       const struct nn_cuda_mixture_head *job)
{
    if (job->draw == NULL)
        return YP_OK;
    LAUNCH_ELEMENTS(mixture_head_vjp_kernel, 5 * job->n, "mixture_head's vjp");
}

static enum yp_status coverage_bce(struct yp_device *device, const struct nn_cuda_coverage *job)
{
    LAUNCH_ELEMENTS(coverage_kernel, job->n, "coverage_bce");
}

static enum yp_status coverage_bce_vjp(struct yp_device *device, const struct nn_cuda_coverage *job)
{
    LAUNCH_ELEMENTS(coverage_vjp_kernel, job->n, "coverage_bce's vjp");
}

static const struct nn_cuda table = {narrow,
                                     add,
                                     scale,
                                     {line, line_vjp},
                                     {embedding, embedding_vjp},
                                     {rmsnorm, rmsnorm_vjp},
                                     {layer_norm, layer_norm_vjp},
                                     {batch_norm, batch_norm_vjp},
                                     rope,
                                     {swiglu, swiglu_vjp},
                                     {attention, attention_vjp},
                                     {cross_entropy, cross_entropy_vjp},
                                     columns,
                                     gemm,
                                     gemm_of_views,
                                     {depthwise, depthwise_weights},
                                     {mse, mse_vjp},
                                     {upsample, upsample_vjp},
                                     {tokens, tokens_vjp},
                                     {slice, slice_vjp},
                                     int8_rows,
                                     {segments, segments_vjp},
                                     {gate, gate_vjp},
                                     {edge_pair, edge_pair_vjp},
                                     {gatv2, gatv2_vjp},
                                     {sparse_matmul, sparse_matmul_vjp},
                                     {segment_softmax, segment_softmax_vjp},
                                     {head_dot, head_dot_vjp},
                                     {scale_rows, scale_rows_vjp},
                                     {add_embedding, add_embedding_vjp},
                                     {mode_steps, mode_steps_vjp},
                                     dropout,
                                     {hidden, hidden_vjp},
                                     {attention_pool, attention_pool_vjp},
                                     {lstm, lstm_vjp},
                                     {segment_attention, segment_attention_vjp},
                                     {mixture_nll, mixture_nll_vjp},
                                     {trajectory_terms, trajectory_terms_vjp},
                                     {collision, collision_vjp},
                                     {mixture_head, mixture_head_vjp},
                                     {coverage_bce, coverage_bce_vjp}};
YP_PLUGIN(NN_CUDA_PLUGIN, table, host)

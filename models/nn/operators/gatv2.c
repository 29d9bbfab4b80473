/* Graph attention (Brody, Alon and Yahav, "How attentive are graph attention networks?", 2022) of
 * h heads with c channels, averaged, over a graph with features of edges. With left = W_l x of the
 * node j where an edge begins and right = W_r x of the node i where it ends, both (n, h, c):
 *
 *     z = left_j + right_i + edge feature_ij          (h, c), edge (h, c, f)
 *     logit = sum over c of attention l(z)            l(z) = z above 0, slope z below
 *     alpha = softmax over the edges that end in i and a self-loop of i
 *     y_i = bias + the mean over heads of the sum of alpha left_j
 *
 * Edges are sorted by the node where they end: those of node i are offset[i] to offset[i + 1] - 1,
 * and begin in source[k]. The self-loop has the mean feature of these edges, 0 if there are none.
 * Saved is alpha (e + n, h), edges and then self-loops; the vjp makes z again. With g = dy / h:
 *
 *     ds = alpha (g left_j - sum of alpha g left_j),  dz = ds attention l'(z),  dattention = ds
 * l(z) dleft_j = dz + alpha g,  dright_i = dz,  dedge = dz feature,  dfeature = dz edge
 *
 * each summed over what it has no index of. Threads take nodes forward, and backward nodes and then
 * channels, so that every sum has one order. */
#ifndef REAL
#define NN_FILE "models/nn/operators/gatv2.c"
enum { LEFT, RIGHT, FEATURE, EDGE, ATTENTION, BIAS, OFFSET, SOURCE, Y, ALPHA };
enum { N, H, C, E, F, M, S };
#include "models/nn/convert.h"
#include "models/nn/cuda/on_cuda.h"
#include "models/nn/fast.h"
#include "models/nn/maths.h"
#include "models/nn/plain.h"
#include "models/nn/segments.h"
#include "models/nn/simd/gat.h"

#include <omp.h>

/* Each head's logits, (edges, h) and one more row, become their softmax. */
NN_LOOPS softmax_loops(float *restrict rows, size_t edges, float *restrict self, size_t h)
{
    for (size_t head = 0; head < h; head++) {
        float high = self[head];
        for (size_t k = 0; k < edges; k++)
            high = rows[k * h + head] > high ? rows[k * h + head] : high;
        self[head] -= high;
        for (size_t k = 0; k < edges; k++)
            rows[k * h + head] -= high;
    }
#pragma omp simd
    for (size_t k = 0; k < edges * h; k++)
        rows[k] = nn_exp(rows[k]);
#pragma omp simd
    for (size_t k = 0; k < h; k++)
        self[k] = nn_exp(self[k]);
    for (size_t head = 0; head < h; head++) {
        float sum = self[head];
        for (size_t k = 0; k < edges; k++)
            sum += rows[k * h + head];
        self[head] /= sum;
        for (size_t k = 0; k < edges; k++)
            rows[k * h + head] /= sum;
    }
}
NN_KERNEL(softmax, (float *rows, size_t edges, float *self, size_t h), (rows, edges, self, h))

/* -- workspace --------------------------------------------------------------------------------- */

/* What a call works on; arrays of 16 bits, in float, are of the workspace. */
struct space {
    struct nn_gat g;
    float *weights, *mean;
    float *left, *right, *y, *dleft, *dright; /* of 16 bits */
    double *columns;
};

/* The next `count` elements of `work`; of NULL they are only counted. */
static void *take(void *work, size_t *used, size_t count, size_t size)
{
    void *here = (void *)((uintptr_t)work + *used);
    *used += nn_aligned(count * size);
    return here;
}

static size_t lay_out(const struct nn_shape *shape, enum nn_type type, void *work, struct space *s)
{
    const size_t *size = shape->size, channels = size[H] * size[C];
    const size_t copies = nn_16_bits(type) ? size[N] * channels : 0;
    size_t used = 0;
    s->weights = take(work, &used, channels * size[F], sizeof(float));
    s->mean = take(work, &used, size[N] * size[F], sizeof(float));
    s->left = take(work, &used, copies, sizeof(float));
    s->right = take(work, &used, copies, sizeof(float));
    s->dleft = take(work, &used, copies, sizeof(float));
    s->dright = take(work, &used, copies, sizeof(float));
    s->y = take(work, &used, nn_16_bits(type) ? size[N] * size[C] : 0, sizeof(float));
    s->columns = take(work, &used, nn_columns_bytes(size[N], size[C]), 1);
    s->g.slopes = take(work, &used, size[H] * size[S], sizeof(float));
    s->g.sums = take(work, &used, channels * (1 + size[F]), sizeof(float));
    s->g.dfeature = take(work, &used, size[S] * size[F], sizeof(float));
    return used;
}

static size_t work_in(const struct nn_shape *shape, enum nn_type type)
{
    struct space s;
    return lay_out(shape, type, NULL, &s);
}

NN_EACH_WORK

/* The array in float, in `room` if it is not. */
static const float *in_float(const void *from, enum nn_type type, size_t count, float *room)
{
    if (nn_16_bits(type))
        nn_widen(from, type, count, room);
    return nn_16_bits(type) ? room : from;
}

static struct space space_of(const struct nn_call *call, enum nn_type type)
{
    const size_t *size = call->shape->size, count = size[N] * size[H] * size[C];
    const float *edge = call->value[EDGE];
    struct space s;
    lay_out(call->shape, type, call->work, &s);
    for (size_t head = 0; head < size[H]; head++)
        for (size_t f = 0; f < size[F]; f++)
            for (size_t c = 0; c < size[C]; c++)
                s.weights[(head * size[F] + f) * size[C] + c] =
                    edge[(head * size[C] + c) * size[F] + f];
    const struct nn_segments incoming = {
        .n = size[N], .offset = call->value[OFFSET], .factor = 1, .mean = true};
    nn_segment_sums(&incoming, call->value[FEATURE], NN_FLOAT, size[F], false, s.mean);
    s.g = (struct nn_gat){.n = size[N],
                          .h = size[H],
                          .c = size[C],
                          .e = size[E],
                          .f = size[F],
                          .slope = (float)call->shape->setting[0],
                          .left = in_float(call->value[LEFT], type, count, s.left),
                          .right = in_float(call->value[RIGHT], type, count, s.right),
                          .feature = call->value[FEATURE],
                          .mean = s.mean,
                          .weights = s.weights,
                          .attention = call->value[ATTENTION],
                          .offset = call->value[OFFSET],
                          .source = call->value[SOURCE],
                          .alpha = call->value[ALPHA],
                          .slopes = s.g.slopes,
                          .sums = s.g.sums,
                          .dfeature = s.g.dfeature};
    return s;
}

/* -- passes ------------------------------------------------------------------------------------ */

static enum yp_status check(const struct nn_call *call)
{
    const size_t *size = call->shape->size;
    if (size[F] > NN_GAT_FEATURES)
        return yp_set_error(YP_UNSUPPORTED, "gatv2: an edge has %zu features: at most %d", size[F],
                            NN_GAT_FEATURES);
    enum yp_status status =
        nn_check_offsets("gatv2", "offset", call->value[OFFSET], size[N], size[E]);
    return status != YP_OK
               ? status
               : nn_check_indices("gatv2", "source", call->value[SOURCE], size[E], size[N]);
}

static bool many(const struct nn_shape *shape)
{
    return shape->size[S] * shape->size[H] * shape->size[C] > NN_CHUNK;
}

static enum yp_status forward_in(const struct nn_call *call, enum nn_type type)
{
    const size_t *size = call->shape->size;
    enum yp_status status = check(call);
    if (status != YP_OK)
        return status;
    const struct space s = space_of(call, type);
    const struct nn_gat *g = &s.g;
    const struct nn_gat_kernels *kernels = nn_gat_kernels();
    const float *bias = call->value[BIAS];
    softmax_kernel *softmax = best_softmax();
    float *y = nn_16_bits(type) ? s.y : call->value[Y];
    NN_PARALLEL_FOR(many(call->shape), i, g->n, 1, {
        const size_t at = (size_t)g->offset[i];
        kernels->logits(g, i);
        softmax(g->alpha + at * g->h, (size_t)g->offset[i + 1] - at, g->alpha + (g->e + i) * g->h,
                g->h);
        kernels->weigh(g, i, y + i * g->c);
        for (size_t c = 0; c < g->c; c++)
            y[i * g->c + c] += bias[c];
    });
    if (nn_16_bits(type))
        nn_narrow(y, size[N] * size[C], type, call->value[Y]);
    return YP_OK;
}

/* What a gradient (n, h, c) is added to: itself, or `room`, which holds it in float. */
static float *started(const struct nn_call *call, int i, enum nn_type type, float *room)
{
    const size_t *size = call->shape->size, count = size[N] * size[H] * size[C];
    float *to = nn_16_bits(type) ? room : call->gradient[i];
    if (call->gradient[i] == NULL)
        return NULL;
    if (!nn_adds(call, i))
        nn_zero(to, count * sizeof *to);
    else if (nn_16_bits(type))
        nn_widen(call->gradient[i], type, count, to);
    return to;
}

/* The gradients of a head's parameters of some channels, from their sums. */
static void put_parameters(const struct nn_call *call, const struct nn_gat *g, size_t head,
                           size_t begin, size_t end)
{
    const float *sums = g->sums + head * (1 + g->f) * g->c;
    float *dattention = call->gradient[ATTENTION], *dedge = call->gradient[EDGE];
    for (size_t c = begin; c < end && dattention != NULL; c++) {
        float *to = dattention + head * g->c + c;
        *to = sums[c] + (nn_adds(call, ATTENTION) ? *to : 0);
    }
    for (size_t c = begin; c < end && dedge != NULL; c++)
        for (size_t f = 0; f < g->f; f++) {
            float *to = dedge + (head * g->c + c) * g->f + f;
            *to = sums[(1 + f) * g->c + c] + (nn_adds(call, EDGE) ? *to : 0);
        }
}

/* The gradients of the features of node i's edges, with their share of the self-loop's. */
static void put_features(const struct nn_call *call, const struct nn_gat *g, size_t i)
{
    const size_t begin = (size_t)g->offset[i], end = (size_t)g->offset[i + 1];
    const float *self = g->dfeature + (g->e + i) * g->f;
    float *to = call->gradient[FEATURE];
    for (size_t k = begin; k < end; k++)
        for (size_t f = 0; f < g->f; f++) {
            const float slope = g->dfeature[k * g->f + f] + self[f] / (float)(end - begin);
            to[k * g->f + f] = slope + (nn_adds(call, FEATURE) ? to[k * g->f + f] : 0);
        }
}

/* Channels of a head that one thread takes: lines of memory, and two parts for each thread where
 * there are few heads. */
static size_t part_of(const struct nn_shape *shape)
{
    enum { LINE = 16 };
    const size_t heads = shape->size[H], threads = (size_t)omp_get_max_threads();
    const size_t parts = many(shape) ? (2 * threads + heads - 1) / heads : 1;
    const size_t even = (shape->size[C] + parts - 1) / parts;
    return nn_most(LINE, (even + LINE - 1) / LINE * LINE);
}

static enum yp_status vjp_in(const struct nn_call *call, enum nn_type type)
{
    const size_t *size = call->shape->size, count = size[N] * size[H] * size[C];
    struct space s = space_of(call, type);
    struct nn_gat *g = &s.g;
    const struct nn_gat_kernels *kernels = nn_gat_kernels();
    g->dy = in_float(call->gradient[Y], type, size[N] * size[C], s.y);
    g->dleft = started(call, LEFT, type, s.dleft);
    g->dright = started(call, RIGHT, type, s.dright);
    nn_zero(g->sums, g->h * (1 + g->f) * g->c * sizeof *g->sums);
    NN_PARALLEL_FOR(many(call->shape), i, g->n, 1, {
        for (size_t head = 0; head < g->h; head++)
            kernels->slopes(g, i, head);
    });
    const size_t part = part_of(call->shape), parts = nn_chunks(g->c, part);
    NN_PARALLEL_FOR(many(call->shape), at, g->h * parts, 1, {
        const size_t head = at / parts, begin = at % parts * part;
        const size_t end = nn_least(g->c, begin + part);
        for (size_t i = 0; i < g->n; i++)
            kernels->gradients(g, i, head, begin, end);
        put_parameters(call, g, head, begin, end);
    });
    if (call->gradient[FEATURE] != NULL)
        NN_PARALLEL_FOR(many(call->shape), i, g->n, 1, {
            kernels->features(g, i);
            put_features(call, g, i);
        });
    if (nn_16_bits(type) && g->dleft != NULL)
        nn_narrow(g->dleft, count, type, call->gradient[LEFT]);
    if (nn_16_bits(type) && g->dright != NULL)
        nn_narrow(g->dright, count, type, call->gradient[RIGHT]);
    nn_bias_vjp(call, BIAS, call->gradient[Y], type, size[N], size[C], s.columns);
    return YP_OK;
}

NN_EACH_TYPE

/* -- on a GPU ---------------------------------------------------------------------------------- */

static size_t slopes_bytes(const struct nn_shape *shape)
{
    return nn_aligned(shape->size[S] * shape->size[H] * sizeof(float));
}

static size_t work_cuda(const struct nn_shape *shape)
{
    return slopes_bytes(shape) + nn_cuda_columns_bytes(shape->size[N], shape->size[C]);
}

static struct nn_cuda_gatv2 job_of(const struct nn_call *call, enum nn_type type)
{
    const size_t *size = call->shape->size;
    return (struct nn_cuda_gatv2){.n = size[N],
                                  .h = size[H],
                                  .c = size[C],
                                  .e = size[E],
                                  .f = size[F],
                                  .type = type,
                                  .add_dleft = nn_adds(call, LEFT),
                                  .add_dright = nn_adds(call, RIGHT),
                                  .add_dfeature = nn_adds(call, FEATURE),
                                  .add_dedge = nn_adds(call, EDGE),
                                  .add_dattention = nn_adds(call, ATTENTION),
                                  .slope = (float)call->shape->setting[0],
                                  .offset = call->value[OFFSET],
                                  .source = call->value[SOURCE],
                                  .left = call->value[LEFT],
                                  .right = call->value[RIGHT],
                                  .dy = call->gradient[Y],
                                  .feature = call->value[FEATURE],
                                  .edge = call->value[EDGE],
                                  .attention = call->value[ATTENTION],
                                  .bias = call->value[BIAS],
                                  .y = call->value[Y],
                                  .dleft = call->gradient[LEFT],
                                  .dright = call->gradient[RIGHT],
                                  .alpha = call->value[ALPHA],
                                  .slopes = call->work,
                                  .dfeature = call->gradient[FEATURE],
                                  .dedge = call->gradient[EDGE],
                                  .dattention = call->gradient[ATTENTION]};
}

static enum yp_status forward_on(const struct nn_cuda *cuda, const struct nn_call *call,
                                 enum nn_type type)
{
    const struct nn_cuda_gatv2 job = job_of(call, type);
    return cuda->gatv2[NN_FORWARD](call->device, &job);
}

static enum yp_status vjp_on(const struct nn_cuda *cuda, const struct nn_call *call,
                             enum nn_type type)
{
    const struct nn_cuda_gatv2 job = job_of(call, type);
    const struct nn_cuda_columns bias = {
        .n = job.n,
        .c = job.c,
        .type = type,
        .add = nn_adds(call, BIAS),
        .dy = call->gradient[Y],
        .sums = call->gradient[BIAS],
        .work = (double *)(void *)((char *)call->work + slopes_bytes(call->shape))};
    const enum yp_status status = cuda->gatv2[NN_VJP](call->device, &job);
    return status == YP_OK ? cuda->columns(call->device, &bias) : status;
}

NN_ON_CUDA

static double flops(const struct nn_shape *shape, enum nn_pass pass)
{
    const size_t *size = shape->size;
    const double rows = (double)size[S] * (double)size[H], c = (double)size[C], f = (double)size[F];
    return pass == NN_VJP ? rows * c * (6 * f + 13) : rows * (c * (2 * f + 7) + NN_FUNCTION + 4);
}

const struct nn_operator nn_gatv2 = {
    .name = "gatv2",
    .dims = "nhcefms",
    .settings = {"slope"},
    /* z is a whole number and a part of one: never near the kink. */
    .tensors = {{"left", "nhc", .role = NN_INPUT, .adds = true,
                 .domain = {NN_WHOLE, .low = -2, .high = 3}},
                {"right", "nhc", .role = NN_INPUT, .adds = true,
                 .domain = {NN_WHOLE, .low = -2, .high = 3}},
                {"feature", "ef", .role = NN_INPUT, .adds = true,
                 .domain = {NN_UNIFORM, .low = 0.7, .high = 1.3}},
                {"edge", "hcf", .role = NN_PARAMETER, .adds = true,
                 .domain = {NN_UNIFORM, .low = 0.05, .high = 0.12}},
                {"attention", "hc", .role = NN_PARAMETER, .adds = true,
                 .domain = {NN_BELL, .low = 0, .high = 0.2}},
                {"bias", "c", .role = NN_PARAMETER, .unread = true, .adds = true},
                {"offset", "m", .role = NN_CONSTANT, .type = NN_INT32,
                 .domain = {NN_OFFSETS, .below = 'e'}},
                {"source", "e", .role = NN_CONSTANT, .type = NN_INT32,
                 .domain = {NN_WHOLE, .below = 'n'}},
                {"y", "nc", .role = NN_OUTPUT},
                {"alpha", "sh", .role = NN_SAVED}},
    .shapes = {{"one", .size = {1, 1, 1, 1, 1, 2, 2}, .setting = {0.2}},
               {"odd", .size = {4, 2, 7, 6, 3, 5, 10}, .setting = {0.2}},
               {"small", .size = {22, 4, 17, 120, 5, 23, 142}, .setting = {0.2}},
               {"medium", .size = {352, 4, 64, 2842, 5, 353, 3194}, .setting = {0.2}}},
    NN_PLAIN,
    .flops = flops,
    .versions = {{NN_FP32, "cpu", .forward = forward, .vjp = vjp, .work = work},
                 {NN_BF16, "cpu", .forward = forward_bf16, .vjp = vjp_bf16, .work = work_bf16,
                  .types = "bbffffffbf", .gradients = "bbffffffbf"},
                 {NN_FP16, "cpu", .forward = forward_fp16, .vjp = vjp_fp16, .work = work_fp16,
                  .types = "bbffffffbf", .gradients = "bbffffffbf"},
                 {NN_FP32, "cuda", .forward = forward_cuda, .vjp = vjp_cuda, .work = work_cuda},
                 {NN_BF16, "cuda", .forward = forward_cuda_bf16, .vjp = vjp_cuda_bf16,
                  .work = work_cuda, .types = "bbffffffbf", .gradients = "bbffffffbf"},
                 {NN_FP16, "cuda", .forward = forward_cuda_fp16, .vjp = vjp_cuda_fp16,
                  .work = work_cuda, .types = "bbffffffbf", .gradients = "bbffffffbf"}},
};

#else
/* Row k of node i: where it begins, and the place of its alpha. */
static size_t NAME(beginning)(const struct nn_call *call, size_t i, size_t k)
{
    const int32_t *offset = call->value[OFFSET], *source = call->value[SOURCE];
    return k < (size_t)offset[i + 1] ? (size_t)source[k] : i;
}

static size_t NAME(place)(const struct nn_call *call, size_t i, size_t k)
{
    const int32_t *offset = call->value[OFFSET];
    return k < (size_t)offset[i + 1] ? k : call->shape->size[E] + i;
}

/* Its feature f, of a self-loop the mean. */
static REAL NAME(feature)(const struct nn_call *call, size_t i, size_t k, size_t f)
{
    const int32_t *offset = call->value[OFFSET];
    const size_t begin = (size_t)offset[i], end = (size_t)offset[i + 1],
                 step = call->shape->size[F];
    const REAL *feature = call->value[FEATURE];
    REAL sum = 0;
    if (k < end)
        return feature[k * step + f];
    for (size_t e = begin; e < end; e++)
        sum += feature[e * step + f];
    return end > begin ? sum / (REAL)(end - begin) : 0;
}

/* z of channel c, of all heads'. */
static REAL NAME(inner)(const struct nn_call *call, size_t i, size_t k, size_t c)
{
    const size_t *size = call->shape->size, channels = size[H] * size[C];
    const REAL *left = call->value[LEFT], *right = call->value[RIGHT], *edge = call->value[EDGE];
    REAL z = left[NAME(beginning)(call, i, k) * channels + c] + right[i * channels + c];
    for (size_t f = 0; f < size[F]; f++)
        z += edge[c * size[F] + f] * NAME(feature)(call, i, k, f);
    return z;
}

static REAL NAME(factor)(const struct nn_call *call, REAL z)
{
    return z > 0 ? 1 : (REAL)call->shape->setting[0];
}

static void NAME(forward)(const struct nn_call *call)
{
    const size_t *size = call->shape->size, channels = size[H] * size[C];
    const int32_t *offset = call->value[OFFSET];
    const REAL *left = call->value[LEFT], *attention = call->value[ATTENTION];
    const REAL *bias = call->value[BIAS];
    REAL *y = call->value[Y], *alpha = call->value[ALPHA];
    for (size_t i = 0; i < size[N]; i++) {
        const size_t begin = (size_t)offset[i], end = (size_t)offset[i + 1];
        for (size_t c = 0; c < size[C]; c++)
            y[i * size[C] + c] = bias[c];
        for (size_t h = 0; h < size[H]; h++) {
            REAL high = 0, sum = 0;
            for (size_t k = begin; k <= end; k++) {
                REAL logit = 0;
                for (size_t c = h * size[C]; c < (h + 1) * size[C]; c++) {
                    const REAL z = NAME(inner)(call, i, k, c);
                    logit += attention[c] * z * NAME(factor)(call, z);
                }
                high = k == begin || logit > high ? logit : high;
                alpha[NAME(place)(call, i, k) * size[H] + h] = logit;
            }
            for (size_t k = begin; k <= end; k++) {
                REAL *weight = alpha + NAME(place)(call, i, k) * size[H] + h;
                sum += *weight = exp(*weight - high);
            }
            for (size_t k = begin; k <= end; k++) {
                const REAL *row = left + NAME(beginning)(call, i, k) * channels + h * size[C];
                REAL *weight = alpha + NAME(place)(call, i, k) * size[H] + h;
                *weight /= sum;
                for (size_t c = 0; c < size[C]; c++)
                    y[i * size[C] + c] += *weight * row[c] / (REAL)size[H];
            }
        }
    }
}

/* The gradients of row k of node i, by the slope of its logit of head h. */
static void NAME(row_vjp)(const struct nn_call *call, size_t i, size_t k, size_t h, REAL ds)
{
    const size_t *size = call->shape->size, channels = size[H] * size[C];
    const int32_t *offset = call->value[OFFSET];
    const size_t begin = (size_t)offset[i], end = (size_t)offset[i + 1];
    const REAL *attention = call->value[ATTENTION], *edge = call->value[EDGE];
    const REAL *dy = call->gradient[Y], *alpha = call->value[ALPHA];
    REAL *dleft = (REAL *)call->gradient[LEFT] + NAME(beginning)(call, i, k) * channels;
    REAL *dright = (REAL *)call->gradient[RIGHT] + i * channels;
    REAL *dfeature = call->gradient[FEATURE], *dedge = call->gradient[EDGE];
    REAL *dattention = call->gradient[ATTENTION];
    const REAL weight = alpha[NAME(place)(call, i, k) * size[H] + h];
    for (size_t c = h * size[C]; c < (h + 1) * size[C]; c++) {
        const REAL z = NAME(inner)(call, i, k, c);
        const REAL dz = ds * attention[c] * NAME(factor)(call, z);
        dattention[c] += ds * z * NAME(factor)(call, z);
        dright[c] += dz;
        dleft[c] += dz + weight * dy[i * size[C] + c % size[C]] / (REAL)size[H];
        for (size_t f = 0; f < size[F]; f++) {
            dedge[c * size[F] + f] += dz * NAME(feature)(call, i, k, f);
            for (size_t e = k < end ? k : begin; e < (k < end ? k + 1 : end); e++)
                dfeature[e * size[F] + f] +=
                    dz * edge[c * size[F] + f] / (k < end ? 1 : (REAL)(end - begin));
        }
    }
}

static void NAME(vjp)(const struct nn_call *call)
{
    const size_t *size = call->shape->size, channels = size[H] * size[C];
    const int32_t *offset = call->value[OFFSET];
    const REAL *left = call->value[LEFT], *alpha = call->value[ALPHA], *dy = call->gradient[Y];
    REAL *dbias = call->gradient[BIAS];
    for (int i = LEFT; i <= BIAS; i++)
        memset(call->gradient[i], 0,
               nn_count(&nn_gatv2, &nn_gatv2.tensors[i], call->shape) * sizeof(REAL));
    for (size_t i = 0; i < size[N]; i++) {
        const size_t begin = (size_t)offset[i], end = (size_t)offset[i + 1];
        for (size_t c = 0; c < size[C]; c++)
            dbias[c] += dy[i * size[C] + c];
        for (size_t h = 0; h < size[H]; h++) {
            REAL along = 0;
            for (int pass = 0; pass < 2; pass++)
                for (size_t k = begin; k <= end; k++) {
                    const REAL *row = left + NAME(beginning)(call, i, k) * channels + h * size[C];
                    const REAL weight = alpha[NAME(place)(call, i, k) * size[H] + h];
                    REAL slope = 0;
                    for (size_t c = 0; c < size[C]; c++)
                        slope += dy[i * size[C] + c] * row[c] / (REAL)size[H];
                    if (pass == 0)
                        along += weight * slope;
                    else
                        NAME(row_vjp)(call, i, k, h, weight * (slope - along));
                }
        }
    }
}
#endif

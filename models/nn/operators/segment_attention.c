/* Attention of i queries (i, h, d), the same for all, to the rows of each segment: of k and v
 * (n, h, d), whose rows offset[g] to offset[g + 1] - 1 are segment g's, and with y (g, i, h, d),
 * for each segment and head y = softmax(q k^T / sqrt(d)) v; 0 of an empty segment (Lee et al., "Set
 * Transformer", 2019: inducing points). What is saved, and how the vjp goes, is in attend.h. */
#ifndef REAL
#define NN_FILE "models/nn/operators/segment_attention.c"
enum { Q, K, V, OFFSET, Y, HIGH, SUM };
enum { QUERIES, H, D, N, M, G };
#include "models/nn/attend.h"
#include "models/nn/cuda/on_cuda.h"
#include "models/nn/fast.h"
#include "models/nn/plain.h"
#include "models/nn/types.h"

#include <omp.h>

/* A thread's: a head, high and sum of its queries, and a head's dq of all segments. */
static size_t thread_floats(const size_t *size)
{
    return nn_head_floats(size[QUERIES], size[N], size[D]) +
           (size[QUERIES] * (2 + size[D]) + 15) / 16 * 16;
}

static size_t work(const struct nn_shape *shape)
{
    const size_t threads = nn_least((size_t)omp_get_max_threads(), shape->size[H] * shape->size[G]);
    return threads * thread_floats(shape->size) * sizeof(float);
}

/* The calling thread's workspace. */
static float *own_work(const struct nn_call *call)
{
    return (float *)call->work + (size_t)omp_get_thread_num() * thread_floats(call->shape->size);
}

/* Of head h and segment g, with q, k and v. */
static struct nn_head head_at(const struct nn_call *call, enum nn_type type, size_t h, size_t g)
{
    const size_t *size = call->shape->size, d = size[D], stride = size[H] * d;
    const int32_t *offset = call->value[OFFSET];
    const size_t first = (size_t)offset[g], rows = (size_t)offset[g + 1] - first;
    float *at = own_work(call);
    struct nn_head s = nn_head_at(at, size[QUERIES], rows, d);
    s.high = at + nn_head_floats(size[QUERIES], size[N], d);
    s.sum = s.high + size[QUERIES];
    nn_head_gather(nn_from(call->value[Q], h * d, type), type, size[QUERIES], d, stride, s.q);
    nn_head_gather(nn_from(call->value[K], first * stride + h * d, type), type, rows, d, stride,
                   s.k);
    nn_head_gather(nn_from(call->value[V], first * stride + h * d, type), type, rows, d, stride,
                   s.v);
    return s;
}

static void forward_of(const struct nn_call *call, enum nn_type type, size_t h, size_t g)
{
    const size_t *size = call->shape->size, d = size[D], queries = size[QUERIES];
    const struct nn_head s = head_at(call, type, h, g);
    float *high = call->value[HIGH], *sum = call->value[SUM];
    if (s.keys > 0) {
        nn_head_forward(&s);
    } else {
        memset(s.y, 0, queries * d * sizeof *s.y);
        memset(s.high, 0, 2 * queries * sizeof *s.high);
    }
    nn_head_scatter(s.y, queries, d, size[H] * d, type,
                    nn_from(call->value[Y], (g * queries * size[H] + h) * d, type));
    for (size_t i = 0; i < queries; i++) {
        high[(g * queries + i) * size[H] + h] = s.high[i];
        sum[(g * queries + i) * size[H] + h] = s.sum[i];
    }
}

static enum yp_status forward_in(const struct nn_call *call, enum nn_type type)
{
    const size_t *size = call->shape->size, pairs = size[G] * size[H];
    enum yp_status status =
        nn_check_offsets("segment_attention", "offset", call->value[OFFSET], size[G], size[N]);
    if (status != YP_OK)
        return status;
    NN_PARALLEL_FOR(size[QUERIES] * size[H] * size[N] > NN_CHUNK, pair, pairs, 1,
                    forward_of(call, type, pair % size[H], pair / size[H]));
    return YP_OK;
}

/* To a gradient's rows, or added to them. */
NN_LOOPS put_loops(enum nn_type type, const float *from, size_t n, size_t d, size_t stride,
                   bool add, void *restrict to)
{
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < d; k++)
            nn_put(to, i * stride + k,
                   from[i * d + k] + (add ? nn_get(to, i * stride + k, type) : 0), type);
}
NN_TYPED_KERNEL(put, (const float *from, size_t n, size_t d, size_t stride, bool add, void *to),
                (from, n, d, stride, add, to))

/* Of a head, all segments in their order: its dq is a sum over them. */
static void vjp_of(const struct nn_call *call, enum nn_type type, size_t h)
{
    const size_t *size = call->shape->size, d = size[D], queries = size[QUERIES],
                 stride = size[H] * d;
    const float *high = call->value[HIGH], *sum = call->value[SUM];
    const int32_t *offset = call->value[OFFSET];
    float *dq = own_work(call) + nn_head_floats(queries, size[N], d) + 2 * queries;
    put_kernel *put = best_put(type);
    memset(dq, 0, queries * d * sizeof *dq);
    for (size_t g = 0; g < size[G]; g++) {
        const struct nn_head s = head_at(call, type, h, g);
        const float *const from[] = {[K] = s.dk, [V] = s.dv};
        if (s.keys == 0)
            continue;
        nn_head_gather(nn_from(call->gradient[Y], (g * queries * size[H] + h) * d, type), type,
                       queries, d, stride, s.y);
        for (size_t i = 0; i < queries; i++) {
            s.high[i] = high[(g * queries + i) * size[H] + h];
            s.sum[i] = sum[(g * queries + i) * size[H] + h];
        }
        nn_head_vjp(&s);
        for (size_t i = 0; i < queries * d; i++)
            dq[i] += s.dq[i];
        for (int i = K; i <= V; i++)
            if (call->gradient[i] != NULL)
                put(from[i], s.keys, d, stride, nn_adds(call, i),
                    nn_from(call->gradient[i], (size_t)offset[g] * stride + h * d, type));
    }
    if (call->gradient[Q] != NULL)
        put(dq, queries, d, stride, nn_adds(call, Q), nn_from(call->gradient[Q], h * d, type));
}

static enum yp_status vjp_in(const struct nn_call *call, enum nn_type type)
{
    const size_t *size = call->shape->size;
    NN_PARALLEL_FOR(size[QUERIES] * size[H] * size[N] > NN_CHUNK, h, size[H], 1,
                    vjp_of(call, type, h));
    return YP_OK;
}

NN_EACH_TYPE

static size_t work_cuda(const struct nn_shape *shape)
{
    return shape->size[G] * shape->size[QUERIES] * shape->size[H] * sizeof(float);
}

static struct nn_cuda_segment_attention job_of(const struct nn_call *call, enum nn_type type)
{
    const size_t *size = call->shape->size;
    return (struct nn_cuda_segment_attention){.i = size[QUERIES],
                                              .h = size[H],
                                              .d = size[D],
                                              .n = size[N],
                                              .g = size[G],
                                              .type = type,
                                              .add_dq = nn_adds(call, Q),
                                              .add_dk = nn_adds(call, K),
                                              .add_dv = nn_adds(call, V),
                                              .q = call->value[Q],
                                              .k = call->value[K],
                                              .v = call->value[V],
                                              .dy = call->gradient[Y],
                                              .offset = call->value[OFFSET],
                                              .y = call->value[Y],
                                              .dq = call->gradient[Q],
                                              .dk = call->gradient[K],
                                              .dv = call->gradient[V],
                                              .high = call->value[HIGH],
                                              .sum = call->value[SUM],
                                              .along = call->work};
}

NN_ON_CUDA_BY_JOB(segment_attention, struct nn_cuda_segment_attention)

static size_t plain_work(const struct nn_shape *shape)
{
    return 2 * shape->size[N] * sizeof(double);
}

static double flops(const struct nn_shape *shape, enum nn_pass pass)
{
    const size_t *size = shape->size;
    const double pairs = (double)(size[QUERIES] * size[H]) * (double)size[N], d = (double)size[D];
    return pairs * (pass == NN_VJP ? 10 * d + NN_FUNCTION + 6 : 4 * d + NN_FUNCTION + 3);
}

const struct nn_operator nn_segment_attention = {
    .name = "segment_attention",
    .dims = "ihdnmg",
    .tensors = {{"q", "ihd", .role = NN_INPUT, .adds = true, .domain = {.lift = 0x1p19}},
                {"k", "nhd", .role = NN_INPUT, .adds = true, .domain = {.lift = 1}},
                {"v", "nhd", .role = NN_INPUT, .adds = true},
                {"offset", "m", .role = NN_CONSTANT, .type = NN_INT32,
                 .domain = {NN_OFFSETS, .below = 'n'}},
                {"y", "gihd", .role = NN_OUTPUT},
                {"high", "gih", .role = NN_SAVED},
                {"sum", "gih", .role = NN_SAVED}},
    .shapes = {{"one", .size = {1, 1, 1, 1, 2, 1}},
               {"odd", .size = {3, 2, 5, 6, 6, 5}},
               {"small", .size = {8, 4, 16, 66, 4, 3}},
               {"medium", .size = {8, 8, 32, 1408, 65, 64}},
               {"lifted", .size = {2, 2, 5, 40, 3, 2}}},
    NN_PLAIN,
    .plain_work = plain_work,
    .flops = flops,
    NN_EACH_VERSION(work, work_cuda, "bbbfbff", "bbbfbff"),
};

#else
/* p: the softmax of query i of head h over the rows from `first` to `end`. */
static void NAME(softmax)(const struct nn_call *call, size_t first, size_t end, size_t i, size_t h,
                          REAL *p, REAL *high, REAL *sum)
{
    const size_t *size = call->shape->size, d = size[D];
    const REAL *q = (const REAL *)call->value[Q] + (i * size[H] + h) * d;
    *high = *sum = 0;
    for (size_t j = first; j < end; j++) {
        const REAL *k = (const REAL *)call->value[K] + (j * size[H] + h) * d;
        REAL product = 0;
        for (size_t c = 0; c < d; c++)
            product += q[c] * k[c];
        p[j] = product;
        *high = j == first || product > *high ? product : *high;
    }
    for (size_t j = first; j < end; j++)
        *sum += p[j] = exp((p[j] - *high) / sqrt((REAL)d));
    for (size_t j = first; j < end; j++)
        p[j] /= *sum;
}

static void NAME(forward)(const struct nn_call *call)
{
    const size_t *size = call->shape->size, d = size[D];
    const int32_t *offset = call->value[OFFSET];
    REAL *p = call->work, *y = call->value[Y], *high = call->value[HIGH], *sum = call->value[SUM];
    memset(y, 0, size[G] * size[QUERIES] * size[H] * d * sizeof *y);
    for (size_t at = 0; at < size[G] * size[QUERIES] * size[H]; at++, y += d) {
        const size_t h = at % size[H], i = at / size[H] % size[QUERIES],
                     g = at / size[H] / size[QUERIES];
        const size_t first = (size_t)offset[g], end = (size_t)offset[g + 1];
        NAME(softmax)(call, first, end, i, h, p, &high[at], &sum[at]);
        for (size_t j = first; j < end; j++)
            for (size_t c = 0; c < d; c++)
                y[c] += p[j] * ((const REAL *)call->value[V])[(j * size[H] + h) * d + c];
    }
}

static void NAME(vjp)(const struct nn_call *call)
{
    const size_t *size = call->shape->size, d = size[D];
    const int32_t *offset = call->value[OFFSET];
    const REAL *q = call->value[Q], *k = call->value[K], *v = call->value[V];
    const REAL *dy = call->gradient[Y];
    REAL *dq = call->gradient[Q], *dk = call->gradient[K], *dv = call->gradient[V];
    REAL *p = call->work, *dp = p + size[N], high, sum;
    memset(dq, 0, size[QUERIES] * size[H] * d * sizeof *dq);
    memset(dk, 0, size[N] * size[H] * d * sizeof *dk);
    memset(dv, 0, size[N] * size[H] * d * sizeof *dv);
    for (size_t at = 0; at < size[G] * size[QUERIES] * size[H]; at++, dy += d) {
        const size_t h = at % size[H], row = at % (size[H] * size[QUERIES]),
                     g = at / size[H] / size[QUERIES];
        const size_t first = (size_t)offset[g], end = (size_t)offset[g + 1];
        REAL along = 0;
        NAME(softmax)(call, first, end, row / size[H], h, p, &high, &sum);
        for (size_t j = first; j < end; j++) {
            dp[j] = 0;
            for (size_t c = 0; c < d; c++)
                dp[j] += dy[c] * v[(j * size[H] + h) * d + c];
            along += p[j] * dp[j];
        }
        for (size_t j = first; j < end; j++) {
            const REAL ds = p[j] * (dp[j] - along) / sqrt((REAL)d);
            for (size_t c = 0; c < d; c++) {
                const size_t place = (j * size[H] + h) * d + c;
                dq[row * d + c] += ds * k[place];
                dk[place] += ds * q[row * d + c];
                dv[place] += p[j] * dy[c];
            }
        }
    }
}
#endif

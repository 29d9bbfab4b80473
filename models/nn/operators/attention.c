/* Scaled dot-product attention of h heads of e channels (Vaswani et al., 2017): of q, k, v and y
 * (b, t, h, e), for each sequence and head y = softmax(q k^T / sqrt(e)) v. With the setting causal
 * = 1 position i sees positions 0 to i, with 0 all of them. What is saved, and how the vjp goes, is
 * in attend.h. */
#ifndef REAL
#define NN_FILE "models/nn/operators/attention.c"
enum { Q, K, V, Y, HIGH, SUM };
enum { B, T, H, E };
#include "models/nn/attend.h"
#include "models/nn/cuda/on_cuda.h"
#include "models/nn/fast.h"
#include "models/nn/plain.h"
#include "models/nn/simd/short.h"
#include "models/nn/types.h"

#include <math.h>
#include <omp.h>

/* Where head h of sequence b begins in an array (b, t, h, e). */
static size_t place_of(const size_t *size, size_t pair)
{
    return (pair / size[H] * size[T] * size[H] + pair % size[H]) * size[E];
}

static size_t threads_of(const struct nn_shape *shape)
{
    return nn_least((size_t)omp_get_max_threads(), shape->size[B] * shape->size[H]);
}

/* -- long sequences: one head at a time, gathered
 * -------------------------------------------------- */

static size_t head_floats(const struct nn_shape *shape)
{
    return nn_head_floats(shape->size[T], shape->size[T], shape->size[E]);
}

/* Of a pair of sequence and head, with q, k and v. */
static struct nn_head head_at(const struct nn_call *call, enum nn_type type, size_t pair)
{
    const size_t *size = call->shape->size;
    struct nn_head s =
        nn_head_at((float *)call->work + (size_t)omp_get_thread_num() * head_floats(call->shape),
                   size[T], size[T], size[E]);
    float *const to[] = {[Q] = s.q, [K] = s.k, [V] = s.v};
    s.causal = call->shape->setting[0] != 0;
    s.high = (float *)call->value[HIGH] + pair * size[T];
    s.sum = (float *)call->value[SUM] + pair * size[T];
    for (int i = Q; i <= V; i++)
        nn_head_gather(nn_from(call->value[i], place_of(size, pair), type), type, size[T], size[E],
                       size[H] * size[E], to[i]);
    return s;
}

static void heads_forward(const struct nn_call *call, enum nn_type type)
{
    const size_t *size = call->shape->size;
#pragma omp parallel for schedule(static) num_threads((int)threads_of(call->shape))
    for (size_t pair = 0; pair < size[B] * size[H]; pair++) {
        const struct nn_head s = head_at(call, type, pair);
        nn_head_forward(&s);
        nn_head_scatter(s.y, size[T], size[E], size[H] * size[E], type,
                        nn_from(call->value[Y], place_of(size, pair), type));
    }
}

static void heads_vjp(const struct nn_call *call, enum nn_type type)
{
    const size_t *size = call->shape->size, stride = size[H] * size[E];
#pragma omp parallel for schedule(static) num_threads((int)threads_of(call->shape))
    for (size_t pair = 0; pair < size[B] * size[H]; pair++) {
        const size_t place = place_of(size, pair);
        const struct nn_head s = head_at(call, type, pair);
        const float *const from[] = {[Q] = s.dq, [K] = s.dk, [V] = s.dv};
        nn_head_gather(nn_from(call->gradient[Y], place, type), type, size[T], size[E], stride,
                       s.y);
        nn_head_vjp(&s);
        for (int i = Q; i <= V; i++)
            if (call->gradient[i] != NULL)
                nn_head_scatter(from[i], size[T], size[E], stride, type,
                                nn_from(call->gradient[i], place, type));
    }
}

/* -- short sequences: all heads where they are ---------------------------------------------------
 */

static bool is_short(const struct nn_shape *shape)
{
    return shape->setting[0] == 0 && nn_short_takes(shape->size[T], shape->size[E]);
}

/* q, k, v, y or its cotangent, dq, dk and dv of a sequence in float, for a version in 16 bits. */
enum { ARRAYS = 7 };

static size_t sequence(const size_t *size)
{
    return size[T] * size[H] * size[E];
}

/* Sequence b, in float: array i of the workspace, or the caller's own. */
static float *place_at(const struct nn_call *call, enum nn_type type, void *array, size_t b,
                       size_t i)
{
    const size_t count = sequence(call->shape->size);
    const size_t own = ((size_t)omp_get_thread_num() * ARRAYS + i) * count;
    if (array == NULL)
        return NULL;
    return nn_16_bits(type) ? (float *)call->work + own : (float *)array + b * count;
}

static const float *widened(const struct nn_call *call, enum nn_type type, void *array, size_t b,
                            size_t i)
{
    const size_t count = sequence(call->shape->size);
    float *to = place_at(call, type, array, b, i);
    if (nn_16_bits(type))
        nn_head_gather(nn_from(array, b * count, type), type, 1, count, count, to);
    return to;
}

static void narrowed(const struct nn_call *call, enum nn_type type, const float *from, void *array,
                     size_t b)
{
    const size_t count = sequence(call->shape->size);
    if (nn_16_bits(type) && array != NULL)
        nn_head_scatter(from, 1, count, count, type, nn_from(array, b * count, type));
}

/* The first head of sequence b. */
static struct nn_short short_at(const struct nn_call *call, enum nn_type type, size_t b)
{
    const size_t *size = call->shape->size;
    return (struct nn_short){.t = size[T],
                             .e = size[E],
                             .stride = size[H] * size[E],
                             .factor = 1 / sqrtf((float)size[E]),
                             .q = widened(call, type, call->value[Q], b, Q),
                             .k = widened(call, type, call->value[K], b, K),
                             .v = widened(call, type, call->value[V], b, V),
                             .high = (float *)call->value[HIGH] + b * size[H] * size[T],
                             .sum = (float *)call->value[SUM] + b * size[H] * size[T]};
}

/* All heads of a sequence: each begins e floats behind the one before. */
static void each_head(nn_short_pass *pass, struct nn_short s, size_t heads)
{
    const float **const in[] = {&s.q, &s.k, &s.v, &s.dy};
    float **const out[] = {&s.y, &s.dq, &s.dk, &s.dv};
    for (size_t h = 0; h < heads; h++, s.high += s.t, s.sum += s.t) {
        pass(&s);
        for (int i = 0; i < 4; i++) {
            *in[i] = *in[i] != NULL ? *in[i] + s.e : NULL;
            *out[i] = *out[i] != NULL ? *out[i] + s.e : NULL;
        }
    }
}

static void short_forward(const struct nn_call *call, enum nn_type type)
{
    const size_t *size = call->shape->size;
    nn_short_pass *pass = nn_short_forward();
    NN_PARALLEL_FOR(size[B] * sequence(size) > NN_CHUNK, b, size[B], 1, {
        struct nn_short s = short_at(call, type, b);
        s.y = place_at(call, type, call->value[Y], b, Y);
        each_head(pass, s, size[H]);
        narrowed(call, type, s.y, call->value[Y], b);
    });
}

static void short_vjp(const struct nn_call *call, enum nn_type type)
{
    const size_t *size = call->shape->size;
    nn_short_pass *pass = nn_short_vjp();
    NN_PARALLEL_FOR(size[B] * sequence(size) > NN_CHUNK, b, size[B], 1, {
        struct nn_short s = short_at(call, type, b);
        s.dy = widened(call, type, call->gradient[Y], b, Y);
        s.dq = place_at(call, type, call->gradient[Q], b, Y + 1);
        s.dk = place_at(call, type, call->gradient[K], b, Y + 2);
        s.dv = place_at(call, type, call->gradient[V], b, Y + 3);
        each_head(pass, s, size[H]);
        narrowed(call, type, s.dq, call->gradient[Q], b);
        narrowed(call, type, s.dk, call->gradient[K], b);
        narrowed(call, type, s.dv, call->gradient[V], b);
    });
}

/* -- either --------------------------------------------------------------------------------------
 */

static size_t work_in(const struct nn_shape *shape, enum nn_type type)
{
    const size_t floats = !is_short(shape) ? threads_of(shape) * head_floats(shape)
                          : nn_16_bits(type)
                              ? nn_least((size_t)omp_get_max_threads(), shape->size[B]) * ARRAYS *
                                    sequence(shape->size)
                              : 0;
    return floats * sizeof(float);
}

NN_EACH_WORK

static enum yp_status forward_in(const struct nn_call *call, enum nn_type type)
{
    if (is_short(call->shape))
        short_forward(call, type);
    else
        heads_forward(call, type);
    return YP_OK;
}

static enum yp_status vjp_in(const struct nn_call *call, enum nn_type type)
{
    if (is_short(call->shape))
        short_vjp(call, type);
    else
        heads_vjp(call, type);
    return YP_OK;
}

NN_EACH_TYPE

/* -- on a GPU ---------------------------------------------------------------------------------- */

static size_t work_cuda(const struct nn_shape *shape)
{
    return shape->size[B] * shape->size[H] * shape->size[T] * sizeof(float);
}

static struct nn_cuda_attention job_of(const struct nn_call *call, enum nn_type type)
{
    const size_t *size = call->shape->size;
    return (struct nn_cuda_attention){.b = size[B],
                                      .t = size[T],
                                      .h = size[H],
                                      .e = size[E],
                                      .type = type,
                                      .causal = call->shape->setting[0] != 0,
                                      .q = call->value[Q],
                                      .k = call->value[K],
                                      .v = call->value[V],
                                      .dy = call->gradient[Y],
                                      .y = call->value[Y],
                                      .dq = call->gradient[Q],
                                      .dk = call->gradient[K],
                                      .dv = call->gradient[V],
                                      .high = call->value[HIGH],
                                      .sum = call->value[SUM],
                                      .along = call->work};
}

NN_ON_CUDA_BY_JOB(attention, struct nn_cuda_attention)

static size_t plain_work(const struct nn_shape *shape)
{
    return 2 * shape->size[T] * sizeof(double);
}

/* Of the pairs of positions that see each other. */
static double flops(const struct nn_shape *shape, enum nn_pass pass)
{
    const size_t *size = shape->size;
    double t = (double)size[T], heads = (double)(size[B] * size[H]), e = (double)size[E];
    double pairs = heads * (shape->setting[0] != 0 ? t * (t + 1) / 2 : t * t);
    return pairs * (pass == NN_VJP ? 10 * e + NN_FUNCTION + 6 : 4 * e + NN_FUNCTION + 3);
}

const struct nn_operator nn_attention = {
    .name = "attention",
    .dims = "bthe",
    .settings = {"causal"},
    .tensors = {{"q", "bthe", .role = NN_INPUT, .domain = {.lift = 0x1p19}},
                {"k", "bthe", .role = NN_INPUT, .domain = {.lift = 1}},
                {"v", "bthe", .role = NN_INPUT},
                {"y", "bthe", .role = NN_OUTPUT},
                {"high", "bht", .role = NN_SAVED},
                {"sum", "bht", .role = NN_SAVED}},
    .shapes = {{"one", .size = {1, 1, 1, 1}, .setting = {1}},
               {"odd", .size = {2, 5, 2, 3}, .setting = {1}},
               {"small", .size = {1, 96, 2, 32}, .setting = {0}},
               {"medium", .size = {1, 512, 12, 64}, .setting = {1}},
               {"lifted", .size = {1, 40, 2, 5}, .setting = {1}}},
    NN_PLAIN,
    .plain_work = plain_work,
    .flops = flops,
    .versions = {{NN_FP32, "cpu", .forward = forward, .vjp = vjp, .work = work},
                 {NN_BF16, "cpu", .forward = forward_bf16, .vjp = vjp_bf16, .work = work_bf16,
                  .types = "bbbbff", .gradients = "bbbbff"},
                 {NN_FP16, "cpu", .forward = forward_fp16, .vjp = vjp_fp16, .work = work_fp16,
                  .types = "bbbbff", .gradients = "bbbbff"},
                 {NN_FP32, "cuda", .forward = forward_cuda, .vjp = vjp_cuda, .work = work_cuda},
                 {NN_BF16, "cuda", .forward = forward_cuda_bf16, .vjp = vjp_cuda_bf16,
                  .work = work_cuda, .types = "bbbbff", .gradients = "bbbbff"},
                 {NN_FP16, "cuda", .forward = forward_cuda_fp16, .vjp = vjp_cuda_fp16,
                  .work = work_cuda, .types = "bbbbff", .gradients = "bbbbff"}},
};

#else
/* p (t): what position i of a head sees, as softmax; *high and *sum as they are saved. Rows are
 * `stride` apart. */
static void NAME(softmax)(const size_t *size, bool causal, const REAL *q, const REAL *k, size_t i,
                          REAL *p, REAL *high, REAL *sum)
{
    size_t stride = size[H] * size[E], seen = causal ? i + 1 : size[T];
    for (size_t j = 0; j < seen; j++) {
        p[j] = 0;
        for (size_t c = 0; c < size[E]; c++)
            p[j] += q[i * stride + c] * k[j * stride + c];
        *high = j == 0 || p[j] > *high ? p[j] : *high;
    }
    *sum = 0;
    for (size_t j = 0; j < seen; j++) {
        p[j] = exp((p[j] - *high) / sqrt((REAL)size[E]));
        *sum += p[j];
    }
    for (size_t j = 0; j < size[T]; j++)
        p[j] = j < seen ? p[j] / *sum : 0;
}

static void NAME(forward)(const struct nn_call *call)
{
    const size_t *size = call->shape->size;
    size_t stride = size[H] * size[E];
    REAL *p = call->work, *high = call->value[HIGH], *sum = call->value[SUM];
    for (size_t pair = 0; pair < size[B] * size[H]; pair++) {
        size_t place = (pair / size[H] * size[T] * size[H] + pair % size[H]) * size[E];
        const REAL *q = (const REAL *)call->value[Q] + place;
        const REAL *k = (const REAL *)call->value[K] + place;
        const REAL *v = (const REAL *)call->value[V] + place;
        REAL *y = (REAL *)call->value[Y] + place;
        for (size_t i = 0; i < size[T]; i++) {
            NAME(softmax)(size, call->shape->setting[0] != 0, q, k, i, p, high++, sum++);
            for (size_t c = 0; c < size[E]; c++) {
                REAL weighed = 0;
                for (size_t j = 0; j < size[T]; j++)
                    weighed += p[j] * v[j * stride + c];
                y[i * stride + c] = weighed;
            }
        }
    }
}

/* What position i adds to the gradients of its head. */
static void NAME(position_vjp)(const struct nn_call *call, size_t place, size_t i)
{
    const size_t *size = call->shape->size;
    size_t stride = size[H] * size[E];
    const REAL *q = (const REAL *)call->value[Q] + place;
    const REAL *k = (const REAL *)call->value[K] + place;
    const REAL *v = (const REAL *)call->value[V] + place;
    const REAL *dy = (const REAL *)call->gradient[Y] + place;
    REAL *dq = (REAL *)call->gradient[Q] + place, *dk = (REAL *)call->gradient[K] + place;
    REAL *dv = (REAL *)call->gradient[V] + place;
    REAL *p = call->work, *dp = p + size[T], along = 0, high, sum;
    NAME(softmax)(size, call->shape->setting[0] != 0, q, k, i, p, &high, &sum);
    for (size_t j = 0; j < size[T]; j++) {
        dp[j] = 0;
        for (size_t c = 0; c < size[E]; c++)
            dp[j] += dy[i * stride + c] * v[j * stride + c];
        along += p[j] * dp[j];
    }
    for (size_t j = 0; j < size[T]; j++) {
        REAL ds = p[j] * (dp[j] - along) / sqrt((REAL)size[E]);
        for (size_t c = 0; c < size[E]; c++) {
            dq[i * stride + c] += ds * k[j * stride + c];
            dk[j * stride + c] += ds * q[i * stride + c];
            dv[j * stride + c] += p[j] * dy[i * stride + c];
        }
    }
}

static void NAME(vjp)(const struct nn_call *call)
{
    const size_t *size = call->shape->size;
    for (int i = Q; i <= V; i++)
        memset(call->gradient[i], 0, size[B] * size[T] * size[H] * size[E] * sizeof(REAL));
    for (size_t pair = 0; pair < size[B] * size[H]; pair++)
        for (size_t i = 0; i < size[T]; i++)
            NAME(position_vjp)
    (call, (pair / size[H] * size[T] * size[H] + pair % size[H]) * size[E], i);
}
#endif

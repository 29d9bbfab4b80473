/* Scaled dot-product attention of h heads of e channels (Vaswani et al., 2017): of q, k, v and y
 * (b, t, h, e), for each sequence and head y = softmax(q k^T / sqrt(e)) v. With the setting causal
 * = 1 position i sees positions 0 to i, with 0 all of them. Never t x t in memory: ROWS positions
 * are worked on at once, and of every position (b, h, t) the largest product of q and k and the
 * sum of exponentials below it are saved, so that the vjp makes the softmax p again (Dao et al.,
 * "FlashAttention", 2022, who save high / sqrt(e) + ln sum, which drops the sum's digits where
 * `high` is large):
 *     p = e^((q k^T - high) / sqrt(e)) / sum,  dv = p^T dy,
 *     ds = p (dy v^T - sum p dy v^T) / sqrt(e),  dq = ds k,  dk = ds^T q. */
#ifndef REAL
#define NN_FILE "models/nn/operators/attention.c"
enum { Q, K, V, Y, HIGH, SUM };
enum { B, T, H, E };
#include "models/nn/cuda/on_cuda.h"
#include "models/nn/fast.h"
#include "models/nn/maths.h"
#include "models/nn/plain.h"
#include "models/nn/simd/small.h"
#include "models/nn/types.h"

#include <math.h>
#include <omp.h>

enum { ROWS = 64 };

/* -- rows of the softmax ---------------------------------------------------------------------- */

/* The first `seen` of `row` become e^(factor (row - *high)), the others 0; their sum to *sum. The
 * difference comes first: it is exact where the products are large and near each other. */
NN_LOOPS exponentials_loops(float *restrict row, size_t seen, size_t count, float factor,
                            float *restrict high, float *restrict sum)
{
    float most = nn_max(row, seen), all = 0;
#pragma omp simd reduction(+ : all)
    for (size_t i = 0; i < seen; i++) {
        row[i] = nn_exp(factor * (row[i] - most));
        all += row[i];
    }
    for (size_t i = seen; i < count; i++)
        row[i] = 0;
    *high = most;
    *sum = all;
}
NN_KERNEL(exponentials,
          (float *row, size_t seen, size_t count, float factor, float *high, float *sum),
          (row, seen, count, factor, high, sum))

NN_LOOPS scale_loops(float *restrict row, size_t count, float factor)
{
    for (size_t i = 0; i < count; i++)
        row[i] *= factor;
}
NN_KERNEL(scale, (float *row, size_t count, float factor), (row, count, factor))

/* p: products become the softmax, with `share` 1 / sum. ds: dy v^T becomes its gradient. */
NN_LOOPS slopes_loops(float *restrict p, float *restrict ds, size_t seen, size_t count, float high,
                      float share, float factor)
{
    float along = 0;
#pragma omp simd reduction(+ : along)
    for (size_t i = 0; i < seen; i++) {
        p[i] = share * nn_exp(factor * (p[i] - high));
        along += p[i] * ds[i];
    }
    for (size_t i = 0; i < seen; i++)
        ds[i] = factor * p[i] * (ds[i] - along);
    for (size_t i = seen; i < count; i++)
        p[i] = ds[i] = 0;
}
NN_KERNEL(slopes,
          (float *p, float *ds, size_t seen, size_t count, float high, float share, float factor),
          (p, ds, seen, count, high, share, factor))

/* -- one head of one sequence ------------------------------------------------------------------ */

/* Workspace of a thread: (t, e) each, (e, t) of what is transposed, (ROWS, t) of scores. */
struct head {
    float *q, *k, *v, *y, *dq, *dk, *dv; /* y: or its cotangent */
    float *kt, *vt;                      /* rows `step` apart */
    float *p, *ds;
    float *high, *sum; /* (t), saved */
    size_t t, e, step;
    bool causal;
    float factor; /* of the scores */
};

static size_t round_up(size_t count)
{
    return (count + 15) / 16 * 16;
}

/* Not a multiple of a page: rows of a transpose would share few places of a cache. */
static size_t step_of(const size_t *size)
{
    return round_up(size[T]) + 16;
}

static size_t head_floats(const struct nn_shape *shape)
{
    const size_t *size = shape->size;
    return 7 * round_up(size[T] * size[E]) + 2 * size[E] * step_of(size) +
           2 * ROWS * round_up(size[T]);
}

static size_t threads_of(const struct nn_shape *shape)
{
    return nn_least((size_t)omp_get_max_threads(), shape->size[B] * shape->size[H]);
}

static size_t work(const struct nn_shape *shape)
{
    return threads_of(shape) * head_floats(shape) * sizeof(float);
}

/* Of a pair of sequence and head. */
static struct head head_at(const struct nn_call *call, size_t thread, size_t pair)
{
    const size_t *size = call->shape->size;
    struct head s = {
        .t = size[T], .e = size[E], .step = step_of(size), .causal = call->shape->setting[0] != 0};
    s.high = (float *)call->value[HIGH] + pair * s.t;
    s.sum = (float *)call->value[SUM] + pair * s.t;
    float *at = (float *)call->work + thread * head_floats(call->shape);
    float **const arrays[] = {&s.q, &s.k, &s.v, &s.y, &s.dq, &s.dk, &s.dv};
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) {
        *arrays[i] = at;
        at += round_up(size[T] * size[E]);
    }
    s.kt = at;
    s.vt = s.kt + s.e * s.step;
    s.p = s.vt + s.e * s.step;
    s.ds = s.p + ROWS * round_up(size[T]);
    s.factor = 1 / sqrtf((float)size[E]);
    return s;
}

/* Between a head's rows in an array (b, t, h, e) and dense ones in float. */
NN_LOOPS gather_loops(bool bf16, const void *from, size_t t, size_t e, size_t stride,
                      float *restrict to)
{
    for (size_t i = 0; i < t; i++)
        for (size_t k = 0; k < e; k++)
            to[i * e + k] = nn_get(from, i * stride + k, bf16);
}
NN_TYPED_KERNEL(gather, (const void *from, size_t t, size_t e, size_t stride, float *to),
                (from, t, e, stride, to))

NN_LOOPS scatter_loops(bool bf16, const float *from, size_t t, size_t e, size_t stride,
                       void *restrict to)
{
    for (size_t i = 0; i < t; i++)
        for (size_t k = 0; k < e; k++)
            nn_put(to, i * stride + k, from[i * e + k], bf16);
}
NN_TYPED_KERNEL(scatter, (const float *from, size_t t, size_t e, size_t stride, void *to),
                (from, t, e, stride, to))

/* The transpose of x (t, e), in rows `step` apart: 16 by 16, so that both sides' lines are in use.
 */
static void transpose(const struct head *s, const float *x, float *to)
{
    for (size_t at = 0; at < s->t; at += 16)
        for (size_t c = 0; c < s->e; c++)
            for (size_t i = at; i < nn_least(at + 16, s->t); i++)
                to[c * s->step + i] = x[i * s->e + c];
}

/* c (rows, keys) = a b, a (rows, e), b a transpose. */
static void scores_of(const struct head *s, size_t rows, size_t keys, const float *a,
                      const float *b, float *c)
{
    nn_small_product(&(struct nn_small_product){rows, keys, s->e, a, s->e, 1, b, s->step, c, keys,
                                                false, false});
}

/* c (rows, e) = a b, a (rows, keys), b (keys, e). */
static void weigh(const struct head *s, size_t rows, size_t keys, const float *a, const float *b,
                  float *c)
{
    nn_small_product(
        &(struct nn_small_product){rows, s->e, keys, a, keys, 1, b, s->e, c, s->e, false, false});
}

/* c (keys, e) += a^T b, a (rows, keys), b (rows, e). */
static void add_weighed(const struct head *s, size_t rows, size_t keys, const float *a,
                        const float *b, float *c)
{
    nn_small_product(
        &(struct nn_small_product){keys, s->e, rows, a, 1, keys, b, s->e, c, s->e, true, false});
}

static void head_forward(const struct head *s)
{
    exponentials_kernel *exponentials = best_exponentials();
    scale_kernel *scale = best_scale();
    transpose(s, s->k, s->kt);
    for (size_t at = 0; at < s->t; at += ROWS) {
        size_t rows = nn_least(ROWS, s->t - at), keys = s->causal ? at + rows : s->t;
        scores_of(s, rows, keys, s->q + at * s->e, s->kt, s->p);
        for (size_t i = 0; i < rows; i++)
            exponentials(s->p + i * keys, s->causal ? at + i + 1 : keys, keys, s->factor,
                         &s->high[at + i], &s->sum[at + i]);
        weigh(s, rows, keys, s->p, s->v, s->y + at * s->e);
        for (size_t i = 0; i < rows; i++)
            scale(s->y + (at + i) * s->e, s->e, 1 / s->sum[at + i]);
    }
}

static void head_vjp(const struct head *s)
{
    slopes_kernel *slopes = best_slopes();
    memset(s->dk, 0, s->t * s->e * sizeof *s->dk);
    memset(s->dv, 0, s->t * s->e * sizeof *s->dv);
    transpose(s, s->k, s->kt);
    transpose(s, s->v, s->vt);
    for (size_t at = 0; at < s->t; at += ROWS) {
        size_t rows = nn_least(ROWS, s->t - at), keys = s->causal ? at + rows : s->t;
        scores_of(s, rows, keys, s->q + at * s->e, s->kt, s->p);
        scores_of(s, rows, keys, s->y + at * s->e, s->vt, s->ds);
        for (size_t i = 0; i < rows; i++)
            slopes(s->p + i * keys, s->ds + i * keys, s->causal ? at + i + 1 : keys, keys,
                   s->high[at + i], 1 / s->sum[at + i], s->factor);
        weigh(s, rows, keys, s->ds, s->k, s->dq + at * s->e);
        add_weighed(s, rows, keys, s->ds, s->q + at * s->e, s->dk);
        add_weighed(s, rows, keys, s->p, s->y + at * s->e, s->dv);
    }
}

/* -- all of them ------------------------------------------------------------------------------- */

/* Where head h of sequence b begins in an array (b, t, h, e). */
static size_t place_of(const size_t *size, size_t pair)
{
    return (pair / size[H] * size[T] * size[H] + pair % size[H]) * size[E];
}

static enum yp_status forward_in(const struct nn_call *call, bool bf16)
{
    const size_t *size = call->shape->size;
    size_t pairs = size[B] * size[H], stride = size[H] * size[E];
    gather_kernel *gather = best_gather(bf16);
    scatter_kernel *scatter = best_scatter(bf16);
#pragma omp parallel for schedule(static) num_threads((int)threads_of(call->shape))
    for (size_t pair = 0; pair < pairs; pair++) {
        struct head s = head_at(call, (size_t)omp_get_thread_num(), pair);
        float *const to[] = {[Q] = s.q, [K] = s.k, [V] = s.v};
        for (int i = Q; i <= V; i++)
            gather(nn_from(call->value[i], place_of(size, pair), bf16), s.t, s.e, stride, to[i]);
        head_forward(&s);
        scatter(s.y, s.t, s.e, stride, nn_from(call->value[Y], place_of(size, pair), bf16));
    }
    return YP_OK;
}

static enum yp_status vjp_in(const struct nn_call *call, bool bf16)
{
    const size_t *size = call->shape->size;
    size_t pairs = size[B] * size[H], stride = size[H] * size[E];
    gather_kernel *gather = best_gather(bf16);
    scatter_kernel *scatter = best_scatter(bf16);
#pragma omp parallel for schedule(static) num_threads((int)threads_of(call->shape))
    for (size_t pair = 0; pair < pairs; pair++) {
        size_t place = place_of(size, pair);
        struct head s = head_at(call, (size_t)omp_get_thread_num(), pair);
        float *const to[] = {[Q] = s.q, [K] = s.k, [V] = s.v};
        const float *const from[] = {[Q] = s.dq, [K] = s.dk, [V] = s.dv};
        for (int i = Q; i <= V; i++)
            gather(nn_from(call->value[i], place, bf16), s.t, s.e, stride, to[i]);
        gather(nn_from(call->gradient[Y], place, bf16), s.t, s.e, stride, s.y);
        head_vjp(&s);
        for (int i = Q; i <= V; i++)
            if (call->gradient[i] != NULL)
                scatter(from[i], s.t, s.e, stride, nn_from(call->gradient[i], place, bf16));
    }
    return YP_OK;
}

NN_BOTH_TYPES

/* -- on a GPU ---------------------------------------------------------------------------------- */

static size_t work_cuda(const struct nn_shape *shape)
{
    return shape->size[B] * shape->size[H] * shape->size[T] * sizeof(float);
}

static struct nn_cuda_attention job_of(const struct nn_call *call, bool bf16)
{
    const size_t *size = call->shape->size;
    return (struct nn_cuda_attention){.b = size[B],
                                      .t = size[T],
                                      .h = size[H],
                                      .e = size[E],
                                      .bf16 = bf16,
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
               {"lifted", .size = {1, 40, 2, 5}, .setting = {1}, .lifted = true}},
    NN_PLAIN,
    .plain_work = plain_work,
    .flops = flops,
    NN_BOTH_VERSIONS(work, work_cuda, "bbbbff", "bbbbff"),
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

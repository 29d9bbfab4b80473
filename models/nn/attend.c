/* A head of attention by products that a core's cache holds. */
#include "models/nn/attend.h"

#include "models/nn/fast.h"
#include "models/nn/maths.h"
#include "models/nn/simd/small.h"
#include "models/nn/types.h"

#include <math.h>
#include <string.h>

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

/* -- one head ---------------------------------------------------------------------------------- */

static size_t round_up(size_t count)
{
    return (count + 15) / 16 * 16;
}

/* Of a transpose's rows. Not a multiple of a page: they would share few places of a cache. */
static size_t step_of(size_t keys)
{
    return round_up(keys) + 16;
}

size_t nn_head_floats(size_t queries, size_t keys, size_t e)
{
    return 3 * round_up(queries * e) + 4 * round_up(keys * e) + 2 * round_up(e * step_of(keys)) +
           2 * ROWS * round_up(keys);
}

struct nn_head nn_head_at(float *work, size_t queries, size_t keys, size_t e)
{
    struct nn_head s = {.queries = queries, .keys = keys, .e = e, .factor = 1 / sqrtf((float)e)};
    const struct {
        float **array;
        size_t count;
    } arrays[] = {{&s.q, queries * e},
                  {&s.y, queries * e},
                  {&s.dq, queries * e},
                  {&s.k, keys * e},
                  {&s.v, keys * e},
                  {&s.dk, keys * e},
                  {&s.dv, keys * e},
                  {&s.kt, e * step_of(keys)},
                  {&s.vt, e * step_of(keys)},
                  {&s.p, ROWS * round_up(keys)},
                  {&s.ds, ROWS * round_up(keys)}};
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) {
        *arrays[i].array = work;
        work += round_up(arrays[i].count);
    }
    return s;
}

NN_LOOPS gather_loops(enum nn_type type, const void *from, size_t t, size_t e, size_t stride,
                      float *restrict to)
{
    for (size_t i = 0; i < t; i++)
        for (size_t k = 0; k < e; k++)
            to[i * e + k] = nn_get(from, i * stride + k, type);
}
NN_TYPED_KERNEL(gather, (const void *from, size_t t, size_t e, size_t stride, float *to),
                (from, t, e, stride, to))

NN_LOOPS scatter_loops(enum nn_type type, const float *from, size_t t, size_t e, size_t stride,
                       void *restrict to)
{
    for (size_t i = 0; i < t; i++)
        for (size_t k = 0; k < e; k++)
            nn_put(to, i * stride + k, from[i * e + k], type);
}
NN_TYPED_KERNEL(scatter, (const float *from, size_t t, size_t e, size_t stride, void *to),
                (from, t, e, stride, to))

void nn_head_gather(const void *from, enum nn_type type, size_t n, size_t e, size_t stride,
                    float *to)
{
    best_gather(type)(from, n, e, stride, to);
}

void nn_head_scatter(const float *from, size_t n, size_t e, size_t stride, enum nn_type type,
                     void *to)
{
    best_scatter(type)(from, n, e, stride, to);
}

/* The transpose of x (keys, e), in rows `step` apart: 16 by 16, so that both sides' lines are in
 * use.
 */
static void transpose(const struct nn_head *s, const float *x, float *to)
{
    for (size_t at = 0; at < s->keys; at += 16)
        for (size_t c = 0; c < s->e; c++)
            for (size_t i = at; i < nn_least(at + 16, s->keys); i++)
                to[c * step_of(s->keys) + i] = x[i * s->e + c];
}

/* c (rows, keys) = a b, a (rows, e), b a transpose. */
static void scores_of(const struct nn_head *s, size_t rows, size_t keys, const float *a,
                      const float *b, float *c)
{
    nn_small_product(&(struct nn_small_product){rows, keys, s->e, a, s->e, 1, b, step_of(s->keys),
                                                c, keys, false, false});
}

/* c (rows, e) = a b, a (rows, keys), b (keys, e). */
static void weigh(const struct nn_head *s, size_t rows, size_t keys, const float *a, const float *b,
                  float *c)
{
    nn_small_product(
        &(struct nn_small_product){rows, s->e, keys, a, keys, 1, b, s->e, c, s->e, false, false});
}

/* c (keys, e) += a^T b, a (rows, keys), b (rows, e). */
static void add_weighed(const struct nn_head *s, size_t rows, size_t keys, const float *a,
                        const float *b, float *c)
{
    nn_small_product(
        &(struct nn_small_product){keys, s->e, rows, a, 1, keys, b, s->e, c, s->e, true, false});
}

void nn_head_forward(const struct nn_head *s)
{
    exponentials_kernel *exponentials = best_exponentials();
    scale_kernel *scale = best_scale();
    transpose(s, s->k, s->kt);
    for (size_t at = 0; at < s->queries; at += ROWS) {
        size_t rows = nn_least(ROWS, s->queries - at), keys = s->causal ? at + rows : s->keys;
        scores_of(s, rows, keys, s->q + at * s->e, s->kt, s->p);
        for (size_t i = 0; i < rows; i++)
            exponentials(s->p + i * keys, s->causal ? at + i + 1 : keys, keys, s->factor,
                         &s->high[at + i], &s->sum[at + i]);
        weigh(s, rows, keys, s->p, s->v, s->y + at * s->e);
        for (size_t i = 0; i < rows; i++)
            scale(s->y + (at + i) * s->e, s->e, 1 / s->sum[at + i]);
    }
}

void nn_head_vjp(const struct nn_head *s)
{
    slopes_kernel *slopes = best_slopes();
    memset(s->dk, 0, s->keys * s->e * sizeof *s->dk);
    memset(s->dv, 0, s->keys * s->e * sizeof *s->dv);
    transpose(s, s->k, s->kt);
    transpose(s, s->v, s->vt);
    for (size_t at = 0; at < s->queries; at += ROWS) {
        size_t rows = nn_least(ROWS, s->queries - at), keys = s->causal ? at + rows : s->keys;
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

/* Sums and copies of rows by segment. */
#include "models/nn/segments.h"

#include "models/nn/fast.h"
#include "models/nn/simd/rows.h"
#include "models/nn/types.h"

#include <string.h>

size_t nn_index_bytes(size_t count, size_t n)
{
    return nn_aligned((n + 1) * sizeof(int32_t)) + nn_aligned(count * sizeof(int32_t));
}

struct nn_segments nn_index_segments(const int32_t *index, size_t count, size_t n, void *work)
{
    int32_t *offset = work;
    int32_t *order = (int32_t *)((char *)work + nn_aligned((n + 1) * sizeof(int32_t)));
    memset(offset, 0, (n + 1) * sizeof *offset);
    for (size_t k = 0; k < count; k++)
        offset[index[k]]++;
    int32_t end = 0; /* each one counts down from its segment's end to its begin */
    for (size_t i = 0; i < n; i++)
        offset[i] = end += offset[i];
    offset[n] = end;
    for (size_t k = count; k-- > 0;)
        order[--offset[index[k]]] = (int32_t)k;
    return (struct nn_segments){.n = n, .offset = offset, .order = order, .factor = 1};
}

static size_t row_of(const int32_t *order, size_t k)
{
    return order != NULL ? (size_t)order[k] : k;
}

/* y = weight sum, added to what is there with `add`. */
NN_LOOPS put_loops(enum nn_type type, const float *sum, size_t c, float weight, bool add,
                   void *restrict y)
{
    for (size_t i = 0; i < c; i++)
        nn_put(y, i, weight * sum[i] + (add ? nn_get(y, i, type) : 0), type);
}
NN_TYPED_KERNEL(put, (const float *sum, size_t c, float weight, bool add, void *y),
                (sum, c, weight, add, y))

NN_LOOPS copies_loops(enum nn_type type, const void *y, const int32_t *order, size_t begin,
                      size_t end, size_t c, float weight, bool add, void *restrict x)
{
    for (size_t k = begin; k < end; k++) {
        void *row = nn_from(x, row_of(order, k) * c, type);
        for (size_t i = 0; i < c; i++)
            nn_put(row, i, weight * nn_get(y, i, type) + (add ? nn_get(row, i, type) : 0), type);
    }
}
NN_TYPED_KERNEL(copies,
                (const void *y, const int32_t *order, size_t begin, size_t end, size_t c,
                 float weight, bool add, void *x),
                (y, order, begin, end, c, weight, add, x))

/* A call for every segment, shared among threads. */
#define FOR_SEGMENTS(s, i, c, ...) \
    NN_PARALLEL_FOR(((s)->n + (size_t)(s)->offset[(s)->n]) * (c) > NN_FEW * NN_CHUNK, i, (s)->n, \
                    1, __VA_ARGS__)

static float weight_of(const struct nn_segments *s, size_t i)
{
    const int32_t rows = s->offset[i + 1] - s->offset[i];
    return s->mean && rows > 0 ? s->factor / (float)rows : s->factor;
}

void nn_segment_sums(const struct nn_segments *s, const void *x, enum nn_type type, size_t c,
                     bool add, void *y)
{
    nn_sum_rows *kernel = nn_best_sum_rows();
    put_kernel *put = best_put(type);
    FOR_SEGMENTS(s, i, c, {
        const struct nn_row_sum terms = {.x = x,
                                         .type = type,
                                         .stride = c,
                                         .row = s->order,
                                         .begin = (size_t)s->offset[i],
                                         .end = (size_t)s->offset[i + 1]};
        for (size_t at = 0; at < c; at += NN_ROW_COLUMNS) {
            float sum[NN_ROW_COLUMNS];
            const size_t columns = nn_least(NN_ROW_COLUMNS, c - at);
            kernel(&terms, at, columns, sum);
            put(sum, columns, weight_of(s, i), add, nn_from(y, i * c + at, type));
        }
    });
}

void nn_segment_copies(const struct nn_segments *s, const void *y, enum nn_type type, size_t c,
                       bool add, void *x)
{
    copies_kernel *kernel = best_copies(type);
    FOR_SEGMENTS(s, i, c,
                 kernel(nn_from(y, i * c, type), s->order, (size_t)s->offset[i],
                        (size_t)s->offset[i + 1], c, weight_of(s, i), add, x));
}

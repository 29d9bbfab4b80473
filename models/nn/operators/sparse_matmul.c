/* y (m, n) = A x, with x (k, n) and a sparse A (m, k) by rows: those elements that are not 0 are
 * `value` (e), and those of row i, offset[i] to offset[i + 1] - 1, lie in the columns `column` (e),
 * in no order. dvalue = dy[row] . x[column], dx = A^T dy. */
#ifndef REAL
#define NN_FILE "models/nn/operators/sparse_matmul.c"
enum { VALUE, X, OFFSET, COLUMN, Y };
enum { M, N, K, E, O };
#include "models/nn/cuda/on_cuda.h"
#include "models/nn/fast.h"
#include "models/nn/plain.h"
#include "models/nn/simd/rows.h"

enum { STRIPE = 16 }; /* columns of a gradient that are one thread's */

/* The gradients of a row's values. */
NN_LOOPS dots_loops(const float *dy, const int32_t *column, size_t count, const float *x, size_t n,
                    bool add, float *restrict dvalue)
{
    for (size_t e = 0; e < count; e++) {
        const float *row = x + (size_t)column[e] * n;
        float sum = 0;
#pragma omp simd reduction(+ : sum)
        for (size_t i = 0; i < n; i++)
            sum += dy[i] * row[i];
        dvalue[e] = sum + (add ? dvalue[e] : 0);
    }
}
NN_KERNEL(dots,
          (const float *dy, const int32_t *column, size_t count, const float *x, size_t n, bool add,
           float *dvalue),
          (dy, column, count, x, n, add, dvalue))

/* dx += the row's values times dy, `width` columns of both, whose rows are n long. */
NN_LOOPS back_loops(const float *value, const int32_t *column, size_t count, const float *dy,
                    size_t n, size_t width, float *restrict dx)
{
    for (size_t e = 0; e < count; e++) {
        float *row = dx + (size_t)column[e] * n;
        for (size_t i = 0; i < width; i++)
            row[i] += value[e] * dy[i];
    }
}
NN_KERNEL(back,
          (const float *value, const int32_t *column, size_t count, const float *dy, size_t n,
           size_t width, float *dx),
          (value, column, count, dy, n, width, dx))

static bool many(const struct nn_shape *shape)
{
    return shape->size[E] * shape->size[N] > NN_FEW * NN_CHUNK;
}

static enum yp_status forward(const struct nn_call *call)
{
    const size_t *size = call->shape->size, n = size[N];
    const int32_t *offset = call->value[OFFSET], *column = call->value[COLUMN];
    const float *value = call->value[VALUE], *x = call->value[X];
    float *y = call->value[Y];
    enum yp_status status = nn_check_offsets("sparse_matmul", "offset", offset, size[M], size[E]);
    if (status == YP_OK)
        status = nn_check_indices("sparse_matmul", "column", column, size[E], size[K]);
    if (status != YP_OK)
        return status;
    nn_sum_rows *kernel = nn_best_sum_rows();
    NN_PARALLEL_FOR(many(call->shape), i, size[M], 1, {
        const struct nn_row_sum sum = {.x = x,
                                       .stride = n,
                                       .row = column,
                                       .weight = value,
                                       .begin = (size_t)offset[i],
                                       .end = (size_t)offset[i + 1]};
        for (size_t at = 0; at < n; at += NN_ROW_COLUMNS)
            kernel(&sum, at, nn_least(NN_ROW_COLUMNS, n - at), y + i * n + at);
    });
    return YP_OK;
}

static enum yp_status vjp(const struct nn_call *call)
{
    const size_t *size = call->shape->size, n = size[N];
    const int32_t *offset = call->value[OFFSET], *column = call->value[COLUMN];
    const float *value = call->value[VALUE], *x = call->value[X], *dy = call->gradient[Y];
    float *dvalue = call->gradient[VALUE], *dx = call->gradient[X];
    dots_kernel *dots = best_dots();
    back_kernel *back = best_back();
    NN_PARALLEL_FOR(many(call->shape), i, dvalue != NULL ? size[M] : 0, 1, {
        const size_t at = (size_t)offset[i];
        dots(dy + i * n, column + at, (size_t)offset[i + 1] - at, x, n, nn_adds(call, VALUE),
             dvalue + at);
    });
    if (dx == NULL)
        return YP_OK;
    if (!nn_adds(call, X))
        nn_zero(dx, size[K] * n * sizeof *dx);
    NN_PARALLEL_FOR(many(call->shape), at, n, STRIPE, {
        for (size_t i = 0; i < size[M]; i++)
            back(value + offset[i], column + offset[i], (size_t)(offset[i + 1] - offset[i]),
                 dy + i * n + at, n, nn_least(STRIPE, n - at), dx + at);
    });
    return YP_OK;
}

static struct nn_cuda_sparse job_of(const struct nn_call *call)
{
    const size_t *size = call->shape->size;
    return (struct nn_cuda_sparse){.m = size[M],
                                   .n = size[N],
                                   .k = size[K],
                                   .e = size[E],
                                   .add_dvalue = nn_adds(call, VALUE),
                                   .add_dx = nn_adds(call, X),
                                   .offset = call->value[OFFSET],
                                   .column = call->value[COLUMN],
                                   .value = call->value[VALUE],
                                   .x = call->value[X],
                                   .dy = call->gradient[Y],
                                   .y = call->value[Y],
                                   .dvalue = call->gradient[VALUE],
                                   .dx = call->gradient[X]};
}

NN_ON_CUDA_BY_JOB_FP32(sparse_matmul, struct nn_cuda_sparse)

static double flops(const struct nn_shape *shape, enum nn_pass pass)
{
    return (pass == NN_VJP ? 4.0 : 2.0) * (double)shape->size[E] * (double)shape->size[N];
}

const struct nn_operator nn_sparse_matmul = {
    .name = "sparse_matmul",
    .dims = "mnkeo",
    .tensors = {{"value", "e", .role = NN_INPUT, .adds = true},
                {"x", "kn", .role = NN_INPUT, .adds = true},
                {"offset", "o", .role = NN_CONSTANT, .type = NN_INT32,
                 .domain = {NN_OFFSETS, .below = 'e'}},
                {"column", "e", .role = NN_CONSTANT, .type = NN_INT32,
                 .domain = {NN_WHOLE, .below = 'k'}},
                {"y", "mn", .role = NN_OUTPUT}},
    .shapes = {{"one", .size = {1, 1, 1, 1, 2}},
               {"odd", .size = {5, 7, 4, 6, 6}},
               {"small", .size = {128, 64, 128, 819, 129}},
               {"medium", .size = {1024, 64, 1024, 52429, 1025}}},
    NN_PLAIN,
    .flops = flops,
    NN_FP32_VERSIONS(NULL, NULL),
};

#else
static void NAME(forward)(const struct nn_call *call)
{
    const size_t *size = call->shape->size;
    const int32_t *offset = call->value[OFFSET], *column = call->value[COLUMN];
    const REAL *value = call->value[VALUE], *x = call->value[X];
    REAL *y = call->value[Y];
    memset(y, 0, size[M] * size[N] * sizeof *y);
    for (size_t i = 0; i < size[M]; i++)
        for (size_t e = (size_t)offset[i]; e < (size_t)offset[i + 1]; e++)
            for (size_t n = 0; n < size[N]; n++)
                y[i * size[N] + n] += value[e] * x[(size_t)column[e] * size[N] + n];
}

static void NAME(vjp)(const struct nn_call *call)
{
    const size_t *size = call->shape->size;
    const int32_t *offset = call->value[OFFSET], *column = call->value[COLUMN];
    const REAL *value = call->value[VALUE], *x = call->value[X], *dy = call->gradient[Y];
    REAL *dvalue = call->gradient[VALUE], *dx = call->gradient[X];
    memset(dvalue, 0, size[E] * sizeof *dvalue);
    memset(dx, 0, size[K] * size[N] * sizeof *dx);
    for (size_t i = 0; i < size[M]; i++)
        for (size_t e = (size_t)offset[i]; e < (size_t)offset[i + 1]; e++)
            for (size_t n = 0; n < size[N]; n++) {
                const size_t at = (size_t)column[e] * size[N] + n;
                dvalue[e] += dy[i * size[N] + n] * x[at];
                dx[at] += value[e] * dy[i * size[N] + n];
            }
}
#endif

/* y (m, n) = a (m, k) b (k, n). da = dy b^T, db = a^T dy. */
#ifndef REAL
#define NN_FILE "models/nn/matmul.c"
enum { A, B, Y };
enum { M, N, K };
#include "models/nn/plain.h"

static double flops(const struct nn_shape *shape, enum nn_pass pass)
{
    const size_t *size = shape->size;
    return (pass == NN_VJP ? 4.0 : 2.0) * (double)size[M] * (double)size[N] * (double)size[K];
}

const struct nn_operator nn_matmul = {
    .name = "matmul",
    .dims = "mnk",
    .tensors = {{"a", "mk", NN_INPUT}, {"b", "kn", NN_PARAMETER}, {"y", "mn", NN_OUTPUT}},
    .shapes = {{"one", {1, 1, 1}},
               {"odd", {5, 7, 3}},
               {"small", {96, 128, 64}},
               {"medium", {512, 512, 512}}},
    NN_PLAIN,
    .flops = flops,
};

#else
static void NAME(forward)(const struct nn_call *call)
{
    const size_t *size = call->shape->size;
    const REAL *a = call->value[A], *b = call->value[B];
    REAL *y = call->value[Y];
    memset(y, 0, size[M] * size[N] * sizeof *y);
    for (size_t i = 0; i < size[M]; i++)
        for (size_t k = 0; k < size[K]; k++)
            for (size_t j = 0; j < size[N]; j++)
                y[i * size[N] + j] += a[i * size[K] + k] * b[k * size[N] + j];
}

static void NAME(vjp)(const struct nn_call *call)
{
    const size_t *size = call->shape->size;
    const REAL *a = call->value[A], *b = call->value[B], *dy = call->gradient[Y];
    REAL *da = call->gradient[A], *db = call->gradient[B];
    memset(da, 0, size[M] * size[K] * sizeof *da);
    memset(db, 0, size[K] * size[N] * sizeof *db);
    for (size_t i = 0; i < size[M]; i++)
        for (size_t k = 0; k < size[K]; k++)
            for (size_t j = 0; j < size[N]; j++) {
                da[i * size[K] + k] += dy[i * size[N] + j] * b[k * size[N] + j];
                db[k * size[N] + j] += dy[i * size[N] + j] * a[i * size[K] + k];
            }
}
#endif

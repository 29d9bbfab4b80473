/* y (n, c) = x + rows of table (v, d) by index (n), padded with zeros from column d to c. dx = dy;
 * dtable = for each row the sum of the first d columns of dy's rows whose index it is. */
#ifndef REAL
#define NN_FILE "models/nn/operators/add_embedding.c"
enum { X, TABLE, INDEX, Y };
enum { N, C, V, D };
#include "models/nn/cuda/on_cuda.h"
#include "models/nn/fast.h"
#include "models/nn/plain.h"
#include "models/nn/types.h"

enum { STRIPE = 16 }; /* columns that one thread adds up, of all rows in their order */

NN_LOOPS sums_loops(enum nn_type type, const void *x, const float *row, size_t d, size_t c,
                    void *restrict y)
{
    for (size_t k = 0; k < d; k++)
        nn_put(y, k, nn_get(x, k, type) + row[k], type);
    memcpy(nn_from(y, d, type), nn_from(x, d, type), (c - d) * nn_width(type));
}
NN_TYPED_KERNEL(sums, (const void *x, const float *row, size_t d, size_t c, void *y),
                (x, row, d, c, y))

NN_LOOPS copies_loops(enum nn_type type, const void *dy, size_t n, bool add, void *restrict dx)
{
    for (size_t k = 0; k < n; k++)
        nn_put(dx, k, nn_get(dy, k, type) + (add ? nn_get(dx, k, type) : 0), type);
}
NN_TYPED_KERNEL(copies, (const void *dy, size_t n, bool add, void *dx), (dy, n, add, dx))

NN_LOOPS add_row_loops(enum nn_type type, const void *dy, size_t n, float *restrict sum)
{
    for (size_t k = 0; k < n; k++)
        sum[k] += nn_get(dy, k, type);
}
NN_TYPED_KERNEL(add_row, (const void *dy, size_t n, float *sum), (dy, n, sum))

static enum yp_status forward_in(const struct nn_call *call, enum nn_type type)
{
    const size_t *size = call->shape->size;
    const int32_t *index = call->value[INDEX];
    const float *table = call->value[TABLE];
    sums_kernel *sums = best_sums(type);
    enum yp_status status = nn_check_indices("add_embedding", "index", index, size[N], size[V]);
    if (status != YP_OK)
        return status;
    NN_PARALLEL_FOR(size[N] * size[C] > NN_FEW * NN_CHUNK, i, size[N], 1,
                    sums(nn_from(call->value[X], i * size[C], type),
                         table + (size_t)index[i] * size[D], size[D], size[C],
                         nn_from(call->value[Y], i * size[C], type)));
    return YP_OK;
}

static enum yp_status vjp_in(const struct nn_call *call, enum nn_type type)
{
    const size_t *size = call->shape->size, count = size[N] * size[C];
    const bool many = count > NN_FEW * NN_CHUNK;
    const int32_t *index = call->value[INDEX];
    float *dtable = call->gradient[TABLE];
    copies_kernel *copies = best_copies(type);
    add_row_kernel *add_row = best_add_row(type);
    NN_PARALLEL_FOR(many, at, call->gradient[X] != NULL ? count : 0, NN_CHUNK,
                    copies(nn_from(call->gradient[Y], at, type), nn_least(NN_CHUNK, count - at),
                           nn_adds(call, X), nn_from(call->gradient[X], at, type)));
    if (dtable == NULL)
        return YP_OK;
    if (!nn_adds(call, TABLE))
        nn_zero(dtable, size[V] * size[D] * sizeof(float));
    NN_PARALLEL_FOR(many, at, size[D], STRIPE, {
        for (size_t i = 0; i < size[N]; i++)
            add_row(nn_from(call->gradient[Y], i * size[C] + at, type),
                    nn_least(STRIPE, size[D] - at), dtable + (size_t)index[i] * size[D] + at);
    });
    return YP_OK;
}

NN_EACH_TYPE

static struct nn_cuda_add_embedding job_of(const struct nn_call *call, enum nn_type type)
{
    const size_t *size = call->shape->size;
    return (struct nn_cuda_add_embedding){.n = size[N],
                                          .c = size[C],
                                          .v = size[V],
                                          .d = size[D],
                                          .type = type,
                                          .add_dx = nn_adds(call, X),
                                          .add_dtable = nn_adds(call, TABLE),
                                          .x = call->value[X],
                                          .dy = call->gradient[Y],
                                          .table = call->value[TABLE],
                                          .index = call->value[INDEX],
                                          .y = call->value[Y],
                                          .dx = call->gradient[X],
                                          .dtable = call->gradient[TABLE]};
}

NN_ON_CUDA_BY_JOB(add_embedding, struct nn_cuda_add_embedding)

static double flops(const struct nn_shape *shape, enum nn_pass pass)
{
    (void)pass;
    return (double)shape->size[N] * (double)shape->size[D];
}

/* The table's rows that are read, and its gradient that is written whole before rows are added. */
static double bytes(const struct nn_shape *shape, enum nn_pass pass,
                    const struct nn_version *version)
{
    const size_t *size = shape->size;
    const double element = (double)nn_type_bytes(nn_value_type(&nn_add_embedding, version, Y));
    const double table = (double)nn_type_bytes(nn_value_type(&nn_add_embedding, version, TABLE));
    const double lines = (double)size[N] * (double)size[C] * element;
    const double rows = (double)size[N] * (double)size[D] * table;
    const double indices = (double)size[N] * sizeof(int32_t);
    if (pass == NN_FORWARD)
        return indices + 2 * lines + rows;
    return indices + 2 * lines + (double)size[V] * (double)size[D] * table + 2 * rows;
}

const struct nn_operator nn_add_embedding = {
    .name = "add_embedding",
    .dims = "ncvd",
    .tensors = {{"x", "nc", .role = NN_INPUT, .adds = true, .unread = true},
                {"table", "vd", .role = NN_PARAMETER, .adds = true, .unread = true},
                {"index", "n", .role = NN_CONSTANT, .type = NN_INT32,
                 .domain = {NN_WHOLE, .below = 'v'}},
                {"y", "nc", .role = NN_OUTPUT}},
    .shapes = {{"one", .size = {1, 1, 1, 1}},
               {"odd", .size = {9, 11, 5, 7}},
               {"small", .size = {352, 64, 5, 32}},
               {"medium", .size = {5632, 256, 100, 256}}},
    NN_PLAIN,
    .flops = flops,
    .bytes = bytes,
    NN_EACH_VERSION(NULL, NULL, "bffb", "bffb"),
};

#else
static void NAME(forward)(const struct nn_call *call)
{
    const size_t *size = call->shape->size;
    const REAL *x = call->value[X], *table = call->value[TABLE];
    const int32_t *index = call->value[INDEX];
    REAL *y = call->value[Y];
    for (size_t i = 0; i < size[N]; i++)
        for (size_t k = 0; k < size[C]; k++)
            y[i * size[C] + k] =
                x[i * size[C] + k] + (k < size[D] ? table[(size_t)index[i] * size[D] + k] : 0);
}

static void NAME(vjp)(const struct nn_call *call)
{
    const size_t *size = call->shape->size;
    const int32_t *index = call->value[INDEX];
    const REAL *dy = call->gradient[Y];
    REAL *dx = call->gradient[X], *dtable = call->gradient[TABLE];
    memcpy(dx, dy, size[N] * size[C] * sizeof *dx);
    memset(dtable, 0, size[V] * size[D] * sizeof *dtable);
    for (size_t i = 0; i < size[N]; i++)
        for (size_t k = 0; k < size[D]; k++)
            dtable[(size_t)index[i] * size[D] + k] += dy[i * size[C] + k];
}
#endif

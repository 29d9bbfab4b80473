/* y (n, c) = for each row the sum of those rows of x (e, c) whose index (e), in no order, it is;
 * with the setting mean = 1 their mean, 0 where there is none. dx = dy of the index, by 1 / the
 * rows of a mean. */
#ifndef REAL
#define NN_FILE "models/nn/operators/scatter.c"
enum { X, INDEX, Y };
enum { E, C, N };
#include "models/nn/cuda/on_cuda.h"
#include "models/nn/fast.h"
#include "models/nn/plain.h"
#include "models/nn/segments.h"

static size_t work(const struct nn_shape *shape)
{
    return nn_index_bytes(shape->size[E], shape->size[N]);
}

static struct nn_segments rows_of(const struct nn_call *call)
{
    const size_t *size = call->shape->size;
    struct nn_segments rows = nn_index_segments(call->value[INDEX], size[E], size[N], call->work);
    rows.mean = call->shape->setting[0] != 0;
    return rows;
}

static enum yp_status forward_in(const struct nn_call *call, enum nn_type type)
{
    const size_t *size = call->shape->size;
    enum yp_status status =
        nn_check_indices("scatter", "index", call->value[INDEX], size[E], size[N]);
    if (status != YP_OK)
        return status;
    const struct nn_segments rows = rows_of(call);
    nn_segment_sums(&rows, call->value[X], type, size[C], false, call->value[Y]);
    return YP_OK;
}

static enum yp_status vjp_in(const struct nn_call *call, enum nn_type type)
{
    if (call->gradient[X] == NULL)
        return YP_OK;
    const struct nn_segments rows = rows_of(call);
    nn_segment_copies(&rows, call->gradient[Y], type, call->shape->size[C], nn_adds(call, X),
                      call->gradient[X]);
    return YP_OK;
}

NN_EACH_TYPE
NN_ON_CUDA_SEGMENTS(index, INDEX)

static double flops(const struct nn_shape *shape, enum nn_pass pass)
{
    (void)pass;
    return (double)shape->size[E] * (double)shape->size[C];
}

const struct nn_operator nn_scatter = {
    .name = "scatter",
    .dims = "ecn",
    .settings = {"mean"},
    .tensors = {{"x", "ec", .role = NN_INPUT, .unread = true, .adds = true},
                {"index", "e", .role = NN_CONSTANT, .type = NN_INT32,
                 .domain = {NN_WHOLE, .below = 'n'}},
                {"y", "nc", .role = NN_OUTPUT}},
    .shapes = {{"one", .size = {1, 1, 1}, .setting = {0}},
               {"odd", .size = {11, 7, 5}, .setting = {1}},
               {"small", .size = {256, 64, 32}, .setting = {0}},
               {"medium", .size = {7000, 256, 352}, .setting = {1}}},
    NN_PLAIN,
    .flops = flops,
    NN_EACH_VERSION(work, NULL, "bfb", "bfb"),
};

#else
/* What row k counts of its index. */
static REAL NAME(weight)(const struct nn_call *call, size_t k)
{
    const int32_t *index = call->value[INDEX];
    size_t rows = 0;
    for (size_t i = 0; i < call->shape->size[E]; i++)
        rows += index[i] == index[k];
    return call->shape->setting[0] != 0 ? 1 / (REAL)rows : 1;
}

static void NAME(forward)(const struct nn_call *call)
{
    const size_t *size = call->shape->size;
    const int32_t *index = call->value[INDEX];
    const REAL *x = call->value[X];
    REAL *y = call->value[Y];
    memset(y, 0, size[N] * size[C] * sizeof *y);
    for (size_t k = 0; k < size[E]; k++) {
        const REAL weight = NAME(weight)(call, k);
        for (size_t c = 0; c < size[C]; c++)
            y[(size_t)index[k] * size[C] + c] += weight * x[k * size[C] + c];
    }
}

static void NAME(vjp)(const struct nn_call *call)
{
    const size_t *size = call->shape->size;
    const int32_t *index = call->value[INDEX];
    const REAL *dy = call->gradient[Y];
    REAL *dx = call->gradient[X];
    for (size_t k = 0; k < size[E]; k++) {
        const REAL weight = NAME(weight)(call, k);
        for (size_t c = 0; c < size[C]; c++)
            dx[k * size[C] + c] = weight * dy[(size_t)index[k] * size[C] + c];
    }
}
#endif

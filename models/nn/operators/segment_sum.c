/* y (n, c) = the sums of the rows of x (e, c) in each of n segments, rows offset[i] to
 * offset[i + 1] - 1; with the setting mean = 1 their means, 0 of a segment without rows. dx = the
 * segment's dy, by 1 / its rows of a mean. */
#ifndef REAL
#define NN_FILE "models/nn/operators/segment_sum.c"
enum { X, OFFSET, Y };
enum { E, C, M, N };
#include "models/nn/cuda/on_cuda.h"
#include "models/nn/fast.h"
#include "models/nn/plain.h"
#include "models/nn/segments.h"

static struct nn_segments segments_of(const struct nn_call *call)
{
    return (struct nn_segments){.n = call->shape->size[N],
                                .offset = call->value[OFFSET],
                                .factor = 1,
                                .mean = call->shape->setting[0] != 0};
}

static enum yp_status forward_in(const struct nn_call *call, enum nn_type type)
{
    const size_t *size = call->shape->size;
    const struct nn_segments segments = segments_of(call);
    enum yp_status status =
        nn_check_offsets("segment_sum", "offset", segments.offset, size[N], size[E]);
    if (status == YP_OK)
        nn_segment_sums(&segments, call->value[X], type, size[C], false, call->value[Y]);
    return status;
}

static enum yp_status vjp_in(const struct nn_call *call, enum nn_type type)
{
    const struct nn_segments segments = segments_of(call);
    if (call->gradient[X] != NULL)
        nn_segment_copies(&segments, call->gradient[Y], type, call->shape->size[C],
                          nn_adds(call, X), call->gradient[X]);
    return YP_OK;
}

NN_EACH_TYPE
NN_ON_CUDA_SEGMENTS(offset, OFFSET)

static double flops(const struct nn_shape *shape, enum nn_pass pass)
{
    (void)pass;
    return (double)shape->size[E] * (double)shape->size[C];
}

const struct nn_operator nn_segment_sum = {
    .name = "segment_sum",
    .dims = "ecmn",
    .settings = {"mean"},
    .tensors = {{"x", "ec", .role = NN_INPUT, .unread = true, .adds = true},
                {"offset", "m", .role = NN_CONSTANT, .type = NN_INT32,
                 .domain = {NN_OFFSETS, .below = 'e'}},
                {"y", "nc", .role = NN_OUTPUT}},
    .shapes = {{"one", .size = {1, 1, 2, 1}, .setting = {0}},
               {"odd", .size = {6, 7, 6, 5}, .setting = {1}},
               {"small", .size = {256, 64, 33, 32}, .setting = {0}},
               {"medium", .size = {7000, 256, 353, 352}, .setting = {1}}},
    NN_PLAIN,
    .flops = flops,
    NN_EACH_VERSION(NULL, NULL, "bfb", "bfb"),
};

#else
static REAL NAME(weight)(const struct nn_call *call, size_t i)
{
    const int32_t *offset = call->value[OFFSET], rows = offset[i + 1] - offset[i];
    return call->shape->setting[0] != 0 && rows > 0 ? 1 / (REAL)rows : 1;
}

static void NAME(forward)(const struct nn_call *call)
{
    const size_t *size = call->shape->size;
    const int32_t *offset = call->value[OFFSET];
    const REAL *x = call->value[X];
    REAL *y = call->value[Y];
    for (size_t i = 0; i < size[N]; i++)
        for (size_t c = 0; c < size[C]; c++) {
            REAL sum = 0;
            for (size_t k = (size_t)offset[i]; k < (size_t)offset[i + 1]; k++)
                sum += x[k * size[C] + c];
            y[i * size[C] + c] = NAME(weight)(call, i) * sum;
        }
}

static void NAME(vjp)(const struct nn_call *call)
{
    const size_t *size = call->shape->size;
    const int32_t *offset = call->value[OFFSET];
    const REAL *dy = call->gradient[Y];
    REAL *dx = call->gradient[X];
    for (size_t i = 0; i < size[N]; i++)
        for (size_t k = (size_t)offset[i]; k < (size_t)offset[i + 1]; k++)
            for (size_t c = 0; c < size[C]; c++)
                dx[k * size[C] + c] = NAME(weight)(call, i) * dy[i * size[C] + c];
}
#endif

/* y (n, c) = x + factor z (g, c) of the segment that the row is in, rows offset[i] to
 * offset[i + 1] - 1 of the i-th. dx = dy, dz = factor times the sums of dy by segment. */
#ifndef REAL
#define NN_FILE "models/nn/operators/segment_spread.c"
enum { X, Z, OFFSET, Y };
enum { N, C, G, M };
#include "models/nn/cuda/on_cuda.h"
#include "models/nn/fast.h"
#include "models/nn/plain.h"
#include "models/nn/segments.h"
#include "models/nn/types.h"

static struct nn_segments segments_of(const struct nn_call *call)
{
    return (struct nn_segments){.n = call->shape->size[G],
                                .offset = call->value[OFFSET],
                                .factor = (float)call->shape->setting[0]};
}

static enum yp_status forward_in(const struct nn_call *call, enum nn_type type)
{
    const size_t *size = call->shape->size;
    const struct nn_segments segments = segments_of(call);
    enum yp_status status =
        nn_check_offsets("segment_spread", "offset", segments.offset, size[G], size[N]);
    if (status != YP_OK)
        return status;
    nn_copy(call->value[X], size[N] * size[C] * nn_width(type), call->value[Y]);
    nn_segment_copies(&segments, call->value[Z], type, size[C], true, call->value[Y]);
    return YP_OK;
}

static enum yp_status vjp_in(const struct nn_call *call, enum nn_type type)
{
    const size_t *size = call->shape->size;
    const struct nn_segments segments = segments_of(call);
    const void *dy = call->gradient[Y];
    if (call->gradient[X] != NULL && nn_adds(call, X))
        nn_add_to(dy, type, size[N] * size[C], call->gradient[X]);
    else if (call->gradient[X] != NULL)
        nn_copy(dy, size[N] * size[C] * nn_width(type), call->gradient[X]);
    if (call->gradient[Z] != NULL)
        nn_segment_sums(&segments, dy, type, size[C], nn_adds(call, Z), call->gradient[Z]);
    return YP_OK;
}

NN_EACH_TYPE

static struct nn_cuda_segments job_of(const struct nn_call *call, enum nn_type type)
{
    const size_t *size = call->shape->size;
    return (struct nn_cuda_segments){.n = size[G],
                                     .rows = size[N],
                                     .c = size[C],
                                     .type = type,
                                     .factor = (float)call->shape->setting[0],
                                     .offset = call->value[OFFSET]};
}

/* y = x, and y += the segment's; and back. */
static enum yp_status forward_on(const struct nn_cuda *cuda, const struct nn_call *call,
                                 enum nn_type type)
{
    struct nn_cuda_segments job = job_of(call, type);
    const struct nn_cuda_add copy = {job.rows * job.c, type, call->value[X], NULL, call->value[Y]};
    job.rows_of = call->value[Y];
    job.segments = call->value[Z];
    job.add = true;
    const enum yp_status status = cuda->add(call->device, &copy);
    return status == YP_OK ? cuda->segments[NN_VJP](call->device, &job) : status;
}

static enum yp_status vjp_on(const struct nn_cuda *cuda, const struct nn_call *call,
                             enum nn_type type)
{
    struct nn_cuda_segments job = job_of(call, type);
    void *dx = call->gradient[X];
    const struct nn_cuda_add copy = {job.rows * job.c, type, call->gradient[Y],
                                     nn_adds(call, X) ? dx : NULL, dx};
    job.rows_of = call->gradient[Y];
    job.segments = call->gradient[Z];
    job.add = nn_adds(call, Z);
    const enum yp_status status =
        dx != NULL ? cuda->add(call->device, &copy) : (enum yp_status)YP_OK;
    return status == YP_OK && job.segments != NULL ? cuda->segments[NN_FORWARD](call->device, &job)
                                                   : status;
}

NN_ON_CUDA

static double flops(const struct nn_shape *shape, enum nn_pass pass)
{
    return (pass == NN_VJP ? 1.0 : 2.0) * (double)shape->size[N] * (double)shape->size[C];
}

const struct nn_operator nn_segment_spread = {
    .name = "segment_spread",
    .dims = "ncgm",
    .settings = {"factor"},
    .tensors = {{"x", "nc", .role = NN_INPUT, .unread = true, .adds = true},
                {"z", "gc", .role = NN_INPUT, .unread = true, .adds = true},
                {"offset", "m", .role = NN_CONSTANT, .type = NN_INT32,
                 .domain = {NN_OFFSETS, .below = 'n'}},
                {"y", "nc", .role = NN_OUTPUT}},
    .shapes = {{"one", .size = {1, 1, 1, 2}, .setting = {0.5}},
               {"odd", .size = {6, 7, 4, 5}, .setting = {0.5}},
               {"small", .size = {352, 64, 16, 17}, .setting = {0.5}},
               {"medium", .size = {2816, 256, 128, 129}, .setting = {0.5}}},
    NN_PLAIN,
    .flops = flops,
    NN_EACH_VERSION(NULL, NULL, "bbfb", "bbfb"),
};

#else
static void NAME(forward)(const struct nn_call *call)
{
    const size_t *size = call->shape->size;
    const int32_t *offset = call->value[OFFSET];
    const REAL *x = call->value[X], *z = call->value[Z];
    const REAL factor = (REAL)call->shape->setting[0];
    REAL *y = call->value[Y];
    for (size_t i = 0; i < size[G]; i++)
        for (size_t k = (size_t)offset[i]; k < (size_t)offset[i + 1]; k++)
            for (size_t c = 0; c < size[C]; c++)
                y[k * size[C] + c] = x[k * size[C] + c] + factor * z[i * size[C] + c];
}

static void NAME(vjp)(const struct nn_call *call)
{
    const size_t *size = call->shape->size;
    const int32_t *offset = call->value[OFFSET];
    const REAL *dy = call->gradient[Y];
    const REAL factor = (REAL)call->shape->setting[0];
    REAL *dx = call->gradient[X], *dz = call->gradient[Z];
    memset(dz, 0, size[G] * size[C] * sizeof *dz);
    for (size_t i = 0; i < size[G]; i++)
        for (size_t k = (size_t)offset[i]; k < (size_t)offset[i + 1]; k++)
            for (size_t c = 0; c < size[C]; c++) {
                dx[k * size[C] + c] = dy[k * size[C] + c];
                dz[i * size[C] + c] += factor * dy[k * size[C] + c];
            }
}
#endif

/* Convolutions on a GPU: each pass is a product with patches that the kernel gathers, or
 * for depthwise ones sums over taps. See ../patches.h for image, grid and weights. */
#include "models/nn/cuda/on_cuda.h"
#include "models/nn/fast.h"
#include "models/nn/patches.h"

enum { X, WEIGHTS, BIAS, Y }; /* of all three operators */

/* -- patches ---------------------------------------------------------------------------------- */

/* Of the image around the points of the grid. */
static struct nn_cuda_patches of_image(const struct nn_patches *g, const void *image,
                                       enum nn_type type)
{
    return (struct nn_cuda_patches){.at = image,
                                    .type = type,
                                    .h = (unsigned)g->h,
                                    .w = (unsigned)g->w,
                                    .c = (unsigned)g->c,
                                    .p = (unsigned)g->p,
                                    .q = (unsigned)g->q,
                                    .r = (unsigned)g->r,
                                    .s = (unsigned)g->s,
                                    .scale = (int)g->stride,
                                    .shift = -(int)g->pad,
                                    .sign = 1,
                                    .step = 1};
}

/* Of the grid around the pixels of the image: the same pairs from the other end. */
static struct nn_cuda_patches of_grid(const struct nn_patches *g, const void *grid,
                                      enum nn_type type)
{
    return (struct nn_cuda_patches){.at = grid,
                                    .type = type,
                                    .h = (unsigned)g->p,
                                    .w = (unsigned)g->q,
                                    .c = (unsigned)g->g,
                                    .p = (unsigned)g->h,
                                    .q = (unsigned)g->w,
                                    .r = (unsigned)g->r,
                                    .s = (unsigned)g->s,
                                    .scale = 1,
                                    .shift = (int)g->pad,
                                    .sign = -1,
                                    .step = (int)g->stride};
}

static struct nn_cuda_matrix matrix(const void *at, size_t stride, bool transposed,
                                    enum nn_type type)
{
    return (struct nn_cuda_matrix){
        .at = (void *)(uintptr_t)at, .type = type, .transposed = transposed, .stride = stride};
}

/* -- a grid, an image or weights of the other two -------------------------------------------- */

static enum yp_status to_grid(const struct nn_cuda *cuda, const struct nn_call *call,
                              const struct nn_patches *g, enum nn_type type, const void *image,
                              const float *bias, bool add, void *grid)
{
    const size_t taps = g->r * g->s * g->c;
    const struct nn_cuda_gemm_of_views job = {
        .gemm = {.m = g->b * g->p * g->q,
                 .n = g->g,
                 .k = taps,
                 .b = matrix(call->value[WEIGHTS], taps, true, type),
                 .c = matrix(grid, g->g, false, type),
                 .add = add,
                 .bias = bias},
        .views = {.a = NN_CUDA_PATCHES, .patches = of_image(g, image, type)}};
    return cuda->gemm_of_views(call->device, &job);
}

static enum yp_status to_image(const struct nn_cuda *cuda, const struct nn_call *call,
                               const struct nn_patches *g, enum nn_type type, const void *grid,
                               const float *bias, bool add, void *image)
{
    const struct nn_cuda_gemm_of_views job = {
        .gemm = {.m = g->b * g->h * g->w,
                 .n = g->c,
                 .k = g->r * g->s * g->g,
                 .b = matrix(call->value[WEIGHTS], g->c, false, type),
                 .c = matrix(image, g->c, false, type),
                 .add = add,
                 .bias = bias},
        .views = {.a = NN_CUDA_PATCHES, .b = NN_CUDA_TURNED, .patches = of_grid(g, grid, type)}};
    return cuda->gemm_of_views(call->device, &job);
}

/* Unless they are not wanted. */
static enum yp_status to_weights(const struct nn_cuda *cuda, const struct nn_call *call,
                                 const struct nn_patches *g, enum nn_type type, const void *image,
                                 const void *grid)
{
    const size_t taps = g->r * g->s * g->c;
    const struct nn_cuda_gemm_of_views job = {
        .gemm = {.m = g->g,
                 .n = taps,
                 .k = g->b * g->p * g->q,
                 .a = matrix(grid, g->g, true, type),
                 .c = matrix(call->gradient[WEIGHTS], taps, false, NN_FLOAT),
                 .add = nn_adds(call, WEIGHTS)},
        .views = {.b = NN_CUDA_PATCHES, .patches = of_image(g, image, type)}};
    return job.gemm.c.at != NULL ? cuda->gemm_of_views(call->device, &job) : YP_OK;
}

/* The column sums of dy (n, c), unless they are not wanted. */
static enum yp_status to_bias(const struct nn_cuda *cuda, const struct nn_call *call,
                              enum nn_type type, size_t n, size_t c)
{
    const struct nn_cuda_columns sums = {.n = n,
                                         .c = c,
                                         .type = type,
                                         .add = nn_adds(call, BIAS),
                                         .dy = call->gradient[Y],
                                         .sums = call->gradient[BIAS],
                                         .work = call->work};
    return cuda->columns(call->device, &sums);
}

/* -- the operators ---------------------------------------------------------------------------- */

/* On a GPU an activation is a step of its own. */
static enum yp_status check_activation(const struct nn_call *call, const char *op)
{
    const int activation = (int)call->shape->setting[NN_ACTIVATION];
    if (activation != NN_AS_IT_IS)
        return yp_set_error(YP_UNSUPPORTED, "%s: activation is %d: on a GPU it must be 0, none", op,
                            activation);
    return YP_OK;
}

static struct nn_patches wide(const struct nn_shape *shape)
{
    enum { C = 7, K };
    return nn_patches_of(shape, shape->size[C], shape->size[K]);
}

/* y is the image, x the grid. */
static struct nn_patches transposed(const struct nn_shape *shape)
{
    enum { C = 7, K };
    return nn_patches_of(shape, shape->size[K], shape->size[C]);
}

enum yp_status nn_cuda_convolution(const struct nn_cuda *cuda, const struct nn_call *call,
                                   enum nn_type type)
{
    const struct nn_patches g = wide(call->shape);
    const enum yp_status status = check_activation(call, "convolution");
    return status == YP_OK ? to_grid(cuda, call, &g, type, call->value[X], call->value[BIAS], false,
                                     call->value[Y])
                           : status;
}

enum yp_status nn_cuda_convolution_vjp(const struct nn_cuda *cuda, const struct nn_call *call,
                                       enum nn_type type)
{
    const struct nn_patches g = wide(call->shape);
    const void *dy = call->gradient[Y];
    enum yp_status status = check_activation(call, "convolution");
    if (call->gradient[X] != NULL && status == YP_OK)
        status = to_image(cuda, call, &g, type, dy, NULL, nn_adds(call, X), call->gradient[X]);
    if (status == YP_OK)
        status = to_weights(cuda, call, &g, type, call->value[X], dy);
    return status == YP_OK ? to_bias(cuda, call, type, g.b * g.p * g.q, g.g) : status;
}

size_t nn_cuda_convolution_work(const struct nn_shape *shape)
{
    const struct nn_patches g = wide(shape);
    return nn_cuda_columns_bytes(g.b * g.p * g.q, g.g);
}

enum yp_status nn_cuda_transposed_convolution(const struct nn_cuda *cuda,
                                              const struct nn_call *call, enum nn_type type)
{
    const struct nn_patches g = transposed(call->shape);
    const enum yp_status status = check_activation(call, "transposed_convolution");
    return status == YP_OK ? to_image(cuda, call, &g, type, call->value[X], call->value[BIAS],
                                      false, call->value[Y])
                           : status;
}

enum yp_status nn_cuda_transposed_convolution_vjp(const struct nn_cuda *cuda,
                                                  const struct nn_call *call, enum nn_type type)
{
    const struct nn_patches g = transposed(call->shape);
    const void *dy = call->gradient[Y];
    enum yp_status status = check_activation(call, "transposed_convolution");
    if (call->gradient[X] != NULL && status == YP_OK)
        status = to_grid(cuda, call, &g, type, dy, NULL, nn_adds(call, X), call->gradient[X]);
    if (status == YP_OK)
        status = to_weights(cuda, call, &g, type, dy, call->value[X]);
    return status == YP_OK ? to_bias(cuda, call, type, g.b * g.h * g.w, g.c) : status;
}

size_t nn_cuda_transposed_convolution_work(const struct nn_shape *shape)
{
    const struct nn_patches g = transposed(shape);
    return nn_cuda_columns_bytes(g.b * g.h * g.w, g.c);
}

static struct nn_patches each(const struct nn_shape *shape)
{
    enum { C = 7 };
    return nn_patches_of(shape, shape->size[C], shape->size[C]);
}

enum yp_status nn_cuda_depthwise_convolution(const struct nn_cuda *cuda, const struct nn_call *call,
                                             enum nn_type type)
{
    const struct nn_patches g = each(call->shape);
    const struct nn_cuda_depthwise job = {.points = g.b * g.p * g.q,
                                          .patches = of_image(&g, call->value[X], type),
                                          .weights = call->value[WEIGHTS],
                                          .bias = call->value[BIAS],
                                          .y = call->value[Y]};
    return cuda->depthwise[NN_FORWARD](call->device, &job);
}

enum yp_status nn_cuda_depthwise_convolution_vjp(const struct nn_cuda *cuda,
                                                 const struct nn_call *call, enum nn_type type)
{
    const struct nn_patches g = each(call->shape);
    const struct nn_cuda_depthwise dx = {.points = g.b * g.h * g.w,
                                         .add = nn_adds(call, X),
                                         .patches = of_grid(&g, call->gradient[Y], type),
                                         .weights = call->value[WEIGHTS],
                                         .y = call->gradient[X]};
    const struct nn_cuda_depthwise dweights = {.points = g.b * g.p * g.q,
                                               .add = nn_adds(call, WEIGHTS),
                                               .patches = of_image(&g, call->value[X], type),
                                               .dy = call->gradient[Y],
                                               .dweights = call->gradient[WEIGHTS],
                                               .work = call->work};
    enum yp_status status = YP_OK;
    if (dx.y != NULL) /* a convolution of dy from the other end */
        status = cuda->depthwise[NN_FORWARD](call->device, &dx);
    if (dweights.dweights != NULL && status == YP_OK)
        status = cuda->depthwise[NN_VJP](call->device, &dweights);
    return status == YP_OK ? to_bias(cuda, call, type, g.b * g.p * g.q, g.c) : status;
}

size_t nn_cuda_depthwise_convolution_work(const struct nn_shape *shape)
{
    const struct nn_patches g = each(shape);
    return nn_cuda_columns_bytes(g.b * g.p * g.q, g.r * g.s * g.c);
}

/* y (b, h, w, k) of x (b, p, q, c) with weights (c, r, s, k), plus bias (k) or none: each x_bij
 * adds x_bijc weights_cuvk to y at (i stride - pad + u, j stride - pad + v), where that is inside.
 * It is the vector-Jacobian product of a convolution of y by x; in memory PyTorch's
 * conv_transpose2d with channels last. h is (p - 1) stride - 2 pad + r, and w like it. dx is the
 * convolution of dy with the weights, dweights the sum of x times patches of dy, dbias the sum of
 * dy. Setting "activation" as of a convolution. */
#ifndef REAL
#define NN_FILE "models/nn/operators/transposed_convolution.c"
enum { X, WEIGHTS, BIAS, Y };
enum { B, H, W, P, Q, R, S, C, K };
#include "models/nn/cuda/on_cuda.h"
#include "models/nn/fast.h"
#include "models/nn/patches.h"
#include "models/nn/plain.h"

/* y is the image, x the grid. */
static struct nn_patches patches_of(const struct nn_shape *shape, enum nn_type type)
{
    struct nn_patches patches = nn_patches_of(shape, shape->size[K], shape->size[C]);
    patches.type = type;
    return patches;
}

static size_t count(const struct nn_shape *shape)
{
    return nn_count(&nn_transposed_convolution, &nn_transposed_convolution.tensors[Y], shape);
}

static size_t plain_work(const struct nn_shape *shape)
{
    return nn_activated_bytes(shape, count(shape));
}

static size_t work_in(const struct nn_shape *shape, enum nn_type type)
{
    const struct nn_patches patches = patches_of(shape, type);
    return (nn_16_bits(type) ? 0 : plain_work(shape)) +
           nn_most(nn_columns_bytes(patches.b * patches.h * patches.w, patches.c),
                   nn_patches_bytes(&patches));
}

NN_EACH_WORK

static enum yp_status forward_in(const struct nn_call *call, enum nn_type type)
{
    const struct nn_patches patches = patches_of(call->shape, type);
    const enum yp_status status =
        nn_patches_to_image(&patches, call->value[X], call->value[WEIGHTS], call->value[BIAS],
                            false, call->value[Y], call->work);
    nn_activate(patches.activation, call->value[Y], type, count(call->shape));
    return status;
}

static enum yp_status sums_vjp(const struct nn_call *call, enum nn_type type)
{
    const struct nn_patches patches = patches_of(call->shape, type);
    const void *dy = call->gradient[Y];
    enum yp_status status = YP_OK;
    if (call->gradient[X] != NULL)
        status = nn_patches_to_grid(&patches, dy, call->value[WEIGHTS], NULL, nn_adds(call, X),
                                    call->gradient[X], call->work);
    if (call->gradient[WEIGHTS] != NULL && status == YP_OK)
        status = nn_patches_to_weights(&patches, dy, call->value[X], nn_adds(call, WEIGHTS),
                                       call->gradient[WEIGHTS], call->work);
    if (status == YP_OK)
        nn_bias_vjp(call, BIAS, dy, type, patches.b * patches.h * patches.w, patches.c, call->work);
    return status;
}

static enum yp_status vjp_in(const struct nn_call *call, enum nn_type type)
{
    return nn_activated_vjp(call, Y, type, count(call->shape), forward_in, sums_vjp);
}

NN_EACH_TYPE

NN_ON_CUDA_OF(nn_cuda_transposed_convolution, nn_cuda_transposed_convolution_vjp)

static double flops(const struct nn_shape *shape, enum nn_pass pass)
{
    const size_t *size = shape->size;
    double each = 2 * (double)(size[B] * size[P] * size[Q] * size[C] * size[R] * size[S] * size[K]);
    double pixels = (double)(size[B] * size[H] * size[W] * size[K]);
    return pass == NN_VJP ? 2 * each + pixels : each + pixels;
}

const struct nn_operator nn_transposed_convolution = {
    .name = "transposed_convolution",
    .dims = "bhwpqrsck",
    .settings = {"stride", "pad", "activation"},
    .tensors = {{"x", "bpqc", .role = NN_INPUT, .adds = true},
                {"weights", "crsk", .role = NN_PARAMETER, .adds = true},
                {"bias", "k", .role = NN_PARAMETER, .adds = true, .optional = true},
                {"y", "bhwk", .role = NN_OUTPUT}},
    .shapes = {{"one", .size = {1, 1, 1, 1, 1, 1, 1, 1, 1}, .setting = {1, 0}},
               {"odd", .size = {2, 7, 5, 4, 3, 3, 3, 3, 5}, .setting = {2, 1}},
               {"small", .size = {1, 16, 16, 8, 8, 4, 4, 16, 24}, .setting = {2, 1}},
               {"medium", .size = {1, 32, 32, 16, 16, 4, 4, 64, 32}, .setting = {2, 1}}},
    NN_PLAIN,
    .plain_work = plain_work,
    .flops = flops,
    .versions = {{NN_FP32, "cpu", .forward = forward, .vjp = vjp, .work = work},
                 {NN_BF16, "cpu", .forward = forward_bf16, .vjp = vjp_bf16, .work = work_bf16,
                  .types = "bbfb", .gradients = "bffb", .arithmetic = YP_BF16},
                 {NN_FP16, "cpu", .forward = forward_fp16, .vjp = vjp_fp16, .work = work_fp16,
                  .types = "bbfb", .gradients = "bffb"},
                 {NN_FP32, "cuda", .forward = forward_cuda, .vjp = vjp_cuda,
                  .work = nn_cuda_transposed_convolution_work},
                 {NN_BF16, "cuda", .forward = forward_cuda_bf16, .vjp = vjp_cuda_bf16,
                  .work = nn_cuda_transposed_convolution_work, .types = "bbfb", .gradients = "bffb",
                  .arithmetic = YP_BF16},
                 {NN_FP16, "cuda", .forward = forward_cuda_fp16, .vjp = vjp_cuda_fp16,
                  .work = nn_cuda_transposed_convolution_work, .types = "bbfb", .gradients = "bffb",
                  .arithmetic = YP_FP16}},
};

#else
#include "models/nn/activation_plain.inc"
#include "models/nn/patches_plain.inc"

static void NAME(forward)(const struct nn_call *call)
{
    const size_t *size = call->shape->size;
    const struct nn_patches g = nn_patches_of(call->shape, size[K], size[C]);
    REAL *y = call->value[Y];
    NAME(put_bias)(call->value[BIAS], size[B] * size[H] * size[W], size[K], y);
    NAME(add_products)(&g, false, y, call->value[X], call->value[WEIGHTS], y);
    NAME(activate)(call, size[B] * size[H] * size[W] * size[K], y);
}

static void NAME(vjp)(const struct nn_call *call)
{
    const size_t *size = call->shape->size;
    const struct nn_patches g = nn_patches_of(call->shape, size[K], size[C]);
    REAL *dy =
        NAME(before_activation)(call, Y, size[B] * size[H] * size[W] * size[K], NAME(forward));
    REAL *dx = call->gradient[X], *dweights = call->gradient[WEIGHTS];
    memset(dx, 0, size[B] * size[P] * size[Q] * size[C] * sizeof *dx);
    memset(dweights, 0, size[C] * size[R] * size[S] * size[K] * sizeof *dweights);
    NAME(add_products)(&g, false, dy, dx, call->value[WEIGHTS], dx);
    NAME(add_products)(&g, false, dy, call->value[X], dweights, dweights);
    NAME(sum_bias)(dy, size[B] * size[H] * size[W], size[K], call->gradient[BIAS]);
}
#endif

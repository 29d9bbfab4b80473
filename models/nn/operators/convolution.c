/* y (b, p, q, k) = the convolution of x (b, h, w, c) with weights (k, r, s, c), plus bias (k) or
 * none: y_bijk = bias_k + sum over u, v, c of weights_kuvc x at (i stride - pad + u, j stride - pad
 * + v), which is 0 outside. In memory this is PyTorch's conv2d with channels last. p is (h + 2 pad
 * - r) / stride + 1, rounded down, and q like it. dx is the transposed convolution of dy, dweights
 * the sum of dy times patches, dbias the sum of dy. Setting "activation", enum nn_activation: y is
 * that of these sums, and the vector-Jacobian product makes them again; not on a GPU, nor that
 * product in 16 bits. */
#ifndef REAL
#define NN_FILE "models/nn/operators/convolution.c"
enum { X, WEIGHTS, BIAS, Y };
enum { B, H, W, P, Q, R, S, C, K };
#include "models/nn/convert.h"
#include "models/nn/cuda/on_cuda.h"
#include "models/nn/fast.h"
#include "models/nn/patches.h"
#include "models/nn/plain.h"
#include "models/nn/simd/winograd.h"

static struct nn_patches patches_of(const struct nn_shape *shape, enum nn_type type)
{
    struct nn_patches patches = nn_patches_of(shape, shape->size[C], shape->size[K]);
    patches.type = type;
    return patches;
}

/* Whether Winograd's way takes it, and its sizes; `back`: those of the gradient by the input. */
static bool takes(const struct nn_patches *p, bool back, struct nn_winograd *g)
{
    *g = (struct nn_winograd){.b = p->b,
                              .h = p->h,
                              .w = p->w,
                              .in = back ? p->g : p->c,
                              .out = back ? p->c : p->g,
                              .stride = p->stride,
                              .back = back};
    return !nn_16_bits(p->type) && p->r == 3 && p->s == 3 && p->stride <= 2 && p->pad == 1 &&
           nn_winograd_takes(g);
}

static bool pays(const struct nn_patches *p, bool back, struct nn_winograd *g)
{
    return takes(p, back, g) && nn_winograd_pays(g);
}

static size_t work_of(const struct nn_patches *patches, bool back)
{
    struct nn_winograd g;
    const size_t tiles = takes(patches, back, &g) ? nn_winograd_bytes(&g, true) : 0;
    const size_t all = pays(patches, back, &g) ? nn_winograd_bytes(&g, false) : 0;
    return nn_most(nn_most(tiles, all), all == 0 || g.stride > 1 ? nn_patches_bytes(patches) : 0);
}

static size_t passes_bytes(const struct nn_shape *shape, enum nn_type type)
{
    const struct nn_patches patches = patches_of(shape, type);
    return nn_most(nn_columns_bytes(patches.b * patches.p * patches.q, patches.g),
                   nn_most(work_of(&patches, false), work_of(&patches, true)));
}

static enum yp_status forward_pass(const struct nn_call *call, enum nn_type type)
{
    const struct nn_patches patches = patches_of(call->shape, type);
    struct nn_winograd g;
    if (!(call->prepared != NULL ? takes : pays)(&patches, false, &g))
        return nn_patches_to_grid(&patches, call->value[X], call->value[WEIGHTS], call->value[BIAS],
                                  false, call->value[Y], call->work);
    nn_winograd(&g, call->value[X], call->value[WEIGHTS], call->prepared, call->value[BIAS],
                patches.activation, false, call->value[Y], call->work);
    return YP_OK;
}

static enum yp_status input_vjp(const struct nn_call *call, const struct nn_patches *patches)
{
    struct nn_winograd g;
    if (!pays(patches, true, &g))
        return nn_patches_to_image(patches, call->gradient[Y], call->value[WEIGHTS], NULL,
                                   nn_adds(call, X), call->gradient[X], call->work);
    nn_winograd(&g, call->gradient[Y], call->value[WEIGHTS], NULL, NULL, NN_AS_IT_IS,
                nn_adds(call, X), call->gradient[X], call->work);
    return YP_OK;
}

static enum yp_status weights_vjp(const struct nn_call *call, const struct nn_patches *patches)
{
    const void *x = call->value[X], *dy = call->gradient[Y];
    const bool add = nn_adds(call, WEIGHTS);
    struct nn_winograd g;
    if (patches->stride > 1 || !pays(patches, false, &g)) /* stride 2 would be no faster */
        return nn_patches_to_weights(patches, x, dy, add, call->gradient[WEIGHTS], call->work);
    nn_winograd_gradient(&g, x, dy, add, call->gradient[WEIGHTS], call->work);
    return YP_OK;
}

static enum yp_status vjp_pass(const struct nn_call *call, enum nn_type type)
{
    const struct nn_patches patches = patches_of(call->shape, type);
    enum yp_status status = YP_OK;
    if (call->gradient[X] != NULL)
        status = input_vjp(call, &patches);
    if (call->gradient[WEIGHTS] != NULL && status == YP_OK)
        status = weights_vjp(call, &patches);
    if (status == YP_OK)
        nn_bias_vjp(call, BIAS, call->gradient[Y], type, patches.b * patches.p * patches.q,
                    patches.g, call->work);
    return status;
}

/* -- 16 bits by way of float ------------------------------------------------------------------- */

/* Whether AVX-512 multiplies bf16 faster than float: twice as fast on AMD's Zen 4, half as fast on
 * Intel's Emerald Rapids. */
static bool has_fast_products(void)
{
#if defined(__x86_64__)
    return yp_isa() >= YP_ISA_AVX512 && __builtin_cpu_is("amd") &&
           __builtin_cpu_supports("avx512bf16");
#else
    return false;
#endif
}

/* Whether images in 16 bits are widened for Winograd's way in float, and results rounded. With
 * stride 1 it takes a third of the time of products of patches in float, with stride 2 about two
 * thirds: products in bf16 are faster than that by AMX and, with stride 2, where AVX-512's are
 * fast. */
static bool by_float(const struct nn_shape *shape, enum nn_type type)
{
    const struct nn_patches patches = patches_of(shape, NN_FLOAT);
    struct nn_winograd g;
    if (type == NN_BFLOAT16 &&
        (yp_isa() >= YP_ISA_AMX || (patches.stride > 1 && has_fast_products())))
        return false;
    return (patches.stride > 1 ? takes : pays)(&patches, false, &g);
}

static size_t count(const struct nn_shape *shape, int i)
{
    return nn_count(&nn_convolution, &nn_convolution.tensors[i], shape);
}

/* Floats of a tensor in the workspace of a call in float, where its own workspace is behind x,
 * weights and y. */
static size_t wide(const struct nn_shape *shape, int i)
{
    return nn_aligned(count(shape, i));
}

static size_t plain_work(const struct nn_shape *shape)
{
    return nn_activated_bytes(shape, count(shape, Y));
}

static size_t work_in(const struct nn_shape *shape, enum nn_type type)
{
    if (!nn_16_bits(type))
        return plain_work(shape) + passes_bytes(shape, type);
    if (!by_float(shape, type))
        return passes_bytes(shape, type);
    return (wide(shape, X) + wide(shape, WEIGHTS) + wide(shape, Y)) * sizeof(float) +
           passes_bytes(shape, NN_FLOAT);
}

NN_EACH_WORK

static struct nn_call in_float(const struct nn_call *call, float **x, float **weights, float **y)
{
    struct nn_call in = *call;
    in.value[X] = *x = call->work;
    in.value[WEIGHTS] = *weights = *x + wide(call->shape, X);
    *y = *weights + wide(call->shape, WEIGHTS);
    in.work = *y + wide(call->shape, Y);
    return in;
}

/* Weights at Winograd's points. */
static size_t prepared_in(const struct nn_shape *shape, enum nn_type type)
{
    const struct nn_patches patches = patches_of(shape, NN_FLOAT);
    struct nn_winograd g;
    return takes(&patches, false, &g) && (!nn_16_bits(type) || by_float(shape, type))
               ? nn_winograd_points(&g) * sizeof(float)
               : 0;
}

static enum yp_status prepare_in(const struct nn_call *call, enum nn_type type)
{
    const struct nn_patches patches = patches_of(call->shape, NN_FLOAT);
    const float *weights = call->value[WEIGHTS];
    struct nn_winograd g;
    if (prepared_in(call->shape, type) == 0)
        return YP_OK;
    if (nn_16_bits(type)) {
        nn_widen(call->value[WEIGHTS], type, count(call->shape, WEIGHTS), call->work);
        weights = call->work;
    }
    takes(&patches, false, &g);
    nn_winograd_weights(&g, weights, call->prepared);
    return YP_OK;
}

static size_t prepared(const struct nn_shape *shape)
{
    return prepared_in(shape, NN_FLOAT);
}

static size_t prepared_bf16(const struct nn_shape *shape)
{
    return prepared_in(shape, NN_BFLOAT16);
}

static enum yp_status prepare(const struct nn_call *call)
{
    return prepare_in(call, NN_FLOAT);
}

static enum yp_status prepare_bf16(const struct nn_call *call)
{
    return prepare_in(call, NN_BFLOAT16);
}

static size_t prepared_fp16(const struct nn_shape *shape)
{
    return prepared_in(shape, NN_FLOAT16);
}

static enum yp_status prepare_fp16(const struct nn_call *call)
{
    return prepare_in(call, NN_FLOAT16);
}

static enum yp_status forward_in(const struct nn_call *call, enum nn_type type)
{
    if (!nn_16_bits(type) || !by_float(call->shape, type))
        return forward_pass(call, type);
    float *x, *weights, *y;
    struct nn_call in = in_float(call, &x, &weights, &y);
    nn_widen(call->value[X], type, count(call->shape, X), x);
    if (call->prepared == NULL)
        nn_widen(call->value[WEIGHTS], type, count(call->shape, WEIGHTS), weights);
    in.value[Y] = y;
    const enum yp_status status = forward_pass(&in, NN_FLOAT);
    nn_narrow(y, count(call->shape, Y), type, call->value[Y]);
    return status;
}

/* The gradient by the input first, in the place of x. */
static enum yp_status sums_vjp(const struct nn_call *call, enum nn_type type)
{
    if (!nn_16_bits(type) || !by_float(call->shape, type))
        return vjp_pass(call, type);
    const size_t image = count(call->shape, X);
    float *x, *weights, *dy;
    struct nn_call input = in_float(call, &x, &weights, &dy), parameters = input;
    enum yp_status status = YP_OK;
    nn_widen(call->gradient[Y], type, count(call->shape, Y), dy);
    input.gradient[Y] = parameters.gradient[Y] = dy;
    if (call->gradient[X] != NULL) {
        nn_widen(call->value[WEIGHTS], type, count(call->shape, WEIGHTS), weights);
        if (nn_adds(call, X))
            nn_widen(call->gradient[X], type, image, x);
        input.gradient[X] = x;
        input.gradient[WEIGHTS] = input.gradient[BIAS] = NULL;
        status = vjp_pass(&input, NN_FLOAT);
        nn_narrow(x, image, type, call->gradient[X]);
    }
    if (call->gradient[WEIGHTS] != NULL)
        nn_widen(call->value[X], type, image, x);
    parameters.gradient[X] = NULL;
    return status == YP_OK ? vjp_pass(&parameters, NN_FLOAT) : status;
}

static enum yp_status vjp_in(const struct nn_call *call, enum nn_type type)
{
    return nn_activated_vjp(call, Y, type, count(call->shape, Y), forward_in, sums_vjp);
}

NN_EACH_TYPE

NN_ON_CUDA_OF(nn_cuda_convolution, nn_cuda_convolution_vjp)

static double flops(const struct nn_shape *shape, enum nn_pass pass)
{
    const size_t *size = shape->size;
    double grid = (double)(size[B] * size[P] * size[Q] * size[K]);
    double each = 2 * (double)(size[R] * size[S] * size[C]);
    return pass == NN_VJP ? grid * (2 * each + 1) : grid * (each + 1);
}

const struct nn_operator nn_convolution = {
    .name = "convolution",
    .dims = "bhwpqrsck",
    .settings = {"stride", "pad", "activation"},
    .tensors = {{"x", "bhwc", .role = NN_INPUT, .adds = true},
                {"weights", "krsc", .role = NN_PARAMETER, .adds = true},
                {"bias", "k", .role = NN_PARAMETER, .adds = true, .optional = true},
                {"y", "bpqk", .role = NN_OUTPUT}},
    .shapes = {{"one", .size = {1, 1, 1, 1, 1, 1, 1, 1, 1}, .setting = {1, 0}},
               {"odd", .size = {2, 7, 5, 4, 3, 3, 3, 3, 5}, .setting = {2, 1}},
               {"small", .size = {1, 16, 18, 16, 18, 3, 3, 16, 24}, .setting = {1, 1}},
               {"medium", .size = {1, 32, 32, 32, 32, 3, 3, 128, 128}, .setting = {1, 1}}},
    NN_PLAIN,
    .plain_work = plain_work,
    .flops = flops,
    .versions = {{NN_FP32, "cpu", .forward = forward, .vjp = vjp, .work = work,
                  .prepared = prepared, .prepare = prepare},
                 {NN_BF16, "cpu", .forward = forward_bf16, .vjp = vjp_bf16, .work = work_bf16,
                  .prepared = prepared_bf16, .prepare = prepare_bf16, .types = "bbfb",
                  .gradients = "bffb", .arithmetic = YP_BF16,
                  /* Of floats at Winograd's points: plain loops multiply 16 bits without error. */
                  .rounding = {[WEIGHTS] = 0x1p-21}},
                 {NN_FP16, "cpu", .forward = forward_fp16, .vjp = vjp_fp16, .work = work_fp16,
                  .prepared = prepared_fp16, .prepare = prepare_fp16, .types = "bbfb",
                  .gradients = "bffb",
                  /* Of floats at Winograd's points: plain loops multiply 16 bits without error. */
                  .rounding = {[WEIGHTS] = 0x1p-21}},
                 {NN_FP32, "cuda", .forward = forward_cuda, .vjp = vjp_cuda,
                  .work = nn_cuda_convolution_work},
                 {NN_BF16, "cuda", .forward = forward_cuda_bf16, .vjp = vjp_cuda_bf16,
                  .work = nn_cuda_convolution_work, .types = "bbfb", .gradients = "bffb",
                  .arithmetic = YP_BF16},
                 {NN_FP16, "cuda", .forward = forward_cuda_fp16, .vjp = vjp_cuda_fp16,
                  .work = nn_cuda_convolution_work, .types = "bbfb", .gradients = "bffb",
                  .arithmetic = YP_FP16}},
};

#else
#include "models/nn/activation_plain.inc"
#include "models/nn/patches_plain.inc"

static void NAME(forward)(const struct nn_call *call)
{
    const size_t *size = call->shape->size;
    const struct nn_patches g = nn_patches_of(call->shape, size[C], size[K]);
    REAL *y = call->value[Y];
    NAME(put_bias)(call->value[BIAS], size[B] * size[P] * size[Q], size[K], y);
    NAME(add_products)(&g, false, call->value[X], y, call->value[WEIGHTS], y);
    NAME(activate)(call, size[B] * size[P] * size[Q] * size[K], y);
}

static void NAME(vjp)(const struct nn_call *call)
{
    const size_t *size = call->shape->size;
    const struct nn_patches g = nn_patches_of(call->shape, size[C], size[K]);
    REAL *dy =
        NAME(before_activation)(call, Y, size[B] * size[P] * size[Q] * size[K], NAME(forward));
    REAL *dx = call->gradient[X], *dweights = call->gradient[WEIGHTS];
    memset(dx, 0, size[B] * size[H] * size[W] * size[C] * sizeof *dx);
    memset(dweights, 0, size[K] * size[R] * size[S] * size[C] * sizeof *dweights);
    NAME(add_products)(&g, false, dx, dy, call->value[WEIGHTS], dx);
    NAME(add_products)(&g, false, call->value[X], dy, dweights, dweights);
    NAME(sum_bias)(dy, size[B] * size[P] * size[Q], size[K], call->gradient[BIAS]);
}
#endif

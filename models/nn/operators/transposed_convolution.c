/* y (b, h, w, k) of x (b, p, q, c) with weights (c, r, s, k), plus bias (k) or none: each x_bij
 * adds x_bijc weights_cuvk to y at (i stride - pad + u, j stride - pad + v), where that is inside.
 * It is the vector-Jacobian product of a convolution of y by x; in memory PyTorch's
 * conv_transpose2d with channels last. h is (p - 1) stride - 2 pad + r, and w like it. dx is the
 * convolution of dy with the weights, dweights the sum of x times patches of dy, dbias the sum of
 * dy. */
#ifndef REAL
#define NN_FILE "models/nn/operators/transposed_convolution.c"
enum { X, WEIGHTS, BIAS, Y };
enum { B, P, Q, C, H, W, K, R, S };
enum { STRIDE, PAD };
#include "models/nn/fast.h"
#include "models/nn/patches.h"
#include "models/nn/plain.h"

/* y is the image, x the grid. */
static struct nn_patches patches_of(const struct nn_shape *shape)
{
    const size_t *size = shape->size;
    return (struct nn_patches){.b = size[B],
                               .h = size[H],
                               .w = size[W],
                               .c = size[K],
                               .p = size[P],
                               .q = size[Q],
                               .g = size[C],
                               .r = size[R],
                               .s = size[S],
                               .stride = (size_t)shape->setting[STRIDE],
                               .pad = (size_t)shape->setting[PAD]};
}

static size_t work(const struct nn_shape *shape)
{
    const struct nn_patches patches = patches_of(shape);
    size_t products = nn_patches_bytes(&patches);
    size_t sums = nn_columns_bytes(patches.b * patches.h * patches.w, patches.c);
    return sums > products ? sums : products;
}

static enum yp_status forward(const struct nn_call *call)
{
    const struct nn_patches patches = patches_of(call->shape);
    const float *bias = call->value[BIAS];
    float *y = call->value[Y];
    size_t pixels = patches.b * patches.h * patches.w, k = patches.c;
    nn_zero(y, bias == NULL ? pixels * k : 0);
    NN_PARALLEL_FOR(pixels * k > NN_FEW * NN_CHUNK, i, bias != NULL ? pixels : 0, 1,
                    memcpy(y + i * k, bias, k * sizeof *y));
    return nn_patches_to_image(&patches, call->value[X], call->value[WEIGHTS], y, call->work);
}

static enum yp_status vjp(const struct nn_call *call)
{
    const struct nn_patches patches = patches_of(call->shape);
    const float *dy = call->gradient[Y];
    float *dx = call->gradient[X], *dweights = call->gradient[WEIGHTS];
    enum yp_status status = YP_OK;
    if (dx != NULL)
        status = nn_patches_to_grid(&patches, dy, call->value[WEIGHTS], NULL, nn_adds(call, X), dx,
                                    call->work);
    if (dweights != NULL && status == YP_OK)
        status = nn_patches_to_weights(&patches, dy, call->value[X], nn_adds(call, WEIGHTS),
                                       dweights, call->work);
    if (status == YP_OK)
        nn_bias_vjp(call, BIAS, dy, false, patches.b * patches.h * patches.w, patches.c,
                    call->work);
    return status;
}

static double flops(const struct nn_shape *shape, enum nn_pass pass)
{
    const size_t *size = shape->size;
    double each = 2 * (double)(size[B] * size[P] * size[Q] * size[C] * size[R] * size[S] * size[K]);
    double pixels = (double)(size[B] * size[H] * size[W] * size[K]);
    return pass == NN_VJP ? 2 * each + pixels : each + pixels;
}

const struct nn_operator nn_transposed_convolution = {
    .name = "transposed_convolution",
    .dims = "bpqchwkrs",
    .settings = {"stride", "pad"},
    .tensors = {{"x", "bpqc", .role = NN_INPUT, .adds = true},
                {"weights", "crsk", .role = NN_PARAMETER, .adds = true},
                {"bias", "k", .role = NN_PARAMETER, .adds = true, .optional = true},
                {"y", "bhwk", .role = NN_OUTPUT}},
    .shapes = {{"one", .size = {1, 1, 1, 1, 1, 1, 1, 1, 1}, .setting = {1, 0}},
               {"odd", .size = {2, 4, 3, 3, 7, 5, 5, 3, 3}, .setting = {2, 1}},
               {"small", .size = {1, 8, 8, 16, 16, 16, 24, 4, 4}, .setting = {2, 1}},
               {"medium", .size = {1, 16, 16, 64, 32, 32, 32, 4, 4}, .setting = {2, 1}}},
    NN_PLAIN,
    .flops = flops,
    .versions = {{NN_FP32, "cpu", .forward = forward, .vjp = vjp, .work = work}},
};

#else
/* y; or, of dy, dx and dweights. */
static void NAME(pass)(const struct nn_call *call, bool backward)
{
    const size_t *size = call->shape->size;
    size_t stride = (size_t)call->shape->setting[STRIDE], pad = (size_t)call->shape->setting[PAD];
    const REAL *x = call->value[X], *weights = call->value[WEIGHTS], *dy = call->gradient[Y];
    REAL *y = call->value[Y], *dx = call->gradient[X], *dweights = call->gradient[WEIGHTS];
    for (size_t at = 0; at < size[B] * size[P] * size[Q] * size[R] * size[S]; at++) {
        size_t v = at % size[S], u = at / size[S] % size[R], point = at / size[S] / size[R];
        size_t row = point / size[Q] % size[P] * stride + u, column = point % size[Q] * stride + v;
        if (row < pad || column < pad || row - pad >= size[H] || column - pad >= size[W])
            continue;
        size_t image = point / size[Q] / size[P] * size[H];
        size_t to = ((image + row - pad) * size[W] + column - pad) * size[K];
        for (size_t c = 0; c < size[C]; c++) {
            size_t of = ((c * size[R] + u) * size[S] + v) * size[K], in = point * size[C] + c;
            for (size_t k = 0; k < size[K]; k++)
                if (backward) {
                    dx[in] += dy[to + k] * weights[of + k];
                    dweights[of + k] += dy[to + k] * x[in];
                } else {
                    y[to + k] += x[in] * weights[of + k];
                }
        }
    }
}

static void NAME(forward)(const struct nn_call *call)
{
    const size_t *size = call->shape->size;
    const REAL *bias = call->value[BIAS];
    REAL *y = call->value[Y];
    for (size_t i = 0; i < size[B] * size[H] * size[W] * size[K]; i++)
        y[i] = bias != NULL ? bias[i % size[K]] : 0;
    NAME(pass)(call, false);
}

static void NAME(vjp)(const struct nn_call *call)
{
    const size_t *size = call->shape->size;
    const REAL *dy = call->gradient[Y];
    REAL *dx = call->gradient[X], *dweights = call->gradient[WEIGHTS], *db = call->gradient[BIAS];
    memset(dx, 0, size[B] * size[P] * size[Q] * size[C] * sizeof *dx);
    memset(dweights, 0, size[C] * size[R] * size[S] * size[K] * sizeof *dweights);
    NAME(pass)(call, true);
    for (size_t k = 0; k < size[K] && db != NULL; k++)
        db[k] = 0;
    for (size_t i = 0; i < size[B] * size[H] * size[W] * size[K] && db != NULL; i++)
        db[i % size[K]] += dy[i];
}
#endif

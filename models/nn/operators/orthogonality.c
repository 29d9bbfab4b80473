/* The penalty of rows that are not orthonormal: y = ||w w^T - I||_F^2, one number, of w (k, c).
 * dw = 4 dy (w w^T - I) w. */
#ifndef REAL
#define NN_FILE "models/nn/operators/orthogonality.c"
enum { W, Y };
enum { K, C };
#include "models/nn/fast.h"
#include "models/nn/plain.h"

static size_t work(const struct nn_shape *shape)
{
    return shape->size[K] * shape->size[K] * sizeof(float);
}

/* w w^T - I */
static void excess_of(const struct nn_call *call, float *excess)
{
    size_t components = call->shape->size[K];
    int k = (int)components, c = (int)call->shape->size[C];
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, k, k, c, 1, call->value[W], c,
                call->value[W], c, 0, excess, k);
    for (size_t i = 0; i < components; i++)
        excess[i * components + i] -= 1;
}

static enum yp_status forward(const struct nn_call *call)
{
    size_t components = call->shape->size[K];
    float *excess = call->work;
    double sum = 0;
    excess_of(call, excess);
    for (size_t i = 0; i < components * components; i++)
        sum += (double)excess[i] * (double)excess[i];
    *(float *)call->value[Y] = (float)sum;
    return YP_OK;
}

static enum yp_status vjp(const struct nn_call *call)
{
    int k = (int)call->shape->size[K], c = (int)call->shape->size[C];
    if (call->gradient[W] == NULL)
        return YP_OK;
    excess_of(call, call->work);
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, k, c, k, 4 * *(float *)call->gradient[Y],
                call->work, k, call->value[W], c, 0, call->gradient[W], c);
    return YP_OK;
}

static double flops(const struct nn_shape *shape, enum nn_pass pass)
{
    double k = (double)shape->size[K], c = (double)shape->size[C];
    return k * (k + 1) * c + (pass == NN_VJP ? 2 * k * k * c : 2 * k * k);
}

const struct nn_operator nn_orthogonality = {
    .name = "orthogonality",
    .dims = "kc",
    .tensors = {{"w", "kc", .role = NN_PARAMETER}, {"y", "", .role = NN_OUTPUT}},
    .shapes = {{"one", .size = {1, 1}},
               {"odd", .size = {3, 7}},
               {"small", .size = {20, 100}},
               {"medium", .size = {200, 400}}},
    NN_PLAIN,
    .flops = flops,
    .versions = {{NN_FP32, "cpu", .forward = forward, .vjp = vjp, .work = work}},
};

#else
/* (w w^T - I)_ij */
static REAL NAME(excess)(const REAL *w, size_t channels, size_t i, size_t j)
{
    REAL sum = i == j ? -1 : 0;
    for (size_t c = 0; c < channels; c++)
        sum += w[i * channels + c] * w[j * channels + c];
    return sum;
}

static void NAME(forward)(const struct nn_call *call)
{
    size_t components = call->shape->size[K], channels = call->shape->size[C];
    REAL *y = call->value[Y];
    *y = 0;
    for (size_t i = 0; i < components; i++)
        for (size_t j = 0; j < components; j++) {
            REAL excess = NAME(excess)(call->value[W], channels, i, j);
            *y += excess * excess;
        }
}

static void NAME(vjp)(const struct nn_call *call)
{
    size_t components = call->shape->size[K], channels = call->shape->size[C];
    const REAL *w = call->value[W], *dy = call->gradient[Y];
    REAL *dw = call->gradient[W];
    memset(dw, 0, components * channels * sizeof *dw);
    for (size_t i = 0; i < components; i++)
        for (size_t j = 0; j < components; j++) {
            REAL excess = NAME(excess)(w, channels, i, j);
            for (size_t c = 0; c < channels; c++)
                dw[i * channels + c] += 4 * *dy * excess * w[j * channels + c];
        }
}
#endif

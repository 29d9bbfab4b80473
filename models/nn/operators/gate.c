/* y (n) = x sigmoid(g). With s = sigmoid(g): dx = dy s, dg = dy x s (1 - s). */
#ifndef REAL
#define NN_FILE "models/nn/operators/gate.c"
enum { X, G, Y };
enum { N };
#include "models/nn/cuda/on_cuda.h"
#include "models/nn/fast.h"
#include "models/nn/maths.h"
#include "models/nn/plain.h"
#include "models/nn/types.h"

NN_LOOPS values_loops(enum nn_type type, const void *x, const void *g, size_t n, void *restrict y)
{
#pragma omp simd
    for (size_t i = 0; i < n; i++)
        nn_put(y, i, nn_get(x, i, type) / (1 + nn_exp(-nn_get(g, i, type))), type);
}
NN_TYPED_KERNEL(values, (const void *x, const void *g, size_t n, void *y), (x, g, n, y))

/* The slopes by x, or with `x` by the gate: with e = e^-|g|, s (1 - s) = e / (1 + e)^2. Compilers
 * make vector code of it where `add` is a constant. */
NN_LOOPS slopes_of(enum nn_type type, const void *x, const void *g, const void *dy, size_t n,
                   bool add, void *restrict dx)
{
#pragma omp simd
    for (size_t i = 0; i < n; i++) {
        const float e = nn_exp(-fabsf(nn_get(g, i, type)));
        const float slope = x != NULL ? nn_get(x, i, type) * (e / ((1 + e) * (1 + e)))
                                      : 1 / (1 + nn_exp(-nn_get(g, i, type)));
        nn_put(dx, i, slope * nn_get(dy, i, type) + (add ? nn_get(dx, i, type) : 0), type);
    }
}

NN_LOOPS slopes_loops(enum nn_type type, const void *x, const void *g, const void *dy, size_t n,
                      bool add, void *restrict dx)
{
    if (x != NULL && add)
        slopes_of(type, x, g, dy, n, true, dx);
    else if (x != NULL)
        slopes_of(type, x, g, dy, n, false, dx);
    else if (add)
        slopes_of(type, NULL, g, dy, n, true, dx);
    else
        slopes_of(type, NULL, g, dy, n, false, dx);
}
NN_TYPED_KERNEL(slopes,
                (const void *x, const void *g, const void *dy, size_t n, bool add, void *dx),
                (x, g, dy, n, add, dx))

static enum yp_status forward_in(const struct nn_call *call, enum nn_type type)
{
    values_kernel *kernel = best_values(type);
    const size_t n = call->shape->size[N];
    NN_PARALLEL_FOR(n > NN_FEW * NN_CHUNK, at, n, NN_CHUNK,
                    kernel(nn_from(call->value[X], at, type), nn_from(call->value[G], at, type),
                           nn_least(NN_CHUNK, n - at), nn_from(call->value[Y], at, type)));
    return YP_OK;
}

static enum yp_status vjp_in(const struct nn_call *call, enum nn_type type)
{
    slopes_kernel *kernel = best_slopes(type);
    const size_t n = call->shape->size[N];
    NN_PARALLEL_FOR(n > NN_FEW * NN_CHUNK, at, n, NN_CHUNK, {
        for (int i = X; i <= G; i++)
            if (call->gradient[i] != NULL)
                kernel(i == G ? nn_from(call->value[X], at, type) : NULL,
                       nn_from(call->value[G], at, type), nn_from(call->gradient[Y], at, type),
                       nn_least(NN_CHUNK, n - at), nn_adds(call, i),
                       nn_from(call->gradient[i], at, type));
    });
    return YP_OK;
}

NN_EACH_TYPE

static struct nn_cuda_gate job_of(const struct nn_call *call, enum nn_type type)
{
    return (struct nn_cuda_gate){.n = call->shape->size[N],
                                 .type = type,
                                 .add_dx = nn_adds(call, X),
                                 .add_dg = nn_adds(call, G),
                                 .x = call->value[X],
                                 .g = call->value[G],
                                 .dy = call->gradient[Y],
                                 .y = call->value[Y],
                                 .dx = call->gradient[X],
                                 .dg = call->gradient[G]};
}

NN_ON_CUDA_BY_JOB(gate, struct nn_cuda_gate)

static double flops(const struct nn_shape *shape, enum nn_pass pass)
{
    return (NN_FUNCTION + (pass == NN_VJP ? 7 : 3)) * (double)shape->size[N];
}

const struct nn_operator nn_gate = {
    .name = "gate",
    .dims = "n",
    .tensors = {{"x", "n", .role = NN_INPUT, .adds = true},
                {"g", "n", .role = NN_INPUT, .adds = true,
                 .domain = {NN_BELL, .low = 0, .high = 2}},
                {"y", "n", .role = NN_OUTPUT}},
    NN_LINE_SHAPES(0),
    NN_PLAIN,
    .flops = flops,
    NN_EACH_VERSION(NULL, NULL, "bbb", "bbb"),
};

#else
static void NAME(forward)(const struct nn_call *call)
{
    const REAL *x = call->value[X], *g = call->value[G];
    REAL *y = call->value[Y];
    for (size_t i = 0; i < call->shape->size[N]; i++)
        y[i] = x[i] / (1 + exp(-g[i]));
}

static void NAME(vjp)(const struct nn_call *call)
{
    const REAL *x = call->value[X], *g = call->value[G], *dy = call->gradient[Y];
    REAL *dx = call->gradient[X], *dg = call->gradient[G];
    for (size_t i = 0; i < call->shape->size[N]; i++) {
        const REAL s = 1 / (1 + exp(-g[i]));
        dx[i] = dy[i] * s;
        dg[i] = dy[i] * x[i] * s / (1 + exp(g[i]));
    }
}
#endif

/* y (n) = silu(gate) up with silu(g) = g / (1 + e^-g), the gated unit of Shazeer ("GLU variants
 * improve transformer", 2020). With s = 1 / (1 + e^-gate): dgate = dy up s (1 + gate (1 - s)),
 * dup = dy gate s. */
#ifndef REAL
#define NN_FILE "models/nn/operators/swiglu.c"
enum { GATE, UP, Y };
enum { N };
#include "models/nn/cuda/on_cuda.h"
#include "models/nn/fast.h"
#include "models/nn/maths.h"
#include "models/nn/plain.h"
#include "models/nn/types.h"

NN_LOOPS units_loops(enum nn_type type, const void *gate, const void *up, size_t n,
                     void *restrict y)
{
#pragma omp simd
    for (size_t i = 0; i < n; i++) {
        float g = nn_get(gate, i, type);
        nn_put(y, i, g / (1 + nn_exp(-g)) * nn_get(up, i, type), type);
    }
}
NN_TYPED_KERNEL(units, (const void *gate, const void *up, size_t n, void *y), (gate, up, n, y))

NN_LOOPS slopes_loops(enum nn_type type, const void *gate, const void *up, const void *dy, size_t n,
                      void *restrict dgate, void *restrict dup)
{
#pragma omp simd
    for (size_t i = 0; i < n; i++) {
        float g = nn_get(gate, i, type), d = nn_get(dy, i, type);
        float s = 1 / (1 + nn_exp(-g));
        if (dgate != NULL)
            nn_put(dgate, i, d * nn_get(up, i, type) * (s * (1 + g * (1 - s))), type);
        if (dup != NULL)
            nn_put(dup, i, d * (g * s), type);
    }
}
NN_TYPED_KERNEL(slopes,
                (const void *gate, const void *up, const void *dy, size_t n, void *dgate,
                 void *dup),
                (gate, up, dy, n, dgate, dup))

static enum yp_status forward_in(const struct nn_call *call, enum nn_type type)
{
    units_kernel *kernel = best_units(type);
    size_t n = call->shape->size[N];
    NN_PARALLEL_FOR(n > NN_FEW * NN_CHUNK, at, n, NN_CHUNK,
                    kernel(nn_from(call->value[GATE], at, type), nn_from(call->value[UP], at, type),
                           nn_least(NN_CHUNK, n - at), nn_from(call->value[Y], at, type)));
    return YP_OK;
}

static void *part(void *array, size_t at, enum nn_type type)
{
    return array != NULL ? nn_from(array, at, type) : NULL;
}

static enum yp_status vjp_in(const struct nn_call *call, enum nn_type type)
{
    slopes_kernel *kernel = best_slopes(type);
    size_t n = call->shape->size[N];
    NN_PARALLEL_FOR(n > NN_FEW * NN_CHUNK, at, n, NN_CHUNK,
                    kernel(nn_from(call->value[GATE], at, type), nn_from(call->value[UP], at, type),
                           nn_from(call->gradient[Y], at, type), nn_least(NN_CHUNK, n - at),
                           part(call->gradient[GATE], at, type),
                           part(call->gradient[UP], at, type)));
    return YP_OK;
}

NN_EACH_TYPE

static struct nn_cuda_swiglu job_of(const struct nn_call *call, enum nn_type type)
{
    return (struct nn_cuda_swiglu){
        call->shape->size[N], type,           call->value[GATE],    call->value[UP],
        call->gradient[Y],    call->value[Y], call->gradient[GATE], call->gradient[UP]};
}

NN_ON_CUDA_BY_JOB(swiglu, struct nn_cuda_swiglu)

static double flops(const struct nn_shape *shape, enum nn_pass pass)
{
    return (NN_FUNCTION + (pass == NN_VJP ? 9 : 4)) * (double)shape->size[N];
}

const struct nn_operator nn_swiglu = {
    .name = "swiglu",
    .dims = "n",
    .tensors = {{"gate", "n", .role = NN_INPUT, .domain = {NN_BELL, .low = 0, .high = 2}},
                {"up", "n", .role = NN_INPUT},
                {"y", "n", .role = NN_OUTPUT}},
    NN_LINE_SHAPES(0),
    NN_PLAIN,
    .flops = flops,
    NN_EACH_VERSION(NULL, NULL, "bbb", "bbb"),
};

#else
static void NAME(forward)(const struct nn_call *call)
{
    const REAL *gate = call->value[GATE], *up = call->value[UP];
    REAL *y = call->value[Y];
    for (size_t i = 0; i < call->shape->size[N]; i++)
        y[i] = gate[i] / (1 + exp(-gate[i])) * up[i];
}

static void NAME(vjp)(const struct nn_call *call)
{
    const REAL *gate = call->value[GATE], *up = call->value[UP], *dy = call->gradient[Y];
    REAL *dgate = call->gradient[GATE], *dup = call->gradient[UP];
    for (size_t i = 0; i < call->shape->size[N]; i++) {
        REAL s = 1 / (1 + exp(-gate[i]));
        dgate[i] = dy[i] * up[i] * s * (1 + gate[i] * (1 - s));
        dup[i] = dy[i] * gate[i] * s;
    }
}
#endif

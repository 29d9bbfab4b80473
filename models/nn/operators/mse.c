/* loss (n) = mean over c of (y - t)^2, of y (n, c) against t (n, c). dy = 2 (y - t) dloss / c =
 * -dt. */
#ifndef REAL
#define NN_FILE "models/nn/operators/mse.c"
enum { Y, T, LOSS };
enum { N, C };
#include "models/nn/cuda/on_cuda.h"
#include "models/nn/fast.h"
#include "models/nn/plain.h"
#include "models/nn/types.h"

NN_LOOPS losses_loops(enum nn_type type, const void *y, const void *t, size_t rows, size_t c,
                      float *restrict loss)
{
    for (size_t i = 0; i < rows; i++) {
        float sum = 0;
#pragma omp simd reduction(+ : sum)
        for (size_t k = i * c; k < (i + 1) * c; k++) {
            float off = nn_get(y, k, type) - nn_get(t, k, type);
            sum += off * off;
        }
        loss[i] = sum / (float)c;
    }
}
NN_TYPED_KERNEL(losses, (const void *y, const void *t, size_t rows, size_t c, float *loss),
                (y, t, rows, c, loss))

/* dy and dt, or one of them. */
NN_LOOPS slopes_loops(enum nn_type type, const void *y, const void *t, const float *dloss,
                      size_t rows, size_t c, void *restrict dy, void *restrict dt)
{
    for (size_t i = 0; i < rows; i++) {
        float twice = dloss[i] * 2 / (float)c;
        for (size_t k = i * c; k < (i + 1) * c && dy != NULL; k++)
            nn_put(dy, k, twice * (nn_get(y, k, type) - nn_get(t, k, type)), type);
        for (size_t k = i * c; k < (i + 1) * c && dt != NULL; k++)
            nn_put(dt, k, twice * (nn_get(t, k, type) - nn_get(y, k, type)), type);
    }
}
NN_TYPED_KERNEL(slopes,
                (const void *y, const void *t, const float *dloss, size_t rows, size_t c, void *dy,
                 void *dt),
                (y, t, dloss, rows, c, dy, dt))

static enum yp_status forward_in(const struct nn_call *call, enum nn_type type)
{
    const void *y = call->value[Y], *t = call->value[T];
    float *loss = call->value[LOSS];
    size_t n = call->shape->size[N], c = call->shape->size[C], rows = nn_rows(c, NN_CHUNK);
    losses_kernel *kernel = best_losses(type);
    NN_PARALLEL_FOR(n > NN_FEW * rows, at, n, rows,
                    kernel(nn_from(y, at * c, type), nn_from(t, at * c, type),
                           nn_least(rows, n - at), c, loss + at));
    return YP_OK;
}

static enum yp_status vjp_in(const struct nn_call *call, enum nn_type type)
{
    const void *y = call->value[Y], *t = call->value[T];
    const float *dloss = call->gradient[LOSS];
    void *dy = call->gradient[Y], *dt = call->gradient[T];
    size_t n = call->shape->size[N], c = call->shape->size[C], rows = nn_rows(c, NN_CHUNK);
    slopes_kernel *kernel = best_slopes(type);
    NN_PARALLEL_FOR(n > NN_FEW * rows, at, n, rows,
                    kernel(nn_from(y, at * c, type), nn_from(t, at * c, type), dloss + at,
                           nn_least(rows, n - at), c, dy != NULL ? nn_from(dy, at * c, type) : NULL,
                           dt != NULL ? nn_from(dt, at * c, type) : NULL));
    return YP_OK;
}

NN_EACH_TYPE

static struct nn_cuda_mse job_of(const struct nn_call *call, enum nn_type type)
{
    const size_t *size = call->shape->size;
    return (struct nn_cuda_mse){.type = type,
                                .n = size[N],
                                .c = size[C],
                                .y = call->value[Y],
                                .t = call->value[T],
                                .dloss = call->gradient[LOSS],
                                .loss = call->value[LOSS],
                                .dy = call->gradient[Y],
                                .dt = call->gradient[T]};
}

NN_ON_CUDA_BY_JOB(mse, struct nn_cuda_mse)

static double flops(const struct nn_shape *shape, enum nn_pass pass)
{
    double n = (double)shape->size[N], c = (double)shape->size[C];
    return pass == NN_VJP ? n * (3 * c + 2) : n * (3 * c + 1);
}

const struct nn_operator nn_mse = {
    .name = "mse",
    .dims = "nc",
    .tensors = {{"y", "nc", .role = NN_INPUT},
                {"t", "nc", .role = NN_INPUT},
                {"loss", "n", .role = NN_OUTPUT}},
    .shapes = {{"one", .size = {1, 1}},
               {"odd", .size = {5, 7}},
               {"small", .size = {64, 100}},
               {"medium", .size = {16384, 200}}},
    NN_PLAIN,
    .flops = flops,
    NN_EACH_VERSION(NULL, NULL, "bbf", "bbf"),
};

#else
static void NAME(forward)(const struct nn_call *call)
{
    size_t n = call->shape->size[N], channels = call->shape->size[C];
    const REAL *y = call->value[Y], *t = call->value[T];
    REAL *loss = call->value[LOSS];
    for (size_t i = 0; i < n; i++) {
        REAL sum = 0;
        for (size_t c = i * channels; c < (i + 1) * channels; c++)
            sum += (y[c] - t[c]) * (y[c] - t[c]);
        loss[i] = sum / (REAL)channels;
    }
}

static void NAME(vjp)(const struct nn_call *call)
{
    size_t n = call->shape->size[N], channels = call->shape->size[C];
    const REAL *y = call->value[Y], *t = call->value[T], *dloss = call->gradient[LOSS];
    REAL *dy = call->gradient[Y], *dt = call->gradient[T];
    for (size_t i = 0; i < n * channels; i++) {
        dy[i] = dloss[i / channels] * 2 * (y[i] - t[i]) / (REAL)channels;
        dt[i] = -dy[i];
    }
}
#endif

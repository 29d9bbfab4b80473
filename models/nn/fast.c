/* Loops over rows that several operators need. */
#include "models/nn/fast.h"

#include "models/nn/maths.h"
#include "models/nn/simd/pixels.h"
#include "models/nn/types.h"

#include <string.h>

size_t nn_columns_bytes(size_t n, size_t c)
{
    return nn_chunks(n, nn_rows(c, NN_CHUNK)) * c * sizeof(double);
}

NN_LOOPS columns_loops(enum nn_type type, const void *x, size_t rows, size_t c,
                       double *restrict sum)
{
    for (size_t i = 0; i < rows; i++)
        for (size_t k = 0; k < c; k++)
            sum[k] += (double)nn_get(x, i * c + k, type);
}
NN_TYPED_KERNEL(columns, (const void *x, size_t rows, size_t c, double *sum), (x, rows, c, sum))

void nn_columns(const void *x, enum nn_type type, size_t n, size_t c, double *sums)
{
    columns_kernel *kernel = best_columns(type);
    size_t rows = nn_rows(c, NN_CHUNK), chunks = nn_chunks(n, rows);
    memset(sums, 0, chunks * c * sizeof *sums);
    NN_PARALLEL_FOR(
        chunks > NN_FEW, i, chunks, 1,
        kernel(nn_from(x, i * rows * c, type), nn_least(rows, n - i * rows), c, sums + i * c));
    nn_merge(sums, chunks, c);
}

void nn_add_columns(const void *x, enum nn_type type, size_t rows, size_t c, double *sums)
{
    best_columns(type)(x, rows, c, sums);
}

void nn_put_sums(const struct nn_call *call, int i, const double *sums, size_t count)
{
    float *to = call->gradient[i];
    for (size_t k = 0; k < count && to != NULL; k++)
        to[k] = (float)(sums[k] + (nn_adds(call, i) ? (double)to[k] : 0));
}

void nn_bias_vjp(const struct nn_call *call, int i, const void *dy, enum nn_type type, size_t n,
                 size_t c, double *sums)
{
    if (call->gradient[i] != NULL)
        nn_columns(dy, type, n, c, sums);
    nn_put_sums(call, i, sums, c);
}

NN_LOOPS relu_loops(enum nn_type type, void *y, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        float value = nn_get(y, i, type);
        nn_put(y, i, value < 0 ? 0 : value, type);
    }
}
NN_TYPED_KERNEL(relu, (void *y, size_t n), (y, n))

NN_LOOPS gelu_loops(enum nn_type type, void *y, size_t n)
{
#pragma omp simd
    for (size_t i = 0; i < n; i++) {
        float value = nn_get(y, i, type);
        nn_put(y, i, value * nn_normal_below(value), type);
    }
}
NN_TYPED_KERNEL(gelu, (void *y, size_t n), (y, n))

void nn_activate(enum nn_activation how, void *y, enum nn_type type, size_t n)
{
    relu_kernel *kernel = how == NN_GELU ? best_gelu(type) : best_relu(type);
    n = how != NN_AS_IT_IS ? n : 0;
    NN_PARALLEL_FOR(n > NN_FEW * NN_CHUNK, at, n, NN_CHUNK,
                    kernel(nn_from(y, at, type), nn_least(NN_CHUNK, n - at)));
}

enum yp_status nn_activation_vjp(const struct nn_call *call, enum nn_activation how, float *z,
                                 float *dy, size_t n, float *dz)
{
    const struct nn_shape shape = {.size = {n}};
    const struct nn_call slopes = {
        .device = call->device, .shape = &shape, .value = {z}, .gradient = {dz, dy}};
    const struct nn_version *version =
        nn_version(how == NN_GELU ? &nn_gelu : &nn_relu, "cpu", NN_FP32);
    return version != NULL ? version->vjp(&slopes) : yp_last_status();
}

#define CHUNK_BYTES (NN_CHUNK * sizeof(float))

void nn_zero(void *out, size_t bytes)
{
    NN_PARALLEL_FOR(bytes > NN_FEW * CHUNK_BYTES, at, bytes, CHUNK_BYTES,
                    memset((char *)out + at, 0, nn_least(CHUNK_BYTES, bytes - at)));
}

void nn_copy(const void *from, size_t bytes, void *to)
{
    NN_PARALLEL_FOR(
        bytes > NN_FEW * CHUNK_BYTES, at, bytes, CHUNK_BYTES,
        memcpy((char *)to + at, (const char *)from + at, nn_least(CHUNK_BYTES, bytes - at)));
}

NN_LOOPS more_loops(enum nn_type type, const void *from, size_t n, void *restrict to)
{
    for (size_t i = 0; i < n; i++)
        nn_put(to, i, nn_get(to, i, type) + nn_get(from, i, type), type);
}
NN_TYPED_KERNEL(more, (const void *from, size_t n, void *to), (from, n, to))

void nn_add_to(const void *from, enum nn_type type, size_t n, void *to)
{
    more_kernel *kernel = best_more(type);
    NN_PARALLEL_FOR(
        n > NN_FEW * NN_CHUNK, at, n, NN_CHUNK,
        kernel(nn_from(from, at, type), nn_least(NN_CHUNK, n - at), nn_from(to, at, type)));
}

enum yp_status nn_check_indices(const char *op, const char *tensor, const int32_t *index,
                                size_t count, size_t below)
{
    for (size_t i = 0; i < count; i++)
        if (index[i] < 0 || (size_t)index[i] >= below)
            return yp_set_error(YP_INVALID, "%s: %s[%zu] is %d: must be 0 to %zu", op, tensor, i,
                                index[i], below - 1);
    return YP_OK;
}

enum yp_status nn_check_offsets(const char *op, const char *tensor, const int32_t *offset,
                                size_t segments, size_t rows)
{
    for (size_t i = 0; i <= segments; i++) {
        const size_t low = i == segments ? rows : i == 0 ? 0 : (size_t)offset[i - 1];
        const size_t high = i == 0 ? 0 : rows;
        if (offset[i] < 0 || (size_t)offset[i] < low || (size_t)offset[i] > high)
            return yp_set_error(YP_INVALID,
                                "%s: %s[%zu] is %d behind %d: offsets must ascend from "
                                "0 and must be 0 to %zu, which the last one is",
                                op, tensor, i, offset[i], i > 0 ? offset[i - 1] : 0, rows);
    }
    return YP_OK;
}

NN_LOOPS affine_loops(const float *x, float shift, float gain, size_t n, float *restrict y)
{
    for (size_t i = 0; i < n; i++)
        y[i] = gain * (x[i] - shift);
}
NN_KERNEL(affine, (const float *x, float shift, float gain, size_t n, float *y),
          (x, shift, gain, n, y))

NN_LOOPS slopes_loops(const float *x, const float *dy, float shift, float gain, size_t n,
                      float *restrict dx, double *restrict sums)
{
    double first = 0, second = 0;
    for (size_t i = 0; i < n && dx != NULL; i++)
        dx[i] = dy[i] * gain;
#pragma omp simd reduction(+ : first, second)
    for (size_t i = 0; i < n; i++) {
        first += (double)dy[i];
        second += (double)dy[i] * ((double)x[i] - (double)shift);
    }
    sums[0] = first;
    sums[1] = second;
}
NN_KERNEL(slopes,
          (const float *x, const float *dy, float shift, float gain, size_t n, float *dx,
           double *sums),
          (x, dy, shift, gain, n, dx, sums))

size_t nn_affine_bytes(size_t n)
{
    return nn_chunks(n, NN_CHUNK) * 2 * sizeof(double);
}

void nn_affine(const float *x, float shift, float gain, size_t n, float *y)
{
    affine_kernel *kernel = best_affine();
    NN_PARALLEL_FOR(n > NN_FEW * NN_CHUNK, at, n, NN_CHUNK,
                    kernel(x + at, shift, gain, nn_least(NN_CHUNK, n - at), y + at));
}

void nn_affine_vjp(const float *x, const float *dy, float shift, float gain, size_t n, float *dx,
                   double *sums)
{
    slopes_kernel *kernel = best_slopes();
    NN_PARALLEL_FOR(n > NN_FEW * NN_CHUNK, at, n, NN_CHUNK,
                    kernel(x + at, dy + at, shift, gain, nn_least(NN_CHUNK, n - at),
                           dx != NULL ? dx + at : NULL, sums + 2 * (at / NN_CHUNK)));
    nn_merge(sums, nn_chunks(n, NN_CHUNK), 2);
}

void nn_centre(const float *x, const float *middle, size_t n, size_t c, float *out)
{
    const struct ypi_pixel_kernels *kernels = ypi_pixel_kernels();
    size_t rows = nn_rows(c, NN_CHUNK);
    NN_PARALLEL_FOR(
        n > NN_FEW * rows, at, n, rows,
        kernels->centre(x + at * c, NULL, nn_least(rows, n - at), c, middle, out + at * c));
}

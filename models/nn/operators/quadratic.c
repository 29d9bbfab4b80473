/* A quadratic form: s (n) = z^T a z with z = x - mu, of x (n, c), mu (c), a (c, c), which need not
 * be symmetric: the score of RX and of LAD. dx = ds (a + a^T) z, dmu = -the sum of dx's rows, da =
 * sum ds z z^T. */
#ifndef REAL
#define NN_FILE "models/nn/operators/quadratic.c"
enum { X, MU, A, S };
enum { N, C };
#include "models/nn/fast.h"
#include "models/nn/plain.h"
#include "models/nn/simd/pixels.h"

enum { CENTRED = 1 << 16 }; /* elements that are worked on at once, so that they stay in a cache */

/* Rows of z and of ds z or a z; sums of z weighed by ds; a + a^T. */
static size_t work(const struct nn_shape *shape)
{
    size_t n = shape->size[N], c = shape->size[C], rows = nn_least(n, nn_rows(c, CENTRED));
    return nn_columns_bytes(rows, c) + c * sizeof(double) + (2 * rows + c) * c * sizeof(float);
}

static enum yp_status forward(const struct nn_call *call)
{
    size_t n = call->shape->size[N], channels = call->shape->size[C];
    size_t rows = nn_least(n, nn_rows(channels, CENTRED));
    const float *x = call->value[X];
    float *s = call->value[S], *z = call->work, *az = z + rows * channels;
    int c = (int)channels;
    const struct ypi_pixel_kernels *kernels = ypi_pixel_kernels();
    for (size_t at = 0; at < n; at += rows) {
        size_t some = nn_least(rows, n - at);
        nn_centre(x + at * channels, call->value[MU], some, channels, z);
        cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, (int)some, c, c, 1, z, c,
                    call->value[A], c, 0, az, c);
        kernels->dots(z, az, some, channels, s + at);
    }
    return YP_OK;
}

/* both = a + a^T */
static void symmetrise(const float *a, size_t c, float *both)
{
    for (size_t i = 0; i < c; i++)
        for (size_t k = 0; k < c; k++)
            both[i * c + k] = a[i * c + k] + a[k * c + i];
}

/* dmu = -(a + a^T) times the sum of ds z, which is `sums`. */
static void mean_vjp(const float *both, const double *sums, size_t c, float *dmu)
{
    for (size_t i = 0; i < c; i++) {
        double sum = 0;
        for (size_t k = 0; k < c; k++)
            sum += (double)both[i * c + k] * sums[k];
        dmu[i] = (float)-sum;
    }
}

static enum yp_status vjp(const struct nn_call *call)
{
    size_t n = call->shape->size[N], channels = call->shape->size[C];
    size_t rows = nn_least(n, nn_rows(channels, CENTRED));
    const float *x = call->value[X], *ds = call->gradient[S];
    float *dx = call->gradient[X], *dmu = call->gradient[MU], *da = call->gradient[A];
    double *sums = call->work, *some_sums = sums + channels;
    float *both = (float *)(some_sums + nn_columns_bytes(rows, channels) / sizeof(double));
    float *z = both + channels * channels, *weighed = z + rows * channels;
    int c = (int)channels;
    const struct ypi_pixel_kernels *kernels = ypi_pixel_kernels();
    symmetrise(call->value[A], channels, both);
    memset(sums, 0, channels * sizeof *sums);
    for (size_t at = 0; at < n; at += rows) {
        size_t some = nn_least(rows, n - at);
        nn_centre(x + at * channels, call->value[MU], some, channels, z);
        kernels->weigh(z, ds + at, 1, some, channels, weighed);
        if (dx != NULL)
            cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, (int)some, c, c, 1, weighed, c,
                        both, c, 0, dx + at * channels, c);
        if (da != NULL)
            cblas_sgemm(CblasRowMajor, CblasTrans, CblasNoTrans, c, c, (int)some, 1, weighed, c, z,
                        c, at > 0, da, c);
        nn_columns(weighed, NN_FLOAT, some, channels, some_sums);
        for (size_t k = 0; k < channels; k++)
            sums[k] += some_sums[k];
    }
    if (dmu != NULL)
        mean_vjp(both, sums, channels, dmu);
    return YP_OK;
}

static double flops(const struct nn_shape *shape, enum nn_pass pass)
{
    double n = (double)shape->size[N], c = (double)shape->size[C];
    return pass == NN_VJP ? n * (4 * c * c + 4 * c) : n * (2 * c * c + 3 * c);
}

const struct nn_operator nn_quadratic = {
    .name = "quadratic",
    .dims = "nc",
    .tensors = {{"x", "nc", .role = NN_INPUT},
                {"mu", "c", .role = NN_PARAMETER},
                {"a", "cc", .role = NN_PARAMETER},
                {"s", "n", .role = NN_OUTPUT}},
    .shapes = {{"one", .size = {1, 1}},
               {"odd", .size = {5, 7}},
               {"small", .size = {64, 100}},
               {"medium", .size = {8192, 200}}},
    NN_PLAIN,
    .flops = flops,
    .versions = {{NN_FP32, "cpu", .forward = forward, .vjp = vjp, .work = work}},
};

#else
static void NAME(forward)(const struct nn_call *call)
{
    size_t n = call->shape->size[N], channels = call->shape->size[C];
    const REAL *x = call->value[X], *mu = call->value[MU], *a = call->value[A];
    REAL *s = call->value[S];
    for (size_t i = 0; i < n; i++, x += channels) {
        s[i] = 0;
        for (size_t j = 0; j < channels; j++) {
            REAL row = 0;
            for (size_t k = 0; k < channels; k++)
                row += a[j * channels + k] * (x[k] - mu[k]);
            s[i] += (x[j] - mu[j]) * row;
        }
    }
}

static void NAME(vjp)(const struct nn_call *call)
{
    size_t n = call->shape->size[N], channels = call->shape->size[C];
    const REAL *x = call->value[X], *mu = call->value[MU], *a = call->value[A];
    const REAL *ds = call->gradient[S];
    REAL *dx = call->gradient[X], *dmu = call->gradient[MU], *da = call->gradient[A];
    memset(dmu, 0, channels * sizeof *dmu);
    memset(da, 0, channels * channels * sizeof *da);
    for (size_t i = 0; i < n; i++, x += channels, dx += channels)
        for (size_t j = 0; j < channels; j++) {
            REAL row = 0;
            for (size_t k = 0; k < channels; k++) {
                REAL zk = x[k] - mu[k];
                row += (a[j * channels + k] + a[k * channels + j]) * zk;
                da[j * channels + k] += ds[i] * (x[j] - mu[j]) * zk;
            }
            dx[j] = ds[i] * row;
            dmu[j] -= dx[j];
        }
}
#endif

/* Linear algebra of few channels in plain loops, in double: what is right. */
#pragma once

#include <math.h>
#include <stdbool.h>
#include <stddef.h>

static inline bool finite_pixel(const float *x, size_t channels)
{
    for (size_t c = 0; c < channels; c++)
        if (!isfinite(x[c]))
            return false;
    return true;
}

/* L of a = L L^T in the lower triangle of a (n, n), in place. */
static inline void cholesky(double *a, size_t n)
{
    for (size_t j = 0; j < n; j++)
        for (size_t i = j; i < n; i++) {
            for (size_t k = 0; k < j; k++)
                a[i * n + j] -= a[i * n + k] * a[j * n + k];
            a[i * n + j] = i == j ? sqrt(a[i * n + j]) : a[i * n + j] / a[j * n + j];
        }
}

/* z = L^-1 (x - mean); returns |z|^2. */
static inline double whiten(const double *l, const double *mean, const double *x, size_t n,
                            double *z)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++) {
        z[i] = x[i] - mean[i];
        for (size_t k = 0; k < i; k++)
            z[i] -= l[i * n + k] * z[k];
        z[i] /= l[i * n + i];
        sum += z[i] * z[i];
    }
    return sum;
}

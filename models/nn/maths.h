/* Elementary functions in float that compilers make vector code of: no calls, no branches. For any
 * loop of an operator; the plain loops have the C library's. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* e^x, to 2^-22 of it, for x from -87 to 88; below and above, as at those ends. NaN stays NaN.
 * x = n ln 2 + r, |r| <= ln 2 / 2; the polynomial for e^r is that of Cephes' expf (S. Moshier). */
static inline float nn_exp(float x)
{
    const float shift = 12582912.0F; /* 1.5 2^23: whole numbers are its last bits */
    x = x < -87.0F ? -87.0F : x;
    x = x > 88.0F ? 88.0F : x;
    float shifted = x * 1.44269504088896341F + shift, n = shifted - shift;
    float r = (x - n * 0.693359375F) + n * 2.12194440e-4F;
    float p = 1.9875691500e-4F;
    p = p * r + 1.3981999507e-3F;
    p = p * r + 8.3334519073e-3F;
    p = p * r + 4.1665795894e-2F;
    p = p * r + 1.6666665459e-1F;
    p = p * r + 5.0000001201e-1F;
    uint32_t bits;
    float power;
    memcpy(&bits, &shifted, sizeof bits);
    bits = (bits << 23) + (127U << 23);
    memcpy(&power, &bits, sizeof power);
    return (p * r * r + r + 1) * power;
}

/* ln(1 + u), to 2^-22 of it, for u from 0 to 1: 2 artanh(s) with s = u / (2 + u), by its series. */
static inline float nn_log1p_unit(float u)
{
    float s = u / (2 + u), z = s * s;
    float p = 1.0F / 15;
    p = p * z + 1.0F / 13;
    p = p * z + 1.0F / 11;
    p = p * z + 1.0F / 9;
    p = p * z + 1.0F / 7;
    p = p * z + 1.0F / 5;
    p = p * z + 1.0F / 3;
    return 2 * s + 2 * s * z * p;
}

/* The largest of x (n), n > 0. */
static inline float nn_max(const float *x, size_t n)
{
    float high = x[0];
#ifndef __clang__ /* which makes no vector code of it, and takes the wish for an error */
#pragma omp simd reduction(max : high)
#endif
    for (size_t i = 0; i < n; i++)
        high = x[i] > high ? x[i] : high;
    return high;
}

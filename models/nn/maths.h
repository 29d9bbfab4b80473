/* Elementary functions in float that compilers make vector code of: no calls, no branches. For any
 * loop of an operator; the plain loops have the C library's. */
#pragma once

#include <float.h>
#include <math.h>
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

/* 1 / (1 + e^-x). */
static inline float nn_sigmoid(float x)
{
    return 1 / (1 + nn_exp(-x));
}

/* Near 0 the polynomial of Cephes' tanhf (S. Moshier), elsewhere by the exponential. */
static inline float nn_tanh(float x)
{
    float z = x * x;
    float p = -5.70498872745e-3F;
    p = p * z + 2.06390887954e-2F;
    p = p * z - 5.37397155531e-2F;
    p = p * z + 1.33314422036e-1F;
    p = p * z - 3.33332819422e-1F;
    float near = p * z * x + x, far = 1 - 2 / (1 + nn_exp(2 * x));
    return z < 0.390625F ? near : far;
}

/* The share of the standard normal distribution below x, to 2^-26 of 1: (1 + erf(x / sqrt 2)) / 2.
 * With t = |x| / sqrt 2 its smaller half is erfc(t) / 2, and -ln erfc(t) = t q(t); q was fitted by
 * weighted least squares for t from 0 to 5. */
static inline float nn_normal_below(float x)
{
    float t = (x < 0 ? -x : x) * 0.70710678F;
    t = t > 5.0F ? 5.0F : t;
    float q = 1.2196232e-6F;
    q = q * t - 2.1419864e-5F;
    q = q * t + 1.6657841e-4F;
    q = q * t - 7.3494378e-4F;
    q = q * t + 1.7848490e-3F;
    q = q * t - 2.3372322e-4F;
    q = q * t - 1.9132055e-2F;
    q = q * t + 1.0277705e-1F;
    q = q * t + 6.3661873e-1F;
    q = q * t + 1.1283792F;
    float least = 0.5F * nn_exp(-t * q);
    return x < 0 ? least : 1 - least;
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

/* ln x, to 2^-22 of it, for normal numbers: those below, zero, negative and infinite ones, and NaN,
 * give NaN. x = 2^e m with m from sqrt 1/2 to sqrt 2, ln m = 2 artanh(s) with s = (m - 1) / (m +
 * 1).
 */
static inline float nn_log(float x)
{
    const uint32_t root = 0x3f3504f3U; /* sqrt 1/2 */
    uint32_t bits;
    float m;
    memcpy(&bits, &x, sizeof bits);
    float e = (float)((int32_t)(bits - root) >> 23);
    bits = ((bits - root) & 0x7fffffU) + root;
    memcpy(&m, &bits, sizeof m);
    float s = (m - 1) / (m + 1), z = s * s;
    float p = 1.0F / 11;
    p = p * z + 1.0F / 9;
    p = p * z + 1.0F / 7;
    p = p * z + 1.0F / 5;
    p = p * z + 1.0F / 3;
    float ln = e * 0.693359375F + (2 * s + (2 * s * z * p - e * 2.12194440e-4F));
    return x >= FLT_MIN && x <= FLT_MAX ? ln : NAN;
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

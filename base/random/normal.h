/*
 * Standard normals that are the same in bits everywhere.
 *
 * Box-Muller from words 2j and 2j + 1 of a stream gives normals 2j and 2j + 1: with
 * u = (x + 1/2) / 2^32 and v = (y + 1/2) / 2^32, s = sqrt(-2 ln u), they are s sin(2 pi v) and
 * s cos(2 pi v). |z| <= sqrt(66 ln 2) < 6.764.
 *
 * Error against the same formula in exact arithmetic, relative, at most 4.7 * 2^-23 = 5.6e-7, in
 * units of 2^-23:
 * - radius: u, or 1 - u above 1/2, is rounded twice, 1; -2 ln u changes by at most 1.44 times as
 *   much. The polynomial is good to 0.2, its roundings add 0.75, the product with e no more; the
 *   last sum 0.5. The root halves these 2.94 and adds 0.5.
 * - sine: angle 1, polynomial 0.24, its roundings 0.4, product 0.5; cosine less. Relative, too,
 *   where they cross 0, since quarter turns are taken off exactly.
 * - product: 0.5.
 * Absolute: |z| times that, at most 3.8e-6. Largest seen in 2^24 normals: 2.9e-7 relative, 7.1e-7
 * absolute.
 */
#pragma once

#include "base/random/philox.h"

/* 2 ln(1 + h/2) / h on [-1, 0), from the second coefficient on; the first is 1. Minimax in relative
 * error, 2.4e-8. */
#define YPI_LOG_1 -2.499976009e-01f
#define YPI_LOG_2 8.340823650e-02f
#define YPI_LOG_3 -3.045842610e-02f
#define YPI_LOG_4 1.648900472e-02f
#define YPI_LOG_5 5.674236454e-03f
#define YPI_LOG_6 1.891115867e-02f
#define YPI_LOG_7 1.282588392e-02f
#define YPI_LOG_8 5.530022550e-03f
#define YPI_LOG_E -1.38629436f /* -2 ln 2 */
/* sin(pi/4 x) / x and cos(pi/4 x) as polynomials of x^2 on [0, 1]: minimax in relative error,
 * 2.8e-8 and 4.0e-8. */
#define YPI_SIN_0 7.853981853e-01f
#define YPI_SIN_1 -8.074583113e-02f
#define YPI_SIN_2 2.491016407e-03f
#define YPI_SIN_3 -3.660915172e-05f
#define YPI_COS_1 -3.084244132e-01f
#define YPI_COS_2 1.585014910e-02f
#define YPI_COS_3 -3.189770214e-04f

/* sqrt(-2 ln((word + 1/2) / 2^32)). In the lower half, u = m 2^(e - 1) with m in [1, 2), e <= 0 and
 * h = m - 2: both parts of -ln u = -e ln 2 - ln(1 + h / 2) are positive, so nothing cancels. In the
 * upper half, h = 2 (u - 1) comes from the word itself and keeps its relative accuracy: the word as
 * a signed number is 2^32 u or 2^32 (u - 1), less the half. */
YPI_INLINE float ypi_normal_radius(uint32_t word)
{
    float x = YPI_FMA((float)(int32_t)word, 0x1p-31f, 0x1p-32f);
    int32_t bits = ypi_bits_of(x);
    float m = ypi_float_of((bits & 0x7fffff) | 0x3f800000);
    float h = bits < 0 ? x : m - 2.0f;
    float e = bits < 0 ? 0.0f : (float)((bits >> 23) - 127);
    float q = YPI_LOG_8;
    q = YPI_FMA(q, h, YPI_LOG_7);
    q = YPI_FMA(q, h, YPI_LOG_6);
    q = YPI_FMA(q, h, YPI_LOG_5);
    q = YPI_FMA(q, h, YPI_LOG_4);
    q = YPI_FMA(q, h, YPI_LOG_3);
    q = YPI_FMA(q, h, YPI_LOG_2);
    q = YPI_FMA(q, h, YPI_LOG_1);
    q = YPI_FMA(q, h, 1.0f);
    return YPI_SQRT(YPI_FMA(-h, q, e * YPI_LOG_E));
}

/* sin and cos of 2 pi (y + 1/2) / 2^32 less the nearest whole number of quarter turns: of -45 to 45
 * degrees, never of 0. That remainder of y, times four, is y * 4 modulo 2^32. */
YPI_INLINE void ypi_within_quarter(uint32_t y, float *sine, float *cosine)
{
    float angle = YPI_FMA((float)(int32_t)(y << 2), 0x1p-31f, 0x1p-30f);
    float z = angle * angle;
    float s = YPI_FMA(YPI_SIN_3, z, YPI_SIN_2);
    s = YPI_FMA(s, z, YPI_SIN_1);
    *sine = YPI_FMA(s, z, YPI_SIN_0) * angle;
    float c = YPI_FMA(YPI_COS_3, z, YPI_COS_2);
    c = YPI_FMA(c, z, YPI_COS_1);
    *cosine = YPI_FMA(c, z, 1.0f);
}

/* sin and cos of 2 pi (y + 1/2) / 2^32, times the radius of x. */
YPI_INLINE void ypi_normal_pair(uint32_t x, uint32_t y, float *first, float *second)
{
    float s, c;
    ypi_within_quarter(y, &s, &c);
    /* Bit 31: both change sign. Bit 30: they are swapped, and the second changes sign. */
    uint32_t turned = y + 0x20000000u;
    float r = ypi_float_of(ypi_bits_of(ypi_normal_radius(x)) ^ (int32_t)(turned & 0x80000000u));
    int32_t swap = (int32_t)(turned & 0x40000000u);
    *first = r * (swap != 0 ? c : s);
    *second = r * (swap != 0 ? -s : c);
}

/* Normal `index` of the stream, alone. */
YPI_INLINE float ypi_random_normal(struct ypi_stream stream, uint64_t index)
{
    uint32_t words[4];
    float first, second;
    ypi_philox_block(stream, index / 4, words);
    const uint32_t *pair = words + (index & 2u);
    ypi_normal_pair(pair[0], pair[1], &first, &second);
    return index % 2 == 0 ? first : second;
}

/*
 * The few operations that random numbers, and data made of them, are computed with.
 *
 * Each is exactly rounded by IEEE 754 (or is an integer operation), so any compiler, instruction
 * set or accelerator gives the same bits, provided that nothing contracts or reorders them: the
 * files that include this are compiled with -ffp-contract=off (nvcc: -fmad=false) and never with
 * -ffast-math. Functions of libm are not used: they differ between libraries and processors.
 */
#pragma once

#include <float.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifdef __FAST_MATH__
#error "this must be compiled without -ffast-math: the data would not repeat"
#endif

/* Always inlined, also at -O0, so that a body takes on the instruction set of its caller. */
#ifdef __CUDACC__
#define YPI_INLINE __host__ __device__ static __forceinline__
#else
#define YPI_INLINE static inline __attribute__((always_inline))
_Static_assert(FLT_EVAL_METHOD == 0, "float expressions must be rounded to float");
#endif

/* YPI_MIN(a, b) is a < b ? a : b and YPI_MAX(a, b) is a > b ? a : b; not for NaNs. Of 0 and -0
 * CUDA's instructions take 0 as the larger, the C forms take b: use them where b is a constant
 * other than -0 or where the sign of 0 does not matter. */
#ifdef __CUDA_ARCH__
#define YPI_UNROLL _Pragma("unroll") /* an array whose index varies is slow memory there */
#define YPI_FMA(a, b, c) __fmaf_rn(a, b, c)
#define YPI_SQRT(a) __fsqrt_rn(a)
#define YPI_MIN(a, b) fminf(a, b)
#define YPI_MAX(a, b) fmaxf(a, b)
#else
#define YPI_UNROLL
#define YPI_FMA(a, b, c) __builtin_fmaf(a, b, c)
#define YPI_SQRT(a) __builtin_sqrtf(a)
#define YPI_MIN(a, b) ((a) < (b) ? (a) : (b))
#define YPI_MAX(a, b) ((a) > (b) ? (a) : (b))
#endif

/* The 64-bit product of two 32-bit numbers. In PTX: from 64-bit operands nvcc makes two
 * instructions more. */
YPI_INLINE uint64_t ypi_wide(uint32_t a, uint32_t b)
{
#ifdef __CUDA_ARCH__
    uint64_t product;
    asm("mul.wide.u32 %0, %1, %2;" : "=l"(product) : "r"(a), "r"(b));
    return product;
#else
    return (uint64_t)a * b;
#endif
}

YPI_INLINE int32_t ypi_bits_of(float value)
{
    int32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

YPI_INLINE float ypi_float_of(int32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* (word + 1/2) / 2^32, rounded twice: in [2^-33, 1]. */
YPI_INLINE float ypi_uniform(uint32_t word)
{
    return YPI_FMA((float)word, 0x1p-32f, 0x1p-33f);
}

/* exp(x) for x <= 0, relative error below 2^-22; below -87 it stays at exp(-87).
 * x = n ln 2 + r with |r| <= ln(2)/2; coefficients of the polynomial: Cephes, expf. */
YPI_INLINE float ypi_exp(float x)
{
    x = x < -87.0f ? -87.0f : x;
    /* Adding and then subtracting 1.5 * 2^23 rounds to an integer. */
    float n = (x * 1.44269504f + 0x1.8p23f) - 0x1.8p23f;
    float r = YPI_FMA(n, -0.693359375f, x);
    r = YPI_FMA(n, 2.12194440e-4f, r);
    float p = 1.9875691500e-4f;
    p = YPI_FMA(p, r, 1.3981999507e-3f);
    p = YPI_FMA(p, r, 8.3334519073e-3f);
    p = YPI_FMA(p, r, 4.1665795894e-2f);
    p = YPI_FMA(p, r, 1.6666665459e-1f);
    p = YPI_FMA(p, r, 5.0000001201e-1f);
    p = YPI_FMA(p, r * r, r) + 1.0f;
    return p * ypi_float_of(((int32_t)n + 127) << 23);
}

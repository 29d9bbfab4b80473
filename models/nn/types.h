/* Numbers in the types of memory. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Of the CPU and, to nvcc, of kernels. */
#ifdef __CUDACC__
#define NN_BOTH static inline __host__ __device__
#else
#define NN_BOTH static inline
#endif

NN_BOTH float nn_from_bf16(uint16_t bf16)
{
    uint32_t bits = (uint32_t)bf16 << 16;
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* To the nearest, ties to even; NaN stays NaN. Without branches: vector code is made of it. */
NN_BOTH uint16_t nn_to_bf16(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    uint32_t rounded = bits + 0x7fffU + (bits >> 16 & 1U);
    uint32_t quiet = bits | 0x400000U;
    return (uint16_t)(((bits & 0x7fffffffU) > 0x7f800000U ? quiet : rounded) >> 16);
}

/* The nearest value of IEEE 754's binary16, ties to even, as a float: infinite from 65520 on, and a
 * multiple of 2^-24 below 2^-14. NaN stays NaN. Without branches. */
NN_BOTH float nn_as_fp16(float value)
{
    uint32_t bits, small, out;
    memcpy(&bits, &value, sizeof bits);
    uint32_t sign = bits & 0x80000000U, size = bits ^ sign;
    uint32_t rounded = (size + 0xfffU + (size >> 13 & 1U)) & ~0x1fffU;
    float tiny;
    memcpy(&tiny, &size, sizeof tiny);
    tiny = (tiny + 0.5F) - 0.5F; /* floats from 0.5 to 1 are 2^-24 apart */
    memcpy(&small, &tiny, sizeof small);
    out = size < 0x38800000U ? small : rounded > 0x477fe000U ? 0x7f800000U : rounded;
    out = (size > 0x7f800000U ? size : out) | sign;
    memcpy(&value, &out, sizeof value);
    return value;
}

/* Element i of an array of float, or of bf16: for loops that are compiled for each. */
NN_BOTH float nn_get(const void *array, size_t i, bool bf16)
{
    return bf16 ? nn_from_bf16(((const uint16_t *)array)[i]) : ((const float *)array)[i];
}

NN_BOTH void nn_put(void *array, size_t i, float value, bool bf16)
{
    if (bf16)
        ((uint16_t *)array)[i] = nn_to_bf16(value);
    else
        ((float *)array)[i] = value;
}

/* Bytes of an element. */
NN_BOTH size_t nn_width(bool bf16)
{
    return bf16 ? sizeof(uint16_t) : sizeof(float);
}

/* From element i on. */
NN_BOTH void *nn_from(const void *array, size_t i, bool bf16)
{
    return (char *)(uintptr_t)array + i * nn_width(bf16);
}

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

/* Elements in memory. What is not a real number has the same type in every version. */
enum nn_type {
    NN_REAL = 0, /* of a declaration: as the version says, double of the oracle */
    NN_DOUBLE,
    NN_FLOAT,
    NN_BFLOAT16, /* the upper half of a float */
    NN_FLOAT16,  /* IEEE 754's binary16 */
    NN_UINT8,
    NN_SINT8,
    NN_INT32,
};

NN_BOTH bool nn_16_bits(enum nn_type type)
{
    return type == NN_BFLOAT16 || type == NN_FLOAT16;
}

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

/* Numbers below 2^-14 are multiples of 2^-24. Without branches. */
NN_BOTH float nn_from_fp16(uint16_t fp16)
{
    uint32_t size = fp16 & 0x7fffU, small, bits;
    float value = (float)(int32_t)size * 0x1p-24F;
    memcpy(&small, &value, sizeof small);
    bits = size < 0x400U ? small : (size << 13) + (size < 0x7c00U ? 112U << 23 : 224U << 23);
    bits |= (uint32_t)(fp16 & 0x8000U) << 16;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* As nn_as_fp16(), in 16 bits. */
NN_BOTH uint16_t nn_to_fp16(float value)
{
    uint32_t bits, small, out;
    memcpy(&bits, &value, sizeof bits);
    uint32_t size = bits & 0x7fffffffU, rounded = (size + 0xfffU + (size >> 13 & 1U)) >> 13;
    float tiny;
    memcpy(&tiny, &size, sizeof tiny);
    tiny += 0.5F; /* floats from 0.5 to 1 are 2^-24 apart */
    memcpy(&small, &tiny, sizeof small);
    out = size < 0x38800000U ? small - 0x3f000000U : rounded - (112U << 10);
    out = size < 0x47800000U && out < 0x7c00U ? out : size > 0x7f800000U ? 0x7e00U : 0x7c00U;
    return (uint16_t)(out | (bits >> 16 & 0x8000U));
}

/* Element i of an array of float, bf16 or fp16: for loops that are compiled for each. */
NN_BOTH float nn_get(const void *array, size_t i, enum nn_type type)
{
    return type == NN_BFLOAT16  ? nn_from_bf16(((const uint16_t *)array)[i])
           : type == NN_FLOAT16 ? nn_from_fp16(((const uint16_t *)array)[i])
                                : ((const float *)array)[i];
}

NN_BOTH void nn_put(void *array, size_t i, float value, enum nn_type type)
{
    if (type == NN_BFLOAT16)
        ((uint16_t *)array)[i] = nn_to_bf16(value);
    else if (type == NN_FLOAT16)
        ((uint16_t *)array)[i] = nn_to_fp16(value);
    else
        ((float *)array)[i] = value;
}

/* Bytes of an element. */
NN_BOTH size_t nn_width(enum nn_type type)
{
    return nn_16_bits(type) ? sizeof(uint16_t) : sizeof(float);
}

/* From element i on. */
NN_BOTH void *nn_from(const void *array, size_t i, enum nn_type type)
{
    return (char *)(uintptr_t)array + i * nn_width(type);
}

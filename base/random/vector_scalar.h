/*
 * The macros of base/simd/vector.h for one lane, V_LANES 1: plain C, or CUDA. Every operation is
 * exactly rounded (portable.h) or an integer one, as with AVX2 and AVX-512, so that the number of
 * lanes does not change results. No include guard; define V_TARGET and V_SUFFIX before, or take
 * plain C's.
 */
#include "base/random/portable.h"

#define V_NAME_OF_(name, suffix) name##_##suffix
#define V_NAME_OF(name, suffix) V_NAME_OF_(name, suffix)
#define V_NAME(name) V_NAME_OF(name, V_SUFFIX)
#ifndef V_SUFFIX
#define V_SUFFIX baseline
#define V_TARGET
#endif
#define VF float
#define VI int32_t
#define V_LOAD(p) (*(p))
#define V_STORE(p, v) (*(p) = (v))
#define V_FIRST(n) (n)
#define V_LOAD_MASKED(p, mask) ((void)(mask), 0.0f) /* no part of one lane */
#define V_STORE_MASKED(p, mask, v) ((void)(p), (void)(mask), (void)(v))
#define V_SET(x) (x)
#define V_FMA(a, b, c) YPI_FMA(a, b, c)
#define V_ADD(a, b) ((a) + (b))
#define V_SUB(a, b) ((a) - (b))
#define V_MUL(a, b) ((a) * (b))
#define V_DIV(a, b) ((a) / (b))
#define V_SQRT(a) YPI_SQRT(a)
#define V_MIN(a, b) YPI_MIN(a, b)
#define V_MAX(a, b) YPI_MAX(a, b)
#define VI_LOAD(p) ((int32_t) * (p))
#define VI_SET(x) (x)
#define VI_ADD(a, b) ((a) + (b))
#define VI_AND(a, b) ((a) & (b))
#define VI_SHIFT_LEFT(a, n) ((int32_t)((uint32_t)(a) << (n)))
#define V_PICK(a, index) ((void)(index), (a))
#define VI_OF_FLOAT(a) ((int32_t)(a))
#define V_OF_BITS(a) ypi_float_of(a)

/*
 * One source, several instruction sets: a normal build (no -march) uses what the machine has.
 *
 * A kernel is written once and compiled for each set, in one of two ways:
 * - loops that compilers make good vector code of are an always-inlined function in plain C,
 *   which YPI_SIMD_VERSIONS() compiles under each set;
 * - what needs vectors by hand uses the macros of base/simd/vector.h, in a file that is included
 * once for each set. Either way the versions stand in a table, the most portable first, and one of
 * the functions below chooses at run time by yp_isa(), so that YIELDPOINT_ISA holds for all of
 * them.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <yieldpoint/isa.h>

/* Attributes of the functions of each set. */
#define YPI_TARGET_BASELINE
#define YPI_TARGET_AVX2 __attribute__((target("avx2,fma,f16c")))
#define YPI_TARGET_AVX512 __attribute__((target("avx512f,avx512dq,avx512bw,avx512vl,avx2,fma")))
#define YPI_TARGET_AVX512_BF16 \
    __attribute__((target("avx512f,avx512dq,avx512bw,avx512vl,avx512bf16,avx2,fma")))

/* NAME_baseline(), NAME_avx2() and NAME_avx512(), each of which does `call`: of an inline function
 * in plain C, with return before it where there is a result. */
#if defined(__x86_64__)
#define YPI_SIMD_VERSIONS(type, name, parameters, call) \
    static type name##_baseline parameters \
    { \
        call; \
    } \
    YPI_TARGET_AVX2 static type name##_avx2 parameters \
    { \
        call; \
    } \
    YPI_TARGET_AVX512 static type name##_avx512 parameters \
    { \
        call; \
    }
#else
#define YPI_SIMD_VERSIONS(type, name, parameters, call) \
    static type name##_baseline parameters \
    { \
        call; \
    }
#endif

/* A version of a table of kernels, whatever type that has. */
struct ypi_simd_version {
    enum yp_isa isa;    /* that it needs */
    bool (*runs)(void); /* whether the processor has what it needs beyond that; NULL: nothing */
    const void *kernels;
};

/* The versions PREFIX_baseline, PREFIX_avx2 and PREFIX_avx512, for an initialiser. */
#if defined(__x86_64__)
#define YPI_SIMD_TABLE(prefix) \
    {YP_ISA_BASELINE, NULL, &prefix##_baseline}, {YP_ISA_AVX2, NULL, &prefix##_avx2}, \
    { \
        YP_ISA_AVX512, NULL, &prefix##_avx512 \
    }
#else
#define YPI_SIMD_TABLE(prefix) \
    { \
        YP_ISA_BASELINE, NULL, &prefix##_baseline \
    }
#endif

/* NAME_at(rank), as ypi_simd_at(), and NAME(), as ypi_simd_best(), of the kernels `type` in an
 * array versions[] of the file. */
#define YPI_SIMD_CHOICE(type, name) \
    const type *name##_at(int rank) \
    { \
        return ypi_simd_at(versions, sizeof versions / sizeof *versions, rank); \
    } \
    const type *name(void) \
    { \
        return ypi_simd_best(versions, sizeof versions / sizeof *versions); \
    }

/* Version `rank` of `count`, or NULL when there is none or this process may not use it. */
const void *ypi_simd_at(const struct ypi_simd_version *versions, size_t count, int rank);

/* The last version that this process may use; the first one always is. */
const void *ypi_simd_best(const struct ypi_simd_version *versions, size_t count);

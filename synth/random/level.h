/*
 * One source, several instruction sets: a normal build (no -march) uses what the machine has.
 *
 * There are three ways to write a kernel. Loops that compilers make good vector code of are an
 * always-inlined NAME_body() in plain C: SYNTH_VERSIONS() compiles it for each level and makes a
 * table NAME_versions[], indexed by the level (cuvis.c). Floats that need vectors by hand use the
 * macros of vector.h, in a file that is included once for each level (mixing.inc). Random words and
 * normals are integers across lanes: bulk_kernel.h has what is common, bulk_*.c what each level
 * adds. The results are the same in bits: all are made of exactly rounded operations (portable.h)
 * and of integers.
 */
#ifndef YIELDPOINT_SYNTH_LEVEL_H
#define YIELDPOINT_SYNTH_LEVEL_H

#include <stdbool.h>

enum synth_level {
    SYNTH_LEVEL_AUTO = 0, /* the highest that yp_isa() allows */
    SYNTH_LEVEL_BASELINE, /* what the compiler targets; on x86-64 fma is then libm's, and slow */
    SYNTH_LEVEL_AVX2,     /* AVX2 and FMA */
    SYNTH_LEVEL_AVX512,   /* AVX-512 F, DQ, BW, VL */
    SYNTH_LEVELS,
};

/* Whether this build has the level and yp_isa() allows it. AUTO and BASELINE: always. */
bool synth_level_runs(enum synth_level level);

/* `level` itself where it runs; otherwise, and for AUTO, the highest that does. */
enum synth_level synth_level_resolve(enum synth_level level);

#if defined(__x86_64__)
#define SYNTH_TARGET_AVX2 __attribute__((target("avx2,fma")))
#define SYNTH_TARGET_AVX512 __attribute__((target("avx512f,avx512dq,avx512bw,avx512vl,avx2,fma")))

#define SYNTH_VERSIONS(name, parameters, arguments) \
    static void name##_baseline parameters \
    { \
        name##_body arguments; \
    } \
    SYNTH_TARGET_AVX2 static void name##_avx2 parameters \
    { \
        name##_body arguments; \
    } \
    SYNTH_TARGET_AVX512 static void name##_avx512 parameters \
    { \
        name##_body arguments; \
    } \
    static void(*const name##_versions[SYNTH_LEVELS]) \
        parameters = {NULL, name##_baseline, name##_avx2, name##_avx512}
#else
#define SYNTH_VERSIONS(name, parameters, arguments) \
    static void name##_baseline parameters \
    { \
        name##_body arguments; \
    } \
    static void(*const name##_versions[SYNTH_LEVELS]) \
        parameters = {NULL, name##_baseline, NULL, NULL}
#endif

#endif

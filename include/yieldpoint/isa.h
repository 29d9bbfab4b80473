/*
 * Which instructions a process may use: what the processor and the system have, or less when the
 * environment says so. Kernels that exist for several instruction sets choose by yp_isa(), so that
 * one build runs everywhere, under Valgrind too, and a weaker machine can be simulated.
 */
#ifndef YIELDPOINT_ISA_H
#define YIELDPOINT_ISA_H

#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Each includes those before it. On processors other than x86-64 there is the baseline only. */
enum yp_isa {
    YP_ISA_BASELINE = 0, /* what the compiler targets without -march */
    YP_ISA_AVX2,         /* AVX2 and FMA */
    YP_ISA_AVX512,       /* AVX-512 F, DQ, BW, VL */
    YP_ISA_AMX,          /* AVX-512 and AMX tiles in bf16 and int8, allowed by the kernel */
    YP_ISAS
};

/* The highest one this process may use: the processor's and the system's, or the one named by the
 * environment variable YIELDPOINT_ISA (option --isa) where that is lower. Read once; safe to call
 * from every thread. */
enum yp_isa yp_isa(void);

const char *yp_isa_name(enum yp_isa isa); /* "baseline", "avx2", "avx512", "amx" */

/* The reverse; false when there is none of that name. */
bool yp_isa_from_name(const char *name, enum yp_isa *isa);

#ifdef __cplusplus
}
#endif

#endif

/*
 * The instruction set that a process may use: that of the processor and the system, or a lower one
 * from the environment. Kernels with versions for several sets choose by yp_isa(). So one build
 * runs everywhere, including under Valgrind, and can simulate a weaker machine.
 */
#ifndef YIELDPOINT_ISA_H
#define YIELDPOINT_ISA_H

#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Each set includes those before it. Processors other than x86-64 have only the baseline. */
enum yp_isa {
    YP_ISA_BASELINE = 0, /* the compiler's default without -march */
    YP_ISA_AVX2,         /* AVX2 and FMA */
    YP_ISA_AVX512,       /* AVX-512 F, DQ, BW, VL */
    YP_ISA_AMX,          /* AVX-512 and AMX tiles in bf16 and int8, allowed by the kernel */
    YP_ISAS
};

/* The highest set this process may use: that of the processor and the system, or that of the
 * environment variable YIELDPOINT_ISA (option --isa) if lower. Read once; safe to call from every
 * thread. */
enum yp_isa yp_isa(void);

const char *yp_isa_name(enum yp_isa isa); /* "baseline", "avx2", "avx512", "amx" */

/* The reverse; false for an unknown name. */
bool yp_isa_from_name(const char *name, enum yp_isa *isa);

#ifdef __cplusplus
}
#endif

#endif

/* The instruction set that computes values. All give the same bits, since values come from exactly
 * rounded operations (portable.h) and integers. base/simd/simd.h says how kernels are written. */
#ifndef YIELDPOINT_SYNTH_LEVEL_H
#define YIELDPOINT_SYNTH_LEVEL_H

#include "base/simd/simd.h"

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

/* The kernels of a level that runs, not AUTO; `versions` are those of YPI_SIMD_TABLE(). */
const void *ypi_synth_kernels(const struct ypi_simd_version *versions, enum synth_level level);

#endif

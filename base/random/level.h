/* The instruction set that computes values. All give the same bits, since values come from exactly
 * rounded operations (portable.h) and integers. base/simd/simd.h says how kernels are written. */
#pragma once

#include "base/simd/simd.h"

#include <stdbool.h>

enum ypi_level {
    YPI_LEVEL_AUTO = 0, /* the highest that yp_isa() allows */
    YPI_LEVEL_BASELINE, /* what the compiler targets; on x86-64 fma is then libm's, and slow */
    YPI_LEVEL_AVX2,     /* AVX2 and FMA */
    YPI_LEVEL_AVX512,   /* AVX-512 F, DQ, BW, VL */
    YPI_LEVELS,
};

/* Whether this build has the level and yp_isa() allows it. AUTO and BASELINE: always. */
bool ypi_level_runs(enum ypi_level level);

/* `level` itself where it runs; otherwise, and for AUTO, the highest that does. */
enum ypi_level ypi_level_resolve(enum ypi_level level);

/* The kernels of a level that runs, not AUTO; `versions` are those of YPI_SIMD_TABLE(). */
const void *ypi_level_kernels(const struct ypi_simd_version *versions, enum ypi_level level);

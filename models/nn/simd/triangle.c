/* The scores of triangle.h for the instruction sets of this machine. */
#include "models/nn/simd/triangle.h"

#include "base/simd/simd.h"

#include <string.h>

#include "models/nn/simd/unroll.h"

#define V_LANES 4
#include "base/simd/vector.h"

#include "models/nn/simd/triangle.inc"

#include "base/simd/vector_end.h"

#if defined(__x86_64__)
#define V_LANES 8
#include "base/simd/vector.h"

#include "models/nn/simd/triangle.inc"

#include "base/simd/vector_end.h"

#define V_LANES 16
#include "base/simd/vector.h"

#include "models/nn/simd/triangle.inc"

#include "base/simd/vector_end.h"
#endif

static const struct ypi_simd_version versions[] = {YPI_SIMD_TABLE(triangle)};
YPI_SIMD_CHOICE(struct ypi_triangle_kernels, ypi_triangle_kernels)

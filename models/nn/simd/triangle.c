/* The scores of triangle.h for the instruction sets of this machine. */
#include "models/nn/simd/triangle.h"

#include "base/simd/simd.h"

#include <string.h>

#include "models/nn/simd/unroll.h"

#define V_SOURCE "models/nn/simd/triangle.inc"
#include "base/simd/vector_sets.h"

static const struct ypi_simd_version versions[] = {YPI_SIMD_TABLE(triangle)};
YPI_SIMD_CHOICE(struct ypi_triangle_kernels, ypi_triangle_kernels)

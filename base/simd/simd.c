#include "base/simd/simd.h"

static bool runs(const struct ypi_simd_version *version)
{
    return version->isa <= yp_isa() && (version->runs == NULL || version->runs());
}

const void *ypi_simd_at(const struct ypi_simd_version *versions, size_t count, int rank)
{
    if (rank < 0 || (size_t)rank >= count || !runs(&versions[rank]))
        return NULL;
    return versions[rank].kernels;
}

const void *ypi_simd_best(const struct ypi_simd_version *versions, size_t count)
{
    size_t best = count - 1;
    while (best > 0 && !runs(&versions[best]))
        best--;
    return versions[best].kernels;
}

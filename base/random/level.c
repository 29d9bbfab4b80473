#include "base/random/level.h"

bool ypi_level_runs(enum ypi_level level)
{
    if (level == YPI_LEVEL_AUTO || level == YPI_LEVEL_BASELINE)
        return true;
#if defined(__x86_64__)
    return level < YPI_LEVELS && (int)yp_isa() >= (int)level - YPI_LEVEL_BASELINE;
#else
    return false;
#endif
}

enum ypi_level ypi_level_resolve(enum ypi_level level)
{
    if (level != YPI_LEVEL_AUTO && ypi_level_runs(level))
        return level;
    for (int best = YPI_LEVELS - 1; best > YPI_LEVEL_BASELINE; best--)
        if (ypi_level_runs((enum ypi_level)best))
            return (enum ypi_level)best;
    return YPI_LEVEL_BASELINE;
}

const void *ypi_level_kernels(const struct ypi_simd_version *versions, enum ypi_level level)
{
    return versions[(int)level - YPI_LEVEL_BASELINE].kernels;
}

#include "synth/random/level.h"

bool synth_level_runs(enum synth_level level)
{
    if (level == SYNTH_LEVEL_AUTO || level == SYNTH_LEVEL_BASELINE)
        return true;
#if defined(__x86_64__)
    return level < SYNTH_LEVELS && (int)yp_isa() >= (int)level - SYNTH_LEVEL_BASELINE;
#else
    return false;
#endif
}

enum synth_level synth_level_resolve(enum synth_level level)
{
    if (level != SYNTH_LEVEL_AUTO && synth_level_runs(level))
        return level;
    for (int best = SYNTH_LEVELS - 1; best > SYNTH_LEVEL_BASELINE; best--)
        if (synth_level_runs((enum synth_level)best))
            return (enum synth_level)best;
    return SYNTH_LEVEL_BASELINE;
}

const void *ypi_synth_kernels(const struct ypi_simd_version *versions, enum synth_level level)
{
    return versions[(int)level - SYNTH_LEVEL_BASELINE].kernels;
}

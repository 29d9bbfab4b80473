#include "synth/random/level.h"

#include <yieldpoint/isa.h>

bool synth_level_runs(enum synth_level level)
{
    switch (level) {
    case SYNTH_LEVEL_AUTO:
    case SYNTH_LEVEL_BASELINE:
        return true;
#if defined(__x86_64__)
    case SYNTH_LEVEL_AVX2:
        return yp_isa() >= YP_ISA_AVX2;
    case SYNTH_LEVEL_AVX512:
        return yp_isa() >= YP_ISA_AVX512;
#endif
    default:
        return false;
    }
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

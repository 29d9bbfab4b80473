#include "level.h"

bool synth_level_runs(enum synth_level level)
{
    switch (level) {
    case SYNTH_LEVEL_AUTO:
    case SYNTH_LEVEL_BASELINE:
        return true;
#if defined(__x86_64__)
    case SYNTH_LEVEL_AVX2:
        return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    case SYNTH_LEVEL_AVX512:
        return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
               __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") &&
               synth_level_runs(SYNTH_LEVEL_AVX2);
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

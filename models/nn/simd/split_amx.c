/* split_amx.inc with the instructions themselves. */
#include "models/nn/simd/split.h"

#ifdef __x86_64__
#include "models/nn/simd/split_term.h"

#include <immintrin.h>

#define TILE_TARGET \
    __attribute__((target("amx-tile,amx-bf16,avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")))
/* _tile_loadconfig() of gcc 12 tells the compiler of a pointer's size, 8 bytes, that are read: it
 * may leave out the stores of the other 56. */
#define TILE_CONFIG(layout) __asm__ volatile("ldtilecfg %0" ::"m"(*(layout)))
#define TILE_RELEASE() _tile_release()
#define TILE_ZERO(tile) _tile_zero(tile)
#define TILE_LOAD(tile, from, stride) _tile_loadd(tile, from, stride)
#define TILE_DP(sum, a, b) _tile_dpbf16ps(sum, a, b)
#define TILE_STORE(tile, to, stride) _tile_stored(tile, to, stride)
#define TURN_TILE(in, out) turn_tile(in, out)
#define TILE_KERNELS const struct ypi_split_kernels ypi_split_kernels_amx

#include "models/nn/simd/split_amx.inc"
#endif

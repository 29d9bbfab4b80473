/*
 * The identity of data: a sum, so that tiles hashed by any thread in any order add up.
 *
 * What is mixed is index * odd + bits. The odd number is 2^64 over the golden ratio, whose
 * multiples up to the N-th keep 2^64 / (sqrt(5) N) apart: two pairs of index and bits whose
 * indices are less than 1.9e9 apart never meet before the mixing.
 */
#include <yieldpoint/case.h>

#include <string.h>

#include "base/numbers/splitmix.h"
#include "base/simd/simd.h"

#define BLOCK 256 /* a fixed trip count: what compilers vectorise at -O2 already */

#define INLINE static inline __attribute__((always_inline))

/* The one body of every version: integers only, so all give the same sum. */
INLINE uint64_t hash_values(uint64_t first, const float *values, size_t count)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < count; i++) {
        uint32_t bits;
        memcpy(&bits, values + i, sizeof bits);
        sum += ypi_mix64((first + i) * YPI_GOLDEN + bits);
    }
    return sum;
}

INLINE uint64_t hash_range(uint64_t first, const float *values, size_t count)
{
    uint64_t sum = 0;
    size_t done = 0;
    for (; count - done >= BLOCK; done += BLOCK)
        sum += hash_values(first + done, values + done, BLOCK);
    return sum + hash_values(first + done, values + done, count - done);
}

/* AVX-512 multiplies 64-bit integers, eight at a time; AVX2 cannot and gains little. Picked at run
 * time and not by an ifunc: those resolve before a sanitizer has set itself up. */
YPI_SIMD_VERSIONS(uint64_t, hash, (uint64_t first, const float *values, size_t count),
                  return hash_range(first, values, count))

uint64_t yp_hash_f32(uint64_t first, const float *values, size_t count)
{
#if defined(__x86_64__)
    if (yp_isa() >= YP_ISA_AVX512)
        return hash_avx512(first, values, count);
    if (yp_isa() >= YP_ISA_AVX2)
        return hash_avx2(first, values, count);
#endif
    return hash_baseline(first, values, count);
}

/* A word has as many bits as the mix, so that its index is mixed before the two meet. */
uint64_t yp_hash_bytes(uint64_t first, const void *data, size_t bytes)
{
    const unsigned char *at = data;
    uint64_t sum = bytes * YPI_GOLDEN;
    for (size_t done = 0; done < bytes; done += sizeof(uint64_t), first++) {
        const size_t left = bytes - done;
        uint64_t word = 0;
        memcpy(&word, at + done, left < sizeof word ? left : sizeof word);
        sum += ypi_mix64(word ^ ypi_mix64((first + 1) * YPI_GOLDEN));
    }
    return sum;
}

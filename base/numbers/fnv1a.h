/* FNV-1a (Fowler, Noll, Vo), 64 bits where a name says nothing else: tells texts and torn messages
 * apart, where nobody plans a collision. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define YPI_FNV1A_BEGIN UINT64_C(0xcbf29ce484222325)

/* `hash`: YPI_FNV1A_BEGIN, or that of what stands before. */
static inline uint64_t ypi_fnv1a(uint64_t hash, const void *bytes, size_t count)
{
    const unsigned char *at = bytes;
    for (size_t i = 0; i < count; i++)
        hash = (hash ^ at[i]) * UINT64_C(0x100000001b3);
    return hash;
}

/* With 128 bits, as 32 hexadecimal digits and a NUL. */
void ypi_fnv128(const char *text, char out[33]);

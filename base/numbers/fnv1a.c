#include "base/numbers/fnv1a.h"

#include <stdio.h>

/* Multiplies by the prime 2^88 + 0x13b and keeps 128 bits; h[0] is the low half. */
static void multiply(uint64_t h[2])
{
    uint64_t low = (h[0] & 0xffffffffU) * 0x13b;
    uint64_t middle = (h[0] >> 32) * 0x13b + (low >> 32);
    uint64_t high = h[1] * 0x13b + (middle >> 32) + (h[0] << 24);
    h[0] = middle << 32 | (low & 0xffffffffU);
    h[1] = high;
}

void ypi_fnv128(const char *text, char out[33])
{
    uint64_t h[2] = {0x62b821756295c58dU, 0x6c62272e07bb0142U};
    for (; *text; text++) {
        h[0] ^= (unsigned char)*text;
        multiply(h);
    }
    snprintf(out, 33, "%016llx%016llx", (unsigned long long)h[1], (unsigned long long)h[0]);
}

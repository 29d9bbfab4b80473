/* A name for bytes: equal bytes have equal names, others hardly ever (128 bits). Not for strangers,
 * who could make two alike. */
#pragma once

#include "base/numbers/splitmix.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

struct ypi_digest {
    uint64_t sums[2];
};

enum { YPI_DIGEST_MAX = 33 }; /* its text with the NUL */

static inline void ypi_digest_word(struct ypi_digest *d, uint64_t word)
{
    d->sums[0] = ypi_mix64(d->sums[0] + word + YPI_GOLDEN);
    d->sums[1] = ypi_mix64((d->sums[1] ^ word) + d->sums[0]);
}

/* The length too, so that two texts in a row are not another two. */
static inline void ypi_digest_bytes(struct ypi_digest *d, const void *bytes, size_t count)
{
    const unsigned char *at = bytes;
    ypi_digest_word(d, count);
    for (; count > 0;) {
        uint64_t word = 0;
        size_t part = count < sizeof word ? count : sizeof word;
        memcpy(&word, at, part);
        ypi_digest_word(d, word);
        at += part;
        count -= part;
    }
}

static inline void ypi_digest_text(struct ypi_digest *d, const char *text)
{
    ypi_digest_bytes(d, text, strlen(text));
}

static inline void ypi_digest_print(const struct ypi_digest *d, char out[YPI_DIGEST_MAX])
{
    snprintf(out, YPI_DIGEST_MAX, "%016" PRIx64 "%016" PRIx64, d->sums[0], d->sums[1]);
}

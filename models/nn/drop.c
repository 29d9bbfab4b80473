/* Masks by blocks of words. */
#include "models/nn/drop.h"

#include "base/random/stream.h"
#include "models/nn/fast.h"
#include "models/nn/types.h"

enum { WORDS = 1024 }; /* that are made at once */

NN_LOOPS keep_loops(enum nn_type type, const void *x, const uint32_t *word, uint32_t least,
                    float factor, size_t n, bool add, void *y)
{
#pragma omp simd
    for (size_t i = 0; i < n; i++) {
        const float value = nn_get(x, i, type) * (word[i] >= least ? factor : 0);
        nn_put(y, i, add ? nn_get(y, i, type) + value : value, type);
    }
}
NN_TYPED_KERNEL(keep,
                (const void *x, const uint32_t *word, uint32_t least, float factor, size_t n,
                 bool add, void *y),
                (x, word, least, factor, n, add, y))

enum yp_status nn_check_drop(const char *op, const struct nn_drop *drop)
{
    if (drop->rate >= 0 && drop->rate < 1)
        return YP_OK;
    return yp_set_error(YP_INVALID, "%s: rate is %g: must be at least 0 and below 1", op,
                        drop->rate);
}

void nn_drop_row(const struct nn_drop *drop, size_t row, size_t place, enum nn_type type,
                 const void *x, size_t n, bool add, void *y)
{
    const uint32_t least = nn_drop_threshold(drop);
    const float factor = (float)(1 / (1 - drop->rate));
    const struct ypi_stream stream = nn_drop_stream(drop, row);
    keep_kernel *keep = best_keep(type);
    uint32_t word[WORDS];
    if (drop->whole) {
        ypi_random_words(YPI_LEVEL_AUTO, stream, 0, 1, word);
        for (size_t i = 1; i < WORDS; i++)
            word[i] = word[0];
    }
    for (size_t at = 0; at < n; at += WORDS) {
        const size_t some = nn_least(WORDS, n - at);
        if (!drop->whole)
            ypi_random_words(YPI_LEVEL_AUTO, stream, place + at, some, word);
        keep(nn_from(x, at, type), word, least, factor, some, add, nn_from(y, at, type));
    }
}

#include "models/nn/start.h"

/* Of each word the upper 24 bits, at their middle. */
void nn_start_uniform(struct ypi_stream stream, size_t first, size_t count, float bound, float *out)
{
    enum { CHUNK = 1024 };
    uint32_t words[CHUNK];
    for (size_t at = 0; at < count; at += CHUNK) {
        const size_t some = count - at < CHUNK ? count - at : CHUNK;
        ypi_random_words(YPI_LEVEL_AUTO, stream, first + at, some, words);
        for (size_t i = 0; i < some; i++)
            out[at + i] = bound * (((float)(words[i] >> 8) + 0.5F) * 0x1p-23F - 1);
    }
}

/* A Markov chain whose table is made of random words where it is needed. */
#include "synth/tokens/tokens.h"

#include "base/numbers/splitmix.h"
#include "base/random/philox.h"

#include <math.h>

enum { SUCCESSORS = 4, SCALE = 8 };
static const unsigned up_to[SUCCESSORS] = {4, 6, 7, 8}; /* of SCALE */

/* Subsequence 0 is the table, the others are sequences. A key of its own: cubes of the same seed
 * have other words. */
static void words_of(const struct synth_tokens *spec, uint64_t subsequence, uint64_t block,
                     uint32_t words[4])
{
    const struct ypi_stream stream = {ypi_mix64(spec->seed ^ UINT64_C(0x746f6b656e73)),
                                      subsequence};
    ypi_philox_block(stream, block, words);
}

/* The successors of a state: a word each, and where two are the same, the next free token. */
static uint32_t successor(const struct synth_tokens *spec, uint64_t state, unsigned wanted)
{
    uint32_t words[SUCCESSORS], found[SUCCESSORS];
    words_of(spec, 0, state, words);
    for (unsigned k = 0; k <= wanted; k++) {
        uint32_t token = words[k] % spec->vocabulary;
        for (unsigned i = 0; i < k; i++)
            if (found[i] == token) {
                token = (token + 1) % spec->vocabulary;
                i = UINT32_MAX; /* from the first one again */
            }
        found[k] = token;
    }
    return found[wanted];
}

void synth_tokens_sequence(const struct synth_tokens *spec, uint64_t sequence, size_t count,
                           int32_t *out)
{
    uint32_t words[4];
    uint64_t before = 0, last = 0;
    for (size_t i = 0; i < count; i++) {
        uint32_t token;
        if (i % 4 == 0)
            words_of(spec, sequence + 1, i / 4, words);
        if (i < (size_t)spec->order) {
            token = words[i % 4] % spec->vocabulary;
        } else {
            unsigned draw = words[i % 4] % SCALE, k = 0;
            while (draw >= up_to[k])
                k++;
            uint64_t state = spec->order == 2 ? before * spec->vocabulary + last : last;
            token = successor(spec, state, k);
        }
        before = last;
        last = token;
        out[i] = (int32_t)token;
    }
}

double synth_tokens_loss(const struct synth_tokens *spec, size_t context)
{
    double any = log((double)spec->vocabulary), step = 1.75 * log(2);
    double first = spec->order == 2 ? 1 : 0;
    return (first * any + ((double)context - first) * step) / (double)context;
}

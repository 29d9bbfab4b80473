/* Sequences of tokens from a seed, with a structure that a model can learn and a least loss that is
 * known: a Markov chain of order 1 or 2 in which each state has four successors, with
 * probabilities 1/2, 1/4, 1/8 and 1/8. Which ones is random by state. The entropy of a step is
 * 7/4 ln 2 = 1.213 nats, whatever the vocabulary.
 *
 * With order 2 a state is two tokens: nothing but the pair tells the next one, so that a model has
 * to look back. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <yieldpoint/device.h>

struct synth_tokens {
    uint64_t seed;
    uint32_t vocabulary; /* 4 to 2^24 */
    int order;           /* 1 or 2 */
};

/* Tokens 0 .. count - 1 of a sequence; the first `order` are equally likely ones. A function of the
 * spec and the number of the sequence alone. */
void synth_tokens_sequence(const struct synth_tokens *spec, uint64_t sequence, size_t count,
                           int32_t *out);

/* The least mean loss in nats that a model of this chain can have over labels 1 .. context of a
 * sequence: (order - 1) of them are nothing but equally likely. */
double synth_tokens_loss(const struct synth_tokens *spec, size_t context);

/* The language model and a trainer of it, over sequences of synth/tokens. */
#pragma once

#include "models/lm/train.h"
#include "synth/tokens/tokens.h"

#include <yieldpoint/yieldpoint.h>

struct lm_training {
    struct synth_tokens chain;
    size_t context;
    struct lm_trainee *trainee;
    struct train *train;
};

/* A chain of that order over the model's vocabulary, initial weights and the trainer's orders are
 * of the case's seed. An error ends the case. The structure must not move; close it with
 * lm_training_close(). */
void lm_training_open(struct lm_training *f, struct yp_case *t, const struct lm_options *options,
                      const struct train_config *config, size_t sequences, int order);
void lm_training_close(struct lm_training *f);

/* Initial weights of the case's seed on its device, which the case owns. */
float *lm_training_weights(struct yp_case *t, const struct lm_config *config);

/* A language model as a trainer's objective: items are sequences, whose tokens a source gives by
 * number. Parameters are one vector of lm_parameters() floats, its tensors those of lm_tensor(). */
#pragma once

#include "models/lm/lm.h"
#include "models/train/trainer.h"

/* Writes the tokens of sequence `item`, context + 1 of them, from 0 to vocabulary - 1: the last
 * ones are the labels of those before. What is not YP_OK ends the run. */
typedef enum yp_status lm_read(void *arg, uint32_t item, int32_t *tokens);

struct lm_source {
    size_t sequences;  /* 1 to 2^32 - 1 */
    uint64_t identity; /* of the data, whatever the caller hashes; a checkpoint has it */
    lm_read *read;
    void *arg;
};

struct lm_trainee;

/* Bytes of the CPU's memory that lm_trainee_create() takes beside the model's arena, which is
 * nn_model_bytes(lm_model()) of the device's; 0 with yp_last_error() set. */
size_t lm_trainee_bytes(const struct lm_options *options);

/* The model with its arena, and room for a batch. options->batch is how many sequences are computed
 * at once: a trainer's batch may be any number, of which the last part may be smaller. `pass` and
 * `logits` do not count. The source is copied. NULL with yp_last_error() set: an option is not
 * allowed or there are more than TRAIN_TENSORS tensors, out of memory. */
struct lm_trainee *lm_trainee_create(const struct lm_options *options,
                                     const struct lm_source *source);
void lm_trainee_destroy(struct lm_trainee *trainee); /* NULL is allowed */

/* What a trainer takes; all that it points to is the trainee's. The weight of a batch is its number
 * of tokens. Metrics: "perplexity", e to the mean loss. */
struct train_objective lm_trainee_objective(struct lm_trainee *trainee);

/* The tensors that decay by convention spares: the gains of the norms. */
struct train_set lm_no_decay(const struct lm_config *config);

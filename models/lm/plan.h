/* Memory and work of a pass, known before anything is taken. */
#pragma once

#include "models/lm/train.h"

enum lm_work { LM_FORWARD, LM_FORWARD_BACKWARD, LM_TRAIN_STEP, LM_WORKS };

const char *lm_work_name(enum lm_work work); /* "forward", "forward_backward", "train_step" */

/* Bytes by kind. */
struct lm_plan {
    size_t weights;     /* in float */
    size_t gradients;   /* the same */
    size_t optimiser;   /* its state, the best weights and sums of accumulated gradients */
    size_t copies;      /* weights in bf16 */
    size_t activations; /* that wait for the backward pass */
    size_t transients;  /* other activations and gradients of them, workspace of operators, gaps */
    size_t host;        /* tokens, tables and descriptions, all on the CPU */
    size_t total;       /* at most, on the CPU with the host's */
    double flops;       /* of the model's operators; attention counts no masked position */
};

/* Of one pass, or of lm_trainee and a trainer with this configuration (LM_TRAIN_STEP; else NULL),
 * over `sequences` items. options->pass and logits do not count; nothing of the model's memory is
 * taken. YP_INVALID: an option is not allowed. */
enum yp_status lm_plan(const struct lm_options *options, enum lm_work work,
                       const struct train_config *config, size_t sequences, struct lm_plan *out);

/* The largest batch with this context, and the largest context with one sequence, whose total is
 * at most `limit`; 0: none. */
enum yp_status lm_plan_fitting(const struct lm_options *options, enum lm_work work,
                               const struct train_config *config, size_t limit, size_t *batch,
                               size_t *context);

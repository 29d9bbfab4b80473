/* Memory and work of the refiner's models, known before anything is taken. */
#pragma once

#include "models/refiner/mock.h"
#include "models/refiner/vit.h"

enum refiner_work { REFINER_FORWARD, REFINER_FORWARD_BACKWARD, REFINER_TRAIN_STEP, REFINER_WORKS };

const char *refiner_work_name(enum refiner_work work); /* as lm_work_name() */

/* Bytes by kind. */
struct refiner_plan {
    size_t weights;     /* trained ones, in float; of the mock's inference the folded ones */
    size_t gradients;   /* the same */
    size_t optimiser;   /* AdamW's two moments, each the same */
    size_t frozen;      /* images, targets and what is not trained */
    size_t copies;      /* weights in bf16, and as versions prepare them */
    size_t activations; /* that wait for the backward pass */
    size_t transients;  /* other activations and gradients of them, workspace of operators, gaps */
    size_t host;        /* descriptions, on the CPU */
    size_t total;       /* all of them */
    double flops;       /* of the models' operators */
};

/* options->pass does not count; nothing of the model's memory is taken. YP_INVALID: an option is
 * not allowed. */
enum yp_status mock_plan(const struct mock_options *options, enum refiner_work work,
                         struct refiner_plan *out);
enum yp_status vit_plan(const struct vit_options *options, enum refiner_work work,
                        struct refiner_plan *out);

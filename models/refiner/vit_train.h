/* A vision transformer as a trainer's objective: items are images with what they should become, and
 * the parameters are those of vit_tensor() that are trained. */
#pragma once

#include "models/refiner/vit.h"
#include "models/train/trainer.h"

/* Writes image `item`, (tile, tile, channels), and its target, (tile, tile, head_width). What is
 * not YP_OK ends the run. */
typedef enum yp_status vit_read(void *arg, uint32_t item, double *image, double *target);

struct vit_source {
    size_t images;     /* 1 to 2^32 - 1 */
    uint64_t identity; /* of the data, whatever the caller hashes; a checkpoint has it */
    vit_read *read;
    void *arg;
};

struct vit_trainee;

/* The model with its arenas, and room for a batch. options->batch is how many images are computed
 * at once: a trainer's batch may be any number, of which the last part may be smaller. `pass` does
 * not count. Frozen tensors are drawn from `seed`; vit_trainee_vit() takes others. The source is
 * copied. NULL with yp_last_error() set: an option is not allowed or more than TRAIN_TENSORS
 * tensors are trained, out of memory. */
struct vit_trainee *vit_trainee_create(const struct vit_options *options,
                                       const struct vit_source *source, uint64_t seed);
void vit_trainee_destroy(struct vit_trainee *trainee); /* NULL is allowed */

struct vit *vit_trainee_vit(struct vit_trainee *trainee);
const float *
vit_trainee_start(const struct vit_trainee *trainee); /* drawn parameters, on the host */

/* What a trainer takes; all that it points to is the trainee's. The weight of a batch is its number
 * of images; the loss is the mean squared error. */
struct train_objective vit_trainee_objective(struct vit_trainee *trainee);

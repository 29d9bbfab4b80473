/* The tensors of the refiner's models in files, and images in .npy, which PyTorch has as (batch,
 * channels, rows, columns); a model has the channels last. */
#pragma once

#include "models/data/state.h"
#include "models/refiner/mock.h"
#include "models/refiner/vit.h"

/* A tensor of images (batch, channels, rows, columns), in memory with the channels last. */
struct state_tensor refiner_images(const char *name, size_t batch, size_t channels, size_t rows,
                                   size_t columns);

/* The values of a .npy of floats (batch, channels, rows, columns) with the channels last, for the
 * caller to give back by yp_device_free() of the CPU. Sizes of `images` that are not 0 must be the
 * file's; it has them all afterwards. NULL with yp_last_error() set: YP_INVALID, it has another
 * shape, no floats or a value that is not finite; YP_IO, it cannot be read or is no .npy. */
double *refiner_read_images(const char *path, struct state_tensor *images);

/* -- the mock --------------------------------------------------------------------------------- */

/* Parameters, then running statistics. `width` is a size_t, the mock's. */
state_table refiner_mock_table;

/* -- the vision transformer ------------------------------------------------------------------- */

/* `options` is a struct vit_options. */
state_table refiner_vit_table;

/* Gives what is frozen to the model and puts what is trained into the vectors; `arg` is a struct
 * refiner_vit. */
struct refiner_vit {
    struct vit *vit; /* started */
    struct state_vectors vectors;
};
state_take refiner_take_vit;

/* What a model is trained with, or run with: vectors of the device. */
#pragma once

#include "models/train/optimiser.h"

#include <yieldpoint/device.h>

struct ypi_refiner_training {
    struct yp_device *device;
    size_t parameters;
    float *x, *gradient, *m, *v; /* (parameters) on the device; all but x NULL in inference */
    double *scratch;             /* of the update on a GPU */
    struct train_adamw how;
    uint64_t step;
};

/* Takes the vectors, x with the values `start` (parameters) on the host, the others 0. What was
 * taken before it fails is the caller's to close, too. */
enum yp_status ypi_refiner_training_open(struct ypi_refiner_training *training,
                                         struct yp_device *device, size_t parameters,
                                         const float *start, bool train);
void ypi_refiner_training_close(struct ypi_refiner_training *training);

/* A step of AdamW by the gradient. */
enum yp_status ypi_refiner_training_update(struct ypi_refiner_training *training);

/* Values from a bell on the host, (count), the same bits everywhere; the caller frees them. NULL
 * with yp_last_error() set. */
double *ypi_refiner_bell(uint64_t seed, uint64_t stream, size_t count);

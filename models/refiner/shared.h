/* What the refiner's models share. */
#pragma once

#include "models/nn/model/model.h"

/* Writes the cotangents of a batch's losses: `scale` times the mean of the first `count` of them is
 * differentiated. */
enum yp_status refiner_ask_mean(struct yp_device *device, const struct nn_model *model, int losses,
                                size_t batch, size_t count, double scale);

/* YP_INVALID: `kind`, of options of `who`, is neither NULL nor "cpu" nor "cuda". */
enum yp_status refiner_check_kind(const char *who, const char *kind);

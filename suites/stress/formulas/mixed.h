/* A pipeline with operands of products in 16 bits, in plain loops: what fast code may be off as
 * much as. */
#pragma once

#include "models/rx/pipeline/nodes.h"

enum { MIXED_CHANNELS = 64 }; /* at most */

/* The nearest value of the type, ties to even; as it is for RX_OPERANDS_FP32. */
float mixed_round(float value, enum rx_operands precision);

/* The mean loss over the finite pixels of a tile and its gradient, (parameters), in float with the
 * options' precision, and cotangents times `scale` while they go back. MinMax over all data, with
 * or without selector (T of the options, no terms), PCA without its penalty. Labels but for the
 * autoencoder. */
double mixed_plain(const struct rx_pipeline_options *options, const struct yp_tensor *tensors,
                   size_t n_tensors, const float *parameters, const struct rx_tile *tile,
                   double scale, float *gradient);

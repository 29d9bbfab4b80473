/* Pipelines of cases, and plain loops in double as what is right. An error ends the case. */
#pragma once

#include "models/rx/pipeline/nodes.h"

#include <yieldpoint/yieldpoint.h>

/* The caller gives it back with rx_pipeline_destroy(). */
struct rx_pipeline *open_pipeline(struct yp_case *t, struct yp_device *device,
                                  const struct rx_pipeline_options *options);

/* Memory of the host for its parameters, which the case owns. */
float *parameters_of(struct yp_case *t, const struct rx_pipeline *pipeline);

/* The caller gives it back with rx_plain_destroy(). */
struct rx_plain *open_plain(struct yp_case *t, const struct rx_pipeline_options *options,
                            const struct rx_tile *tile);

/* The mean loss over the finite pixels of a tile, with the penalty, and its gradient. */
double plain_gradient(struct yp_case *t, const struct rx_pipeline_options *options,
                      const struct rx_tile *tile, const double *at, double *gradient);

/* The root mean square error of scores relative to that of plain loops in double. */
double scores_off(struct yp_case *t, const struct rx_pipeline_options *options,
                  const struct rx_tile *tile, const double *at, const float *scores);

/* A pipeline whose tiles are worked on by a GPU. It is the object of pipeline/internal.h with one
 * lane and without what BLAS needs: the host prepares a call, the GPU makes scores and sums, and
 * from sums to the gradient the host goes on as ever. */
#pragma once

#include "models/rx/device/detector.h"
#include "models/rx/pipeline/internal.h"

/* Pixels that are worked on at once there: enough for all of a large GPU, and what they become on
 * the way is not many times its cache. */
#define YPI_RX_DEVICE_CHUNK ((size_t)1 << 16)

/* As rx_pipeline_create(), of a device of kind YP_DEVICE. NULL with yp_last_error() set. */
struct rx_pipeline *ypi_rx_pipeline_create_on_device(struct yp_device *device,
                                                     const struct rx_pipeline_options *options);
void ypi_rx_pipeline_device_close(struct ypi_rx_pipeline_device *d);

/* A pass as p says, from p->sums = 0 to the sums and counts of all tiles. `labelled`: tiles must
 * have labels. */
enum yp_status ypi_rx_pipeline_device_pass(struct rx_pipeline *p, const char *what,
                                           const struct rx_source *source, bool labelled);

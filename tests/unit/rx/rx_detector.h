/* What the tests of the detector share. */
#ifndef RX_DETECTOR_H
#define RX_DETECTOR_H

#include "tests/unit/rx/rx_fixture.h"

#include "models/metrics/metrics.h"
#include "models/rx/internal.h"
#include <inttypes.h>
#include <math.h>

/* Gaussian pixels around `mean` whose covariance has eigenvalues from 1 down to 1 / condition,
 * turned by two reflections; one pixel in 16 is a target, moved along one direction. */
struct scene scene_make(size_t pixels, size_t channels, double condition, double mean);

struct rx *fitted(struct scene *s, int threads);

void check_statistics_to(double bound, struct scene *s, size_t tile_pixels);

/* What float tiles leave (the reference's figure), whatever the condition. */
void check_statistics(struct scene *s, size_t tile_pixels);

/* ||got - oracle|| / ||oracle|| over a tensor */
double off(const float *got, const double *oracle_values, const struct yp_tensor *tensor);

#endif

/* What the tests of models/rx/methods share. */
#ifndef RX_METHODS_H
#define RX_METHODS_H

#include "tests/unit/rx/rx_fixture.h"

#include "models/rx/methods/image.h"
#include <math.h>

/* An image of smooth mixtures of four spectra and noise of 1 / snr of them; the caller frees its
 * values, which are .values. */
struct rx_image image_make(size_t height, size_t width, size_t channels, double snr, uint64_t seed);

/* x (n) with a x = b by Gaussian elimination with pivots, in long double; a (n, n), b (n) and x
 * may be one. */
void gauss(const long double *a, const long double *b, size_t n, long double *x);

/* |got - wanted| <= bound for all; NaN where wanted is NaN and nowhere else. Returns the largest
 * error. */
double worst(const float *got, const double *wanted, size_t count);

#endif

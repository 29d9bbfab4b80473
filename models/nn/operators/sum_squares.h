/* The sum of squares in double, for norms of gradients. */
#pragma once

#include <stddef.h>

/* Of x (n), by as many threads as OpenMP gives: sums over parts that depend on n alone, so its bits
 * depend on the values and n alone. Infinite or NaN exactly when a value is. */
double nn_squared_norm(const float *x, size_t n);

/* The sum of squares in double, for norms of gradients. */
#pragma once

#include <stddef.h>

/* Of x (n), by as many threads as OpenMP gives: sums over parts that depend on n alone, so its bits
 * depend on the values and n alone. Infinite or NaN exactly when a value is. */
double nn_squared_norm(const float *x, size_t n);

/* Elements of the parts that it sums by themselves, of x (n): all but the last one have so many.
 * The sum is that of the parts in their order. */
size_t nn_squared_part(size_t n);
double nn_squared_norm_of_part(const float *x, size_t count);

/* What the recipes test: y = softmax(x) of rows, and its gradient. */
#include <stddef.h>

/* x and y are (rows, columns), dense; y may be x. */
void softmax(size_t rows, size_t columns, const float *x, float *y);

/* The same of one row in double precision: the oracle. */
void softmax_exact(size_t columns, const double *x, double *y);

/* g = y (c - y . c): what a change of x does to c . softmax(x), of one row. */
void softmax_gradient(size_t columns, const double *y, const double *c, double *g);

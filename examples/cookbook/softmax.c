#include "softmax.h"

#include <math.h>

void softmax(size_t rows, size_t columns, const float *x, float *y)
{
    for (size_t r = 0; r < rows; r++, x += columns, y += columns) {
        float highest = x[0], sum = 0;
        for (size_t i = 1; i < columns; i++)
            highest = fmaxf(highest, x[i]);
        for (size_t i = 0; i < columns; i++)
            sum += y[i] = expf(x[i] - highest);
        for (size_t i = 0; i < columns; i++)
            y[i] /= sum;
    }
}

void softmax_exact(size_t columns, const double *x, double *y)
{
    double highest = x[0], sum = 0;
    for (size_t i = 1; i < columns; i++)
        highest = fmax(highest, x[i]);
    for (size_t i = 0; i < columns; i++)
        sum += y[i] = exp(x[i] - highest);
    for (size_t i = 0; i < columns; i++)
        y[i] /= sum;
}

void softmax_gradient(size_t columns, const double *y, const double *c, double *g)
{
    double mean = 0;
    for (size_t i = 0; i < columns; i++)
        mean += y[i] * c[i];
    for (size_t i = 0; i < columns; i++)
        g[i] = y[i] * (c[i] - mean);
}

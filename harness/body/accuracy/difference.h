/* Directional differences of one function, and how far its vector-Jacobian product is from them. */
#pragma once

#include "harness/body/accuracy/tensors.h"

#include <stdbool.h>

#define YPI_GUARD 16            /* doubles on either side of every array that f and the vjp write */
#define YPI_OUTPUT_ROUNDING 256 /* units of rounding that an output may be off by */

/* The arrays of one check and what it works on. */
struct ypi_gradient_work {
    const struct yp_gradient *gradient;
    struct yp_tensor whole;          /* stands in when no tensors are given */
    const struct yp_tensor *tensors; /* the slices checked, `count` of them */
    size_t count;
    uint64_t seed;
    double *g, *v, *plus, *minus;     /* `inputs` each; v fills only a tensor's size */
    double *y, *y_plus, *y_minus, *c; /* `outputs` each */
    bool *moves;                      /* `count`: the tensor moves an output */
    unsigned char *depends;           /* (count, outputs), a bit each: the tensor moves it */
    size_t row;                       /* bytes of `depends` for one tensor */
    struct ypi_gradient_result *out;
    enum yp_gradient_finding bad; /* of the last call that was, and where */
    size_t bad_index;
    size_t worst_tensor;
    int worst_direction;
    double worst_step;
};

/* A directional derivative by differences and by the vjp, and how good the first can be. */
struct ypi_difference {
    double expected, got;
    double rounding, truncation; /* of `expected`; absolute, the second a guess */
    double step;
    bool finite;
    enum yp_gradient_finding bad; /* why not */
    size_t bad_index;
    /* Of `got` against `expected`, beyond rounding, and the rounding: relative to the larger one,
     * or to a typical derivative of the tensor. */
    double error, resolution;
};

bool ypi_all_finite(const double *values, size_t count);

/* y = f(x); whether all of it is finite, and nothing else was written: else work->bad says what. */
bool ypi_gradient_call(struct ypi_gradient_work *work, const double *x, double *y);

/* Notes which outputs tensor k moves; needs work->y. */
void ypi_gradient_dependences(struct ypi_gradient_work *work, size_t k);

/* Draws the cotangent of a direction index and has the vjp map it to work->g; whether all of that
 * is finite, as for ypi_gradient_call(). */
bool ypi_gradient_draw(struct ypi_gradient_work *work, int direction);

/* Along a direction of tensor k, by the best step or the one given; behind ypi_gradient_draw(). */
struct ypi_difference ypi_difference_of(struct ypi_gradient_work *work, size_t k, int direction);

/* By which power of the step the remainder falls, where the error was worst: 2 where the vjp is
 * right. NaN where it cannot be told from rounding. */
double ypi_gradient_slope(struct ypi_gradient_work *work);

/* Whether f bends where the error was worst: a kink, or outputs that are floats. */
enum yp_gradient_finding ypi_gradient_explain(struct ypi_gradient_work *work);

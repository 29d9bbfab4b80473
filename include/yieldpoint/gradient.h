/*
 * Checking gradients, in two steps.
 *
 * 1. yp_check_gradient compares the vector-Jacobian product of a function in double precision with
 *    directional differences of the function, for random cotangents c (it forms <c, f(x)>; for a
 *    plain sum of the outputs the gradient of softmax is zero, and a zeroed backward would pass).
 * 2. yp_check_precision compares a float, bf16 or GPU result with that double precision oracle on
 *    the same inputs. The bound is a multiple of the error of a plain implementation in that
 *    precision.
 *
 * Keep x some 10 steps away from kinks (ReLU at 0, clamp, max), freeze random masks, and let f be
 * defined within 5 % of x: the differences assume that f is smooth there.
 */
#ifndef YIELDPOINT_GRADIENT_H
#define YIELDPOINT_GRADIENT_H

#include <yieldpoint/case.h>

YPI_BEGIN_C

#define YP_GRADIENT_LIMIT 1e-6 /* default limit of the relative error */
#define YP_PRECISION_MULTIPLE 3

/* y = f(x): x and y have `inputs` and `outputs` doubles. Deterministic. */
typedef void yp_function(void *arg, const double *x, double *y);

/* g = J(x)^T cotangent: cotangent has `outputs` doubles, g `inputs`, all of them written. */
typedef void yp_vjp(void *arg, const double *x, const double *cotangent, double *g);

/* A named slice of a vector: one parameter tensor. Offset and count are in values. */
struct yp_tensor {
    const char *name;
    size_t offset;
    size_t count;
};

struct yp_gradient {
    const char *name; /* of the check, for its budget */
    size_t inputs;
    size_t outputs;
    yp_function *f;
    yp_vjp *vjp;
    void *arg YPI_OR_ZERO; /* of f and vjp */
    const double *x;       /* the point, `inputs` doubles */
    /* `n_tensors` slices, each checked on its own. They must not overlap and, unless `partial`,
     * must cover x. None: all of x, named "x". The results refer to their names. */
    const struct yp_tensor *tensors YPI_OR_ZERO;
    size_t n_tensors YPI_OR_ZERO;
    int directions YPI_OR_ZERO; /* random directions per tensor; 0: YP_PRECISION_MULTIPLE */
    /* How far an element of the tensor moves, relative to the tensor's root mean square (1 if that
     * is 0): x + step * rms * sqrt(count) * v for a unit vector v. 0: the step starts at 1e-4. It
     * grows (to 1e-2) if rounding would hide more than a ten-millionth of the derivative, and
     * shrinks (to 1e-6) if the curvature of f would. The differences alone decide, never their
     * agreement with g. Any other value, at most 1, is kept. Put elements of very different sizes
     * into tensors of their own. */
    double step YPI_OR_ZERO;
    bool partial YPI_OR_ZERO; /* the tensors need not cover x */
};

/* Checks the vjp by directional differences, with cotangents and directions determined by the
 * case's seed. Stores the result, judges it by yp_max_gradient_error(name) or YP_GRADIENT_LIMIT,
 * and returns the worst relative error. Each direction index has its own cotangent. The cost is one
 * vjp per direction index, 2 calls of f per tensor, and 4 per tensor and direction if the first
 * step is good. The relative error of one direction v (a unit vector in one tensor) is max(0, |D -
 * g.v| - rounding) / max(|D|, |g.v|, ||g|| / sqrt(n)) D is the Richardson-extrapolated central
 * difference of <c, f> along v; g and n are the tensor's part of the vjp and its size. `rounding`
 * is the error of D if every output that depends on the tensor is right to 256 units of rounding
 * (typically 1e-9 of the derivative). It is subtracted instead of being a floor of the denominator:
 * so a derivative of 0 passes, and a small one is checked to the last visible digit. If no bit of f
 * changes, g.v must not exceed the value that would change <c, f> by 256 units if all of the tensor
 * moved by its own size.
 *
 * Sensitivity: a factor of 1 + r on a tensor shows as an error of about r. A single wrong element
 * among n, off by d times the root mean square of the tensor's gradient, shows as d |z| / sqrt(n),
 * where z is normal and the largest of `directions` draws. With 3 directions and a limit of 1e-6, d
 * = 1e-4 sqrt(n) is missed once in a million seeds, d = 3e-6 sqrt(n) one time in 30, and d below
 * 3e-7 sqrt(n) nearly always. For 64 elements these are 8e-4, 2e-5 and 2e-6 of the rms; for a
 * million, 10 % of the rms. Split large tensors where single elements matter.
 *
 * The case fails if a field is missing or not allowed, or if f gives two results for one x. The
 * work arrays take 4 doubles per input, 4 per output, and a bit per output and tensor. */
double yp_check_gradient(struct yp_case *t, const struct yp_gradient *gradient);

struct yp_precision {
    const char *name; /* may be NULL with tensors */
    size_t count;
    const double *oracle; /* double precision result for the same, already rounded inputs */
    const float *plain;   /* a plain implementation in the precision under test */
    const float *got;     /* the result to check */
    double multiple
        YPI_OR_ZERO; /* error(got) may be this many times error(plain); 0: YP_PRECISION_MULTIPLE */
    /* `n_tensors` slices of the `count` values, each checked on its own; they must not overlap.
     * None: all values together. */
    const struct yp_tensor *tensors YPI_OR_ZERO;
    size_t n_tensors YPI_OR_ZERO;
};

/* Stores the ratio ||got - oracle|| / ||plain - oracle|| and fails the case if it exceeds
 * `multiple`. Each tensor is a check of its own; its name is that of the tensor, after `name` and a
 * blank if `name` is given. Returns the largest ratio of all tensors, NaN if one of them is NaN.
 * Norms cover all values of a tensor, so errors of a few small values vanish among large ones:
 * check values of different sizes as tensors of their own. The case fails if a field is missing, if
 * count is 0, or if oracle or plain hold a value that is not finite. */
double yp_check_precision(struct yp_case *t, const struct yp_precision *check);

YPI_END_C

#endif

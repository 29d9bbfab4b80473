/*
 * Checking gradients: two checks, not one.
 *
 * 1. yp_check_gradient: a function in double precision and its vector-Jacobian product, by
 *    directional differences with random cotangents (the checker forms <c, f(x)>; a sum of the
 *    outputs would make softmax's true gradient zero and let a zeroed backward pass).
 * 2. yp_check_precision: a float, bf16 or GPU result against that double precision oracle on
 *    the same inputs, bounded by a multiple of the error that a plain implementation makes in
 *    that precision.
 *
 * Keep x away from kinks (ReLU at 0, clamp, max) by some 10 steps, freeze random masks, and let
 * f be defined within 5 % of x: the differences assume f smooth there.
 */
#ifndef YIELDPOINT_GRADIENT_H
#define YIELDPOINT_GRADIENT_H

#include <yieldpoint/case.h>

#ifdef __cplusplus
extern "C" {
#endif

#define YP_GRADIENT_LIMIT 1e-6 /* relative error allowed where no budget says otherwise */
#define YP_PRECISION_MULTIPLE 3

/* y = f(x): x and y have `inputs` and `outputs` doubles. Deterministic. */
typedef void yp_function(void *arg, const double *x, double *y);

/* g = J(x)^T cotangent: cotangent has `outputs` doubles, g `inputs`, all of them written. */
typedef void yp_vjp(void *arg, const double *x, const double *cotangent, double *g);

/* What makes an error as it is, where that can be told. `index` is an element's, of x, y or g. */
enum yp_gradient_finding {
    YP_GRADIENT_NOTHING = 0,
    YP_GRADIENT_X_NOT_FINITE,
    YP_GRADIENT_F_NOT_FINITE, /* at x, or where the differences asked */
    YP_GRADIENT_F_UNWRITTEN,  /* an output is as it was before, or was added to that */
    YP_GRADIENT_F_OUTSIDE,    /* f wrote just in front of its outputs or behind them */
    YP_GRADIENT_VJP_NOT_FINITE,
    YP_GRADIENT_VJP_UNWRITTEN,
    YP_GRADIENT_VJP_OUTSIDE,
    YP_GRADIENT_KINK,     /* the slopes on both sides of x differ, however small the step */
    YP_GRADIENT_IN_FLOAT, /* every output of f is a float: the differences show its rounding */
};

/* A named slice of a vector: one parameter tensor. Offset and count in values. */
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
    /* Slices checked one by one, `n_tensors` of them, which must not overlap and, unless `partial`,
     * cover x; none: all of x, named "x". The results refer to their names. */
    const struct yp_tensor *tensors YPI_OR_ZERO;
    size_t n_tensors YPI_OR_ZERO;
    int directions YPI_OR_ZERO; /* random directions a tensor; 0: YP_PRECISION_MULTIPLE */
    /* How far an element of the tensor moves, relative to the tensor's root mean square (1 if
     * that is 0): x + step * rms * sqrt(count) * v for a unit vector v. 0: begins at 1e-4 and is
     * made larger (to 1e-2) where rounding would hide more than a ten-millionth of the
     * derivative, smaller (to 1e-6) where f bends more than that; decided by the differences
     * alone, never by which of them agrees with g. Any other value, at most 1, is kept. Elements
     * of very different sizes belong in tensors of their own. */
    double step YPI_OR_ZERO;
    bool partial YPI_OR_ZERO; /* the rest of x is checked nowhere, on purpose */
};

struct yp_gradient_result {
    double error;         /* the worst relative error; infinity when anything was not finite */
    const char *tensor;   /* where */
    double slope;         /* there: order of the remainder |f(x+hv)-f(x)-h g.v|; 2 and more when
                             right, 1 when wrong; NaN where rounding hides it (a linear f);
                             a figure to read, not judged: an inflection can bend it */
    double expected;      /* there: the directional derivative by differences */
    double got;           /* there: g.v */
    int checked;          /* directions tried, all tensors */
    double resolution;    /* the worst relative error that rounding of f could have hidden in a
                             direction; 1 and more: a derivative could not be distinguished from 0 */
    const char *coarsest; /* the tensor where that was */
    enum yp_gradient_finding finding; /* of an error above YP_GRADIENT_LIMIT */
    size_t index;                     /* where, for findings of an element */
};

/* The check itself, without a running case: `seed` fixes cotangents and directions, and with
 * them every bit of the result. Cotangents are drawn afresh for each direction index. It costs one
 * vjp a direction index, 2 calls of f a tensor and 4 a tensor and direction where the first step is
 * good. The relative error of one direction v (a unit vector in one tensor) is
 *     max(0, |D - g.v| - rounding) / max(|D|, |g.v|, ||g|| / sqrt(n))
 * with D the Richardson-extrapolated central difference of <c, f> along v, g and n the tensor's
 * part of the vjp and its size, and `rounding` what D is off by when every output that depends
 * on the tensor is right to 256 units of rounding (1e-9 of the derivative, typically). It is
 * taken away, and not made a floor of the denominator, so that a derivative of 0 passes and a
 * small one is still checked to the last digit that can be seen: see `resolution`. Where not one
 * bit of f changes, g.v may be no more than would change <c, f> by 256 units if all of the tensor
 * moved by its own size.
 *
 * What it finds: a factor of 1 + r on a tensor shows as an error of about r. A single wrong
 * element among n, off by d times the root mean square of the tensor's gradient, shows as
 * d |z| / sqrt(n) with z normal, the largest of `directions` draws: with 3 directions and a limit
 * of 1e-6, d = 1e-4 sqrt(n) is missed once in a million seeds, d = 3e-6 sqrt(n) one time in 30,
 * and d below 3e-7 sqrt(n) nearly always. For 64 elements that is 8e-4, 2e-5 and 2e-6 of the rms;
 * for a million, 10 % of the rms: split large tensors where single elements matter.
 *
 * YP_INVALID when a field is missing or not allowed, or when f gives two results for one x;
 * YP_OUT_OF_MEMORY when the work arrays (4 doubles an input, 4 an output and a bit for each output
 * and tensor) cannot be had. */
enum yp_status yp_gradient_error(const struct yp_gradient *gradient, uint64_t seed,
                                 struct yp_gradient_result *out);

/* The same with the case's seed; stores the result and judges it by yp_max_gradient_error(name)
 * or YP_GRADIENT_LIMIT. Returns the error. */
double yp_check_gradient(struct yp_case *t, const struct yp_gradient *gradient);

struct yp_precision {
    const char *name; /* with tensors NULL too */
    size_t count;
    const double *oracle; /* double precision result on the same, already rounded inputs */
    const float *plain;   /* a plain implementation in the precision under test */
    const float *got;     /* what is checked */
    double multiple
        YPI_OR_ZERO; /* error(got) may be this many times error(plain); 0: YP_PRECISION_MULTIPLE */
    /* Slices of the `count` values that are checked one by one, `n_tensors` of them, which must not
     * overlap; none: all values together. */
    const struct yp_tensor *tensors YPI_OR_ZERO;
    size_t n_tensors YPI_OR_ZERO;
};

/* Of the tensor with the largest ratio, or the first whose ratio is NaN. */
struct yp_precision_result {
    double error;       /* ||got - oracle|| / ||oracle||; NaN and infinity are kept */
    double plain_error; /* the same of plain, at least half a unit of float's rounding, 2^-24 */
    double ratio;       /* error / plain_error */
    size_t worst;       /* index of the largest absolute deviation; of the first NaN if any;
                           among all `count` values */
    const char *tensor; /* NULL: there are none */
};

/* Norms are over all values of a tensor: a few wrong small ones drown among large ones; check
 * tensors of different sizes one by one. An oracle of zeros has no relative error: error is then
 * ||got|| and plain_error ||plain||, at least the smallest normal float. YP_INVALID when a field is
 * missing, count is 0, or oracle or plain hold a value that is not finite: they are the yardstick.
 */
enum yp_status yp_precision_error(const struct yp_precision *check,
                                  struct yp_precision_result *out);

/* Stores the ratio and fails the case when it is beyond `multiple`. Each tensor is a check of its
 * own, under the name of the tensor, behind `name` and a blank where there is one. Returns the
 * ratio, the largest of all tensors; NaN when one of them is. */
double yp_check_precision(struct yp_case *t, const struct yp_precision *check);

#ifdef __cplusplus
}
#endif

#endif

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
 * Keep x some 10 steps away from kinks (ReLU at 0, clamp, max) and freeze random masks: the
 * checks assume f is three times differentiable around x.
 */
#ifndef YIELDPOINT_GRADIENT_H
#define YIELDPOINT_GRADIENT_H

#include <yieldpoint/case.h>

#ifdef __cplusplus
extern "C" {
#endif

#define YP_MAX_TENSORS 16
#define YP_GRADIENT_LIMIT 1e-6 /* relative error allowed where no budget says otherwise */

/* y = f(x): x and y have `inputs` and `outputs` doubles. Deterministic. */
typedef void yp_function(void *arg, const double *x, double *y);

/* g = J(x)^T cotangent: cotangent has `outputs` doubles, g `inputs`, all of them written. */
typedef void yp_vjp(void *arg, const double *x, const double *cotangent, double *g);

/* A named slice of x: one parameter tensor. */
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
    void *arg;       /* of f and vjp */
    const double *x; /* the point, `inputs` doubles */
    /* Slices checked one by one; none given: all of x, named "x". Must not overlap. */
    struct yp_tensor tensors[YP_MAX_TENSORS];
    int directions; /* random directions a tensor; 0: 3 */
    double step;    /* relative to the tensor's root mean square (1 if that is 0); 0: 1e-4 */
};

struct yp_gradient_result {
    double error;        /* the worst relative error; NaN or infinity when anything was not finite */
    const char *tensor;  /* where */
    double slope;        /* there: order of the remainder |f(x+hv)-f(x)-h g.v|; 2 when right, 1
                            when wrong; NaN where rounding hides it (a linear f) */
    double expected;     /* there: the directional derivative by differences */
    double got;          /* there: g.v */
    int checked;         /* directions tried, all tensors */
};

/* The check itself, without a running case: `seed` fixes cotangents and directions. The relative
 * error of one direction v (a unit vector in one tensor) is
 *     |D - g.v| / max(|D|, |g.v|, ||g|| / sqrt(n), floor)
 * with D the Richardson-extrapolated central difference of <c, f> along v, n the size of the
 * tensor and floor the size of a derivative that rounding of f alone could produce.
 * YP_INVALID when a field is missing, YP_OUT_OF_MEMORY when the work arrays cannot be had. */
enum yp_status yp_gradient_error(const struct yp_gradient *gradient, uint64_t seed,
                                 struct yp_gradient_result *out);

/* The same with the case's seed; stores the result and judges it by yp_max_gradient_error(name)
 * or YP_GRADIENT_LIMIT. Returns the error. */
double yp_check_gradient(struct yp_case *t, const struct yp_gradient *gradient);

struct yp_precision {
    const char *name;
    size_t count;
    const double *oracle; /* double precision result on the same, already rounded inputs */
    const float *plain;   /* a plain implementation in the precision under test */
    const float *got;     /* what is checked */
    double multiple;      /* error(got) may be this many times error(plain); 0: 3 */
};

struct yp_precision_result {
    double error;       /* ||got - oracle|| / ||oracle||; NaN and infinity are kept */
    double plain_error; /* the same of plain, at least half a unit of float's rounding */
    double ratio;       /* error / plain_error */
    size_t worst;       /* index of the largest absolute deviation */
};

enum yp_status yp_precision_error(const struct yp_precision *check, struct yp_precision_result *out);

/* Stores the ratio and fails the case when it is beyond `multiple`. Returns the ratio. */
double yp_check_precision(struct yp_case *t, const struct yp_precision *check);

#ifdef __cplusplus
}
#endif

#endif

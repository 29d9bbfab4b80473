/* An operator at one shape with drawn inputs and cotangents: the oracle, plain float and a fast
 * version on the same numbers, for suites that check or time entries of the table.
 *
 * Inputs come from the tensors' domains by (seed, tensor, index) alone, without a mathematics
 * library: the same bits on every machine. All memory is taken at creation. */
#pragma once

#include "models/nn/operator.h"

#include <yieldpoint/gradient.h>

struct nn_point {
    const struct nn_operator *op;
    const struct nn_shape *shape;
    const struct nn_version *version; /* NULL: there is no fast version here */
    struct nn_call oracle, plain;     /* in double and in float, in the host's memory */
    struct nn_call fast;              /* in the device's, in the version's types */
    float *got[NN_TENSORS];           /* results of the fast version, see nn_point_fetch() */
    /* The oracle's inputs that have a gradient, one behind the other as struct yp_gradient takes
     * them, and their gradients; outputs and cotangents likewise. */
    double *x, *g, *y, *c;
    size_t inputs, outputs;
    struct yp_tensor tensors[NN_TENSORS]; /* what nn_point_gradient() refers to */
    struct yp_device *device;
    char *there, *staging; /* the fast version's memory, and the same layout on the host */
    size_t bytes;          /* of each */
};

/* Bytes of accounted memory that it takes, of the CPU and of `device`: both sums when that is the
 * CPU. */
size_t nn_point_bytes(const struct nn_operator *op, const struct nn_shape *shape,
                      const struct nn_version *version);

/* Inputs are rounded to the version's types (to float without one), so that all three have the
 * same. NULL with yp_last_error() set when there is not enough memory. `device` is the version's.
 */
struct nn_point *nn_point_create(struct yp_device *device, const struct nn_operator *op,
                                 const struct nn_shape *shape, const struct nn_version *version,
                                 uint64_t seed);
void nn_point_destroy(struct nn_point *point); /* NULL is allowed */

/* Whether tensor i is written by that pass, and compared. */
bool nn_point_written(const struct nn_point *point, enum nn_pass pass, int i);

/* The oracle and the plain loops. Plain results are rounded to the version's types. */
void nn_point_plain(struct nn_point *point, enum nn_pass pass);

/* The fast version. */
enum yp_status nn_point_fast(struct nn_point *point, enum nn_pass pass);

/* What the fast version wrote, to got[] as floats. YP_INVALID when it wrote anything else: an
 * input, or memory behind a tensor or the workspace. Not for speed: it copies everything. */
enum yp_status nn_point_fetch(struct nn_point *point, enum nn_pass pass);

/* The comparison of tensor i, for yp_check_precision(), after nn_point_plain() and
 * nn_point_fetch(): `multiple` is what the version allows, so much larger for a tensor of one
 * number as the worst tensor's plain error is. */
struct yp_precision nn_point_precision(const struct nn_point *point, enum nn_pass pass, int i);

/* The oracle as a function of its inputs, for a check by differences. The point must outlive it. */
void nn_point_gradient(struct nn_point *point, struct yp_gradient *gradient);

/* An identity of the drawn data: a function of operator, shape, types and seed. */
uint64_t nn_point_hash(const struct nn_point *point);

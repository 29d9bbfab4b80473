/* What the checks of gradients and of precision compute, and the tensors that they are given. */
#pragma once

#include "harness/vocabulary/result.h"

#include <yieldpoint/gradient.h>

/* YP_INVALID when one of the slices has no name or no values, ends behind `limit` values, which
 * the check calls `limit_name`, or overlaps another. `check` and `name` begin the message. */
enum yp_status ypi_check_tensors(const char *check, const char *name,
                                 const struct yp_tensor *tensors, size_t count,
                                 const char *limit_name, size_t limit);

struct ypi_gradient_result {
    double error;         /* the worst relative error; infinity when anything was not finite */
    const char *tensor;   /* where */
    double slope;         /* there: order of the remainder |f(x+hv)-f(x)-h g.v|; 2 and more when
                             right, 1 when wrong; NaN where rounding hides it (a linear f);
                             not judged: an inflection changes it */
    double expected;      /* there: the directional derivative by differences */
    double got;           /* there: g.v */
    int checked;          /* directions tried, all tensors */
    double resolution;    /* the largest relative error that rounding of f may have hidden in a
                             direction; 1 and more: a derivative was indistinguishable from 0 */
    const char *coarsest; /* the tensor of `resolution` */
    enum yp_gradient_finding finding; /* of an error above YP_GRADIENT_LIMIT */
    size_t index;                     /* of the element, for findings that have one */
};

/* The check of gradient.h. `seed` determines cotangents and directions, and so every bit of the
 * result. YP_INVALID if a field is missing or not allowed, or if f gives two results for one x;
 * YP_OUT_OF_MEMORY if the work arrays cannot be allocated. */
enum yp_status ypi_gradient_error(const struct yp_gradient *gradient, uint64_t seed,
                                  struct ypi_gradient_result *out);

/* Of the tensor with the largest ratio, or the first whose ratio is NaN. */
struct ypi_precision_result {
    double error;       /* ||got - oracle|| / ||oracle||; NaN and infinity are kept */
    double plain_error; /* the same of plain, at least half a unit of float's rounding, 2^-24 */
    double ratio;       /* error / plain_error */
    size_t worst;       /* index of the largest absolute deviation; of the first NaN if any;
                           among all `count` values */
    const char *tensor; /* NULL: there are none */
};

/* For an oracle of zeros, error is ||got|| and plain_error ||plain||, at least the smallest normal
 * float. YP_INVALID as yp_check_precision() fails. */
enum yp_status ypi_precision_error(const struct yp_precision *check,
                                   struct ypi_precision_result *out);

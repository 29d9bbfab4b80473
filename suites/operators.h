/* The operator table as axes: every operator, shape and precision of models/nn, on every device
 * that an entry has versions for. */
#pragma once

#include "models/nn/point.h"

#include <yieldpoint/yieldpoint.h>

/* For yp_axis_from(): names of all operators; of all shapes but the arg's, or of none but the
 * arg's, a const char *; of all precisions. */
yp_axis_function operators_names, operators_shapes_but, operators_shapes_only, operators_precisions;

/* All of them, with those shapes: operators_shapes_but or operators_shapes_only, and the name. */
#define OPERATORS_AXES(shapes_, name_) \
    YP_AXES(yp_axis_from("operator", operators_names, NULL), \
            yp_axis_from("shape", shapes_, name_), \
            yp_axis_from("precision", operators_precisions, NULL))

/* Whether the entry has this shape, and a version of the case's precision for its device. */
bool operators_declares(const struct yp_case *t, const char *name, const char *shape);
/* The same for .filter, by the axes operator and shape. */
bool operators_has(const struct yp_case *t);
/* The same, and the operator has a vector-Jacobian product; an optimiser's step has none. */
bool operators_has_vjp(const struct yp_case *t);

/* The operator `name` as the axes say, with drawn inputs; skips the case when this process may not
 * use the version. */
struct nn_point *operators_point(struct yp_case *t, const char *name, const char *shape);
struct nn_point *operators_point_at(struct yp_case *t, const struct nn_operator *op,
                                    const struct nn_shape *shape); /* of any sizes; it stays */

/* Runs a pass on the device and compares its outputs with the oracle, tensor by tensor. */
void operators_check(struct yp_case *t, struct nn_point *point, enum nn_pass pass);

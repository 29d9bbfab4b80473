/* Every entry of the operator table: results and gradients as its formula has them. */
#include "suites/operators.h"

static void right(struct yp_case *t)
{
    struct nn_point *point = operators_point(t, yp_string(t, "operator"), yp_string(t, "shape"));
    operators_check(t, point, NN_FORWARD);
    nn_point_destroy(point);
}

/* The fast vector-Jacobian product against the oracle's. */
static void vjp(struct yp_case *t)
{
    struct nn_point *point = operators_point(t, yp_string(t, "operator"), yp_string(t, "shape"));
    nn_point_plain(point, NN_FORWARD); /* what forward saves */
    yp_ok(t, nn_point_fast(point, NN_FORWARD));
    operators_check(t, point, NN_VJP);
    nn_point_destroy(point);
}

/* And the oracle's against differences of the formula, but where a step of any length would move
 * lifted scores far. */
static void gradient(struct yp_case *t)
{
    struct nn_point *point = operators_point(t, yp_string(t, "operator"), yp_string(t, "shape"));
    struct yp_gradient check;
    nn_point_gradient(point, &check);
    if (!point->shape->lifted)
        yp_check_gradient(t, &check);
    nn_point_destroy(point);
    vjp(t);
}

YP_TEST(operators, right, .tags = "stress small",
        .axes = OPERATORS_AXES(operators_shapes_but, "medium"), .devices = "cpu cuda",
        .filter = operators_has, .parallel = true)
{
    right(t);
}

YP_TEST(operators, gradient, .tags = "stress small",
        .axes = OPERATORS_AXES(operators_shapes_but, "medium"), .devices = "cpu cuda",
        .filter = operators_has_vjp, .parallel = true)
{
    gradient(t);
}

/* At the sizes of models, where the oracle takes a second and differences would take minutes. */
YP_TEST(operators, right_in_models, .tags = "stress medium",
        .axes = OPERATORS_AXES(operators_shapes_only, "medium"), .devices = "cpu cuda",
        .filter = operators_has, .parallel = true)
{
    right(t);
}

YP_TEST(operators, vjp_in_models, .tags = "stress medium",
        .axes = OPERATORS_AXES(operators_shapes_only, "medium"), .devices = "cpu cuda",
        .filter = operators_has_vjp, .parallel = true)
{
    vjp(t);
}

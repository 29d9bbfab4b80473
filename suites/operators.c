#include "suites/operators.h"

#include <string.h>

enum yp_status operators_names(struct yp_axis_values *values, const void *arg)
{
    (void)arg;
    for (size_t i = 0; nn_operators[i] != NULL; i++)
        yp_axis_add_string(values, nn_operators[i]->name);
    return YP_OK;
}

/* Whether an operator before the i-th, or an earlier shape of the i-th, has that name. */
static bool seen(size_t i, int shape, const char *name)
{
    for (size_t k = 0; k <= i; k++)
        for (int s = 0; s < NN_SHAPES && nn_operators[k]->shapes[s].name != NULL; s++)
            if ((k < i || s < shape) && strcmp(nn_operators[k]->shapes[s].name, name) == 0)
                return true;
    return false;
}

static enum yp_status shapes(struct yp_axis_values *values, const char *name, bool only)
{
    for (size_t i = 0; nn_operators[i] != NULL; i++)
        for (int s = 0; s < NN_SHAPES && nn_operators[i]->shapes[s].name != NULL; s++) {
            const char *shape = nn_operators[i]->shapes[s].name;
            if (!seen(i, s, shape) && (strcmp(shape, name) == 0) == only)
                yp_axis_add_string(values, shape);
        }
    return YP_OK;
}

enum yp_status operators_shapes_but(struct yp_axis_values *values, const void *arg)
{
    return shapes(values, arg, false);
}

enum yp_status operators_shapes_only(struct yp_axis_values *values, const void *arg)
{
    return shapes(values, arg, true);
}

enum yp_status operators_precisions(struct yp_axis_values *values, const void *arg)
{
    (void)arg;
    for (int i = 0; i < NN_PRECISIONS; i++)
        yp_axis_add_string(values, nn_precision_name((enum nn_precision)i));
    return YP_OK;
}

/* "cpu", "cuda": without the number that a device of several has. */
static const char *kind_of_device(const struct yp_case *t)
{
    return strncmp(yp_device_of(t), "cuda", 4) == 0 ? "cuda" : "cpu";
}

bool operators_declares(const struct yp_case *t, const char *name, const char *shape)
{
    const struct nn_operator *op = nn_operator(name);
    enum nn_precision precision;
    return op != NULL && nn_shape(op, shape) != NULL &&
           nn_precision_from_name(yp_string(t, "precision"), &precision) &&
           nn_declares(op, kind_of_device(t), precision);
}

bool operators_has(const struct yp_case *t)
{
    return operators_declares(t, yp_string(t, "operator"), yp_string(t, "shape"));
}

bool operators_has_vjp(const struct yp_case *t)
{
    return operators_has(t) && nn_last_pass(nn_operator(yp_string(t, "operator"))) == NN_VJP;
}

struct nn_point *operators_point_at(struct yp_case *t, const struct nn_operator *op,
                                    const struct nn_shape *shape)
{
    enum nn_precision precision = NN_FP32;
    nn_precision_from_name(yp_string(t, "precision"), &precision);
    const struct nn_version *version = nn_version(op, kind_of_device(t), precision);
    if (version == NULL)
        yp_skip(t, "%s", yp_last_error());
    struct nn_point *point = nn_point_create(yp_device(t), op, shape, version, yp_seed(t));
    yp_got(t, point);
    yp_data_hash(t, nn_point_hash(point));
    return point;
}

struct nn_point *operators_point(struct yp_case *t, const char *name, const char *shape)
{
    const struct nn_operator *op = nn_operator(name);
    yp_got(t, op);
    yp_got(t, nn_shape(op, shape));
    return operators_point_at(t, op, nn_shape(op, shape));
}

void operators_check(struct yp_case *t, struct nn_point *point, enum nn_pass pass)
{
    nn_point_plain(point, pass);
    yp_ok(t, nn_point_fast(point, pass));
    yp_ok(t, yp_device_synchronize(yp_device(t)));
    yp_ok(t, nn_point_fetch(point, pass));
    for (int i = 0; i < nn_tensors(point->op); i++) {
        if (!nn_point_written(point, pass, i))
            continue;
        struct yp_precision check = nn_point_precision(point, pass, i);
        yp_check_precision(t, &check);
    }
}

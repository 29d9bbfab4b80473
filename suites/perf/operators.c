/* Speed of every entry of the operator table, forward and vector-Jacobian product, as a share of
 * the ceiling that bounds the declared work. On one thread, to measure the kernel alone; the models
 * that divide work among threads are measured elsewhere. */
#include "suites/operators.h"

#include <omp.h>

static void speed(struct yp_case *t)
{
    struct nn_point *point = operators_point(t, yp_string(t, "operator"), yp_string(t, "shape"));
    const struct nn_version *version = point->version;
    enum yp_status status = YP_OK;
    omp_set_num_threads(1);
    for (int pass = NN_FORWARD; pass <= (int)nn_last_pass(point->op); pass++) {
        double bytes = nn_bytes_moved(point->op, point->shape, (enum nn_pass)pass, version);
        yp_measure (t, pass == NN_VJP ? "vjp" : "forward",
                    .flops = point->op->flops(point->shape, (enum nn_pass)pass),
                    .arithmetic = version->arithmetic, .bytes = bytes, .footprint = bytes,
                    .threads = 1) {
            status = nn_point_fast(point, (enum nn_pass)pass);
        }
        yp_ok(t, status);
        yp_ok(t, yp_device_synchronize(yp_device(t)));
    }
    nn_point_destroy(point);
}

#define BUDGETS YP_BUDGETS(yp_budget_file("budgets.ini"))

YP_TEST(operators, speed, .tags = "perf small",
        .axes = OPERATORS_AXES(operators_shapes_only, "small"), .devices = "cpu cuda",
        .filter = operators_has, .budgets = BUDGETS)
{
    speed(t);
}

YP_TEST(operators, speed_in_models, .tags = "perf medium",
        .axes = OPERATORS_AXES(operators_shapes_only, "medium"), .devices = "cpu cuda",
        .filter = operators_has, .budgets = BUDGETS)
{
    speed(t);
}

/* Speed of every entry of the operator table, forward and vector-Jacobian product, as a share of
 * the ceiling that bounds the declared work. On one thread, to measure the kernel alone; the models
 * that divide work among threads are measured elsewhere. */
#include "suites/operators.h"

#include <omp.h>

static void speed(struct yp_case *t, const char *name, const char *size)
{
    static const char *const names[] = {[NN_FORWARD] = "forward", [NN_VJP] = "vjp"};
    struct nn_point *point = operators_point(t, name, size);
    const struct nn_version *version = point->version;
    enum yp_status status = YP_OK;
    omp_set_num_threads(1);
    for (int pass = NN_FORWARD; pass <= (version->vjp != NULL ? NN_VJP : NN_FORWARD); pass++) {
        double bytes = nn_bytes_moved(point->op, point->shape, (enum nn_pass)pass, version);
        yp_measure (t, names[pass], .flops = point->op->flops(point->shape, (enum nn_pass)pass),
                    .arithmetic = version->arithmetic, .bytes = bytes, .footprint = bytes,
                    .threads = 1) {
            status = nn_point_fast(point, (enum nn_pass)pass);
        }
        yp_ok(t, status);
        yp_ok(t, yp_device_synchronize(yp_device(t)));
    }
    nn_point_destroy(point);
}

/* A test for each operator and size, so that each has shares of its own. */
#define SPEED(name_, size_, forward_, vjp_) \
    static bool has_##name_##_##size_(const struct yp_case *t) \
    { \
        return operators_declares(t, #name_, #size_); \
    } \
    YP_TEST(operators, name_##_##size_, .tags = "perf " #size_, \
            .axes = YP_AXES(yp_axis_from("precision", operators_precisions, NULL)), \
            .devices = "cpu cuda", .filter = has_##name_##_##size_, \
            .budgets = YP_BUDGETS(yp_for_device("cpu"), yp_min_share("forward", forward_), \
                                  yp_min_share("vjp", vjp_))) \
    { \
        speed(t, #name_, #size_); \
    }
#define SPEEDS(name_, forward_, vjp_, large_forward_, large_vjp_) \
    SPEED(name_, small, forward_, vjp_) \
    SPEED(name_, medium, large_forward_, large_vjp_)
NN_OPERATORS(SPEEDS)

/*
 * Speed of every entry of the operator table, forward and vector-Jacobian product, as a share of
 * the ceiling that bounds the declared work. On one thread, to measure the kernel alone; the models
 * that divide work among threads are measured elsewhere.
 *
 * Where shares are below 0.05:
 * - rope in bf16 at "small", 0.04 (an Emerald Rapids): held to the copy of a cache, while half of
 *   its time is turning pairs and 13 % copying. linear_cross_entropy there, 0.03: held to bf16 of
 *   the matrix units, whose products are 15 % of its time; the log of the sum is 18 %, slopes 14 %.
 * - bce and swiglu by AVX2, 0.03 to 0.04 (0.18 to 0.38 by AVX-512, a Zen 4): gcc 12 makes scalar
 *   code of their exponentials and logarithms. By SSE2 all loops are the scalar ones.
 * - "small" on a GPU, 0.0001 to 0.007: 2 to 106 us on an H100, on which scaling 1,000 floats takes
 *   2.1 us; products have 1 to 5 tiles and attention 6 blocks, for 132 multiprocessors.
 * - "medium" on a GPU: products go by tiles in fp32, not on matrix units, so bf16 takes as long as
 *   fp32 (matmul 58 and 53 us on an H100), and moves half the bytes. The gradient of linear by its
 *   weights, and of linear_cross_entropy by x, is 16 tiles for 132 multiprocessors (0.03 in fp32,
 *   where forward has 0.14); attention is 192 blocks of 256 threads, each of which goes through its
 *   tiles in turn (0.02). The gradient of embedding has 0.02 to 0.04 on an H200, and on an
 *   H100 0.051 and 0.057 with the same time: the two are held to different levels.
 */
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

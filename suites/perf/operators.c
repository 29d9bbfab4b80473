/* Speed of every entry of the operator table, forward and vector-Jacobian product, as a share of
 * the ceiling that bounds the declared work. On one thread, to measure the kernel alone; the models
 * that divide work among threads are measured elsewhere.
 *
 * Where there is no floor, the declared work does not bound the operator on some machine:
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
 *   H100 0.051 and 0.057 with the same time: the two are held to different levels. */
#include "suites/operators.h"

#include <omp.h>
#include <string.h>

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
                    .threads = 1)
            status = nn_point_fast(point, (enum nn_pass)pass);
        yp_ok(t, status);
        yp_ok(t, yp_device_synchronize(yp_device(t)));
    }
    nn_point_destroy(point);
}

/* The least shares, forward and of the vector-Jacobian product; 0: no floor. Each is met with every
 * instruction set and on every kind of machine that was measured: AVX-512 on a Zen 4, a Zen 5 and
 * an Emerald Rapids, AVX2, SSE2; an H100 and an H200. Rows of "amx" hold on matrix units. */
static const struct floor {
    const char *on, *operator, * precision;
    double small[2], medium[2];
} floors[] = {
    {"amx", "linear", "bf16", {0.13, 0}, {0.3, 0.2}},
    {"amx", "linear_cross_entropy", "bf16", {0, 0}, {0.15, 0.11}},
    {"amx", "linear_int8", "int8", {0, 0}, {0.2, 0}},
    {"amx", "matmul", "bf16", {0.13, 0.1}, {0.3, 0.25}},
    {"cpu", "adamw", "fp32", {0.18, 0}, {0.25, 0}},
    {"cpu", "add", "bf16", {0, 0.4}, {0, 0.4}},
    {"cpu", "add", "fp32", {0.2, 0.4}, {0.4, 0.4}},
    {"cpu", "attention", "bf16", {0.15, 0.25}, {0.2, 0.3}},
    {"cpu", "attention", "fp32", {0.15, 0.22}, {0.2, 0.3}},
    {"cpu", "embedding", "bf16", {0.15, 0.25}, {0.4, 0.35}},
    {"cpu", "embedding", "fp32", {0.25, 0.28}, {0.4, 0.35}},
    {"cpu", "linear", "bf16", {0.14, 0.2}, {0.4, 0.4}},
    {"cpu", "linear", "fp32", {0.4, 0.4}, {0.4, 0.4}},
    {"cpu", "linear_cross_entropy", "bf16", {0.1, 0}, {0.35, 0.25}},
    {"cpu", "linear_cross_entropy", "fp32", {0.1, 0.14}, {0.35, 0.25}},
    {"cpu", "linear_int8", "int8", {0.15, 0}, {0.3, 0}},
    {"cpu", "logit", "fp32", {0.25, 0.1}, {0.4, 0.14}},
    {"cpu", "matmul", "bf16", {0.4, 0.4}, {0.4, 0.4}},
    {"cpu", "matmul", "fp32", {0.4, 0.4}, {0.4, 0.4}},
    {"cpu", "minmax", "fp32", {0.25, 0.14}, {0.4, 0.17}},
    {"cpu", "mse", "fp32", {0.14, 0.25}, {0.35, 0.4}},
    {"cpu", "orthogonality", "fp32", {0, 0.14}, {0.14, 0.2}},
    {"cpu", "pca", "fp32", {0.12, 0.13}, {0.18, 0.2}},
    {"cpu", "quadratic", "fp32", {0.25, 0.2}, {0.25, 0.25}},
    {"cpu", "rmsnorm", "bf16", {0, 0}, {0, 0.1}},
    {"cpu", "rmsnorm", "fp32", {0.12, 0.18}, {0.2, 0.2}},
    {"cpu", "rope", "fp32", {0.12, 0.12}, {0.25, 0.25}},
    {"cpu", "selector", "fp32", {0.11, 0}, {0.35, 0.2}},
    {"cpu", "sum_squares", "fp32", {0, 0.14}, {0.18, 0.4}},
    {"cuda", "add", "bf16", {0, 0}, {0.15, 0.1}},
    {"cuda", "add", "fp32", {0, 0}, {0.3, 0.2}},
    {"cuda", "embedding", "fp32", {0, 0}, {0.15, 0}},
    {"cuda", "linear", "fp32", {0, 0}, {0.1, 0}},
    {"cuda", "linear_cross_entropy", "fp32", {0, 0}, {0.1, 0}},
    {"cuda", "rmsnorm", "bf16", {0, 0}, {0.14, 0}},
    {"cuda", "rmsnorm", "fp32", {0, 0}, {0.2, 0.12}},
    {"cuda", "rope", "bf16", {0, 0}, {0.1, 0}},
    {"cuda", "rope", "fp32", {0, 0}, {0.2, 0.2}},
    {"cuda", "swiglu", "bf16", {0, 0}, {0.15, 0.2}},
    {"cuda", "swiglu", "fp32", {0, 0}, {0.3, 0.4}},
};

/* The first row of the case: those of matrix units stand before those of any CPU. */
static const struct floor *floor_of(const struct yp_case *c)
{
    bool gpu = strncmp(yp_device_of(c), "cuda", 4) == 0;
    for (size_t i = 0; i < sizeof floors / sizeof *floors; i++) {
        const struct floor *f = &floors[i];
        bool here = strcmp(f->on, "amx") == 0 ? !gpu && yp_isa() >= YP_ISA_AMX
                                              : (strcmp(f->on, "cuda") == 0) == gpu;
        if (here && strcmp(f->operator, yp_string(c, "operator")) == 0 &&
            strcmp(f->precision, yp_string(c, "precision")) == 0)
            return f;
    }
    return NULL;
}

static void add_floors(const struct yp_case *c, struct yp_budgets *out)
{
    const struct floor *f = floor_of(c);
    if (f == NULL)
        return;
    const double *least = strcmp(yp_string(c, "shape"), "small") == 0 ? f->small : f->medium;
    if (least[0] > 0)
        yp_budget_add(out, yp_min_share("forward", least[0]));
    if (least[1] > 0)
        yp_budget_add(out, yp_min_share("vjp", least[1]));
}

YP_TEST(operators, speed, .tags = "perf small",
        .axes = OPERATORS_AXES(operators_shapes_only, "small"), .devices = "cpu cuda",
        .filter = operators_has, .budgets_of = add_floors)
{
    speed(t);
}

YP_TEST(operators, speed_in_models, .tags = "perf medium",
        .axes = OPERATORS_AXES(operators_shapes_only, "medium"), .devices = "cpu cuda",
        .filter = operators_has, .budgets_of = add_floors)
{
    speed(t);
}

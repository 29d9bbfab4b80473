/* A sparse matrix of 1024 x 1024 times one of 64 columns, and both gradients, over the share of its
 * elements that are not 0, beside the dense product; and the share from which on the dense one is
 * faster. On one thread, to measure the kernels alone. */
#include "base/system/clock.h"
#include "models/nn/point.h"

#include <math.h>
#include <omp.h>
#include <yieldpoint/yieldpoint.h>

enum { SIDE = 1024, COLUMNS = 64 };

/* The passes: forward, and the gradients by the matrix and by what it is multiplied with, which are
 * the first two tensors of both operators. */
static const char *const names[] = {"forward", "gradient by values", "gradient by x"};
enum { PASSES = sizeof names / sizeof *names };

struct product {
    struct nn_shape shape;
    struct nn_point *point;
    double flops; /* of a pass */
};

/* The case owns nothing of it; `percent` 0: dense. */
static void product_open(struct product *p, struct yp_case *t, double percent)
{
    const size_t count = (size_t)(percent / 100 * SIDE * SIDE);
    const struct nn_operator *op = percent > 0 ? &nn_sparse_matmul : &nn_matmul;
    const struct nn_version *version = nn_version(op, "cpu", NN_FP32);
    omp_set_num_threads(1);
    yp_got(t, version);
    p->shape = percent > 0 ? (struct nn_shape){.size = {SIDE, COLUMNS, SIDE, count, SIDE + 1}}
                           : (struct nn_shape){.size = {SIDE, COLUMNS, SIDE}};
    p->flops = op->flops(&p->shape, NN_FORWARD);
    p->point = nn_point_create(yp_device(t), op, &p->shape, version, yp_seed(t));
    yp_got(t, p->point);
}

/* The gradient of the other tensor is left out. */
static void run(struct yp_case *t, const struct product *p, int pass)
{
    struct nn_call call = p->point->fast;
    if (pass > 0)
        call.gradient[pass == 1] = NULL;
    yp_ok(t, (pass > 0 ? p->point->version->vjp : p->point->version->forward)(&call));
}

static void measure(struct yp_case *t, double percent)
{
    struct product p;
    product_open(&p, t, percent);
    for (int pass = 0; pass < PASSES; pass++)
        yp_measure (t, names[pass], .flops = p.flops, .threads = 1)
            run(t, &p, pass);
    nn_point_destroy(p.point);
}

YP_TEST(sparse, matmul, .tags = "perf small",
        .axes = YP_AXES(yp_axis_double("percent", 0.1, 0.5, 1, 2, 5, 10, 20, 50)))
{
    measure(t, yp_double(t, "percent"));
}

YP_TEST(sparse, dense, .tags = "perf small")
{
    measure(t, 0);
}

#define AT_ONE_PERCENT(name_, what_) \
    YP_RELATION( \
        sparse, name_, .tags = "perf small", .budgets = YP_BUDGETS(yp_min_value("ratio", 5)), \
        .relation = yp_ratio("perf/sparse.c::matmul[percent=1]", "perf/sparse.c::dense", what_))
AT_ONE_PERCENT(forward_at_1_percent, "forward");
AT_ONE_PERCENT(values_at_1_percent, "gradient by values");
AT_ONE_PERCENT(x_at_1_percent, "gradient by x");

/* -- the break-even ---------------------------------------------------------------------------- */

/* Seconds of each pass, the least of some tries. */
static void time_passes(struct yp_case *t, double percent, double *seconds)
{
    enum { TRIES = 9 };
    struct product p;
    product_open(&p, t, percent);
    for (int pass = 0; pass < PASSES; pass++) {
        seconds[pass] = HUGE_VAL;
        for (int i = 0; i < TRIES; i++) {
            const double begin = ypi_now();
            run(t, &p, pass);
            seconds[pass] = fmin(seconds[pass], ypi_now() - begin);
        }
    }
    nn_point_destroy(p.point);
}

/* Between the two densities around it the time of the sparse product is taken to be a line. */
YP_TEST(sparse, break_even, .tags = "perf medium",
        .budgets = YP_BUDGETS(yp_min_value("forward", 2), yp_max_value("forward", 80),
                              yp_min_value("gradient by values", 2),
                              yp_max_value("gradient by values", 80),
                              yp_min_value("gradient by x", 2), yp_max_value("gradient by x", 80)))
{
    static const double percents[] = {0.1, 1, 2, 5, 10, 20, 50, 100};
    enum { COUNT = sizeof percents / sizeof *percents };
    double dense[PASSES], sparse[COUNT][PASSES];
    time_passes(t, 0, dense);
    for (int i = 0; i < COUNT; i++)
        time_passes(t, percents[i], sparse[i]);
    for (int pass = 0; pass < PASSES; pass++) {
        int i = 0;
        while (i < COUNT && sparse[i][pass] < dense[pass])
            i++;
        double percent = i == COUNT ? HUGE_VAL : 0;
        if (i > 0 && i < COUNT)
            percent = percents[i - 1] + (percents[i] - percents[i - 1]) *
                                            (dense[pass] - sparse[i - 1][pass]) /
                                            (sparse[i][pass] - sparse[i - 1][pass]);
        yp_value_unit(t, names[pass], percent, "%");
    }
}

/* A gradient held against differences of the function. */
#include "softmax.h"

#include <yieldpoint/yieldpoint.h>

enum { COLUMNS = 32 };

static void function(void *arg, const double *x, double *y)
{
    (void)arg;
    softmax_exact(COLUMNS, x, y);
}

static void vjp(void *arg, const double *x, const double *cotangent, double *g)
{
    double y[COLUMNS];
    (void)arg;
    softmax_exact(COLUMNS, x, y);
    softmax_gradient(COLUMNS, y, cotangent, g);
}

YP_TEST(softmax, gradient, .tags = "stress small",
        .budgets = YP_BUDGETS(yp_max_gradient_error("softmax", 1e-8)))
{
    double x[COLUMNS];
    for (int i = 0; i < COLUMNS; i++)
        x[i] = (i * 37 % 11) / 4.0;
    yp_check_gradient(t, &(struct yp_gradient){.name = "softmax",
                                               .inputs = COLUMNS,
                                               .outputs = COLUMNS,
                                               .f = function,
                                               .vjp = vjp,
                                               .x = x});
}

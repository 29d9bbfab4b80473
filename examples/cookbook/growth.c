/* How time grows with the size: a range of sizes, and the order that they are to follow. */
#include "softmax.h"

#include <yieldpoint/yieldpoint.h>

YP_TEST(softmax, sizes, .tags = "perf",
        .axes = YP_AXES(yp_axis_geometric("columns", 256, 65536, 2)))
{
    size_t columns = (size_t)yp_int(t, "columns");
    float *x = yp_alloc(t, columns * sizeof *x), *y = yp_alloc(t, columns * sizeof *y);
    for (size_t i = 0; i < columns; i++)
        x[i] = (float)(i % 16);
    yp_measure (t, "softmax") {
        softmax(1, columns, x, y);
        yp_keep(y[0]);
    }
}

YP_RELATION(softmax, linear, .tags = "perf", .budgets = YP_BUDGETS(yp_grows_as(YP_N)),
            .relation = yp_order("growth.c::sizes", "softmax", "columns"));

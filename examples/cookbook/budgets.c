/* How fast, and with how much memory: declared work, measured, judged as a part of what the machine
 * can do. */
#include "softmax.h"

#include <yieldpoint/yieldpoint.h>

YP_TEST(softmax, speed, .tags = "perf small", .axes = YP_AXES(yp_axis_int("columns", 100)),
        .budgets = YP_BUDGETS(yp_min_share("softmax", 0.01), yp_max_peak(YP_HOST, 2 * YP_MIB),
                              yp_max_allocations(YP_HOST, 2), yp_min_bandwidth("softmax", 1e7)))
{
    enum { ROWS = 2000 };
    size_t columns = (size_t)yp_int(t, "columns"), count = ROWS * columns;
    float *x = yp_alloc(t, count * sizeof *x), *y = yp_alloc(t, count * sizeof *y);
    for (size_t i = 0; i < count; i++)
        x[i] = (float)(i % 17);
    double bytes = 2.0 * (double)(count * sizeof *x);
    yp_measure (t, "softmax", .items = (double)count, .unit = "elements", .bytes = bytes,
                .traffic = YP_COPY, .footprint = bytes, .threads = 1) {
        softmax(ROWS, columns, x, y);
        yp_keep(y);
    }
}

/* What a second thread gains, by what the machine gains by it. */
#include "softmax.h"

#include <yieldpoint/yieldpoint.h>

enum { ROWS = 256, COLUMNS = 1000 };

YP_TEST(softmax, by_threads, .tags = "perf", .axes = YP_AXES(yp_axis_int("threads", 1, 2)),
        .budgets = YP_BUDGETS(yp_required(yp_min_flops("softmax", 10e6), "40 frames a second")))
{
    int threads = (int)yp_int(t, "threads");
    float *x = yp_alloc(t, sizeof(float[ROWS * COLUMNS])),
          *y = yp_alloc(t, sizeof(float[ROWS * COLUMNS]));
    for (size_t i = 0; i < ROWS * COLUMNS; i++)
        x[i] = (float)(i % 16);
    /* A difference, an exponential, a sum and a quotient of each number. */
    yp_measure (t, "softmax", .threads = threads, .flops = 4.0 * ROWS * COLUMNS) {
#pragma omp parallel for num_threads(threads)
        for (size_t i = 0; i < ROWS; i++)
            softmax(1, COLUMNS, x + i * COLUMNS, y + i * COLUMNS);
        yp_keep(y[0]);
    }
}

YP_RELATION(softmax, scales, .tags = "perf", .budgets = YP_BUDGETS(yp_min_value("ratio", 0.7)),
            .relation = yp_share_ratio_over("threads.c::by_threads", "softmax", "threads", "2",
                                            "1"));

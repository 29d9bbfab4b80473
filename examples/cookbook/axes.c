/* One test, many cases: scales with names and tags, an axis, and data that a seed decides. */
#include "softmax.h"

#include <yieldpoint/yieldpoint.h>

/* Numbers in [-8, 8): the same for the same seed. */
static float *rows_of(struct yp_case *t, size_t count)
{
    float *x = yp_alloc(t, count * sizeof *x);
    uint64_t state = yp_seed(t);
    for (size_t i = 0; i < count; i++) {
        state = state * 6364136223846793005U + 1442695040888963407U;
        x[i] = (float)(state >> 40) / 0x1p20F - 8;
    }
    yp_data_hash(t, yp_hash_f32(0, x, count));
    return x;
}

YP_TEST(softmax, close, .tags = "stress",
        .cases = YP_CASES(yp_case_of("small", .set = YP_SET(yp_set_int("rows", 100))),
                          yp_case_of("large", .tags = "slow", .timeout = 600,
                                     .set = YP_SET(yp_set_int("rows", 100000)))),
        .axes = YP_AXES(yp_axis_int("columns", 1, 10, 1000)))
{
    size_t rows = (size_t)yp_int(t, "rows"), columns = (size_t)yp_int(t, "columns");
    float *x = rows_of(t, rows * columns), *y = yp_alloc(t, rows * columns * sizeof *y);
    double *wide = yp_alloc(t, 2 * columns * sizeof *wide), *oracle = wide + columns;
    softmax(rows, columns, x, y);
    for (size_t i = 0; i < columns; i++)
        wide[i] = (double)x[i];
    softmax_exact(columns, wide, oracle);
    yp_expect_close(t, "the first row", .got = y, .want = oracle, .count = columns,
                    .number = YP_NUMBER_FLOAT32, .want_number = YP_NUMBER_FLOAT64,
                    .relative = 1e-5);
}

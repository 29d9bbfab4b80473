/* Data that several cases share: computed once in a run, in a process of its own. */
#include "softmax.h"

#include <yieldpoint/yieldpoint.h>

enum { COLUMNS = 1000 };

YP_FIXTURE(softmax, rows,
           .cases = YP_CASES(yp_case_of("small", .set = YP_SET(yp_set_int("rows", 100))),
                             yp_case_of("large", .set = YP_SET(yp_set_int("rows", 50000)))))
{
    size_t count = (size_t)yp_int(t, "rows") * COLUMNS;
    float *x = yp_provide(t, count * sizeof *x);
    for (size_t i = 0; i < count; i++)
        x[i] = (float)((i * 2654435761U + yp_seed(t)) % 1000) / 100;
    yp_data_hash(t, yp_hash_f32(0, x, count));
}

YP_TEST(softmax, of_shared_rows, .tags = "stress",
        .cases = YP_CASES(yp_case_of("small"), yp_case_of("large", .tags = "slow")),
        .fixtures = "rows[{case}]")
{
    size_t bytes;
    const float *x = yp_fixture(t, "rows", &bytes);
    size_t rows = bytes / sizeof *x / COLUMNS;
    float *y = yp_alloc(t, bytes);
    softmax(rows, COLUMNS, x, y);
    for (size_t i = 0; i < rows; i++)
        yp_require(t, y[i * COLUMNS] > 0 && y[i * COLUMNS] < 1, "row %zu begins with %g", i,
                   (double)y[i * COLUMNS]);
}

/* Images in tiles that overlap, and put together again. */
#include "models/refiner/tiles.h"

#include <math.h>
#include <string.h>
#include <yieldpoint/yieldpoint.h>

YP_TEST(refiner_tiles, refused, .tags = "stress small", .parallel = true)
{
    static const struct {
        struct refiner_tiling tiling;
        const char *says;
    } wrong[] = {
        {{64, 64, 65, 0, 1}, "tile is 65: must be 1 at least and within the image's 64 x 64"},
        {{64, 32, 48, 0, 1}, "within the image's 64 x 32"},
        {{64, 64, 32, 32, 1}, "overlap is 32: must be at most 31"},
        {{64, 64, 32, 29, 4}, "overlap is 29: must be at most 28"},
        {{66, 64, 32, 0, 4}, "66 x 64 pixels in tiles of 32: must be multiples of 4"}};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        yp_expect(t,
                  refiner_check_tiling(&wrong[i].tiling) == YP_INVALID &&
                      strstr(yp_last_error(), wrong[i].says) != NULL,
                  "%s", yp_last_error());
}

/* Every pixel is in a tile, tiles lie within, and neighbours overlap enough: what tiles say of a
 * pixel by its place is what the whole image says. */
YP_TEST(refiner_tiles, whole, .tags = "stress small", .parallel = true,
        .axes = YP_AXES(yp_axis_int("tile", 16, 32), yp_axis_int("overlap", 0, 5, 12),
                        yp_axis_int("shrink", 1, 4)))
{
    const struct refiner_tiling tiling = {.rows = 52,
                                          .columns = 76,
                                          .tile = (size_t)yp_int(t, "tile"),
                                          .overlap = (size_t)yp_int(t, "overlap"),
                                          .shrink = (size_t)yp_int(t, "shrink")};
    const size_t side = tiling.tile / tiling.shrink, columns = tiling.columns / tiling.shrink;
    const size_t pixels = tiling.rows / tiling.shrink * columns, tiles = refiner_tiles(&tiling);
    const struct refiner_merge merge = {&tiling, 2, yp_alloc_host(t, 2 * pixels * sizeof(float)),
                                        yp_alloc_host(t, pixels * sizeof(float))};
    float values[2 * 32 * 32];
    size_t before = 0, line = 0;
    yp_ok(t, refiner_check_tiling(&tiling));
    memset(merge.sum, 0, 2 * pixels * sizeof(float));
    memset(merge.weight, 0, pixels * sizeof(float));
    for (size_t i = 0; i < tiles; i++) {
        size_t row, column;
        refiner_tile(&tiling, i, &row, &column);
        yp_expect(t, row + tiling.tile <= tiling.rows && column + tiling.tile <= tiling.columns,
                  "tile %zu is at %zu, %zu", i, row, column);
        yp_expect(t, i == 0 || column == 0 || column + tiling.overlap <= before + tiling.tile,
                  "tile %zu is at column %zu, behind one at %zu", i, column, before);
        yp_expect(t, row + tiling.overlap <= line + tiling.tile, "tile %zu is at row %zu", i, row);
        before = column;
        line = row;
        for (size_t k = 0; k < side * side; k++) {
            const size_t r = row / tiling.shrink + k / side;
            const size_t c = column / tiling.shrink + k % side;
            values[2 * k] = (float)r;
            values[2 * k + 1] = (float)c;
        }
        refiner_merge_add(&merge, i, values);
    }
    refiner_merge_end(&merge);
    for (size_t i = 0; i < pixels; i++) {
        const size_t r = i / columns, c = i % columns;
        yp_expect(t,
                  fabsf(merge.sum[2 * i] - (float)r) < 1e-4F &&
                      fabsf(merge.sum[2 * i + 1] - (float)c) < 1e-4F,
                  "pixel %zu is %g, %g", i, (double)merge.sum[2 * i], (double)merge.sum[2 * i + 1]);
    }
}

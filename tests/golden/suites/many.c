/* More cases than a line of progress has room for. */
#include <yieldpoint/yieldpoint.h>

YP_TEST(many, wraps, .parallel = true,
        .axes = YP_AXES(yp_axis_int("row", 0, 1, 2, 3, 4, 5, 6, 7, 8),
                        yp_axis_int("column", 0, 1, 2, 3, 4, 5, 6, 7, 8)))
{
    yp_expect(t, yp_int(t, "row") * yp_int(t, "column") != 64, "in the last corner");
}

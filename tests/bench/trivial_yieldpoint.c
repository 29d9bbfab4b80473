/* 1,000 cases that do nothing. */
#include <yieldpoint/yieldpoint.h>

#define DIGITS 0, 1, 2, 3, 4, 5, 6, 7, 8, 9

YP_TEST(trivial, nothing,
        .axes = YP_AXES(yp_axis_int("hundreds", DIGITS), yp_axis_int("tens", DIGITS),
                        yp_axis_int("ones", DIGITS)))
{
}

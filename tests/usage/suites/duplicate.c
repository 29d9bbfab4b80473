/* Two tests of one name in one file, told apart by their groups in C but not in their ids. */
#include <yieldpoint/yieldpoint.h>

YP_TEST(first, same, .axes = YP_AXES(yp_axis_int("n", 1, 2)))
{
}

YP_TEST(fine, other)
{
}

YP_TEST(second, same, .axes = YP_AXES(yp_axis_int("n", 2, 3)))
{
}

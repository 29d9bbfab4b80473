/* What it computes is in a shared library. */
#include <yieldpoint/yieldpoint.h>

#include <unistd.h>

int build_of_library(void);

YP_TEST(linked, naps, .parallel = true, .axes = YP_AXES(yp_axis_int("n", 1, 2, 3)))
{
    usleep(200000);
    yp_value(t, "build", build_of_library());
}

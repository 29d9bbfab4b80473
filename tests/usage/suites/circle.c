/* Fixtures that need each other. */
#include <yieldpoint/yieldpoint.h>

YP_FIXTURE(circle, first, .fixtures = "second")
{
    yp_provide(t, 1);
}

YP_FIXTURE(circle, second, .fixtures = "first")
{
    yp_provide(t, 1);
}

YP_TEST(circle, uses, .fixtures = "first")
{
    yp_fixture(t, "first", NULL);
}

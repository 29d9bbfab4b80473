/* Without exceptions a body in C++ is left as in C. Beside leaving.cpp, which has them. */
#include <cstdio>
#include <yieldpoint/yieldpoint.h>

namespace
{
struct guard {
    ~guard()
    {
        std::puts("destroyed");
    }
};

void tear_down(struct yp_case *)
{
    std::puts("torn down");
}
} // namespace

YP_TEST(leaving, without_exceptions, .teardown = tear_down)
{
    const guard outer;
    yp_require(t, 0 > 1, "as in C");
}

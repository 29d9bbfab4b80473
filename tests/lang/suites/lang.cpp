/* C++20, and C++17 by what compilers take before it. */
#include "tests/lang/suites/shared.hpp"

YP_TEST(lang, fails, .parallel = true)
{
    yp_fail(t, "in %s", yp_device_of(t));
}

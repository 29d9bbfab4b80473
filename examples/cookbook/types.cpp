/* C++: one body for several types; what ends it runs the destructors. */
#include <complex>
#include <memory>
#include <numeric>
#include <vector>
#include <yieldpoint/yieldpoint.h>

YP_TYPE_NAME("complex", std::complex<float>);

YP_TEST_TYPES(sums, exact, (int, double, std::complex<float>), .tags = "small",
              .axes = YP_AXES(yp_axis_int("n", 10, 1000)), .parallel = true)
{
    auto ones = std::make_unique<std::vector<T>>((size_t)yp_int(t, "n"), T(1));
    T sum = std::accumulate(ones->begin(), ones->end(), T(0));
    yp_require(t, sum == T((float)yp_int(t, "n")), "of %s", yp_string(t, "type"));
}

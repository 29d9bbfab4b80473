/* A test, what it expects, and what it is called. */
#include "softmax.h"

#include <math.h>
#include <yieldpoint/yieldpoint.h>

YP_TEST(softmax, sums_to_one, .tags = "stress small")
{
    const float x[4] = {1, 2, 3, 1000};
    float y[4];
    softmax(1, 4, x, y);
    float sum = y[0] + y[1] + y[2] + y[3];
    yp_expect(t, fabsf(sum - 1) < 1e-6F, "the sum is %.9g", (double)sum);
}

#include <yieldpoint/yieldpoint.h>
#include <stdlib.h>
#include <stdio.h>

YP_TEST(zoo, passes)
{
    yp_expect(t, 1 + 1 == 2, "sum is %d", 2);
}

YP_TEST(zoo, crash)
{
    printf("about to crash\n");
    volatile int *p = NULL;
    *p = 1;
}

YP_TEST(zoo, axes, .tags = "stress", .cases = YP_CASES(yp_case_of("small"), yp_case_of("large", .tags = "slow")),
        .axes = YP_AXES(yp_axis_int("channels", 10, 50), yp_axis_string("mode", "a-b", "c")),
        .devices = "cpu cuda", .timeout = 3, .budgets = YP_BUDGETS(yp_min_rate("loop", 1e3)))
{
    double x = 0;
    yp_measure(t, "loop", .items = 1000, .unit = "items") {
        for (int i = 0; i < 1000; i++)
            x += i * (double)yp_int(t, "channels");
        yp_keep(x);
    }
}

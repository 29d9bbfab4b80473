/* Ten thousand cases in one program. */
#include <yieldpoint/yieldpoint.h>

YP_TEST(many, cases, .parallel = true,
        .axes = YP_AXES(yp_axis_int("thousand", 0, 1, 2, 3, 4, 5, 6, 7, 8, 9),
                        yp_axis_int("hundred", 0, 1, 2, 3, 4, 5, 6, 7, 8, 9),
                        yp_axis_int("ten", 0, 1, 2, 3, 4, 5, 6, 7, 8, 9),
                        yp_axis_int("one", 0, 1, 2, 3, 4, 5, 6, 7, 8, 9)))
{
    yp_expect(t, yp_int(t, "one") != 7 || yp_int(t, "ten") != 7 || yp_int(t, "hundred") != 7,
              "777");
}

/* Every outcome and odd text, for the outputs that other programs read. */
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <yieldpoint/yieldpoint.h>

#define ODD "<&\">]]> \x1b[1m \xff \xc3\xbc \xef\xbf\xbf # TODO \\ end\\"

YP_TEST(outputs, passes, .parallel = true)
{
}

YP_TEST(outputs, fails, .parallel = true)
{
    yp_expect(t, false, "first " ODD "\nok 7 - of a second line\nBail out! a third");
    yp_fail(t, "# SKIP not a directive");
}

YP_TEST(outputs, skipped, .parallel = true, .skip = "needs " ODD "\nnot ok 8 - of a second line")
{
}

YP_TEST(outputs, known, .parallel = true, .xfail = "known " ODD "\nBail out! of a second line")
{
    yp_fail(t, "as known");
}

YP_TEST(outputs, mended, .parallel = true, .xfail = "was broken # once")
{
}

YP_TEST(outputs, mended_strictly, .parallel = true, .xfail = "was broken # once",
        .xfail_strict = true)
{
}

YP_TEST(outputs, fails_at_length, .parallel = true)
{
    yp_fail(t, "begins \xc3\xbc %20000d ends", 1);
}

static void refuses(struct yp_case *t)
{
    yp_fail(t, "no licence " ODD);
}

YP_TEST(outputs, without_setup, .parallel = true, .setup = refuses)
{
}

YP_TEST(outputs, crashes, .parallel = true)
{
    printf("before the end " ODD "\n");
    fflush(stdout);
    abort();
}

YP_TEST(outputs, hangs, .parallel = true, .timeout = 0.3)
{
    for (;;)
        pause();
}

YP_TEST(outputs, undecided, .budgets = YP_BUDGETS(yp_max_latency("step # " ODD, 20e-3)))
{
    int i = 0;
    yp_measure (t, "step # " ODD, .warmup = -1, .samples = 8)
        usleep(i++ % 2 == 0 ? 1000 : 40000);
}

YP_TEST(outputs, figures, .parallel = true)
{
    yp_value(t, "not a number", NAN);
    yp_value(t, "too much", INFINITY);
    yp_value(t, "too little", -INFINITY);
    yp_value(t, "odd \"name\", " ODD, 0.5);
    yp_value_unit(t, "speed", 1.5, "a/b, \"c\" " ODD);
}

/* 8 MB, with all bytes but 0. */
YP_TEST(outputs, loud, .parallel = true)
{
    char line[256];
    for (int i = 0; i < 255; i++)
        line[i] = (char)(i + 1);
    line[255] = '\n';
    for (int i = 0; i < 8 * 4096; i++)
        fwrite(line, sizeof line, 1, stdout);
}

/* Names that are no UTF-8: both are printed with the same replacement. */
YP_TEST(outputs, bytes, .axes = YP_AXES(yp_axis_string("axis", "gr\374n")))
{
    yp_value(t, "gr\374n", 1);
    yp_value(t, "gr\373n", 2);
    yp_measure (t, "gr\374n \303\274", .samples = 3, .items = 1, .unit = "gr\374n")
        yp_phase (t, "gr\374n") {
            usleep(10);
        }
    yp_fail(t, "gr\374n");
}

YP_TEST(outputs, label, .parallel = true,
        .axes = YP_AXES(yp_axis_string("label", "it's # \"a\" ]]> \\")))
{
    yp_fail(t, "label %s", yp_string(t, "label"));
}

YP_TEST(outputs, numbers, .axes = YP_AXES(yp_axis_double("x", 0.5)),
        .budgets = YP_BUDGETS(yp_max_value("half", 0.25)))
{
    const char *name = getenv("OUTPUTS_LOCALE");
    if (name != NULL)
        yp_require(t, setlocale(LC_ALL, name) != NULL, "no locale %s", name);
    float a[2] = {0.5F, 1.5F}, b[2] = {0.5F, 1.25F};
    yp_value(t, "half", yp_double(t, "x"));
    yp_measure (t, "nap", .samples = 3)
        usleep(1500);
    yp_expect_close(t, "half", .got = a, .want = b, .count = 2, .number = YP_NUMBER_FLOAT32,
                    .absolute = 0.125);
}

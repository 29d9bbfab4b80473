/* Cases that wait until they are let go on, for somebody who looks at them meanwhile. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <yieldpoint/yieldpoint.h>

/* Until there is a file NAME in the folder that the environment names. */
static void wait_for(const char *name)
{
    const struct timespec pause = {.tv_nsec = 10000000};
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", getenv("WATCHED"), name);
    while (access(path, F_OK) != 0)
        nanosleep(&pause, NULL);
}

YP_TEST(watched, a_quick, .axes = YP_AXES(yp_axis_int("n", 1, 2, 3)))
{
    yp_expect(t, yp_int(t, "n") > 0, "n is above 0");
}

YP_TEST(watched, b_fails)
{
    yp_fail(t, "red: \033[31m\nsecond line");
}

YP_TEST(watched, c_skips)
{
    yp_skip(t, "not today");
}

/* 64 MiB, and a measurement that is over while the case goes on. */
YP_TEST(watched, d_held)
{
    enum { BYTES = 64 << 20 };
    char *block = malloc(BYTES);
    yp_require(t, block != NULL, "memory");
    memset(block, 1, BYTES);
    wait_for("measure");
    yp_measure (t, "work", .items = 1000, .unit = "pixels", .samples = 3, .warmup = 1)
        wait_for("measure");
    wait_for("held");
    yp_expect(t, block[BYTES - 1] == 1, "it is kept");
    free(block);
}

YP_TEST(watched, e_beside, .parallel = true,
        .axes = YP_AXES(yp_axis_string("name", "left", "right")))
{
    wait_for("beside");
}

YP_TEST(watched, f_last)
{
    wait_for("last");
}

/* Cases that a test of jobs can hold: each notes that it begins in the file `begun` of the
 * directory $LAUNCHED, and waits there as long as a file `hold-N` is in its way. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <yieldpoint/yieldpoint.h>

static void in_folder(char path[4096], const char *name, long long n)
{
    const char *folder = getenv("LAUNCHED");
    snprintf(path, 4096, "%s/%s", folder != NULL ? folder : ".", name);
    if (n > 0)
        snprintf(path, 4096, "%s/%s-%lld", folder != NULL ? folder : ".", name, n);
}

static void begin(long long n)
{
    char path[4096];
    in_folder(path, "begun", 0);
    FILE *file = fopen(path, "a");
    if (file != NULL) {
        fprintf(file, "%lld\n", n);
        fclose(file);
    }
    in_folder(path, "hold", n);
    while (access(path, F_OK) == 0)
        usleep(10000);
}

YP_TEST(launched, holds, .parallel = true, .timeout = 120,
        .axes = YP_AXES(yp_axis_int("n", 1, 2, 3, 4, 5, 6, 7, 8)))
{
    begin(yp_int(t, "n"));
    yp_value(t, "n", (double)yp_int(t, "n"));
}

YP_TEST(launched, fails, .parallel = true)
{
    begin(9);
    yp_fail(t, "as it should");
}

YP_TEST(launched, counts, .axes = YP_AXES(yp_axis_int("of", 1, 2)))
{
    begin(20 + yp_int(t, "of"));
    yp_value(t, "items", (double)yp_int(t, "of"));
}

YP_RELATION(launched, counts_twice, .budgets = YP_BUDGETS(yp_max_value("ratio", 2.5)),
            .relation = yp_value_ratio("launched.c::counts[of=2]", "launched.c::counts[of=1]",
                                       "items"));

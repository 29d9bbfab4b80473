/* Cases of several ranks for a launched job. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <yieldpoint/ranks.h>
#include <yieldpoint/yieldpoint.h>

/* Notes that it begins, and waits for a test. */
YP_TEST(ranked, holds)
{
    char path[4096];
    const char *folder = getenv("LAUNCHED");
    snprintf(path, sizeof path, "%s/begun", folder != NULL ? folder : ".");
    FILE *file = fopen(path, "a");
    if (file != NULL) {
        fputs("1\n", file);
        fclose(file);
    }
    snprintf(path, sizeof path, "%s/hold-1", folder != NULL ? folder : ".");
    while (access(path, F_OK) == 0)
        usleep(10000);
}

YP_TEST(ranked, meets, .ranks = "2 3 4")
{
    yp_barrier(t);
    yp_value(t, "rank", yp_rank(t));
}

YP_TEST(ranked, crashes, .ranks = "2")
{
    yp_barrier(t);
    if (yp_rank(t) == 1)
        abort();
    yp_barrier(t);
}

/* Cases of several ranks for a launched job. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
#include <yieldpoint/ranks.h>
#include <yieldpoint/yieldpoint.h>

static void in_folder(char path[4096], const char *name, long long n)
{
    const char *folder = getenv("LAUNCHED");
    snprintf(path, 4096, "%s/%s", folder != NULL ? folder : ".", name);
    if (n > 0)
        snprintf(path, 4096, "%s/%s-%lld", folder != NULL ? folder : ".", name, n);
}

static void append(const char *path, const char *line)
{
    FILE *file = fopen(path, "a");
    if (file == NULL)
        return;
    fputs(line, file);
    fclose(file);
}

/* Notes that it begins, and waits for a test. */
YP_TEST(ranked, holds)
{
    char path[4096];
    in_folder(path, "begun", 0);
    append(path, "1\n");
    in_folder(path, "hold", 1);
    while (access(path, F_OK) == 0)
        usleep(10000);
}

YP_TEST(ranked, meets, .ranks = "2 3 4")
{
    yp_barrier(t);
    yp_value(t, "rank", yp_rank(t));
}

/* Passes if the one of the other number runs at the same time. */
YP_TEST(ranked, at_once, .ranks = "2", .timeout = 30, .axes = YP_AXES(yp_axis_int("n", 1, 2)))
{
    char path[4096];
    in_folder(path, "there", yp_int(t, "n"));
    append(path, "");
    in_folder(path, "there", 3 - yp_int(t, "n"));
    while (access(path, F_OK) != 0)
        usleep(10000);
    yp_barrier(t);
    yp_value(t, "n", (double)yp_int(t, "n"));
    yp_value(t, "rank", yp_rank(t));
}

/* Not on one node, whatever room that has. */
YP_TEST(ranked, spread, .ranks = "2", .placement = "spread:node")
{
    yp_barrier(t);
}

static double processor_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* Ten times slower than is allowed, by the thread's own time, whatever else the machine does. */
YP_TEST(ranked, works, .ranks = "2", .budgets = YP_BUDGETS(yp_max_latency("work", 1e-4)))
{
    yp_measure (t, "work", .max_seconds = 0.1) {
        const double begun = processor_seconds();
        while (processor_seconds() < begun + 1e-3)
            ;
    }
}

YP_TEST(ranked, crashes, .ranks = "2")
{
    yp_barrier(t);
    if (yp_rank(t) == 1)
        abort();
    yp_barrier(t);
}

YP_TEST(ranked, placed_apart, .ranks = "2 3", .placement = "spread:node")
{
    yp_barrier(t);
}

YP_TEST(ranked, placed_together, .ranks = "2", .placement = "together:node")
{
    yp_barrier(t);
}

YP_FIXTURE(ranked, own, .each_rank = true)
{
    *(int *)yp_provide(t, sizeof(int)) = yp_rank(t) + 10 * yp_ranks(t);
}

YP_TEST(ranked, placed_fixture, .ranks = "2", .fixtures = "own", .placement = "spread:node")
{
    yp_value(t, "own", *(const int *)yp_fixture(t, "own", NULL));
    yp_barrier(t);
}

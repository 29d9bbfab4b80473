/* Built twice, with another BUILD: cases that tell of which program they are a part. */
#include <yieldpoint/yieldpoint.h>

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

YP_TEST(program, naps, .parallel = true, .axes = YP_AXES(yp_axis_int("n", 1, 2, 3)))
{
    usleep(200000);
    yp_value(t, "build", BUILD);
}

/* A budget that is not met is asked again in fresh processes. */
YP_TEST(program, late, .budgets = YP_BUDGETS(yp_max_latency("nap", 1e-6)))
{
    yp_measure (t, "nap", .samples = 10)
        usleep(30000); /* longer than others get at a time: no crowd excuses it */
    yp_value(t, "build", BUILD);
}

YP_TEST(program, counted, .budgets = YP_BUDGETS(yp_max_count("turns", YP_INSTRUCTIONS, 1e6)))
{
    yp_measure (t, "turns")
        for (volatile int i = 0; i < 1000; i++)
            continue;
    yp_value(t, "build", BUILD);
}

/* What `ps` shows of this process. */
YP_TEST(program, is_called, .parallel = true)
{
    char path[PATH_MAX] = "";
    char name[32] = "";
    FILE *file = fopen("/proc/self/comm", "re");
    yp_require(t,
               file != NULL && fgets(name, sizeof name, file) != NULL &&
                   readlink("/proc/self/exe", path, sizeof path - 1) > 0,
               "/proc/self cannot be read");
    fclose(file);
    name[strcspn(name, "\n")] = '\0';
    yp_expect(t, strncmp(strrchr(path, '/') + 1, name, strlen(name)) == 0, "%s is called %s", path,
              name);
}

static void __attribute__((noinline)) fall(volatile int *nowhere)
{
    *nowhere = BUILD; /* NOLINT(clang-analyzer-core.NullDereference): the fault is what is tried */
}

YP_TEST(program, falls, .parallel = true)
{
    usleep(200000);
    fall(NULL);
}

/* Of a file whose name begins like an option. */
#line 1 "-odd.c"
YP_TEST(program, fails, .parallel = true)
{
    yp_fail(t, "seed %llu", (unsigned long long)yp_seed(t));
}

/* What runs in the runner's own process, for debug.py. */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <yieldpoint/yieldpoint.h>

/* As in a process of its own: whatever the cases before it did. */
static void expect_fresh(struct yp_case *t)
{
    struct yp_memory memory;
    yp_device_memory(yp_device_cpu(), &memory);
    yp_expect(t, memory.allocations == 0 && memory.frees == 0 && memory.total == 0,
              "%d allocations are there already", (int)memory.allocations);
    yp_value(t, "pid", getpid());
}

YP_TEST(debug, a_leaks, .budgets = YP_BUDGETS(yp_max_leak(YP_HOST, 4096)))
{
    expect_fresh(t);
    yp_expect(t, yp_device_alloc(yp_device_cpu(), 4000) != NULL, "%s", yp_last_error());
}

YP_TEST(debug, b_takes, .budgets = YP_BUDGETS(yp_max_peak(YP_HOST, 2000)))
{
    expect_fresh(t);
    memset(yp_alloc(t, 1000), 1, 1000);
}

YP_TEST(debug, c_measures, .budgets = YP_BUDGETS(yp_max_latency("nothing", 1e-12)))
{
    expect_fresh(t);
    yp_measure (t, "nothing", .samples = 3)
        usleep(100);
}

YP_TEST(debug, d_fails)
{
    yp_require(t, 1 > 2, "it is not");
}

YP_TEST(debug, e_after_it)
{
    expect_fresh(t);
}

YP_TEST(debug, f_exits, .tags = "slow")
{
    exit(0);
}

YP_TEST(debug, g_crashes, .tags = "slow")
{
    abort();
}

YP_TEST(debug, h_hangs, .tags = "slow", .timeout = 0.1)
{
    const char *begun = getenv("BEGUN");
    if (begun != NULL)
        close(open(begun, O_WRONLY | O_CREAT, 0600));
    if (begun == NULL)
        usleep(300000);
    while (begun != NULL)
        pause();
}

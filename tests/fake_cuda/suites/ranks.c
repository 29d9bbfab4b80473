/* Cases of several ranks with a GPU each, or one for several, to be run on devices and an NCCL that
 * are made up. */
#include "ranks/nccl/devices.h"

#include <signal.h>
#include <unistd.h>
#include <yieldpoint/ranks.h>
#include <yieldpoint/yieldpoint.h>

enum { COUNT = 1000 };

static struct ypk_devices *join(struct yp_case *t)
{
    struct ypk_devices *d = NULL;
    const enum yp_status status = ypk_devices_join(&d, yp_ranks_communicator(t), yp_device(t));
    if (status == YP_UNSUPPORTED)
        yp_skip(t, "%s", yp_last_error());
    yp_require(t, status == YP_OK, "%s", yp_last_error());
    return d;
}

static void require(struct yp_case *t, enum yp_status status)
{
    yp_require(t, status == YP_OK, "%s", yp_last_error());
}

/* Each rank's numbers are its own. */
static float *numbers(struct yp_case *t)
{
    float here[COUNT];
    float *there = yp_device_alloc(yp_device(t), sizeof here);
    yp_require(t, there != NULL, "%s", yp_last_error());
    for (int i = 0; i < COUNT; i++)
        here[i] = (float)((yp_rank(t) + 1) * (i % 7));
    require(t, yp_device_copy(yp_device(t), there, here, sizeof here));
    return there;
}

YP_TEST(devices, sums, .ranks = "1 2 3", .devices = "cuda",
        .budgets = YP_BUDGETS(yp_max_latency("sum", 1e-9)))
{
    struct ypk_devices *d = join(t);
    float here[COUNT], *there = numbers(t);
    const int ranks = yp_ranks(t);
    void *scratch = yp_device_alloc(yp_device(t), sizeof here + 64);
    require(t, ypk_devices_all_reduce_in_order(d, there, COUNT, YPK_FLOAT, YPK_SUM, scratch));
    require(t, ypk_devices_wait(d));
    require(t, yp_device_copy(yp_device(t), here, there, sizeof here));
    for (int i = 0; i < COUNT; i++) {
        const int sum = ranks * (ranks + 1) / 2 * (i % 7);
        yp_require(t, here[i] == (float)sum, "number %d is %g", i, (double)here[i]);
    }
    yp_measure (t, "sum", .items = COUNT, .unit = "numbers")
        require(t, ypk_devices_all_reduce(d, there, COUNT, YPK_FLOAT, YPK_MAX));
    yp_device_free(yp_device(t), scratch);
    yp_device_free(yp_device(t), there);
    ypk_devices_leave(d);
}

YP_TEST(devices, exchanges, .ranks = "2", .devices = "cuda",
        .budgets = YP_BUDGETS(yp_min_share("sum", 1e-9)))
{
    struct ypk_devices *d = join(t);
    float *there = numbers(t);
    yp_measure (t, "sum", .bounds = YP_WORK(yp_exchange(YP_ALL_REDUCE, COUNT * sizeof *there)))
        require(t, ypk_devices_all_reduce(d, there, COUNT, YPK_FLOAT, YPK_MAX));
    yp_device_free(yp_device(t), there);
    ypk_devices_leave(d);
}

YP_TEST(devices, placed, .ranks = "2", .devices = "cpu cuda", .placement = "spread:device")
{
    yp_barrier(t);
}

/* What becomes of ranks whose devices wait for one that does not come. */
YP_TEST(devices, crashes, .ranks = "2", .devices = "cuda")
{
    struct ypk_devices *d = join(t);
    float *there = numbers(t);
    require(t, ypk_devices_barrier(d));
    require(t, ypk_devices_wait(d));
    if (yp_rank(t) == 1)
        raise(SIGABRT); /* which is the same with a sanitizer */
    require(t, ypk_devices_all_reduce(d, there, COUNT, YPK_FLOAT, YPK_SUM));
    require(t, ypk_devices_wait(d));
}

YP_TEST(devices, waits, .ranks = "2", .devices = "cuda", .timeout = 3)
{
    struct ypk_devices *d = join(t);
    float *there = numbers(t);
    while (yp_rank(t) == 1)
        pause();
    require(t, ypk_devices_all_reduce(d, there, COUNT, YPK_FLOAT, YPK_SUM));
    require(t, ypk_devices_wait(d));
}

/* Operations on the memory of the ranks' GPUs: those in the order of ranks have the bits of the
 * ranks' own communicator, NCCL's own are within the rounding of their sums. */
#include "suites/nccl_ranks.h"

#include <math.h>
#include <string.h>

enum { MOST = (1 << 20) + 3 };

/* Of both signs and of many magnitudes, others in each rank. */
static float number(int rank, size_t i)
{
    const uint64_t mixed = (i + 1) * UINT64_C(0x9e3779b97f4a7c15) * (uint64_t)(2 * rank + 1);
    return ldexpf((float)(int32_t)(mixed >> 32), -31 + (int)(mixed % 17));
}

struct arrays {
    size_t count;
    struct yp_device *device;
    struct ypk_devices *devices;
    float *there, *scratch;
    float *here, *right;
};

static void read_back(struct yp_case *t, const struct arrays *a, size_t count)
{
    yp_ok(t, ypk_devices_wait(a->devices));
    yp_ok(t, yp_device_copy(a->device, a->here, a->there, count * sizeof *a->here));
}

static void write_numbers(struct yp_case *t, const struct arrays *a)
{
    for (size_t i = 0; i < a->count; i++)
        a->here[i] = number(yp_rank(t), i);
    yp_ok(t, yp_device_copy(a->device, a->there, a->here, a->count * sizeof *a->here));
}

static void expect_sums(struct yp_case *t, const struct arrays *a)
{
    const int ranks = yp_ranks(t);
    const size_t bytes = a->count * sizeof *a->here;
    for (size_t i = 0; i < a->count; i++)
        a->right[i] = number(yp_rank(t), i);
    yp_ok(t, ypk_all_reduce(yp_ranks_communicator(t), a->right, a->count, YPK_FLOAT, YPK_SUM));
    write_numbers(t, a);
    yp_ok(t, ypk_devices_all_reduce_in_order(a->devices, a->there, a->count, YPK_FLOAT, YPK_SUM,
                                             a->scratch));
    read_back(t, a, a->count);
    yp_expect(t, memcmp(a->here, a->right, bytes) == 0, "not the sums in the order of ranks");
    write_numbers(t, a);
    yp_ok(t, ypk_devices_all_reduce(a->devices, a->there, a->count, YPK_FLOAT, YPK_SUM));
    read_back(t, a, a->count);
    for (size_t i = 0; i < a->count; i++) {
        double sum = 0, size = 0;
        for (int rank = 0; rank < ranks; rank++) {
            sum += (double)number(rank, i);
            size += fabs((double)number(rank, i));
        }
        yp_require(t, fabs((double)a->here[i] - sum) <= ranks * 0x1p-24 * size,
                   "sum %zu is %.9g, and not %.9g", i, (double)a->here[i], sum);
    }
}

static void expect_moved(struct yp_case *t, const struct arrays *a)
{
    const int ranks = yp_ranks(t), rank = yp_rank(t);
    const size_t bytes = a->count * sizeof *a->here;
    write_numbers(t, a);
    yp_ok(t, ypk_devices_all_gather(a->devices, a->there, bytes, a->scratch));
    yp_ok(t, ypk_devices_wait(a->devices));
    for (int other = 0; other < ranks; other++) {
        yp_ok(t, yp_device_copy(a->device, a->here, a->scratch + (size_t)other * a->count, bytes));
        for (size_t i = 0; i < a->count; i++)
            yp_require(t, a->here[i] == number(other, i), "number %zu of rank %d", i, other);
    }
    yp_ok(t, ypk_devices_broadcast(a->devices, a->there, bytes, ranks - 1));
    read_back(t, a, a->count);
    for (size_t i = 0; i < a->count; i++)
        yp_require(t, a->here[i] == number(ranks - 1, i), "number %zu of the last rank", i);
    if (ranks == 1)
        return;
    const int to = (rank + 1) % ranks, from = (rank + ranks - 1) % ranks;
    write_numbers(t, a);
    yp_ok(t, ypk_devices_begin(a->devices));
    yp_ok(t, ypk_devices_send(a->devices, a->there, bytes, to));
    yp_ok(t, ypk_devices_receive(a->devices, a->scratch, bytes, from));
    yp_ok(t, ypk_devices_end(a->devices));
    yp_ok(t, ypk_devices_wait(a->devices));
    yp_ok(t, yp_device_copy(a->device, a->here, a->scratch, bytes));
    for (size_t i = 0; i < a->count; i++)
        yp_require(t, a->here[i] == number(from, i), "number %zu of the message", i);
}

YP_TEST(nccl, operations, .tags = "stress small", .ranks = "1 2 4", .devices = "cuda",
        .timeout = 120, .axes = YP_AXES(yp_axis_int("count", 1, 1001, MOST)))
{
    static float here[MOST], right[MOST];
    struct arrays a = {
        .count = (size_t)yp_int(t, "count"), .device = yp_device(t), .here = here, .right = right};
    const size_t ranks = (size_t)yp_ranks(t);
    a.devices = nccl_join(t);
    a.there = yp_alloc(t, a.count * sizeof *a.there);
    a.scratch = yp_alloc(t, (a.count + ranks) * ranks * sizeof *a.scratch);
    expect_sums(t, &a);
    expect_moved(t, &a);
    yp_ok(t, ypk_devices_barrier(a.devices));
    ypk_devices_leave(a.devices);
}

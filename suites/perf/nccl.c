/* What NCCL's operations cost between the ranks' GPUs, by the formulas of nccl-tests: 2 (n - 1) / n
 * of the size goes through each rank's link for a sum that all have, (n - 1) / n for one whose
 * parts they have, and for parts that all get. */
#include "suites/nccl_ranks.h"

#include <string.h>

enum { FLOATS = 16 << 20 };

enum operation { ALL_REDUCE, IN_ORDER, REDUCE_SCATTER, ALL_GATHER };

static enum yp_status call(struct ypk_devices *devices, enum operation what, size_t each,
                           float *data, float *other)
{
    switch (what) {
    case ALL_REDUCE:
        return ypk_devices_all_reduce(devices, data, FLOATS, YPK_FLOAT, YPK_MAX);
    case IN_ORDER:
        return ypk_devices_all_reduce_in_order(devices, data, FLOATS, YPK_FLOAT, YPK_MAX, other);
    case REDUCE_SCATTER:
        return ypk_devices_reduce_scatter(devices, data, each, other, YPK_FLOAT, YPK_MAX);
    default:
        return ypk_devices_all_gather(devices, other, each * sizeof(float), data);
    }
}

YP_TEST(nccl, operations, .tags = "perf medium", .ranks = "2 4 8", .devices = "cuda",
        .timeout = 300,
        .axes = YP_AXES(yp_axis_string("operation", "all_reduce", "all_reduce_in_order",
                                       "reduce_scatter", "all_gather")))
{
    static const char *const names[] = {"all_reduce", "all_reduce_in_order", "reduce_scatter",
                                        "all_gather"};
    const size_t ranks = (size_t)yp_ranks(t), bytes = FLOATS * sizeof(float);
    struct ypk_devices *devices = nccl_join(t);
    float *data = yp_alloc(t, bytes), *other = yp_alloc(t, bytes + ranks * sizeof(float));
    enum operation what = ALL_REDUCE;
    while (strcmp(names[what], yp_string(t, "operation")) != 0)
        what++;
    const double through = (what <= IN_ORDER ? 2 : 1) * (double)(ranks - 1) / (double)ranks;
    enum yp_status status = YP_OK;
    /* Of all ranks together the items are the bytes of all links. */
    yp_measure (t, "operation", .items = through * (double)bytes, .unit = "bytes")
        status = call(devices, what, FLOATS / ranks, data, other);
    yp_ok(t, status);
    yp_ok(t, ypk_devices_wait(devices));
    yp_value(t, "ranks of one device", ypk_devices_shared(devices) != NULL);
    ypk_devices_leave(devices);
}

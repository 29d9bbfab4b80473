/* What the ranks' operations cost here: ceilings for work that is spread over ranks. */
#pragma once

#include "ranks/communicator.h"

enum ypk_probed {
    YPK_PROBE_BARRIER,
    YPK_PROBE_ALL_REDUCE, /* sums of floats */
    YPK_PROBE_ALL_GATHER,
    YPK_PROBE_REDUCE_SCATTER, /* sums of floats */
    YPK_PROBE_EXCHANGE,       /* each rank sends to the next and receives from the one before */
    YPK_PROBE_COUNT
};

/* Of one call, on the slowest rank: the median of the samples, the least and the most. */
struct ypk_figure {
    double seconds, least, most;
    int samples;
    /* Bytes per second, as nccl-tests define them: `algorithm` is the size of the operation over
     * the time, `bus` what each rank's link carries: that times 2 (n - 1) / n for an all-reduce,
     * (n - 1) / n for an all-gather and a reduce-scatter, 1 for an exchange, with n ranks. NaN for
     * a barrier. */
    double algorithm, bus;
};

/* Bytes that each rank's link carries in an operation of this size; NaN for a barrier. */
double ypk_bus_bytes(enum ypk_probed what, double bytes, int ranks);

/* "all-reduce" */
const char *ypk_probe_name(enum ypk_probed what);

/* Collective, about `seconds` long, in memory of ypk_allocate(). `bytes` is the operation's size,
 * rounded down to floats for each rank: of the array of an all-reduce, of what all ranks have
 * together of an all-gather and a reduce-scatter, of a message. 8 bytes or so give the latency. All
 * ranks get the same figure. YP_INVALID for less than a float for each rank, and for one rank,
 * which has nothing to be measured. */
enum yp_status ypk_probe(struct ypk_communicator *c, enum ypk_probed what, size_t bytes,
                         double seconds, struct ypk_figure *out);

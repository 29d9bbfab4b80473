/* A measurement's declared work -> the bounds that are probed, stored and told. */
#include "harness/measure/measurement.h"

#include <math.h>
#include <stdio.h>

/* Beyond it a message takes as long for its bytes as for the way. */
#define LATENCY_BYTES 4096

static void add_exchange(const struct yp_bound *b, int ranks, struct ypi_ceiling *out)
{
    const double bus = ypk_bus_bytes(ypi_probe_of_exchange(b->ceiling), b->work, ranks);
    out->work = ranks > 1 ? bus : 0;
    out->footprint = b->work;
    snprintf(out->level, sizeof out->level, "%s", b->work > LATENCY_BYTES ? "bus" : "latency");
}

enum ypk_probed ypi_probe_of_exchange(enum yp_ceiling ceiling)
{
    switch (ceiling) {
    case YP_ALL_REDUCE:
        return YPK_PROBE_ALL_REDUCE;
    case YP_ALL_GATHER:
        return YPK_PROBE_ALL_GATHER;
    case YP_REDUCE_SCATTER:
        return YPK_PROBE_REDUCE_SCATTER;
    default:
        return YPK_PROBE_EXCHANGE;
    }
}

void ypi_measure_bounds(const struct yp_measure_options *o, int ranks,
                        struct ypi_measured *measured)
{
    struct ypi_ceiling *out = measured->bounds;
    int stage = 0;
    const struct ypi_ceiling none = {.rate = NAN, .low = NAN, .high = NAN};
    for (int i = 0; i < YPI_BOUNDS; i++)
        out[i] = none;
    out[YPI_BOUND_ARITHMETIC].ceiling = o->arithmetic;
    out[YPI_BOUND_ARITHMETIC].work = o->flops;
    out[YPI_BOUND_TRAFFIC].ceiling = o->traffic;
    out[YPI_BOUND_TRAFFIC].work = o->bytes;
    out[YPI_BOUND_TRAFFIC].footprint = o->footprint;
    out += YPI_BOUND_MORE;
    for (int i = 0; i < YP_MAX_BOUNDS; i++) {
        const struct yp_bound *b = &o->bounds[i];
        stage += b->kind == YP_BOUND_THEN;
        if (b->kind != YP_BOUND_WORK && b->kind != YP_BOUND_TRAFFIC && b->kind != YP_BOUND_EXCHANGE)
            continue;
        out->ceiling = b->ceiling;
        out->work = b->work;
        out->footprint = b->footprint;
        if (b->kind == YP_BOUND_EXCHANGE)
            add_exchange(b, ranks, out);
        out++->stage = stage;
    }
    measured->bound = -1;
}

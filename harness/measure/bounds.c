/* A measurement's declared work -> the bounds that are probed, stored and told. */
#include "harness/measure/measurement.h"

#include <math.h>

void ypi_measure_bounds(const struct yp_measure_options *o, struct ypi_measured *measured)
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
        if (b->kind != YP_BOUND_WORK && b->kind != YP_BOUND_TRAFFIC)
            continue;
        out->ceiling = b->ceiling;
        out->work = b->work;
        out->footprint = b->footprint;
        out++->stage = stage;
    }
    measured->bound = -1;
}

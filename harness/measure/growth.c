/* Memory over the samples of a measurement: a slope that is not zero is a leak. */
#include "base/text/text.h"
#include "harness/measure/measurement.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { POINTS = 512 };

struct ypi_growth {
    double at[POINTS]; /* iterations */
    double accounted[POINTS], resident[POINTS];
    size_t count;
    size_t every, skipped; /* looks a point, and those since the last one */
};

struct ypi_growth *ypi_growth_open(void)
{
    struct ypi_growth *g = ypi_calloc(1, sizeof *g);
    memset(g, 1, sizeof *g); /* resident before the first look: no growth of the body's */
    g->count = g->skipped = 0;
    g->every = 1;
    return g;
}

/* Every second point goes, and points are half as dense from now on. */
static void thin(struct ypi_growth *g)
{
    for (size_t i = 0; i < POINTS / 2; i++) {
        g->at[i] = g->at[2 * i];
        g->accounted[i] = g->accounted[2 * i];
        g->resident[i] = g->resident[2 * i];
    }
    g->count = POINTS / 2;
    g->every *= 2;
}

void ypi_growth_look(struct ypi_growth *g, uint64_t iteration, const struct yp_measurement *m)
{
    if (++g->skipped < g->every && g->count > 0)
        return;
    g->skipped = 0;
    struct yp_memory memory;
    yp_device_memory(m->device, &memory);
    g->at[g->count] = (double)iteration;
    g->accounted[g->count] = (double)memory.allocated;
    g->resident[g->count] = (double)ypi_child_resident(m->t);
    if (++g->count == POINTS)
        thin(g);
}

void ypi_growth_close(struct ypi_growth *g, struct ypi_measured *measured)
{
    bool enough = g->count >= 3;
    measured->growth_accounted = enough ? ypi_theil_sen(g->at, g->accounted, g->count) : NAN;
    measured->growth_resident = enough ? ypi_theil_sen(g->at, g->resident, g->count) : NAN;
    free(g);
}

/* --slowdown: samples that take longer than their work, to test the budgets that watch them. */
#include "base/system/clock.h"
#include "harness/measure/measurement.h"

/* After the work and outside its events, so that one way serves every device: an accelerator idles
 * while the processor spins, and the sample is the sum of both. */
static double spin(double seconds)
{
    double begin = ypi_now();
    double spent = 0;
    while (spent < seconds)
        spent = ypi_now() - begin;
    return spent;
}

double ypi_slow_down(struct yp_measurement *m, double seconds)
{
    double factor = ypi_child_job(m->t)->slowdown;
    if (!(factor > 1))
        return seconds;
    ypi_counting_pause(m);
    m->cpu *= factor;
    for (int i = 0; i < m->measured.phase_count; i++)
        m->phase_seconds[i] *= factor;
    return seconds + spin((factor - 1) * (m->arrivals != NULL ? m->served : seconds));
}

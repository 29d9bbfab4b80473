/* Measured bodies without a clock: run as often as was asked for, or counted by Callgrind. */
#include "harness/measure/measurement.h"

#include "device/backend.h"
#include "harness/measure/count/callgrind.h"

#include <math.h>

bool ypi_untimed_start(struct yp_measurement *m)
{
    bool counted = ypi_callgrind_running();
    m->state = YPI_MEASURE_UNTIMED;
    m->measured.kind = counted ? YPI_MEASURED_COUNT : YPI_MEASURED_RUN;
    if (m->device->backend->range != NULL) /* for a tracer of the process */
        m->device->backend->range(m->measured.name);
    return ypi_measure_batch_begin(m);
}

static bool finish_untimed(struct yp_measurement *m, enum ypi_stop stop)
{
    m->measured.phase_count = 0; /* their names were checked, their times would be any */
    if (m->device->backend->range != NULL)
        m->device->backend->range(NULL);
    return ypi_measure_finish(m, stop);
}

/* The first iteration warms up. */
static void count(struct yp_measurement *m, double instructions)
{
    struct ypi_count *counted = &m->measured.counts[YP_INSTRUCTIONS];
    if (m->iterations == 1 || !isfinite(instructions))
        return;
    bool first = counted->source != YPI_COUNTED_CALLGRIND;
    counted->source = YPI_COUNTED_CALLGRIND;
    counted->count = first ? instructions : fmin(counted->count, instructions);
}

/* An iteration is over, or was left. */
bool ypi_untimed_ran(struct yp_measurement *m)
{
    bool counted = m->measured.kind == YPI_MEASURED_COUNT;
    double instructions = counted ? ypi_callgrind_stop() : NAN;
    enum yp_status status = yp_device_synchronize(m->device);
    ypi_phase_check(m);
    if (status != YP_OK)
        ypi_child_quit(m->t, YPI_CAUSE_DEVICE, "yp_measure '%s': %s", m->measured.name,
                       yp_last_error());
    if (!m->whole)
        return finish_untimed(m, YPI_STOP_BREAK);
    m->iterations++;
    if (counted)
        count(m, instructions);
    else
        m->measured.warmup = m->iterations;
    if (m->growth != NULL)
        ypi_growth_look(m->growth, m->iterations, m);
    return m->iterations < m->iterations_wanted ? ypi_measure_batch_begin(m)
                                                : finish_untimed(m, YPI_STOP_FIXED);
}

/* Counting on the device, in the case's process: one iteration a pass. */

#include "harness/measure/measurement.h"

#include "device/backend.h"

#include <math.h>

_Static_assert(YP_GPU_CACHE - YP_GPU_FP64 + 1 == YPI_AUDITED, "one counter for each");

enum yp_status ypi_audit_open(struct yp_device *device)
{
    if (device->backend->audit_open == NULL)
        return yp_set_error(YP_UNSUPPORTED, "--audit: nothing counts the work of %s",
                            device->backend->name(device));
    return device->backend->audit_open(device);
}

/* A refusal that came late is one all the same. */
static void leave(const struct yp_measurement *m, enum yp_status status)
{
    if (status == YP_UNSUPPORTED)
        yp_skip(m->t, "%s", yp_last_error());
    ypi_child_quit(m->t, YPI_CAUSE_DEVICE, "yp_measure '%s': --audit: %s", m->measured.name,
                   yp_last_error());
}

/* Around an iteration: the first one warms up and is not counted. A device that fails or refuses
 * leaves the body. */
static void begin(struct yp_measurement *m)
{
    if (m->audit_runs == 0)
        return;
    enum yp_status status = m->device->backend->audit_begin(m->device, m->audit_runs == 1);
    if (status != YP_OK)
        leave(m, status);
}

static void tell(struct yp_measurement *m)
{
    double counts[YPI_AUDITED];
    enum yp_status status = m->device->backend->audit_read(m->device, counts);
    if (status != YP_OK)
        leave(m, status);
    for (int i = 0; i < YPI_AUDITED; i++)
        if (isfinite(counts[i]))
            m->measured.counts[YP_GPU_FP64 + i] =
                (struct ypi_count){.source = YPI_COUNTED_CUPTI, .count = counts[i]};
}

/* False when that was the last; the counts are then sent. */
static bool end(struct yp_measurement *m)
{
    bool more = true;
    m->measured.kind = YPI_MEASURED_COUNT;
    m->measured.on_device.cache = (double)m->device->backend->cache_bytes(m->device);
    if (m->audit_runs++ == 0)
        return true;
    enum yp_status status = m->device->backend->audit_end(m->device, &more);
    if (status != YP_OK)
        leave(m, status);
    if (!more && m->whole)
        tell(m);
    return more;
}

/* Launched by the body, without a gate or a graph: the device would count these too. */
bool ypi_audited_next(struct yp_measurement *m)
{
    if (m->state == YPI_MEASURE_AUDITING) {
        bool more = end(m);
        ypi_phase_check(m);
        if (!m->whole || !more)
            return ypi_measure_finish(m, m->whole ? YPI_STOP_FIXED : YPI_STOP_BREAK);
    }
    m->state = YPI_MEASURE_AUDITING;
    m->whole = false;
    ypi_measure_prepare(m);
    begin(m);
    return true;
}

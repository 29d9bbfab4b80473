/* Named parts of an iteration. */
#include "base/clock.h"
#include "harness/measure/measurement.h"

#include "device/backend.h"

#include <stdio.h>
#include <string.h>

static int phase_of(struct yp_measurement *m, const char *name)
{
    struct ypi_measured *told = &m->told;
    for (int i = 0; i < told->phase_count; i++)
        if (strcmp(told->phases[i].name, name) == 0)
            return i;
    if (told->phase_count == YPI_PHASES_MAX) {
        ypi_child_fail(m->t, YPI_CAUSE_USAGE, NULL, 0,
                       "phase '%s' of '%s' is one too many: at most %d", name, told->name,
                       YPI_PHASES_MAX);
        ypi_child_leave(m->t);
    }
    snprintf(told->phases[told->phase_count].name, YPI_NAME_MAX, "%s", name);
    return told->phase_count++;
}

bool ypi_phase_begin(struct yp_case *t, const char *name)
{
    struct yp_measurement *m = *ypi_child_measurement(t);
    const char *wrong = m == NULL                      ? "outside yp_measure"
                        : m->phase >= 0                ? "inside another phase"
                        : strlen(name) >= YPI_NAME_MAX ? "has a name of 64 characters or more"
                                                       : NULL;
    if (wrong != NULL) {
        ypi_child_fail(t, YPI_CAUSE_USAGE, NULL, 0, "yp_phase '%s' %s", name, wrong);
        ypi_child_leave(t);
    }
    m->phase = phase_of(m, name);
    yp_device_synchronize(m->device);
    if (m->device->backend->range != NULL)
        m->device->backend->range(name);
    m->phase_begun = ypi_now();
    return true;
}

bool ypi_phase_end(struct yp_case *t)
{
    struct yp_measurement *m = *ypi_child_measurement(t);
    yp_device_synchronize(m->device);
    m->phase_seconds[m->phase] += ypi_now() - m->phase_begun;
    if (m->device->backend->range != NULL)
        m->device->backend->range(NULL);
    m->phase = -1;
    return false;
}

void ypi_phase_check(struct yp_measurement *m)
{
    if (m->phase < 0)
        return;
    ypi_child_fail(m->t, YPI_CAUSE_USAGE, NULL, 0,
                   "yp_phase '%s' was left by break, continue or goto: its end was not seen",
                   m->told.phases[m->phase].name);
    ypi_child_leave(m->t);
}

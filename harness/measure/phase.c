/* Named parts of an iteration, and pauses in it. */
#include "base/system/clock.h"
#include "base/text/text.h"
#include "harness/measure/measurement.h"

#include "device/backend.h"
#include "harness/measure/count/callgrind.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int phase_of(struct yp_measurement *m, const char *name)
{
    struct ypi_measured *measured = &m->measured;
    for (int i = 0; i < measured->phase_count; i++)
        if (strcmp(measured->phases[i].name, name) == 0)
            return i;
    if (measured->phase_count == YPI_PHASES_MAX)
        ypi_child_quit(m->t, YPI_CAUSE_USAGE, "phase '%s' of '%s' is one too many: at most %d",
                       name, measured->name, YPI_PHASES_MAX);
    snprintf(measured->phases[measured->phase_count].name, YPI_NAME_MAX, "%s", name);
    return measured->phase_count++;
}

static const char *name_of(const struct yp_measurement *m)
{
    return m->phase == YPI_PAUSE ? "yp_pause" : m->measured.phases[m->phase].name;
}

/* -- on a device -------------------------------------------------------------------------- */

/* Work stays launched before it runs: events go into its stream, and are read after the batch. */
struct ypi_mark {
    struct yp_event *begin, *end;
    int phase;
};

/* More in one batch are read in between, which waits for it. */
enum { MARKS_MAX = 4096 };

static bool is_by_events(const struct yp_measurement *m)
{
    return m->accelerated != NULL && m->state != YPI_MEASURE_AUDITING;
}

static void fail_marks(struct yp_measurement *m)
{
    enum ypi_cause cause = ypi_accelerated_captures(m) ? YPI_CAUSE_USAGE : YPI_CAUSE_DEVICE;
    ypi_child_quit(m->t, cause, "%s%s of '%s': %s", m->phase == YPI_PAUSE ? "" : "phase ",
                   name_of(m), m->measured.name, yp_last_error());
}

static void record(struct yp_measurement *m, struct yp_event *event)
{
    const struct ypi_backend *backend = m->device->backend;
    if ((backend->event_mark != NULL ? backend->event_mark
                                     : backend->event_record)(event, m->stream) != YP_OK)
        fail_marks(m);
}

static void make_mark(struct yp_measurement *m)
{
    m->marks = ypi_realloc(m->marks, m->marks_made + 1, sizeof *m->marks);
    struct ypi_mark *mark = &m->marks[m->marks_made++];
    *mark = (struct ypi_mark){.begin = yp_event_create(m->device)};
    mark->end = yp_event_create(m->device);
    if (mark->begin == NULL || mark->end == NULL)
        fail_marks(m);
}

static void mark_begin(struct yp_measurement *m)
{
    if (m->marks_used == MARKS_MAX && ypi_accelerated_captures(m)) {
        yp_set_error(YP_INVALID, "a graph has at most %d phases", MARKS_MAX);
        fail_marks(m);
    }
    if (m->marks_used == MARKS_MAX) {
        ypi_phase_read(m);
        m->marks_used = 0;
    }
    if (m->marks_used == m->marks_made)
        make_mark(m);
    m->marks[m->marks_used].phase = m->phase;
    record(m, m->marks[m->marks_used].begin);
}

void ypi_phase_forget(struct yp_measurement *m)
{
    if (!ypi_accelerated_replays(m))
        m->marks_used = 0;
}

void ypi_phase_read(struct yp_measurement *m)
{
    for (size_t i = 0; i < m->marks_used; i++) {
        const struct ypi_mark *mark = &m->marks[i];
        m->phase_seconds[mark->phase] += yp_event_seconds(mark->begin, mark->end);
    }
}

void ypi_phase_close(struct yp_measurement *m)
{
    for (size_t i = 0; i < m->marks_made; i++) {
        yp_event_destroy(m->marks[i].begin);
        yp_event_destroy(m->marks[i].end);
    }
    free(m->marks);
    m->marks = NULL;
    m->marks_made = m->marks_used = 0;
}

/* -- for the body ------------------------------------------------------------------------- */

static const char *misplaced(const struct yp_measurement *m)
{
    return m == NULL               ? "outside yp_measure"
           : m->phase == YPI_PAUSE ? "inside a pause"
           : m->phase >= 0         ? "inside another phase"
                                   : NULL;
}

static void begin(struct yp_measurement *m, int phase)
{
    m->phase = phase;
    if (!is_by_events(m))
        yp_device_synchronize(m->device);
    if (m->device->backend->range != NULL)
        m->device->backend->range(name_of(m));
    if (is_by_events(m))
        mark_begin(m);
    m->phase_begun = ypi_now();
}

static void end(struct yp_measurement *m)
{
    if (is_by_events(m)) {
        record(m, m->marks[m->marks_used++].end);
    } else {
        yp_device_synchronize(m->device);
        m->phase_seconds[m->phase] += ypi_now() - m->phase_begun;
    }
    if (m->device->backend->range != NULL)
        m->device->backend->range(NULL);
    m->phase = -1;
}

bool ypi_phase_begin(struct yp_case *t, const char *name)
{
    struct yp_measurement *m = *ypi_child_measurement(t);
    const char *wrong = misplaced(m);
    if (wrong == NULL && strlen(name) >= YPI_NAME_MAX)
        wrong = "has a name of 64 characters or more";
    if (wrong != NULL)
        ypi_child_quit(t, YPI_CAUSE_USAGE, "yp_phase '%s' %s", name, wrong);
    ypi_child_stands_in(name);
    begin(m, phase_of(m, name));
    return true;
}

bool ypi_phase_end(struct yp_case *t)
{
    end(*ypi_child_measurement(t));
    ypi_child_stands_in(NULL);
    return false;
}

/* Whoever counts is paused inside of the pause, which hides what that takes. */
bool ypi_pause_begin(struct yp_case *t)
{
    struct yp_measurement *m = *ypi_child_measurement(t);
    const char *wrong = misplaced(m);
    if (wrong == NULL && m->measured.kind == YPI_MEASURED_SERVE)
        wrong = "in yp_serve: what a request waits for is part of its time";
    if (wrong == NULL && ypi_accelerated_captures(m))
        wrong = "in a graph, which replays what the device was told and nothing else";
    if (wrong != NULL)
        ypi_child_quit(t, YPI_CAUSE_USAGE, "yp_pause %s", wrong);
    m->pauses = true;
    begin(m, YPI_PAUSE);
    m->pause_cpu_begun = ypi_processor_seconds();
    if (m->state == YPI_MEASURE_UNTIMED && ypi_callgrind_running())
        ypi_callgrind_toggle();
    ypi_counting_pause(m);
    return true;
}

bool ypi_pause_end(struct yp_case *t)
{
    struct yp_measurement *m = *ypi_child_measurement(t);
    ypi_counting_go_on(m);
    if (m->state == YPI_MEASURE_UNTIMED && ypi_callgrind_running())
        ypi_callgrind_toggle();
    m->paused_cpu += ypi_processor_seconds() - m->pause_cpu_begun;
    end(m);
    return false;
}

void ypi_phase_check(struct yp_measurement *m)
{
    if (m->phase < 0)
        return;
    if (m->phase == YPI_PAUSE)
        ypi_child_quit(m->t, YPI_CAUSE_USAGE,
                       "a yp_pause was left by break, continue or goto: its end was not seen");
    ypi_child_quit(m->t, YPI_CAUSE_USAGE,
                   "yp_phase '%s' was left by break, continue or goto: its end was not seen",
                   name_of(m));
}

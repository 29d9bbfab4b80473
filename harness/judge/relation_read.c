/* What a relation reads of the cases it names: which they are, their results, where they stand. */
#include "harness/judge/relation_internal.h"
#include "harness/vocabulary/node.h"

#include "base/system/clock.h"
#include "base/text/text.h"
#include "device/cpu/binding.h"
#include "harness/measure/noise.h"
#include "harness/vocabulary/axis.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

/* -- what there is to read ---------------------------------------------------------------- */

bool ypi_relation_missing(struct ypi_relation_work *w, char *reason)
{
    free(w->r->reason);
    w->r->reason = reason;
    return false;
}

bool ypi_relation_misuse(struct ypi_relation_work *w, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    char *message = ypi_vformat(format, arguments);
    va_end(arguments);
    const struct yp_test *test = w->r->c->test;
    ypi_result_fail(w->r, YPI_CAUSE_USAGE, test->file, test->line, "%s", message);
    free(message);
    return false;
}

const struct yp_case *ypi_relation_case(const struct ypi_relation_work *w, int i)
{
    return w->input->cases[i];
}

static bool holds(const struct ypi_relation_cases *list, int index)
{
    for (int i = 0; i < list->count; i++)
        if (list->at[i] == index)
            return true;
    return false;
}

bool ypi_relation_find(struct ypi_relation_work *w, const char *node,
                       struct ypi_relation_cases *list)
{
    bool any = false;
    list->at = ypi_realloc(list->at, (size_t)w->input->count, sizeof *list->at);
    for (int i = 0; i < w->input->count; i++) {
        const struct yp_case *c = ypi_relation_case(w, i);
        if (c->repeat != w->r->c->repeat || !ypi_node_names(node, c->id) ||
            !ypi_relation_is_of_device(w->r->c, c))
            continue;
        if (ypi_is_relation(c))
            return ypi_relation_misuse(
                w, "'%s' is a relation itself: allowed are tests that measure", c->id);
        any = true;
        if (!holds(list, i))
            list->at[list->count++] = i;
    }
    return any || ypi_relation_missing(w, ypi_format("not selected or not declared: '%s'", node));
}

bool ypi_relation_was_skipped(const struct ypi_relation_work *w, int i)
{
    const struct ypi_result *r = w->input->results[i];
    return r != NULL ? r->outcome == YPI_SKIPPED : ypi_relation_case(w, i)->skip != NULL;
}

char *ypi_relation_absence(const struct ypi_relation_work *w, int i)
{
    const struct ypi_result *r = w->input->results[i];
    const struct yp_case *c = ypi_relation_case(w, i);
    if (r == NULL && c->skip == NULL)
        return ypi_format("'%s' has no result: it did not run", c->id);
    enum ypi_outcome outcome = r != NULL ? r->outcome : YPI_SKIPPED;
    if (outcome != YPI_FAILED && outcome != YPI_ERROR && outcome != YPI_SKIPPED)
        return NULL;
    const char *reason = r != NULL ? r->reason : c->skip;
    return ypi_format("'%s' has no result: %s%s%s", c->id, ypi_outcome_name(outcome),
                      reason != NULL ? ": " : "", reason != NULL ? reason : "");
}

bool ypi_relation_has_result(struct ypi_relation_work *w, int i)
{
    char *reason = ypi_relation_absence(w, i);
    return reason == NULL || ypi_relation_missing(w, reason);
}

/* A case that failed as declared may have done so before it came to what is looked for. */
static bool lacks(struct ypi_relation_work *w, int i, const char *what, struct ypi_text *there)
{
    char *names = ypi_text_take(there);
    const char *id = ypi_relation_case(w, i)->id;
    if (w->input->results[i]->outcome == YPI_XFAILED)
        ypi_relation_missing(
            w, ypi_format("'%s' has no result: xfailed before '%s'", id, w->relation->name));
    else
        ypi_relation_misuse(w, "'%s' has no %s '%s': it has %s", id, what, w->relation->name,
                            names[0] != '\0' ? names : "none");
    free(names);
    return false;
}

/* The measurement of the relation's name, or NULL. What else is there is added to `there`. */
static const struct ypi_measured *measurement(struct ypi_relation_work *w, int i,
                                              struct ypi_text *there)
{
    const struct ypi_result *r = w->input->results[i];
    for (int k = 0; k < r->measured_count; k++) {
        if (strcmp(r->measured[k].name, w->relation->name) == 0)
            return &r->measured[k];
        ypi_text_add(there, "%s'%s'", k > 0 ? ", " : "", r->measured[k].name);
    }
    return NULL;
}

static const struct ypi_measured *timed(struct ypi_relation_work *w, int i)
{
    if (!ypi_relation_has_result(w, i))
        return NULL;
    const char *id = ypi_relation_case(w, i)->id;
    const char *name = w->relation->name;
    struct ypi_text there = {0};
    const struct ypi_measured *m = measurement(w, i, &there);
    if (m == NULL) {
        lacks(w, i, "measurement", &there);
        return NULL;
    }
    free(ypi_text_take(&there));
    if (!ypi_is_timed(m->kind))
        ypi_relation_missing(w, ypi_format("'%s' %s '%s' and did not time it", id,
                                           m->kind == YPI_MEASURED_RUN ? "ran" : "counted", name));
    else if (m->count == 0 || !(m->estimate.median > 0) || !isfinite(m->estimate.median))
        ypi_relation_misuse(w,
                            "'%s': the median of '%s' is %g s over %zu samples: allowed is above 0",
                            id, name, m->estimate.median, m->count);
    else if (m->estimate.median < YPI_IMPOSSIBLE_SECONDS)
        ypi_relation_misuse(w, "'%s': '%s' takes no time: the compiler has removed the work", id,
                            name);
    else
        return m;
    return NULL;
}

const struct ypi_estimate *ypi_relation_time(struct ypi_relation_work *w, int i)
{
    const struct ypi_measured *m = timed(w, i);
    return m != NULL ? &m->estimate : NULL;
}

const struct ypi_estimate *ypi_relation_share(struct ypi_relation_work *w, int i)
{
    const struct ypi_measured *m = timed(w, i);
    if (m == NULL)
        return NULL;
    if (m->share_count > 0 && m->share_estimate.median > 0 && isfinite(m->share_estimate.median))
        return &m->share_estimate;
    ypi_relation_misuse(w,
                        "'%s': nothing is known to bound '%s': allowed is a measurement that has a "
                        "share",
                        ypi_relation_case(w, i)->id, m->name);
    return NULL;
}

/* The kernel counts others' time in hundredths of a second: in less than this it may be rounding.
 * What a quota took is counted exactly. */
#define SECONDS_THAT_TELL 0.1

bool ypi_relation_was_crowded(const struct ypi_relation_work *w, int i)
{
    const struct ypi_result *r = w->input->results[i];
    for (int k = 0; r != NULL && k < r->measured_count; k++) {
        const struct ypi_measured *m = &r->measured[k];
        if (strcmp(m->name, w->relation->name) == 0)
            return (m->noise.wall >= SECONDS_THAT_TELL || m->noise.throttled > 0) &&
                   ypi_noise_crowded(&m->noise, m->threads);
    }
    return false;
}

bool ypi_relation_is_oversubscribed(const struct ypi_relation_work *w, int i)
{
    const struct ypi_result *r = w->input->results[i];
    return r != NULL && r->crowded;
}

bool ypi_relation_value(struct ypi_relation_work *w, int i, double *out)
{
    if (!ypi_relation_has_result(w, i))
        return false;
    const struct ypi_result *r = w->input->results[i];
    struct ypi_text there = {0};
    for (int k = 0; k < r->value_count; k++) {
        ypi_text_add(&there, "%s'%s'", k > 0 ? ", " : "", r->values[k].name);
        if (strcmp(r->values[k].name, w->relation->name) != 0)
            continue;
        free(ypi_text_take(&there));
        *out = r->values[k].value;
        return true;
    }
    return lacks(w, i, "value", &there);
}

/* -- axes --------------------------------------------------------------------------------- */

/* The axes of a case's test; the device is one where the test names devices. */
bool ypi_relation_has_axis(struct ypi_relation_work *w, const struct yp_case *c, bool devices)
{
    const char *axis = w->relation->axis;
    devices = devices && c->device[0] != '\0';
    if (ypi_relation_setting(c, axis) != NULL || (devices && strcmp(axis, "device") == 0))
        return true;
    struct ypi_text there = {0};
    for (int i = 0; i < c->setting_count; i++)
        if (!c->settings[i].parameter)
            ypi_text_add(&there, "%s'%s'", there.length > 0 ? ", " : "", c->settings[i].axis);
    if (devices)
        ypi_text_add(&there, "%s'device'", there.length > 0 ? ", " : "");
    char *axes = ypi_text_take(&there);
    ypi_relation_misuse(w, "'%s' has no axis '%s': it has %s", w->relation->of, axis,
                        axes[0] != '\0' ? axes : "none");
    free(axes);
    return false;
}

bool ypi_relation_has_numbers(struct ypi_relation_work *w, const struct yp_case *c,
                              const char *what)
{
    const char *axis = w->relation->axis;
    if (!ypi_relation_has_axis(w, c, false))
        return false;
    return ypi_relation_setting(c, axis)->kind != YP_AXIS_STRING ||
           ypi_relation_misuse(
               w, "the axis '%s' of '%s' is one of texts: allowed for a %s are numbers", axis,
               w->relation->of, what);
}

/* Whether a test declares the value, so that a case of it may stand there; lists those it does. */
static bool declares(const struct yp_test *test, const char *axis, const char *text,
                     struct ypi_text *shown)
{
    bool found = false;
    const struct yp_axis *at = NULL;
    for (int i = 0; (at = ypi_axis_at(test, i)) != NULL && !found; i++) {
        struct yp_axis_values values;
        if (strcmp(at->name, axis) != 0)
            continue;
        ypi_axis_read(test, at, ypi_processors(), &values);
        for (size_t k = 0; k < values.count && !found; k++) {
            char *value = ypi_setting_text(&values.of[k]);
            ypi_text_add(shown, "%s%s", shown->length > 0 ? ", " : "", value);
            found = ypi_relation_equals(&values.of[k], text);
            free(value);
        }
        ypi_axis_clear(&values);
    }
    return found;
}

static bool declares_device(const struct yp_test *test, const char *text)
{
    const char *cursor = test->devices != NULL ? test->devices : "";
    const char *word = NULL;
    size_t length = 0;
    bool found = false;
    while (!found && ypi_next_word(&cursor, &word, &length))
        found = ypi_relation_is_device(text, word, length);
    return found;
}

bool ypi_relation_has_end(struct ypi_relation_work *w, const struct yp_case *c, const char *text)
{
    const char *axis = w->relation->axis;
    struct ypi_text values = {0};
    bool over_device = ypi_relation_setting(c, axis) == NULL;
    bool known =
        over_device ? declares_device(c->test, text) : declares(c->test, axis, text, &values);
    char *there = ypi_text_take(&values);
    if (!known)
        ypi_relation_misuse(w, "the axis '%s' of '%s' has no value '%s': allowed are %s", axis,
                            w->relation->of, text, over_device ? c->test->devices : there);
    free(there);
    return known;
}

/* What a body and a filter may ask of their case. */
#include "base/heap/heap.h"
#include "base/text/text.h"
#include "harness/body/state.h"
#include "harness/collect/collect.h"

#include <stdlib.h>
#include <string.h>

static void no_such_axis(const struct yp_case *t, const char *axis, const char *kind)
{
    YPI_HEAP_OWN;
    struct ypi_text known = {0};
    const char *names[YPI_MAX_SETTINGS];
    for (int i = 0; i < t->setting_count; i++) {
        names[i] = t->settings[i].axis;
        ypi_text_add(&known, "%s%s (%s)", i > 0 ? ", " : "", names[i],
                     ypi_axis_kind_name(t->settings[i].kind));
    }
    const char *near = ypi_nearest(axis, names, t->setting_count);
    char *list = ypi_text_take(&known);
    char *message =
        ypi_format("no axis '%s' of kind %s; this test has: %s%s%s%s", axis, kind,
                   list[0] != '\0' ? list : "none", near != NULL ? "; did you mean '" : "",
                   near != NULL ? near : "", near != NULL ? "'?" : "");
    free(list);
    if (t->child != NULL) {
        ypi_child_fail(t, YPI_CAUSE_USAGE, t->test->file, t->test->line, "%s", message);
        free(message);
        ypi_child_leave(t);
    }
    /* Asked by a filter, before any case runs. */
    ypi_collect_error(t->test, message);
    free(message);
}

static const struct ypi_setting *setting(const struct yp_case *t, const char *axis,
                                         enum yp_axis_kind kind)
{
    for (int i = 0; i < t->setting_count; i++)
        if (strcmp(t->settings[i].axis, axis) == 0 && t->settings[i].kind == kind)
            return &t->settings[i];
    static const struct ypi_setting nothing = {.s = ""};
    no_such_axis(t, axis, ypi_axis_kind_name(kind));
    return &nothing;
}

long long yp_int(const struct yp_case *t, const char *axis)
{
    return setting(t, axis, YP_AXIS_INT)->i;
}

double yp_double(const struct yp_case *t, const char *axis)
{
    return setting(t, axis, YP_AXIS_DOUBLE)->d;
}

const char *yp_string(const struct yp_case *t, const char *axis)
{
    return setting(t, axis, YP_AXIS_STRING)->s;
}

const char *yp_id(const struct yp_case *t)
{
    return t->id;
}

const char *yp_case_name(const struct yp_case *t)
{
    return t->decl != NULL ? t->decl->name : "";
}

const char *yp_device_of(const struct yp_case *t)
{
    return t->device[0] != '\0' ? t->device : "cpu";
}

uint64_t yp_seed(const struct yp_case *t)
{
    return t->seed;
}

struct yp_device *yp_device(const struct yp_case *t)
{
    return t->child->device;
}

void yp_set_data(struct yp_case *t, void *data)
{
    t->child->data = data;
}

void *yp_data(const struct yp_case *t)
{
    return t->child->data;
}

#include "harness/collect/axis.h"

#include "base/text/text.h"

#include <stdlib.h>
#include <string.h>

bool ypi_setting_equal(const struct ypi_setting *x, const struct ypi_setting *y)
{
    return x->kind != y->kind          ? false
           : x->kind == YP_AXIS_INT    ? x->i == y->i
           : x->kind == YP_AXIS_DOUBLE ? x->d == y->d
                                       : strcmp(x->s, y->s) == 0;
}

char *ypi_setting_text(const struct ypi_setting *s)
{
    char number[32];
    if (s->kind == YP_AXIS_INT)
        return ypi_format("%lld", s->i);
    if (s->kind == YP_AXIS_STRING)
        return ypi_strdup(s->s);
    ypi_print_double(number, s->d);
    return ypi_strdup(number);
}

const char *ypi_axis_kind_name(enum yp_axis_kind kind)
{
    static const char *const names[] = {"none", "int", "double", "string", "none"};
    return names[kind];
}

static void append(struct yp_axis_values *values, const struct ypi_setting *value)
{
    values->of = ypi_realloc(values->of, values->count + 1, sizeof *values->of);
    values->of[values->count] = *value;
    values->of[values->count++].axis = values->name;
}

/* -- by a function ------------------------------------------------------------------------ */

static enum yp_status add(struct yp_axis_values *values, const struct ypi_setting *value)
{
    if (values->kind == YP_AXIS_NONE)
        values->kind = value->kind;
    bool missing = value->kind == YP_AXIS_STRING && value->s == NULL;
    if (!missing && values->kind == value->kind) {
        append(values, value);
        if (value->kind == YP_AXIS_STRING)
            values->of[values->count - 1].s = ypi_strdup(value->s);
        return YP_OK;
    }
    char *problem = missing ? ypi_format("value %zu is NULL", values->count + 1)
                            : ypi_format("value %zu is of kind %s, those before it are of kind %s",
                                         values->count + 1, ypi_axis_kind_name(value->kind),
                                         ypi_axis_kind_name(values->kind));
    yp_set_error(YP_INVALID, "axis '%s': %s", values->name, problem);
    if (values->problem == NULL)
        values->problem = problem;
    else
        free(problem);
    return YP_INVALID;
}

enum yp_status yp_axis_add_int(struct yp_axis_values *values, long long value)
{
    return add(values, &(struct ypi_setting){.kind = YP_AXIS_INT, .i = value});
}

enum yp_status yp_axis_add_double(struct yp_axis_values *values, double value)
{
    return add(values, &(struct ypi_setting){.kind = YP_AXIS_DOUBLE, .d = value});
}

enum yp_status yp_axis_add_string(struct yp_axis_values *values, const char *value)
{
    return add(values, &(struct ypi_setting){.kind = YP_AXIS_STRING, .s = value});
}

static void ask(const struct yp_axis *axis, struct yp_axis_values *out)
{
    *out = (struct yp_axis_values){.name = axis->name, .copies = true};
    enum yp_status status = axis->from(out, axis->arg);
    if (status != YP_OK && out->problem == NULL)
        out->problem = ypi_format("its function failed: %s", yp_last_error());
    if (out->count == 0 && out->problem == NULL)
        out->problem = ypi_strdup("its function gives no values");
}

static bool same(const struct yp_axis_values *x, const struct yp_axis_values *y)
{
    bool equal = x->count == y->count;
    for (size_t i = 0; equal && i < x->count; i++)
        equal = ypi_setting_equal(&x->of[i], &y->of[i]);
    return equal;
}

static char *twice(const struct yp_axis_values *values)
{
    for (size_t i = 0; i < values->count; i++)
        for (size_t k = 0; k < i; k++)
            if (ypi_setting_equal(&values->of[i], &values->of[k])) {
                char *text = ypi_setting_text(&values->of[i]);
                char *problem = ypi_format("its function gives '%s' twice", text);
                free(text);
                return problem;
            }
    return NULL;
}

/* Twice, since an id that is there in one collection only would reproduce nothing. */
static bool read_function(const struct yp_axis *axis, struct yp_axis_values *out)
{
    struct yp_axis_values again;
    ask(axis, out);
    if (out->problem == NULL)
        out->problem = twice(out);
    if (out->problem == NULL) {
        ask(axis, &again);
        if (!same(out, &again))
            out->problem = ypi_strdup("its function gives other values when it is asked again");
        ypi_axis_clear(&again);
    }
    return out->problem == NULL;
}

/* -- as declared -------------------------------------------------------------------------- */

bool ypi_axis_read(const struct yp_axis *axis, struct yp_axis_values *out)
{
    if (axis->kind == YP_AXIS_FROM)
        return read_function(axis, out);
    *out = (struct yp_axis_values){.name = axis->name, .kind = axis->kind};
    for (unsigned i = 0; i < axis->count; i++) {
        struct ypi_setting value = {.kind = axis->kind};
        if (axis->kind == YP_AXIS_INT)
            value.i = axis->values.i[i];
        else if (axis->kind == YP_AXIS_DOUBLE)
            value.d = axis->values.d[i];
        else
            value.s = axis->values.s[i];
        append(out, &value);
    }
    return true;
}

void ypi_axis_clear(struct yp_axis_values *values)
{
    for (size_t i = 0; values->copies && i < values->count; i++)
        free((char *)(uintptr_t)values->of[i].s);
    free(values->of);
    free(values->problem);
    *values = (struct yp_axis_values){0};
}

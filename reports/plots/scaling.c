/* Scaling laws: time and memory against an axis of numbers, both logarithmic, with the exponent of
 * each series. */
#include "base/numbers/order.h"
#include "base/numbers/stats.h"
#include "reports/plots/internal.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { POINTS_LEAST = 3 };

/* One series while its line is fitted. */
struct law {
    double *x, *y, *down, *up; /* owned: logarithms, and how far the interval of y reaches */
    size_t count;
};

struct scaling {
    struct ypi_plots *plots;
    const struct ypi_plot_group *group;
    const char *axis;
    bool memory;
    struct ypi_drawing figure;
    cJSON *table;
    size_t drawn, fitted;
};

static double value_of(const struct scaling *s, const struct ypi_plot_case *c)
{
    return s->memory ? c->peak : ypi_plot_seconds(s->group, c);
}

static double number_of(const struct scaling *s, const struct ypi_plot_case *c)
{
    const struct ypi_plot_axis *axis = ypi_plot_axis(c, s->axis);
    return axis != NULL ? axis->number : NAN;
}

static bool is_drawn(const struct scaling *s, const struct ypi_plot_case *c)
{
    return ypi_scale_takes(true, number_of(s, c)) && ypi_scale_takes(true, value_of(s, c));
}

static void add_to_law(struct law *law, const struct scaling *s, const struct ypi_plot_case *c)
{
    const struct ypi_plot_measurement *m =
        s->memory ? NULL : ypi_plot_measurement(c, s->group->measurement);
    size_t i = law->count++;
    law->x[i] = log(number_of(s, c));
    law->y[i] = log(value_of(s, c));
    law->down[i] = m != NULL && m->low > 0 ? fmax(0, law->y[i] - log(m->low)) : 0;
    law->up[i] =
        m != NULL && m->high > 0 && isfinite(m->high) ? fmax(0, log(m->high) - law->y[i]) : 0;
}

static size_t distinct(const struct law *law)
{
    size_t found = 0;
    for (size_t i = 0; i < law->count; i++) {
        bool seen = false;
        for (size_t k = 0; k < i; k++)
            seen = seen || law->x[k] == law->x[i];
        found += !seen;
    }
    return found;
}

/* "grows as N^1.02": the whole sentence; the caller frees. */
static char *sentence(const struct scaling *s, const struct ypi_exponent *e)
{
    return ypi_format("%s grows as %s^%.3g (%.0f %%: %.3g to %.3g); twice the %s, %.3g times the "
                      "%s (%.3g to %.3g)",
                      s->memory ? "memory" : "time", s->axis, e->value, 100 * YPI_COVERAGE, e->low,
                      e->high, s->axis, exp2(e->value), s->memory ? "memory" : "time", exp2(e->low),
                      exp2(e->high));
}

/* The line itself, from its first to its last point. */
static void add_line(struct scaling *s, const struct law *law, const struct ypi_exponent *e,
                     int look, const char *hover)
{
    double middle_x = 0;
    double middle_y = 0;
    double low = INFINITY;
    double high = -INFINITY;
    for (size_t i = 0; i < law->count; i++) {
        middle_x += law->x[i] / (double)law->count;
        middle_y += law->y[i] / (double)law->count;
        low = fmin(low, law->x[i]);
        high = fmax(high, law->x[i]);
    }
    struct ypi_drawing_series *line = ypi_drawing_add_series(&s->figure, "", YPI_ROOF, look);
    ypi_drawing_add_point(line, exp(low), exp(middle_y + e->value * (low - middle_x)), hover, NULL,
                          NULL);
    ypi_drawing_add_point(line, exp(high), exp(middle_y + e->value * (high - middle_x)), hover,
                          NULL, NULL);
}

/* The exponent in the legend, the line, the note. `at`: the series of its points. */
static void add_law(struct scaling *s, const struct law *law, const char *name, size_t at)
{
    const struct ypi_growth_points points = {law->x, law->y, law->down, law->up, law->count};
    struct ypi_exponent e = ypi_exponent_fit(&points);
    const int look = s->figure.series[at].look;
    if (distinct(law) < POINTS_LEAST || !isfinite(e.value) || !isfinite(e.low) ||
        !isfinite(e.high)) {
        ypi_plot_note(s->table, ypi_format("%s%s%d or more different values are needed for an "
                                           "exponent",
                                           name, *name ? ": " : "", POINTS_LEAST));
        return;
    }
    free(s->figure.series[at].name);
    s->figure.series[at].name = ypi_format("%s%sexponent %.3g [%.3g, %.3g]", name,
                                           *name ? ": " : "", e.value, e.low, e.high);
    char *text = sentence(s, &e);
    char *whole = ypi_format("%s%s%s", name, *name ? ": " : "", text);
    add_line(s, law, &e, look, whole);
    if (s->fitted++ == 0) {
        s->figure.description =
            ypi_format("%s of %s on logarithmic axes. %s.",
                       s->memory ? "Peak memory" : "Median time", s->group->test, whole);
        if (*name == '\0') {
            text[0] = (char)(text[0] - 'a' + 'A');
            ypi_drawing_add_note(&s->figure, ypi_format("%s.", text));
        }
    }
    ypi_plot_note(s->table, whole);
    free(text);
}

static void add_point(struct scaling *s, struct ypi_drawing_series *series,
                      const struct ypi_plot_case *c, const char *name)
{
    char text[YPI_QUANTITY_MAX];
    double y = value_of(s, c);
    ypi_axis_quantity_text(text, y, s->memory ? YPI_BYTES : YPI_SECONDS, "");
    char *hover = ypi_format("%s %s%s%s: %s", s->axis, ypi_plot_axis(c, s->axis)->text,
                             *name ? ", " : "", name, text);
    struct ypi_drawing_point *point =
        ypi_drawing_add_point(series, number_of(s, c), y, hover, NULL, c->id);
    const struct ypi_plot_measurement *m =
        s->memory ? NULL : ypi_plot_measurement(c, s->group->measurement);
    if (m != NULL) {
        point->low = m->low;
        point->high = m->high;
    }
    free(hover);
}

/* All cases with the label of case `first`, which is the first with it. */
static void add_series(struct scaling *s, size_t first, const char *name, struct law *law)
{
    const size_t at = s->figure.series_count;
    struct ypi_drawing_series *series =
        ypi_drawing_add_series(&s->figure, name, YPI_POINTS, (int)s->drawn++);
    law->count = 0;
    for (size_t i = first; i < s->group->count; i++) {
        const struct ypi_plot_case *c = s->group->cases[i];
        char *label = ypi_plot_label(&s->group->roles, c, s->axis, NULL);
        if (is_drawn(s, c) && strcmp(label, name) == 0) {
            add_point(s, series, c, name);
            add_to_law(law, s, c);
        }
        free(label);
    }
    add_law(s, law, name, at);
}

static void add_all(struct scaling *s)
{
    const size_t count = s->group->count;
    struct law law = {ypi_calloc(count, sizeof(double)), ypi_calloc(count, sizeof(double)),
                      ypi_calloc(count, sizeof(double)), ypi_calloc(count, sizeof(double)), 0};
    char **names = NULL;
    int name_count = 0;
    for (size_t i = 0; i < count; i++) {
        if (!is_drawn(s, s->group->cases[i]))
            continue;
        char *name = ypi_plot_label(&s->group->roles, s->group->cases[i], s->axis, NULL);
        if (ypi_list_has((const char *const *)names, name_count, name)) {
            free(name);
            continue;
        }
        names = ypi_list_add(names, name_count++, name);
        add_series(s, i, name, &law);
    }
    ypi_list_free(names, name_count);
    free(law.x);
    free(law.y);
    free(law.down);
    free(law.up);
}

static void fill_table(struct scaling *s)
{
    size_t without = 0;
    for (size_t i = 0; i < s->group->count; i++) {
        const struct ypi_plot_case *c = s->group->cases[i];
        cJSON *row = ypi_plot_row(s->table, c, s->group);
        ypi_plot_cell(row, value_of(s, c));
        if (!s->memory) {
            const struct ypi_plot_measurement *m = ypi_plot_measurement(c, s->group->measurement);
            ypi_plot_cell(row, m != NULL ? m->low : NAN);
            ypi_plot_cell(row, m != NULL ? m->high : NAN);
        }
        without += !is_drawn(s, c);
    }
    if (without > 0)
        ypi_plot_note(s->table, ypi_format("%zu of %zu cases have no value above 0 and are not "
                                           "drawn",
                                           without, s->group->count));
}

static struct ypi_drawing_axis axis_of(const struct scaling *s)
{
    size_t count = 0;
    double *values = ypi_calloc(s->group->count, sizeof *values);
    for (size_t i = 0; i < s->group->count; i++)
        if (is_drawn(s, s->group->cases[i]))
            values[count++] = number_of(s, s->group->cases[i]);
    struct ypi_drawing_axis axis = ypi_plot_number_axis(s->axis, values, count);
    axis.log = true;
    free(values);
    return axis;
}

static void draw(struct ypi_plots *p, const struct ypi_plot_group *g, const char *axis, bool memory)
{
    static const char *const of_time[] = {"median (s)", "low (s)", "high (s)", NULL};
    static const char *const of_memory[] = {"peak memory (bytes)", NULL};
    char *kind = ypi_format("%s-over-%s", memory ? "memory" : "time", axis);
    char *what = ypi_format("Scaling of %s with %s", memory ? "memory" : "time", axis);
    struct scaling s = {.plots = p, .group = g, .axis = axis, .memory = memory};
    s.table = ypi_plot_group_table(g, memory ? of_memory : of_time);
    s.figure = ypi_plot_figure(p, g, kind, what);
    s.figure.x = axis_of(&s);
    s.figure.y =
        (struct ypi_drawing_axis){.title = ypi_strdup(memory ? "Peak memory" : "Median time"),
                                  .quantity = memory ? YPI_BYTES : YPI_SECONDS,
                                  .log = true};
    add_all(&s);
    fill_table(&s);
    if (s.fitted > 0) {
        ypi_plot_make(p, &s.figure, g->test, s.table);
    } else {
        ypi_drawing_clear(&s.figure);
        cJSON_Delete(s.table);
    }
    free(kind);
    free(what);
}

void ypi_plot_scaling(struct ypi_plots *p, const struct ypi_plot_group *g)
{
    const char *axes[] = {g->roles.size, g->roles.batch};
    bool numbers;
    for (size_t i = 0; i < 2; i++) {
        if (axes[i] == NULL ||
            ypi_plot_axis_values(g->cases, g->count, axes[i], &numbers) < POINTS_LEAST || !numbers)
            continue;
        if (g->measurement != NULL)
            draw(p, g, axes[i], false);
        draw(p, g, axes[i], true);
    }
}

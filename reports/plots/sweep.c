/* Peak memory, and throughput, against size for each batch. */
#include "reports/plots/internal.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Sizes and values that spread further stand on a logarithmic axis. */
#define SIZE_SPAN 3.9
#define VALUE_SPAN 60.0

struct values {
    double *size, *value; /* owned */
    size_t count;
};

typedef double of_case(const struct ypi_plot_group *g, const struct ypi_plot_case *c);

static double peak_of(const struct ypi_plot_group *g, const struct ypi_plot_case *c)
{
    (void)g;
    return c->peak;
}

/* Points of the value over the size, in the order of the group. */
static struct values collect(const struct ypi_plot_group *g, of_case *value)
{
    struct values v = {ypi_calloc(g->count, sizeof *v.size), ypi_calloc(g->count, sizeof *v.value),
                       0};
    for (size_t i = 0; i < g->count; i++) {
        double size = ypi_plot_size_of(g, g->cases[i]);
        double y = value(g, g->cases[i]);
        if (!isfinite(size) || !isfinite(y) || y < 0)
            continue;
        v.size[v.count] = size;
        v.value[v.count++] = y;
    }
    return v;
}

static void add_hover(struct ypi_drawing_point *point, const struct ypi_plot_group *g,
                      const struct ypi_plot_case *c, const char *series,
                      const struct ypi_drawing_axis *y)
{
    char text[YPI_QUANTITY_MAX];
    ypi_axis_quantity_text(text, point->y, y->quantity, y->unit != NULL ? y->unit : "");
    const struct ypi_plot_axis *size = ypi_plot_axis(c, g->roles.size);
    point->hover = ypi_format("%s %s%s%s: %s%s%s", size->name, size->text, *series ? ", " : "",
                              series, text, strcmp(c->outcome, "passed") == 0 ? "" : ", ",
                              strcmp(c->outcome, "passed") == 0 ? "" : c->outcome);
}

/* The interval of a rate is that of the time, turned around. */
static void add_interval(struct ypi_drawing_point *point, const struct ypi_plot_group *g,
                         const struct ypi_plot_case *c)
{
    const struct ypi_plot_measurement *m = ypi_plot_measurement(c, g->measurement);
    double work = point->y * ypi_plot_seconds(g, c);
    if (c->rate > 0 || m == NULL)
        return;
    point->low = m->high > 0 ? work / m->high : NAN;
    point->high = m->low > 0 ? work / m->low : NAN;
}

static void add_series(struct ypi_drawing *figure, const struct ypi_plot_group *g, of_case *value,
                       bool rates)
{
    char *before = NULL;
    struct ypi_drawing_series *series = NULL;
    for (size_t i = 0; i < g->count; i++) {
        const struct ypi_plot_case *c = g->cases[i];
        double y = value(g, c);
        if (!isfinite(ypi_plot_size_of(g, c)) || !isfinite(y) || y < 0)
            continue;
        char *name = ypi_plot_series_of(g, c);
        if (series == NULL || strcmp(before, name) != 0)
            series = ypi_drawing_add_series(figure, name, YPI_LINE, (int)figure->series_count);
        struct ypi_drawing_point *point =
            ypi_drawing_add_point(series, ypi_plot_size_of(g, c), y, NULL, NULL, c->id);
        add_hover(point, g, c, name, &figure->y);
        if (rates)
            add_interval(point, g, c);
        free(before);
        before = name;
    }
    free(before);
}

static cJSON *table_of(const struct ypi_plot_group *g, of_case *value, bool rates)
{
    char *column = rates ? ypi_format("%s/s", g->unit) : ypi_strdup("peak memory (bytes)");
    const char *more[] = {column, rates ? "median (s)" : NULL, NULL};
    cJSON *table = ypi_plot_group_table(g, more);
    size_t without = 0;
    for (size_t i = 0; i < g->count; i++) {
        cJSON *row = ypi_plot_row(table, g->cases[i], g);
        double y = value(g, g->cases[i]);
        ypi_plot_cell(row, y);
        if (rates)
            ypi_plot_cell(row, ypi_plot_seconds(g, g->cases[i]));
        without += !isfinite(y) || y < 0;
    }
    if (without > 0)
        ypi_plot_note(table, ypi_format("%zu of %zu cases have no such figure and are not drawn",
                                        without, g->count));
    if (g->older > 0)
        ypi_plot_note(table,
                      ypi_format("%d earlier results of the same values are not drawn", g->older));
    if (rates && g->other_measurements > 0)
        ypi_plot_note(table, ypi_format("drawn is the measurement '%s' alone", g->measurement));
    free(column);
    return table;
}

static void note_missing(struct ypi_drawing *figure, const struct ypi_plot_group *g, size_t drawn)
{
    if (drawn < g->count)
        ypi_drawing_add_note(figure, ypi_format("Not drawn, as they have no such figure: %zu of "
                                                "%zu cases (see the table).",
                                                g->count - drawn, g->count));
}

static void draw(struct ypi_plots *p, const struct ypi_plot_group *g, of_case *value, bool rates)
{
    struct values v = collect(g, value);
    if (v.count >= 2) {
        struct ypi_drawing figure = ypi_plot_figure(p, g, rates ? "throughput" : "memory",
                                                    rates ? "Throughput" : "Peak memory");
        figure.x = ypi_plot_number_axis(g->roles.size, v.size, v.count);
        figure.x.log = ypi_plot_wants_log(v.size, v.count, SIZE_SPAN);
        figure.y =
            (struct ypi_drawing_axis){.title = ypi_strdup(rates ? "Throughput" : "Peak memory"),
                                      .quantity = rates ? YPI_PLAIN : YPI_BYTES,
                                      .unit = rates ? ypi_format("%s/s", g->unit) : NULL,
                                      .log = ypi_plot_wants_log(v.value, v.count, VALUE_SPAN),
                                      .zero = true};
        add_series(&figure, g, value, rates);
        note_missing(&figure, g, v.count);
        figure.description =
            ypi_format("%s of %s against %s, a line for each %s; %zu points.",
                       rates ? "Throughput" : "Peak memory", g->test, g->roles.size,
                       g->roles.batch != NULL ? g->roles.batch : "series", v.count);
        ypi_plot_make(p, &figure, g->test, table_of(g, value, rates));
    }
    free(v.size);
    free(v.value);
}

void ypi_plot_sweep(struct ypi_plots *p, const struct ypi_plot_group *g)
{
    if (g->roles.size == NULL)
        return;
    draw(p, g, peak_of, false);
    draw(p, g, ypi_plot_rate, true);
}

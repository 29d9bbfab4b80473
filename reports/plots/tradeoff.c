/* Memory against throughput, with the cases that no other one beats in both. */
#include "reports/plots/internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SPAN 60.0

static int compare_points(const void *a, const void *b, void *arg)
{
    const double *const *of = arg;
    const size_t i = *(const size_t *)a;
    const size_t k = *(const size_t *)b;
    if (of[0][i] != of[0][k])
        return of[0][i] < of[0][k] ? -1 : 1;
    if (of[1][i] != of[1][k])
        return of[1][i] > of[1][k] ? -1 : 1;
    return (i > k) - (i < k);
}

size_t ypi_plot_frontier(const double *cost, const double *gain, size_t count, size_t *out)
{
    const double *of[2] = {cost, gain};
    size_t points = 0;
    size_t kept = 0;
    for (size_t i = 0; i < count; i++)
        if (isfinite(cost[i]) && isfinite(gain[i]))
            out[points++] = i;
    qsort_r(out, points, sizeof *out, compare_points, of);
    for (size_t i = 0; i < points; i++)
        if (kept == 0 || gain[out[i]] > gain[out[kept - 1]])
            out[kept++] = out[i];
    return kept;
}

struct tradeoff {
    const struct ypi_plot_group *group;
    double *cost, *gain; /* owned: of each case */
    size_t *frontier;    /* owned: its cases */
    size_t frontier_count, count;
};

static bool is_on_frontier(const struct tradeoff *t, size_t i)
{
    for (size_t k = 0; k < t->frontier_count; k++)
        if (t->frontier[k] == i)
            return true;
    return false;
}

static void add_point(struct ypi_drawing *figure, struct ypi_drawing_series *series,
                      const struct tradeoff *t, size_t i, const char *name)
{
    const struct ypi_plot_case *c = t->group->cases[i];
    const struct ypi_plot_axis *size =
        t->group->roles.size != NULL ? ypi_plot_axis(c, t->group->roles.size) : NULL;
    char memory[YPI_QUANTITY_MAX];
    char rate[YPI_QUANTITY_MAX];
    const bool best = is_on_frontier(t, i);
    char *all = size != NULL
                    ? ypi_format("%s %s%s%s", size->name, size->text, *name ? ", " : "", name)
                    : ypi_strdup(name);
    ypi_axis_quantity_text(memory, t->cost[i], YPI_BYTES, "");
    ypi_axis_quantity_text(rate, t->gain[i], YPI_PLAIN, figure->y.unit);
    char *hover =
        ypi_format("%s: %s, %s%s", all, memory, rate, best ? "; on the efficiency frontier" : "");
    struct ypi_drawing_point *point =
        ypi_drawing_add_point(series, t->cost[i], t->gain[i], hover, best ? all : NULL, c->id);
    point->strong = best;
    free(hover);
    free(all);
}

static void add_points(struct ypi_drawing *figure, const struct tradeoff *t)
{
    char *before = NULL;
    struct ypi_drawing_series *series = NULL;
    for (size_t i = 0; i < t->group->count; i++) {
        if (!isfinite(t->cost[i]) || !isfinite(t->gain[i]))
            continue;
        char *name = ypi_plot_series_of(t->group, t->group->cases[i]);
        if (series == NULL || strcmp(before, name) != 0)
            series = ypi_drawing_add_series(figure, name, YPI_POINTS, (int)figure->series_count);
        add_point(figure, series, t, i, name);
        free(before);
        before = name;
    }
    free(before);
    if (t->frontier_count < 2)
        return;
    series = ypi_drawing_add_series(figure, "efficiency frontier", YPI_STEPS, -1);
    for (size_t k = 0; k < t->frontier_count; k++)
        ypi_drawing_add_point(series, t->cost[t->frontier[k]], t->gain[t->frontier[k]], NULL, NULL,
                              NULL);
}

static cJSON *table_of(const struct tradeoff *t)
{
    char *column = ypi_format("%s/s", t->group->unit);
    const char *more[] = {"peak memory (bytes)", column, "on the frontier", NULL};
    cJSON *table = ypi_plot_group_table(t->group, more);
    for (size_t i = 0; i < t->group->count; i++) {
        cJSON *row = ypi_plot_row(table, t->group->cases[i], t->group);
        ypi_plot_cell(row, t->group->cases[i]->peak);
        ypi_plot_cell(row, ypi_plot_rate(t->group, t->group->cases[i]));
        cJSON_AddItemToArray(row, cJSON_CreateString(is_on_frontier(t, i) ? "yes" : "no"));
    }
    if (t->count < t->group->count)
        ypi_plot_note(table, ypi_format("%zu of %zu cases lack memory or throughput and are not "
                                        "drawn",
                                        t->group->count - t->count, t->group->count));
    free(column);
    return table;
}

static void draw(struct ypi_plots *p, const struct tradeoff *t)
{
    const struct ypi_plot_group *g = t->group;
    struct ypi_drawing figure =
        ypi_plot_figure(p, g, "memory-throughput", "Memory against throughput");
    figure.x = (struct ypi_drawing_axis){.title = ypi_strdup("Peak memory"),
                                         .quantity = YPI_BYTES,
                                         .log = ypi_plot_wants_log(t->cost, g->count, SPAN),
                                         .zero = true};
    figure.y = (struct ypi_drawing_axis){.title = ypi_strdup("Throughput"),
                                         .quantity = YPI_PLAIN,
                                         .unit = ypi_format("%s/s", g->unit),
                                         .log = ypi_plot_wants_log(t->gain, g->count, SPAN),
                                         .zero = true};
    add_points(&figure, t);
    ypi_drawing_add_note(&figure,
                         ypi_strdup("Large marks: on the efficiency frontier, where no other "
                                    "case has less memory and more throughput."));
    figure.description = ypi_format(
        "Throughput of %s against its peak memory: %zu cases, of which %zu are on the efficiency "
        "frontier, where no other case has less memory and more throughput.",
        g->test, t->count, t->frontier_count);
    ypi_plot_make(p, &figure, g->test, table_of(t));
}

void ypi_plot_tradeoff(struct ypi_plots *p, const struct ypi_plot_group *g)
{
    struct tradeoff t = {g,
                         ypi_calloc(g->count, sizeof *t.cost),
                         ypi_calloc(g->count, sizeof *t.gain),
                         ypi_calloc(g->count, sizeof *t.frontier),
                         0,
                         0};
    for (size_t i = 0; i < g->count; i++) {
        t.cost[i] = g->cases[i]->peak >= 0 ? g->cases[i]->peak : NAN;
        t.gain[i] = ypi_plot_rate(g, g->cases[i]);
        t.count += isfinite(t.cost[i]) && isfinite(t.gain[i]);
    }
    t.frontier_count = ypi_plot_frontier(t.cost, t.gain, g->count, t.frontier);
    if (t.count >= 2)
        draw(p, &t);
    free(t.cost);
    free(t.gain);
    free(t.frontier);
}

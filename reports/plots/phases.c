/* Where the time goes: a bar for each case, of its phases. */
#include "reports/plots/internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { BARS_MOST = 48, PARTS_MOST = 6 };
#define REST 0.01 /* of the time, that phases may leave out unsaid */
static const char rest_name[] = "rest";
static const char whole_name[] = "not divided";

static const struct ypi_plot_measurement *measured(const struct ypi_plot_group *g,
                                                   const struct ypi_plot_case *c)
{
    const struct ypi_plot_measurement *m =
        g->measurement != NULL ? ypi_plot_measurement(c, g->measurement) : NULL;
    return m != NULL && m->mean > 0 && isfinite(m->mean) ? m : NULL;
}

static double phase_of(const struct ypi_plot_measurement *m, const char *name)
{
    for (int i = 0; i < m->phase_count; i++)
        if (strcmp(m->phases[i].name, name) == 0 && m->phases[i].seconds > 0 &&
            isfinite(m->phases[i].seconds))
            return m->phases[i].seconds;
    return 0;
}

static double sum_of(const struct ypi_plot_measurement *m)
{
    double sum = 0;
    for (int i = 0; i < m->phase_count; i++)
        sum += phase_of(m, m->phases[i].name);
    return sum;
}

/* Names of phases in the order in which they are first seen. */
static char **phase_names(const struct ypi_plot_group *g, int *count)
{
    char **names = NULL;
    *count = 0;
    for (size_t i = 0; i < g->count; i++) {
        const struct ypi_plot_measurement *m = measured(g, g->cases[i]);
        for (int k = 0; m != NULL && k < m->phase_count; k++)
            if (!ypi_list_has((const char *const *)names, *count, m->phases[k].name))
                names = ypi_list_add(names, (*count)++, ypi_strdup(m->phases[k].name));
    }
    return names;
}

/* Of a bar: its phases (those past PARTS_MOST together with the rest), and what they leave. */
static void fill_parts(const struct ypi_plot_measurement *m, char *const *names, int count,
                       double *parts)
{
    const int drawn = count < PARTS_MOST ? count : PARTS_MOST;
    double left = m->mean;
    for (int i = 0; i < drawn; i++) {
        parts[i] = phase_of(m, names[i]);
        left -= parts[i];
    }
    /* Phases may also add up to more than the mean, where threads work side by side. */
    parts[drawn] = left > REST * m->mean ? left : 0;
}

static char *bar_name(const struct ypi_plot_group *g, const struct ypi_plot_case *c)
{
    const struct ypi_plot_axis *size =
        g->roles.size != NULL ? ypi_plot_axis(c, g->roles.size) : NULL;
    char *series = ypi_plot_series_of(g, c);
    char *name =
        ypi_format("%s%s%s%s%s", size != NULL ? size->name : "", size != NULL ? " " : "",
                   size != NULL ? size->text : "", size != NULL && *series ? ", " : "", series);
    free(series);
    return name;
}

static cJSON *table_of(const struct ypi_plot_group *g, char *const *names, int count)
{
    const char **more = ypi_calloc((size_t)count + 3, sizeof *more);
    struct ypi_text all = {0};
    for (int i = 0; i < count; i++) {
        ypi_text_add(&all, "%s (s)", names[i]);
        ypi_text_bytes(&all, "", 1);
    }
    more[0] = "mean (s)";
    for (int i = 0, at = 0; i < count; at += (int)strlen(all.data + at) + 1)
        more[1 + i++] = all.data + at;
    cJSON *table = ypi_plot_group_table(g, more);
    for (size_t i = 0; i < g->count; i++) {
        const struct ypi_plot_measurement *m = measured(g, g->cases[i]);
        cJSON *row = ypi_plot_row(table, g->cases[i], g);
        ypi_plot_cell(row, m != NULL ? m->mean : NAN);
        for (int k = 0; k < count; k++)
            ypi_plot_cell(row, m != NULL && m->phase_count > 0 ? phase_of(m, names[k]) : NAN);
    }
    free(all.data);
    free(more);
    return table;
}

static size_t count_measured(const struct ypi_plot_group *g)
{
    size_t count = 0;
    for (size_t i = 0; i < g->count; i++)
        count += measured(g, g->cases[i]) != NULL;
    return count;
}

static void add_bars(struct ypi_drawing *figure, const struct ypi_plot_group *g, char *const *names,
                     int count, size_t *beyond)
{
    double parts[PARTS_MOST + 2] = {0};
    for (size_t i = 0; i < g->count; i++) {
        const struct ypi_plot_measurement *m = measured(g, g->cases[i]);
        char total[YPI_QUANTITY_MAX];
        if (m == NULL || figure->bar_count >= BARS_MOST) {
            *beyond += m != NULL;
            continue;
        }
        char *name = bar_name(g, g->cases[i]);
        fill_parts(m, names, count, parts);
        ypi_axis_quantity_text(total, fmax(m->mean, sum_of(m)), YPI_SECONDS, "");
        ypi_drawing_add_bar(figure, name, g->cases[i]->id, total, parts);
        free(name);
    }
}

void ypi_plot_phases(struct ypi_plots *p, const struct ypi_plot_group *g)
{
    int count;
    size_t beyond = 0;
    if (count_measured(g) < 2)
        return;
    char **names = phase_names(g, &count);
    struct ypi_drawing figure = ypi_plot_figure(p, g, "phases", "Time by phase");
    figure.x = (struct ypi_drawing_axis){.title = ypi_strdup("Mean time of an iteration"),
                                         .quantity = YPI_SECONDS};
    for (int i = 0; i < count && i < PARTS_MOST; i++)
        ypi_drawing_add_part(&figure, names[i]);
    ypi_drawing_add_part(&figure, count == 0           ? whole_name
                                  : count > PARTS_MOST ? "other phases and rest"
                                                       : rest_name);
    add_bars(&figure, g, names, count, &beyond);
    cJSON *table = table_of(g, names, count);
    if (beyond > 0) {
        ypi_drawing_add_note(&figure, ypi_format("%zu more cases are in the table.", beyond));
        ypi_plot_note(table, ypi_format("the first %d cases are drawn", BARS_MOST));
    }
    figure.description =
        ypi_format("Mean time of an iteration of %s for %zu cases, %s.", g->test, figure.bar_count,
                   count > 0 ? "divided into phases" : "not divided into phases");
    ypi_plot_make(p, &figure, g->test, table);
    ypi_list_free(names, count);
}

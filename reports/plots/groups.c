/* The cases of a test, in as many groups as have a picture each. */
#include "reports/plots/internal.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* More series than that in one picture are not told apart; more pictures of a test are not looked
 * at. */
enum { SERIES_MOST = 8, GROUPS_MOST = 12 };

double ypi_plot_size_of(const struct ypi_plot_group *g, const struct ypi_plot_case *c)
{
    const struct ypi_plot_axis *axis =
        g->roles.size != NULL ? ypi_plot_axis(c, g->roles.size) : NULL;
    return axis != NULL ? axis->number : NAN;
}

static const struct ypi_plot_measurement *measured(const struct ypi_plot_group *g,
                                                   const struct ypi_plot_case *c)
{
    return g->measurement != NULL ? ypi_plot_measurement(c, g->measurement) : NULL;
}

double ypi_plot_seconds(const struct ypi_plot_group *g, const struct ypi_plot_case *c)
{
    const struct ypi_plot_measurement *m = measured(g, c);
    return m != NULL && m->median > 0 ? m->median : NAN;
}

double ypi_plot_rate(const struct ypi_plot_group *g, const struct ypi_plot_case *c)
{
    const struct ypi_plot_measurement *m = measured(g, c);
    if (m == NULL || c->rate > 0)
        return c->rate;
    if (strcmp(g->unit, "iterations") == 0)
        return 1 / ypi_plot_seconds(g, c);
    return strcmp(m->unit, g->unit) == 0 && m->items > 0 ? m->items / ypi_plot_seconds(g, c) : NAN;
}

char *ypi_plot_series_of(const struct ypi_plot_group *g, const struct ypi_plot_case *c)
{
    return ypi_plot_label(&g->roles, c, g->roles.size, NULL);
}

/* -- order --------------------------------------------------------------------------------- */

static int compare_axis(const struct ypi_plot_case *a, const struct ypi_plot_case *b,
                        const char *name)
{
    const struct ypi_plot_axis *x = name != NULL ? ypi_plot_axis(a, name) : NULL;
    const struct ypi_plot_axis *y = name != NULL ? ypi_plot_axis(b, name) : NULL;
    if (x == NULL || y == NULL)
        return (x != NULL) - (y != NULL);
    if (isfinite(x->number) && isfinite(y->number))
        return (x->number > y->number) - (x->number < y->number);
    if (isfinite(x->number) != isfinite(y->number))
        return isfinite(x->number) ? -1 : 1;
    return strcmp(x->text, y->text);
}

static int compare_cases(const void *left, const void *right, void *arg)
{
    const struct ypi_plot_case *a = *(const struct ypi_plot_case *const *)left;
    const struct ypi_plot_case *b = *(const struct ypi_plot_case *const *)right;
    const struct ypi_plot_roles *roles = arg;
    int order = 0;
    /* Batches ascend inside what else makes a series, sizes inside a batch. */
    for (int i = 0; i < roles->count && order == 0; i++)
        if ((roles->size == NULL || strcmp(roles->names[i], roles->size) != 0) &&
            (roles->batch == NULL || strcmp(roles->names[i], roles->batch) != 0))
            order = compare_axis(a, b, roles->names[i]);
    if (order == 0)
        order = compare_axis(a, b, roles->batch);
    if (order == 0)
        order = compare_axis(a, b, roles->size);
    return order;
}

/* Of cases with the same values the last one taken stays. */
static void sort_group(struct ypi_plot_group *g)
{
    size_t kept = 0;
    qsort_r(g->cases, g->count, sizeof *g->cases, compare_cases, &g->roles);
    for (size_t i = 0; i < g->count; i++) {
        if (kept > 0 && compare_cases(&g->cases[kept - 1], &g->cases[i], &g->roles) == 0) {
            g->older++;
            if (g->cases[i] > g->cases[kept - 1])
                g->cases[kept - 1] = g->cases[i];
        } else {
            g->cases[kept++] = g->cases[i];
        }
    }
    g->count = kept;
}

/* -- groups -------------------------------------------------------------------------------- */

/* The measurement that most cases have, the first of those; its unit where items are declared. */
static void choose_measurement(struct ypi_plot_group *g)
{
    size_t most = 0;
    const char *unit = NULL;
    g->unit = "iterations";
    for (size_t i = 0; i < g->count; i++)
        for (int k = 0; k < g->cases[i]->measurement_count; k++) {
            const struct ypi_plot_measurement *m = &g->cases[i]->measurements[k];
            size_t have = 0;
            if (!(m->median > 0) ||
                (g->measurement != NULL && strcmp(m->name, g->measurement) == 0))
                continue;
            for (size_t j = 0; j < g->count && most < g->count; j++)
                have += ypi_plot_measurement(g->cases[j], m->name) != NULL;
            g->other_measurements += g->measurement != NULL && have <= most;
            if (have > most) {
                most = have;
                g->measurement = m->name;
                unit = m->items > 0 && *m->unit ? m->unit : NULL;
            }
        }
    if (unit != NULL)
        g->unit = unit;
}

static bool any_measured(const struct ypi_plot_group *g)
{
    for (size_t i = 0; i < g->count; i++)
        if (isfinite(g->cases[i]->peak) || isfinite(ypi_plot_seconds(g, g->cases[i])))
            return true;
    return false;
}

static void draw_group(struct ypi_plots *p, struct ypi_plot_group *g)
{
    sort_group(g);
    choose_measurement(g);
    if (g->count < 2 || !any_measured(g))
        return;
    ypi_plot_sweep(p, g);
    ypi_plot_phases(p, g);
    ypi_plot_tradeoff(p, g);
    ypi_plot_scaling(p, g);
}

static size_t count_series(const struct ypi_plot_group *g)
{
    char **seen = NULL;
    int count = 0;
    for (size_t i = 0; i < g->count && count <= 10 * SERIES_MOST; i++) {
        char *series = ypi_plot_series_of(g, g->cases[i]);
        if (ypi_list_has((const char *const *)seen, count, series))
            free(series);
        else
            seen = ypi_list_add(seen, count++, series);
    }
    ypi_list_free(seen, count);
    return (size_t)count;
}

/* The axis to make a picture for each value of: neither size nor batch, the fewest values; NULL:
 * there is none. */
static const char *axis_to_split(const struct ypi_plot_group *g)
{
    const char *best = NULL;
    size_t least = SIZE_MAX;
    bool numbers;
    for (int i = 0; i < g->roles.count; i++) {
        const char *name = g->roles.names[i];
        if ((g->roles.size != NULL && strcmp(name, g->roles.size) == 0) ||
            (g->roles.batch != NULL && strcmp(name, g->roles.batch) == 0))
            continue;
        size_t values = ypi_plot_axis_values(g->cases, g->count, name, &numbers);
        if (values < least) {
            least = values;
            best = name;
        }
    }
    return best;
}

static void draw_split(struct ypi_plots *p, struct ypi_plot_group *g, int *left);

static void draw_part(struct ypi_plots *p, const struct ypi_plot_group *g, const char *name,
                      const char *value, int *left)
{
    struct ypi_plot_group part = {
        .test = g->test,
        .suffix = ypi_format("%s%s%s %s", g->suffix, *g->suffix ? ", " : "", name, value),
        .cases = ypi_calloc(g->count, sizeof *part.cases)};
    for (size_t i = 0; i < g->count; i++) {
        const struct ypi_plot_axis *axis = ypi_plot_axis(g->cases[i], name);
        if (strcmp(axis != NULL ? axis->text : "", value) == 0)
            part.cases[part.count++] = g->cases[i];
    }
    ypi_plot_roles_of(part.cases, part.count, &part.roles);
    draw_split(p, &part, left);
    free(part.roles.names);
    free(part.cases);
    free(part.suffix);
}

/* Pictures with few series each. `*left`: how many groups may still be drawn. */
static void draw_split(struct ypi_plots *p, struct ypi_plot_group *g, int *left)
{
    const char *name = count_series(g) > SERIES_MOST ? axis_to_split(g) : NULL;
    if (name == NULL) {
        if (--*left >= 0)
            draw_group(p, g);
        return;
    }
    char **values = NULL;
    int count = 0;
    for (size_t i = 0; i < g->count; i++) {
        const struct ypi_plot_axis *axis = ypi_plot_axis(g->cases[i], name);
        const char *text = axis != NULL ? axis->text : "";
        if (!ypi_list_has((const char *const *)values, count, text))
            values = ypi_list_add(values, count++, ypi_strdup(text));
    }
    for (int i = 0; i < count; i++)
        draw_part(p, g, name, values[i], left);
    ypi_list_free(values, count);
}

/* -- tests --------------------------------------------------------------------------------- */

static int compare_tests(const void *left, const void *right)
{
    const struct ypi_plot_case *a = *(const struct ypi_plot_case *const *)left;
    const struct ypi_plot_case *b = *(const struct ypi_plot_case *const *)right;
    int order = strcmp(a->test, b->test);
    return order != 0 ? order : (a > b) - (a < b);
}

static void draw_test(struct ypi_plots *p, const struct ypi_plot_case **cases, size_t count)
{
    int left = GROUPS_MOST;
    size_t before = p->made->count;
    struct ypi_plot_group g = {
        .test = cases[0]->test, .suffix = ypi_strdup(""), .cases = cases, .count = count};
    ypi_plot_roles_of(g.cases, g.count, &g.roles);
    draw_split(p, &g, &left);
    free(g.roles.names);
    free(g.suffix);
    if (left < 0 && p->made->count > before)
        ypi_plot_note(p->made->list[p->made->count - 1].table,
                      ypi_format("%d more combinations of this test's axes are not drawn", -left));
}

void ypi_plot_tests(struct ypi_plots *p)
{
    const struct ypi_plot_case **order = ypi_calloc(p->count + 1, sizeof *order);
    for (size_t i = 0; i < p->count; i++)
        order[i] = &p->cases[i];
    qsort(order, p->count, sizeof *order, compare_tests);
    for (size_t first = 0; first < p->count;) {
        size_t past = first + 1;
        while (past < p->count && strcmp(order[past]->test, order[first]->test) == 0)
            past++;
        draw_test(p, order + first, past - first);
        first = past;
    }
    free(order);
}

/* Figures and tables as they leave this room. */
#include "reports/plots/internal.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { NAME_MOST = 100, TICKS_MOST = 10 };

static bool is_used(const struct ypi_plots *p, const char *name)
{
    for (size_t i = 0; i < p->made->count; i++)
        if (strcmp(p->made->list[i].name, name) == 0)
            return true;
    return false;
}

/* Letters, digits and "_.-" of a text, NAME_MOST at most; "" is allowed. The caller frees. */
static char *plain_name(const char *text)
{
    struct ypi_text name = {0};
    for (; *text && name.length < NAME_MOST; text++) {
        const unsigned char c = (unsigned char)*text;
        const bool kept = c < 0x80 && (isalnum(c) || c == '_' || (c == '.' && name.length > 0));
        if (kept)
            ypi_text_add(&name, "%c", c);
        else if (name.length > 0 && name.data[name.length - 1] != '-')
            ypi_text_add(&name, "-");
    }
    while (name.length > 0 && name.data[name.length - 1] == '-')
        name.data[--name.length] = '\0';
    return ypi_text_take(&name);
}

/* For files and ids in a page: of hostile and long names what is left, with a number where another
 * plot has the name. The caller frees. */
static char *file_name(const struct ypi_plots *p, const char *text, const char *kind)
{
    char *name = plain_name(text), *of = plain_name(kind);
    char *first = ypi_format("%s%s%s", name, *name != '\0' ? "-" : "", of);
    free(name);
    free(of);
    char *out = ypi_strdup(first);
    for (int i = 2; is_used(p, out); i++) {
        free(out);
        out = ypi_format("%s-%d", first, i);
    }
    free(first);
    return out;
}

struct ypi_drawing ypi_plot_figure(struct ypi_plots *p, const struct ypi_plot_group *g,
                                   const char *kind, const char *what)
{
    char *whole = ypi_format("%s %s", g->test, g->suffix);
    struct ypi_drawing figure = {
        .name = file_name(p, whole, kind),
        .title = ypi_format("%s: %s%s%s", what, g->test, *g->suffix ? ", " : "", g->suffix)};
    free(whole);
    return figure;
}

bool ypi_plot_wants_log(const double *values, size_t count, double span)
{
    double low = INFINITY;
    double high = 0;
    for (size_t i = 0; i < count; i++) {
        if (!isfinite(values[i]))
            continue;
        low = fmin(low, values[i]);
        high = fmax(high, values[i]);
    }
    return low > 0 && high > span * low;
}

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;
    return (x > y) - (x < y);
}

struct ypi_drawing_axis ypi_plot_number_axis(const char *name, const double *values, size_t count)
{
    struct ypi_drawing_axis axis = {.title = ypi_strdup(name)};
    double *ticks = ypi_calloc(count + 1, sizeof *ticks);
    size_t kept = 0;
    memcpy(ticks, values, count * sizeof *ticks);
    qsort(ticks, count, sizeof *ticks, compare_doubles);
    for (size_t i = 0; i < count; i++)
        if (kept == 0 || ticks[i] != ticks[kept - 1])
            ticks[kept++] = ticks[i];
    if (kept <= TICKS_MOST) {
        axis.ticks = ticks;
        axis.tick_count = kept;
    } else {
        free(ticks);
    }
    return axis;
}

/* -- tables -------------------------------------------------------------------------------- */

/* JSON is UTF-8, whatever a name holds. */
static cJSON *text_cell(const char *text)
{
    char *whole = ypi_utf8(text);
    cJSON *item = cJSON_CreateString(whole);
    free(whole);
    return item;
}

cJSON *ypi_plot_table(const char *const *columns)
{
    cJSON *table = cJSON_CreateObject();
    cJSON *names = cJSON_AddArrayToObject(table, "columns");
    for (; *columns != NULL; columns++)
        cJSON_AddItemToArray(names, text_cell(*columns));
    cJSON_AddArrayToObject(table, "rows");
    cJSON_AddArrayToObject(table, "notes");
    return table;
}

cJSON *ypi_plot_group_table(const struct ypi_plot_group *g, const char *const *more)
{
    static const char *const none[] = {NULL};
    cJSON *table = ypi_plot_table(none);
    cJSON *names = cJSON_GetObjectItem(table, "columns");
    cJSON_AddItemToArray(names, cJSON_CreateString("case"));
    for (int i = 0; i < g->roles.count; i++)
        cJSON_AddItemToArray(names, text_cell(g->roles.names[i]));
    cJSON_AddItemToArray(names, cJSON_CreateString("outcome"));
    for (; *more != NULL; more++)
        cJSON_AddItemToArray(names, text_cell(*more));
    return table;
}

cJSON *ypi_plot_row(cJSON *table, const struct ypi_plot_case *c, const struct ypi_plot_group *g)
{
    cJSON *row = cJSON_CreateArray();
    cJSON_AddItemToArray(cJSON_GetObjectItem(table, "rows"), row);
    cJSON_AddItemToArray(row, text_cell(c->id));
    for (int i = 0; g != NULL && i < g->roles.count; i++) {
        const struct ypi_plot_axis *axis = ypi_plot_axis(c, g->roles.names[i]);
        if (axis == NULL)
            cJSON_AddItemToArray(row, cJSON_CreateNull());
        else if (isfinite(axis->number))
            cJSON_AddItemToArray(row, cJSON_CreateNumber(axis->number));
        else
            cJSON_AddItemToArray(row, text_cell(axis->text));
    }
    if (g != NULL)
        cJSON_AddItemToArray(row, text_cell(c->outcome));
    return row;
}

void ypi_plot_cell(cJSON *row, double value)
{
    cJSON_AddItemToArray(row, isfinite(value) ? cJSON_CreateNumber(value) : cJSON_CreateNull());
}

void ypi_plot_note(cJSON *table, char *note)
{
    cJSON_AddItemToArray(cJSON_GetObjectItem(table, "notes"), text_cell(note));
    free(note);
}

/* -- the list ------------------------------------------------------------------------------ */

void ypi_plot_make(struct ypi_plots *p, struct ypi_drawing *figure, const char *group, cJSON *table)
{
    struct ypi_plot_list *made = p->made;
    made->list = ypi_realloc(made->list, made->count + 1, sizeof *made->list);
    struct ypi_plot *plot = &made->list[made->count++];
    *plot = (struct ypi_plot){.name = ypi_strdup(figure->name),
                              .title = ypi_strdup(figure->title),
                              .group = ypi_strdup(group),
                              .figure = ypi_calloc(1, sizeof *plot->figure),
                              .table = table};
    *plot->figure = *figure;
    *figure = (struct ypi_drawing){0};
}

static void drop_figure(struct ypi_plot *plot)
{
    if (plot->figure != NULL)
        ypi_drawing_clear(plot->figure);
    free(plot->figure);
    plot->figure = NULL;
}

const char *ypi_plot_svg(struct ypi_plot *plot)
{
    if (plot->svg == NULL)
        plot->svg = ypi_drawing_svg(plot->figure);
    drop_figure(plot);
    return plot->svg;
}

struct ypi_plot_list *ypi_plots_finish(struct ypi_plots *p)
{
    struct ypi_plot_list *made = p->made = ypi_calloc(1, sizeof *p->made);
    ypi_plot_tests(p);
    ypi_plot_rooflines(p);
    p->made = NULL;
    ypi_plots_free(p);
    return made;
}

void ypi_plot_list_free(struct ypi_plot_list *list)
{
    for (size_t i = 0; list != NULL && i < list->count; i++) {
        free((char *)list->list[i].name);
        free((char *)list->list[i].title);
        free((char *)list->list[i].group);
        drop_figure(&list->list[i]);
        free(list->list[i].svg);
        cJSON_Delete(list->list[i].table);
    }
    if (list != NULL)
        free(list->list);
    free(list);
}

#include "machine/machine.h"

#include "base/numbers/stats.h"
#include "base/system/clock.h"
#include "base/text/text.h"

#include <stdlib.h>
#include <string.h>
#include <yieldpoint/ceiling.h>
#include <yieldpoint/isa.h>

void ypi_figures_add(struct ypi_figures *figures, const struct ypi_figure *figure)
{
    if (figures->count == figures->capacity) {
        figures->capacity = figures->capacity > 0 ? 2 * figures->capacity : 64;
        figures->list = ypi_realloc(figures->list, figures->capacity, sizeof *figures->list);
    }
    figures->list[figures->count++] = *figure;
}

void ypi_figures_add_runs(struct ypi_figures *figures, const struct ypi_figure *figure,
                          const double *runs, size_t count)
{
    struct ypi_estimate e = ypi_estimate(runs, count);
    struct ypi_figure one = *figure;
    one.measured = ypi_wall_clock();
    one.rate = e.median;
    one.low = e.min;
    one.high = e.max;
    ypi_figures_add(figures, &one);
}

/* Ceilings in the order of their enum, then the other figures. */
static int rank_of_name(const char *name)
{
    static const char *const others[] = {"sgemm",  "dgemm",         "fork",        "exec",
                                         "thread", "storage write", "storage read"};
    int count = sizeof others / sizeof *others;
    for (int i = 0; i < YP_CEILINGS; i++)
        if (strcmp(name, yp_ceiling_name((enum yp_ceiling)i)) == 0)
            return i;
    for (int i = 0; i < count; i++)
        if (strcmp(name, others[i]) == 0)
            return YP_CEILINGS + i;
    return YP_CEILINGS + count;
}

static int rank_of_isa(const char *name)
{
    enum yp_isa isa;
    return yp_isa_from_name(name, &isa) ? (int)isa : -1;
}

static int compare(const void *left, const void *right)
{
    const struct ypi_figure *a = left;
    const struct ypi_figure *b = right;
    int order = rank_of_name(a->name) - rank_of_name(b->name);
    order = order != 0 ? order : strcmp(a->name, b->name);
    order = order != 0 ? order : strcmp(a->level, b->level); /* L1 ... before memory */
    order = order != 0 ? order : rank_of_isa(a->isa) - rank_of_isa(b->isa);
    return order != 0 ? order : a->threads - b->threads;
}

void ypi_figures_sort(struct ypi_figures *figures)
{
    if (figures->count > 0)
        qsort(figures->list, figures->count, sizeof *figures->list, compare);
}

/* -- the history's table ------------------------------------------------------------------- */

enum yp_status ypi_figures_load(sqlite3 *db, const char *machine, struct ypi_figures *figures)
{
    cJSON *rows = ypi_ceilings_load(db, machine);
    const cJSON *row;
    cJSON_ArrayForEach(row, rows)
    {
        struct ypi_figure figure = ypi_ceiling_of(row);
        ypi_figures_add(figures, &figure);
    }
    enum yp_status status = rows ? YP_OK : YP_IO;
    cJSON_Delete(rows);
    return status;
}

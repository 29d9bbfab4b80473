#include "machine/machine.h"

#include "base/clock.h"
#include "base/stats.h"
#include "base/text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <yieldpoint/ceiling.h>
#include <yieldpoint/isa.h>

void ypi_figures_add(struct ypi_figures *figures, const struct ypi_figure *figure)
{
    if (figures->count == figures->room) {
        figures->room = figures->room > 0 ? 2 * figures->room : 64;
        figures->list = ypi_realloc(figures->list, figures->room, sizeof *figures->list);
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

/* Ceilings as the probes count them, then what is measured beside them. */
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

static enum yp_status refuse(sqlite3 *db, const char *doing)
{
    return yp_set_error(YP_IO, "history '%s': %s: %s", sqlite3_db_filename(db, "main"), doing,
                        sqlite3_errmsg(db));
}

static int insert(sqlite3_stmt *s, const char *machine, const struct ypi_figure *f)
{
    const char *const texts[] = {machine, f->name, f->level, f->isa, f->unit};
    const double reals[] = {f->measured, f->rate, f->low, f->high}; /* NaN becomes NULL */
    int code = sqlite3_reset(s);
    for (int i = 0; i < 5 && code == SQLITE_OK; i++)
        code = sqlite3_bind_text(s, i + 1, texts[i], -1, SQLITE_STATIC);
    for (int i = 0; i < 4 && code == SQLITE_OK; i++)
        code = sqlite3_bind_double(s, i + 6, reals[i]);
    if (code == SQLITE_OK)
        code = sqlite3_bind_int(s, 10, f->threads);
    return code == SQLITE_OK ? sqlite3_step(s) : code;
}

static bool replace(sqlite3 *db, const char *machine, const struct ypi_figures *figures)
{
    sqlite3_stmt *s = NULL;
    int code = sqlite3_prepare_v2(db, "DELETE FROM ceiling WHERE machine = ?", -1, &s, NULL);
    if (code == SQLITE_OK)
        code = sqlite3_bind_text(s, 1, machine, -1, SQLITE_STATIC);
    if (code == SQLITE_OK)
        code = sqlite3_step(s);
    sqlite3_finalize(s);
    s = NULL;
    if (code == SQLITE_DONE &&
        sqlite3_prepare_v2(db,
                           "INSERT INTO ceiling (machine, name, level, isa, unit, measured, rate,"
                           " low, high, threads) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                           -1, &s, NULL) != SQLITE_OK)
        code = SQLITE_ERROR;
    for (size_t i = 0; i < figures->count && code == SQLITE_DONE; i++)
        code = insert(s, machine, &figures->list[i]);
    sqlite3_finalize(s);
    return code == SQLITE_DONE;
}

enum yp_status ypi_figures_store(sqlite3 *db, const char *machine,
                                 const struct ypi_figures *figures)
{
    enum yp_status status = YP_OK;
    if (sqlite3_exec(db, "BEGIN IMMEDIATE", NULL, NULL, NULL) != SQLITE_OK)
        return refuse(db, "locking it");
    if (!replace(db, machine, figures) || sqlite3_exec(db, "COMMIT", NULL, NULL, NULL) != SQLITE_OK)
        status = refuse(db, "storing ceilings");
    if (!sqlite3_get_autocommit(db))
        sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL);
    return status;
}

static void take_text(char *out, size_t size, sqlite3_stmt *s, int column)
{
    const char *text = (const char *)sqlite3_column_text(s, column);
    size_t length = text != NULL ? strlen(text) : 0;
    length = length < size ? length : size - 1;
    if (length > 0)
        memcpy(out, text, length);
    out[length] = '\0';
}

static double real_of(sqlite3_stmt *s, int column)
{
    return sqlite3_column_type(s, column) == SQLITE_NULL ? NAN : sqlite3_column_double(s, column);
}

static struct ypi_figure figure_of(sqlite3_stmt *s)
{
    struct ypi_figure f = {.threads = sqlite3_column_int(s, 4),
                           .measured = real_of(s, 5),
                           .rate = real_of(s, 6),
                           .low = real_of(s, 7),
                           .high = real_of(s, 8)};
    take_text(f.name, sizeof f.name, s, 0);
    take_text(f.level, sizeof f.level, s, 1);
    take_text(f.isa, sizeof f.isa, s, 2);
    take_text(f.unit, sizeof f.unit, s, 3);
    return f;
}

enum yp_status ypi_figures_load(sqlite3 *db, const char *machine, struct ypi_figures *figures)
{
    sqlite3_stmt *s = NULL;
    int code = sqlite3_prepare_v2(db,
                                  "SELECT name, level, isa, unit, threads, measured, rate, low,"
                                  " high FROM ceiling WHERE machine = ?",
                                  -1, &s, NULL);
    if (code == SQLITE_OK)
        code = sqlite3_bind_text(s, 1, machine, -1, SQLITE_STATIC);
    if (code == SQLITE_OK)
        while ((code = sqlite3_step(s)) == SQLITE_ROW) {
            struct ypi_figure f = figure_of(s);
            ypi_figures_add(figures, &f);
        }
    enum yp_status status = code == SQLITE_DONE ? YP_OK : refuse(db, "reading ceilings");
    sqlite3_finalize(s);
    return status;
}

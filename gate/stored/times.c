#include "gate/stored/times.h"

#include "base/text/text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Half the width of a sample's interval of 99 %, in standard deviations of its median. */
#define INTERVAL 2.5758

static const char chosen_sql[] =
    "SELECT r.case_id AS id, m.name, r.run_id AS run, m.median, m.low, m.high, m.share FROM result "
    "AS"
    " r JOIN measurement AS m ON m.result_id = r.id WHERE r.attempt = 0 AND m.median > 0"
    " AND m.kind IN ('work', 'serve', 'run') AND r.outcome NOT IN ('failed', 'error')"
    " AND r.run_id IN (SELECT value FROM json_each(?1))"
    " ORDER BY r.case_id, m.name, r.run_id";

/* Those of a case, newest first, which the index on it and the time gives at once. Which runs count
 * is asked once and not for each case: for ten thousand cases that was a fifth of the time. */
static const char series_sql[] =
    "SELECT r.run_id, m.median, m.share FROM result AS r JOIN measurement AS m ON m.result_id = "
    "r.id"
    " WHERE r.case_id = ?1 AND r.attempt = 0 AND m.name = ?2 AND m.median > 0"
    " AND m.kind IN ('work', 'serve', 'run') AND r.outcome NOT IN ('failed', 'error')"
    " ORDER BY r.started DESC";
enum { SERIES_MOST = 100 }; /* results */

static const char alike_sql[] =
    "SELECT run.id FROM run WHERE run.machine = ?1 AND coalesce(" YPI_WORK_OPTIONS ", '') = ?2"
    " AND " YPI_NORMAL_RUN " ORDER BY run.id";

/* A run's repetitions become one figure: adds `row`, the next one in order. */
struct adding {
    const char *run;
    int repeats;
};

static void add_figure(double *list, int at, int repeats, double value)
{
    double logarithm = value > 0 ? log(value) : NAN;
    list[at] = repeats == 0 ? logarithm : (list[at] * repeats + logarithm) / (repeats + 1);
}

/* Whether the figure is of the run before it. */
static bool add_run(struct ypi_times *t, struct adding *a, const char *run, double seconds,
                    double share)
{
    bool more = t->count > 0 && strcmp(a->run, run) == 0;
    a->repeats = more ? a->repeats + 1 : 0;
    a->run = run;
    t->count += !more;
    add_figure(t->seconds, t->count - 1, a->repeats, seconds);
    add_figure(t->shares, t->count - 1, a->repeats, share);
    return more;
}

static void add_row(struct ypi_times *t, struct adding *a, const cJSON *row)
{
    bool more =
        add_run(t, a, ypi_text_of(row, "run"), ypi_real(row, "median"), ypi_real(row, "share"));
    t->inside[t->count - 1] =
        fmax(more ? t->inside[t->count - 1] : 0,
             log(ypi_real(row, "high") / ypi_real(row, "low")) / (2 * INTERVAL));
}

static struct ypi_times *open_times(struct ypi_timed *out, const cJSON *row, size_t rows)
{
    struct ypi_times *t = &out->list[out->count++];
    *t = (struct ypi_times){.id = ypi_text_of(row, "id"),
                            .name = ypi_text_of(row, "name"),
                            .seconds = ypi_calloc(rows, sizeof *t->seconds),
                            .shares = ypi_calloc(rows, sizeof *t->shares),
                            .inside = ypi_calloc(rows, sizeof *t->inside)};
    return t;
}

static bool is_next(const cJSON *row, const cJSON *other)
{
    return strcmp(ypi_text_of(row, "id"), ypi_text_of(other, "id")) == 0 &&
           strcmp(ypi_text_of(row, "name"), ypi_text_of(other, "name")) == 0;
}

bool ypi_times_read(const struct ypi_stored *runs, struct ypi_timed *out)
{
    char *ids = ypi_stored_ids(runs);
    const char *parameter = ids;
    *out = (struct ypi_timed){.rows = ypi_store_rows(runs->db, chosen_sql, 1, &parameter)};
    free(ids);
    if (out->rows == NULL)
        return false;
    out->list = ypi_calloc((size_t)cJSON_GetArraySize(out->rows) + 1, sizeof *out->list);
    for (const cJSON *row = out->rows->child; row != NULL;) {
        const cJSON *first = row;
        size_t count = 0;
        for (; row != NULL && is_next(row, first); row = row->next)
            count++;
        struct ypi_times *t = open_times(out, first, count);
        struct adding a = {.run = ""};
        for (const cJSON *next = first; next != row; next = next->next)
            add_row(t, &a, next);
    }
    return true;
}

void ypi_times_clear(struct ypi_timed *timed)
{
    for (int i = 0; i < timed->count; i++) {
        free(timed->list[i].seconds);
        free(timed->list[i].shares);
        free(timed->list[i].inside);
    }
    free(timed->list);
    cJSON_Delete(timed->rows);
    *timed = (struct ypi_timed){0};
}

const struct ypi_times *ypi_times_of_case(const struct ypi_timed *timed, const char *id)
{
    int low = 0;
    int high = timed->count;
    while (low < high) {
        int middle = low + (high - low) / 2;
        if (strcmp(timed->list[middle].id, id) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low < timed->count && strcmp(timed->list[low].id, id) == 0 ? &timed->list[low] : NULL;
}

const struct ypi_times *ypi_times_of(const struct ypi_timed *timed, const char *id,
                                     const char *name)
{
    const struct ypi_times *end = timed->list + timed->count;
    for (const struct ypi_times *t = ypi_times_of_case(timed, id);
         t != NULL && t < end && strcmp(t->id, id) == 0; t++)
        if (strcmp(t->name, name) == 0)
            return t;
    return NULL;
}

/* -- earlier runs -------------------------------------------------------------------------- */

void ypi_earlier_open(struct ypi_earlier *e, sqlite3 *db, const char *machine, const char *options)
{
    const char *const parameters[] = {machine, options};
    *e = (struct ypi_earlier){.rows = ypi_store_rows(db, alike_sql, 2, parameters)};
    const cJSON *row;
    e->ids = ypi_calloc((size_t)cJSON_GetArraySize(e->rows) + 1, sizeof *e->ids);
    cJSON_ArrayForEach(row, e->rows) e->ids[e->count++] = ypi_text_of(row, "id");
    if (sqlite3_prepare_v2(db, series_sql, -1, &e->series, NULL) != SQLITE_OK)
        e->count = 0;
}

void ypi_earlier_close(struct ypi_earlier *e)
{
    (void)sqlite3_finalize(e->series);
    free((void *)e->ids);
    cJSON_Delete(e->rows);
    *e = (struct ypi_earlier){0};
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* That run's id, which stays; NULL: it does not count. */
static const char *alike(const struct ypi_earlier *e, const char *run)
{
    const char *const *found =
        run != NULL ? bsearch(&run, (const void *)e->ids, e->count, sizeof *e->ids, by_text) : NULL;
    return found != NULL ? *found : NULL;
}

static double figure(sqlite3_stmt *s, int column)
{
    return sqlite3_column_type(s, column) != SQLITE_NULL ? sqlite3_column_double(s, column) : NAN;
}

/* False: they cannot be read. */
static bool read_series(const struct ypi_earlier *e, const struct ypi_times *of,
                        struct ypi_times *series)
{
    struct adding a = {.run = ""};
    sqlite3_stmt *s = e->series;
    int code = sqlite3_bind_text(s, 1, of->id, -1, SQLITE_STATIC);
    if (code == SQLITE_OK)
        code = sqlite3_bind_text(s, 2, of->name, -1, SQLITE_STATIC);
    if (code == SQLITE_OK)
        code = sqlite3_step(s);
    for (int results = 0; code == SQLITE_ROW && results < SERIES_MOST; code = sqlite3_step(s)) {
        const char *run = alike(e, (const char *)sqlite3_column_text(s, 0));
        results += run != NULL;
        if (run != NULL)
            (void)add_run(series, &a, run, figure(s, 1), figure(s, 2));
    }
    (void)sqlite3_reset(s);
    return code == SQLITE_ROW || code == SQLITE_DONE;
}

struct ypi_scatter ypi_times_scatter(const struct ypi_earlier *e, const struct ypi_times *of,
                                     bool by_share)
{
    double seconds[SERIES_MOST];
    double shares[SERIES_MOST];
    struct ypi_times series = {.seconds = seconds, .shares = shares};
    if (e->count == 0 || !read_series(e, of, &series))
        return (struct ypi_scatter){0};
    const double *figures = by_share ? shares : seconds;
    size_t known = 0;
    while (known < (size_t)series.count && !isnan(figures[known]))
        known++;
    return ypi_scatter_of_series(figures, known);
}

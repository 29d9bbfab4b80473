#include "harness/history/filter.h"

#include "harness/collect/select.h"
#include "harness/record/row.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* -- cases --------------------------------------------------------------------------------- */

static struct ypi_selection selection_of(const struct ypi_filter *f)
{
    return (struct ypi_selection){.mark = f->mark, .keyword = f->keyword};
}

bool ypi_filter_is_right(const struct ypi_filter *f)
{
    return ypi_selection_is_right(&(struct ypi_options){.mark = (char *)(uintptr_t)f->mark,
                                                        .keyword = (char *)(uintptr_t)f->keyword});
}

bool ypi_filter_is_empty(const struct ypi_filter *f)
{
    return !f->run && !f->id && !f->mark && !f->keyword && !f->device && !f->outcome &&
           !f->machine && !f->commit && !(f->since > 0) && !(f->before > 0);
}

/* A case that names no device is one of the CPU. */
static bool is_on(const cJSON *row, const char *device)
{
    const char *own = ypi_text_of(row, "device");
    return strcmp(*own ? own : "cpu", device) == 0;
}

/* There are few cases and many results: what is asked of a case is answered before. The caller
 * frees; NULL with the error set. */
static char *cases_meant(sqlite3 *db, const struct ypi_filter *f)
{
    bool right = true;
    const struct ypi_selection selection = selection_of(f);
    cJSON *rows = ypi_cases_load(db, &selection, &right);
    if (!rows)
        return NULL;
    cJSON *ids = cJSON_CreateArray();
    const cJSON *row;
    cJSON_ArrayForEach(row, rows)
    {
        const char *id = ypi_text_of(row, "id");
        if (right && (!f->id || strstr(id, f->id)) && (!f->device || is_on(row, f->device)))
            cJSON_AddItemToArray(ids, cJSON_CreateString(id));
    }
    char *printed = cJSON_PrintUnformatted(ids);
    char *out = ypi_strdup(printed ? printed : "[]");
    cJSON_free(printed);
    cJSON_Delete(ids);
    cJSON_Delete(rows);
    return out;
}

/* -- SQL ------------------------------------------------------------------------------------ */

/* A condition with a parameter's place in it, where the parameter is given. */
static void add(struct ypi_where *w, const char *before, const char *parameter, const char *behind)
{
    if (!parameter || w->count >= YPI_WHERE_MAX)
        return;
    w->parameters[w->count++] = parameter;
    ypi_text_add(&w->sql, " AND %s?%d%s", before, w->count, behind);
}

static const char *number(char out[32], double value)
{
    snprintf(out, 32, "%.17g", value);
    return value > 0 ? out : NULL;
}

/* One parameter in three places. */
static void add_machine(struct ypi_where *w, const char *machine)
{
    if (!machine || w->count >= YPI_WHERE_MAX)
        return;
    w->parameters[w->count++] = machine;
    ypi_text_add(&w->sql,
                 " AND (substr(run.machine, 1, length(?%d)) = lower(?%d)"
                 " OR EXISTS (SELECT 1 FROM fact WHERE run_id = run.id"
                 " AND key IN ('cpu.model', 'hostname') AND instr(lower(value), lower(?%d)) > 0))",
                 w->count, w->count, w->count);
}

bool ypi_where_make(struct ypi_where *w, sqlite3 *db, const struct ypi_filter *f)
{
    bool of_cases = f->id || f->mark || f->keyword || f->device;
    *w = (struct ypi_where){.of_results = of_cases || f->outcome};
    ypi_text_add(&w->sql, "%s", "");
    if (of_cases && (w->cases = cases_meant(db, f)) == NULL)
        return false;
    add(w, "run.id = ", f->run, "");
    add(w, "run.started >= ", number(w->since, f->since), " + 0");
    add(w, "run.started < ", number(w->before, f->before), " + 0");
    add_machine(w, f->machine);
    add(w, "(SELECT value FROM fact WHERE run_id = run.id AND key = 'git.commit') GLOB lower(",
        f->commit, ") || '*'");
    add(w, "r.case_id IN (SELECT value FROM json_each(", w->cases, "))");
    add(w, "r.outcome = ", f->outcome, "");
    return true;
}

void ypi_where_free(struct ypi_where *w)
{
    free(ypi_text_take(&w->sql));
    free(w->cases);
    *w = (struct ypi_where){0};
}

/* -- rows ----------------------------------------------------------------------------------- */

static enum yp_status each(sqlite3 *db, const struct ypi_where *w, const char *sql,
                           bool (*take)(void *arg, const cJSON *row), void *arg)
{
    sqlite3_stmt *s = NULL;
    int code = sqlite3_prepare_v2(db, sql, -1, &s, NULL);
    bool more = true;
    for (int i = 0; code == SQLITE_OK && i < w->count; i++)
        code = sqlite3_bind_text(s, i + 1, w->parameters[i], -1, SQLITE_STATIC);
    while (more && (code == SQLITE_OK || code == SQLITE_ROW)) {
        code = sqlite3_step(s);
        cJSON *row = code == SQLITE_ROW ? ypi_row_read(s) : NULL;
        more = row && take(arg, row);
        cJSON_Delete(row);
    }
    enum yp_status status = YP_OK;
    if (code != SQLITE_DONE && code != SQLITE_ROW)
        status = yp_set_error(YP_IO, "history '%s': reading it: %s",
                              sqlite3_db_filename(db, "main"), sqlite3_errmsg(db));
    sqlite3_finalize(s);
    return status;
}

enum yp_status ypi_results_each(sqlite3 *db, const struct ypi_filter *filter, const char *columns,
                                bool attempts, bool (*take)(void *arg, const cJSON *row), void *arg)
{
    struct ypi_where where;
    struct ypi_text sql = {0};
    enum yp_status status = YP_IO;
    if (ypi_where_make(&where, db, filter)) {
        ypi_text_add(&sql,
                     "SELECT %s FROM run CROSS JOIN result AS r ON r.run_id = run.id%s"
                     " JOIN test_case AS c ON c.id = r.case_id"
                     " LEFT JOIN measurement AS m ON m.result_id = r.id WHERE 1%s"
                     " ORDER BY run.started, run.rowid, r.started, r.rowid, m.position",
                     columns, attempts ? "" : " AND r.attempt = 0", where.sql.data);
        status = each(db, &where, sql.data, take, arg);
    }
    free(ypi_text_take(&sql));
    ypi_where_free(&where);
    return status;
}

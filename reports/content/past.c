/* The past of a case: its results on the same machine, one after the other. */
#include "reports/content/loaded.h"

#include <string.h>

#include <yieldpoint/device.h>

/* Newest first, by the index on both; so that the last twenty are found in twenty steps. */
static const char of_case_sql[] =
    "SELECT id AS result, run_id AS run, started AS began, outcome FROM result"
    " WHERE case_id = ?1 AND attempt = 0 AND started <= (SELECT started FROM result WHERE id = ?2)"
    " ORDER BY started DESC, rowid DESC";

static const char of_result_sql[] =
    "SELECT 1 AS kind, memory AS name, allocated_peak, NULL, NULL FROM memory WHERE result_id = ?1"
    " UNION ALL SELECT 2, name, median, low, high FROM measurement WHERE result_id = ?1";

static bool fail(struct ypi_loaded *l)
{
    (void)yp_set_error(YP_IO, "history '%s': reading it: %s", l->content.history,
                       sqlite3_errmsg(l->db));
    return false;
}

static bool prepare(struct ypi_loaded *l)
{
    return l->of_case != NULL ||
           (sqlite3_prepare_v2(l->db, of_case_sql, -1, &l->of_case, NULL) == SQLITE_OK &&
            sqlite3_prepare_v2(l->db, of_result_sql, -1, &l->of_result, NULL) == SQLITE_OK);
}

static void bind(sqlite3_stmt *s, int at, const char *text)
{
    (void)sqlite3_reset(s);
    (void)sqlite3_bind_text(s, at, text, -1, SQLITE_STATIC);
}

/* Figures as rows.h has them: null for what is none. */
static cJSON *figure(sqlite3_stmt *s, int column)
{
    double value = sqlite3_column_double(s, column);
    if (sqlite3_column_type(s, column) == SQLITE_NULL)
        return cJSON_CreateNull();
    if (value > 1.7976931348623157e308 || value < -1.7976931348623157e308)
        return cJSON_CreateString(value > 0 ? "inf" : "-inf");
    return cJSON_CreateNumber(value);
}

static void add_measurement(cJSON *list, sqlite3_stmt *s)
{
    cJSON *row = ypi_row_read(s);
    cJSON *m = cJSON_CreateObject();
    cJSON_AddItemToObject(m, "name", cJSON_DetachItemFromObjectCaseSensitive(row, "name"));
    cJSON_AddItemToObject(m, "median", figure(s, 2));
    cJSON_AddItemToObject(m, "low", figure(s, 3));
    cJSON_AddItemToObject(m, "high", figure(s, 4));
    cJSON_AddItemToArray(list, m);
    cJSON_Delete(row);
}

/* A case may have an accelerator and take nothing of its memory. */
static bool is_used_device(sqlite3_stmt *s)
{
    return strcmp((const char *)sqlite3_column_text(s, 1), "device") == 0 &&
           sqlite3_column_double(s, 2) > 0;
}

static bool add_figures(struct ypi_loaded *l, cJSON *one)
{
    sqlite3_stmt *s = l->of_result;
    cJSON *peak = NULL;
    cJSON *list = cJSON_AddArrayToObject(one, "measurements");
    int code;
    bind(s, 1, ypi_text_of(one, "result"));
    while ((code = sqlite3_step(s)) == SQLITE_ROW) {
        if (sqlite3_column_int(s, 0) == 2) {
            add_measurement(list, s);
        } else if (peak == NULL || is_used_device(s)) {
            cJSON_Delete(peak);
            peak = figure(s, 2);
        }
    }
    cJSON_AddItemToObject(one, "peak", peak != NULL ? peak : cJSON_CreateNull());
    return code == SQLITE_DONE || fail(l);
}

/* Whether a result of `run` is beside one of `own` what is compared with it. */
static bool is_alike(const struct ypi_run_row *run, const struct ypi_run_row *own)
{
    return run == own ||
           (run != NULL && own != NULL && run->normal && strcmp(run->machine, own->machine) == 0 &&
            strcmp(run->options, own->options) == 0);
}

static bool add_result(struct ypi_loaded *l, cJSON *past, const struct ypi_run_row *run, cJSON *one)
{
    cJSON_AddStringToObject(one, "commit", run != NULL ? run->commit : "");
    cJSON_AddBoolToObject(one, "dirty", run != NULL && run->dirty);
    cJSON_InsertItemInArray(past, 0, one); /* oldest first */
    return add_figures(l, one);
}

/* Newest first; of a run's repetitions each counts. */
static bool read_past(struct ypi_loaded *l, const struct ypi_report_case *c, cJSON *past)
{
    const struct ypi_run_row *own = ypi_run_find(l, c->run);
    sqlite3_stmt *s = l->of_case;
    int code = SQLITE_ROW;
    bool ok = true;
    bind(s, 1, c->id);
    bind(s, 2, c->result);
    for (int count = 0; ok && count < l->past && (code = sqlite3_step(s)) == SQLITE_ROW;) {
        cJSON *row = ypi_row_read(s);
        const struct ypi_run_row *run = ypi_run_find(l, ypi_text_of(row, "run"));
        if (is_alike(run, own)) {
            ok = add_result(l, past, run, row);
            count++;
        } else {
            cJSON_Delete(row);
        }
    }
    (void)sqlite3_reset(s);
    return ok && (code == SQLITE_ROW || code == SQLITE_DONE || fail(l));
}

cJSON *ypi_content_past(struct ypi_loaded *l, const struct ypi_report_case *c)
{
    if (!prepare(l)) {
        (void)fail(l);
        return NULL;
    }
    cJSON *past = cJSON_CreateArray();
    if (!read_past(l, c, past)) {
        cJSON_Delete(past);
        past = NULL;
    }
    return past;
}

void ypi_content_end_past(struct ypi_loaded *l)
{
    cJSON_Delete(l->past_of_last);
    (void)sqlite3_finalize(l->of_case);
    (void)sqlite3_finalize(l->of_result);
}

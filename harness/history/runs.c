/* Runs with their results, a row each: those fields that are listed. */
#include "harness/history/filter.h"
#include "harness/history/history.h"
#include "harness/record/row.h"

#include <stdlib.h>
#include <string.h>

/* -- queries ----------------------------------------------------------------------------------- */

static const enum ypi_table_name listed[] = {YPI_TABLE_RESULT, YPI_TABLE_FAILURE,
                                             YPI_TABLE_MEASUREMENT};
static const char *const aliases[] = {"r.", "f.", "m."};

/* SELECT `head`, the listed fields, `tail`. The caller frees. */
static char *sql_of_results(const char *head, const char *tail)
{
    struct ypi_text sql = {0};
    ypi_text_add(&sql, "SELECT %s", head);
    for (size_t i = 0; i < sizeof listed / sizeof *listed; i++) {
        ypi_text_add(&sql, "%s", i > 0 ? ", " : "");
        ypi_sql_export(&sql, &ypi_tables[listed[i]], aliases[i], true);
    }
    ypi_text_add(&sql, " FROM %s", tail);
    return ypi_text_take(&sql);
}

static cJSON *select_results(sqlite3 *db, const char *head, const char *tail, int count,
                             const char *const *parameters)
{
    char *sql = sql_of_results(head, tail);
    cJSON *rows = ypi_store_rows(db, sql, count, parameters);
    free(sql);
    return rows;
}

#define PARTS_OF_RESULT \
    " LEFT JOIN failure AS f ON f.result_id = r.id AND f.position = 0" \
    " LEFT JOIN measurement AS m ON m.result_id = r.id AND m.position = 0"

static const char of_runs[] =
    "run.id AS run_id, run.started AS run_started, run.ended AS run_ended, run.exit_code,"
    " run.command, run.machine, run.slowdown, run.no_fork,"
    " (SELECT value FROM fact WHERE run_id = run.id AND key = 'git.commit') AS 'commit',"
    " (SELECT value FROM fact WHERE run_id = run.id AND key = 'git.dirty') AS dirty, ";
static const char from_attempts[] =
    "result AS this JOIN result AS r ON r.run_id = this.run_id"
    " AND r.case_id = this.case_id AND r.repeat = this.repeat"
    " AND r.attempt <> this.attempt" PARTS_OF_RESULT " WHERE this.id = ?1 ORDER BY r.attempt";

/* -- documents --------------------------------------------------------------------------------- */

/* Takes a member out of `from` and puts it into `to`. */
static void move(cJSON *to, const char *name, cJSON *from, const char *old)
{
    cJSON *item = cJSON_DetachItemFromObjectCaseSensitive(from, old);
    if (item)
        cJSON_AddItemToObject(to, name, item);
}

static cJSON *new_run(cJSON *row)
{
    cJSON *run = cJSON_CreateObject();
    move(run, "id", row, "run_id");
    move(run, "started", row, "run_started");
    move(run, "ended", row, "run_ended");
    static const char *const of_run[] = {"exit_code", "command",  "machine",
                                         "commit",    "slowdown", "no_fork"};
    for (size_t i = 0; i < sizeof of_run / sizeof *of_run; i++)
        move(run, of_run[i], row, of_run[i]);
    if (*ypi_text_of(row, "dirty"))
        cJSON_AddBoolToObject(run, "dirty", strcmp(ypi_text_of(row, "dirty"), "yes") == 0);
    else
        cJSON_AddNullToObject(run, "dirty");
    cJSON_AddArrayToObject(run, "results");
    return run;
}

static void move_listed(cJSON *to, cJSON *from, enum ypi_table_name table)
{
    const struct ypi_table *t = &ypi_tables[table];
    for (size_t i = 0; i < t->count; i++)
        if (t->fields[i].listed)
            move(to, ypi_field_member(&t->fields[i]), from, ypi_field_member(&t->fields[i]));
}

static cJSON *new_result(cJSON *row)
{
    cJSON *result = cJSON_CreateObject();
    move_listed(result, row, YPI_TABLE_RESULT);
    if (*ypi_text_of(row, "cause"))
        move_listed(cJSON_AddObjectToObject(result, "failure"), row, YPI_TABLE_FAILURE);
    if (*ypi_text_of(row, "name"))
        move_listed(cJSON_AddObjectToObject(result, "measurement"), row, YPI_TABLE_MEASUREMENT);
    return result;
}

static cJSON *select_runs(sqlite3 *db, const struct ypi_filter *filter, int limit, bool attempts)
{
    struct ypi_where where;
    struct ypi_text tail = {0};
    cJSON *rows = NULL;
    if (ypi_where_make(&where, db, filter)) {
        /* Runs come in the order of their index, so that a few results are found in as many steps,
         * however many there are. */
        ypi_text_add(&tail,
                     "run %s result AS r ON r.run_id = run.id%s" PARTS_OF_RESULT " WHERE 1%s"
                     " ORDER BY run.started DESC, run.rowid DESC, r.started DESC, r.rowid DESC"
                     " LIMIT %d",
                     where.of_results ? "CROSS JOIN" : "LEFT JOIN",
                     attempts ? "" : " AND r.attempt = 0", where.sql.data, limit);
        rows = select_results(db, of_runs, tail.data, where.count, where.parameters);
    }
    free(ypi_text_take(&tail));
    ypi_where_free(&where);
    return rows;
}

cJSON *ypi_runs_load(sqlite3 *db, const struct ypi_filter *filter, int limit, bool attempts)
{
    cJSON *rows = select_runs(db, filter, limit, attempts);
    if (!rows)
        return NULL;
    cJSON *runs = cJSON_CreateArray();
    cJSON *run = NULL;
    cJSON *row;
    cJSON_ArrayForEach(row, rows)
    {
        if (!run || strcmp(ypi_text_of(run, "id"), ypi_text_of(row, "run_id")) != 0) {
            run = new_run(row);
            cJSON_AddItemToArray(runs, run);
        }
        if (*ypi_text_of(row, "id"))
            cJSON_AddItemToArray(cJSON_GetObjectItem(run, "results"), new_result(row));
    }
    cJSON_Delete(rows);
    return runs;
}

cJSON *ypi_attempts_read(sqlite3 *db, const char *result_id, sqlite3_stmt **ready)
{
    char *sql = *ready == NULL ? sql_of_results("", from_attempts) : NULL;
    cJSON *rows = ypi_store_rows_ready(db, sql, ready, result_id);
    free(sql);
    if (!rows)
        return NULL;
    cJSON *attempts = cJSON_CreateArray();
    cJSON *row;
    cJSON_ArrayForEach(row, rows)
    {
        cJSON_AddItemToArray(attempts, new_result(row));
    }
    cJSON_Delete(rows);
    return attempts;
}

cJSON *ypi_attempts_load(sqlite3 *db, const char *result_id)
{
    sqlite3_stmt *ready = NULL;
    cJSON *attempts = ypi_attempts_read(db, result_id, &ready);
    (void)sqlite3_finalize(ready);
    return attempts;
}

/* Results that are to go, and the room that they had. */
#include "harness/history/filter.h"

#include "base/system/clock.h"
#include "base/system/file.h"
#include "harness/record/row.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { PART = 500 };     /* results a transaction */
#define BEGINS_WITHIN 60 /* seconds: a run's row is there before its directory */
#define LOCK_WAIT_MS 30000

static enum yp_status refuse(sqlite3 *db, const char *doing)
{
    return yp_set_error(YP_IO, "history '%s': %s: %s", sqlite3_db_filename(db, "main"), doing,
                        sqlite3_errmsg(db));
}

static bool execute(sqlite3 *db, const char *sql)
{
    return sqlite3_exec(db, sql, NULL, NULL, NULL) == SQLITE_OK;
}

/* -- runs that are going on ------------------------------------------------------------------ */

static bool goes_on(const char *history, const char *run, double started)
{
    const enum ypi_run_life life = ypi_run_life(history, run);
    if (life == YPI_RUN_WITHOUT || life == YPI_RUN_CLOSED)
        return ypi_wall_clock() - started < BEGINS_WITHIN;
    return life == YPI_RUN_ALIVE;
}

/* A JSON array of their ids; the caller frees. NULL with the error set. */
static char *living(sqlite3 *db, const char *history)
{
    cJSON *runs = ypi_store_rows(db, "SELECT id, started FROM run WHERE ended IS NULL", 0, NULL);
    struct ypi_text ids = {0};
    const cJSON *run;
    if (!runs)
        return NULL;
    ypi_text_add(&ids, "[");
    cJSON_ArrayForEach(run, runs)
    {
        const char *id = ypi_text_of(run, "id");
        if (goes_on(history, id, ypi_real(run, "started")))
            ypi_text_add(&ids, "%s\"%s\"", ids.length > 1 ? "," : "", id);
    }
    ypi_text_add(&ids, "]");
    cJSON_Delete(runs);
    return ypi_text_take(&ids);
}

/* -- what is to go --------------------------------------------------------------------------- */

/* The fresh processes that were asked about a case go with it and share its place among the
 * results of that case. Of those that are old enough the places are counted among all that the
 * filter means, so that the newest stay however old they are. */
static char *choice(const struct ypi_where *where, const struct ypi_pruning *p)
{
    struct ypi_text sql = {0};
    ypi_text_add(&sql, "CREATE TEMP TABLE doomed AS SELECT id, run_id, case_id FROM ("
                       "SELECT r.id, r.run_id, r.case_id, run.started, run.rowid AS run_row,"
                       " r.rowid AS row");
    if (p->keep_last > 0)
        ypi_text_add(&sql, ", dense_rank() OVER (PARTITION BY r.case_id, run.machine"
                           " ORDER BY run.started DESC, run.rowid DESC, r.repeat DESC) AS place");
    ypi_text_add(&sql, " FROM run CROSS JOIN result AS r ON r.run_id = run.id WHERE 1%s",
                 where->sql.data);
    if (p->filter.outcome)
        ypi_text_add(&sql,
                     " AND (SELECT outcome FROM result WHERE run_id = r.run_id"
                     " AND case_id = r.case_id AND repeat = r.repeat ORDER BY attempt LIMIT 1)"
                     " = '%s'",
                     p->filter.outcome);
    ypi_text_add(&sql, ") WHERE run_id NOT IN (SELECT value FROM json_each(?%d))",
                 where->count + 1);
    if (p->keep_last > 0)
        ypi_text_add(&sql, " AND place > %d", p->keep_last);
    if (p->older_than > 0)
        ypi_text_add(&sql, " AND started < %.17g", p->older_than);
    if (p->samples)
        ypi_text_add(&sql, " AND EXISTS (SELECT 1 FROM samples WHERE result_id = id)");
    ypi_text_add(&sql, " ORDER BY started, run_row, row");
    return ypi_text_take(&sql);
}

static bool choose(sqlite3 *db, const struct ypi_pruning *p, const char *going_on)
{
    struct ypi_where where;
    struct ypi_filter filter = p->filter;
    filter.outcome = NULL; /* that of the case, not of each process that was asked about it */
    bool ok = ypi_where_make(&where, db, &filter);
    char *sql = ok ? choice(&where, p) : NULL;
    sqlite3_stmt *s = NULL;
    ok = ok && sqlite3_prepare_v2(db, sql, -1, &s, NULL) == SQLITE_OK;
    for (int i = 0; ok && i < where.count; i++)
        ok = sqlite3_bind_text(s, i + 1, where.parameters[i], -1, SQLITE_STATIC) == SQLITE_OK;
    ok = ok && sqlite3_bind_text(s, where.count + 1, going_on, -1, SQLITE_STATIC) == SQLITE_OK &&
         ypi_statement_run(s);
    sqlite3_finalize(s);
    free(sql);
    ypi_where_free(&where);
    return ok;
}

/* What a dry run tells, and what all parts come to. */
static bool count(sqlite3 *db, bool samples, struct ypi_pruned *out)
{
    static const char results[] = "SELECT count(*), 0, 0 FROM temp.doomed";
    static const char all[] =
        "SELECT count(*), (SELECT count(*) FROM (SELECT DISTINCT run_id FROM temp.doomed AS d"
        "  WHERE NOT EXISTS (SELECT 1 FROM result WHERE run_id = d.run_id"
        "   AND id NOT IN (SELECT id FROM temp.doomed)))),"
        " (SELECT count(*) FROM (SELECT DISTINCT case_id FROM temp.doomed AS d"
        "  WHERE NOT EXISTS (SELECT 1 FROM result WHERE case_id = d.case_id"
        "   AND id NOT IN (SELECT id FROM temp.doomed)))) FROM temp.doomed";
    sqlite3_stmt *s = NULL;
    bool ok = sqlite3_prepare_v2(db, samples ? results : all, -1, &s, NULL) == SQLITE_OK &&
              sqlite3_step(s) == SQLITE_ROW;
    if (ok)
        *out = (struct ypi_pruned){.results = sqlite3_column_int64(s, 0),
                                   .runs = sqlite3_column_int64(s, 1),
                                   .cases = sqlite3_column_int64(s, 2)};
    sqlite3_finalize(s);
    return ok;
}

/* -- away with it ---------------------------------------------------------------------------- */

/* Gates belong to no case: of what a filter asks they know nothing. */
static bool means_gates(const struct ypi_pruning *p)
{
    return p->older_than > 0 && p->keep_last == 0 && !p->samples && ypi_filter_is_empty(&p->filter);
}

static bool prune_gates(sqlite3 *db, double older_than, bool dry_run, long long *out)
{
    sqlite3_stmt *s = NULL;
    const char *sql = dry_run ? "SELECT count(*) FROM gate WHERE started < ?"
                              : "DELETE FROM gate WHERE started < ?";
    bool ok = sqlite3_prepare_v2(db, sql, -1, &s, NULL) == SQLITE_OK &&
              sqlite3_bind_double(s, 1, older_than) == SQLITE_OK;
    int code = ok ? sqlite3_step(s) : SQLITE_ERROR;
    if (code == SQLITE_ROW)
        *out = sqlite3_column_int64(s, 0);
    else if (code == SQLITE_DONE)
        *out = sqlite3_changes64(db);
    sqlite3_finalize(s);
    return code == SQLITE_ROW || code == SQLITE_DONE;
}

/* Each part leaves the file as it would be without those results from the beginning, so that it
 * does not matter which was the last. */
static bool delete_part(sqlite3 *db, bool samples, long long first)
{
    static const char only_samples[] =
        "DELETE FROM samples WHERE result_id IN (SELECT id FROM temp.doomed WHERE %s)";
    static const char all[] =
        "DELETE FROM result WHERE id IN (SELECT id FROM temp.doomed WHERE %s);"
        "DELETE FROM run WHERE id IN (SELECT run_id FROM temp.doomed WHERE %s)"
        " AND NOT EXISTS (SELECT 1 FROM result WHERE run_id = run.id);"
        "DELETE FROM test_case WHERE id IN (SELECT case_id FROM temp.doomed WHERE %s)"
        " AND NOT EXISTS (SELECT 1 FROM result WHERE case_id = test_case.id)";
    char part[80];
    snprintf(part, sizeof part, "rowid BETWEEN %lld AND %lld", first, first + PART - 1);
    char *sql = samples ? ypi_format(only_samples, part) : ypi_format(all, part, part, part);
    bool ok = execute(db, "BEGIN IMMEDIATE") && execute(db, sql) && execute(db, "COMMIT");
    free(sql);
    return ok;
}

static enum yp_status delete_all(sqlite3 *db, bool samples, long long count_of_all)
{
    /* A suite that waits for its turn asks ever more seldom: it shall find the lock free. */
    const struct timespec pause = {.tv_nsec = 5000000};
    enum yp_status status = YP_OK;
    for (long long first = 1; status == YP_OK && first <= count_of_all; first += PART) {
        if (!delete_part(db, samples, first))
            status = refuse(db, "deleting results");
        if (!sqlite3_get_autocommit(db))
            (void)execute(db, "ROLLBACK");
        nanosleep(&pause, NULL);
    }
    return status;
}

enum yp_status ypi_history_prune(sqlite3 *db, const struct ypi_pruning *what, bool dry_run,
                                 struct ypi_pruned *out)
{
    *out = (struct ypi_pruned){0};
    char *going_on = living(db, what->history);
    if (!going_on)
        return YP_IO;
    enum yp_status status = YP_OK;
    if (!choose(db, what, going_on) || !execute(db, "CREATE INDEX temp.doomed_id ON doomed (id)") ||
        !count(db, what->samples, out))
        status = refuse(db, "finding what is to go");
    if (status == YP_OK && !dry_run)
        status = delete_all(db, what->samples, out->results);
    if (status == YP_OK && means_gates(what) &&
        !prune_gates(db, what->older_than, dry_run, &out->gates))
        status = refuse(db, dry_run ? "counting gates" : "deleting gates");
    free(going_on);
    return status;
}

/* -- room ------------------------------------------------------------------------------------ */

/* 1 when the answer is that one, 0 when it is another, -1 when there is none. */
static int answers(sqlite3 *db, const char *sql, const char *wanted)
{
    sqlite3_stmt *s = NULL;
    int same = -1;
    if (sqlite3_prepare_v2(db, sql, -1, &s, NULL) == SQLITE_OK && sqlite3_step(s) == SQLITE_ROW)
        same = strcmp((const char *)sqlite3_column_text(s, 0), wanted) == 0;
    sqlite3_finalize(s);
    return same;
}

/* A file leaves its write-ahead log only when no other process has it open: by that it is known
 * that there is none, before one is made to wait for a long rewrite. */
enum yp_status ypi_history_shrink(sqlite3 *db, bool *busy)
{
    enum yp_status status = YP_OK;
    *busy = false;
    if (answers(db, "PRAGMA freelist_count", "0") == 1)
        return YP_OK;
    sqlite3_busy_timeout(db, 0);
    *busy = answers(db, "PRAGMA journal_mode = DELETE", "delete") != 1;
    if (!*busy && !execute(db, "VACUUM"))
        status = refuse(db, "giving its room back");
    *busy = *busy || (status != YP_OK && (sqlite3_errcode(db) & 0xff) == SQLITE_BUSY);
    sqlite3_busy_timeout(db, LOCK_WAIT_MS);
    if (answers(db, "PRAGMA journal_mode = WAL", "wal") < 0 && status == YP_OK && !*busy)
        status = refuse(db, "switching it to a write-ahead log");
    return *busy ? YP_OK : status;
}

/* Histories' rows into another. Keys are UUIDs and ids of cases, the same wherever a row goes, so
 * that what is there already is known by its key.
 *
 * Each source is a nameless copy, which SQLite removes however the process ends; "here" is the
 * history that takes them. Keys are random, so that rows touch pages all over the indexes: some
 * sources are taken in one transaction, which writes each page once. */
#include "harness/history/history.h"

#include "base/system/file.h"
#include "harness/record/row.h"
#include "harness/record/schema.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define LOCK_WAIT_MS 30000
#define CACHE_KIB "131072" /* at most so much memory for pages of the history */
enum { AT_ONCE = 8 };      /* sources a transaction: SQLite attaches 10 files */

struct import {
    sqlite3 *db;
    const char *into, *from; /* paths */
    char source[16];         /* the name of the copy of `from`: "s3" */
    struct ypi_imported *counts;
    bool attached; /* the history that takes them */
};

/* -- statements ------------------------------------------------------------------------------ */

static enum yp_status refuse(const struct import *in, const char *path, const char *doing)
{
    int code = sqlite3_errcode(in->db) & 0xff;
    if (code == SQLITE_BUSY)
        return yp_set_error(YP_IO,
                            "history '%s': %s: another process has held its lock for %d s; wait "
                            "until that one is done and import again",
                            path, doing, LOCK_WAIT_MS / 1000);
    return yp_set_error(YP_IO, "history '%s': %s: %s; nothing of it was imported", path, doing,
                        sqlite3_errmsg(in->db));
}

/* The statement with the name of the copy in the place of "source."; the caller frees. */
static char *of_source(const struct import *in, const char *sql)
{
    static const char name[] = "source.";
    struct ypi_text text = {0};
    for (const char *next = NULL; (next = strstr(sql, name)) != NULL; sql = next + strlen(name)) {
        ypi_text_bytes(&text, sql, (size_t)(next - sql));
        ypi_text_add(&text, "%s.", in->source);
    }
    ypi_text_add(&text, "%s", sql);
    return ypi_text_take(&text);
}

/* *changes: the rows that it wrote; NULL: nobody asks. */
static bool execute(const struct import *in, const char *sql, long long *changes)
{
    char *text = of_source(in, sql);
    bool ok = sqlite3_exec(in->db, text, NULL, NULL, NULL) == SQLITE_OK;
    if (ok && changes)
        *changes += sqlite3_changes64(in->db);
    free(text);
    return ok;
}

static bool count(const struct import *in, const char *sql, long long *out)
{
    char *text = of_source(in, sql);
    sqlite3_stmt *s = NULL;
    bool ok = sqlite3_prepare_v2(in->db, text, -1, &s, NULL) == SQLITE_OK &&
              sqlite3_step(s) == SQLITE_ROW;
    if (ok)
        *out = sqlite3_column_int64(s, 0);
    sqlite3_finalize(s);
    free(text);
    return ok;
}

static bool is_of(const struct ypi_table *t, const char *owner)
{
    return strcmp(t->fields[0].name, owner) == 0;
}

/* -- rows ------------------------------------------------------------------------------------ */

/* What is new is known before the first row is written: parts of a result come with it or not at
 * all. The key of a result is looked at beside its UUID, for one of the two alone would be refused
 * when it is written. A case's row, its tags, is that of its newest result. */
static bool find_new(const struct import *in)
{
    static const char sql[] =
        "CREATE TEMP TABLE fresh (id TEXT PRIMARY KEY) WITHOUT ROWID;"
        "CREATE TEMP TABLE renewed (id TEXT PRIMARY KEY) WITHOUT ROWID;"
        "INSERT INTO temp.fresh SELECT id FROM source.result AS s"
        " WHERE NOT EXISTS (SELECT 1 FROM here.result WHERE id = s.id)"
        " AND NOT EXISTS (SELECT 1 FROM here.result AS h WHERE h.run_id = s.run_id"
        "  AND h.case_id = s.case_id AND h.repeat = s.repeat AND h.attempt = s.attempt);"
        "INSERT INTO temp.renewed SELECT id FROM source.test_case AS s"
        " WHERE NOT EXISTS (SELECT 1 FROM here.test_case WHERE id = s.id)"
        " OR (SELECT max(started) FROM source.result WHERE case_id = s.id) >"
        "  coalesce((SELECT max(started) FROM here.result WHERE case_id = s.id), 0);";
    return execute(in, sql, NULL);
}

static bool count_runs(const struct import *in)
{
    struct ypi_imported *c = in->counts;
    static const char sql[] =
        "SELECT count(*) FROM source.run AS s WHERE EXISTS (SELECT 1 FROM here.run WHERE id = s.id";
    static const char more[] =
        " AND (ended IS NULL AND s.ended IS NOT NULL OR EXISTS (SELECT 1 FROM source.result"
        " WHERE run_id = s.id AND id IN (SELECT id FROM temp.fresh)))";
    char text[512];
    long long all = 0;
    long long runs = 0;
    snprintf(text, sizeof text, "%s%s)", sql, more);
    bool ok = count(in, text, &c->runs_completed);
    snprintf(text, sizeof text, "%s)", sql);
    ok = ok && count(in, text, &c->runs_there) &&
         count(in, "SELECT count(*) FROM source.run", &runs) &&
         count(in, "SELECT count(*) FROM source.result", &all) &&
         count(in, "SELECT count(*) FROM temp.fresh", &c->results_new);
    c->runs_new = runs - c->runs_there;
    c->runs_there -= c->runs_completed;
    c->results_there = all - c->results_new;
    return ok;
}

/* Which rows of the source are taken, and what is done about one that is there already. */
static void add_choice(struct ypi_text *sql, enum ypi_table_name table)
{
    const struct ypi_table *t = &ypi_tables[table];
    if (table == YPI_TABLE_CASE)
        ypi_text_add(sql, " WHERE id IN (SELECT id FROM temp.renewed)%s", t->conflict);
    else if (table == YPI_TABLE_RESULT)
        ypi_text_add(sql, " WHERE id IN (SELECT id FROM temp.fresh) ORDER BY rowid");
    else if (is_of(t, "result_id"))
        ypi_text_add(sql, " WHERE result_id IN (SELECT id FROM temp.fresh)");
    else if (is_of(t, "case_id"))
        ypi_text_add(sql, " WHERE case_id IN (SELECT id FROM temp.renewed)");
    else if (table == YPI_TABLE_CEILING)
        ypi_text_add(sql, " WHERE true ON CONFLICT DO UPDATE SET unit = excluded.unit,"
                          " measured = excluded.measured, rate = excluded.rate,"
                          " low = excluded.low, high = excluded.high"
                          " WHERE excluded.measured > measured");
    else
        ypi_text_add(sql, " WHERE true%s ON CONFLICT DO NOTHING",
                     table == YPI_TABLE_RUN || table == YPI_TABLE_GATE ? " ORDER BY rowid" : "");
}

static bool take_table(const struct import *in, enum ypi_table_name table)
{
    const struct ypi_table *t = &ypi_tables[table];
    struct ypi_text sql = {0};
    if (table == YPI_TABLE_AXIS)
        ypi_text_add(&sql, "DELETE FROM here.axis WHERE case_id IN (SELECT id FROM temp.renewed);");
    /* Else SQLite keeps what each statement has changed, to undo that alone: most of the time. */
    ypi_text_add(&sql, "INSERT OR ROLLBACK INTO here.%s (", t->name);
    ypi_sql_names(&sql, t, INT_MAX);
    ypi_text_add(&sql, ") SELECT ");
    ypi_sql_names(&sql, t, INT_MAX);
    ypi_text_add(&sql, " FROM source.%s", t->name);
    add_choice(&sql, table);
    long long *count = table == YPI_TABLE_CEILING ? &in->counts->ceilings
                       : table == YPI_TABLE_GATE  ? &in->counts->gates
                                                  : NULL;
    bool ok = execute(in, sql.data, count);
    free(ypi_text_take(&sql));
    return ok;
}

static bool take_all(const struct import *in)
{
    static const char ended[] =
        "UPDATE here.run SET (ended, exit_code) ="
        " (SELECT s.ended, s.exit_code FROM source.run AS s WHERE s.id = here.run.id)"
        " WHERE ended IS NULL AND id IN (SELECT id FROM source.run WHERE ended IS NOT NULL)";
    bool ok = find_new(in) && count_runs(in);
    for (int i = 0; ok && i < YPI_TABLES; i++)
        ok = take_table(in, (enum ypi_table_name)i);
    return ok && execute(in, ended, NULL) &&
           execute(in, "DROP TABLE temp.fresh; DROP TABLE temp.renewed", NULL);
}

/* -- files ----------------------------------------------------------------------------------- */

static bool same_state(const struct stat *a, const struct stat *b)
{
    return a->st_size == b->st_size && a->st_ino == b->st_ino && a->st_dev == b->st_dev &&
           a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

static enum yp_status copy_pages(const struct import *in, sqlite3 *to, const char *name,
                                 sqlite3 *from, const char *from_name)
{
    sqlite3_backup *copy = sqlite3_backup_init(to, name, from, from_name);
    if (copy)
        (void)sqlite3_backup_step(copy, -1);
    if (copy && sqlite3_backup_finish(copy) == SQLITE_OK)
        return YP_OK;
    return yp_set_error(YP_IO, "history '%s': copying it: %s; nothing of it was imported", in->from,
                        sqlite3_errmsg(to));
}

static enum yp_status copy_source(const struct import *in)
{
    struct stat before = {0};
    struct stat after = {0};
    bool still = false;
    bool there = stat(in->from, &before) == 0;
    sqlite3 *source = ypi_schema_open_to_copy(in->from, &still);
    enum yp_status status = source ? copy_pages(in, in->db, in->source, source, "main") : YP_IO;
    sqlite3_close(source);
    if (status == YP_OK && still &&
        (!there || stat(in->from, &after) != 0 || !same_state(&before, &after)))
        status = yp_set_error(
            YP_IO, "history '%s': was written to while it was read; import it again", in->from);
    return status;
}

static enum yp_status check_copy(const struct import *in)
{
    char *sql = of_source(in, "PRAGMA source.integrity_check(1)");
    sqlite3_stmt *s = NULL;
    enum yp_status status = YP_OK;
    bool ok =
        sqlite3_prepare_v2(in->db, sql, -1, &s, NULL) == SQLITE_OK && sqlite3_step(s) == SQLITE_ROW;
    free(sql);
    if (!ok || strcmp((const char *)sqlite3_column_text(s, 0), "ok") != 0)
        status = yp_set_error(
            YP_IO, "history '%s': the file is damaged (%s); nothing of it was imported", in->from,
            ok ? (const char *)sqlite3_column_text(s, 0) : sqlite3_errmsg(in->db));
    sqlite3_finalize(s);
    return status;
}

/* Somebody else's file may have, under the name of a table, a view that never comes to its end, or
 * what a module of SQLite's makes up. */
static enum yp_status check_tables(const struct import *in)
{
    struct ypi_text sql = {0};
    long long others = 0;
    ypi_text_add(&sql,
                 "SELECT count(*) FROM source.sqlite_schema WHERE (type <> 'table' OR rootpage = 0)"
                 " AND lower(name) IN (");
    for (int i = 0; i < YPI_TABLES; i++)
        ypi_text_add(&sql, "%s'%s'", i > 0 ? ", " : "", ypi_tables[i].name);
    ypi_text_add(&sql, ")");
    enum yp_status status = YP_OK;
    if (!count(in, sql.data, &others))
        status = refuse(in, in->from, "reading its tables");
    else if (others > 0)
        status = yp_set_error(YP_IO,
                              "history '%s': is not a history: views stand where its tables should "
                              "be; nothing of it was imported",
                              in->from);
    free(ypi_text_take(&sql));
    return status;
}

/* An older one is upgraded as the only file of a connection, for its tables are named alone. */
static enum yp_status upgrade(const struct import *in)
{
    long long version = 0;
    sqlite3 *alone = NULL;
    if (!count(in, "PRAGMA source.user_version", &version))
        return refuse(in, in->from, "reading its version");
    if (version == ypi_schema_version())
        return YP_OK;
    enum yp_status status = YP_IO;
    if (sqlite3_open_v2("", &alone, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, NULL) != SQLITE_OK)
        (void)yp_set_error(YP_IO, "history '%s': no file for a copy of it can be made", in->from);
    else
        status = copy_pages(in, alone, "main", in->db, in->source);
    if (status == YP_OK)
        status = ypi_schema_upgrade(alone, in->from);
    if (status == YP_OK)
        status = copy_pages(in, in->db, in->source, alone, "main");
    sqlite3_close(alone);
    return status;
}

/* Rows that are taken whatever else is new. With foreign_keys SQLite would look at each reference,
 * and would keep what each statement has changed to undo that alone, which takes most of the time:
 * what a whole source refers to is taken with it, or there already. */
static enum yp_status check_references(const struct import *in)
{
    enum yp_status status = YP_OK;
    for (int i = 0; i < YPI_TABLES && status == YP_OK; i++) {
        const struct ypi_table *t = &ypi_tables[i];
        if (is_of(t, "result_id") || is_of(t, "case_id"))
            continue; /* taken with their owners alone */
        char *pragma = ypi_format("PRAGMA source.foreign_key_check(%s)", t->name);
        char *sql = of_source(in, pragma);
        sqlite3_stmt *s = NULL;
        int code = sqlite3_prepare_v2(in->db, sql, -1, &s, NULL);
        if (code == SQLITE_OK)
            code = sqlite3_step(s);
        if (code == SQLITE_ROW)
            status = yp_set_error(YP_IO,
                                  "history '%s': table %s has rows that refer to nothing; nothing "
                                  "of it was imported",
                                  in->from, t->name);
        else if (code != SQLITE_DONE)
            status = refuse(in, in->from, "reading its references");
        sqlite3_finalize(s);
        free(sql);
        free(pragma);
    }
    return status;
}

/* The history is made or upgraded, and held open until this connection has it too. */
static enum yp_status attach(const struct import *in)
{
    sqlite3_stmt *s = NULL;
    sqlite3 *here = ypi_make_parents(in->into) == YP_OK ? ypi_schema_open(in->into) : NULL;
    if (!here)
        return YP_IO;
    char *name = ypi_format("%s%s", *in->into == '/' ? "" : "./", in->into);
    bool ok = sqlite3_prepare_v2(in->db, "ATTACH ? AS here", -1, &s, NULL) == SQLITE_OK &&
              sqlite3_bind_text(s, 1, name, -1, SQLITE_STATIC) == SQLITE_OK && ypi_statement_run(s);
    sqlite3_finalize(s);
    ok = ok && execute(in,
                       "PRAGMA here.synchronous = NORMAL; PRAGMA here.cache_size = -" CACHE_KIB ";"
                       "PRAGMA foreign_keys = OFF",
                       NULL);
    enum yp_status status = ok ? YP_OK : refuse(in, in->into, "opening it");
    free(name);
    sqlite3_close(here);
    return status;
}

static bool is_same_file(const char *a, const char *b)
{
    struct stat of_a;
    struct stat of_b;
    return stat(a, &of_a) == 0 && stat(b, &of_b) == 0 && of_a.st_dev == of_b.st_dev &&
           of_a.st_ino == of_b.st_ino;
}

/* -- some sources in one transaction --------------------------------------------------------- */

/* What yp_last_error() says is why this source was not taken. */
static void fail(struct ypi_import_source *source, enum yp_status status)
{
    free(source->problem);
    source->problem = ypi_strdup(yp_last_error());
    source->status = status;
    source->counts = (struct ypi_imported){0};
}

/* A copy that is whole and of this version. */
static enum yp_status prepare(const struct import *in)
{
    if (is_same_file(in->into, in->from))
        return yp_set_error(YP_INVALID, "history '%s': is the one that is to be added to",
                            in->from);
    char *attach_copy = ypi_format("ATTACH '' AS %s", in->source);
    bool ok = execute(in, attach_copy, NULL);
    free(attach_copy);
    if (!ok)
        return yp_set_error(YP_IO, "history '%s': no file for a copy of it can be made", in->from);
    enum yp_status status = copy_source(in);
    if (status == YP_OK)
        status = check_copy(in);
    if (status == YP_OK)
        status = check_tables(in);
    if (status == YP_OK)
        status = upgrade(in);
    return status == YP_OK ? check_references(in) : status;
}

/* Their number. The history is not made where none of them is right. */
static int prepare_some(struct import *in, struct ypi_import_source *sources, int some)
{
    int ready = 0;
    for (int i = 0; i < some; i++) {
        in->from = sources[i].path;
        snprintf(in->source, sizeof in->source, "s%d", i);
        enum yp_status status = prepare(in);
        if (status == YP_OK)
            ready++;
        else
            fail(&sources[i], status);
    }
    return ready;
}

static enum yp_status begin(struct import *in)
{
    enum yp_status status = in->attached ? YP_OK : attach(in);
    in->attached = status == YP_OK;
    if (status == YP_OK && !execute(in, "BEGIN IMMEDIATE", NULL))
        status = refuse(in, in->into, "locking it");
    return status;
}

/* All that are ready, or nothing. */
static enum yp_status take(struct import *in, struct ypi_import_source *sources, int first, int end)
{
    enum yp_status status = begin(in);
    for (int i = first; i < end && status == YP_OK; i++) {
        in->from = sources[i].path;
        in->counts = &sources[i].counts;
        snprintf(in->source, sizeof in->source, "s%d", i);
        if (sources[i].status == YP_OK && !take_all(in))
            status = refuse(in, in->into, in->from);
    }
    if (status == YP_OK && !execute(in, "COMMIT", NULL))
        status = refuse(in, in->into, in->from);
    if (!sqlite3_get_autocommit(in->db))
        (void)execute(in, "ROLLBACK", NULL);
    return status;
}

/* Where one of them is wrong, each by itself. */
static void take_each(struct import *in, struct ypi_import_source *sources, int some)
{
    for (int i = 0; i < some; i++) {
        sources[i].counts = (struct ypi_imported){0};
        enum yp_status status = sources[i].status == YP_OK ? take(in, sources, i, i + 1) : YP_OK;
        if (status != YP_OK)
            fail(&sources[i], status);
    }
}

static void take_some(struct import *in, struct ypi_import_source *sources, int some)
{
    const int ready = prepare_some(in, sources, some);
    if (ready == 1 || (ready > 1 && take(in, sources, 0, some) != YP_OK))
        take_each(in, sources, some);
    for (int i = 0; i < some; i++) { /* one that was not attached is no matter */
        char *detach = ypi_format("DETACH s%d", i);
        (void)execute(in, detach, NULL);
        free(detach);
    }
}

/* -- all of them ----------------------------------------------------------------------------- */

void ypi_history_import_all(const char *into, struct ypi_import_source *sources, int count_of_all)
{
    struct import in = {.into = into};
    for (int i = 0; i < count_of_all; i++) {
        sources[i].status = YP_OK;
        sources[i].problem = NULL;
        sources[i].counts = (struct ypi_imported){0};
    }
    enum yp_status status = YP_OK;
    if (sqlite3_open_v2("", &in.db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, NULL) != SQLITE_OK)
        status = yp_set_error(YP_IO, "history '%s': SQLite has no memory or file for it", into);
    sqlite3_busy_timeout(in.db, LOCK_WAIT_MS);
    for (int i = 0; i < count_of_all; i += AT_ONCE) {
        const int some = count_of_all - i < AT_ONCE ? count_of_all - i : AT_ONCE;
        for (int k = i; k < i + some && status != YP_OK; k++)
            fail(&sources[k], status);
        if (status == YP_OK)
            take_some(&in, sources + i, some);
    }
    sqlite3_close(in.db);
}

enum yp_status ypi_history_import(const char *into, const char *from, struct ypi_imported *out)
{
    struct ypi_import_source source = {.path = from};
    ypi_history_import_all(into, &source, 1);
    *out = source.counts;
    if (source.status != YP_OK)
        (void)yp_set_error(source.status, "%s", source.problem);
    free(source.problem);
    return source.status;
}

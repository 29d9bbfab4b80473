#include "harness/record/schema.h"

#include "base/system/file.h"
#include "harness/record/row.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* -- the tables, version by version ---------------------------------------------------------- */

int ypi_schema_version(void)
{
    int version = 0;
    for (int i = 0; i < YPI_TABLES; i++)
        for (size_t k = 0; k < ypi_tables[i].count; k++)
            if (ypi_tables[i].fields[k].since > version)
                version = ypi_tables[i].fields[k].since;
    return version;
}

static void create_table(struct ypi_text *sql, const struct ypi_table *t, const char *name,
                         const char *constraints, int version)
{
    const char *between = "";
    ypi_text_add(sql, "CREATE TABLE %s ( ", name);
    for (size_t i = 0; i < t->count; i++) {
        if (t->fields[i].since > version)
            continue;
        ypi_text_add(sql, "%s", between);
        ypi_sql_column(sql, &t->fields[i]);
        between = ", ";
    }
    ypi_text_add(sql, "%s;", constraints);
}

static void add_columns(struct ypi_text *sql, const struct ypi_table *t, int version)
{
    for (size_t i = 0; i < t->count; i++)
        if (t->fields[i].since == version) {
            ypi_text_add(sql, "ALTER TABLE %s ADD COLUMN ", t->name);
            ypi_sql_column(sql, &t->fields[i]);
            ypi_text_add(sql, ";");
        }
}

/* In version 3 the attempt belongs to a result's key, which takes a new table: SQLite cannot change
 * a constraint. What refers to it keeps its rows, for references are not looked at meanwhile. */
static void renew_results(struct ypi_text *sql)
{
    const struct ypi_table *t = &ypi_tables[YPI_TABLE_RESULT];
    create_table(sql, t, "new_result", t->constraints, 3);
    ypi_text_add(sql, "INSERT INTO new_result (rowid, ");
    ypi_sql_names(sql, t, 2);
    ypi_text_add(sql, ") SELECT rowid, ");
    ypi_sql_names(sql, t, 2);
    ypi_text_add(sql,
                 " FROM result; DROP TABLE result;"
                 "ALTER TABLE new_result RENAME TO result;%s",
                 t->index);
}

/* What takes version - 1 to version. A new file takes all of them, so that it is the same as an
 * upgraded one. What an older program did not know of a row is NULL. The caller frees. */
static char *step(int version)
{
    struct ypi_text sql = {0};
    if (version == 3)
        renew_results(&sql);
    for (int i = 0; i < YPI_TABLES; i++) {
        const struct ypi_table *t = &ypi_tables[i];
        bool first = i == YPI_TABLE_RESULT && version < 3;
        if (t->since == version) {
            create_table(&sql, t, t->name,
                         first ? ", UNIQUE (run_id, case_id, repeat))" : t->constraints, version);
            ypi_text_add(&sql, "%s", t->index ? t->index : "");
        } else if (t->since < version && !(i == YPI_TABLE_RESULT && version == 3)) {
            add_columns(&sql, t, version);
        }
    }
    return ypi_text_take(&sql);
}

/* -- the file -------------------------------------------------------------------------------- */

enum yp_status ypi_schema_refuse(sqlite3 *db, const char *path, const char *doing)
{
    int code = sqlite3_errcode(db) & 0xff;
    int system = sqlite3_system_errno(db);
    if (code == SQLITE_BUSY)
        return yp_set_error(YP_IO,
                            "history '%s': %s: another process has held its lock for %d s; wait "
                            "until that one is done, or name another file",
                            path, doing, YPI_LOCK_WAIT_MS / 1000);
    if (code == SQLITE_CORRUPT || code == SQLITE_NOTADB)
        return yp_set_error(YP_IO,
                            "history '%s': %s: the file is damaged (%s); move it away, or name "
                            "another file",
                            path, doing, sqlite3_errmsg(db));
    const int extended = sqlite3_extended_errcode(db);
    if (extended == SQLITE_IOERR_SHMMAP || extended == SQLITE_IOERR_SHMOPEN)
        return yp_set_error(YP_IO,
                            "history '%s': %s: its file system gives no memory that processes "
                            "share (%s: %s), and a history needs it; name a file on another, such "
                            "as a local disk",
                            path, doing, sqlite3_errmsg(db), strerror(system));
    if (extended == SQLITE_IOERR_WRITE || extended == SQLITE_IOERR_TRUNCATE ||
        extended == SQLITE_IOERR_SHMSIZE)
        return yp_set_error(YP_IO,
                            "history '%s': %s: a write was refused (%s; is there a limit on the "
                            "size of files, ulimit -f?)",
                            path, doing, sqlite3_errmsg(db));
    return yp_set_error(YP_IO, "history '%s': %s: %s%s%s", path, doing, sqlite3_errmsg(db),
                        system ? ": " : "", system ? strerror(system) : "");
}

enum yp_status ypi_schema_execute(sqlite3 *db, const char *path, const char *sql, const char *doing)
{
    return sqlite3_exec(db, sql, NULL, NULL, NULL) == SQLITE_OK
               ? YP_OK
               : ypi_schema_refuse(db, path, doing);
}

enum yp_status ypi_schema_read_version(sqlite3 *db, const char *path, int *out)
{
    sqlite3_stmt *s = NULL;
    enum yp_status status = YP_OK;
    if (sqlite3_prepare_v2(db, "PRAGMA user_version", -1, &s, NULL) != SQLITE_OK ||
        sqlite3_step(s) != SQLITE_ROW)
        status = ypi_schema_refuse(db, path, "reading its version");
    else
        *out = sqlite3_column_int(s, 0);
    sqlite3_finalize(s);
    return status;
}

enum yp_status ypi_schema_too_new(const char *path, int version)
{
    return yp_set_error(YP_IO,
                        "history '%s': has schema version %d, this program knows versions up to "
                        "%d; use a newer Yieldpoint, or name another file",
                        path, version, ypi_schema_version());
}

static enum yp_status check_references(sqlite3 *db, const char *path)
{
    sqlite3_stmt *s = NULL;
    enum yp_status status = YP_OK;
    int code = sqlite3_prepare_v2(db, "PRAGMA foreign_key_check", -1, &s, NULL);
    if (code == SQLITE_OK)
        code = sqlite3_step(s);
    if (code == SQLITE_ROW)
        status = yp_set_error(YP_IO,
                              "history '%s': upgrading it: table %s has rows that refer to "
                              "nothing; it is left as it was, name another file",
                              path, (const char *)sqlite3_column_text(s, 0));
    else if (code != SQLITE_DONE)
        status = ypi_schema_refuse(db, path, "upgrading it");
    sqlite3_finalize(s);
    return status;
}

static enum yp_status take_step(sqlite3 *db, const char *path, int version)
{
    char *sql = step(version);
    enum yp_status status =
        ypi_schema_execute(db, path, sql, version == 1 ? "creating it" : "upgrading it");
    free(sql);
    return status;
}

/* Inside a transaction: another process may have done it since the version was read. */
static enum yp_status take_steps(sqlite3 *db, const char *path)
{
    char pragmas[96];
    int version = 0;
    const int newest = ypi_schema_version();
    enum yp_status status = ypi_schema_read_version(db, path, &version);
    if (status != YP_OK || version == newest)
        return status;
    if (version > newest)
        return ypi_schema_too_new(path, version);
    for (int v = version < 0 ? 1 : version + 1; status == YP_OK && v <= newest; v++)
        status = take_step(db, path, v);
    if (status == YP_OK)
        status = check_references(db, path);
    snprintf(pragmas, sizeof pragmas, "PRAGMA application_id = %d; PRAGMA user_version = %d",
             YPI_APPLICATION_ID, newest);
    return status == YP_OK ? ypi_schema_execute(db, path, pragmas, "marking its version") : status;
}

enum yp_status ypi_schema_upgrade(sqlite3 *db, const char *path)
{
    int version = 0;
    enum yp_status status = ypi_schema_read_version(db, path, &version);
    if (status != YP_OK || version == ypi_schema_version())
        return status;
    if (version > ypi_schema_version())
        return ypi_schema_too_new(path, version);
    /* Both for a table that is made anew: rows that refer to it stay, and views are not looked at
     * while it is not there. Inside a transaction the first would change nothing. */
    status = ypi_schema_execute(
        db, path, "PRAGMA foreign_keys = OFF; PRAGMA legacy_alter_table = ON; BEGIN IMMEDIATE",
        "locking it");
    if (status != YP_OK)
        return status;
    status = take_steps(db, path);
    if (status == YP_OK)
        status = ypi_schema_execute(db, path, "COMMIT", "writing its tables");
    if (!sqlite3_get_autocommit(db))
        sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL);
    return status;
}

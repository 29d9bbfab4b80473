#include "harness/record/schema.h"

#include "base/system/file.h"
#include "harness/record/row.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define LOCK_WAIT_MS 30000

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

static enum yp_status refuse(sqlite3 *db, const char *path, const char *doing)
{
    int code = sqlite3_errcode(db) & 0xff;
    int system = sqlite3_system_errno(db);
    if (code == SQLITE_BUSY)
        return yp_set_error(YP_IO,
                            "history '%s': %s: another process has held its lock for %d s; wait "
                            "until that one is done, or name another file",
                            path, doing, LOCK_WAIT_MS / 1000);
    if (code == SQLITE_CORRUPT || code == SQLITE_NOTADB)
        return yp_set_error(YP_IO,
                            "history '%s': %s: the file is damaged (%s); move it away, or name "
                            "another file",
                            path, doing, sqlite3_errmsg(db));
    const int extended = sqlite3_extended_errcode(db);
    if (extended == SQLITE_IOERR_WRITE || extended == SQLITE_IOERR_TRUNCATE ||
        extended == SQLITE_IOERR_SHMSIZE)
        return yp_set_error(YP_IO,
                            "history '%s': %s: a write was refused (%s; is there a limit on the "
                            "size of files, ulimit -f?)",
                            path, doing, sqlite3_errmsg(db));
    return yp_set_error(YP_IO, "history '%s': %s: %s%s%s", path, doing, sqlite3_errmsg(db),
                        system ? ": " : "", system ? strerror(system) : "");
}

static enum yp_status execute(sqlite3 *db, const char *path, const char *sql, const char *doing)
{
    return sqlite3_exec(db, sql, NULL, NULL, NULL) == SQLITE_OK ? YP_OK : refuse(db, path, doing);
}

static enum yp_status read_version(sqlite3 *db, const char *path, int *out)
{
    sqlite3_stmt *s = NULL;
    enum yp_status status = YP_OK;
    if (sqlite3_prepare_v2(db, "PRAGMA user_version", -1, &s, NULL) != SQLITE_OK ||
        sqlite3_step(s) != SQLITE_ROW)
        status = refuse(db, path, "reading its version");
    else
        *out = sqlite3_column_int(s, 0);
    sqlite3_finalize(s);
    return status;
}

static enum yp_status too_new(const char *path, int version)
{
    return yp_set_error(YP_IO,
                        "history '%s': has schema version %d, this program knows versions up to "
                        "%d; use a newer Yieldpoint, or name another file",
                        path, version, ypi_schema_version());
}

/* SQLite has one message, "unable to open database file", for all of these. */
static enum yp_status check_path(const char *path, bool create)
{
    char directory[YPI_PATH_MAX];
    struct stat s;
    if (!path || !*path)
        return yp_set_error(YP_INVALID, "history: the path is empty; name a file");
    if (stat(path, &s) == 0) {
        if (S_ISDIR(s.st_mode))
            return yp_set_error(
                YP_IO, "history '%s': is a directory; name a file in it, such as %s/history.db",
                path, path);
        if (!S_ISREG(s.st_mode))
            return yp_set_error(YP_IO, "history '%s': is not a regular file; name another", path);
        return YP_OK;
    }
    if (errno != ENOENT)
        return yp_set_error(YP_IO, "history '%s': %s", path, strerror(errno));
    if (!create)
        return yp_set_error(YP_IO, "history '%s': there is no such file", path);
    ypi_directory_of(directory, path);
    if (stat(directory, &s) != 0)
        return yp_set_error(
            YP_IO, "history '%s': its directory '%s' does not exist; create it, or name another",
            path, directory);
    return YP_OK;
}

static uint32_t big_endian(const unsigned char *b)
{
    return (uint32_t)b[0] << 24 | (uint32_t)b[1] << 16 | (uint32_t)b[2] << 8 | b[3];
}

/* Looks at the header before SQLite does: SQLite would recover and checkpoint the log of a
 * database that is not ours. It reads through SQLite's own handle, for closing a second one
 * would drop every lock that this process has on the file. An empty file may become a history. */
static enum yp_status check_header(sqlite3 *db, const char *path, bool *empty)
{
    unsigned char header[100];
    sqlite3_file *file = NULL;
    sqlite3_int64 size = 0;
    if (sqlite3_file_control(db, "main", SQLITE_FCNTL_FILE_POINTER, &file) != SQLITE_OK || !file ||
        !file->pMethods || file->pMethods->xFileSize(file, &size) != SQLITE_OK)
        return yp_set_error(YP_IO, "history '%s': its size cannot be read", path);
    *empty = size == 0;
    if (*empty)
        return YP_OK;
    if (size < (sqlite3_int64)sizeof header ||
        file->pMethods->xRead(file, header, sizeof header, 0) != SQLITE_OK ||
        memcmp(header, "SQLite format 3", 16) != 0)
        return yp_set_error(
            YP_IO, "history '%s': is not a history but some other file; name another", path);
    if (big_endian(header + 68) != YPI_APPLICATION_ID) /* offset: sqlite.org/fileformat.html */
        return yp_set_error(YP_IO,
                            "history '%s': is a database of another application (id %#x); name "
                            "another file",
                            path, (unsigned)big_endian(header + 68));
    return YP_OK;
}

/* Whether no process has the file open and none has left a log beside it. */
static bool is_still(const char *path)
{
    static const char *const beside[] = {"-wal", "-shm", "-journal"};
    bool still = true;
    for (size_t i = 0; i < sizeof beside / sizeof *beside; i++) {
        char *name = ypi_format("%s%s", path, beside[i]);
        still = still && access(name, F_OK) != 0;
        free(name);
    }
    return still;
}

/* As a URI that takes neither locks nor a log, which would leave files beside the history. */
static char *still_name(const char *path)
{
    struct ypi_text name = {0};
    ypi_text_add(&name, "file:%s", *path == '/' ? "" : "./");
    for (; *path != '\0'; path++)
        ypi_text_add(&name, strchr("%?#", *path) ? "%%%02X" : "%c", (unsigned char)*path);
    ypi_text_add(&name, "?immutable=1");
    return ypi_text_take(&name);
}

static sqlite3 *open_file(const char *path, int flags, bool *empty)
{
    sqlite3 *db = NULL;
    /* "./" keeps a name such as ":memory:" from meaning something else. */
    char *name = flags & SQLITE_OPEN_URI ? still_name(path)
                                         : ypi_format("%s%s", *path == '/' ? "" : "./", path);
    int code = sqlite3_open_v2(name, &db, flags, NULL);
    free(name);
    if (code == SQLITE_OK) {
        sqlite3_extended_result_codes(db, 1);
        sqlite3_busy_timeout(db, LOCK_WAIT_MS);
        if (check_header(db, path, empty) == YP_OK)
            return db;
    } else if (db) {
        (void)refuse(db, path, "opening it");
    } else {
        (void)yp_set_error(YP_OUT_OF_MEMORY, "history '%s': no memory to open it", path);
    }
    sqlite3_close(db);
    return NULL;
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
        status = refuse(db, path, "upgrading it");
    sqlite3_finalize(s);
    return status;
}

static enum yp_status take_step(sqlite3 *db, const char *path, int version)
{
    char *sql = step(version);
    enum yp_status status = execute(db, path, sql, version == 1 ? "creating it" : "upgrading it");
    free(sql);
    return status;
}

/* Inside a transaction: another process may have done it since the version was read. */
static enum yp_status take_steps(sqlite3 *db, const char *path)
{
    char pragmas[96];
    int version = 0;
    const int newest = ypi_schema_version();
    enum yp_status status = read_version(db, path, &version);
    if (status != YP_OK || version == newest)
        return status;
    if (version > newest)
        return too_new(path, version);
    for (int v = version < 0 ? 1 : version + 1; status == YP_OK && v <= newest; v++)
        status = take_step(db, path, v);
    if (status == YP_OK)
        status = check_references(db, path);
    snprintf(pragmas, sizeof pragmas, "PRAGMA application_id = %d; PRAGMA user_version = %d",
             YPI_APPLICATION_ID, newest);
    return status == YP_OK ? execute(db, path, pragmas, "marking its version") : status;
}

enum yp_status ypi_schema_upgrade(sqlite3 *db, const char *path)
{
    int version = 0;
    enum yp_status status = read_version(db, path, &version);
    if (status != YP_OK || version == ypi_schema_version())
        return status;
    if (version > ypi_schema_version())
        return too_new(path, version);
    /* Both for a table that is made anew: rows that refer to it stay, and views are not looked at
     * while it is not there. Inside a transaction the first would change nothing. */
    status = execute(db, path,
                     "PRAGMA foreign_keys = OFF; PRAGMA legacy_alter_table = ON; BEGIN IMMEDIATE",
                     "locking it");
    if (status != YP_OK)
        return status;
    status = take_steps(db, path);
    if (status == YP_OK)
        status = execute(db, path, "COMMIT", "writing its tables");
    if (!sqlite3_get_autocommit(db))
        sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL);
    return status;
}

/* SQLite does not wait for the lock that this change takes, so that two processes which create
 * one file at the same time would meet here. */
static enum yp_status use_log(sqlite3 *db, const char *path)
{
    const struct timespec pause = {.tv_nsec = 5000000};
    int code = SQLITE_BUSY;
    bool log = false;
    for (int waited = 0; waited < LOCK_WAIT_MS && code == SQLITE_BUSY; waited += 5) {
        sqlite3_stmt *s = NULL;
        if (waited > 0)
            nanosleep(&pause, NULL);
        code = sqlite3_prepare_v2(db, "PRAGMA journal_mode = WAL", -1, &s, NULL);
        if (code == SQLITE_OK)
            code = sqlite3_step(s);
        log = code == SQLITE_ROW && strcmp((const char *)sqlite3_column_text(s, 0), "wal") == 0;
        sqlite3_finalize(s);
        code &= 0xff;
    }
    if (code != SQLITE_ROW)
        return refuse(db, path, "switching it to a write-ahead log");
    if (!log)
        return yp_set_error(YP_IO,
                            "history '%s': its file system has no write-ahead log (a network file "
                            "system?); name a file on a local disk",
                            path);
    return YP_OK;
}

static enum yp_status prepare(sqlite3 *db, const char *path)
{
    if (sqlite3_db_readonly(db, "main") != 0)
        return yp_set_error(
            YP_IO, "history '%s': may not be written to; change its permissions, or name another",
            path);
    enum yp_status status = ypi_schema_upgrade(db, path);
    if (status == YP_OK)
        status = use_log(db, path);
    if (status == YP_OK)
        status = execute(db, path,
                         "PRAGMA synchronous = NORMAL; PRAGMA foreign_keys = ON; "
                         /* A checkpoint waits for the disk. One in some 400 results will do. */
                         "PRAGMA wal_autocheckpoint = 8000",
                         "setting it up");
    return status;
}

sqlite3 *ypi_schema_open(const char *path)
{
    bool empty = false;
    if (check_path(path, true) != YP_OK)
        return NULL;
    sqlite3 *db = open_file(path, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, &empty);
    if (db && prepare(db, path) != YP_OK) {
        sqlite3_close(db);
        db = NULL;
    }
    return db;
}

static enum yp_status check_readable(sqlite3 *db, const char *path, bool empty)
{
    int version = 0;
    const int wanted = ypi_schema_version();
    if (empty)
        return yp_set_error(YP_IO, "history '%s': is empty; no run has been stored in it", path);
    if (read_version(db, path, &version) != YP_OK)
        return YP_IO;
    if (version > wanted)
        return too_new(path, version);
    if (version < wanted)
        return yp_set_error(YP_IO,
                            "history '%s': has schema version %d, this program reads version %d; "
                            "any run that is stored in it brings it up to date",
                            path, version, wanted);
    return YP_OK;
}

sqlite3 *ypi_schema_open_to_read(const char *path)
{
    bool empty = false;
    if (check_path(path, false) != YP_OK)
        return NULL;
    sqlite3 *db = open_file(path, SQLITE_OPEN_READONLY, &empty);
    if (db && check_readable(db, path, empty) != YP_OK) {
        sqlite3_close(db);
        db = NULL;
    }
    return db;
}

sqlite3 *ypi_schema_open_to_copy(const char *path, bool *still)
{
    bool empty = false;
    int version = 0;
    if (check_path(path, false) != YP_OK)
        return NULL;
    *still = is_still(path);
    int flags = SQLITE_OPEN_READONLY | (*still ? SQLITE_OPEN_URI : 0);
    sqlite3 *db = open_file(path, flags, &empty);
    enum yp_status status = db ? YP_OK : YP_IO;
    if (db && empty)
        status = yp_set_error(YP_IO, "history '%s': is empty; no run has been stored in it", path);
    if (status == YP_OK)
        status = read_version(db, path, &version);
    if (status == YP_OK && version > ypi_schema_version())
        status = too_new(path, version);
    if (status != YP_OK) {
        sqlite3_close(db);
        db = NULL;
    }
    return db;
}

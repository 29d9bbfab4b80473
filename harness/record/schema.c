#include "harness/record/schema.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define LOCK_WAIT_MS 30000

/* What belongs to a result goes with it, and what belongs to a run goes with the run. A case's
 * row holds what its newest result said of it: tags may change from one commit to the next.
 * Keys are UUIDs and node ids, so that the rows of two histories can be put into one. */
static const char version_1[] =
    "CREATE TABLE run ("
    " id TEXT PRIMARY KEY, started REAL NOT NULL,"
    " ended REAL, exit_code INTEGER," /* NULL: still going on, or killed */
    " seed INTEGER NOT NULL, command TEXT NOT NULL, program TEXT NOT NULL,"
    " speed_judged BOOLEAN NOT NULL, memory_limit INTEGER NOT NULL, machine TEXT);"
    "CREATE INDEX run_started ON run (started);"

    "CREATE TABLE run_option (" /* arguments that a reproduction must repeat */
    " run_id TEXT NOT NULL REFERENCES run (id) ON DELETE CASCADE,"
    " position INTEGER NOT NULL, argument TEXT NOT NULL,"
    " PRIMARY KEY (run_id, position)) WITHOUT ROWID;"

    "CREATE TABLE fact ("
    " run_id TEXT NOT NULL REFERENCES run (id) ON DELETE CASCADE,"
    " key TEXT NOT NULL, value TEXT NOT NULL,"
    " PRIMARY KEY (run_id, key)) WITHOUT ROWID;"

    "CREATE TABLE test_case ("
    " id TEXT PRIMARY KEY, test_group TEXT NOT NULL, test TEXT NOT NULL,"
    " name TEXT NOT NULL, device TEXT NOT NULL, tags TEXT NOT NULL) WITHOUT ROWID;"

    "CREATE TABLE axis ("
    " case_id TEXT NOT NULL REFERENCES test_case (id) ON DELETE CASCADE,"
    " position INTEGER NOT NULL, name TEXT NOT NULL, kind TEXT NOT NULL,"
    " value," /* INTEGER, REAL or TEXT, as the kind says */
    " PRIMARY KEY (case_id, position)) WITHOUT ROWID;"

    "CREATE TABLE result ("
    " id TEXT PRIMARY KEY,"
    " run_id TEXT NOT NULL REFERENCES run (id) ON DELETE CASCADE,"
    " case_id TEXT NOT NULL REFERENCES test_case (id),"
    " repeat INTEGER NOT NULL, outcome TEXT NOT NULL, reason TEXT,"
    " started REAL NOT NULL, setup REAL, body REAL, teardown REAL, duration REAL, timeout REAL,"
    " ended BOOLEAN NOT NULL, exit_code INTEGER, signal INTEGER,"
    " data_hash TEXT, seed INTEGER NOT NULL,"
    " leaked_bytes INTEGER, leaked_blocks INTEGER,"
    " resident_before INTEGER, resident_peak INTEGER,"
    " tail TEXT NOT NULL,"
    " UNIQUE (run_id, case_id, repeat));"
    "CREATE INDEX result_case ON result (case_id, started);"

    "CREATE TABLE memory (" /* accounted memory at the end of a case */
    " result_id TEXT NOT NULL REFERENCES result (id) ON DELETE CASCADE,"
    " memory TEXT NOT NULL,"
    " allocated INTEGER NOT NULL, allocated_peak INTEGER NOT NULL,"
    " reserved INTEGER NOT NULL, reserved_peak INTEGER NOT NULL,"
    " total INTEGER NOT NULL, allocations INTEGER NOT NULL, frees INTEGER NOT NULL,"
    " refused INTEGER NOT NULL, allowed INTEGER NOT NULL," /* 0: no limit */
    " PRIMARY KEY (result_id, memory)) WITHOUT ROWID;"

    "CREATE TABLE failure ("
    " result_id TEXT NOT NULL REFERENCES result (id) ON DELETE CASCADE,"
    " position INTEGER NOT NULL, cause TEXT NOT NULL, message TEXT NOT NULL,"
    " file TEXT, line INTEGER,"
    " PRIMARY KEY (result_id, position)) WITHOUT ROWID;"

    "CREATE TABLE measurement ("
    " result_id TEXT NOT NULL REFERENCES result (id) ON DELETE CASCADE,"
    " position INTEGER NOT NULL, name TEXT NOT NULL, unit TEXT NOT NULL,"
    " items REAL, flops REAL, bytes REAL," /* an iteration; 0: unknown */
    " batch INTEGER NOT NULL, warmup INTEGER NOT NULL, stop TEXT NOT NULL,"
    " count INTEGER NOT NULL, median REAL, low REAL, high REAL, coverage REAL,"
    " mean REAL, sd REAL, min REAL, max REAL,"
    " PRIMARY KEY (result_id, position)) WITHOUT ROWID;"

    "CREATE TABLE samples ("
    " result_id TEXT NOT NULL, position INTEGER NOT NULL, seconds BLOB NOT NULL,"
    " PRIMARY KEY (result_id, position),"
    " FOREIGN KEY (result_id, position) REFERENCES measurement (result_id, position)"
    " ON DELETE CASCADE);"

    "CREATE TABLE value ("
    " result_id TEXT NOT NULL REFERENCES result (id) ON DELETE CASCADE,"
    " position INTEGER NOT NULL, name TEXT NOT NULL, unit TEXT NOT NULL, value REAL,"
    " PRIMARY KEY (result_id, position)) WITHOUT ROWID;"

    "CREATE TABLE gradient ("
    " result_id TEXT NOT NULL REFERENCES result (id) ON DELETE CASCADE,"
    " position INTEGER NOT NULL, name TEXT NOT NULL, precision BOOLEAN NOT NULL,"
    " error REAL, allowed REAL, slope REAL, expected REAL, got REAL,"
    " tensor TEXT NOT NULL, checked INTEGER NOT NULL,"
    " PRIMARY KEY (result_id, position)) WITHOUT ROWID;"

    "CREATE TABLE verdict ("
    " result_id TEXT NOT NULL REFERENCES result (id) ON DELETE CASCADE,"
    " position INTEGER NOT NULL, kind TEXT NOT NULL, name TEXT, memory TEXT,"
    " allowed REAL, met TEXT NOT NULL, measured REAL, low REAL, high REAL, distance REAL,"
    " PRIMARY KEY (result_id, position)) WITHOUT ROWID;";

static const char version_2[] =
    "ALTER TABLE result ADD COLUMN output_bytes INTEGER NOT NULL DEFAULT 0;"
    "CREATE TABLE phase (" /* named parts of a measurement, mean seconds an iteration */
    " result_id TEXT NOT NULL, position INTEGER NOT NULL, phase INTEGER NOT NULL,"
    " name TEXT NOT NULL, seconds REAL,"
    " PRIMARY KEY (result_id, position, phase),"
    " FOREIGN KEY (result_id, position) REFERENCES measurement (result_id, position)"
    " ON DELETE CASCADE) WITHOUT ROWID;";

/* A result is told apart by its attempt too, which takes a new table: SQLite cannot change a
 * constraint. What refers to it keeps its rows, for references are not looked at meanwhile. The
 * other tables only grow. What an older program did not know of a result is NULL. */
static const char version_3_result[] =
    "CREATE TABLE new_result ("
    " id TEXT PRIMARY KEY,"
    " run_id TEXT NOT NULL REFERENCES run (id) ON DELETE CASCADE,"
    " case_id TEXT NOT NULL REFERENCES test_case (id),"
    " repeat INTEGER NOT NULL, outcome TEXT NOT NULL, reason TEXT,"
    " started REAL NOT NULL, setup REAL, body REAL, teardown REAL, duration REAL, timeout REAL,"
    " ended BOOLEAN NOT NULL, exit_code INTEGER, signal INTEGER,"
    " data_hash TEXT, seed INTEGER NOT NULL,"
    " leaked_bytes INTEGER, leaked_blocks INTEGER,"
    " resident_before INTEGER, resident_peak INTEGER,"
    " tail TEXT NOT NULL, output_bytes INTEGER NOT NULL DEFAULT 0,"
    " attempt INTEGER NOT NULL DEFAULT 0," /* 0: the case; above: a fresh process for the same */
    " fail_allocation INTEGER NOT NULL DEFAULT 0," /* refused on purpose; 0: none */
    " note TEXT,"
    " UNIQUE (run_id, case_id, repeat, attempt));"
    "INSERT INTO new_result (rowid, id, run_id, case_id, repeat, outcome, reason, started, setup,"
    " body, teardown, duration, timeout, ended, exit_code, signal, data_hash, seed, leaked_bytes,"
    " leaked_blocks, resident_before, resident_peak, tail, output_bytes)"
    " SELECT rowid, id, run_id, case_id, repeat, outcome, reason, started, setup,"
    " body, teardown, duration, timeout, ended, exit_code, signal, data_hash, seed, leaked_bytes,"
    " leaked_blocks, resident_before, resident_peak, tail, output_bytes FROM result;"
    "DROP TABLE result;"
    "ALTER TABLE new_result RENAME TO result;"
    "CREATE INDEX result_case ON result (case_id, started);";

static const char version_3_rest[] =
    "ALTER TABLE measurement ADD COLUMN kind TEXT;"      /* work, serve, count, run; NULL: old */
    "ALTER TABLE measurement ADD COLUMN footprint REAL;" /* 0: memory */
    "ALTER TABLE measurement ADD COLUMN threads INTEGER;"
    "ALTER TABLE measurement ADD COLUMN cold BOOLEAN;"
    "ALTER TABLE measurement ADD COLUMN rate REAL;" /* requests a second that were due */
    "ALTER TABLE measurement ADD COLUMN p90 REAL;"  /* NULL: too few samples */
    "ALTER TABLE measurement ADD COLUMN p99 REAL;"
    "ALTER TABLE measurement ADD COLUMN p999 REAL;"
    "ALTER TABLE measurement ADD COLUMN low_mild INTEGER;" /* outliers */
    "ALTER TABLE measurement ADD COLUMN high_mild INTEGER;"
    "ALTER TABLE measurement ADD COLUMN low_severe INTEGER;"
    "ALTER TABLE measurement ADD COLUMN high_severe INTEGER;"
    "ALTER TABLE measurement ADD COLUMN autocorrelation REAL;"
    "ALTER TABLE measurement ADD COLUMN effective REAL;" /* number of independent samples */
    "ALTER TABLE measurement ADD COLUMN cpu REAL;"       /* median, processor seconds */
    "ALTER TABLE measurement ADD COLUMN cpu_low REAL;"
    "ALTER TABLE measurement ADD COLUMN cpu_high REAL;"
    "ALTER TABLE measurement ADD COLUMN growth_accounted REAL;" /* bytes an iteration */
    "ALTER TABLE measurement ADD COLUMN growth_resident REAL;"
    "ALTER TABLE measurement ADD COLUMN bound TEXT;" /* the nearer ceiling; '': not known */
    "ALTER TABLE measurement ADD COLUMN share REAL;" /* of the bound */
    "ALTER TABLE measurement ADD COLUMN share_low REAL;"
    "ALTER TABLE measurement ADD COLUMN share_high REAL;"
    "ALTER TABLE measurement ADD COLUMN share_coverage REAL;"
    "ALTER TABLE measurement ADD COLUMN stretches INTEGER;" /* that the share was made of */

    "ALTER TABLE samples ADD COLUMN cpu BLOB;"
    "ALTER TABLE samples ADD COLUMN shares BLOB;" /* one a stretch */

    "CREATE TABLE bound (" /* ceilings, as they were probed beside a measurement */
    " result_id TEXT NOT NULL, position INTEGER NOT NULL, number INTEGER NOT NULL,"
    " ceiling TEXT NOT NULL, level TEXT NOT NULL, threads INTEGER NOT NULL,"
    " probes INTEGER NOT NULL, rate REAL, low REAL, high REAL, work REAL,"
    " PRIMARY KEY (result_id, position, number),"
    " FOREIGN KEY (result_id, position) REFERENCES measurement (result_id, position)"
    " ON DELETE CASCADE) WITHOUT ROWID;"

    "CREATE TABLE noise (" /* what went on beside a measurement; NULL: the kernel does not tell */
    " result_id TEXT NOT NULL, position INTEGER NOT NULL, name TEXT NOT NULL, value REAL,"
    " PRIMARY KEY (result_id, position, name),"
    " FOREIGN KEY (result_id, position) REFERENCES measurement (result_id, position)"
    " ON DELETE CASCADE) WITHOUT ROWID;"

    "CREATE TABLE counter (" /* an iteration */
    " result_id TEXT NOT NULL, position INTEGER NOT NULL, counter TEXT NOT NULL,"
    " source TEXT NOT NULL, count REAL,"
    " PRIMARY KEY (result_id, position, counter),"
    " FOREIGN KEY (result_id, position) REFERENCES measurement (result_id, position)"
    " ON DELETE CASCADE) WITHOUT ROWID;"

    "ALTER TABLE value ADD COLUMN low REAL;"
    "ALTER TABLE value ADD COLUMN high REAL;"
    "ALTER TABLE value ADD COLUMN of_speed BOOLEAN NOT NULL DEFAULT 0;"
    "ALTER TABLE gradient ADD COLUMN resolution REAL;"
    "ALTER TABLE verdict ADD COLUMN detail TEXT;"       /* a counter's name, or such as p99 */
    "ALTER TABLE verdict ADD COLUMN asked INTEGER;"     /* fresh processes */
    "ALTER TABLE verdict ADD COLUMN confirmed INTEGER;" /* of them, that said the same */

    "CREATE TABLE ceiling (machine TEXT NOT NULL, name TEXT NOT NULL, level TEXT NOT NULL,"
    " threads INTEGER NOT NULL, isa TEXT NOT NULL, unit TEXT NOT NULL, measured REAL NOT NULL,"
    " rate REAL, low REAL, high REAL,"
    " PRIMARY KEY (machine, name, level, threads, isa)) WITHOUT ROWID;";

static const char version_4[] =
    "ALTER TABLE samples ADD COLUMN slowed BLOB;"   /* set aside: the device was slowed down */
    "ALTER TABLE memory ADD COLUMN system INTEGER;" /* of the process, as the driver counts it */
    "CREATE TABLE series ("                         /* what an accelerator did beside a case */
    " result_id TEXT NOT NULL REFERENCES result (id) ON DELETE CASCADE,"
    " name TEXT NOT NULL, seconds BLOB NOT NULL, value BLOB NOT NULL,"
    " PRIMARY KEY (result_id, name)) WITHOUT ROWID;";

/* Element v takes version v to v + 1. A new file takes all of them, so that it is the same as an
 * upgraded one. */
static const char *const steps[YPI_SCHEMA_VERSION][2] = {
    {version_1}, {version_2}, {version_3_result, version_3_rest}, {version_4}};

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
                        path, version, YPI_SCHEMA_VERSION);
}

/* The directory of a path, in `out` of PATH_MAX bytes. */
static void directory_of(const char *path, char *out)
{
    const char *slash = strrchr(path, '/');
    if (!slash)
        snprintf(out, PATH_MAX, ".");
    else if (slash == path)
        snprintf(out, PATH_MAX, "/");
    else
        snprintf(out, PATH_MAX, "%.*s", (int)(slash - path), path);
}

/* SQLite has one message, "unable to open database file", for all of these. */
static enum yp_status check_path(const char *path, bool create)
{
    char directory[PATH_MAX];
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
    directory_of(path, directory);
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

static sqlite3 *open_file(const char *path, int flags, bool *empty)
{
    sqlite3 *db = NULL;
    /* "./" keeps a name such as ":memory:" from meaning something else. */
    char *name = sqlite3_mprintf("%s%s", *path == '/' ? "" : "./", path);
    int code = name ? sqlite3_open_v2(name, &db, flags, NULL) : SQLITE_NOMEM;
    sqlite3_free(name);
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
    enum yp_status status = YP_OK;
    for (int i = 0; status == YP_OK && i < 2; i++)
        if (steps[version][i])
            status =
                execute(db, path, steps[version][i], version == 0 ? "creating it" : "upgrading it");
    return status;
}

/* Inside a transaction: another process may have done it since the version was read. */
static enum yp_status take_steps(sqlite3 *db, const char *path)
{
    char pragmas[96];
    int version = 0;
    enum yp_status status = read_version(db, path, &version);
    if (status != YP_OK || version == YPI_SCHEMA_VERSION)
        return status;
    if (version > YPI_SCHEMA_VERSION)
        return too_new(path, version);
    for (int v = version < 0 ? 0 : version; status == YP_OK && v < YPI_SCHEMA_VERSION; v++)
        status = take_step(db, path, v);
    if (status == YP_OK)
        status = check_references(db, path);
    snprintf(pragmas, sizeof pragmas, "PRAGMA application_id = %d; PRAGMA user_version = %d",
             YPI_APPLICATION_ID, YPI_SCHEMA_VERSION);
    return status == YP_OK ? execute(db, path, pragmas, "marking its version") : status;
}

static enum yp_status bring_up_to_date(sqlite3 *db, const char *path)
{
    int version = 0;
    enum yp_status status = read_version(db, path, &version);
    if (status != YP_OK || version == YPI_SCHEMA_VERSION)
        return status;
    if (version > YPI_SCHEMA_VERSION)
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
    enum yp_status status = bring_up_to_date(db, path);
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
    if (empty)
        return yp_set_error(YP_IO, "history '%s': is empty; no run has been stored in it", path);
    if (read_version(db, path, &version) != YP_OK)
        return YP_IO;
    if (version > YPI_SCHEMA_VERSION)
        return too_new(path, version);
    if (version < YPI_SCHEMA_VERSION)
        return yp_set_error(YP_IO,
                            "history '%s': has schema version %d, this program reads version %d; "
                            "any run that is stored in it brings it up to date",
                            path, version, YPI_SCHEMA_VERSION);
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

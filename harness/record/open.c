/* A history's file: looked at before SQLite does, and opened for each of its uses. */
#include "harness/record/schema.h"

#include "base/system/file.h"
#include "base/text/text.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

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

bool ypi_schema_may_change(const char *path)
{
    char directory[YPI_PATH_MAX];
    ypi_directory_of(directory, path);
    return access(path, W_OK) == 0 && access(directory, W_OK) == 0;
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

/* SQLite takes a file system without locks for one whose file another process has locked, and
 * waits. Asked through its own handle, as above. */
static enum yp_status check_locks(sqlite3 *db, const char *path)
{
    sqlite3_file *file = NULL;
    if (sqlite3_file_control(db, "main", SQLITE_FCNTL_FILE_POINTER, &file) != SQLITE_OK || !file ||
        !file->pMethods)
        return YP_OK;
    errno = 0;
    const int code = file->pMethods->xLock(file, SQLITE_LOCK_SHARED);
    const int reason = errno;
    if (code == SQLITE_OK)
        file->pMethods->xUnlock(file, SQLITE_LOCK_NONE);
    if (code == SQLITE_OK ||
        (reason != ENOLCK && reason != ENOSYS && reason != EOPNOTSUPP && reason != EINVAL))
        return YP_OK;
    return yp_set_error(YP_IO,
                        "history '%s': its file system gives no locks (%s), and a history needs "
                        "them; name a file on another, such as a local disk",
                        path, strerror(reason));
}

enum manner {
    TO_WRITE,
    TO_READ,
    STILL, /* without locks: nobody has it open, and none is left beside it */
    ALONE, /* without locks, with the log that is left beside it */
};

static sqlite3 *open_file(const char *path, enum manner manner, bool *empty)
{
    static const int flags[] = {SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, SQLITE_OPEN_READONLY,
                                SQLITE_OPEN_READONLY | SQLITE_OPEN_URI, SQLITE_OPEN_READONLY};
    sqlite3 *db = NULL;
    /* "./" keeps a name such as ":memory:" from meaning something else. */
    char *name =
        manner == STILL ? still_name(path) : ypi_format("%s%s", *path == '/' ? "" : "./", path);
    int code = sqlite3_open_v2(name, &db, flags[manner], manner == ALONE ? "unix-none" : NULL);
    free(name);
    if (code == SQLITE_OK) {
        sqlite3_extended_result_codes(db, 1);
        sqlite3_busy_timeout(db, YPI_LOCK_WAIT_MS);
        /* The log's index is then in this process's memory, for a file of it cannot be made. */
        if (manner == ALONE)
            sqlite3_exec(db, "PRAGMA locking_mode = EXCLUSIVE", NULL, NULL, NULL);
        if (check_header(db, path, empty) == YP_OK &&
            (manner == STILL || manner == ALONE || check_locks(db, path) == YP_OK))
            return db;
    } else if (db) {
        (void)ypi_schema_refuse(db, path, "opening it");
    } else {
        (void)yp_set_error(YP_OUT_OF_MEMORY, "history '%s': no memory to open it", path);
    }
    sqlite3_close(db);
    return NULL;
}

/* Opens it in this manner and reads its version. */
static sqlite3 *open_known(const char *path, enum manner manner, int *version, int *code)
{
    bool empty = false;
    sqlite3 *db = open_file(path, manner, &empty);
    enum yp_status status = db ? YP_OK : YP_IO;
    *code = SQLITE_OK;
    if (db && empty)
        status = yp_set_error(YP_IO, "history '%s': is empty; no run has been stored in it", path);
    else if (db && (status = ypi_schema_read_version(db, path, version)) != YP_OK)
        *code = sqlite3_errcode(db) & 0xff;
    if (status == YP_OK && *version > ypi_schema_version())
        status = ypi_schema_too_new(path, *version);
    if (status == YP_OK)
        return db;
    sqlite3_close(db);
    return NULL;
}

/* What may not be changed has no files of SQLite's made beside it, so one
 * that is still is read so; one with a log as others read it who have it open, else alone. */
static sqlite3 *open_in_some_manner(const char *path, bool still, int *version)
{
    int code = SQLITE_OK;
    sqlite3 *db = open_known(path, still ? STILL : TO_READ, version, &code);
    if (db == NULL && !still && !ypi_schema_may_change(path) &&
        (code == SQLITE_CANTOPEN || code == SQLITE_READONLY || code == SQLITE_IOERR))
        db = open_known(path, ALONE, version, &code);
    return db;
}

/* SQLite does not wait for the lock that this change takes, so that two processes which create
 * one file at the same time would meet here. */
static enum yp_status use_log(sqlite3 *db, const char *path)
{
    const struct timespec pause = {.tv_nsec = 5000000};
    int code = SQLITE_BUSY;
    bool log = false;
    for (int waited = 0; waited < YPI_LOCK_WAIT_MS && code == SQLITE_BUSY; waited += 5) {
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
        return ypi_schema_refuse(db, path, "switching it to a write-ahead log");
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
        status = ypi_schema_execute(
            db, path,
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
    sqlite3 *db = open_file(path, TO_WRITE, &empty);
    if (db && prepare(db, path) != YP_OK) {
        sqlite3_close(db);
        db = NULL;
    }
    return db;
}

/* Of an older version, in a file that is gone when it is closed. */
static sqlite3 *upgraded(sqlite3 *source, const char *path)
{
    sqlite3 *copy = NULL;
    enum yp_status status = YP_OK;
    if (sqlite3_open_v2("", &copy, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, NULL) == SQLITE_OK)
        sqlite3_extended_result_codes(copy, 1);
    sqlite3_backup *backup = copy ? sqlite3_backup_init(copy, "main", source, "main") : NULL;
    if (backup)
        (void)sqlite3_backup_step(backup, -1);
    if (!backup || sqlite3_backup_finish(backup) != SQLITE_OK)
        status = ypi_schema_refuse(copy, path, "copying it");
    if (status == YP_OK)
        status = ypi_schema_upgrade(copy, path);
    if (status == YP_OK)
        return copy;
    sqlite3_close(copy);
    return NULL;
}

sqlite3 *ypi_schema_open_to_read(const char *path)
{
    int version = 0;
    const int wanted = ypi_schema_version();
    if (check_path(path, false) != YP_OK)
        return NULL;
    const bool fixed = !ypi_schema_may_change(path);
    bool still = fixed && is_still(path);
    sqlite3 *db = open_in_some_manner(path, still, &version);
    if (db == NULL || version == wanted)
        return db;
    sqlite3 *copy = fixed ? upgraded(db, path) : NULL;
    if (!fixed)
        (void)yp_set_error(YP_IO,
                           "history '%s': has schema version %d, this program reads version %d; "
                           "any run that is stored in it brings it up to date",
                           path, version, wanted);
    sqlite3_close(db);
    return copy;
}

sqlite3 *ypi_schema_open_to_copy(const char *path, bool *still)
{
    int version = 0;
    if (check_path(path, false) != YP_OK)
        return NULL;
    *still = is_still(path);
    return open_in_some_manner(path, *still, &version);
}

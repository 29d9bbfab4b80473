/*
 * The history's file: what tables it has, and how an older one is brought up to date.
 *
 * How values are stored, in every table:
 * - enums as their readable names, truth values as 0 and 1 in BOOLEAN columns;
 * - unsigned 64-bit figures in the two's complement of an INTEGER: in SQL printf('%u', seed);
 * - reals as they are, infinity too; a NaN is NULL, for SQLite has none;
 * - a data hash as 16 hexadecimal digits;
 * - what is not known, or was not when the row was written, is NULL;
 * - samples as a BLOB of little-endian IEEE 754 doubles, in the order taken, 8 bytes each;
 * - times as seconds since 1970, durations as seconds, sizes as bytes.
 */
#pragma once

#include <sqlite3.h>
#include <stdbool.h>
#include <yieldpoint/device.h>

#define YPI_APPLICATION_ID 0x59504849 /* "YPHI", in the header of the file */

int ypi_schema_version(void); /* that this program writes: the newest of any field */

/* Opens for writing, creating the file (not its directory) or upgrading its tables where that is
 * needed. A file that is not a history, or one of a newer version, is refused and left as it is.
 * Owned by the caller: sqlite3_close(). NULL with yp_last_error() set. */
sqlite3 *ypi_schema_open(const char *path);

/* Opens a history of exactly this version for reading, also while another process writes to it, and
 * where this user may not write, even an older one. Never changes the file. Owned by the caller.
 * NULL with yp_last_error() set. */
sqlite3 *ypi_schema_open_to_read(const char *path);

/* Whether this user can write to the file, and make those that SQLite needs beside it. */
bool ypi_schema_may_change(const char *path);

/* Opens a history of this or an older version to be copied. *still: nobody had it open; it is read
 * without locks, so that no file is made beside it, and has to be the same afterwards. Owned by the
 * caller. NULL with yp_last_error() set. */
sqlite3 *ypi_schema_open_to_copy(const char *path, bool *still);

/* Brings the tables of an open file up to date, all or nothing; `path` is for messages. Afterwards
 * references are not looked at until PRAGMA foreign_keys says so. */
enum yp_status ypi_schema_upgrade(sqlite3 *db, const char *path);

/* -- for open.c ---------------------------------------------------------------------------- */

enum { YPI_LOCK_WAIT_MS = 30000 };

/* Each sets yp_last_error() to what SQLite found while `doing` something with the file. */
enum yp_status ypi_schema_refuse(sqlite3 *db, const char *path, const char *doing);
enum yp_status ypi_schema_execute(sqlite3 *db, const char *path, const char *sql,
                                  const char *doing);
enum yp_status ypi_schema_read_version(sqlite3 *db, const char *path, int *out);
enum yp_status ypi_schema_too_new(const char *path, int version);

/* The history as other parts of the program use it: its rows, read, and the tables that they fill.
 */
#ifndef YPI_STORE_H
#define YPI_STORE_H

#include <cJSON.h>
#include <sqlite3.h>
#include <yieldpoint/device.h>

/* Opens `path`, or the .yieldpoint/history.db that is nearest above the working directory when it
 * is NULL, and holds on to one state of it: what is written meanwhile is not seen. NULL with
 * yp_last_error() set. */
sqlite3 *ypi_store_open(const char *path);

/* Opens for writing, creating the file (not its directory) or upgrading its tables where that is
 * needed. A file that is not a history, or one of a newer version, is refused and left as it is.
 * Owned by the caller: sqlite3_close(). NULL with yp_last_error() set. */
sqlite3 *ypi_store_open_to_write(const char *path);

/* The rows that a query gives, an array of objects with a member for each column: NULL becomes
 * null, infinity "inf" or "-inf", a BOOLEAN column true or false, text is made valid UTF-8, a
 * BLOB becomes the array of its doubles. `parameters` are bound as texts, NULL as NULL. Owned by
 * the caller: cJSON_Delete(). NULL with yp_last_error() set. */
cJSON *ypi_store_rows(sqlite3 *db, const char *sql, int count, const char *const *parameters);

/* A member as it is in the history: NaN for null and for what is not there. */
double ypi_real(const cJSON *object, const char *name);
/* "" for null and for what is not there. */
const char *ypi_text_of(const cJSON *object, const char *name);

#endif

/* Rows of the history: the statements that store them, kept ready, and the SQL of fields.h. */
#pragma once

#include "base/text/text.h"
#include "harness/record/fields.h"

#include <sqlite3.h>

struct cJSON;

enum ypi_statement { YPI_BEGIN, YPI_COMMIT, YPI_ROLLBACK, YPI_FINISH_RUN, YPI_STATEMENTS };

struct ypi_statements {
    sqlite3_stmt *s[YPI_STATEMENTS];
    sqlite3_stmt *insert[YPI_TABLES];
};

/* False when one cannot be prepared; sqlite3_errmsg(db) says why. To be finalized in any case. */
bool ypi_statements_prepare(struct ypi_statements *all, sqlite3 *db);
void ypi_statements_finalize(struct ypi_statements *all);

/* Stores a row; NULL and NaN are stored as NULL. False when it cannot be, and sqlite3_errmsg() says
 * why. */
bool ypi_row_insert(const struct ypi_statements *all, enum ypi_table_name table,
                    const struct ypi_stored_row *item);
/* Runs a statement whose parameters are bound, and leaves it ready for the next time. */
bool ypi_statement_run(sqlite3_stmt *s);

/* -- one field of a row -------------------------------------------------------------------- */

bool ypi_field_known(const struct ypi_field *f, const void *row); /* by .when */
void ypi_field_get(const struct ypi_field *f, const struct ypi_stored_row *item,
                   struct ypi_datum *out);

/* The value as a figure; NaN when there is none. */
double ypi_field_real(const struct ypi_field *f, const void *row);
/* Takes a YPI_REAL, a YPI_INT or YPI_CHARS of .count bytes from the member of a row that was read;
 * an int that is not there is 0. */
void ypi_field_read(const struct ypi_field *f, void *row, const struct cJSON *object);
const char *ypi_field_member(const struct ypi_field *f); /* in JSON; "": none */

/* An owner's rows of a table, each with the members that its fields name. Owned by the caller; NULL
 * with yp_last_error() set. */
struct cJSON *ypi_table_rows(sqlite3 *db, enum ypi_table_name table, const char *owner);
/* The same by a statement that stays ready: *ready is made when it is NULL; the caller finalizes
 * it.
 */
struct cJSON *ypi_table_rows_ready(sqlite3 *db, enum ypi_table_name table, const char *owner,
                                   sqlite3_stmt **ready);

/* -- SQL: each adds to `out` --------------------------------------------------------------- */

/* "name TYPE NOT NULL", as in CREATE TABLE. */
void ypi_sql_column(struct ypi_text *out, const struct ypi_field *f);
/* The columns that version `version` had, separated by ", ". */
void ypi_sql_names(struct ypi_text *out, const struct ypi_table *t, int version);
/* The columns that JSON has, under their names there, each behind `before` ("m."); only those that
 * are listed, or all. */
void ypi_sql_export(struct ypi_text *out, const struct ypi_table *t, const char *before,
                    bool listed);

/* Rows of the history, as record.c writes them: the statements, kept ready, and their parameters.
 */
#ifndef YPI_ROW_H
#define YPI_ROW_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum ypi_statement {
    YPI_BEGIN,
    YPI_COMMIT,
    YPI_ROLLBACK,
    YPI_ADD_RUN,
    YPI_ADD_OPTION,
    YPI_ADD_FACT,
    YPI_FINISH_RUN,
    YPI_ADD_CASE,
    YPI_ADD_AXIS,
    YPI_ADD_RESULT,
    YPI_ADD_MEMORY,
    YPI_ADD_FAILURE,
    YPI_ADD_MEASUREMENT,
    YPI_ADD_SAMPLES,
    YPI_ADD_PHASE,
    YPI_ADD_BOUND,
    YPI_ADD_NOISE,
    YPI_ADD_COUNTER,
    YPI_ADD_VALUE,
    YPI_ADD_GRADIENT,
    YPI_ADD_VERDICT,
    YPI_ADD_SERIES,
    YPI_STATEMENTS
};

struct ypi_statements {
    sqlite3_stmt *s[YPI_STATEMENTS];
};

/* False when one cannot be prepared; sqlite3_errmsg(db) says why. To be finalized in any case. */
bool ypi_statements_prepare(struct ypi_statements *all, sqlite3 *db);
void ypi_statements_finalize(struct ypi_statements *all);

/* A statement whose parameters are given one after the other. What they point to must stay until
 * the row is stored. NULL and NaN are stored as NULL. */
struct ypi_row {
    sqlite3_stmt *s;
    int next;
    int code; /* the first that was not SQLITE_OK */
};

struct ypi_row ypi_row(const struct ypi_statements *all, enum ypi_statement which);
void ypi_row_text(struct ypi_row *r, const char *text);
void ypi_row_real(struct ypi_row *r, double value);
void ypi_row_int(struct ypi_row *r, long long value);
void ypi_row_unsigned(struct ypi_row *r, uint64_t value);
void ypi_row_null(struct ypi_row *r);
void ypi_row_doubles(struct ypi_row *r, const double *values, size_t count);

/* True when the statement ran. Leaves it ready for the next row. */
bool ypi_row_store(struct ypi_row *r);

#endif

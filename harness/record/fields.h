/*
 * Everything that is kept of a run, one line a field, in fields.c. From there come the tables of
 * the history's file and their upgrade, the rows that are stored, the JSON documents, the columns
 * of `yieldpoint history` and of --csv, and what is read back.
 *
 * A new field is one line in fields.c, with the version that it makes (one more than
 * ypi_schema_version() was), and what prints it. Its column is added to older histories, in which
 * it is NULL. A figure beside a measurement (`beside`) takes no new version.
 */
#pragma once

#include "harness/vocabulary/result.h"

enum ypi_table_name {
    YPI_TABLE_RUN,
    YPI_TABLE_OPTION,
    YPI_TABLE_FACT,
    YPI_TABLE_CASE,
    YPI_TABLE_AXIS,
    YPI_TABLE_RESULT,
    YPI_TABLE_MEMORY,
    YPI_TABLE_FAILURE,
    YPI_TABLE_MEASUREMENT,
    YPI_TABLE_SAMPLES,
    YPI_TABLE_PHASE,
    YPI_TABLE_BOUND,
    YPI_TABLE_NOISE,
    YPI_TABLE_COUNTER,
    YPI_TABLE_VALUE,
    YPI_TABLE_GRADIENT,
    YPI_TABLE_VERDICT,
    YPI_TABLE_SERIES,
    YPI_TABLE_CEILING,
    YPI_TABLE_GATE,
    YPI_TABLE_COMPARISON,
    YPI_TABLES
};

/* A row's struct and its place. */
struct ypi_stored_row {
    const void *row;
    const char *run;   /* UUID; of a result only */
    const char *owner; /* UUID of the run, result or gate, or id of the case, that it belongs to */
    int position;      /* among the owner's */
    int number;        /* among the parts of what has that position */
};

enum ypi_field_type {
    YPI_REAL,     /* double */
    YPI_INT,      /* int */
    YPI_UNSIGNED, /* uint64_t or size_t */
    YPI_BOOL,
    YPI_TEXT,    /* const char * */
    YPI_CHARS,   /* an array of char */
    YPI_NAME,    /* an enum, by .names */
    YPI_DOUBLES, /* double *, of .count */
    YPI_ANY,     /* as .get gives it */
    YPI_OF_RUN,
    YPI_OF_OWNER,
    YPI_POSITION,
    YPI_NUMBER,
    YPI_LATER /* unknown until the row is updated */
};

/* A field's value. */
struct ypi_datum {
    enum { YPI_NOTHING, YPI_A_REAL, YPI_AN_INTEGER, YPI_A_TEXT, YPI_AN_ARRAY } type;
    double real;
    int64_t integer; /* unsigned figures in two's complement */
    const char *text;
    const double *array;
    size_t count;
    char made[YPI_BOUND_MAX + 64]; /* `text`, where it stands nowhere else */
};

void ypi_datum_text(struct ypi_datum *out, const char *text); /* NULL: nothing */

struct ypi_field {
    const char *name; /* the column */
    enum ypi_field_type type;
    size_t at;   /* in the row's struct; */
    bool inside; /* in the struct that the first member of the row's points to */
    int since;   /* version of the file that brought it */
    const char *const *names;
    size_t count; /* of YPI_DOUBLES: where it stands; of YPI_CHARS that are read back: bytes */
    size_t when, when_size; /* bytes of the row's struct that are 0 where there is no value; none:
                               always one */
    void (*get)(const struct ypi_stored_row *item, struct ypi_datum *out); /* instead of `at` */
    const char *sql;  /* behind the column's type: " NOT NULL", ... */
    const char *json; /* the member, where it is not named like the column; "": none */
    bool as_text;     /* in JSON, for it may be larger than what a reader takes as a number */
    bool listed;      /* by `yieldpoint history` */
    const char *csv;  /* the column of --csv that has it; of YPI_DOUBLES their median, with the
                         columns low, high and samples */
};

struct ypi_table {
    const char *name;
    int since;
    const struct ypi_field *fields;
    size_t count;
    const char *constraints; /* behind the columns */
    const char *index;       /* NULL: none but the constraints' */
    const char * or ;        /* " OR REPLACE" of INSERT; NULL: nothing */
    const char *conflict;    /* behind the values of INSERT; NULL: nothing */
    const char *order;       /* of an owner's rows */
};

extern const struct ypi_table ypi_tables[YPI_TABLES];

/* Figures beside a measurement, each a row of table `noise`, of struct ypi_measured: what the
 * kernel reports, then the accelerator's. */
extern const struct ypi_field ypi_noise_fields[];
extern const size_t ypi_noise_field_count;

bool ypi_has_ceiling(const struct ypi_ceiling *c); /* that is worth a row */

/* Rows whose structs are nobody else's. */
struct ypi_figure_row {
    const char *name;
    double value;
};
struct ypi_series_row {
    const char *name;
    const double *seconds, *values; /* not owned */
    size_t count;
};
/* The columns of a result's series one behind the other, which rows refer to; the caller frees. */
double *ypi_series_columns(const struct ypi_result *result);
struct ypi_series_row ypi_series_row(const double *columns, size_t count, int column);

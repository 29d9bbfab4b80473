/* Tables in text: rows of fields between commas (RFC 4180), the first one the names of the columns.
 * The file is mapped and read once, from front to back; nothing is allocated for a field. */
#pragma once

#include "base/system/file.h"

#include <stdbool.h>

enum { DATA_CSV_COLUMNS = 512 }; /* of a file, at most */

/* A column that is wanted. Names are compared in lower case with '_' between words: gameId, Game Id
 * and game-id are game_id. */
struct data_csv_column {
    const char *name;
    bool optional;
};

/* The file, open, and the row that was read last. Its fields are the functions' own. */
struct data_csv {
    char path[YPI_PATH_MAX];
    const char *data;
    size_t size;
    size_t columns, wanted;
    int place[DATA_CSV_COLUMNS]; /* of the column that is wanted; -1: there is none */

    size_t line, next_line;             /* of the row, from 1 */
    size_t begin, fields;               /* of the row */
    uint32_t end[DATA_CSV_COLUMNS + 2]; /* of each field, counted from `begin` */
    size_t next, block;            /* where the next row begins, and the bytes that `marks` is of */
    uint64_t marks, quotes, lines; /* a bit for each byte: any of these, and which */
};

/* Maps the file and reads its first row; columns (count) are numbered as given here. YP_IO or
 * YP_INVALID, with file and line, where a column is missing that is not optional, or there twice.
 */
enum yp_status data_csv_open(struct data_csv *csv, const char *path,
                             const struct data_csv_column *columns, size_t count);
void data_csv_close(struct data_csv *csv);

/* The next row that is not empty. DATA_CSV_BAD: it has too few fields or too many, or a quote has
 * no end; yp_last_error() has file and line, and the next call goes on behind it. */
enum data_csv_step { DATA_CSV_END, DATA_CSV_ROW, DATA_CSV_BAD };
enum data_csv_step data_csv_next(struct data_csv *csv);

/* A field without its quotes; an empty one where the file does not have the column. */
struct data_csv_text {
    const char *text;
    size_t length;
};
struct data_csv_text data_csv_text(const struct data_csv *csv, size_t column);
bool data_csv_is(const struct data_csv *csv, size_t column, const char *text);

/* Numbers. Missing: the field is empty or NA. DATA_CSV_WRONG: anything else than a number. */
enum data_csv_value { DATA_CSV_NUMBER, DATA_CSV_MISSING, DATA_CSV_WRONG };
enum data_csv_value data_csv_real(const struct data_csv *csv, size_t column, double *out);
enum data_csv_value data_csv_whole(const struct data_csv *csv, size_t column, int64_t *out);

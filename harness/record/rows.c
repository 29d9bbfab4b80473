#include "harness/record/rows.h"

#include "base/text/text.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <yieldpoint/device.h>

/* What a case wrote may be any bytes; JSON is UTF-8. */
static cJSON *text_value(const char *text)
{
    char *clean = ypi_utf8(text);
    cJSON *value = cJSON_CreateString(clean);
    free(clean);
    return value;
}

static cJSON *real_value(double value)
{
    if (isnan(value))
        return cJSON_CreateNull();
    if (isinf(value))
        return cJSON_CreateString(value > 0 ? "inf" : "-inf");
    return cJSON_CreateNumber(value);
}

static cJSON *blob_value(const void *bytes, int size)
{
    cJSON *array = cJSON_CreateArray();
    for (int i = 0; i + 8 <= size; i += 8) {
        double value;
        memcpy(&value, (const char *)bytes + i, sizeof value);
        cJSON_AddItemToArray(array, real_value(value));
    }
    return array;
}

static cJSON *column_value(sqlite3_stmt *s, int i)
{
    const char *declared = sqlite3_column_decltype(s, i);
    switch (sqlite3_column_type(s, i)) {
    case SQLITE_INTEGER:
        if (declared && strcasecmp(declared, "BOOLEAN") == 0)
            return cJSON_CreateBool(sqlite3_column_int(s, i));
        return cJSON_CreateNumber((double)sqlite3_column_int64(s, i));
    case SQLITE_FLOAT:
        return real_value(sqlite3_column_double(s, i));
    case SQLITE_TEXT:
        return text_value((const char *)sqlite3_column_text(s, i));
    case SQLITE_BLOB:
        return blob_value(sqlite3_column_blob(s, i), sqlite3_column_bytes(s, i));
    default:
        return cJSON_CreateNull();
    }
}

cJSON *ypi_row_read(sqlite3_stmt *s)
{
    cJSON *object = cJSON_CreateObject();
    for (int i = 0; i < sqlite3_column_count(s); i++)
        cJSON_AddItemToObject(object, sqlite3_column_name(s, i), column_value(s, i));
    return object;
}

static int read_rows(sqlite3_stmt *s, cJSON *rows)
{
    int code = sqlite3_step(s);
    for (; code == SQLITE_ROW; code = sqlite3_step(s))
        cJSON_AddItemToArray(rows, ypi_row_read(s));
    return code;
}

/* Takes over the rows when they could be read. NULL with the error set. */
static cJSON *only_done(sqlite3 *db, int code, cJSON *rows)
{
    if (code == SQLITE_DONE && rows != NULL)
        return rows;
    (void)yp_set_error(YP_IO, "history '%s': reading it: %s", sqlite3_db_filename(db, "main"),
                       sqlite3_errmsg(db));
    cJSON_Delete(rows);
    return NULL;
}

cJSON *ypi_store_rows(sqlite3 *db, const char *sql, int count, const char *const *parameters)
{
    sqlite3_stmt *s = NULL;
    cJSON *rows = cJSON_CreateArray();
    int code = sqlite3_prepare_v2(db, sql, -1, &s, NULL);
    for (int i = 0; code == SQLITE_OK && i < count; i++)
        code = sqlite3_bind_text(s, i + 1, parameters[i], -1, SQLITE_STATIC);
    if (code == SQLITE_OK)
        code = read_rows(s, rows);
    rows = only_done(db, code, rows);
    sqlite3_finalize(s);
    return rows;
}

cJSON *ypi_store_rows_ready(sqlite3 *db, const char *sql, sqlite3_stmt **ready,
                            const char *parameter)
{
    cJSON *rows = cJSON_CreateArray();
    int code = *ready == NULL
                   ? sqlite3_prepare_v3(db, sql, -1, SQLITE_PREPARE_PERSISTENT, ready, NULL)
                   : SQLITE_OK;
    if (code == SQLITE_OK)
        code = sqlite3_bind_text(*ready, 1, parameter, -1, SQLITE_STATIC);
    if (code == SQLITE_OK)
        code = read_rows(*ready, rows);
    rows = only_done(db, code, rows);
    (void)sqlite3_reset(*ready);
    return rows;
}

const cJSON *ypi_member(const cJSON *object, const char *name)
{
    return cJSON_GetObjectItemCaseSensitive(object, name);
}

double ypi_real(const cJSON *object, const char *name)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, name);
    if (cJSON_IsNumber(item))
        return item->valuedouble;
    if (cJSON_IsString(item) && strcmp(item->valuestring, "inf") == 0)
        return INFINITY;
    if (cJSON_IsString(item) && strcmp(item->valuestring, "-inf") == 0)
        return -INFINITY;
    return NAN;
}

int ypi_whole(const cJSON *object, const char *name)
{
    double value = ypi_real(object, name);
    return !(value > 0) ? 0 : value < INT_MAX ? (int)value : INT_MAX;
}

const char *ypi_text_of(const cJSON *object, const char *name)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, name);
    return cJSON_IsString(item) ? item->valuestring : "";
}

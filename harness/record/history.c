#include "harness/record/history.h"

#include "base/options/project.h"
#include "base/text/text.h"
#include "harness/record/row.h"
#include "harness/record/schema.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

static bool verbose;

void ypi_store_be_verbose(void)
{
    verbose = true;
}

char *ypi_store_read_verbose(void *values, const struct ypi_option *option, const char *text)
{
    (void)values, (void)option, (void)text;
    ypi_store_be_verbose();
    return NULL;
}

/* Where a program that is started here writes; where that is not there, the nearest. */
static char *choose(const struct ypi_project *project)
{
    const bool own = project->history_from != NULL || access(project->history, F_OK) == 0;
    char *found = own ? ypi_strdup(project->history) : ypi_nearest_above(".yieldpoint/history.db");
    char *why = own ? ypi_project_history_why(project)
                    : ypi_format("the nearest, for there is no %s", project->history);
    if (verbose && found != NULL)
        fprintf(stderr, "history: %s (%s)\n", found, why);
    free(why);
    return found;
}

/* The caller frees; NULL with the error set. */
static char *find(void)
{
    struct ypi_project project;
    const struct ypi_project_search usual = {0};
    bool read = ypi_project_read(&project, &usual);
    char *found = read ? choose(&project) : NULL;
    ypi_project_clear(&project);
    if (!read) {
        (void)yp_set_error(YP_INVALID, "yieldpoint.ini, which says where the history is, is wrong");
        return NULL;
    }
    char *here = found == NULL ? getcwd(NULL, 0) : NULL;
    if (found == NULL)
        (void)yp_set_error(YP_IO,
                           "no .yieldpoint/history.db in %.600s or above it; run a suite first, or "
                           "name one with --history FILE (a suite's first lines say where it "
                           "keeps its own)",
                           here != NULL ? here : "the working directory");
    free(here);
    return found;
}

char *ypi_store_path(const char *path)
{
    return path == NULL ? find() : ypi_strdup(path);
}

sqlite3 *ypi_store_open(const char *path)
{
    char *found = ypi_store_path(path);
    sqlite3 *db = found != NULL ? ypi_schema_open_to_read(found) : NULL;
    if (db && sqlite3_exec(db, "BEGIN", NULL, NULL, NULL) != SQLITE_OK) {
        (void)yp_set_error(YP_IO, "history '%s': %s", found, sqlite3_errmsg(db));
        sqlite3_close(db);
        db = NULL;
    }
    free(found);
    return db;
}

bool ypi_store_may_change(const char *path)
{
    return ypi_schema_may_change(path);
}

sqlite3 *ypi_store_open_to_write(const char *path)
{
    return ypi_schema_open(path);
}

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

cJSON *ypi_store_rows(sqlite3 *db, const char *sql, int count, const char *const *parameters)
{
    sqlite3_stmt *s = NULL;
    cJSON *rows = cJSON_CreateArray();
    int code = sqlite3_prepare_v2(db, sql, -1, &s, NULL);
    for (int i = 0; code == SQLITE_OK && i < count; i++)
        code = sqlite3_bind_text(s, i + 1, parameters[i], -1, SQLITE_STATIC);
    if (code == SQLITE_OK)
        code = read_rows(s, rows);
    if (code != SQLITE_DONE || !rows) {
        (void)yp_set_error(YP_IO, "history '%s': reading it: %s", sqlite3_db_filename(db, "main"),
                           sqlite3_errmsg(db));
        cJSON_Delete(rows);
        rows = NULL;
    }
    sqlite3_finalize(s);
    return rows;
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

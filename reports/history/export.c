/* yieldpoint history export: a row for each measurement, for other programs. */
#include "reports/history/columns.h"
#include "reports/history/request.h"

#include "base/system/atomic_file.h"
#include "base/text/output.h"
#include "base/text/text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WRITTEN_AT_ONCE ((size_t)1 << 20)

struct request {
    struct ypi_history_request which; /* first: the options of the filter are read into it */
    const char *word;                 /* "export" */
    const char *csv, *json;           /* paths; "-": the standard output */
    int columns;
    bool attempts;
};

struct output {
    struct ypi_atomic_file file; /* fd -1: the standard output */
    struct ypi_text text;        /* not yet written */
    uint64_t written;
    long long rows;
    bool json;
    enum yp_status status;
};

/* -- where it goes --------------------------------------------------------------------------- */

static void write_out(struct output *out)
{
    size_t length = out->text.length;
    if (out->status == YP_OK && length > 0 && out->file.fd >= 0)
        out->status =
            ypi_write_at(out->file.fd, out->file.path, out->written, out->text.data, length);
    else if (length > 0 && out->file.fd < 0)
        (void)fwrite(out->text.data, 1, length, stdout); /* ypi_flush() tells a failure */
    out->written += length;
    free(ypi_text_take(&out->text));
}

static int finish(struct output *out)
{
    write_out(out);
    if (out->file.fd >= 0 && out->status == YP_OK)
        out->status = ypi_atomic_sync(&out->file);
    if (out->file.fd >= 0 && out->status == YP_OK)
        out->status = ypi_atomic_publish(&out->file, true);
    ypi_atomic_abandon(&out->file);
    int code = out->status == YP_OK ? ypi_flush() : ypi_file_error();
    if (code != YPI_COMMAND_OK || out->rows > 0)
        return code;
    fputs("yieldpoint: no result matches\n", stderr);
    return YPI_COMMAND_NOTHING;
}

/* -- rows ------------------------------------------------------------------------------------ */

/* With as many digits as it takes to read the same number again. */
static void add_number(struct ypi_text *text, double value)
{
    char digits[40];
    snprintf(digits, sizeof digits, "%.15g", value);
    if (strtod(digits, NULL) == value)
        ypi_text_add(text, "%s", digits);
    else
        ypi_text_add(text, "%.17g", value);
}

static void add_csv(struct ypi_text *text, const cJSON *row)
{
    const char *between = "";
    const cJSON *cell;
    cJSON_ArrayForEach(cell, row)
    {
        ypi_text_add(text, "%s", between);
        if (cJSON_IsNumber(cell))
            add_number(text, cell->valuedouble);
        else if (cJSON_IsBool(cell))
            ypi_text_add(text, "%d", cJSON_IsTrue(cell));
        else if (cJSON_IsString(cell))
            ypi_text_csv(text, cell->valuestring);
        between = ",";
    }
    ypi_text_add(text, "\n");
}

static void add_json(struct output *out, const cJSON *row)
{
    char *printed = ypi_json_text(row, false);
    if (printed)
        ypi_text_add(&out->text, "%s%s", out->rows > 0 ? ",\n" : "", printed);
    else
        out->status = yp_set_error(YP_OUT_OF_MEMORY, "no memory for a row of the output");
    free(printed);
}

static bool add_row(void *arg, const cJSON *row)
{
    struct output *out = arg;
    if (out->json)
        add_json(out, row);
    else
        add_csv(&out->text, row);
    out->rows++;
    if (out->text.length >= WRITTEN_AT_ONCE)
        write_out(out);
    return out->status == YP_OK;
}

/* -- the whole ------------------------------------------------------------------------------- */

/* The caller frees. */
static char *columns_in_sql(const struct ypi_column_set *set)
{
    struct ypi_text sql = {0};
    for (size_t i = 0; i < set->count; i++)
        ypi_text_add(&sql, "%s%s AS \"%s\"", i > 0 ? ", " : "", set->list[i].sql,
                     set->list[i].name);
    return ypi_text_take(&sql);
}

static void add_header(struct ypi_text *text, const struct ypi_column_set *set)
{
    for (size_t i = 0; i < set->count; i++)
        ypi_text_add(text, "%s%s", i > 0 ? "," : "", set->list[i].name);
    ypi_text_add(text, "\n");
}

static void add_rows(struct output *out, sqlite3 *db, const struct request *r)
{
    const struct ypi_column_set *set = &ypi_column_sets[r->columns];
    char *columns = columns_in_sql(set);
    if (out->json)
        ypi_text_add(&out->text, "{\"rows\": [\n");
    else
        add_header(&out->text, set);
    enum yp_status status =
        ypi_results_each(db, &r->which.filter, columns, r->attempts, add_row, out);
    out->status = out->status == YP_OK ? status : out->status;
    if (out->json)
        ypi_text_add(&out->text, "\n]}\n");
    free(columns);
}

static int export(const struct request *r)
{
    const char *to = r->json ? r->json : r->csv;
    struct output out = {.file = {.fd = -1}, .json = r->json != NULL};
    sqlite3 *db = ypi_store_open(r->which.file);
    if (!db)
        return ypi_file_error();
    if (strcmp(to, "-") != 0)
        out.status = ypi_atomic_create(&out.file, to);
    if (out.status == YP_OK)
        add_rows(&out, db, r);
    sqlite3_close(db);
    return finish(&out);
}

int ypi_history_export_command(int argc, char **argv)
{
    struct request r = {0};
    static const struct ypi_option options[] = {
        YPI_HISTORY_FILTER,
        {"csv", .kind = YPI_OPTION_WORD, .offset = offsetof(struct request, csv)},
        {"json", .kind = YPI_OPTION_WORD, .offset = offsetof(struct request, json)},
        {"columns", .kind = YPI_OPTION_CHOICE, .offset = offsetof(struct request, columns),
         .choices = YPI_COLUMN_SETS},
        {"attempts", .kind = YPI_OPTION_FLAG, .offset = offsetof(struct request, attempts)},
        YPI_OPTIONS_END,
    };
    if (!ypi_history_read(
            &(struct ypi_arguments){.options = options, .values = &r, .word = &r.word}, argc, argv))
        return YPI_COMMAND_USAGE;
    if ((r.csv == NULL) == (r.json == NULL) || !*(r.csv ? r.csv : r.json)) {
        ypi_usage_error(argc, argv, argc,
                        "one of --csv FILE and --json FILE says where to; - is the standard "
                        "output");
        return YPI_COMMAND_USAGE;
    }
    return export(&r);
}

/* yieldpoint history export: rows of measurements, OpenMetrics, TensorBoard. */
#include "reports/exports/exports.h"
#include "reports/exports/sink.h"
#include "reports/history/columns.h"
#include "reports/history/request.h"

#include "base/text/output.h"
#include "base/text/text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct request {
    struct ypi_history_request which; /* first: the options of the filter are read into it */
    const char *word;                 /* "export" */
    const char *csv, *json;           /* paths; "-": the standard output */
    const char *openmetrics;          /* the same */
    const char *tensorboard;          /* a directory */
    const char *log;                  /* of a training run */
    int columns;                      /* -1: not given */
    bool attempts;
};

struct output {
    struct ypi_sink sink;
    long long rows;
    bool json;
};

/* -- how it ends ----------------------------------------------------------------------------- */

static int code_of(enum yp_status status, long long results)
{
    if (status != YP_OK)
        return ypi_file_error();
    if (results > 0)
        return YPI_COMMAND_OK;
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
        ypi_text_add(&out->sink.text, "%s%s", out->rows > 0 ? ",\n" : "", printed);
    else
        out->sink.status = yp_set_error(YP_OUT_OF_MEMORY, "no memory for a row of the output");
    free(printed);
}

static bool add_row(void *arg, const cJSON *row)
{
    struct output *out = arg;
    if (out->json)
        add_json(out, row);
    else
        add_csv(&out->sink.text, row);
    out->rows++;
    return ypi_sink_step(&out->sink) == YP_OK;
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
    const struct ypi_column_set *set = &ypi_column_sets[r->columns >= 0 ? r->columns : 0];
    char *columns = columns_in_sql(set);
    if (out->json)
        ypi_text_add(&out->sink.text, "{\"rows\": [\n");
    else
        add_header(&out->sink.text, set);
    enum yp_status status =
        ypi_results_each(db, &r->which.filter, columns, r->attempts, add_row, out);
    out->sink.status = out->sink.status == YP_OK ? status : out->sink.status;
    if (out->json)
        ypi_text_add(&out->sink.text, "\n]}\n");
    free(columns);
}

static int export_rows(sqlite3 *db, const struct request *r)
{
    struct output out = {.json = r->json != NULL};
    enum yp_status status = ypi_sink_open(&out.sink, r->json ? r->json : r->csv);
    if (status == YP_OK) {
        add_rows(&out, db, r);
        status = ypi_sink_close(&out.sink);
    }
    return code_of(status, out.rows);
}

static int export(const struct request *r)
{
    if (r->log != NULL)
        return code_of(ypi_export_log(r->log, r->tensorboard), 1);
    sqlite3 *db = ypi_store_open(r->which.file);
    if (!db)
        return ypi_file_error();
    struct ypi_export e = {.db = db, .filter = &r->which.filter};
    enum yp_status status = YP_OK;
    int code = YPI_COMMAND_OK;
    if (r->openmetrics != NULL)
        status = ypi_export_openmetrics(&e, r->openmetrics);
    else if (r->tensorboard != NULL)
        status = ypi_export_tensorboard(&e, r->tensorboard);
    else
        code = export_rows(db, r);
    if (r->openmetrics != NULL || r->tensorboard != NULL)
        code = code_of(status, e.results);
    sqlite3_close(db);
    return code;
}

/* NULL: the words go together. */
static const char *what_is_wrong(const struct request *r)
{
    const char *const to[] = {r->csv, r->json, r->openmetrics, r->tensorboard};
    int given = 0;
    bool empty = false;
    for (size_t i = 0; i < sizeof to / sizeof *to; i++) {
        given += to[i] != NULL;
        empty = empty || (to[i] != NULL && *to[i] == '\0');
    }
    if (given != 1 || empty)
        return "one of --csv FILE, --json FILE, --openmetrics FILE and --tensorboard DIR says "
               "where to; - is the standard output";
    if ((r->columns >= 0 || r->attempts) && r->csv == NULL && r->json == NULL)
        return "--columns and --attempts go with --csv and --json";
    if (r->tensorboard != NULL && strcmp(r->tensorboard, "-") == 0)
        return "--tensorboard writes several files: name a directory";
    if (r->log == NULL)
        return NULL;
    if (r->tensorboard == NULL)
        return "--log FILE goes with --tensorboard DIR";
    return r->which.file != NULL || !ypi_filter_is_empty(&r->which.filter)
               ? "--log FILE is written alone: no history is read, and nothing of it is selected"
               : NULL;
}

int ypi_history_export_command(int argc, char **argv)
{
    struct request r = {.columns = -1};
    static const struct ypi_option options[] = {
        YPI_HISTORY_FILTER,
        {"csv", .kind = YPI_OPTION_WORD, .offset = offsetof(struct request, csv)},
        {"json", .kind = YPI_OPTION_WORD, .offset = offsetof(struct request, json)},
        {"openmetrics", .kind = YPI_OPTION_WORD, .offset = offsetof(struct request, openmetrics)},
        {"tensorboard", .kind = YPI_OPTION_WORD, .offset = offsetof(struct request, tensorboard)},
        {"log", .kind = YPI_OPTION_WORD, .offset = offsetof(struct request, log)},
        {"columns", .kind = YPI_OPTION_CHOICE, .offset = offsetof(struct request, columns),
         .choices = YPI_COLUMN_SETS},
        {"attempts", .kind = YPI_OPTION_FLAG, .offset = offsetof(struct request, attempts)},
        YPI_OPTIONS_END,
    };
    if (!ypi_history_read(
            &(struct ypi_arguments){.options = options, .values = &r, .word = &r.word}, argc, argv))
        return YPI_COMMAND_USAGE;
    const char *wrong = what_is_wrong(&r);
    if (wrong != NULL) {
        ypi_usage_error(argc, argv, argc, "%s", wrong);
        return YPI_COMMAND_USAGE;
    }
    return export(&r);
}

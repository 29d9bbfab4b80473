/* yieldpoint show: all that is stored of one result, or of one run. */
#include "reports/reports.h"

#include "base/options/arguments.h"
#include "base/text/output.h"
#include "harness/history/history.h"
#include "reports/print.h"

#include <stdio.h>
#include <string.h>

struct request {
    const char *file;
    const char *word;
    bool samples;
    bool json;
    bool csv;
};

static int show_result(sqlite3 *db, const char *id, const struct request *request)
{
    cJSON *document = ypi_document_of_result(db, id, request->samples || request->csv);
    int code;
    if (!document)
        return ypi_file_error();
    if (request->csv) {
        bool any = ypi_accelerator_put_csv(cJSON_GetObjectItem(document, "series"));
        code = any ? ypi_flush() : YPI_COMMAND_NOTHING;
        if (!any)
            fputs("yieldpoint: no accelerator told anything beside this result\n", stderr);
    } else if (request->json) {
        code = ypi_put_json(document);
    } else {
        ypi_describe_result(document);
        code = ypi_flush();
    }
    cJSON_Delete(document);
    return code;
}

static int print_run(cJSON *run, cJSON *runs, bool json)
{
    if (!json) {
        ypi_describe_run(run);
        puts("results");
        ypi_runs_print(runs);
        return ypi_flush();
    }
    cJSON *document = cJSON_CreateObject();
    cJSON_AddItemReferenceToObject(document, "run", run);
    cJSON_AddItemReferenceToObject(document, "results",
                                   cJSON_GetObjectItem(runs->child, "results"));
    int code = ypi_put_json(document);
    cJSON_Delete(document);
    return code;
}

static int show_run(sqlite3 *db, const char *id, const struct request *request)
{
    cJSON *run = ypi_document_of_run(db, id);
    cJSON *runs = ypi_runs_load(db, &(struct ypi_filter){.run = id}, -1, false);
    int code = run && runs && runs->child ? print_run(run, runs, request->json) : ypi_file_error();
    cJSON_Delete(run);
    cJSON_Delete(runs);
    return code;
}

static int find_and_show(sqlite3 *db, const struct request *request)
{
    const char *as = NULL;
    cJSON *rows = ypi_named(db, request->word, &as);
    int count = cJSON_GetArraySize(rows);
    int code = YPI_COMMAND_NOTHING;
    if (rows == NULL) {
        code = ypi_file_error();
    } else if (count == 1) {
        const char *id = ypi_text_of(rows->child, "id");
        code = strcmp(ypi_text_of(rows->child, "kind"), "run") == 0 ? show_run(db, id, request)
                                                                    : show_result(db, id, request);
    } else {
        ypi_print_not_named(request->word, rows, as);
    }
    cJSON_Delete(rows);
    return code;
}

int ypi_report_show(int argc, char **argv)
{
    struct request request = {0};
    static const struct ypi_option options[] = {
        {"history", .kind = YPI_OPTION_WORD, .offset = offsetof(struct request, file)},
        YPI_STORE_VERBOSE,
        {"samples", .kind = YPI_OPTION_FLAG, .offset = offsetof(struct request, samples)},
        {"json", .kind = YPI_OPTION_FLAG, .offset = offsetof(struct request, json)},
        {"csv", .kind = YPI_OPTION_FLAG, .offset = offsetof(struct request, csv)},
        YPI_OPTIONS_END,
    };
    if (!ypi_arguments_read(
            &(struct ypi_arguments){.options = options, .values = &request, .word = &request.word},
            argc, argv))
        return YPI_COMMAND_USAGE;
    if (request.word && !*request.word) {
        ypi_usage_error(argc, argv, ypi_place_of(argc, argv, request.word),
                        "the id is empty; leave it out for the newest result");
        return YPI_COMMAND_USAGE;
    }
    request.word = request.word ? request.word : "last";
    sqlite3 *db = ypi_store_open(request.file);
    int code = db ? find_and_show(db, &request) : ypi_file_error();
    sqlite3_close(db);
    return code;
}

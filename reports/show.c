/* yieldpoint show: all that is stored of one result, or of one run. */
#include "reports/reports.h"

#include "base/options/arguments.h"
#include "base/text/output.h"
#include "harness/record/history.h"
#include "reports/accelerator.h"
#include "reports/describe.h"
#include "reports/runs.h"

#include <stdio.h>
#include <string.h>

#define SHORTEST_PREFIX 4
#define LISTED_MAX 20

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
    cJSON *runs = ypi_runs_load(db, &(struct ypi_runs_filter){.run = id, .limit = "-1"});
    int code = run && runs && runs->child ? print_run(run, runs, request->json) : ypi_file_error();
    cJSON_Delete(run);
    cJSON_Delete(runs);
    return code;
}

/* Shows the only row there is, lists several. -1: there is none, or the word cannot mean this. */
static int try_rows(sqlite3 *db, const struct request *request, const char *sql, const char *what)
{
    cJSON *rows = ypi_store_rows(db, sql, 1, &request->word);
    int count = cJSON_GetArraySize(rows);
    int code = -1;
    if (!rows) {
        code = ypi_file_error();
    } else if (count == 1) {
        const char *id = ypi_text_of(rows->child, "id");
        code = strcmp(ypi_text_of(rows->child, "kind"), "run") == 0 ? show_run(db, id, request)
                                                                    : show_result(db, id, request);
    } else if (count > 1) {
        const cJSON *row;
        int listed = 0;
        fprintf(stderr, "yieldpoint: '%s' is the %s; which one is meant?\n", request->word, what);
        cJSON_ArrayForEach(row, rows)
        {
            if (listed++ < LISTED_MAX)
                fprintf(stderr, "  %s\n", ypi_text_of(row, "label"));
        }
        if (count > LISTED_MAX)
            fprintf(stderr, "  and %d more\n", count - LISTED_MAX);
        code = YPI_COMMAND_NOTHING;
    }
    cJSON_Delete(rows);
    return code;
}

static bool is_prefix_of_uuid(const char *word)
{
    size_t length = strlen(word);
    return length >= SHORTEST_PREFIX && length <= 36 &&
           word[strspn(word, "0123456789abcdefABCDEF-")] == '\0';
}

#define NEWEST_OF_CASES_WHERE \
    "SELECT (SELECT id FROM result WHERE case_id = test_case.id AND attempt = 0" \
    "  ORDER BY started DESC, rowid DESC LIMIT 1) AS id," \
    " 'result' AS kind, test_case.id AS label FROM test_case" \
    " WHERE EXISTS (SELECT 1 FROM result WHERE case_id = test_case.id AND attempt = 0) AND "

/* Attempts are found by their own UUIDs only. The word is tried as an id first, then as the begin
 * of a UUID, then as the end of an id, which a file's name and all after it are, then as any part
 * of one. */
static int find_and_show(sqlite3 *db, const struct request *request)
{
    static const char last[] = "SELECT id, 'result' AS kind FROM result WHERE ?1 IS NOT NULL"
                               " AND attempt = 0"
                               " ORDER BY started DESC, rowid DESC LIMIT 1";
    static const char by_id[] = "SELECT id, 'result' AS kind FROM result WHERE case_id = ?1"
                                " AND attempt = 0"
                                " ORDER BY started DESC, rowid DESC LIMIT 1";
    static const char by_prefix[] =
        "SELECT id, 'result' AS kind, 'result ' || id AS label FROM result"
        " WHERE substr(id, 1, length(?1)) = lower(?1) UNION ALL"
        " SELECT id, 'run', 'run ' || id FROM run WHERE substr(id, 1, length(?1)) = lower(?1)";
    static const char by_end[] =
        NEWEST_OF_CASES_WHERE "substr(test_case.id, -length(?1)) = ?1 ORDER BY 3";
    static const char by_part[] = NEWEST_OF_CASES_WHERE "instr(test_case.id, ?1) > 0 ORDER BY 3";
    int code = -1;
    if (strcmp(request->word, "last") == 0)
        code = try_rows(db, request, last, "");
    if (code < 0)
        code = try_rows(db, request, by_id, "");
    if (code < 0 && is_prefix_of_uuid(request->word))
        code = try_rows(db, request, by_prefix, "begin of several UUIDs");
    if (code < 0)
        code = try_rows(db, request, by_end, "end of several ids");
    if (code < 0)
        code = try_rows(db, request, by_part, "part of several ids");
    if (code >= 0)
        return code;
    fprintf(stderr,
            "yieldpoint: nothing in the history matches '%s'; `yieldpoint history` lists it\n",
            request->word);
    return YPI_COMMAND_NOTHING;
}

int ypi_report_show(int argc, char **argv)
{
    struct request request = {0};
    static const struct ypi_option options[] = {
        {"history", .kind = YPI_OPTION_WORD, .offset = offsetof(struct request, file)},
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

/* yieldpoint history: what ran, newest first. */
#include "reports/reports.h"

#include "base/options/arguments.h"
#include "base/text/output.h"
#include "harness/record/history.h"
#include "reports/runs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool is_outcome(const char *word)
{
    for (int i = 0; ypi_store_outcome(i); i++)
        if (strcmp(word, ypi_store_outcome(i)) == 0)
            return true;
    return false;
}

static bool is_count(const char *word)
{
    return *word && strlen(word) <= 9 && word[strspn(word, "0123456789")] == '\0';
}

struct request {
    const char *file, *limit, *id, *outcome;
    bool json, attempts;
};

/* False when a value is not allowed; that was printed. */
static bool check(int argc, char **argv, const char *limit, const char *outcome)
{
    if (limit && (!is_count(limit) || atol(limit) == 0)) {
        ypi_usage_error(argc, argv, ypi_place_of(argc, argv, limit),
                        "-n %s: a number of results is wanted, from 1 to 999999999", limit);
        return false;
    }
    if (outcome && !is_outcome(outcome)) {
        char names[128] = "";
        for (int i = 0; ypi_store_outcome(i); i++) {
            size_t used = strlen(names);
            snprintf(names + used, sizeof names - used, " %s", ypi_store_outcome(i));
        }
        ypi_usage_error(argc, argv, ypi_place_of(argc, argv, outcome),
                        "--outcome %s: there is no such outcome, but%s", outcome, names);
        return false;
    }
    return true;
}

static int print(cJSON *runs, bool json)
{
    bool nothing = cJSON_GetArraySize(runs) == 0;
    int code;
    if (json) {
        cJSON *document = cJSON_CreateObject();
        cJSON_AddItemReferenceToObject(document, "runs", runs);
        code = ypi_put_json(document);
        cJSON_Delete(document);
    } else {
        ypi_runs_print(runs);
        code = ypi_flush();
    }
    if (!nothing || code != YPI_COMMAND_OK)
        return code;
    fputs("yieldpoint: no result matches\n", stderr);
    return YPI_COMMAND_NOTHING;
}

int ypi_report_history(int argc, char **argv)
{
    struct request r = {0};
    static const struct ypi_option options[] = {
        {"history", .kind = YPI_OPTION_WORD, .offset = offsetof(struct request, file)},
        {.letter = 'n', .kind = YPI_OPTION_WORD, .offset = offsetof(struct request, limit)},
        {"id", .kind = YPI_OPTION_WORD, .offset = offsetof(struct request, id)},
        {"outcome", .kind = YPI_OPTION_WORD, .offset = offsetof(struct request, outcome)},
        {"json", .kind = YPI_OPTION_FLAG, .offset = offsetof(struct request, json)},
        {"attempts", .kind = YPI_OPTION_FLAG, .offset = offsetof(struct request, attempts)},
        YPI_OPTIONS_END,
    };
    if (!ypi_arguments_read(&(struct ypi_arguments){.options = options, .values = &r}, argc,
                            argv) ||
        !check(argc, argv, r.limit, r.outcome))
        return YPI_COMMAND_USAGE;
    sqlite3 *db = ypi_store_open(r.file);
    cJSON *runs = NULL;
    if (db)
        runs = ypi_runs_load(db, &(struct ypi_runs_filter){.id = r.id,
                                                           .outcome = r.outcome,
                                                           .limit = r.limit ? r.limit : "20",
                                                           .attempts = r.attempts});
    int code = runs ? print(runs, r.json) : ypi_file_error();
    cJSON_Delete(runs);
    sqlite3_close(db);
    return code;
}

/* yieldpoint history: what ran, newest first; the other forms are in files of their own. */
#include "reports/history/request.h"
#include "reports/reports.h"

#include "base/text/output.h"
#include "reports/print.h"

#include <stdio.h>
#include <string.h>

struct request {
    struct ypi_history_request which; /* first: the options of the filter are read into it */
    int limit;
    bool json, attempts;
};

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

static int list(int argc, char **argv)
{
    struct request r = {.limit = 20};
    static const struct ypi_option options[] = {
        YPI_HISTORY_FILTER,
        {.letter = 'n',
         .kind = YPI_OPTION_INT,
         .offset = offsetof(struct request, limit),
         .min = 1,
         .max = 999999999},
        {"json", .kind = YPI_OPTION_FLAG, .offset = offsetof(struct request, json)},
        {"attempts", .kind = YPI_OPTION_FLAG, .offset = offsetof(struct request, attempts)},
        YPI_OPTIONS_END,
    };
    if (!ypi_history_read(&(struct ypi_arguments){.options = options, .values = &r}, argc, argv))
        return YPI_COMMAND_USAGE;
    sqlite3 *db = ypi_store_open(r.which.file);
    cJSON *runs = db ? ypi_runs_load(db, &r.which.filter, r.limit, r.attempts) : NULL;
    int code = runs ? print(runs, r.json) : ypi_file_error();
    cJSON_Delete(runs);
    sqlite3_close(db);
    return code;
}

int ypi_report_history(int argc, char **argv)
{
    static const struct {
        const char *name;
        int (*run)(int argc, char **argv);
    } forms[] = {{"import", ypi_history_import_command},
                 {"prune", ypi_history_prune_command},
                 {"export", ypi_history_export_command}};
    for (size_t i = 0; argc > 1 && i < sizeof forms / sizeof *forms; i++)
        if (strcmp(argv[1], forms[i].name) == 0)
            return forms[i].run(argc, argv);
    return list(argc, argv);
}

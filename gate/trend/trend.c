/* yieldpoint trend: where the stored results of cases change. */
#include "gate/trend/trend.h"
#include "gate/gate.h"

#include "base/options/arguments.h"
#include "base/text/output.h"
#include "base/text/text.h"
#include "gate/options.h"

#include <stdio.h>
#include <stdlib.h>

static char *read_change(void *values, const struct ypi_option *option, const char *text)
{
    struct ypi_trend_request *r = values;
    (void)option;
    bool right = ypi_parse_part(text, &r->change) && r->change >= 0 && r->change <= 10;
    return right ? NULL : ypi_strdup("a part from 0% to 1000%, such as 2%");
}

/* -- the machine --------------------------------------------------------------------------- */

static int nothing(const char *what)
{
    fprintf(stderr, "yieldpoint: %s\n", what);
    return YPI_COMMAND_NOTHING;
}

/* Where the fingerprint is not known it is "". The caller frees `out`; NULL unless it is right. */
static int find_newest(sqlite3 *db, char **out)
{
    static const char sql[] =
        "SELECT coalesce(machine, '') AS machine FROM run WHERE " YPI_NORMAL_RUN
        " AND EXISTS (SELECT 1 FROM result WHERE run_id = run.id) ORDER BY started DESC LIMIT 1";
    cJSON *rows = ypi_store_rows(db, sql, 0, NULL);
    if (rows == NULL)
        return ypi_file_error();
    if (rows->child != NULL)
        *out = ypi_strdup(ypi_text_of(rows->child, "machine"));
    cJSON_Delete(rows);
    return *out != NULL ? YPI_COMMAND_OK : nothing("the history has no result");
}

static int find_machine(sqlite3 *db, const char *prefix, int argc, char **argv, char **out)
{
    static const char sql[] = "SELECT DISTINCT machine FROM run"
                              " WHERE substr(machine, 1, length(?1)) = ?1 ORDER BY machine";
    cJSON *rows = ypi_store_rows(db, sql, 1, &prefix);
    int code = YPI_COMMAND_OK;
    if (rows == NULL)
        return ypi_file_error();
    if (cJSON_GetArraySize(rows) > 1) {
        ypi_usage_error(argc, argv, ypi_place_of(argc, argv, prefix),
                        "--machine: %d machines begin so, the first are %s and %s",
                        cJSON_GetArraySize(rows), ypi_text_of(rows->child, "machine"),
                        ypi_text_of(rows->child->next, "machine"));
        code = YPI_COMMAND_USAGE;
    } else if (rows->child != NULL) {
        *out = ypi_strdup(ypi_text_of(rows->child, "machine"));
    } else {
        code = nothing("no run of the history is of such a machine");
    }
    cJSON_Delete(rows);
    return code;
}

/* -- the whole ----------------------------------------------------------------------------- */

static int print(const struct ypi_trend *t, const struct ypi_trend_request *r)
{
    if (t->series_count == 0)
        return nothing("the selected cases have no result that counts on this machine");
    if (!r->json) {
        ypi_trend_print(t, r);
        return ypi_flush();
    }
    cJSON *document = ypi_trend_document(t, r);
    int code = ypi_put_json(document);
    cJSON_Delete(document);
    return code;
}

/* Takes `cases` over. */
static int report(sqlite3 *db, const struct ypi_trend_request *r, cJSON *cases, const char *machine)
{
    struct ypi_trend trend;
    bool read = ypi_trend_load(db, cases, machine, &trend);
    if (read)
        ypi_trend_find(&trend, r);
    int code = read ? print(&trend, r) : ypi_file_error();
    ypi_trend_free(&trend);
    return code;
}

static int run(sqlite3 *db, const struct ypi_trend_request *r, int argc, char **argv)
{
    bool right = true;
    char *machine = NULL;
    cJSON *cases = ypi_cases_load(db, &r->cases, &right);
    if (cases == NULL)
        return ypi_file_error();
    int code = right ? YPI_COMMAND_OK : YPI_COMMAND_USAGE;
    if (right && cases->child == NULL)
        code = nothing("no case of the history is selected");
    if (code == YPI_COMMAND_OK)
        code = r->machine != NULL ? find_machine(db, r->machine, argc, argv, &machine)
                                  : find_newest(db, &machine);
    if (code == YPI_COMMAND_OK)
        code = report(db, r, cases, machine);
    else
        cJSON_Delete(cases);
    free(machine);
    return code;
}

#define OWN(read_) .kind = YPI_OPTION_OWN, .value = "", .read = (read_)
#define AT(kind_, member) \
    .kind = YPI_OPTION_##kind_, .offset = offsetof(struct ypi_trend_request, member)

int ypi_trend_command(int argc, char **argv)
{
    static const struct ypi_option options[] = {
        {"history", AT(WORD, history)},
        {.letter = 'm', AT(WORD, cases.mark)},
        {.letter = 'k', AT(WORD, cases.keyword)},
        {"machine", AT(WORD, machine)},
        {"error", YPI_OPTION_OF(ypi_read_error, struct ypi_trend_request, error)},
        {"min-change", OWN(read_change)},
        {"json", AT(FLAG, json)},
        {"verbose", 'v', AT(FLAG, verbose)},
        YPI_OPTIONS_END,
    };
    struct ypi_trend_request r = {.error = 0.01, .change = 0.02};
    r.cases.ids = ypi_calloc((size_t)argc + 1, sizeof *r.cases.ids);
    bool right = ypi_arguments_read(&(struct ypi_arguments){.options = options,
                                                            .values = &r,
                                                            .words = r.cases.ids,
                                                            .word_count = &r.cases.id_count},
                                    argc, argv);
    if (r.verbose)
        ypi_store_be_verbose();
    sqlite3 *db = right ? ypi_store_open(r.history) : NULL;
    int code = !right ? YPI_COMMAND_USAGE : db != NULL ? run(db, &r, argc, argv) : ypi_file_error();
    sqlite3_close(db);
    free((void *)r.cases.ids);
    return code;
}

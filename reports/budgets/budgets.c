/* yieldpoint budgets: how far limits are from what was measured, and what they should be. */
#include "reports/budgets/budgets.h"
#include "reports/budgets/probe.h"
#include "reports/reports.h"

#include "base/options/arguments.h"
#include "base/text/output.h"
#include "base/text/text.h"
#include "harness/history/history.h"

#include <yieldpoint/isa.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct request {
    const char *file, *to;
    struct ypi_budgets_wanted what;
    const char *program; /* of --probe */
    struct ypi_selection cases;
    bool suggest, json;
    double error, slack, looser;
};

/* "1%", "1 %" or 0.01. */
static char *read_error(void *values, const struct ypi_option *option, const char *text)
{
    struct request *r = values;
    double error = 0;
    (void)option;
    if (!ypi_parse_part(text, &error) || !(error >= 1e-6 && error <= 0.25))
        return ypi_strdup("a rate from 1e-6 to 0.25, such as 1% or 0.01");
    r->error = error;
    return NULL;
}

static char *read_slack(void *values, const struct ypi_option *option, const char *text)
{
    double *to = (void *)((char *)values + option->offset);
    if (ypi_parse_double(text, to) && isfinite(*to) && *to >= 1)
        return NULL;
    return ypi_strdup("a number from 1");
}

static char *read_isa(void *values, const struct ypi_option *option, const char *text)
{
    struct request *r = values;
    enum yp_isa isa;
    (void)option;
    if (!yp_isa_from_name(text, &isa))
        return ypi_strdup("baseline, avx2, avx512 or amx");
    r->what.isa = yp_isa_name(isa);
    return NULL;
}

/* Cases that are named may get budgets that the file does not have. */
static int write_to(const struct ypi_budgets *b, const struct request *r)
{
    bool named = r->cases.mark || r->cases.keyword || r->cases.id_count > 0;
    const struct ypi_budgets_writing how = {r->to, r->what.isa, named};
    return r->to ? ypi_budgets_write(b, &how, r->json ? stderr : stdout) : YPI_COMMAND_OK;
}

static int print(const struct ypi_budgets *b, const struct request *r)
{
    bool suggest = r->suggest || r->to;
    int loose = 0;
    int code = YPI_COMMAND_OK;
    for (int i = 0; i < b->count; i++)
        loose += r->looser > 0 && ypi_budget_is_loose(&b->list[i], r->looser);
    if (r->json) {
        cJSON *document = ypi_budgets_document(b, r->looser, suggest);
        code = write_to(b, r);
        code = code != YPI_COMMAND_OK ? code : ypi_put_json(document);
        cJSON_Delete(document);
    } else {
        ypi_budgets_print(b, r->looser, suggest);
        code = write_to(b, r);
        code = code != YPI_COMMAND_OK ? code : ypi_flush();
    }
    return code != YPI_COMMAND_OK ? code : loose > 0 ? YPI_COMMAND_NOTHING : YPI_COMMAND_OK;
}

static int nothing(const char *what)
{
    fprintf(stderr, "yieldpoint: %s\n", what);
    return YPI_COMMAND_UNSELECTED;
}

static int report(sqlite3 *db, const struct request *r)
{
    bool right = true;
    struct ypi_budgets budgets = {0};
    cJSON *cases = ypi_cases_load(db, &r->cases, &right);
    int code = YPI_COMMAND_USAGE;
    if (!cases) {
        code = ypi_file_error();
    } else if (right && !cases->child) {
        code = nothing("no case of the history is selected");
    } else if (right) {
        bool read = ypi_budgets_load(db, cases, &r->what, &budgets);
        cases = NULL;
        ypi_budgets_suggest(&budgets, r->error, r->slack);
        code = !read ? ypi_file_error()
               : budgets.count == 0
                   ? nothing(r->what.fresh ? "the selected cases have no budget, share or peak"
                                           : "the selected cases have no budget")
                   : print(&budgets, r);
        ypi_budgets_free(&budgets);
    }
    cJSON_Delete(cases);
    return code;
}

/* How many words are ours: those behind the program of --probe are the program's. */
static int own_words(int argc, char **argv)
{
    for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++) {
        if (strcmp(argv[i], "--probe") == 0)
            return i + 2 < argc ? i + 2 : argc;
        if (strncmp(argv[i], "--probe=", 8) == 0)
            return i + 1;
    }
    return argc;
}

/* The history of the probe is its own, and what is selected stands behind the program. */
static int probe(const struct request *r, int argc, char **argv, int own)
{
    if (r->file || r->to || r->what.isa || r->what.fresh || r->slack > 1 || r->suggest ||
        r->looser > 0 || r->cases.mark || r->cases.keyword || r->cases.id_count > 0) {
        ypi_usage_error(
            argc, argv, ypi_place_of(argc, argv, r->program),
            "--probe goes with --json alone: what the program is told stands behind it");
        return YPI_COMMAND_USAGE;
    }
    for (int i = own; i < argc && strcmp(argv[i], "--") != 0; i++)
        if (strcmp(argv[i], "--history") == 0 || strncmp(argv[i], "--history=", 10) == 0) {
            ypi_usage_error(argc, argv, i, "--probe keeps a history of its own, for this run");
            return YPI_COMMAND_USAGE;
        }
    return ypi_probe(&(struct ypi_probe){
        .program = r->program, .words = argv + own, .word_count = argc - own, .json = r->json});
}

int ypi_report_budgets(int argc, char **argv)
{
    struct request r = {.error = 0.01, .slack = 1};
#define AT(kind_, field) .kind = YPI_OPTION_##kind_, .offset = offsetof(struct request, field)
    static const struct ypi_option options[] = {
        {"history", AT(WORD, file)},
        YPI_STORE_VERBOSE,
        {.letter = 'm', AT(WORD, cases.mark)},
        {.letter = 'k', AT(WORD, cases.keyword)},
        {"suggest", AT(FLAG, suggest)},
        {"new", AT(FLAG, what.fresh)},
        {"write", AT(WORD, to)},
        {"error", .value = "RATE", .kind = YPI_OPTION_OWN, .read = read_error},
        {"slack", .value = "SLACK", AT(OWN, slack), .read = read_slack},
        {"check", .value = "SLACK", AT(OWN, looser), .read = read_slack},
        {"isa", .value = "NAME", .kind = YPI_OPTION_OWN, .read = read_isa},
        {"json", AT(FLAG, json)},
        {"probe", AT(WORD, program)},
        YPI_OPTIONS_END,
    };
#undef AT
    int own = own_words(argc, argv);
    r.cases.ids = ypi_calloc((size_t)argc + 1, sizeof *r.cases.ids);
    bool right = ypi_arguments_read(&(struct ypi_arguments){.options = options,
                                                            .values = &r,
                                                            .words = r.cases.ids,
                                                            .word_count = &r.cases.id_count},
                                    own, argv);
    sqlite3 *db = right && !r.program ? ypi_store_open(r.file) : NULL;
    int code = !right      ? YPI_COMMAND_USAGE
               : r.program ? probe(&r, argc, argv, own)
               : db        ? report(db, &r)
                           : ypi_file_error();
    sqlite3_close(db);
    free(r.cases.ids);
    return code;
}

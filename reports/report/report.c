/* yieldpoint report: what a history says of a run, as files for people. */
#include "base/options/arguments.h"
#include "base/system/file.h"
#include "base/text/output.h"
#include "base/text/text.h"
#include "reports/content/content.h"
#include "reports/report/consumers.h"
#include "reports/reports.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct request {
    const char *file;   /* the history; NULL: the usual one */
    const char **words; /* runs and ids, as they were given */
    int word_count;
    struct ypi_content_request what; /* with room for all words in both lists */
    struct ypi_report_outputs outputs;
};

/* -- the command line ------------------------------------------------------------------------ */

/* Cases of the history that a word means, as a suite has it: by file, test or id. */
static bool names_cases(sqlite3 *db, const char *word)
{
    bool right = true;
    const struct ypi_selection one = {.ids = &word, .id_count = 1, .absent_too = true};
    cJSON *rows = ypi_cases_load(db, &one, &right);
    const bool some = rows != NULL && rows->child != NULL;
    cJSON_Delete(rows);
    return some;
}

/* Which of the words are ids; all others name runs. One with "::" can be nothing but an id. */
static void sort_words(struct request *r, sqlite3 *db)
{
    for (int i = 0; i < r->word_count; i++) {
        const char *word = r->words[i];
        if (strstr(word, "::") != NULL || names_cases(db, word))
            r->what.selection.ids[r->what.selection.id_count++] = word;
        else
            r->what.runs[r->what.run_count++] = word;
    }
}

/* Each time it is given, one more. */
static char *read_table(void *values, const struct ypi_option *option, const char *text)
{
    struct request *r = values;
    (void)option;
    if (*text == '\0')
        return ypi_strdup("a file's name");
    r->outputs.tables[r->outputs.table_count++] = text;
    return NULL;
}

#define WORD(member) .kind = YPI_OPTION_WORD, .offset = offsetof(struct request, member)

static const struct ypi_option options[] = {
    {.letter = 'm', WORD(what.selection.mark)},
    {.letter = 'k', WORD(what.selection.keyword)},
    {"against", WORD(what.against)},
    {"output", WORD(outputs.page)},
    {"plots", WORD(outputs.plots)},
    {"trace", WORD(outputs.trace)},
    {"markdown", WORD(outputs.markdown)},
    {"text", .kind = YPI_OPTION_FLAG, .offset = offsetof(struct request, outputs.text)},
    {"csv", .kind = YPI_OPTION_OWN, .value = "", .read = read_table},
    {"config", WORD(outputs.configuration)},
    {"limit", .kind = YPI_OPTION_BYTES, .offset = offsetof(struct request, outputs.memory_limit)},
    {"history", WORD(file)},
    YPI_STORE_VERBOSE,
    YPI_OPTIONS_END,
};

/* An output of the command line. */
struct place {
    const char *option, *path; /* NULL: not asked for */
    bool stream;               /* may be "-" */
};

enum { PLACES = 5 };

static void list_places(struct place out[PLACES], const struct ypi_report_outputs *o)
{
    const struct place all[PLACES] = {{"--output", o->page, false},
                                      {"--plots", o->plots, false},
                                      {"--config", o->configuration, false},
                                      {"--trace", o->trace, true},
                                      {"--markdown", o->markdown, true}};
    memcpy(out, all, sizeof all);
}

/* What is wrong with outputs together, at which of them; the caller frees. NULL: nothing is. */
static char *clash(const struct ypi_report_outputs *o, const char **at)
{
    struct place all[PLACES];
    const char *stream = o->text ? "--text" : NULL;
    list_places(all, o);
    for (int i = 0; i < PLACES; i++) {
        const char *path = *at = all[i].path;
        if (path == NULL)
            continue;
        const bool is_stream = strcmp(path, "-") == 0;
        if (*path == '\0' || (is_stream && !all[i].stream))
            return ypi_format("%s: the name of a file or a directory is wanted%s", all[i].option,
                              all[i].stream ? ", or -" : "");
        if (is_stream && stream != NULL)
            return ypi_format("%s and %s would both write to the standard output; name a file for "
                              "one of them",
                              stream, all[i].option);
        if (is_stream)
            stream = all[i].option;
        for (int k = 0; k < i; k++)
            if (all[k].path != NULL && strcmp(all[k].path, path) == 0)
                return ypi_format("%s and %s would both write to %s", all[k].option, all[i].option,
                                  path);
    }
    return NULL;
}

static bool any(const struct ypi_report_outputs *o)
{
    return o->page || o->plots || o->trace || o->markdown || o->configuration || o->text;
}

static bool read_request(struct request *r, int argc, char **argv)
{
    const struct ypi_arguments arguments = {
        .options = options, .values = r, .words = r->words, .word_count = &r->word_count};
    const char *at = NULL;
    if (!ypi_arguments_read(&arguments, argc, argv))
        return false;
    const bool plotted = r->outputs.plots != NULL || r->outputs.page != NULL;
    char *wrong = clash(&r->outputs, &at);
    if (wrong == NULL && r->outputs.table_count > 0 && !plotted) {
        at = r->outputs.tables[0];
        wrong =
            ypi_strdup("--csv: its rows are plotted, so --plots DIR or --output FILE is wanted");
    }
    if (wrong != NULL)
        ypi_usage_error(argc, argv, ypi_place_of(argc, argv, at), "%s", wrong);
    free(wrong);
    r->outputs.text = r->outputs.text || !any(&r->outputs);
    return wrong == NULL;
}

/* Whether tables alone are to be plotted: nothing is asked for that a history has. */
static bool is_without_history(const struct request *r)
{
    const struct ypi_report_outputs *o = &r->outputs;
    return o->table_count > 0 && r->word_count == 0 && r->file == NULL && r->what.against == NULL &&
           r->what.selection.mark == NULL && r->what.selection.keyword == NULL && !o->text &&
           o->markdown == NULL && o->trace == NULL && o->configuration == NULL;
}

/* -- the pass -------------------------------------------------------------------------------- */

static enum yp_status give_all(struct ypi_consumers *to, struct ypi_content *content)
{
    enum yp_status status = YP_OK;
    for (size_t i = 0; i < content->count && status == YP_OK; i++) {
        cJSON *document = ypi_content_document(content, i);
        status = document != NULL ? ypi_consumers_take(to, &content->list[i], document)
                                  : yp_last_status();
        cJSON_Delete(document);
    }
    return status;
}

/* Says on stderr which output would take the place of a file that is read. */
static bool spares_inputs(const struct request *r, const char *history)
{
    struct place all[PLACES];
    list_places(all, &r->outputs);
    for (int i = 0; i < PLACES; i++) {
        const char *path = all[i].path, *taken = NULL;
        if (path != NULL && ypi_is_same_file(path, history))
            taken = history;
        for (int k = 0; path != NULL && k < r->outputs.table_count; k++)
            if (ypi_is_same_file(path, r->outputs.tables[k]))
                taken = r->outputs.tables[k];
        if (taken != NULL) {
            fprintf(stderr, "yieldpoint: %s would take the place of %s, which is read\n",
                    all[i].option, taken);
            return false;
        }
    }
    return true;
}

static int write_all(const struct request *r, struct ypi_content *content)
{
    if (!spares_inputs(r, content->history))
        return YPI_COMMAND_USAGE;
    struct ypi_consumers *to = ypi_consumers_create(&r->outputs, content);
    int code = YPI_COMMAND_OK;
    if (to == NULL)
        return ypi_file_error();
    if (give_all(to, content) == YP_OK) {
        code = ypi_consumers_finish(to);
    } else {
        code = ypi_file_error();
        ypi_consumers_drop(to);
    }
    const int flushed = ypi_flush();
    return code != YPI_COMMAND_OK ? code : flushed;
}

static int report_tables(const struct request *r)
{
    cJSON *none = cJSON_CreateArray();
    struct ypi_content content = {.history = "", .runs = none};
    int code = write_all(r, &content);
    cJSON_Delete(none);
    return code;
}

static int report(const struct request *r, sqlite3 *db)
{
    bool right = true;
    struct ypi_content *content = ypi_content_load(db, &r->what, &right);
    int code = YPI_COMMAND_OK;
    if (content == NULL) {
        code = right ? ypi_file_error() : YPI_COMMAND_USAGE;
    } else if (content->runs->child == NULL) {
        fputs("yieldpoint: the history has no result yet; run a suite first\n", stderr);
        code = YPI_COMMAND_NOTHING;
    } else if (content->count == 0) {
        fputs("yieldpoint: no case of the reported run is selected\n", stderr);
        code = YPI_COMMAND_UNSELECTED;
    } else {
        code = write_all(r, content);
    }
    ypi_content_free(content);
    return code;
}

static int report_history(struct request *r)
{
    sqlite3 *db = ypi_store_open(r->file);
    if (db == NULL)
        return ypi_file_error();
    sort_words(r, db);
    int code = report(r, db);
    sqlite3_close(db);
    return code;
}

int ypi_report_command(int argc, char **argv)
{
    struct request r = {0};
    const size_t most = (size_t)argc + 1;
    r.words = ypi_calloc(most, sizeof *r.words);
    r.what.runs = ypi_calloc(most, sizeof *r.what.runs);
    r.what.selection.ids = ypi_calloc(most, sizeof *r.what.selection.ids);
    r.outputs.tables = ypi_calloc(most, sizeof *r.outputs.tables);
    int code = YPI_COMMAND_USAGE;
    if (read_request(&r, argc, argv))
        code = is_without_history(&r) ? report_tables(&r) : report_history(&r);
    free((void *)r.words);
    free((void *)r.what.runs);
    free((void *)r.what.selection.ids);
    free((void *)r.outputs.tables);
    return code;
}

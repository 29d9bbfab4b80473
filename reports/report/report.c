/* yieldpoint report: what a history says of a run, as files for people. */
#include "base/options/arguments.h"
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

#define WORD(member) .kind = YPI_OPTION_WORD, .offset = offsetof(struct request, member)

static bool read_request(struct request *r, int argc, char **argv)
{
    static const struct ypi_option options[] = {
        {.letter = 'm', WORD(what.selection.mark)},
        {.letter = 'k', WORD(what.selection.keyword)},
        {"against", WORD(what.against)},
        {"markdown", WORD(outputs.markdown)},
        {"text", .kind = YPI_OPTION_FLAG, .offset = offsetof(struct request, outputs.text)},
        {"history", WORD(file)},
        YPI_STORE_VERBOSE,
        YPI_OPTIONS_END,
    };
    const struct ypi_arguments arguments = {
        .options = options, .values = r, .words = r->words, .word_count = &r->word_count};
    if (!ypi_arguments_read(&arguments, argc, argv))
        return false;
    const char *markdown = r->outputs.markdown;
    if (markdown != NULL && *markdown == '\0') {
        ypi_usage_error(argc, argv, ypi_place_of(argc, argv, markdown),
                        "--markdown: a file's name is wanted, or -");
        return false;
    }
    if (markdown != NULL && strcmp(markdown, "-") == 0 && r->outputs.text) {
        ypi_usage_error(argc, argv, ypi_place_of(argc, argv, markdown),
                        "--text and --markdown - would both write to the standard output; name a "
                        "file for one of them");
        return false;
    }
    r->outputs.text = r->outputs.text || markdown == NULL;
    return true;
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

static int write_all(const struct request *r, struct ypi_content *content)
{
    struct ypi_consumers *to = ypi_consumers_create(&r->outputs, content);
    if (to == NULL)
        return ypi_file_error();
    int code = YPI_COMMAND_OK;
    const bool whole = give_all(to, content) == YP_OK;
    if (!whole)
        code = ypi_file_error();
    if (ypi_consumers_finish(to, whole) != YP_OK && whole)
        code = ypi_file_error();
    const int flushed = ypi_flush();
    return code != YPI_COMMAND_OK ? code : flushed;
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

int ypi_report_command(int argc, char **argv)
{
    struct request r = {0};
    r.words = ypi_calloc((size_t)argc + 1, sizeof *r.words);
    r.what.runs = ypi_calloc((size_t)argc + 1, sizeof *r.what.runs);
    r.what.selection.ids = ypi_calloc((size_t)argc + 1, sizeof *r.what.selection.ids);
    int code = YPI_COMMAND_USAGE;
    if (read_request(&r, argc, argv)) {
        sqlite3 *db = ypi_store_open(r.file);
        if (db != NULL)
            sort_words(&r, db);
        code = db != NULL ? report(&r, db) : ypi_file_error();
        sqlite3_close(db);
    }
    free((void *)r.words);
    free((void *)r.what.runs);
    free((void *)r.what.selection.ids);
    return code;
}

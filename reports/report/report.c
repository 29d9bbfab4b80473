/* yieldpoint report: what a history says of a run, as files for people. */
#include "base/options/arguments.h"
#include "base/text/output.h"
#include "base/text/text.h"
#include "reports/content/content.h"
#include "reports/page/page.h"
#include "reports/plots/plots.h"
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
    uint64_t limit;  /* bytes; 0: not given */
    const char *csv; /* read instead of a history; NULL: not given */
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

/* A file or directory that was given must have a name. */
static bool is_named(const char *option, const char *word, int argc, char **argv)
{
    if (word == NULL || *word != '\0')
        return true;
    ypi_usage_error(argc, argv, ypi_place_of(argc, argv, word), "%s: a name is wanted", option);
    return false;
}

static bool are_named(const struct ypi_report_outputs *o, const struct request *r, int argc,
                      char **argv)
{
    return is_named("--output", o->page, argc, argv) && is_named("--plots", o->plots, argc, argv) &&
           is_named("--trace", o->trace, argc, argv) &&
           is_named("--markdown", o->markdown, argc, argv) &&
           is_named("--config", o->ini, argc, argv) && is_named("--csv", r->csv, argc, argv);
}

/* One output at most may be the standard output. */
static bool share_no_stream(const struct ypi_report_outputs *o, int argc, char **argv)
{
    const char *files[] = {o->trace, o->markdown, o->ini};
    int count = o->text;
    const char *last = NULL;
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        if (files[i] != NULL && strcmp(files[i], "-") == 0) {
            count++;
            last = files[i];
        }
    }
    if (count < 2)
        return true;
    ypi_usage_error(argc, argv, ypi_place_of(argc, argv, last),
                    "two of --text, --markdown -, --trace - and --config - would write to the "
                    "standard output; name files for the others");
    return false;
}

/* A table has no runs, cases or samples: what needs them is refused. */
static bool fits_a_table(const struct request *r, int argc, char **argv)
{
    const struct ypi_report_outputs *o = &r->outputs;
    const char *other = NULL;
    if (r->word_count > 0)
        other = r->words[0];
    else if (r->what.selection.mark != NULL || r->what.selection.keyword != NULL)
        other = r->what.selection.mark != NULL ? "-m" : "-k";
    else if (r->what.against != NULL || r->file != NULL)
        other = r->what.against != NULL ? "--against" : "--history";
    else if (o->trace != NULL || o->markdown != NULL)
        other = o->trace != NULL ? "--trace" : "--markdown";
    else if (o->ini != NULL || o->text || r->limit > 0)
        other = o->ini != NULL ? "--config" : o->text ? "--text" : "--limit";
    if (other == NULL && (o->plots != NULL || o->page != NULL))
        return true;
    const int place = ypi_place_of(argc, argv, r->csv);
    if (other == NULL)
        ypi_usage_error(argc, argv, place, "--csv: say where to, by --plots DIR or --output FILE");
    else
        ypi_usage_error(argc, argv, place,
                        "--csv reads a table instead of a history: it goes with --plots and "
                        "--output, not with %s",
                        other);
    return false;
}

static bool read_request(struct request *r, int argc, char **argv)
{
    static const struct ypi_option options[] = {
        {.letter = 'm', WORD(what.selection.mark)},
        {.letter = 'k', WORD(what.selection.keyword)},
        {"against", WORD(what.against)},
        {"output", WORD(outputs.page)},
        {"plots", WORD(outputs.plots)},
        {"trace", WORD(outputs.trace)},
        {"markdown", WORD(outputs.markdown)},
        {"config", WORD(outputs.ini)},
        {"limit", .kind = YPI_OPTION_BYTES, .offset = offsetof(struct request, limit)},
        {"text", .kind = YPI_OPTION_FLAG, .offset = offsetof(struct request, outputs.text)},
        {"csv", WORD(csv)},
        {"history", WORD(file)},
        YPI_STORE_VERBOSE,
        YPI_OPTIONS_END,
    };
    const struct ypi_arguments arguments = {
        .options = options, .values = r, .words = r->words, .word_count = &r->word_count};
    struct ypi_report_outputs *o = &r->outputs;
    if (!ypi_arguments_read(&arguments, argc, argv) || !are_named(o, r, argc, argv))
        return false;
    o->limit = (double)r->limit;
    if (r->csv != NULL)
        return fits_a_table(r, argc, argv);
    const bool any = o->page != NULL || o->plots != NULL || o->trace != NULL ||
                     o->markdown != NULL || o->ini != NULL;
    o->text = o->text || !any;
    return share_no_stream(o, argc, argv);
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

/* -- a table ----------------------------------------------------------------------------------- */

static int report_table(const struct request *r)
{
    struct ypi_plots *plots = ypi_plots_create();
    if (ypi_plots_take_csv(plots, r->csv) != YP_OK) {
        ypi_plots_free(plots);
        return ypi_file_error();
    }
    struct ypi_plot_list *list = ypi_plots_finish(plots);
    int code = YPI_COMMAND_OK;
    if (list->count == 0) {
        fprintf(stderr, "yieldpoint: %s has no row that can be drawn\n", r->csv);
        code = YPI_COMMAND_NOTHING;
    } else {
        cJSON *runs = cJSON_CreateArray();
        const struct ypi_content none = {.history = r->csv, .runs = runs};
        struct ypi_page *page = r->outputs.page ? ypi_page_create(r->outputs.page, &none) : NULL;
        if ((r->outputs.page != NULL && page == NULL) ||
            (page != NULL && ypi_page_finish(page, list, NULL) != YP_OK))
            code = ypi_file_error();
        if (r->outputs.plots != NULL && ypi_plots_write(list, r->outputs.plots) != YP_OK)
            code = ypi_file_error();
        cJSON_Delete(runs);
    }
    ypi_plot_list_free(list);
    return code;
}

int ypi_report_command(int argc, char **argv)
{
    struct request r = {0};
    r.words = ypi_calloc((size_t)argc + 1, sizeof *r.words);
    r.what.runs = ypi_calloc((size_t)argc + 1, sizeof *r.what.runs);
    r.what.selection.ids = ypi_calloc((size_t)argc + 1, sizeof *r.what.selection.ids);
    int code = YPI_COMMAND_USAGE;
    const bool right = read_request(&r, argc, argv);
    if (right && r.csv != NULL) {
        code = report_table(&r);
    } else if (right) {
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

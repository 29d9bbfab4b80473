/* yieldpoint reproduce: a stored result once more, old and new side by side. */
#include "gate/gate.h"

#include "base/options/arguments.h"
#include "base/system/interrupt.h"
#include "base/system/program.h"
#include "base/text/text.h"
#include "gate/options.h"
#include "gate/report.h"
#include "gate/revision.h"
#include "gate/stored/stored_compare.h"
#include "gate/workplace.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#define SUITE_FAILED 1 /* a suite's exit code: it ran, and cases failed */
#define STORED "stored"

struct request {
    const char *word;     /* what is to be run again */
    const char *revision; /* NULL: the program that is there; STORED: the commit it was of */
    const char *tests;    /* test sources for the revision; NULL: as yieldpoint.ini says */
    double threshold, error;
    struct ypi_report report;
};

struct reproducing {
    const struct request *r;
    const volatile bool *stop;
    cJSON *old; /* the stored result's document */
    struct ypi_recipe recipe;
    struct ypi_revision built;
    const char *program;
    bool told; /* stderr, why it cannot be built */
};

/* -- what was stored ----------------------------------------------------------------------- */

static bool begins_with(const char *text, const char *begin)
{
    return strncasecmp(text, begin, strlen(begin)) == 0;
}

/* The result that is meant by a case: the newest of a run that timed the work as it is, where there
 * is one, and else the newest. What is named by its UUID or as the last one is meant itself. The
 * caller frees; NULL with the error set. */
static char *meant(sqlite3 *db, const char *word, const char *result)
{
    static const char sql[] =
        "SELECT r.id, " YPI_NORMAL_RUN " AS normal FROM result AS r JOIN run ON run.id = r.run_id"
        " WHERE r.attempt = 0 AND r.case_id = (SELECT case_id FROM result WHERE id = ?1)"
        " ORDER BY normal DESC, r.started DESC, r.rowid DESC LIMIT 1";
    if (strcmp(word, "last") == 0 || (ypi_may_begin_uuid(word) && begins_with(result, word)))
        return ypi_strdup(result);
    cJSON *rows = ypi_store_rows(db, sql, 1, &result);
    const char *plain = rows != NULL ? ypi_text_of(rows->child, "id") : "";
    char *id = rows == NULL ? NULL : ypi_strdup(*plain != '\0' ? plain : result);
    if (id != NULL && strcmp(id, result) != 0)
        fprintf(stderr,
                "yieldpoint: %.8s, the newest result, was run with --slowdown or --no-fork: %.8s, "
                "the newest without, is run again\n",
                result, id);
    cJSON_Delete(rows);
    return id;
}

/* YPI_GATE_FINE, or why not after telling stderr. */
static int find(struct reproducing *p)
{
    const char *as = NULL;
    sqlite3 *db = ypi_store_open(p->r->report.history);
    cJSON *rows = db != NULL ? ypi_named(db, p->r->word, &as) : NULL;
    bool one = rows != NULL && cJSON_GetArraySize(rows) == 1;
    int code = YPI_GATE_FINE;
    if (rows == NULL) {
        code = ypi_gate_error(yp_last_status(), p->stop);
    } else if (!one) {
        ypi_print_not_named(p->r->word, rows, as);
        code = YPI_GATE_UNSELECTED;
    } else if (strcmp(ypi_text_of(rows->child, "kind"), "run") == 0) {
        fprintf(stderr,
                "yieldpoint: '%s' is a whole run; name one of its results, which `yieldpoint show "
                "%s` lists\n",
                p->r->word, p->r->word);
        code = YPI_GATE_USAGE;
    } else {
        char *id = meant(db, p->r->word, ypi_text_of(rows->child, "id"));
        p->old = id != NULL ? ypi_document_of_result(db, id, false) : NULL;
        if (p->old == NULL)
            code = ypi_gate_error(yp_last_status(), p->stop);
        free(id);
    }
    cJSON_Delete(rows);
    sqlite3_close(db);
    return code;
}

static const cJSON *part(const cJSON *document, const char *name)
{
    return cJSON_GetObjectItemCaseSensitive(document, name);
}

static const char *fact(const cJSON *document, const char *key)
{
    return ypi_text_of(part(part(document, "run"), "facts"), key);
}

/* -- the program --------------------------------------------------------------------------- */

static const char *last_part(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash != NULL ? slash + 1 : path;
}

/* Of a revision: the suite of the stored program's name. */
static enum yp_status build(struct reproducing *p, const char *stored)
{
    const char *name =
        strcmp(p->r->revision, STORED) == 0 ? fact(p->old, "git.commit") : p->r->revision;
    if (*name == '\0')
        return yp_set_error(YP_INVALID, "--rev " STORED ": no commit is stored with this result");
    enum yp_status status = ypi_recipe_read(&p->recipe, p->r->tests);
    p->told = status != YP_OK;
    if (p->told)
        return status;
    status = ypi_revision_find(&p->recipe, name, &p->built);
    if (status == YP_OK)
        status = ypi_revision_build(&p->recipe, &p->built, stderr, p->stop);
    for (int i = 0; i < p->built.program_count && status == YP_OK; i++)
        if (strcmp(last_part(p->built.programs[i]), last_part(stored)) == 0)
            p->program = p->built.programs[i];
    if (status == YP_OK && p->program == NULL)
        status = yp_set_error(YP_INVALID, "--rev %s: it has no suite called %s", name,
                              last_part(stored));
    return status;
}

static enum yp_status choose_program(struct reproducing *p)
{
    const char *stored = ypi_text_of(part(p->old, "run"), "program");
    if (p->r->revision != NULL)
        return build(p, stored);
    p->program = stored;
    if (access(stored, X_OK) == 0)
        return YP_OK;
    return yp_set_error(YP_INVALID,
                        "%s, which the result is of, is not there; --rev " STORED
                        " builds its commit%s%s, --rev REV another one",
                        stored, *fact(p->old, "git.commit") != '\0' ? " " : "",
                        fact(p->old, "git.commit"));
}

/* -- running it ---------------------------------------------------------------------------- */

/* The words of the stored run, but for where its result goes. The list is the caller's. */
static const char **words_of(const struct reproducing *p, const char *history)
{
    const cJSON *options = part(p->old, "reproduce_options");
    const cJSON *option;
    size_t count = 0;
    const char **words = ypi_calloc((size_t)cJSON_GetArraySize(options) + 8, sizeof *words);
    words[count++] = p->program;
    words[count++] = "--seed";
    words[count++] = ypi_text_of(part(p->old, "result"), "seed");
    cJSON_ArrayForEach(option, options) words[count++] = option->valuestring;
    words[count++] = "--history";
    words[count++] = history;
    words[count++] = "--"; /* an id may begin like an option */
    words[count] = ypi_text_of(part(p->old, "case"), "id");
    return words;
}

static enum yp_status run_again(const struct reproducing *p, const char *history)
{
    char end[64];
    const char **words = words_of(p, history);
    const struct ypi_program program = {.words = words};
    struct ypi_program_status status = ypi_program_run(&program, 0, p->stop, NULL);
    free((void *)words);
    if (status.end == YPI_PROGRAM_EXITED && status.code <= SUITE_FAILED)
        return YP_OK;
    if (status.end == YPI_PROGRAM_STOPPED || *p->stop)
        return YP_UNSUPPORTED;
    if (status.end == YPI_PROGRAM_NOT_STARTED)
        return yp_last_status();
    ypi_program_ending(end, status);
    return yp_set_error(YP_IO, "%s %s: what it said stands above", p->program, end);
}

/* The place of the last result; a clock that is set back does not change it. */
static enum yp_status last_place(const char *history, double *out)
{
    static const char sql[] = "SELECT coalesce(max(rowid), 0) AS place FROM result";
    sqlite3 *db = ypi_store_open(history);
    cJSON *rows = db != NULL ? ypi_store_rows(db, sql, 0, NULL) : NULL;
    *out = rows != NULL ? ypi_real(rows->child, "place") : 0;
    enum yp_status status = rows != NULL ? YP_OK : yp_last_status();
    cJSON_Delete(rows);
    sqlite3_close(db);
    return status;
}

/* The document of what was stored of it behind that place; NULL with the error set. */
static cJSON *newest(const struct reproducing *p, const char *history, double place)
{
    static const char sql[] = "SELECT r.id FROM result AS r WHERE r.case_id = ?1 AND r.attempt = 0"
                              " AND r.rowid > CAST(?2 AS INTEGER) ORDER BY r.rowid DESC LIMIT 1";
    char number[32];
    snprintf(number, sizeof number, "%.0f", place);
    const char *const parameters[] = {ypi_text_of(part(p->old, "case"), "id"), number};
    sqlite3 *db = ypi_store_open(history);
    cJSON *rows = db != NULL ? ypi_store_rows(db, sql, 2, parameters) : NULL;
    cJSON *document = NULL;
    if (rows != NULL && rows->child != NULL)
        document = ypi_document_of_result(db, ypi_text_of(rows->child, "id"), false);
    else if (rows != NULL)
        (void)yp_set_error(YP_IO, "history '%s': the suite stored no result",
                           sqlite3_db_filename(db, "main"));
    cJSON_Delete(rows);
    sqlite3_close(db);
    return document;
}

/* -- side by side -------------------------------------------------------------------------- */

/* What a key of the first has and the second not, or another. */
static void note_differences(struct ypi_comparisons *found, const cJSON *facts, const cJSON *others,
                             bool base)
{
    const cJSON *fact;
    cJSON_ArrayForEach(fact, facts)
    {
        const char *mine = ypi_text_of(facts, fact->string);
        const char *other = ypi_text_of(others, fact->string);
        bool there = part(others, fact->string) != NULL;
        if (base && strcmp(mine, other) != 0)
            ypi_comparisons_note(found, "%s: %s -> %s", fact->string, mine,
                                 there ? other : "(none)");
        else if (!base && !there)
            ypi_comparisons_note(found, "%s: (none) -> %s", fact->string, mine);
    }
}

static void name_side(struct ypi_side *side, const cJSON *document)
{
    side->name = ypi_format("%.8s", ypi_text_of(part(document, "result"), "id"));
}

static int put(const struct reproducing *p, const cJSON *new_one, struct ypi_stored sides[2])
{
    struct ypi_comparisons found = {
        .threshold = p->r->threshold, .error = p->r->error, .every = true};
    const char *id = ypi_text_of(part(p->old, "case"), "id");
    const struct ypi_selection choice = {.ids = &id, .id_count = 1, .absent_too = true};
    const cJSON *facts[] = {part(part(p->old, "run"), "facts"),
                            part(part(new_one, "run"), "facts")};
    struct ypi_report report = p->r->report;
    report.verbose = true;
    name_side(&found.base, p->old);
    name_side(&found.head, new_one);
    note_differences(&found, facts[0], facts[1], true);
    note_differences(&found, facts[1], facts[0], false);
    if (found.note_count == 0)
        ypi_comparisons_note(&found, "the environment is the same");
    bool right = false;
    enum yp_status status = ypi_stored_compare(&sides[0], &sides[1], &choice, &right, &found);
    int code = status == YP_OK && right ? ypi_report_put(&report, &found)
                                        : ypi_gate_error(status, p->stop);
    if (code == YPI_GATE_FINE)
        code = ypi_summary_exit(&found);
    ypi_comparisons_clear(&found);
    return code;
}

static int compare(const struct reproducing *p, const cJSON *new_one, const char *history)
{
    struct ypi_stored sides[2] = {{0}};
    const cJSON *const documents[] = {p->old, new_one};
    enum yp_status status = YP_OK;
    for (int i = 0; i < 2 && status == YP_OK; i++)
        status =
            ypi_stored_of_run(ypi_text_of(part(documents[i], "run"), "id"), history, &sides[i]);
    int code = status == YP_OK ? put(p, new_one, sides) : ypi_gate_error(status, p->stop);
    for (int i = 0; i < 2; i++)
        ypi_stored_clear(&sides[i]);
    return code;
}

/* -- the whole ----------------------------------------------------------------------------- */

/* Where the new result goes: beside the old one, or into a copy where that may not be written to.
 * NULL with the error set; the caller frees. */
static char *history_of(const struct reproducing *p, struct ypi_workplace *w)
{
    struct ypi_imported imported;
    char *path = ypi_store_path(p->r->report.history);
    if (path == NULL || ypi_store_may_change(path))
        return path;
    char *copy = ypi_workplace_open(w) == YP_OK ? ypi_format("%s/history.db", w->path) : NULL;
    if (copy != NULL && ypi_history_import(copy, path, &imported) != YP_OK) {
        free(copy);
        copy = NULL;
    }
    if (copy != NULL)
        fprintf(stderr, "yieldpoint: %s may not be written to: the new result is not kept\n", path);
    free(path);
    return copy;
}

static int run(struct reproducing *p)
{
    int code = find(p);
    if (code != YPI_GATE_FINE)
        return code;
    enum yp_status status = choose_program(p);
    if (p->told)
        return status == YP_INVALID ? YPI_GATE_USAGE : YPI_GATE_INTERNAL;
    if (status != YP_OK)
        return ypi_gate_error(status, p->stop);
    struct ypi_workplace workplace = {.lock = -1};
    char *history = history_of(p, &workplace);
    double place = 0;
    cJSON *new_one = NULL;
    if (history == NULL || (status = last_place(history, &place)) != YP_OK ||
        (status = run_again(p, history)) != YP_OK || (new_one = newest(p, history, place)) == NULL)
        code = ypi_gate_error(status != YP_OK ? status : yp_last_status(), p->stop);
    else
        code = compare(p, new_one, history);
    cJSON_Delete(new_one);
    free(history);
    ypi_workplace_close(&workplace);
    return code;
}

#define WORD(member) YPI_OPTION_AT(WORD, struct request, member)

static bool read_request(struct request *r, int argc, char **argv)
{
    static const struct ypi_option options[] = {
        {"rev", WORD(revision)},
        {"tests", WORD(tests)},
        {"threshold", YPI_OPTION_OF(ypi_read_threshold, struct request, threshold)},
        {"error", YPI_OPTION_OF(ypi_read_error, struct request, error)},
        {"history", WORD(report.history)},
        YPI_STORE_VERBOSE,
        YPI_OPTIONS_OUT(struct request, report),
        YPI_OPTIONS_END,
    };
    if (!ypi_arguments_read(
            &(struct ypi_arguments){.options = options, .values = r, .word = &r->word}, argc, argv))
        return false;
    bool named = r->word != NULL && *r->word != '\0';
    if (named && (r->tests == NULL || r->revision != NULL))
        return true;
    ypi_usage_error(argc, argv, argc,
                    named ? "--tests: nothing is built without --rev"
                          : "reproduce: a result is wanted: its UUID, a case's id or a part of it, "
                            "or 'last'");
    return false;
}

int ypi_reproduce_command(int argc, char **argv)
{
    struct request r = {.threshold = YPI_THRESHOLD, .error = YPI_ERROR};
    struct reproducing p = {.r = &r, .stop = ypi_interrupt_watch()};
    int code = read_request(&r, argc, argv) ? run(&p) : YPI_GATE_USAGE;
    cJSON_Delete(p.old);
    ypi_revision_clear(&p.built);
    ypi_recipe_clear(&p.recipe);
    return code;
}

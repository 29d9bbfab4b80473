/* From a commit to the programs of its suites. */
#include "base/system/file.h"
#include "base/system/program.h"
#include "base/text/text.h"
#include "gate/revision.h"
#include "gate/revision/cache.h"
#include "gate/revision/code.h"
#include "gate/revision/git.h"

#include <cJSON.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { TOLD_MAX = 3000, TOLD_LINES = 20 };

struct building {
    const struct ypi_recipe *recipe;
    struct ypi_revision *revision;
    const char *place;
    char *log;      /* beside the place, so that it stays */
    char *checkout; /* of the whole repository; the revision's .source is the project's part */
    const volatile bool *stop;
};

/* -- what went wrong ----------------------------------------------------------------------- */

/* The last lines of the log. */
static const char *last_lines(const char *log, char text[TOLD_MAX + 1])
{
    const char *from = text + ypi_read_file_end(log, text, TOLD_MAX + 1);
    for (int lines = 0; from > text && lines <= TOLD_LINES; from--)
        lines += from[-1] == '\n';
    return *from == '\n' ? from + 1 : from;
}

static enum yp_status failed(const struct building *b, const char *what)
{
    if (*b->stop)
        return yp_set_error(YP_UNSUPPORTED, "interrupted");
    char text[TOLD_MAX + 1];
    return yp_set_error(YP_IO, "%s (%.10s) %s:\n%s(the whole log: %s)", b->revision->name,
                        b->revision->commit, what, last_lines(b->log, text), b->log);
}

/* -- commands ------------------------------------------------------------------------------ */

/* {source}, {build} and {tests} as words of the shell; the caller frees. */
static char *fill_in(const struct building *b, const char *command)
{
    const struct {
        const char *name, *path;
    } places[] = {{"{source}", b->revision->source},
                  {"{build}", b->revision->build},
                  {"{tests}", b->recipe->tests}};
    struct ypi_text text = {0};
    for (const char *c = command; *c != '\0';) {
        size_t length = 0;
        for (size_t i = 0; i < sizeof places / sizeof *places && length == 0; i++)
            if (places[i].path != NULL && strncmp(c, places[i].name, strlen(places[i].name)) == 0) {
                ypi_text_quoted(&text, places[i].path, false);
                length = strlen(places[i].name);
            }
        if (length == 0)
            ypi_text_bytes(&text, c, 1);
        c += length > 0 ? length : 1;
    }
    return ypi_text_take(&text);
}

static bool run_command(const struct building *b, const char *command, char **output)
{
    char *whole = fill_in(b, command);
    const char *const words[] = {"sh", "-c", whole, NULL};
    const struct ypi_program shell = {
        .words = words, .directory = b->revision->source, .log = b->log};
    FILE *log = fopen(b->log, "a");
    if (log != NULL) {
        fprintf(log, "$ %s\n", whole);
        fclose(log);
    }
    struct ypi_program_status status = ypi_program_run(&shell, 0, b->stop, output);
    free(whole);
    return status.end == YPI_PROGRAM_EXITED && status.code == 0;
}

/* -- the suites ---------------------------------------------------------------------------- */

static void add_program(struct ypi_revision *r, const char *path)
{
    if (!ypi_list_has((const char *const *)r->programs, r->program_count, path))
        r->programs = ypi_list_add(r->programs, r->program_count++, ypi_strdup(path));
}

/* "project:stress" and "stress". */
static bool is_suite(const cJSON *test)
{
    const cJSON *name;
    cJSON_ArrayForEach(name, cJSON_GetObjectItem(test, "suite"))
    {
        const char *text = cJSON_GetStringValue(name);
        const char *colon = text != NULL ? strrchr(text, ':') : NULL;
        const char *own = colon != NULL ? colon + 1 : text;
        if (own != NULL && (strcmp(own, "stress") == 0 || strcmp(own, "perf") == 0))
            return true;
    }
    return false;
}

/* What meson's tests of these suites run, below the build directory. */
static bool find_by_meson(const struct building *b)
{
    char *text = NULL;
    bool ran = run_command(b, "meson introspect --tests {build}", &text);
    cJSON *tests = ran ? cJSON_Parse(text) : NULL;
    const cJSON *test;
    size_t length = strlen(b->revision->build);
    cJSON_ArrayForEach(test, tests)
    {
        const char *program =
            cJSON_GetStringValue(cJSON_GetArrayItem(cJSON_GetObjectItem(test, "cmd"), 0));
        if (is_suite(test) && program != NULL && strncmp(program, b->revision->build, length) == 0)
            add_program(b->revision, program);
    }
    cJSON_Delete(tests);
    free(text);
    return ran;
}

static bool find_suites(const struct building *b)
{
    const char *word = NULL;
    size_t length = 0;
    if (b->recipe->suites == NULL)
        return find_by_meson(b);
    for (const char *at = b->recipe->suites; ypi_next_word(&at, &word, &length);) {
        char *path = ypi_format("%s/%.*s", b->revision->build, (int)length, word);
        add_program(b->revision, path);
        free(path);
    }
    return true;
}

static bool compile(const struct building *b)
{
    if (b->recipe->build != NULL)
        return run_command(b, b->recipe->build, NULL);
    struct ypi_text text = {0};
    ypi_text_add(&text, "ninja -C {build}");
    size_t length = strlen(b->revision->build);
    for (int i = 0; i < b->revision->program_count; i++) {
        ypi_text_add(&text, " ");
        ypi_text_quoted(&text, b->revision->programs[i] + length + 1, false);
    }
    char *command = ypi_text_take(&text);
    bool right = run_command(b, command, NULL);
    free(command);
    return right;
}

/* A suite that a revision does not have is no error as long as it has another. */
static enum yp_status keep_built(const struct building *b)
{
    struct ypi_revision *r = b->revision;
    int kept = 0;
    for (int i = 0; i < r->program_count; i++)
        if (access(r->programs[i], X_OK) == 0)
            r->programs[kept++] = r->programs[i];
        else
            free(r->programs[i]);
    r->program_count = kept;
    if (kept > 0)
        return YP_OK;
    return yp_set_error(YP_INVALID,
                        "%s (%.10s) has no suite of Yieldpoint: %s; [gate] of yieldpoint.ini can "
                        "name the programs, as `suites = PATH...` below the build directory",
                        r->name, r->commit,
                        b->recipe->suites != NULL
                            ? "none of those that yieldpoint.ini names was built"
                            : "no meson test is in suite stress or perf");
}

/* -- the whole ----------------------------------------------------------------------------- */

/* What configures the build; NULL: `build` does all. The caller frees. */
static char *setup_of(const struct ypi_recipe *r)
{
    if (r->setup != NULL)
        return ypi_strdup(r->setup);
    if (r->build != NULL && r->options == NULL)
        return NULL;
    return ypi_format("meson setup {build} {source} --buildtype=release %s",
                      r->options != NULL ? r->options : "");
}

static bool is_of_meson(const struct building *b)
{
    char *inside = ypi_format("%s/meson-info", b->revision->build);
    bool there = access(inside, F_OK) == 0;
    free(inside);
    return there;
}

/* Commands that configure and build. Without `setup`, meson's tests are known behind `build`. */
static enum yp_status run_commands(const struct building *b, const char *setup)
{
    const struct ypi_recipe *r = b->recipe;
    if (setup != NULL && !run_command(b, setup, NULL))
        return failed(b, "cannot be configured");
    if (setup == NULL && !compile(b))
        return failed(b, "does not build");
    if (r->suites == NULL && !is_of_meson(b))
        return yp_set_error(
            YP_INVALID,
            "%s (%.10s) was not built by meson, which would tell its suites: [gate] "
            "of yieldpoint.ini is to name the programs, as `suites = PATH...` below "
            "the build directory",
            b->revision->name, b->revision->commit);
    if (!find_suites(b))
        return failed(b, "does not tell its tests");
    bool nothing = r->build == NULL && b->revision->program_count == 0;
    if (setup != NULL && !nothing && !compile(b))
        return failed(b, "does not build");
    return keep_built(b);
}

static enum yp_status make(const struct building *b)
{
    const struct ypi_recipe *r = b->recipe;
    char *setup = setup_of(r);
    enum yp_status status = YP_OK;
    unlink(b->log);
    if (mkdir(b->place, 0777) != 0 ||
        ypi_gate_checkout(r->root, b->revision->commit, b->revision->snapshot, b->checkout, b->log,
                          b->stop) != YP_OK)
        status = failed(b, "cannot be checked out");
    else if (access(b->revision->source, F_OK) != 0)
        status = yp_set_error(YP_INVALID, "%s (%.10s) has no %s", b->revision->name,
                              b->revision->commit, r->project);
    else if (mkdir(b->revision->build, 0777) != 0)
        status = failed(b, "cannot be configured");
    else
        status = run_commands(b, setup);
    free(setup);
    return status;
}

static bool is_made(const struct building *b)
{
    struct ypi_revision *r = b->revision;
    ypi_list_free(r->programs, r->program_count); /* of a look before */
    r->programs = NULL;
    r->program_count = 0;
    if (ypi_cache_is_made(b->place) && find_suites(b) && keep_built(b) == YP_OK) {
        ypi_cache_code(b->place, r->code);
        return true;
    }
    ypi_list_free(r->programs, r->program_count);
    r->programs = NULL;
    r->program_count = 0;
    return false;
}

/* With the place locked by this process alone. */
static enum yp_status make_in_place(const struct building *b, FILE *progress)
{
    struct ypi_revision *r = b->revision;
    if (is_made(b))
        return YP_OK;
    fprintf(progress, "building %s (%.10s)\n", r->name, r->commit);
    ypi_remove_tree(b->place); /* what a killed process left */
    enum yp_status status = make(b);
    if (status == YP_OK) {
        ypi_code_of(r, b->place, r->code); /* before a suite writes beside its program */
        status = ypi_cache_mark(b->place, b->recipe, r->commit, r->code);
    }
    if (status != YP_OK)
        ypi_remove_tree(b->place);
    return status;
}

/* The place's lock, shared with others, with the build in it: both sides of a gate may be the same
 * one. A lock of this process alone cannot become a shared one without a gap, in which another
 * process may remove the place; so it is given back, and the place is looked at again. -1 with
 * yp_last_error() set. */
static int lock_made(const struct building *b, FILE *progress)
{
    enum { TRIES = 3 };
    for (int i = 0; i < TRIES; i++) {
        int lock = ypi_cache_lock(b->place, false, progress, b->stop);
        if (lock < 0 || is_made(b))
            return lock;
        close(lock);
        lock = ypi_cache_lock(b->place, true, progress, b->stop);
        const enum yp_status status = lock >= 0 ? make_in_place(b, progress) : yp_last_status();
        if (lock >= 0)
            close(lock);
        if (status != YP_OK)
            return -1;
    }
    (void)yp_set_error(YP_IO, "%s was removed each time it was built: is it in use elsewhere?",
                       b->place);
    return -1;
}

enum yp_status ypi_revision_build(const struct ypi_recipe *recipe, struct ypi_revision *revision,
                                  FILE *progress, const volatile bool *stop)
{
    enum yp_status status = ypi_cache_make(recipe);
    if (status != YP_OK)
        return status;
    char *place = ypi_cache_place(recipe, revision->commit);
    revision->source = ypi_format("%s/source/%s", place, recipe->project);
    revision->build = ypi_format("%s/build", place);
    struct building b = {.recipe = recipe,
                         .revision = revision,
                         .place = place,
                         .log = ypi_format("%s.log", place),
                         .checkout = ypi_format("%s/source", place),
                         .stop = stop};
    const int lock = lock_made(&b, progress);
    if (lock >= 0) {
        revision->lock = lock;
        ypi_cache_prune(recipe);
    } else {
        status = yp_last_status();
    }
    free(b.checkout);
    free(b.log);
    free(place);
    return status;
}

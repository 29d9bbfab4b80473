#include "gate/suite.h"

#include "base/system/file.h"
#include "base/system/program.h"
#include "base/text/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SUITE_FAILED = 1, SUITE_USAGE = 4, SUITE_NOTHING = 5, TOLD_MAX = 2048 };
#define ASK_SECONDS 60.0 /* to list cases takes milliseconds */
/* Of ids at once: far below what a system takes as arguments. */
enum { IDS_AT_ONCE = 500 };

char **ypi_suite_options(const char *text, const char *more)
{
    const char *const texts[] = {text, more};
    char **list = NULL;
    int count = 0;
    for (int i = 0; i < 2; i++) {
        const char *word = NULL;
        size_t length = 0;
        for (const char *at = texts[i]; at != NULL && ypi_next_word(&at, &word, &length);)
            list = ypi_list_add(list, count++, ypi_format("%.*s", (int)length, word));
    }
    list = ypi_realloc(list, (size_t)count + 1, sizeof *list);
    list[count] = NULL;
    return list;
}

void ypi_suite_options_free(char **options)
{
    int count = 0;
    while (options != NULL && options[count] != NULL)
        count++;
    ypi_list_free(options, count);
}

struct words {
    const char **list; /* ended by NULL */
    int count;
};

static void add(struct words *w, const char *word)
{
    w->list = ypi_realloc(w->list, (size_t)w->count + 2, sizeof *w->list);
    w->list[w->count++] = word;
    w->list[w->count] = NULL;
}

static void add_all(struct words *w, const char *const *words)
{
    for (; words != NULL && *words != NULL; words++)
        add(w, *words);
}

/* Without what is for timed runs alone, which the suite refuses beside --speed=off. */
static void add_untimed(struct words *w, const char *const *words)
{
    static const char slowdown[] = "--slowdown=";
    for (; words != NULL && *words != NULL; words++)
        if (strncmp(*words, slowdown, sizeof slowdown - 1) != 0)
            add(w, *words);
}

static enum yp_status complain(const struct ypi_suite *suite, struct ypi_program_status status)
{
    char ending[64];
    if (status.end == YPI_PROGRAM_STOPPED)
        return yp_set_error(YP_UNSUPPORTED, "interrupted");
    if (status.end == YPI_PROGRAM_NOT_STARTED)
        return YP_IO; /* said already */
    ypi_program_ending(ending, status);
    char said[TOLD_MAX];
    size_t length = ypi_read_file_end(suite->log, said, sizeof said);
    while (length > 0 && said[length - 1] == '\n')
        said[--length] = '\0';
    bool usage = status.end == YPI_PROGRAM_EXITED && status.code == SUITE_USAGE;
    return yp_set_error(usage ? YP_INVALID : YP_IO, "%s %s%s%s", suite->program, ending,
                        *said ? ":\n" : "", said);
}

/* A log of its own for each call: its end is in the message. */
static struct ypi_program_status ask(const struct ypi_suite *suite, const struct words *words,
                                     double seconds, const volatile bool *stop, char **text)
{
    const struct ypi_program program = {
        .words = words->list, .directory = suite->directory, .log = suite->log};
    unlink(suite->log);
    return ypi_program_run(&program, seconds, stop, text);
}

bool ypi_suite_takes_turns(const struct ypi_suite *suite, const volatile bool *stop)
{
    struct words words = {0};
    char *text = NULL;
    add(&words, suite->program);
    add(&words, "--help");
    (void)ask(suite, &words, ASK_SECONDS, stop, &text);
    bool takes = text != NULL && strstr(text, "--turns ") != NULL;
    free(text);
    free((void *)words.list);
    return takes;
}

/* A line that has "::" and does not begin with a blank is an id: a count may follow the list. What
 * `--co -v` tells of a case stands below its id; with `commands` those are taken that have one. */
static void take_ids(const char *text, bool commands, char ***list, int *count)
{
    static const char of_command[] = "    command: ";
    char *id = NULL;
    for (const char *line = text; *line != '\0';) {
        size_t length = strcspn(line, "\n");
        char *word = ypi_format("%.*s", (int)length, line);
        bool is_id = *word != ' ' && strstr(word, "::") != NULL;
        if (is_id) {
            free(id);
            id = word;
        }
        if (id != NULL && (commands ? strncmp(word, of_command, strlen(of_command)) == 0 : is_id)) {
            *list = ypi_list_add(*list, (*count)++, id);
            id = NULL;
        }
        if (!is_id)
            free(word);
        line += length + (line[length] == '\n');
    }
    free(id);
}

/* "file" and "file::test" stand for cases too. */
static bool is_meant(const char *id, const char *wanted)
{
    size_t length = strlen(wanted);
    return strncmp(id, wanted, length) == 0 &&
           (id[length] == '\0' || id[length] == '[' || strncmp(id + length, "::", 2) == 0);
}

static void keep_meant(const struct ypi_choice *choice, char **list, int *count)
{
    int kept = 0;
    for (int i = 0; i < *count; i++) {
        bool meant = choice->id_count == 0;
        for (int k = 0; k < choice->id_count && !meant; k++)
            meant = is_meant(list[i], choice->ids[k]);
        if (meant && !ypi_list_has((const char *const *)list, kept, list[i]))
            list[kept++] = list[i];
        else
            free(list[i]);
    }
    *count = kept;
}

static enum yp_status list_cases(const struct ypi_suite *suite, const struct ypi_choice *choice,
                                 bool commands, const volatile bool *stop, char ***list, int *count)
{
    struct words words = {0};
    char *text = NULL;
    *list = NULL;
    *count = 0;
    add(&words, suite->program);
    add_all(&words, suite->options);
    add(&words, "--co");
    add(&words, commands ? "-vvv" : "-q"); /* the suite's options may have a -q */
    if (choice->mark != NULL) {
        add(&words, "-m");
        add(&words, choice->mark);
    }
    if (choice->keyword != NULL) {
        add(&words, "-k");
        add(&words, choice->keyword);
    }
    struct ypi_program_status status = ask(suite, &words, ASK_SECONDS, stop, &text);
    bool ok =
        status.end == YPI_PROGRAM_EXITED && (status.code == 0 || status.code == SUITE_NOTHING);
    if (ok)
        take_ids(text, commands, list, count);
    keep_meant(choice, *list, count);
    free(text);
    free((void *)words.list);
    return ok ? YP_OK : complain(suite, status);
}

enum yp_status ypi_suite_list(const struct ypi_suite *suite, const struct ypi_choice *choice,
                              const volatile bool *stop, char ***list, int *count)
{
    return list_cases(suite, choice, false, stop, list, count);
}

enum yp_status ypi_suite_list_commands(const struct ypi_suite *suite,
                                       const struct ypi_choice *choice, const volatile bool *stop,
                                       char ***list, int *count)
{
    return list_cases(suite, choice, true, stop, list, count);
}

static enum yp_status run_some(const struct ypi_suite *suite, enum ypi_suite_mode mode,
                               char *const *ids, int count, const char *history,
                               const volatile bool *stop)
{
    const char *own[] = {"--quiet", "--noisy=report", "--history", history, NULL};
    struct words words = {0};
    add(&words, suite->program);
    if (mode == YPI_SUITE_TIME)
        add_all(&words, suite->options);
    else
        add_untimed(&words, suite->options);
    add(&words, mode == YPI_SUITE_TIME ? "--speed=record" : "--speed=off");
    if (mode == YPI_SUITE_COUNT)
        add(&words, "--instructions");
    add_all(&words, own);
    add(&words, "--"); /* an id may begin like an option */
    for (int i = 0; i < count; i++)
        add(&words, ids[i]);
    struct ypi_program_status status = ask(suite, &words, 0, stop, NULL);
    free((void *)words.list);
    bool ok = status.end == YPI_PROGRAM_EXITED && status.code <= SUITE_FAILED;
    return ok ? YP_OK : complain(suite, status);
}

enum yp_status ypi_suite_run(const struct ypi_suite *suite, enum ypi_suite_mode mode,
                             char *const *ids, int count, const char *history,
                             const volatile bool *stop)
{
    enum yp_status status = YP_OK;
    for (int done = 0; done < count && status == YP_OK; done += IDS_AT_ONCE) {
        int some = count - done < IDS_AT_ONCE ? count - done : IDS_AT_ONCE;
        status = run_some(suite, mode, ids + done, some, history, stop);
    }
    return status;
}

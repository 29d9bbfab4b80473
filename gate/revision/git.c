#include "gate/revision/git.h"

#include "base/system/program.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { WORDS_MAX = 24, VARIABLES_MAX = 32, SAID_MAX = 2000 };

/* Inside a hook these name another repository; the last ones give other meanings to paths. */
static const char *const cleared[] = {"GIT_DIR",
                                      "GIT_WORK_TREE",
                                      "GIT_INDEX_FILE",
                                      "GIT_OBJECT_DIRECTORY",
                                      "GIT_ALTERNATE_OBJECT_DIRECTORIES",
                                      "GIT_COMMON_DIR",
                                      "GIT_NAMESPACE",
                                      "GIT_PREFIX",
                                      "GIT_QUARANTINE_PATH",
                                      "GIT_SHALLOW_FILE",
                                      "GIT_LITERAL_PATHSPECS",
                                      "GIT_GLOB_PATHSPECS",
                                      "GIT_NOGLOB_PATHSPECS",
                                      "GIT_ICASE_PATHSPECS"};

struct call {
    const char *words[WORDS_MAX];
    const char *variables[VARIABLES_MAX];
    struct ypi_program program;
};

static void prepare(struct call *c, const char *directory, const char *const *given,
                    const char *const *more)
{
    const char *const own[] = {"git", "-C", directory, "-c", "core.fsmonitor=false"};
    int count = 0;
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        c->words[count++] = own[i];
    for (; *given != NULL && count < WORDS_MAX - 1; given++)
        c->words[count++] = *given;
    c->words[count] = NULL;
    count = 0;
    for (size_t i = 0; i < sizeof cleared / sizeof *cleared; i++)
        c->variables[count++] = cleared[i];
    c->variables[count++] = "GIT_TERMINAL_PROMPT=0";
    for (; more != NULL && *more != NULL && count < VARIABLES_MAX - 1; more++)
        c->variables[count++] = *more;
    c->variables[count] = NULL;
    c->program = (struct ypi_program){.words = c->words, .variables = c->variables};
}

/* -- what it prints ------------------------------------------------------------------------ */

static void read_all(int input, struct ypi_text *out)
{
    char bytes[1 << 14];
    for (;;) {
        ssize_t got = read(input, bytes, sizeof bytes);
        if (got == 0 || (got < 0 && errno != EINTR))
            return;
        if (got > 0)
            ypi_text_bytes(out, bytes, (size_t)got);
    }
}

/* Without its last line ends. */
static char *stripped(struct ypi_text *text)
{
    while (text->length > 0 && text->data[text->length - 1] == '\n')
        text->data[--text->length] = '\0';
    return ypi_text_take(text);
}

/* Where the command stands behind `-c NAME=VALUE`. */
static const char *command_of(const char *const *given)
{
    while (given[0] != NULL && strcmp(given[0], "-c") == 0)
        given += 2;
    return given[0];
}

/* What it said on its standard error, which is behind `said`, an open file. */
static void read_said(int said, char text[SAID_MAX + 1])
{
    ssize_t length = said >= 0 ? pread(said, text, SAID_MAX, 0) : 0;
    text[length > 0 ? length : 0] = '\0';
    while (length > 0 && text[length - 1] == '\n')
        text[--length] = '\0';
}

/* Whether it did all that it was to. A list goes on behind a directory that cannot be read. */
static bool is_right(const char *directory, const char *const *given, struct ypi_program_status end,
                     int said)
{
    char text[SAID_MAX + 1];
    read_said(said, text);
    if (end.end == YPI_PROGRAM_EXITED && end.code == 0 &&
        strstr(text, "could not open directory") == NULL)
        return true;
    (void)yp_set_error(YP_INVALID, "git %s: failed in %s%s%s", command_of(given), directory,
                       *text != '\0' ? ": " : "", text);
    return false;
}

enum yp_status ypi_gate_git_list(const char *directory, const char *const *given,
                                 const char *const *more, struct ypi_text *out)
{
    struct call c;
    int output = -1;
    int said = memfd_create("git", MFD_CLOEXEC); /* opened again before git is there */
    char *log = said >= 0 ? ypi_format("/proc/self/fd/%d", said) : ypi_strdup("/dev/null");
    enum yp_status status = YP_IO;
    *out = (struct ypi_text){0};
    prepare(&c, directory, given, more);
    c.program.log = log;
    pid_t pid = ypi_program_open(&c.program, &output);
    if (pid > 0) {
        read_all(output, out);
        close(output);
        struct ypi_program_status end = ypi_program_wait(pid, 0, NULL);
        status = is_right(directory, given, end, said) ? YP_OK : YP_INVALID;
    }
    if (said >= 0)
        close(said);
    if (status != YP_OK)
        free(ypi_text_take(out));
    free(log);
    return status;
}

const char *ypi_gate_git_next(const struct ypi_text *list, size_t *at)
{
    if (*at >= list->length)
        return NULL;
    const char *text = list->data + *at;
    *at += strlen(text) + 1;
    return text;
}

char *ypi_gate_git(const char *directory, const char *const *given, const char *const *more)
{
    struct ypi_text text;
    return ypi_gate_git_list(directory, given, more, &text) == YP_OK ? stripped(&text) : NULL;
}

bool ypi_gate_git_run(const char *directory, const char *const *given, const char *const *more,
                      const char *input, const char *log, const volatile bool *stop)
{
    struct call c;
    prepare(&c, directory, given, more);
    c.program.input = input;
    c.program.log = log;
    struct ypi_program_status status = ypi_program_run(&c.program, 0, stop, NULL);
    return status.end == YPI_PROGRAM_EXITED && status.code == 0;
}

/* -- revisions ----------------------------------------------------------------------------- */

static char *verify(const char *root, const char *name)
{
    const char *const words[] = {"rev-parse",        "--verify", "--quiet",
                                 "--end-of-options", name,       NULL};
    return ypi_gate_git(root, words, NULL);
}

/* In two steps, for ":/text^{commit}" looks for a message with all of that in it. */
char *ypi_gate_commit(const char *root, const char *name)
{
    char *object = verify(root, name);
    if (object == NULL)
        return NULL;
    char *peeled = ypi_format("%s^{commit}", object);
    char *commit = verify(root, peeled);
    free(peeled);
    free(object);
    return commit;
}

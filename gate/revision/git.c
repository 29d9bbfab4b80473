#include "gate/revision/git.h"

#include "base/system/atomic_file.h"
#include "base/system/program.h"
#include "base/text/text.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { WORDS_MAX = 24, VARIABLES_MAX = 24 };

/* Inside a hook these name another repository. */
static const char *const cleared[] = {"GIT_DIR",
                                      "GIT_WORK_TREE",
                                      "GIT_INDEX_FILE",
                                      "GIT_OBJECT_DIRECTORY",
                                      "GIT_ALTERNATE_OBJECT_DIRECTORIES",
                                      "GIT_COMMON_DIR",
                                      "GIT_NAMESPACE",
                                      "GIT_PREFIX",
                                      "GIT_QUARANTINE_PATH"};

static void fill_words(const char *words[WORDS_MAX], const char *directory,
                       const char *const *given)
{
    const char *const own[] = {"git", "-C", directory, "-c", "core.fsmonitor=false"};
    int count = 0;
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        words[count++] = own[i];
    for (; *given != NULL && count < WORDS_MAX - 1; given++)
        words[count++] = *given;
    words[count] = NULL;
}

static void fill_variables(const char *variables[VARIABLES_MAX], const char *const *more)
{
    int count = 0;
    for (size_t i = 0; i < sizeof cleared / sizeof *cleared; i++)
        variables[count++] = cleared[i];
    variables[count++] = "GIT_TERMINAL_PROMPT=0";
    for (; more != NULL && *more != NULL && count < VARIABLES_MAX - 1; more++)
        variables[count++] = *more;
    variables[count] = NULL;
}

char *ypi_gate_git(const char *directory, const char *const *given, const char *const *more)
{
    const char *words[WORDS_MAX];
    const char *variables[VARIABLES_MAX];
    char *text = NULL;
    fill_words(words, directory, given);
    fill_variables(variables, more);
    const struct ypi_program git = {.words = words, .variables = variables, .log = "/dev/null"};
    struct ypi_program_status status = ypi_program_run(&git, 0, NULL, &text);
    if (status.end == YPI_PROGRAM_EXITED && status.code == 0 && text != NULL) {
        size_t length = strlen(text);
        while (length > 0 && text[length - 1] == '\n')
            text[--length] = '\0';
        return text;
    }
    free(text);
    if (status.end != YPI_PROGRAM_NOT_STARTED)
        (void)yp_set_error(YP_INVALID, "git %s: failed in %s", given[0], directory);
    return NULL;
}

static bool run_logged(const char *directory, const char *const *given, const char *log,
                       const volatile bool *stop)
{
    const char *words[WORDS_MAX];
    const char *variables[VARIABLES_MAX];
    fill_words(words, directory, given);
    fill_variables(variables, NULL);
    const struct ypi_program git = {.words = words, .variables = variables, .log = log};
    struct ypi_program_status status = ypi_program_run(&git, 0, stop, NULL);
    return status.end == YPI_PROGRAM_EXITED && status.code == 0;
}

/* One line into a file that is made anew. */
static bool write_line(const char *path, const char *line)
{
    FILE *file = fopen(path, "w");
    if (file == NULL)
        return false;
    bool right = fprintf(file, "%s\n", line) > 0;
    return fclose(file) == 0 && right;
}

/* The new repository reads the objects of the old one, and the border of a shallow one. A clone
 * would copy branches, and refuses to share what is shallow. */
static bool borrow(const char *root, const char *directory)
{
    static const char *const objects_words[] = {"rev-parse", "--git-path", "objects", NULL};
    static const char *const shallow_words[] = {"rev-parse", "--git-path", "shallow", NULL};
    char *objects = ypi_gate_git(root, objects_words, NULL);
    char *shallow = ypi_gate_git(root, shallow_words, NULL);
    bool right = objects != NULL && shallow != NULL;
    if (right) {
        char *whole = objects[0] == '/' ? ypi_strdup(objects) : ypi_format("%s/%s", root, objects);
        char *to = ypi_format("%s/.git/objects/info/alternates", directory);
        right = write_line(to, whole);
        free(to);
        free(whole);
        whole = shallow[0] == '/' ? ypi_strdup(shallow) : ypi_format("%s/%s", root, shallow);
        to = ypi_format("%s/.git/shallow", directory);
        if (right && access(whole, R_OK) == 0)
            right = symlink(whole, to) == 0;
        free(to);
        free(whole);
    }
    free(objects);
    free(shallow);
    return right;
}

enum yp_status ypi_gate_checkout(const char *root, const char *commit, const char *directory,
                                 const char *log, const volatile bool *stop)
{
    static const char *const init[] = {"init", "--quiet", NULL};
    const char *const checkout[] = {
        "-c", "advice.detachedHead=false", "checkout", "--quiet", "--detach", commit, NULL};
    static const char *const submodules[] = {"submodule", "update",      "--quiet",
                                             "--init",    "--recursive", NULL};
    if (mkdir(directory, 0777) != 0)
        return yp_set_error(YP_IO, "%s: cannot be made: %s", directory, strerror(errno));
    char *modules = ypi_format("%s/.gitmodules", directory);
    bool right = run_logged(directory, init, log, stop) && borrow(root, directory) &&
                 run_logged(directory, checkout, log, stop) &&
                 (access(modules, F_OK) != 0 || run_logged(directory, submodules, log, stop));
    free(modules);
    return right ? YP_OK : yp_set_error(YP_IO, "%s: cannot be checked out", commit);
}

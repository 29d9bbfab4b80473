/* How revisions are built: [gate] of yieldpoint.ini, the compilers and the environment. */
#include "base/options/ini.h"
#include "base/options/project.h"
#include "base/system/program.h"
#include "base/text/text.h"
#include "gate/revision.h"
#include "gate/revision/git.h"
#include "gate/revision/tests.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { KEEP_USUAL = 8, KEEP_MOST = 1000 };

/* NULL where it was given before. */
static char *once(char **to, const char *value)
{
    if (*to != NULL)
        return ypi_strdup("it stands there twice");
    *to = ypi_strdup(value);
    return NULL;
}

static char *take(void *arg, const char *section, const char *name, const char *value)
{
    struct ypi_recipe *r = arg;
    uint64_t keep = 0;
    if (strcmp(section, "gate") != 0)
        return NULL; /* others read those */
    if (strcmp(name, "setup") == 0)
        return once(&r->setup, value);
    if (strcmp(name, "options") == 0)
        return once(&r->options, value);
    if (strcmp(name, "build") == 0)
        return once(&r->build, value);
    if (strcmp(name, "suites") == 0)
        return once(&r->suites, value);
    if (strcmp(name, "tests") == 0)
        return *value != '\0' ? once(&r->tests, value)
                              : ypi_strdup("tests is a directory of test sources, or one of them");
    if (strcmp(name, "keep") != 0)
        return ypi_format(
            "'%s' is not known in [gate]: setup, options, build, suites, tests and keep are", name);
    if (!ypi_parse_u64(value, &keep) || keep < 2 || keep > KEEP_MOST)
        return ypi_format("keep is a number of builds from 2 to %d", KEEP_MOST);
    r->keep = (int)keep;
    return NULL;
}

/* The first line of `NAME --version`, or what is said where there is none. */
static void add_version(struct ypi_text *out, const char *variable, const char *usual)
{
    const char *given = getenv(variable);
    char *command = ypi_format("%s --version", given != NULL && *given ? given : usual);
    const char *const words[] = {"sh", "-c", command, NULL};
    const struct ypi_program program = {.words = words, .log = "/dev/null"};
    char *text = NULL;
    (void)ypi_program_run(&program, 0, NULL, &text);
    ypi_text_add(out, "%s=%s: %.*s\n", variable, given != NULL && *given ? given : usual,
                 text != NULL ? (int)strcspn(text, "\n") : 0, text != NULL ? text : "");
    free(text);
    free(command);
}

/* What makes two builds of one commit different. */
static char *tools(void)
{
    static const char *const flags[] = {"CFLAGS", "CXXFLAGS", "CPPFLAGS",       "LDFLAGS",
                                        "NVCC",   "CPATH",    "PKG_CONFIG_PATH"};
    struct ypi_text text = {0};
    add_version(&text, "CC", "cc");
    add_version(&text, "CXX", "c++");
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++)
        if (getenv(flags[i]) != NULL)
            ypi_text_add(&text, "%s=%s\n", flags[i], getenv(flags[i]));
    return ypi_text_take(&text);
}

static bool find_repository(struct ypi_recipe *r, const char *project)
{
    static const char *const top[] = {"rev-parse", "--show-toplevel", NULL};
    static const char *const prefix[] = {"rev-parse", "--show-prefix", NULL};
    static const char *const is_bare[] = {"rev-parse", "--is-bare-repository", NULL};
    static const char *const itself[] = {"rev-parse", "--absolute-git-dir", NULL};
    r->root = ypi_gate_git(project, top, NULL);
    r->project = r->root != NULL ? ypi_gate_git(project, prefix, NULL) : NULL;
    if (r->project != NULL)
        return true;
    char *why = ypi_strdup(yp_last_error());
    char *bare = ypi_gate_git(project, is_bare, NULL);
    r->bare = bare != NULL && strcmp(bare, "true") == 0;
    free(bare);
    r->root = r->bare ? ypi_gate_git(project, itself, NULL) : NULL;
    r->project = ypi_strdup("");
    if (r->root == NULL)
        fprintf(stderr,
                "yieldpoint: %s is in no git repository that can be read, so there are no "
                "revisions to build: %s\n",
                project, why);
    free(why);
    return r->root != NULL;
}

static bool uses_tests(const struct ypi_recipe *r)
{
    const char *const commands[] = {r->setup, r->options, r->build};
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
        if (commands[i] != NULL && strstr(commands[i], "{tests}") != NULL)
            return true;
    return false;
}

/* `given` counts before [gate]'s own. */
static enum yp_status find_tests(struct ypi_recipe *r, const char *root, const char *given)
{
    char *own = r->tests;
    r->tests = NULL;
    char *from = given != NULL                  ? ypi_strdup(given)
                 : own == NULL || own[0] == '/' ? own != NULL ? ypi_strdup(own) : NULL
                                                : ypi_format("%s/%s", root, own);
    enum yp_status status = YP_OK;
    if (from != NULL && !uses_tests(r))
        status =
            yp_set_error(YP_INVALID,
                         "tests %s: no command uses them; setup, options or build in [gate] of "
                         "yieldpoint.ini is to name their directory, as {tests}",
                         from);
    else if (from != NULL)
        status = ypi_tests_take(r, from);
    else if (uses_tests(r))
        status = yp_set_error(YP_INVALID,
                              "[gate] of yieldpoint.ini has {tests} in a command, but no tests = "
                              "PATH; --tests PATH gives them too");
    if (status != YP_OK)
        fprintf(stderr, "yieldpoint: %s\n", yp_last_error());
    free(from);
    free(own);
    return status;
}

enum yp_status ypi_recipe_read(struct ypi_recipe *r, const char *tests)
{
    struct ypi_project project;
    const struct ypi_project_search usual = {0};
    *r = (struct ypi_recipe){.keep = KEEP_USUAL};
    bool ok = ypi_project_read(&project, &usual) && find_repository(r, project.root);
    if (ok && project.file != NULL)
        ok = ypi_ini_read(project.file, take, r) == YPI_INI_OK;
    r->cache = ypi_format("%s/.yieldpoint/gate", project.root);
    r->history = ypi_strdup(project.history != NULL ? project.history : "");
    r->tools = tools();
    enum yp_status status = ok ? find_tests(r, project.root, tests) : YP_INVALID;
    ypi_project_clear(&project);
    return status;
}

void ypi_recipe_clear(struct ypi_recipe *r)
{
    char *const texts[] = {r->root,    r->project, r->history, r->cache, r->setup,
                           r->options, r->build,   r->suites,  r->tools, r->tests};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        free(texts[i]);
    if (r->tests_lock > 0)
        close(r->tests_lock);
    *r = (struct ypi_recipe){0};
}

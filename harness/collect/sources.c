#include "harness/collect/sources.h"

#include "base/options/project.h"
#include "base/system/file.h"
#include "base/system/program.h"
#include "base/text/text.h"
#include "harness/collect/collect.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* -- one file ------------------------------------------------------------------------------ */

/* Its real path, which the caller frees; NULL: it is not there. */
static char *find_file(const char *file, const char *program)
{
    char above[YPI_PATH_MAX];
    char next[YPI_PATH_MAX];
    bool last = file[0] == '/';
    ypi_directory_of(above, program);
    for (;;) {
        char *path = file[0] == '/' ? ypi_strdup(file) : ypi_format("%s/%s", above, file);
        char *found = realpath(path, NULL);
        free(path);
        if (found != NULL || last)
            return found;
        ypi_directory_of(next, above);
        memcpy(above, next, sizeof above);
        last = strcmp(above, "/") == 0 || strchr(above, '/') == NULL;
    }
}

static char *parent_of(const char *path)
{
    char directory[YPI_PATH_MAX];
    ypi_directory_of(directory, path);
    return ypi_strdup(directory);
}

char *ypi_sources_directory(const char *program)
{
    struct ypi_tests tests = ypi_all_tests();
    char *file = tests.begin < tests.end ? find_file((*tests.begin)->file, program) : NULL;
    char *directory = file != NULL ? parent_of(file) : NULL;
    free(file);
    return directory;
}

/* -- all of them --------------------------------------------------------------------------- */

struct files {
    const char **names;  /* as the compiler was given them */
    char **found;        /* real paths; NULL: it is not there */
    char **repositories; /* the work tree that each is in; NULL: none */
    int count;
};

/* The caller frees. */
static char *repository_of(const char *file)
{
    char *directory = parent_of(file);
    char *git = ypi_nearest_from(directory, ".git");
    char *tree = git != NULL ? parent_of(git) : NULL;
    free(git);
    free(directory);
    return tree;
}

static bool has(const struct files *all, const char *name)
{
    int i = all->count - 1;
    while (i >= 0 && all->names[i] != name && strcmp(all->names[i], name) != 0)
        i--;
    return i >= 0;
}

static struct files find_all(const char *program)
{
    struct files all = {0};
    struct ypi_tests tests = ypi_all_tests();
    for (const struct yp_test *const *t = tests.begin; t < tests.end; t++) {
        if (has(&all, (*t)->file))
            continue;
        size_t more = (size_t)all.count + 1;
        char *found = find_file((*t)->file, program);
        all.names = ypi_realloc(all.names, more, sizeof *all.names);
        all.found = ypi_realloc(all.found, more, sizeof *all.found);
        all.repositories = ypi_realloc(all.repositories, more, sizeof *all.repositories);
        all.names[all.count] = (*t)->file;
        all.found[all.count] = found;
        all.repositories[all.count++] = found != NULL ? repository_of(found) : NULL;
    }
    return all;
}

static void clear(struct files *all)
{
    free((void *)all->names);
    ypi_list_free(all->found, all->count);
    ypi_list_free(all->repositories, all->count);
}

static bool is_inside(const char *path, const char *directory)
{
    size_t length = strcmp(directory, "/") == 0 ? 0 : strlen(directory);
    return strncmp(path, directory, length) == 0 && (path[length] == '/' || path[length] == '\0');
}

/* The one that holds them all; others may be submodules of it. NULL: s->note says why, unless none
 * is there. */
static const char *common_repository(const struct files *all, struct ypi_sources *s)
{
    const char *common = NULL;
    for (int i = 0; i < all->count; i++) {
        const char *mine = all->repositories[i];
        if (all->found[i] == NULL)
            continue;
        if (mine == NULL) {
            s->note = ypi_format("%s is in no git repository", all->found[i]);
            return NULL;
        }
        if (common == NULL || is_inside(common, mine))
            common = mine;
        if (!is_inside(mine, common)) {
            s->note = ypi_format("the program's sources are in several git repositories, %s and %s",
                                 common, mine);
            return NULL;
        }
    }
    return common;
}

/* How many of the files in this work tree git does not follow; -1: it does not say. *of: of how
 * many. */
static int count_others(const struct files *all, const char *repository, int *of)
{
    static const char *const variables[] = {"GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE",
                                            "GIT_OPTIONAL_LOCKS=0", NULL};
    const char *const begin[] = {"git",      "--literal-pathspecs",
                                 "-c",       "core.fsmonitor=false",
                                 "-C",       repository,
                                 "ls-files", "--others",
                                 "--"};
    enum { BEGIN = sizeof begin / sizeof *begin };
    const double patience = 2;
    const char **words = ypi_calloc((size_t)all->count + BEGIN + 1, sizeof *words);
    memcpy((void *)words, begin, sizeof begin);
    *of = 0;
    for (int i = 0; i < all->count; i++)
        if (all->found[i] != NULL && strcmp(all->repositories[i], repository) == 0)
            words[BEGIN + (*of)++] = all->found[i];
    char *text = NULL;
    struct ypi_program_status done = ypi_program_run(
        &(struct ypi_program){.words = words, .variables = variables, .log = "/dev/null"}, patience,
        NULL, &text);
    free((void *)words);
    int others = done.end == YPI_PROGRAM_EXITED && done.code == 0 ? 0 : -1;
    for (const char *at = text; others >= 0 && (at = strchr(at, '\n')) != NULL; at++)
        others++;
    free(text);
    return others;
}

/* The last one that is not there; NULL: all are. */
static const char *missing(const struct files *all, int *count)
{
    const char *name = NULL;
    *count = 0;
    for (int i = 0; i < all->count; i++)
        if (all->found[i] == NULL) {
            name = all->names[i];
            ++*count;
        }
    return name;
}

struct ypi_sources ypi_sources_find(const char *program)
{
    struct ypi_sources s = {0};
    struct files all = find_all(program);
    int lost = 0;
    int of = 0;
    const char *name = missing(&all, &lost);
    const char *common = common_repository(&all, &s);
    int others = common != NULL ? count_others(&all, common, &of) : 0;
    if (common != NULL && of > 0 && others == of) {
        s.note = ypi_format("git does not follow the program's sources in %s", common);
        common = NULL;
    }
    s.repository = common != NULL ? ypi_strdup(common) : NULL;
    s.changed = others > 0;
    if (s.note == NULL && name != NULL)
        s.note =
            ypi_format("%d of %d source%s of the program %s not on this machine, such as %s", lost,
                       all.count, all.count == 1 ? "" : "s", lost == 1 ? "is" : "are", name);
    clear(&all);
    return s;
}

void ypi_sources_clear(struct ypi_sources *s)
{
    free(s->repository);
    free(s->note);
    *s = (struct ypi_sources){0};
}

/* Revisions of the project, checked out and built beside each other, in a cache. */
#pragma once

#include <stdbool.h>
#include <stdio.h>
#include <yieldpoint/device.h>

/* How a revision is built: [gate] in the yieldpoint.ini of the tree that the command was started
 * in, for all revisions alike, so that one without such a section can be built too. Texts are
 * owned. */
struct ypi_recipe {
    char *root; /* of the git repository, absolute: its tree, or a bare one itself */
    bool bare;
    char *project;  /* where yieldpoint.ini is, from the root: "" or "native/" */
    char *history;  /* the project's */
    char *cache;    /* directory of the builds: .yieldpoint/gate of the project */
    char *setup;    /* shell command with {source}, {build} and {tests}; NULL: meson setup, unless
                       there is `build` and not `options` */
    char *options;  /* more words for meson setup, such as "-Dmodels=enabled"; NULL: none */
    char *build;    /* the same kind of command; NULL: ninja, of the suites alone */
    char *suites;   /* programs below the build directory, blank-separated; NULL: those of the meson
                       tests of suites `stress` and `perf` */
    int keep;       /* builds that the cache keeps */
    char *tests;    /* {tests}: a copy of test sources from outside the revisions, at a path that
                       follows from what is in it; NULL: none */
    int tests_lock; /* keeps it in the cache; 0: none */
    char *tools;    /* the compilers by name and version, and the flags in the environment */
};

/* `tests`: a path from the working directory, in the place of `tests` in [gate], which is one from
 * the directory of yieldpoint.ini; NULL: none. After telling stderr YP_IO where the copy of the
 * tests cannot be read or written, else YP_INVALID; *recipe is to be cleared then too. */
enum yp_status ypi_recipe_read(struct ypi_recipe *recipe, const char *tests);
void ypi_recipe_clear(struct ypi_recipe *recipe);

#define YPI_WORKTREE "WORKTREE" /* the name of what is not committed */

struct ypi_revision {
    char *name;      /* as the user gave it */
    char commit[65]; /* of WORKTREE: of a snapshot, without the files that git ignores */
    bool worktree;
    char *snapshot;       /* of WORKTREE: a repository in the cache that has it until it is built */
    char *source, *build; /* directories of the project; NULL before it is built; names as long
                             for all revisions */
    char **programs;      /* absolute paths of its suites */
    int program_count;
    char code[33]; /* a digest of what the build does, equal for equal ones; "": not known */
    int lock;      /* keeps the build in the cache; 0: none */
};

/* What the name means in the recipe's repository. The user's index, branches and list of worktrees
 * stay as they are. YP_INVALID with yp_last_error() set where there is no such commit. */
enum yp_status ypi_revision_find(const struct ypi_recipe *recipe, const char *name,
                                 struct ypi_revision *out);

/* Checks it out and builds it, or takes what the cache has of the same commit, commands, compilers
 * and flags. `progress` gets a line a step. On failure nothing is left but the log, which
 * yp_last_error() names behind its last lines. YP_INVALID: it has no suite. YP_IO: it does not
 * build. YP_UNSUPPORTED: interrupted, `*stop`. */
enum yp_status ypi_revision_build(const struct ypi_recipe *recipe, struct ypi_revision *revision,
                                  FILE *progress, const volatile bool *stop);

/* Whether both builds were made to the same code: their programs load the same bytes to the same
 * addresses, and all other files and yieldpoint.ini are the same, but for the path of the build
 * itself, debug information, build ids, objects and archives, and what meson, ninja and CMake keep
 * for themselves. Their cases do the same then, unless they read other files of the source. What
 * cannot be read is not the same. */
bool ypi_revision_same_build(const struct ypi_revision *base, const struct ypi_revision *head);

void ypi_revision_clear(struct ypi_revision *revision);

/* What the sources are: commit, branch, changes, as git reports them. */
#pragma once

#include <stdbool.h>

struct ypi_git {
    char commit[65];  /* hexadecimal; "" before the first commit */
    char branch[128]; /* "(detached)" when there is none */
    bool dirty;       /* files that git follows were changed */
};

/* Asks git about the tree that holds `directory`, whatever GIT_DIR and its like say. False when
 * there is no git, no repository, or no answer within 2 s. One child process, reaped on return. */
bool ypi_git_read(const char *directory, struct ypi_git *out);

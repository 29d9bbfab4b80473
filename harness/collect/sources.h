/* Where the sources of this program's tests lie: by the paths that the compiler was given, which
 * are whole or begin in a directory at or above the program's. */
#pragma once

#include <stdbool.h>

/* The directory of the first test's. NULL: it is not on this machine. The caller frees. */
char *ypi_sources_directory(const char *program);

struct ypi_sources {
    char *repository; /* the git work tree that holds all of them that are on this machine; NULL:
                         none does */
    bool changed;     /* git does not follow some of them */
    char *note;       /* why there is no repository, or what is not known of; NULL: all is */
};

/* `program` is its path. Asks git, which may take 2 s at most. To be cleared. */
struct ypi_sources ypi_sources_find(const char *program);
void ypi_sources_clear(struct ypi_sources *s);

/* All files of a directory, in the order of their names. */
#pragma once

#include <errno.h>
#include <fts.h>
#include <string.h>

static inline int ypi_walk_by_name(const FTSENT **a, const FTSENT **b)
{
    return strcmp((*a)->fts_name, (*b)->fts_name);
}

/* `options`: FTS_LOGICAL or FTS_PHYSICAL. NULL with errno set; fts_close() ends it. */
static inline FTS *ypi_walk(const char *path, int options)
{
    char *const roots[] = {(char *)path, NULL};
    return fts_open(roots, options | FTS_NOCHDIR, ypi_walk_by_name);
}

/* NULL: the end where errno is 0, and else an error. */
static inline FTSENT *ypi_walk_next(FTS *tree)
{
    errno = 0;
    return fts_read(tree);
}

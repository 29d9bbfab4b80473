/* A report that is printed into, and has its name once it is whole: nobody reads half of one. */
#ifndef YPI_PARTIAL_H
#define YPI_PARTIAL_H

#include "base/system/atomic_file.h"

#include <stdio.h>

struct ypi_partial {
    struct ypi_atomic_file file;
    FILE *out;          /* of a descriptor of its own */
    const char *option; /* "json", of --json, for messages; not owned */
};

/* In a directory that is made where it is missing. YP_IO with yp_last_error() set. */
enum yp_status ypi_partial_open(struct ypi_partial *p, const char *option, const char *path);

/* Ends it and gives it its name, in the place of another file. YP_IO with yp_last_error() set when
 * something was not written; what was there is then as it was. */
enum yp_status ypi_partial_close(struct ypi_partial *p);

/* Leaves what was there. */
void ypi_partial_abandon(struct ypi_partial *p);

#endif

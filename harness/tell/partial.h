/* A file that is written beside its place, and takes it when it is whole: nobody reads half of one.
 */
#ifndef YPI_PARTIAL_H
#define YPI_PARTIAL_H

#include <stdbool.h>
#include <stdio.h>
#include <yieldpoint/device.h>

struct ypi_partial {
    FILE *out;
    const char *option; /* that asks for it, for messages; not owned */
    char *path, *partial;
};

/* Opens PATH.partial, in a directory that is made where it is missing. YP_IO with yp_last_error()
 * set. */
enum yp_status ypi_partial_open(struct ypi_partial *p, const char *option, const char *path);

/* Closes it and puts it in its place. YP_IO with yp_last_error() set when something was not
 * written; PATH is then as it was. */
enum yp_status ypi_partial_close(struct ypi_partial *p);

#endif

/* What a run is going to do, for those who look on: a file in its directory, written once. */
#pragma once

#include "base/text/text.h"

#include <stdbool.h>
#include <yieldpoint/device.h>

/* Adds a case behind those that are there: the first has number 1, as in the plan. */
void ypi_case_list_add(struct ypi_text *list, const char *device, const char *id);

/* YP_IO with yp_last_error() set. */
enum yp_status ypi_case_list_write(const struct ypi_text *list, const char *directory);

struct ypi_case_list {
    struct ypi_listed_case {
        const char *device, *id;
    } * list;
    int count;
    char *text; /* which the names are parts of */
};

/* False: there is none, or it is of no form that this program knows. The caller clears. */
bool ypi_case_list_read(struct ypi_case_list *out, const char *directory);
void ypi_case_list_clear(struct ypi_case_list *list);

/* Who takes the cases of a report: what the command line asks for. */
#pragma once

#include "reports/content/content.h"

#include <cJSON.h>
#include <stdbool.h>
#include <yieldpoint/device.h>

/* What is to be written; NULL and false: not asked for. */
struct ypi_report_outputs {
    const char *page;     /* a file */
    const char *plots;    /* a directory */
    const char *trace;    /* a file; "-": the standard output */
    const char *markdown; /* the same */
    const char *ini;      /* a file: recommended configurations */
    bool text;            /* on the standard output */
    double limit;         /* bytes that recommended configurations may take; 0: the machine's */
};

struct ypi_consumers;

/* NULL with yp_last_error() set where a file cannot be created. `outputs` and `content` stay in
 * use. */
struct ypi_consumers *ypi_consumers_create(const struct ypi_report_outputs *outputs,
                                           const struct ypi_content *content);
/* One case, in the order of the content. */
enum yp_status ypi_consumers_take(struct ypi_consumers *all, const struct ypi_report_case *one,
                                  const cJSON *document);
/* Writes what is asked for and frees it, each output even where another fails: the error of the
 * first that does. With `whole` false nothing is written: not all cases could be read. */
enum yp_status ypi_consumers_finish(struct ypi_consumers *all, bool whole);

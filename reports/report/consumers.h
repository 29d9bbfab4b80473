/* Who takes the cases of a report: what the command line asks for. */
#pragma once

#include "reports/content/content.h"

#include <cJSON.h>
#include <stdbool.h>
#include <stdint.h>
#include <yieldpoint/device.h>

/* What is to be written; NULL and false: not asked for. "-" is the standard output. */
struct ypi_report_outputs {
    const char *page;
    const char *plots; /* a directory */
    const char *trace;
    const char *markdown;
    const char *configuration; /* an ini file */
    bool text;                 /* on the standard output */
    const char **tables;       /* CSV files whose rows are plotted too */
    int table_count;
    uint64_t memory_limit; /* of recommended configurations, bytes; 0: what the machine has */
};

struct ypi_consumers;

/* NULL with yp_last_error() set where a file cannot be created or a table cannot be read. `outputs`
 * and `content` stay in use. */
struct ypi_consumers *ypi_consumers_create(const struct ypi_report_outputs *outputs,
                                           const struct ypi_content *content);
/* One case, in the order of the content. */
enum yp_status ypi_consumers_take(struct ypi_consumers *all, const struct ypi_report_case *one,
                                  const cJSON *document);
/* Writes what is asked for and frees it: each output even where another cannot be written, which
 * stderr is told. Returns an enum ypi_command_exit. */
int ypi_consumers_finish(struct ypi_consumers *all);
/* Frees it; no file is written. */
void ypi_consumers_drop(struct ypi_consumers *all);

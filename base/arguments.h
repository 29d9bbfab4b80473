/* The command line of a report. */
#ifndef YPI_REPORT_ARGUMENTS_H
#define YPI_REPORT_ARGUMENTS_H

#include <stdbool.h>

struct ypi_report_option {
    const char *name; /* "--id", or "-n" */
    bool *flag;       /* set when it is there; or */
    char **value;     /* its value, not owned */
};

/* Takes the options of `options` (the last one has no name) and at most one other word, which
 * goes to *word (NULL: none is allowed). False when something else is there: it was told, with
 * its place marked. */
bool ypi_report_options(int argc, char **argv, const struct ypi_report_option *options,
                        char **word);

/* Tells what is wrong with argv[index], and marks it. */
void ypi_usage_error(int argc, char **argv, int index, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* The place of `value` among the words, for ypi_usage_error; argc when it is not there. */
int ypi_place_of(int argc, char **argv, const char *value);

#endif

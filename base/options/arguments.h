/* The command line of a subcommand. */
#pragma once

#include "base/options/option.h"

struct ypi_arguments {
    const struct ypi_option *options;
    void *values;       /* the structure that the options fill */
    const char **word;  /* the one other word that is allowed, not owned; NULL: none is */
    const char **words; /* with room for all of argv: any number is allowed, not owned; or NULL */
    int *word_count;    /* of them */
    const char *hint;   /* behind "there is no such option"; NULL: nothing */
    int names;          /* words behind argv[0] that say which command it is: `plan` */
};

/* Takes the words behind argv[0] and the command's names: "--id X", "--id=X", "-n X", "-nX", "--".
 * False at anything else, which is reported with its place marked. "--list-options" as the last
 * word prints the table for shells and manual pages, a line an option, and ends the program. */
bool ypi_arguments_read(const struct ypi_arguments *a, int argc, char **argv);

/* Prints what is wrong with argv[index], and marks it. */
void ypi_usage_error(int argc, char **argv, int index, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* The place of `value` among the words, for ypi_usage_error; argc when it is not there. */
int ypi_place_of(int argc, char **argv, const char *value);

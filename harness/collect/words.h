/* Words of a command line, or of a text that stands for one: options of a table, and others. */
#pragma once

#include "base/options/option.h"

struct ypi_reader {
    const struct ypi_option *table;
    void *values;                                  /* that the options fill */
    void (*other)(void *values, const char *word); /* takes what is no option */
    /* Told of each option that was taken, with its value ("": it takes none) and where it stands.
     * NULL: nobody asks. */
    void (*given)(void *values, const struct ypi_option *option, const char *text,
                  const char *source);
};

/* Reads --name=VALUE, --name VALUE, -l VALUE, -lVALUE, letters together (-qv), and behind -- other
 * words only. `source` is where they are from. False after telling stderr what is wrong with which
 * of them, and what is allowed. */
bool ypi_words_read(const struct ypi_reader *r, const char *source, char **words, int count);

/* The same of a text, split at blanks and line ends; "..." and '...' keep them. */
bool ypi_words_read_text(const struct ypi_reader *r, const char *source, const char *text);

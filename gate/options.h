/* Options that several commands have. */
#pragma once

#include "base/options/option.h"

/* Readers of a double at the option's offset: a part such as "3%", from 0.1 % to 100 %; a rate from
 * 1e-6 to 0.25; a time in seconds, from 1 s. */
char *ypi_read_threshold(void *values, const struct ypi_option *option, const char *text);
char *ypi_read_error(void *values, const struct ypi_option *option, const char *text);
char *ypi_read_budget(void *values, const struct ypi_option *option, const char *text);

#define YPI_THRESHOLD 0.03 /* unless --threshold says otherwise */
#define YPI_ERROR 0.01     /* unless --error does */

#define YPI_OPTION_AT(kind_, struct_, member) \
    .kind = YPI_OPTION_##kind_, .offset = offsetof(struct_, member)

/* Where a struct ypi_report member goes to. */
#define YPI_OPTIONS_OUT(struct_, report_) \
    {"json", YPI_OPTION_AT(WORD, struct_, report_.json)}, \
    { \
        "markdown", YPI_OPTION_AT(WORD, struct_, report_.markdown) \
    }
#define YPI_OPTION_VERBOSE(struct_, report_) \
    { \
        "verbose", 'v', YPI_OPTION_AT(FLAG, struct_, report_.verbose) \
    }

/* An int: what is there in the base alone fails the comparison. */
#define YPI_OPTION_MISSING(struct_, member) \
    { \
        .name = "missing", .kind = YPI_OPTION_CHOICE, .offset = offsetof(struct_, member), \
        .choices = "report fail" \
    }

#define YPI_OPTION_OF(read_, struct_, member) \
    .kind = YPI_OPTION_OWN, .value = "", .read = (read_), .offset = offsetof(struct_, member)

/* Options that the program declares: YP_OPTION. */
#pragma once

#include "base/options/option.h"
#include "harness/vocabulary/options.h"

/* In the order of the help. */
enum ypi_option_group {
    YPI_GROUP_SELECTION,
    YPI_GROUP_RUN,
    YPI_GROUP_SPEED,
    YPI_GROUP_LIMITS,
    YPI_GROUP_OUTPUT,
    YPI_GROUP_FILES,
    YPI_GROUP_OTHER,
    YPI_GROUP_PROGRAM
};

/* Behind those of every program in the line that reproduces. */
enum { YPI_PROGRAM_AGAIN = 100 };

/* A table of `common` and the program's own behind it, sorted by name; their values are those of
 * struct ypi_options. The caller frees. *errors counts declarations that are wrong: each was
 * reported to stderr and left out. */
struct ypi_option *ypi_with_program_options(const struct ypi_option *common, int *errors);

/* With the working directory in front where it is not from /. NULL: there is none. The caller
 * frees. */
char *ypi_whole_path(const char *path);

/* Runs an axis at this value too; one that is there is no second. */
void ypi_options_set_axis(struct ypi_options *o, const char *axis, const char *value);
/* Forgets all values. */
void ypi_program_options_forget(void);

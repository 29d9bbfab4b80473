/* Reading the options of a run; what they mean for processes and for the line that reproduces. */
#pragma once

#include "harness/vocabulary/options.h"

/* Fills *o. Returns YPI_EXIT_OK; or, after telling stderr what, where, and what is allowed,
 * YPI_EXIT_USAGE, or YPI_EXIT_INTERRUPTED where an option that the program declares is wrong. */
enum ypi_exit ypi_options_read(struct ypi_options *o, int argc, char **argv);
void ypi_options_clear(struct ypi_options *o);

/* -- for configuration.c, which reads them: the table, kept to the end; *errors counts declarations
 * of the program's own that are wrong */
const struct ypi_option *ypi_options_table(int *errors);
void ypi_options_begin(struct ypi_options *o); /* as built in */
/* Puts the options of the reporters into the table (report/reporter.c). Returns their end. */
struct ypi_option *ypi_reporter_options(struct ypi_option *out, int group);
bool ypi_option_is_usual(const struct ypi_options *o, const struct ypi_option *option);
/* What follows from one option for another. False after telling stderr which do not fit. */
bool ypi_options_complete(struct ypi_options *o);

void ypi_options_help(const char *program);
/* Says in the environment which instructions are the highest to use, if --isa was given: for this
 * process, unless it has asked already, and for those that it starts or becomes. Likewise which
 * kernels an OpenBLAS that does not know the processor has to take (base/simd/openblas.h). */
void ypi_confine_isa(const struct ypi_options *o);

/* The options that change a case's data or verdicts, for the line that reproduces it: each one
 * word such as "--set=cubes=2". Those of a relation end with "-m" and "-k" and what they select by,
 * for it reads the cases that are selected. The caller frees the words and the array. */
char **ypi_options_reproduce(const struct ypi_options *o, bool relation, int *count);

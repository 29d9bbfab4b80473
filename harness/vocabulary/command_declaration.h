/* What the declaration of a command says (YP_COMMAND). */
#pragma once

#include <yieldpoint/test.h>

/* NULL when .command, .input and .environment of the test are right or absent, else what is wrong
 * with them; the caller frees. */
char *ypi_command_problem(const struct yp_test *test);

/* The next assignment at *cursor, its quotes taken off: "NAME=value", which the caller frees. NULL
 * at the end, or with *problem set (the caller frees that too). */
char *ypi_command_assignment(const char **cursor, char **problem);

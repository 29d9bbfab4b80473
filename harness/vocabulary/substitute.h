/* Texts of a declaration in which {axis}, {case}, {seed} and {device} stand for what a case has
 * there: commands and the names of fixtures. {{ is a brace. */
#pragma once

#include "harness/vocabulary/case.h"

/* `text` with those words replaced, each as `quote` writes it (the caller's, as what is returned
 * is). Only of a text without a problem. */
char *ypi_substitute(const struct yp_case *c, const char *text, char *(*quote)(const char *value));

/* What is wrong with the words in the text of this field: NULL, or the caller frees it. */
char *ypi_substitute_problem(const struct yp_test *test, const char *field, const char *text);

/* An axis or a parameter of a name that would hide one of the words; the same. */
char *ypi_substitute_hidden(const struct yp_test *test);

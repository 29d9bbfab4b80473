/* `-m` and `-k`: words joined by and, or, not and parentheses, as pytest has them. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Whether a word holds; `word` is not terminated. */
typedef bool ypi_matches(void *arg, const char *word, size_t length);

struct ypi_expression_error {
    size_t offset; /* into the expression */
    size_t length; /* of the offending word, at least 1 */
    char message[160];
};

/* Evaluates; false in *valid, with the error filled, when the expression is malformed. Every
 * word is shown to `matches`, also where the result no longer depends on it. */
bool ypi_expression(const char *expression, ypi_matches *matches, void *arg, bool *valid,
                    struct ypi_expression_error *error);

/* The one line that runs a case again. */
#ifndef YPI_REPRODUCE_H
#define YPI_REPRODUCE_H

#include <stdint.h>

/* "<program> '<id>' --seed N <extra...>", each argument quoted so that a POSIX shell hands it on
 * as it is. `extra` has `extra_count` arguments (NULL when 0). Owned by the caller: free(). NULL
 * when there is no memory. */
char *ypi_reproduce(const char *program, const char *id, uint64_t seed, const char *const *extra,
                    int extra_count);

/* One argument, quoted where a shell would not take it as it stands. Owned by the caller. */
char *ypi_shell_quote(const char *argument);

#endif

/* The one line that runs a case again. */
#ifndef YPI_REPRODUCE_H
#define YPI_REPRODUCE_H

#include <stdint.h>

/* "<program> '<id>' --seed N <extra...>", each argument quoted so that a POSIX shell hands it on
 * as it is. `extra` has `extra_count` arguments (NULL when 0). Owned by the caller: free(). */
char *ypi_reproduce(const char *program, const char *id, uint64_t seed, const char *const *extra,
                    int extra_count);

#endif

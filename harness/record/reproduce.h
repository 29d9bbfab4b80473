/* The one line that runs a case again. */
#pragma once

#include <stdint.h>

/* Of the options stored with a run, how many from the first on are for every case: behind them
 * stands what was selected by, "-m" and "-k", for relations alone. */
int ypi_reproduce_words_of_case(const char *const *words, int count);

/* "<program> '<id>' --seed N <extra...>", each argument quoted so that a POSIX shell hands it on
 * as it is. `extra` has `extra_count` arguments (NULL when 0). Owned by the caller: free(). */
char *ypi_reproduce(const char *program, const char *id, uint64_t seed, const char *const *extra,
                    int extra_count);

#include "harness/record/reproduce.h"

#include "base/text/text.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

int ypi_reproduce_words_of_case(const char *const *words, int count)
{
    int own = 0;
    while (own < count && strcmp(words[own], "-m") != 0 && strcmp(words[own], "-k") != 0)
        own++;
    return own;
}

char *ypi_reproduce(const char *program, const char *id, uint64_t seed, const char *const *extra,
                    int extra_count)
{
    struct ypi_text line = {0};
    ypi_text_quoted(&line, program, false);
    ypi_text_add(&line, " ");
    /* One that begins like an option is written as node.h reads it. */
    char *word = id[0] == '-' ? ypi_format("%%2d%s", id + 1) : ypi_strdup(id);
    ypi_text_quoted(&line, word, true); /* a reader then sees where the id ends */
    free(word);
    ypi_text_add(&line, " --seed %" PRIu64, seed);
    for (int i = 0; i < extra_count; i++) {
        ypi_text_add(&line, " ");
        ypi_text_quoted(&line, extra[i], false);
    }
    return ypi_text_take(&line);
}

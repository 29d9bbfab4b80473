/* The command line: the first line is YIELDPOINT_OPTIONS, each other one a word. */
#include "harness/collect/options.h"

#include "base/text/text.h"
#include "harness/collect/words.h"
#include "tests/fuzz/fuzz.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { WORDS_MAX = 64 };

static enum ypi_exit read_words(struct ypi_options *o, char **words, int count)
{
    char *all[WORDS_MAX + 2] = {"program"};
    for (int i = 0; i < count; i++)
        all[i + 1] = words[i];
    memset(o, 0x5a, sizeof *o); /* all of it is to be filled */
    return ypi_options_read(o, count + 1, all);
}

/* What reproduces a case is taken again, and is then the same. */
static void check_reproduction(const struct ypi_options *o)
{
    struct ypi_options again;
    int count = 0;
    int count_again = 0;
    char **words = ypi_options_reproduce(o, false, &count);
    if (count <= WORDS_MAX) {
        FUZZ_CHECK(read_words(&again, words, count) == YPI_EXIT_OK);
        char **words_again = ypi_options_reproduce(&again, false, &count_again);
        FUZZ_CHECK(count == count_again);
        for (int i = 0; i < count; i++)
            FUZZ_CHECK(strcmp(words[i], words_again[i]) == 0);
        ypi_list_free(words_again, count_again);
        ypi_options_clear(&again);
    }
    ypi_list_free(words, count);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_input input = {data, size};
    struct ypi_options o;
    char *environment = fuzz_line(&input);
    char *words[WORDS_MAX];
    int count = 0;
    while (input.left > 0 && count < WORDS_MAX)
        words[count++] = fuzz_line(&input);
    fuzz_enter(); /* no yieldpoint.ini is above it */
    setenv("YIELDPOINT_OPTIONS", environment, 1);
    enum ypi_exit code = read_words(&o, words, count);
    unsetenv("YIELDPOINT_OPTIONS");
    FUZZ_CHECK(code == YPI_EXIT_OK || code == YPI_EXIT_USAGE);
    if (code == YPI_EXIT_OK)
        check_reproduction(&o);
    ypi_options_clear(&o);
    fuzz_leave();
    for (int i = 0; i < count; i++)
        free(words[i]);
    free(environment);
    return 0;
}

#include "harness/driver/debugger.h"

#include "base/system/self.h"
#include "base/text/text.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PROGRAM = 2 }; /* among gdb's words */

static enum ypi_exit refuse_selection(const struct ypi_collection *c, int selected)
{
    enum { SHOWN = 20 };
    fprintf(stderr, "error: --gdb takes one case, %d are selected:\n", selected);
    for (int i = 0; i < selected && i < SHOWN; i++)
        fprintf(stderr, "  %s\n", c->cases[i]->id);
    if (selected > SHOWN)
        fprintf(stderr, "  and %d more\n", selected - SHOWN);
    return YPI_EXIT_USAGE;
}

/* What gdb executes, without its first word: NULL where --gdb does not stand on the command line,
 * and would come again and again. */
static char **words_of(char **argv)
{
    const char *const before[] = {"gdb", "--args", NULL, "--no-fork", "--speed=off"};
    enum { BEFORE = sizeof before / sizeof *before };
    size_t count = 0;
    while (argv[count] != NULL)
        count++;
    char **words = ypi_calloc(count + BEFORE + 1, sizeof *words);
    size_t to = BEFORE;
    bool found = false;
    bool options_end = false;
    memcpy(words, before, sizeof before);
    for (size_t i = 1; i < count; i++) {
        bool is = !options_end && strcmp(argv[i], "--gdb") == 0;
        options_end = options_end || strcmp(argv[i], "--") == 0;
        found = found || is;
        if (!is)
            words[to++] = argv[i];
    }
    if (found)
        return words;
    free(words);
    return NULL;
}

/* Those that only another case needs run in front of it, in the same process. */
static int brought(const struct ypi_collection *c, int selected)
{
    int count = 0;
    for (int i = 0; i < selected; i++)
        count += c->cases[i]->needed;
    return count;
}

/* A debugger has one process: the others would wait for it. */
static bool has_ranks(const struct ypi_collection *c, int selected)
{
    for (int i = 0; i < selected; i++) {
        if (c->cases[i]->needed || ypi_ranks(c->cases[i]) < 2)
            continue;
        fprintf(stderr,
                "error: --gdb takes a case of one process, and %s has %d: attach to one of them "
                "(gdb -p PID)\n",
                c->cases[i]->id, ypi_ranks(c->cases[i]));
        return true;
    }
    return false;
}

enum ypi_exit ypi_debug(const struct ypi_collection *c, int selected, char **argv)
{
    if (selected - brought(c, selected) != 1)
        return refuse_selection(c, selected);
    if (has_ranks(c, selected))
        return YPI_EXIT_USAGE;
    char **words = words_of(argv);
    if (words == NULL) {
        fputs("error: --gdb belongs on the command line, not into YIELDPOINT_OPTIONS or "
              "yieldpoint.ini\n",
              stderr);
        return YPI_EXIT_USAGE;
    }
    if (!ypi_self_in_place()) {
        fprintf(stderr, "error: --gdb: %s is another file by now; start it again\n",
                ypi_self_path());
        free(words);
        return YPI_EXIT_INTERNAL;
    }
    words[PROGRAM] = (char *)(uintptr_t)ypi_self_path();
    fflush(NULL);
    execvp(words[0], words);
    if (errno == ENOENT)
        fputs("error: --gdb: there is no gdb in PATH; Debian's package is gdb\n", stderr);
    else
        fprintf(stderr, "error: --gdb: %s\n", strerror(errno));
    free(words);
    return YPI_EXIT_INTERNAL;
}

/* Suites driven by their command line. */
#pragma once

#include <stdbool.h>
#include <yieldpoint/device.h>

/* Which cases are meant; words of the suites' own command line. Not owned. */
struct ypi_choice {
    const char *mark, *keyword; /* NULL: all */
    const char *const *ids;
    int id_count;
};

/* A program of one revision. Not owned. */
struct ypi_suite {
    const char *program;        /* absolute path */
    const char *directory;      /* that it starts in */
    const char *const *options; /* words more, ended by NULL; or NULL */
    const char *log;            /* what it says goes there */
};

/* The blank-separated words of both texts (NULL: none), ended by NULL; owned. */
char **ypi_suite_options(const char *text, const char *more);
void ypi_suite_options_free(char **options); /* NULL: nothing */

/* Whether it knows --turns. */
bool ypi_suite_takes_turns(const struct ypi_suite *suite, const volatile bool *stop);

/* The ids of the chosen cases, in the suite's order: *list and *count, both owned. None is no
 * error. An id that is wanted and not there is none either: another suite may have it. YP_IO: the
 * suite cannot be asked; YP_INVALID: it refuses the choice; YP_UNSUPPORTED: stopped. */
enum yp_status ypi_suite_list(const struct ypi_suite *suite, const struct ypi_choice *choice,
                              const volatile bool *stop, char ***list, int *count);

/* Those of them that run a command (YP_COMMAND), by the same rules. */
enum yp_status ypi_suite_list_commands(const struct ypi_suite *suite,
                                       const struct ypi_choice *choice, const volatile bool *stop,
                                       char ***list, int *count);

enum ypi_suite_mode {
    YPI_SUITE_EXACT, /* nothing is timed */
    YPI_SUITE_COUNT, /* nothing is timed, instructions are counted by Callgrind */
    YPI_SUITE_TIME,  /* the machine's lock is the suite's own to take */
};

/* Runs cases into the history at `history`. Cases may fail. The same errors. */
enum yp_status ypi_suite_run(const struct ypi_suite *suite, enum ypi_suite_mode mode,
                             char *const *ids, int count, const char *history,
                             const volatile bool *stop);

/* Options as a command line gives them, and a collection under them, for tests in a folder of their
 * own. */
#pragma once

#include "harness/collect/collect.h"
#include "harness/collect/options.h"
#include "tests/unit/harness/capture.h"
#include "tests/unit/harness/folder.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

static struct ypi_options options;
static struct ypi_collection found;

static inline void let_go(void)
{
    ypi_collection_clear(&found);
    ypi_options_clear(&options);
}

static inline void end_collecting(void)
{
    let_go();
    remove_empty_directory();
}

/* The words are separated by '|': one may hold blanks. Valid until the next call. */
static inline enum ypi_exit read_words(const char *words)
{
    static char copy[4096];
    char *argv[16] = {(char *)(uintptr_t) "/some/where/suite"};
    int argc = 1;
    snprintf(copy, sizeof copy, "%s", words);
    char *at = copy;
    while (words[0] != '\0' && at != NULL && argc < 16)
        argv[argc++] = strsep(&at, "|");
    let_go();
    return ypi_options_read(&options, argc, argv);
}

/* A body. */
static inline void nothing(struct yp_case *t)
{
    (void)t;
}

/* Collects under such words; returns what was printed. */
static inline const char *collect_all(const struct yp_test *const *tests, size_t count,
                                      const char *words)
{
    cr_assert_eq(read_words(words), YPI_EXIT_OK);
    capture_begin(STDERR_FILENO);
    ypi_collect(&found, &options, (struct ypi_tests){tests, tests + count});
    return capture_end();
}

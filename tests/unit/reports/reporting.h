/* What a report prints of a history in a folder of the test's own. */
#pragma once

#include "tests/unit/harness/capture.h"
#include "tests/unit/harness/folder.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static char output[1 << 20];
static char errors[1 << 20];

/* Runs a command with the words of a line. */
static inline int run_report(int (*command)(int, char **), char *line, const char *between)
{
    char *argv[24];
    int argc = 0;
    for (char *rest = line; rest != NULL;)
        argv[argc++] = strsep(&rest, between);
    argv[argc] = NULL;
    capture_begin(STDOUT_FILENO);
    capture_begin(STDERR_FILENO);
    int code = command(argc, argv);
    snprintf(errors, sizeof errors, "%s", capture_end());
    snprintf(output, sizeof output, "%s", capture_end());
    return code;
}

static inline void expect_output(const char *wanted)
{
    cr_expect_not_null(strstr(output, wanted), "'%s' is not in:\n%s%s", wanted, output, errors);
}

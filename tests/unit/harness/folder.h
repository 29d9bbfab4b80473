/* A directory of each test's own. */
#pragma once

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static char directory[64];

static inline void make_directory(void)
{
    snprintf(directory, sizeof directory, "/tmp/yp-unit-XXXXXX");
    cr_assert_not_null(mkdtemp(directory));
}

/* And works there, without options of the environment. */
static inline void enter_directory(void)
{
    make_directory();
    cr_assert_eq(chdir(directory), 0);
    unsetenv("YIELDPOINT_OPTIONS");
}

static inline void remove_directory(void)
{
    char command[128];
    snprintf(command, sizeof command, "rm -rf '%s'", directory);
    cr_assert_eq(system(command), 0);
}

/* Writes a file of it. */
static inline void write_text(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");
    cr_assert(file != NULL && fputs(text, file) >= 0 && fclose(file) == 0, "%s", path);
}

/* Nothing may be left in it. */
static inline void remove_empty_directory(void)
{
    cr_assert_eq(rmdir(directory), 0);
}

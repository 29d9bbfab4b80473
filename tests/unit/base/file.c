/* Files that are read whole, and the directories of paths. */
#include "base/system/file.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

Test(file, is_read_up_to_the_size)
{
    char path[64];
    char text[8];
    snprintf(path, sizeof path, "/tmp/yp-file-%d", (int)getpid());
    FILE *file = fopen(path, "w");
    cr_assert_not_null(file);
    fputs("0123456789", file);
    fclose(file);
    cr_expect_eq(ypi_read_file(path, text, sizeof text), 7);
    cr_expect_str_eq(text, "0123456");
    cr_assert_eq(truncate(path, 3), 0);
    cr_expect_eq(ypi_read_file(path, text, sizeof text), 3);
    cr_expect_str_eq(text, "012");
    unlink(path);
    cr_expect_eq(ypi_read_file(path, text, sizeof text), 0);
    cr_expect_str_eq(text, "");
    cr_expect_eq(ypi_read_file("/tmp", text, sizeof text), 0);
}

/* The kernel gives its size as 0. */
Test(file, of_the_kernel_is_read)
{
    char text[64];
    cr_expect_gt(ypi_read_file("/proc/self/comm", text, sizeof text), 0);
}

Test(file, directories)
{
    static const struct {
        const char *path, *directory;
    } tried[] = {{"a", "."},     {"", "."},    {"/a", "/"},    {"/", "/"},       {"a/b", "a"},
                 {"/a/b", "/a"}, {"./a", "."}, {"../a", ".."}, {"a/b/c", "a/b"}, {"a b/c", "a b"}};
    char directory[YPI_PATH_MAX];
    for (size_t i = 0; i < sizeof tried / sizeof *tried; i++) {
        ypi_directory_of(directory, tried[i].path);
        cr_expect_str_eq(directory, tried[i].directory, "'%s'", tried[i].path);
    }
}

Test(file, parents_are_made)
{
    char top[64];
    char path[128];
    char text[8];
    snprintf(top, sizeof top, "/tmp/yp-file-%d", (int)getpid());
    snprintf(path, sizeof path, "%s/a.yieldpoint/.yieldpoint/deep/history.db", top);
    cr_expect_eq(ypi_make_parents(path), YP_OK);
    cr_expect_eq(ypi_make_parents(path), YP_OK, "a second time");
    snprintf(path, sizeof path, "%s/a.yieldpoint/.yieldpoint/.gitignore", top);
    cr_expect_eq(ypi_read_file(path, text, sizeof text), 2);
    cr_expect_str_eq(text, "*\n");
    static const char *const none[] = {"", "/a.yieldpoint", "/a.yieldpoint/.yieldpoint/deep"};
    for (size_t i = 0; i < sizeof none / sizeof *none; i++) {
        snprintf(path, sizeof path, "%s%s/.gitignore", top, none[i]);
        cr_expect_neq(access(path, F_OK), 0, "%s", path);
    }
    snprintf(path, sizeof path, "%s/a.yieldpoint/.yieldpoint/.gitignore/x/y", top);
    cr_expect_eq(ypi_make_parents(path), YP_IO, "a file is in the way");
    cr_expect_not_null(strstr(yp_last_error(), ".gitignore/x cannot be made: "), "%s",
                       yp_last_error());
    cr_expect_eq(ypi_make_parents("file"), YP_OK);
    cr_expect_eq(ypi_make_parents(""), YP_OK);
    ypi_remove_tree(top);
}

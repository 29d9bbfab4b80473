/* What a piece of code writes to a descriptor, for tests that read it. The capture of one
 * descriptor may be inside that of another. */
#pragma once

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

static struct {
    int of, kept;
} captures[2];
static int capture_count;

static inline void capture_begin(int fd)
{
    fflush(NULL);
    int file = memfd_create("capture", 0);
    int kept = dup(fd);
    cr_assert(file >= 0 && kept >= 0 && capture_count < 2);
    captures[capture_count].of = fd;
    captures[capture_count++].kept = kept;
    cr_assert_eq(dup2(file, fd), fd);
    close(file);
}

/* What was written since; valid until the next call. */
static inline const char *capture_end(void)
{
    static char text[1 << 20];
    fflush(NULL);
    const int of = captures[--capture_count].of;
    ssize_t size = pread(of, text, sizeof text - 1, 0);
    cr_assert(size >= 0);
    text[size] = '\0';
    dup2(captures[capture_count].kept, of);
    close(captures[capture_count].kept);
    return text;
}

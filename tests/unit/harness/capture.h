/* What a piece of code writes to a descriptor, for tests that read it. One capture at a time. */
#pragma once

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

static int capture_of = -1, capture_kept = -1;

static inline void capture_begin(int fd)
{
    fflush(NULL);
    int file = memfd_create("capture", 0);
    capture_of = fd;
    capture_kept = dup(fd);
    cr_assert(file >= 0 && capture_kept >= 0);
    cr_assert_eq(dup2(file, fd), fd);
    close(file);
}

/* What was written since; valid until the next call. */
static inline const char *capture_end(void)
{
    static char text[1 << 20];
    fflush(NULL);
    ssize_t size = pread(capture_of, text, sizeof text - 1, 0);
    cr_assert(size >= 0);
    text[size] = '\0';
    dup2(capture_kept, capture_of);
    close(capture_kept);
    return text;
}

/* The storage below a directory, not the page cache in front of it. */
#include "machine/machine.h"

#include "base/clock.h"
#include "base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

#define PIECE ((size_t)1 << 20)
#define ALIGNMENT 4096 /* of what goes past the cache */

struct ypi_storage {
    int fd;
    size_t bytes;
    uint64_t *piece;
};

/* Without a name in the directory, so that it is gone whatever becomes of this process. */
static int open_nameless(const char *directory, int flags)
{
    int fd = open(directory, O_TMPFILE | O_RDWR | O_CLOEXEC | flags, 0600);
    if (fd >= 0 || (errno != EOPNOTSUPP && errno != EISDIR && errno != EINVAL))
        return fd;
    char *path = ypi_format("%s/.storage-XXXXXX", directory);
    fd = mkostemp(path, O_CLOEXEC | flags);
    if (fd >= 0)
        unlink(path);
    free(path);
    return fd;
}

static bool has_room(const char *directory, size_t bytes)
{
    struct statvfs s;
    if (statvfs(directory, &s) != 0)
        return true; /* writing will tell */
    return (double)s.f_bavail * (double)s.f_frsize >= 2 * (double)bytes;
}

struct ypi_storage *ypi_storage_open(const char *directory, size_t bytes)
{
    if (!has_room(directory, bytes)) {
        yp_set_error(YP_IO, "storage of '%s': less than twice %zu bytes are free", directory,
                     bytes);
        return NULL;
    }
    int fd = open_nameless(directory, O_DIRECT);
    if (fd < 0 && errno == EINVAL)
        fd = open_nameless(directory, 0);
    if (fd < 0) {
        yp_set_error(YP_IO, "storage of '%s': a file cannot be created: %s", directory,
                     strerror(errno));
        return NULL;
    }
    struct ypi_storage *s = ypi_calloc(1, sizeof *s);
    s->fd = fd;
    s->bytes = bytes / PIECE * PIECE;
    s->piece = aligned_alloc(ALIGNMENT, PIECE);
    if (s->piece == NULL) {
        yp_set_error(YP_OUT_OF_MEMORY, "out of memory: storage of '%s'", directory);
        ypi_storage_close(s);
        return NULL;
    }
    return s;
}

/* What stands in the file at this place: nothing that a device could make smaller. */
static void fill(struct ypi_storage *s, size_t at)
{
    uint64_t x = at + 1;
    for (size_t i = 0; i < PIECE / sizeof *s->piece; i++) {
        x ^= x << 13; /* Marsaglia, "Xorshift RNGs", Journal of Statistical Software 8 (2003) */
        x ^= x >> 7;
        x ^= x << 17;
        s->piece[i] = x;
    }
}

double ypi_storage_write(struct ypi_storage *s)
{
    double seconds = 0;
    for (size_t at = 0; at < s->bytes; at += PIECE) {
        fill(s, at);
        double begin = ypi_now();
        if (pwrite(s->fd, s->piece, PIECE, (off_t)at) != (ssize_t)PIECE)
            return NAN;
        seconds += ypi_now() - begin;
    }
    double begin = ypi_now();
    if (fdatasync(s->fd) != 0)
        return NAN;
    seconds += ypi_now() - begin;
    return (double)s->bytes / seconds;
}

/* Whether it begins as fill() would have it; all of it would cost more than reading it. */
static bool is_as_written(const struct ypi_storage *s, size_t at)
{
    uint64_t x = at + 1;
    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
    return s->piece[0] == x;
}

double ypi_storage_read(struct ypi_storage *s)
{
    double seconds = 0;
    (void)posix_fadvise(s->fd, 0, 0, POSIX_FADV_DONTNEED);
    for (size_t at = 0; at < s->bytes; at += PIECE) {
        s->piece[0] = 0;
        double begin = ypi_now();
        if (pread(s->fd, s->piece, PIECE, (off_t)at) != (ssize_t)PIECE)
            return NAN;
        seconds += ypi_now() - begin;
        if (!is_as_written(s, at))
            return NAN;
    }
    return (double)s->bytes / seconds;
}

void ypi_storage_close(struct ypi_storage *s)
{
    if (s == NULL)
        return;
    close(s->fd);
    free(s->piece);
    free(s);
}

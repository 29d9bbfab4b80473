/* Speed of the storage of a directory, without the page cache. */
#include "machine/machine.h"

#include "base/system/clock.h"
#include "base/text/text.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

#define BLOCK ((size_t)1 << 20)
#define ALIGNMENT 4096 /* of buffers for O_DIRECT */

struct ypi_storage {
    int fd;
    size_t bytes;
    uint64_t *block;
};

/* Without a name, so that the file disappears with this process however it ends. */
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

static bool has_space(const char *directory, size_t bytes)
{
    struct statvfs s;
    if (statvfs(directory, &s) != 0)
        return true; /* then writing fails */
    return (double)s.f_bavail * (double)s.f_frsize >= 2 * (double)bytes;
}

struct ypi_storage *ypi_storage_open(const char *directory, size_t bytes)
{
    if (!has_space(directory, bytes)) {
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
    s->bytes = bytes / BLOCK * BLOCK;
    s->block = aligned_alloc(ALIGNMENT, BLOCK);
    if (s->block == NULL) {
        yp_set_error(YP_OUT_OF_MEMORY, "out of memory: storage of '%s'", directory);
        ypi_storage_close(s);
        return NULL;
    }
    return s;
}

/* Marsaglia, "Xorshift RNGs", Journal of Statistical Software 8 (2003). */
static uint64_t xorshift(uint64_t x)
{
    x ^= x << 13;
    x ^= x >> 7;
    return x ^ x << 17;
}

/* The contents of the file at this offset; random, so that a device cannot compress them. */
static void fill(struct ypi_storage *s, size_t at)
{
    uint64_t x = at + 1;
    for (size_t i = 0; i < BLOCK / sizeof *s->block; i++)
        s->block[i] = x = xorshift(x);
}

double ypi_storage_write(struct ypi_storage *s)
{
    double seconds = 0;
    for (size_t at = 0; at < s->bytes; at += BLOCK) {
        fill(s, at);
        double begin = ypi_now();
        if (pwrite(s->fd, s->block, BLOCK, (off_t)at) != (ssize_t)BLOCK)
            return NAN;
        seconds += ypi_now() - begin;
    }
    double begin = ypi_now();
    if (fdatasync(s->fd) != 0)
        return NAN;
    seconds += ypi_now() - begin;
    return (double)s->bytes / seconds;
}

/* Whether the block begins as written; comparing all of it would cost more than reading it. */
static bool is_as_written(const struct ypi_storage *s, size_t at)
{
    return s->block[0] == xorshift(at + 1);
}

double ypi_storage_read(struct ypi_storage *s)
{
    double seconds = 0;
    (void)posix_fadvise(s->fd, 0, 0, POSIX_FADV_DONTNEED);
    for (size_t at = 0; at < s->bytes; at += BLOCK) {
        s->block[0] = 0;
        double begin = ypi_now();
        if (pread(s->fd, s->block, BLOCK, (off_t)at) != (ssize_t)BLOCK)
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
    free(s->block);
    free(s);
}

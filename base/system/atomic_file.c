#include "base/system/atomic_file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

#define NAMES_TRIED 100

static enum yp_status failed(const char *path, const char *what)
{
    return yp_set_error(YP_IO, "%s: %s: %s", path, what, strerror(errno));
}

/* A name beside `path` that no other of our files has; others may, so it is tried. */
static bool part_name(char out[YPI_PATH_MAX], const char *path)
{
    static atomic_uint next;
    int length = snprintf(out, YPI_PATH_MAX, "%s.%ld-%u.part", path, (long)getpid(),
                          atomic_fetch_add(&next, 1));
    return length > 0 && length < YPI_PATH_MAX;
}

static enum yp_status create_named(struct ypi_atomic_file *file)
{
    for (int i = 0; i < NAMES_TRIED; i++) {
        if (!part_name(file->part, file->path)) {
            errno = ENAMETOOLONG;
            break;
        }
        file->fd = open(file->part, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (file->fd >= 0)
            return YP_OK;
        if (errno != EEXIST)
            break;
    }
    file->part[0] = '\0';
    return failed(file->path, "cannot be made");
}

bool ypi_atomic_named;

enum yp_status ypi_atomic_create(struct ypi_atomic_file *file, const char *path)
{
    char directory[YPI_PATH_MAX];
    *file = (struct ypi_atomic_file){.fd = -1};
    int length = snprintf(file->path, sizeof file->path, "%s", path);
    if (length < 0 || length >= YPI_PATH_MAX)
        return yp_set_error(YP_INVALID, "a path of %d bytes: must be below %d", length,
                            YPI_PATH_MAX);
    ypi_directory_of(directory, path);
#ifdef O_TMPFILE
    /* Its name comes from /proc. */
    if (!ypi_atomic_named && access("/proc/self/fd", X_OK) == 0) {
        file->fd = open(directory, O_TMPFILE | O_RDWR | O_CLOEXEC, 0666);
        if (file->fd >= 0)
            return YP_OK;
        if (errno != EOPNOTSUPP && errno != EISDIR && errno != EINVAL && errno != ENOENT)
            return failed(path, "cannot be made");
    }
#endif
    return create_named(file);
}

enum yp_status ypi_write_at(int fd, const char *path, uint64_t offset, const void *from,
                            size_t size)
{
    const char *at = from;
    while (size > 0) {
        ssize_t written = pwrite(fd, at, size, (off_t)offset);
        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0) {
            if (written == 0)
                errno = EIO;
            return yp_set_error(YP_IO, "%s: cannot be written at byte %" PRIu64 ": %s", path,
                                offset, strerror(errno));
        }
        at += written;
        offset += (uint64_t)written;
        size -= (size_t)written;
    }
    return YP_OK;
}

void ypi_atomic_start_writeback(const struct ypi_atomic_file *file)
{
    if (file->fd >= 0)
        sync_file_range(file->fd, 0, 0, SYNC_FILE_RANGE_WRITE);
}

enum yp_status ypi_atomic_sync(const struct ypi_atomic_file *file)
{
    if (fsync(file->fd) == 0)
        return YP_OK;
    return failed(file->path, "cannot be brought to the disk");
}

/* Not over another file. Few file systems cannot; those have second names. */
static bool rename_free(const char *from, const char *to)
{
    if (renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE) == 0)
        return true;
    if ((errno != EINVAL && errno != ENOSYS) || link(from, to) != 0)
        return false;
    unlink(from);
    return true;
}

/* A nameless file takes a free name at once, and one that is taken by way of another name. */
static bool link_nameless(struct ypi_atomic_file *file, bool replace)
{
    char self[64];
    snprintf(self, sizeof self, "/proc/self/fd/%d", file->fd);
    if (linkat(AT_FDCWD, self, AT_FDCWD, file->path, AT_SYMLINK_FOLLOW) == 0)
        return true;
    if (errno != EEXIST || !replace)
        return false;
    for (int i = 0; i < NAMES_TRIED; i++) {
        if (!part_name(file->part, file->path)) {
            errno = ENAMETOOLONG;
            break;
        }
        if (linkat(AT_FDCWD, self, AT_FDCWD, file->part, AT_SYMLINK_FOLLOW) == 0)
            return rename(file->part, file->path) == 0;
        if (errno != EEXIST)
            break;
    }
    file->part[0] = '\0';
    return false;
}

enum yp_status ypi_atomic_publish(struct ypi_atomic_file *file, bool replace)
{
    bool named = file->part[0] != '\0';
    bool good = !named    ? link_nameless(file, replace)
                : replace ? rename(file->part, file->path) == 0
                          : rename_free(file->part, file->path);
    if (!good) {
        enum yp_status status = failed(file->path, "cannot be given its name");
        ypi_atomic_abandon(file);
        return status;
    }
    file->part[0] = '\0';
    int closed = close(file->fd);
    file->fd = -1;
    return closed == 0 ? YP_OK : failed(file->path, "cannot be closed");
}

void ypi_atomic_abandon(struct ypi_atomic_file *file)
{
    if (file->fd >= 0)
        close(file->fd);
    if (file->part[0] != '\0')
        unlink(file->part);
    file->fd = -1;
    file->part[0] = '\0';
}

enum yp_status ypi_sync_directory(const char *path)
{
    char directory[YPI_PATH_MAX];
    ypi_directory_of(directory, path);
    int fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    /* Not every file system can: then there is nothing to be had. */
    bool good = fd >= 0 && (fsync(fd) == 0 || errno == EINVAL || errno == EROFS);
    enum yp_status status = good ? YP_OK : failed(directory, "cannot be brought to the disk");
    if (fd >= 0)
        close(fd);
    return status;
}

enum yp_status ypi_check_free_space(const char *path, uint64_t bytes)
{
    char directory[YPI_PATH_MAX];
    struct statvfs system;
    ypi_directory_of(directory, path);
    if (statvfs(directory, &system) != 0)
        return failed(directory, "cannot be looked at");
    uint64_t left = 0;
    if (__builtin_mul_overflow((uint64_t)system.f_bavail, (uint64_t)system.f_frsize, &left) ||
        left >= bytes)
        return YP_OK;
    return yp_set_error(
        YP_IO, "%s: needs %" PRIu64 " bytes (%.3g GB), and %s has %" PRIu64 " (%.3g GB) left", path,
        bytes, (double)bytes / 1e9, directory, left, (double)left / 1e9);
}

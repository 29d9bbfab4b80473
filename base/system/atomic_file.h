/* A file that has its name only once it is whole. */
#pragma once

#include "base/system/file.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <yieldpoint/device.h>

struct ypi_atomic_file {
    int fd; /* -1: none */
    char path[YPI_PATH_MAX];
    char part[YPI_PATH_MAX]; /* its name until then; "": it is nameless */
};

/* For a test: as on a file system that knows no nameless files. */
extern bool ypi_atomic_named;

/* Nameless, or under a name that ends in ".part" where the file system knows no nameless files. */
enum yp_status ypi_atomic_create(struct ypi_atomic_file *file, const char *path);

/* Writes all of it. YP_IO with the path and the system's reason. */
enum yp_status ypi_write_at(int fd, const char *path, uint64_t offset, const void *from,
                            size_t size);

/* Starts to write it to the disk and does not wait. */
void ypi_atomic_start_writeback(const struct ypi_atomic_file *file);

/* To the disk; the name is not there yet. */
enum yp_status ypi_atomic_sync(const struct ypi_atomic_file *file);

/* Gives it its name and closes it. With `replace` in the place of another file of that name; else
 * YP_IO when there is one, which stays as it is. */
enum yp_status ypi_atomic_publish(struct ypi_atomic_file *file, bool replace);

/* Leaves nothing; a second time does nothing. */
void ypi_atomic_abandon(struct ypi_atomic_file *file);

/* That names last: the directory of `path` to the disk. */
enum yp_status ypi_sync_directory(const char *path);

/* YP_IO when the file system of `path` (of its directory) has less than `bytes` left. */
enum yp_status ypi_check_free_space(const char *path, uint64_t bytes);

/* Files read whole or in parts, and where they lie. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <yieldpoint/device.h>

#define YPI_PATH_MAX 4096

/* The first `size` - 1 bytes of a file, ended by a NUL; returns how many, 0 where there are none.
 * No memory from the heap. */
size_t ypi_read_file(const char *path, char *out, size_t size);

/* The last `size` - 1 bytes at most, the same way. */
size_t ypi_read_file_end(const char *path, char *out, size_t size);

/* Makes the file, or what is in it anew. False with errno set; a part may be written then. */
bool ypi_write_file(const char *path, const char *bytes, size_t length);

/* Exactly `size` bytes of an open file from `offset` on. YP_IO otherwise, with the path, the place
 * and the reason. */
enum yp_status ypi_read_at(int fd, const char *path, uint64_t offset, void *to, size_t size);

/* Whether both are there and are one file, by whatever names. */
bool ypi_is_same_file(const char *a, const char *b);

/* The file that a shell would execute for `program`: by PATH, or where a slash stands in it as it
 * stands. NULL: there is none that may be executed. The caller frees. */
char *ypi_program_path(const char *program);

/* Removes a directory with all that is in it, and follows no link; as much of it as can be. */
void ypi_remove_tree(const char *path);

/* Makes the directories above `path` that are not there, as far as it is allowed to. A .yieldpoint
 * among them gets a .gitignore, where it has none, that keeps what is in it out of git. YP_IO with
 * yp_last_error() set. */
enum yp_status ypi_make_parents(const char *path);

/* The directory of `path`, as a name that can be opened. */
void ypi_directory_of(char out[YPI_PATH_MAX], const char *path);
/* The directory of the file that `path` leads to through symbolic links; of `path` itself where
 * there is no such file. */
void ypi_real_directory_of(char out[YPI_PATH_MAX], const char *path);

/* Small files that are read whole, and where files lie. */
#ifndef YPI_FILE_H
#define YPI_FILE_H

#include <stddef.h>

#define YPI_PATH_MAX 4096

/* The first `size` - 1 bytes of a file, ended by a NUL; returns how many, 0 where there are none.
 * No memory from the heap. */
size_t ypi_read_file(const char *path, char *out, size_t size);

/* The directory of `path`, as a name that can be opened. */
void ypi_directory_of(char out[YPI_PATH_MAX], const char *path);

#endif

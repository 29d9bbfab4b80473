/* Headers of .npy files (NumPy Enhancement Proposal 1, versions 1.0 to 3.0). */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <yieldpoint/device.h>

enum { YPI_NPY_AXES = 8 };

struct ypi_npy {
    char kind;   /* 'f', 'i', 'u' or 'b' */
    size_t size; /* bytes of an element: 1, 2, 4 or 8 */
    bool big_endian, fortran;
    size_t axes;
    uint64_t shape[YPI_NPY_AXES];
    uint64_t offset; /* of the values in the file */
};

/* YP_IO: the file cannot be read, or is not what it should be; the message names it. */
enum yp_status ypi_npy_read(int fd, const char *path, struct ypi_npy *out);
/* The same of one that begins at `base` of the file, as in an .npz. */
enum yp_status ypi_npy_read_at(int fd, const char *path, uint64_t base, struct ypi_npy *out);

/* A header of version 1.0, its length a multiple of 64, for a type such as "<f4" and a shape such
 * as "3, 4"; returns how many bytes it has. Nothing is written where `capacity` is less. */
size_t ypi_npy_text(char *to, size_t capacity, const char *descr, const char *shape);

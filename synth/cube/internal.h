/* What the parts of cube files share; not for users of cube_file.h. */
#ifndef YIELDPOINT_SYNTH_CUBE_INTERNAL_H
#define YIELDPOINT_SYNTH_CUBE_INTERNAL_H

#include "base/atomic_file.h"
#include "synth/cube/cube.h"

#include <stdatomic.h>

/* Bands that go together, so that a pixel's part of them fills a cache line of float32. */
#define YPI_BAND_GROUP 16
#define YPI_BAND_PIXELS 2048

/* Where element (row, column, band) of a cube is: offset + cube * cubes + ..., in elements. */
struct ypi_strides {
    uint64_t cube, row, column, band;
};

/* How stored values become floats. */
struct ypi_loading {
    enum synth_type type;
    bool swap;     /* not of this machine's byte order */
    double scale;  /* to divide by */
    float times;   /* or to multiply by, where that gives the same and takes less time; else 0 */
    bool ignore;   /* the next two: */
    double nodata; /* becomes a NaN; of an integer type: in its range */
};

struct synth_cube_file {
    struct yp_device *device;
    int fd;
    struct synth_cube_info info;
    struct ypi_strides strides;
    struct ypi_loading loading;
    const char *path; /* of the raw file, for messages */
};

size_t ypi_type_size(enum synth_type type);
const char *ypi_type_name(enum synth_type type); /* "float32" */
bool ypi_type_is_float(enum synth_type type);
/* The least and the greatest value of an integer type. */
void ypi_type_range(enum synth_type type, double *low, double *high);
bool ypi_big_endian(void);

/* `count` values that lie together at `from` become floats; from and to may be the same where the
 * type is F32. */
void ypi_load(const struct ypi_loading *how, const void *from, size_t count, float *to);

/* And back: integers are clipped to low .. high. Returns how many were. */
struct ypi_storing {
    enum synth_type type;
    bool swap;
    float scale;
    float low, high;
    float nodata; /* for a NaN */
};
size_t ypi_store(const struct ypi_storing *how, const float *from, size_t count, void *to);

/* Bands side by side, `pitch` apart, into pixels of `stride` floats; and back. */
void ypi_bands_to_pixels(const float *from, size_t pitch, size_t pixels, size_t bands, float *to,
                         size_t stride);
void ypi_pixels_to_bands(const float *from, size_t stride, size_t pixels, size_t bands, float *to,
                         size_t pitch);

/* The bytes of all values; false when a size is 0 or the product does not fit a file. */
bool ypi_cube_bytes(const struct synth_cube_info *info, uint64_t *bytes);

/* Reads exactly `size` bytes. YP_IO with the path, the place and the reason otherwise. */
enum yp_status ypi_read_at(int fd, const char *path, uint64_t offset, void *to, size_t size);

/* A whole small file, NUL-terminated, in one block of the device; at most 16 MiB. */
char *ypi_read_text(struct yp_device *device, const char *path, size_t *length);

/* ---- headers ---- */

/* Opens what `path` names. Either gives file->fd, info, strides, path; or NULL with the error. */
struct synth_cube_file *ypi_envi_open(struct yp_device *device, const char *path);
struct synth_cube_file *ypi_npy_open(struct yp_device *device, const char *path);

/* Writes the header's text, as snprintf() does. */
size_t ypi_envi_header(char *to, size_t room, const struct synth_cube_info *info);
size_t ypi_npy_header(char *to, size_t room, const struct synth_cube_info *info);

/* The same for any shape: "3, 4", "5,". */
size_t ypi_npy_text(char *to, size_t room, const char *descr, const char *shape);

/* Takes an ending of raw files or headers off: its length without, else the length. */
size_t ypi_envi_stem(const char *path);

/* The header and the raw file that `path`, either of them or their stem, names. */
enum yp_status ypi_envi_find(const char *path, char header[YPI_PATH_MAX], char raw[YPI_PATH_MAX]);

/* The bytes before the values in a .npy, or those of the other file with ENVI. */
size_t ypi_cube_header_size(const struct synth_cube_info *info);

#endif

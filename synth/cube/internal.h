/* Shared by the files of synth/cube; not for users of cube.h. */
#pragma once

#include "base/system/atomic_file.h"
#include "synth/cube/cube.h"

#include <stdatomic.h>

/* Bands are transposed in groups of 16: a pixel's values of a group fill a cache line. */
#define YPI_BAND_GROUP 16
#define YPI_BAND_PIXELS 2048

/* Strides of the axes, in elements: element (cube, row, column, band) is at the sum of the
 * products. */
struct ypi_strides {
    uint64_t cube, row, column, band;
};

/* Stored values from low to high; none where low is above high. */
struct ypi_range {
    double low, high;
};

/* How stored values become floats. */
struct ypi_loading {
    enum synth_type type : 8;
    bool swap;               /* the file has the other byte order */
    bool ignore;             /* whether nodata is used */
    float times;             /* values are multiplied by this where that is exact and faster; */
    double scale;            /* where times is 0 they are divided by this */
    struct ypi_range nodata; /* the stored values that become NaN; within the type's range */
};

/* Why gains and offsets are not applied. */
enum ypi_note { YPI_NO_NOTE = 0, YPI_NOTE_LISTS, YPI_NOTE_ZERO, YPI_NOTE_RANGE, YPI_NOTE_SCALE };

/* Accounted for each file that is open, so the order leaves no gaps. */
struct synth_cube_file {
    struct yp_device *device;
    int fd;
    enum ypi_note note : 8;
    bool calibrated; /* whether gains and offsets of `info` are applied */
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

/* Converts `count` contiguous values to floats; from and to may be the same if the type is F32. */
void ypi_load(const struct ypi_loading *how, const void *from, size_t count, float *to);

/* (pixels, channels of gains): value times gain plus offset, in double. */
void ypi_apply_gains(const double *gains, const double *offsets, size_t pixels, size_t channels,
                     float *values);

/* How floats become stored values; integers are clipped to low .. high. ypi_store() returns how
 * many were clipped. */
struct ypi_storing {
    enum synth_type type;
    bool swap;
    float scale;
    float low, high;
    float nodata; /* for a NaN */
};
size_t ypi_store(const struct ypi_storing *how, const float *from, size_t count, void *to);

/* Transposes (bands, pixels) with row stride `pitch` to (pixels, bands) with row stride `stride`,
 * and back. */
void ypi_bands_to_pixels(const float *from, size_t pitch, size_t pixels, size_t bands, float *to,
                         size_t stride);
void ypi_pixels_to_bands(const float *from, size_t stride, size_t pixels, size_t bands, float *to,
                         size_t pitch);

/* Bytes of all values; false when a size is 0 or the product exceeds what a file can hold. */
bool ypi_cube_bytes(const struct synth_cube_info *info, uint64_t *bytes);

/* Reads a small file, at most 16 MiB, NUL-terminated, into one block of the device's memory. */
char *ypi_read_text(struct yp_device *device, const char *path, size_t *length);

/* ---- headers ---- */

/* Open the file and set fd, info, strides and path of it; NULL with yp_last_error() set. */
struct synth_cube_file *ypi_envi_open(struct yp_device *device, const char *path);
struct synth_cube_file *ypi_npy_open(struct yp_device *device, const char *path);

/* Write up to `capacity` bytes of the header's text; return the bytes of the whole. */
size_t ypi_envi_header(char *to, size_t capacity, const struct synth_cube_info *info);
size_t ypi_npy_header(char *to, size_t capacity, const struct synth_cube_info *info);

/* The length of `path` without an ending of raw files or headers. */
size_t ypi_envi_stem(const char *path);

/* The header and the raw file of a cube; `path` is either of them or their stem. raw[0] is '\0'
 * where the header has to say which it is: ypi_envi_choose(). */
enum yp_status ypi_envi_find(const char *path, char header[YPI_PATH_MAX], char raw[YPI_PATH_MAX]);

/* The raw file beside a header: `bytes` long by what the header says, or with a usual ending. */
enum yp_status ypi_envi_choose(const char *header, uint64_t bytes, enum synth_interleave interleave,
                               char raw[YPI_PATH_MAX]);

/* Bytes of the header: before the values of a .npy, of the .hdr file with ENVI. */
size_t ypi_cube_header_size(const struct synth_cube_info *info);

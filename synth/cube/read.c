/* Reads any window of a cube, by pread(). */
#include "synth/cube/cube.h"

#include "base/system/file.h"
#include "synth/cube/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define TEXT_MAX ((size_t)16 << 20)

/* Values of a buffer; the largest type has 8 bytes. */
#define BUFFER_VALUES (YPI_BAND_GROUP * (size_t)YPI_BAND_PIXELS / 2)

/* ---- files ---- */

static char *read_open_text(struct yp_device *device, const char *path, int fd, size_t *length)
{
    struct stat file;
    if (fstat(fd, &file) != 0) {
        yp_set_error(YP_IO, "%s: %s", path, strerror(errno));
        return NULL;
    }
    *length = (size_t)file.st_size;
    if (*length == 0 || *length > TEXT_MAX) {
        yp_set_error(YP_IO, "%s: has %zu bytes: a header has 1 to %zu", path, *length, TEXT_MAX);
        return NULL;
    }
    char *text = yp_device_alloc(device, *length + 1);
    if (text == NULL)
        return NULL;
    if (ypi_read_at(fd, path, 0, text, *length) != YP_OK) {
        yp_device_free(device, text);
        return NULL;
    }
    text[*length] = '\0';
    return text;
}

char *ypi_read_text(struct yp_device *device, const char *path, size_t *length)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        yp_set_error(YP_IO, "%s: %s", path, strerror(errno));
        return NULL;
    }
    char *text = read_open_text(device, path, fd, length);
    close(fd);
    return text;
}

bool ypi_cube_bytes(const struct synth_cube_info *info, uint64_t *bytes)
{
    size_t cubes = info->cubes > 0 ? info->cubes : 1;
    *bytes = ypi_type_size(info->type);
    return info->height > 0 && info->width > 0 && info->channels > 0 &&
           !__builtin_mul_overflow(*bytes, info->height, bytes) &&
           !__builtin_mul_overflow(*bytes, info->width, bytes) &&
           !__builtin_mul_overflow(*bytes, info->channels, bytes) &&
           !__builtin_mul_overflow(*bytes, cubes, bytes) && *bytes <= INT64_MAX / 2;
}

static bool is_npy(const char *path)
{
    char magic[6] = "";
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    bool yes = fd >= 0 && read(fd, magic, sizeof magic) == sizeof magic &&
               memcmp(magic, "\x93NUMPY", sizeof magic) == 0;
    if (fd >= 0)
        close(fd);
    return yes;
}

static bool looks_like_npy(const char *path)
{
    size_t length = strlen(path);
    return length > 4 && strcmp(path + length - 4, ".npy") == 0;
}

/* The data ignore value is used only where the file's type can hold it. */
static void init_loading(struct synth_cube_file *file, enum synth_scaling scaling)
{
    const struct synth_cube_info *info = &file->info;
    struct ypi_loading *how = &file->loading;
    *how = (struct ypi_loading){.type = info->type,
                                .swap = info->big_endian != ypi_big_endian(),
                                .scale = 1,
                                .nodata = how->nodata};
    if (scaling == SYNTH_SCALED && info->scale != 0)
        how->scale = info->scale;
    int exponent = 0;
    bool whole = !ypi_type_is_float(info->type) && frexp(how->scale, &exponent) == 0.5;
    if (how->scale == 1 || (whole && abs(exponent) < 60))
        how->times = (float)(1 / how->scale);
    how->ignore = info->has_ignore && !isnan(info->ignore) && how->nodata.low <= how->nodata.high;
    file->calibrated = scaling == SYNTH_SCALED && info->gains != NULL;
}

struct synth_cube_file *synth_cube_open(struct yp_device *device, const char *path,
                                        enum synth_scaling scaling)
{
    struct synth_cube_file *file = NULL;
    if (device == NULL || path == NULL) {
        yp_set_error(YP_INVALID, "synth_cube_open: %s is NULL: must not be",
                     device == NULL ? "device" : "path");
        return NULL;
    }
    if (yp_device_memory_kind(device) != YP_HOST) {
        yp_set_error(YP_UNSUPPORTED, "synth_cube_open: device is %s: must be one with host memory",
                     yp_device_name(device));
        return NULL;
    }
    struct stat at;
    if (is_npy(path))
        file = ypi_npy_open(device, path);
    else if (looks_like_npy(path) && stat(path, &at) == 0)
        yp_set_error(YP_IO, "%s: is no .npy: it does not begin with \\x93NUMPY", path);
    else
        file = ypi_envi_open(device, path);
    if (file != NULL)
        init_loading(file, scaling);
    return file;
}

void synth_cube_close(struct synth_cube_file *file)
{
    if (file == NULL)
        return;
    close(file->fd);
    yp_device_free(file->device, file);
}

const struct synth_cube_info *synth_cube_info(const struct synth_cube_file *file)
{
    return &file->info;
}

/* ---- windows ---- */

/* A window, and the array for its values, (rows, columns, bands). */
struct reading {
    const struct synth_cube_file *file;
    uint64_t cube;
    struct synth_window window;
    float *values;
    void *buffer;  /* BUFFER_VALUES of the file's type */
    float *floats; /* BUFFER_VALUES */
};

static uint64_t place(const struct reading *r, size_t row, size_t column, size_t band)
{
    const struct ypi_strides *s = &r->file->strides;
    uint64_t element = r->cube * s->cube + (uint64_t)row * s->row + (uint64_t)column * s->column +
                       (uint64_t)band * s->band;
    return r->file->info.offset + element * ypi_type_size(r->file->info.type);
}

/* Reads `count` contiguous values. */
static enum yp_status read_run(const struct reading *r, uint64_t offset, size_t count, float *to)
{
    const struct synth_cube_file *file = r->file;
    size_t size = ypi_type_size(file->info.type);
    if (file->info.type == SYNTH_F32) {
        enum yp_status status = ypi_read_at(file->fd, file->path, offset, to, count * size);
        if (status == YP_OK)
            ypi_load(&file->loading, to, count, to);
        return status;
    }
    for (size_t i = 0; i < count; i += BUFFER_VALUES) {
        size_t part = count - i < BUFFER_VALUES ? count - i : BUFFER_VALUES;
        enum yp_status status =
            ypi_read_at(file->fd, file->path, offset + i * size, r->buffer, part * size);
        if (status != YP_OK)
            return status;
        ypi_load(&file->loading, r->buffer, part, to + i);
    }
    return YP_OK;
}

/* BIP, all bands: each row is contiguous, and the whole window where it is as wide as the cube. */
static enum yp_status read_pixels(const struct reading *r)
{
    const struct synth_window *w = &r->window;
    enum yp_status status = YP_OK;
    size_t rows = w->rows, columns = w->columns;
    if (columns == r->file->info.width)
        columns *= rows, rows = 1;
    for (size_t i = 0; i < rows && status == YP_OK; i++)
        status = read_run(r, place(r, w->row + i, w->column, 0), columns * w->bands,
                          r->values + i * columns * w->bands);
    return status;
}

/* BIP, some bands: pixel by pixel when few are wanted, else whole pixels of which some bands are
 * copied. */
static enum yp_status read_some_bands(const struct reading *r)
{
    const struct synth_window *w = &r->window;
    size_t channels = r->file->info.channels, size = ypi_type_size(r->file->info.type);
    bool whole = channels <= BUFFER_VALUES && (channels - w->bands) * size <= 4096;
    size_t limit = whole ? BUFFER_VALUES / channels : 1;
    float *to = r->values;
    for (size_t row = w->row; row < w->row + w->rows; row++)
        for (size_t i = 0; i < w->columns; i += limit) {
            size_t pixels = w->columns - i < limit ? w->columns - i : limit;
            uint64_t from = place(r, row, w->column + i, whole ? 0 : w->band);
            enum yp_status status =
                read_run(r, from, whole ? pixels * channels : w->bands, whole ? r->floats : to);
            if (status != YP_OK)
                return status;
            for (size_t p = 0; whole && p < pixels; p++)
                memcpy(to + p * w->bands, r->floats + p * channels + w->band,
                       w->bands * sizeof *to);
            to += pixels * w->bands;
        }
    return YP_OK;
}

/* A group of bands of contiguous pixels; one read where the bands are contiguous too. */
static enum yp_status read_group(const struct reading *r, uint64_t from, size_t pixels,
                                 size_t bands, float *to)
{
    size_t size = ypi_type_size(r->file->info.type);
    uint64_t pitch = r->file->strides.band;
    enum yp_status status = YP_OK;
    if (pitch == pixels)
        status = read_run(r, from, pixels * bands, r->floats);
    else
        for (size_t b = 0; b < bands && status == YP_OK; b++)
            status = read_run(r, from + b * pitch * size, pixels, r->floats + b * pixels);
    if (status == YP_OK)
        ypi_bands_to_pixels(r->floats, pixels, pixels, bands, to, r->window.bands);
    return status;
}

/* BIL and BSQ. In BSQ the rows of a window as wide as the cube are contiguous. */
static enum yp_status read_bands(const struct reading *r)
{
    const struct synth_window *w = &r->window;
    size_t rows = w->rows, columns = w->columns;
    if (r->file->strides.row == columns)
        columns *= rows, rows = 1;
    size_t group = columns < BUFFER_VALUES / YPI_BAND_GROUP ? BUFFER_VALUES / columns : 0;
    group = group > w->bands ? w->bands : group;
    group = group < YPI_BAND_GROUP ? YPI_BAND_GROUP : group / YPI_BAND_GROUP * YPI_BAND_GROUP;
    size_t limit = BUFFER_VALUES / group;
    for (size_t row = 0; row < rows; row++)
        for (size_t band = 0; band < w->bands; band += group)
            for (size_t i = 0; i < columns; i += limit) {
                size_t bands = w->bands - band < group ? w->bands - band : group;
                size_t pixels = columns - i < limit ? columns - i : limit;
                enum yp_status status =
                    read_group(r, place(r, w->row + row, w->column + i, w->band + band), pixels,
                               bands, r->values + (row * columns + i) * w->bands + band);
                if (status != YP_OK)
                    return status;
            }
    return YP_OK;
}

/* Fortran order, any number of axes: values in the order of the file, from a buffer. It is filled
 * with few bytes at a time where the wanted values are far from each other. */
static enum yp_status read_strided(const struct reading *r)
{
    const struct synth_window *w = &r->window;
    const struct synth_cube_file *file = r->file;
    size_t size = ypi_type_size(file->info.type);
    uint64_t begin = 0, end = 0,
             last = place(r, file->info.height - 1, file->info.width - 1, file->info.channels - 1) +
                    size;
    size_t limit = file->strides.row * size > 4096 || w->rows < 64 ? 4096 : BUFFER_VALUES * size;
    for (size_t band = 0; band < w->bands; band++)
        for (size_t column = 0; column < w->columns; column++)
            for (size_t row = 0; row < w->rows; row++) {
                uint64_t at = place(r, w->row + row, w->column + column, w->band + band);
                if (at < begin || at >= end) {
                    uint64_t bytes = last - at < limit ? last - at : limit;
                    enum yp_status status =
                        ypi_read_at(file->fd, file->path, at, r->buffer, (size_t)bytes);
                    if (status != YP_OK)
                        return status;
                    begin = at;
                    end = at + bytes;
                }
                ypi_load(&file->loading, (const char *)r->buffer + (at - begin), 1,
                         r->values + (row * w->columns + column) * w->bands + band);
            }
    return YP_OK;
}

static enum yp_status read_block(const struct synth_cube_file *file, uint64_t cube,
                                 const struct synth_window *window, float *values)
{
    uint64_t buffer[BUFFER_VALUES];
    float floats[BUFFER_VALUES];
    struct reading r = {file, cube, *window, values, buffer, floats};
    enum yp_status status;
    if (file->strides.band == 1)
        status = window->bands == file->info.channels ? read_pixels(&r) : read_some_bands(&r);
    else
        status = file->strides.column == 1 ? read_bands(&r) : read_strided(&r);
    if (status == YP_OK && file->calibrated)
        ypi_apply_gains(file->info.gains + window->band, file->info.offsets + window->band,
                        window->rows * window->columns, window->bands, values);
    return status;
}

static bool within(size_t first, size_t count, size_t all)
{
    return first <= all && count <= all - first;
}

static enum yp_status check_reading(const char *function, const struct synth_cube_file *file,
                                    uint64_t cube, const float *values)
{
    if (file == NULL || values == NULL)
        return yp_set_error(YP_INVALID, "%s: %s is NULL: must not be", function,
                            file == NULL ? "file" : "values");
    if (cube < file->info.cubes)
        return YP_OK;
    return yp_set_error(YP_INVALID, "%s: cube is %" PRIu64 ": must be below the %zu of the file",
                        function, cube, file->info.cubes);
}

enum yp_status synth_cube_read_window(const struct synth_cube_file *file, uint64_t cube,
                                      const struct synth_window *window, float *values)
{
    enum yp_status status = check_reading("synth_cube_read_window", file, cube, values);
    if (status != YP_OK)
        return status;
    const struct synth_cube_info *info = &file->info;
    if (window == NULL || !within(window->row, window->rows, info->height) ||
        !within(window->column, window->columns, info->width) ||
        !within(window->band, window->bands, info->channels))
        return yp_set_error(YP_INVALID,
                            "synth_cube_read_window: window is not within the cube's %zu x %zu x "
                            "%zu",
                            info->height, info->width, info->channels);
    if (window->rows == 0 || window->columns == 0 || window->bands == 0)
        return YP_OK;
    return read_block(file, cube, window, values);
}

enum yp_status synth_cube_read(const struct synth_cube_file *file, uint64_t cube,
                               size_t first_pixel, size_t pixels, float *values)
{
    enum yp_status status = check_reading("synth_cube_read", file, cube, values);
    if (status != YP_OK)
        return status;
    size_t width = file->info.width, channels = file->info.channels;
    if (width == 0 || !within(first_pixel, pixels, file->info.height * width))
        return yp_set_error(YP_INVALID,
                            "synth_cube_read: first_pixel is %zu and pixels %zu: together at most "
                            "the %zu pixels of a cube",
                            first_pixel, pixels, file->info.height * width);
    /* The end of a row, whole rows, the beginning of a row. */
    while (pixels > 0 && status == YP_OK) {
        size_t column = first_pixel % width, rows = column == 0 ? pixels / width : 0;
        struct synth_window window = {first_pixel / width,
                                      rows > 0 ? rows : 1,
                                      column,
                                      rows > 0 ? width : width - column,
                                      0,
                                      channels};
        if (rows == 0 && window.columns > pixels)
            window.columns = pixels;
        status = read_block(file, cube, &window, values);
        size_t done = window.rows * window.columns;
        first_pixel += done;
        pixels -= done;
        values += done * channels;
    }
    return status;
}

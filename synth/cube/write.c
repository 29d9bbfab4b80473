/* Writes cubes: pixels in any order from any thread; files get their names at the end. */
#include "synth/cube/cube.h"
#include "synth/cube/internal.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

/* Values of a buffer. */
#define BUFFER_VALUES (YPI_BAND_GROUP * (size_t)YPI_BAND_PIXELS)

/* Writeback to the disk is started every so many bytes, so that it overlaps with computing. Not
 * with BSQ, whose writes are spread over the whole file. */
#define WRITEBACK_BYTES (UINT64_C(32) << 20)

/* Bands of at least so many pixels are padded in the buffer. */
#define PADDED_PIXELS 256

struct synth_cube_writer {
    struct yp_device *device;
    enum synth_format format;
    enum synth_interleave interleave;
    size_t cubes, height, width, channels;
    bool replace;
    struct ypi_storing storing;
    struct ypi_atomic_file raw, header; /* header.fd is -1 with .npy */
    uint64_t offset;
    atomic_uint_fast64_t pixels, clipped;
    atomic_bool broken;
    size_t text_size;
    char text[]; /* the ENVI header */
};

/* A data ignore value at an end of the range is excluded from the range of data; inside the range
 * it is not, since data would have to be displaced. */
static void init_storing(struct synth_cube_writer *w, const struct synth_cube_info *info)
{
    double low = 0, high = 0;
    bool ignore = info->has_ignore && !ypi_type_is_float(info->type);
    ypi_type_range(info->type, &low, &high);
    w->storing = (struct ypi_storing){
        .type = info->type,
        .swap = info->big_endian != ypi_big_endian() && ypi_type_size(info->type) > 1,
        .scale = info->scale > 0 ? (float)info->scale : 1,
        .low = (float)(ignore && info->ignore == low ? low + 1 : low),
        .high = (float)(ignore && info->ignore == high ? high - 1 : high),
        .nodata = ignore ? (float)info->ignore : 0};
}

/* ---- names ---- */

static enum yp_status make_names(const char *path, enum synth_format format, char raw[YPI_PATH_MAX],
                                 char header[YPI_PATH_MAX])
{
    size_t length = strlen(path), stem = ypi_envi_stem(path);
    bool named_header = length - stem == 4 && strcasecmp(path + stem, ".hdr") == 0;
    if (length == 0 || path[length - 1] == '/' || length + 8 > YPI_PATH_MAX)
        return yp_set_error(YP_INVALID,
                            "path is '%.60s': must be the name of a file, below %d bytes", path,
                            YPI_PATH_MAX - 8);
    if (named_header && format == SYNTH_ENVI)
        snprintf(raw, YPI_PATH_MAX, "%.*s.img", (int)stem, path);
    else
        snprintf(raw, YPI_PATH_MAX, "%s", path);
    if (format == SYNTH_ENVI)
        snprintf(header, YPI_PATH_MAX, "%.*s.hdr", (int)stem, path);
    else
        header[0] = '\0';
    return YP_OK;
}

static enum yp_status check_free(const char *path, enum synth_existing existing)
{
    struct stat file;
    if (path[0] == '\0' || lstat(path, &file) != 0)
        return YP_OK;
    if (!S_ISREG(file.st_mode) && !S_ISLNK(file.st_mode))
        return yp_set_error(YP_IO, "%s: is there and is no file", path);
    if (existing == SYNTH_REPLACE)
        return YP_OK;
    return yp_set_error(YP_IO, "%s: is there already", path);
}

/* ---- beginning and end ---- */

static enum yp_status begin_files(struct synth_cube_writer *w, const char *raw, const char *header)
{
    enum yp_status status = ypi_atomic_create(&w->raw, raw);
    if (status == YP_OK && w->format == SYNTH_ENVI)
        return ypi_atomic_create(&w->header, header);
    if (status != YP_OK)
        return status;
    return ypi_write_at(w->raw.fd, raw, 0, w->text, w->text_size);
}

static struct synth_cube_writer *make_writer(struct yp_device *device,
                                             const struct synth_cube_info *info)
{
    size_t size = ypi_cube_header_size(info);
    struct synth_cube_writer *w = yp_device_alloc(device, sizeof *w + size + 1);
    if (w == NULL)
        return NULL;
    *w = (struct synth_cube_writer){.device = device,
                                    .format = info->format,
                                    .interleave = info->interleave,
                                    .cubes = info->cubes > 0 ? info->cubes : 1,
                                    .height = info->height,
                                    .width = info->width,
                                    .channels = info->channels,
                                    .raw.fd = -1,
                                    .header.fd = -1,
                                    .text_size = size};
    if (info->format == SYNTH_NPY) {
        ypi_npy_header(w->text, size + 1, info);
        w->offset = size;
    } else {
        ypi_envi_header(w->text, size + 1, info);
    }
    init_storing(w, info);
    return w;
}

struct synth_cube_writer *synth_cube_create(struct yp_device *device, const char *path,
                                            const struct synth_cube_info *info,
                                            enum synth_existing existing)
{
    char raw[YPI_PATH_MAX], header[YPI_PATH_MAX];
    if (device == NULL || path == NULL) {
        yp_set_error(YP_INVALID, "synth_cube_create: %s is NULL: must not be",
                     device == NULL ? "device" : "path");
        return NULL;
    }
    uint64_t bytes = synth_cube_bytes(info);
    if (bytes == 0 || make_names(path, info->format, raw, header) != YP_OK ||
        check_free(raw, existing) != YP_OK || check_free(header, existing) != YP_OK ||
        ypi_check_free_space(raw, bytes) != YP_OK)
        return NULL;
    struct synth_cube_writer *w = make_writer(device, info);
    if (w == NULL)
        return NULL;
    w->replace = existing == SYNTH_REPLACE;
    if (begin_files(w, raw, header) == YP_OK)
        return w;
    synth_cube_abandon(w);
    return NULL;
}

void synth_cube_abandon(struct synth_cube_writer *w)
{
    if (w == NULL)
        return;
    ypi_atomic_abandon(&w->raw);
    ypi_atomic_abandon(&w->header);
    yp_device_free(w->device, w);
}

uint64_t synth_cube_clipped(const struct synth_cube_writer *w)
{
    return atomic_load(&w->clipped);
}

/* ---- commit ---- */

static enum yp_status check_whole(const struct synth_cube_writer *w)
{
    uint64_t there = atomic_load(&w->pixels), all = (uint64_t)w->cubes * w->height * w->width;
    if (atomic_load(&w->broken))
        return yp_set_error(YP_IO, "%s: not all could be written", w->raw.path);
    if (there != all)
        return yp_set_error(
            YP_INVALID, "synth_cube_commit: %s: %" PRIu64 " pixels were written: must be %" PRIu64,
            w->raw.path, there, all);
    if (w->format == SYNTH_NPY)
        return YP_OK;
    return ypi_write_at(w->header.fd, w->header.path, 0, w->text, w->text_size);
}

/* Starts the writeback of all files before waiting for the first: the disk has one long job. */
static enum yp_status sync_all(struct synth_cube_writer *const *writers, size_t count)
{
    enum yp_status status = YP_OK;
    for (size_t i = 0; i < count && status == YP_OK; i++)
        status = check_whole(writers[i]);
    if (status != YP_OK)
        return status;
    for (size_t i = 0; i < count; i++) {
        ypi_atomic_start_writeback(&writers[i]->raw);
        ypi_atomic_start_writeback(&writers[i]->header);
    }
    for (size_t i = 0; i < count && status == YP_OK; i++) {
        status = ypi_atomic_sync(&writers[i]->raw);
        if (status == YP_OK && writers[i]->format == SYNTH_ENVI)
            status = ypi_atomic_sync(&writers[i]->header);
    }
    return status;
}

/* An existing header belongs to another raw file, so it is removed before the new raw file gets its
 * name. */
static enum yp_status publish(struct synth_cube_writer *w)
{
    if (w->format == SYNTH_ENVI && w->replace)
        unlink(w->header.path);
    enum yp_status status = ypi_atomic_publish(&w->raw, w->replace);
    if (status != YP_OK || w->format == SYNTH_NPY)
        return status;
    status = ypi_atomic_publish(&w->header, w->replace);
    if (status != YP_OK)
        unlink(w->raw.path);
    return status;
}

static bool same_directory(const char *a, const char *b)
{
    const char *end_a = strrchr(a, '/'), *end_b = strrchr(b, '/');
    size_t length_a = end_a != NULL ? (size_t)(end_a - a) : 0;
    size_t length_b = end_b != NULL ? (size_t)(end_b - b) : 0;
    return length_a == length_b && strncmp(a, b, length_a) == 0;
}

static enum yp_status publish_all(struct synth_cube_writer *const *writers, size_t count)
{
    enum yp_status status = YP_OK;
    size_t done = 0;
    while (done < count && status == YP_OK) {
        status = publish(writers[done]);
        done += status == YP_OK; /* one that failed has no file to remove */
    }
    for (size_t i = 0; i < count && status == YP_OK; i++)
        if (i == 0 || !same_directory(writers[i]->raw.path, writers[i - 1]->raw.path))
            status = ypi_sync_directory(writers[i]->raw.path);
    for (size_t i = 0; i < done && status != YP_OK; i++) {
        unlink(writers[i]->raw.path);
        if (writers[i]->format == SYNTH_ENVI)
            unlink(writers[i]->header.path);
    }
    return status;
}

enum yp_status synth_cube_commit_all(struct synth_cube_writer *const *writers, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (writers[i] == NULL)
            return yp_set_error(YP_INVALID, "synth_cube_commit: writer is NULL: must not be");
    enum yp_status status = sync_all(writers, count);
    if (status == YP_OK)
        status = publish_all(writers, count);
    for (size_t i = 0; i < count; i++)
        synth_cube_abandon(writers[i]);
    return status;
}

enum yp_status synth_cube_commit(struct synth_cube_writer *w)
{
    return synth_cube_commit_all(&w, 1);
}

/* ---- pixels ---- */

struct writing {
    struct synth_cube_writer *writer;
    uint64_t base; /* of the cube, in elements */
    float *floats;
    void *buffer;
};

static enum yp_status write_run(struct writing *g, uint64_t element, const float *from,
                                size_t count)
{
    struct synth_cube_writer *w = g->writer;
    size_t size = ypi_type_size(w->storing.type);
    uint64_t offset = w->offset + (g->base + element) * size;
    if (w->storing.type == SYNTH_F32 && !w->storing.swap)
        return ypi_write_at(w->raw.fd, w->raw.path, offset, from, count * size);
    for (size_t i = 0; i < count; i += BUFFER_VALUES) {
        size_t part = count - i < BUFFER_VALUES ? count - i : BUFFER_VALUES;
        size_t clipped = ypi_store(&w->storing, from + i, part, g->buffer);
        if (clipped > 0)
            atomic_fetch_add(&w->clipped, clipped);
        enum yp_status status =
            ypi_write_at(w->raw.fd, w->raw.path, offset + i * size, g->buffer, part * size);
        if (status != YP_OK)
            return status;
    }
    return YP_OK;
}

/* Writes pixels that are contiguous in each band, from element `first` on; bands begin every
 * `pitch` elements. */
static enum yp_status write_bands(struct writing *g, uint64_t first, uint64_t pitch, size_t pixels,
                                  const float *values)
{
    size_t channels = g->writer->channels;
    size_t group = pixels < BUFFER_VALUES / YPI_BAND_GROUP ? BUFFER_VALUES / pixels : 0;
    group = group > channels ? channels : group;
    group = group < YPI_BAND_GROUP ? YPI_BAND_GROUP : group / YPI_BAND_GROUP * YPI_BAND_GROUP;
    size_t limit = BUFFER_VALUES / group;
    for (size_t band = 0; band < channels; band += group)
        for (size_t i = 0; i < pixels; i += limit) {
            size_t bands = channels - band < group ? channels - band : group;
            size_t part = pixels - i < limit ? pixels - i : limit;
            /* With a stride that is a power of two, bands would share the same sets of the cache.
             */
            size_t stride = pitch == part || part < PADDED_PIXELS ? part : part + YPI_BAND_GROUP;
            ypi_pixels_to_bands(values + i * channels + band, channels, part, bands, g->floats,
                                stride);
            enum yp_status status = YP_OK;
            uint64_t to = first + band * pitch + i;
            if (pitch == part)
                status = write_run(g, to, g->floats, part * bands);
            else
                for (size_t b = 0; b < bands && status == YP_OK; b++)
                    status = write_run(g, to + b * pitch, g->floats + b * stride, part);
            if (status != YP_OK)
                return status;
        }
    return YP_OK;
}

static enum yp_status write_rows(struct writing *g, size_t first, size_t pixels,
                                 const float *values)
{
    const struct synth_cube_writer *w = g->writer;
    enum yp_status status = YP_OK;
    while (pixels > 0 && status == YP_OK) {
        size_t column = first % w->width, row = first / w->width;
        size_t part = w->width - column < pixels ? w->width - column : pixels;
        status =
            write_bands(g, (uint64_t)row * w->width * w->channels + column, w->width, part, values);
        first += part;
        pixels -= part;
        values += part * w->channels;
    }
    return status;
}

static enum yp_status write_pixels(struct synth_cube_writer *w, uint64_t cube, size_t first,
                                   size_t pixels, const float *values)
{
    float floats[BUFFER_VALUES + BUFFER_VALUES / PADDED_PIXELS * YPI_BAND_GROUP];
    float buffer[BUFFER_VALUES];
    uint64_t plane = (uint64_t)w->height * w->width;
    struct writing g = {w, cube * plane * w->channels, floats, buffer};
    if (w->interleave == SYNTH_BIP || w->channels == 1)
        return write_run(&g, (uint64_t)first * w->channels, values, pixels * w->channels);
    if (w->interleave == SYNTH_BSQ)
        return write_bands(&g, first, plane, pixels, values);
    return write_rows(&g, first, pixels, values);
}

enum yp_status synth_cube_write(struct synth_cube_writer *w, uint64_t cube, size_t first_pixel,
                                size_t pixels, const float *values)
{
    if (w == NULL || values == NULL)
        return yp_set_error(YP_INVALID, "synth_cube_write: %s is NULL: must not be",
                            w == NULL ? "writer" : "values");
    size_t all = w->height * w->width;
    if (cube >= w->cubes || first_pixel > all || pixels > all - first_pixel)
        return yp_set_error(YP_INVALID,
                            "synth_cube_write: cube is %" PRIu64 ", first_pixel %zu and pixels "
                            "%zu: must lie within %zu cubes of %zu pixels",
                            cube, first_pixel, pixels, w->cubes, all);
    if (pixels == 0)
        return YP_OK;
    enum yp_status status = write_pixels(w, cube, first_pixel, pixels, values);
    if (status == YP_OK) {
        uint64_t size = w->channels * ypi_type_size(w->storing.type);
        uint64_t before = atomic_fetch_add(&w->pixels, pixels);
        if (w->interleave != SYNTH_BSQ &&
            before * size / WRITEBACK_BYTES != (before + pixels) * size / WRITEBACK_BYTES)
            ypi_atomic_start_writeback(&w->raw);
    } else
        atomic_store(&w->broken, true);
    return status;
}

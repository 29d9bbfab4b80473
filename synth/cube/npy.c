/* .npy files as cubes. */
#include "synth/cube/internal.h"

#include "base/system/npy.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { AXES_MAX = 4 };

/* ---- reading ---- */

static enum synth_type type_of(const struct ypi_npy *h)
{
    static const struct {
        char kind;
        size_t size;
        enum synth_type type;
    } known[] = {{'f', 4, SYNTH_F32}, {'f', 8, SYNTH_F64}, {'u', 1, SYNTH_U8},  {'b', 1, SYNTH_U8},
                 {'i', 1, SYNTH_I8},  {'u', 2, SYNTH_U16}, {'i', 2, SYNTH_I16}, {'u', 4, SYNTH_U32},
                 {'i', 4, SYNTH_I32}, {'u', 8, SYNTH_U64}, {'i', 8, SYNTH_I64}};
    size_t i = 0;
    while (known[i].kind != h->kind || known[i].size != h->size)
        i++;
    return known[i].type;
}

/* Sizes and strides of the axes cube, row, column, channel; a missing axis has size 1. */
static enum yp_status set_axes(const struct ypi_npy *h, struct synth_cube_file *file)
{
    static const int places[AXES_MAX + 1][AXES_MAX] = {
        [2] = {1, 3}, [3] = {1, 2, 3}, [4] = {0, 1, 2, 3}};
    uint64_t sizes[4] = {1, 1, 1, 1}, strides[4] = {0, 0, 0, 0}, next = 1;
    if (h->axes < 2 || h->axes > AXES_MAX)
        return yp_set_error(
            YP_IO,
            "%s: .npy header: shape has %zu axes: must have 2 to %d axes: (pixels, channels), "
            "(height, width, channels) or (cubes, height, width, channels)",
            file->path, h->axes, AXES_MAX);
    for (size_t i = 0; i < h->axes; i++) {
        if (h->shape[i] == 0)
            return yp_set_error(YP_IO,
                                "%s: .npy header: axis %zu of shape is 0: must be 1 at least",
                                file->path, i);
        sizes[places[h->axes][i]] = h->shape[i];
    }
    for (int i = 0; i < 4; i++) {
        int axis = h->fortran ? i : 3 - i;
        strides[axis] = next;
        if (__builtin_mul_overflow(next, sizes[axis], &next) || next > INT64_MAX / 8)
            return yp_set_error(
                YP_IO, "%s: .npy header: the product of shape is more than a file can hold",
                file->path);
    }
    file->info.cubes = sizes[0];
    file->info.height = sizes[1];
    file->info.width = sizes[2];
    file->info.channels = sizes[3];
    file->strides = (struct ypi_strides){
        .cube = strides[0], .row = strides[1], .column = strides[2], .band = strides[3]};
    return YP_OK;
}

static enum yp_status check_length(const struct synth_cube_file *file)
{
    const struct synth_cube_info *info = &file->info;
    struct stat status;
    if (fstat(file->fd, &status) != 0)
        return yp_set_error(YP_IO, "%s: %s", file->path, strerror(errno));
    uint64_t bytes = info->offset + (uint64_t)info->cubes * info->height * info->width *
                                        info->channels * ypi_type_size(info->type);
    if ((uint64_t)status.st_size == bytes)
        return YP_OK;
    return yp_set_error(
        YP_IO,
        "%s: has %lld bytes, %s than the %" PRIu64
        " that its header tells: %zu x %zu x %zu x %zu of %s after %" PRIu64 " bytes",
        file->path, (long long)status.st_size, (uint64_t)status.st_size < bytes ? "less" : "more",
        bytes, info->cubes, info->height, info->width, info->channels, ypi_type_name(info->type),
        info->offset);
}

static enum yp_status take_header(struct synth_cube_file *file, const struct ypi_npy *h)
{
    enum yp_status status = set_axes(h, file);
    if (status != YP_OK)
        return status;
    file->info.format = SYNTH_NPY;
    file->info.type = type_of(h);
    file->info.big_endian = h->big_endian;
    file->info.interleave = h->fortran ? SYNTH_BSQ : SYNTH_BIP;
    file->info.offset = h->offset;
    return check_length(file);
}

struct synth_cube_file *ypi_npy_open(struct yp_device *device, const char *path)
{
    struct ypi_npy header;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        yp_set_error(YP_IO, "%s: %s", path, strerror(errno));
        return NULL;
    }
    struct synth_cube_file *file = NULL;
    size_t path_size = strlen(path) + 1;
    if (ypi_npy_read(fd, path, &header) == YP_OK)
        file = yp_device_alloc(device, sizeof *file + path_size);
    if (file != NULL) {
        *file = (struct synth_cube_file){.device = device, .fd = fd};
        file->path = memcpy(file + 1, path, path_size);
        if (take_header(file, &header) == YP_OK)
            return file;
        yp_device_free(device, file);
    }
    close(fd);
    return NULL;
}

/* ---- writing ---- */

size_t ypi_npy_header(char *to, size_t capacity, const struct synth_cube_info *info)
{
    static const char *const names[SYNTH_TYPES] = {
        [SYNTH_F32] = "f4", [SYNTH_U16] = "u2", [SYNTH_I16] = "i2", [SYNTH_U8] = "u1"};
    char descr[8], shape[128], cubes[32] = "";
    snprintf(descr, sizeof descr, "%c%s",
             info->type == SYNTH_U8 ? '|'
             : info->big_endian     ? '>'
                                    : '<',
             names[info->type]);
    if (info->cubes > 1)
        snprintf(cubes, sizeof cubes, "%zu, ", info->cubes);
    snprintf(shape, sizeof shape, "%s%zu, %zu, %zu", cubes, info->height, info->width,
             info->channels);
    return ypi_npy_text(to, capacity, descr, shape);
}

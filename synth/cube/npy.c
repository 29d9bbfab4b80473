/* .npy: the header is a Python dictionary of three keys. */
#include "synth/cube/internal.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAGIC "\x93NUMPY"
#define PREFIX_MAX 12 /* magic, version, length of the header */
#define HEADER_MAX ((size_t)1 << 20)
#define AXES_MAX 4
#define ALIGNMENT 64

struct header {
    const char *path;
    const char *at; /* the next character of the dictionary */
    bool has_type, has_order, has_shape;
    enum synth_type type;
    bool big_endian, fortran;
    size_t axes;
    uint64_t shape[AXES_MAX];
};

static enum yp_status wrong(const struct header *h, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static enum yp_status wrong(const struct header *h, const char *format, ...)
{
    char what[256];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(what, sizeof what, format, arguments);
    va_end(arguments);
    return yp_set_error(YP_IO, "%s: .npy header: %s", h->path, what);
}

static void skip_blanks(struct header *h)
{
    while (isspace((unsigned char)*h->at))
        h->at++;
}

static bool accept(struct header *h, char c)
{
    skip_blanks(h);
    if (*h->at != c)
        return false;
    h->at++;
    return true;
}

/* A string in quotes of either kind, without escapes; false when there is none. */
static bool parse_quoted(struct header *h, char *out, size_t capacity)
{
    skip_blanks(h);
    char quote = *h->at;
    if (quote != '\'' && quote != '"')
        return false;
    const char *end = strchr(h->at + 1, quote);
    if (end == NULL || (size_t)(end - h->at) > capacity)
        return false;
    memcpy(out, h->at + 1, (size_t)(end - h->at) - 1);
    out[end - h->at - 1] = '\0';
    h->at = end + 1;
    return true;
}

static enum yp_status parse_descr(struct header *h)
{
    static const struct {
        const char *name;
        enum synth_type type;
    } known[] = {{"f4", SYNTH_F32}, {"f8", SYNTH_F64}, {"u1", SYNTH_U8},  {"b1", SYNTH_U8},
                 {"i1", SYNTH_I8},  {"u2", SYNTH_U16}, {"i2", SYNTH_I16}, {"u4", SYNTH_U32},
                 {"i4", SYNTH_I32}, {"u8", SYNTH_U64}, {"i8", SYNTH_I64}};
    char descr[32];
    const char *allowed = "f4, f8, u1, u2, u4, u8, i1, i2, i4, i8 or b1 after < or > (or |)";
    if (!parse_quoted(h, descr, sizeof descr))
        return wrong(h, "descr is %.24s: must be a quoted type: %s", h->at, allowed);
    const char *name = strchr("<>|=", descr[0]) != NULL && descr[0] != '\0' ? descr + 1 : descr;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (strcmp(name, known[i].name) != 0 ||
            (descr[0] == '|' && ypi_type_size(known[i].type) > 1))
            continue;
        h->type = known[i].type;
        h->big_endian = descr[0] == '>' || (descr[0] != '<' && ypi_big_endian());
        h->has_type = true;
        return YP_OK;
    }
    return wrong(h, "descr is '%s': must be %s", descr, allowed);
}

static enum yp_status parse_shape(struct header *h)
{
    const char *begin = h->at;
    if (!accept(h, '('))
        return wrong(h, "shape is %.24s: must be a tuple", begin);
    while (!accept(h, ')')) {
        char *end = NULL;
        errno = 0;
        skip_blanks(h);
        uint64_t size = isdigit((unsigned char)*h->at) ? strtoull(h->at, &end, 10) : 0;
        if (end == NULL || errno != 0 || size > INT64_MAX)
            return wrong(h, "shape is %.48s: must be whole numbers", begin);
        if (h->axes == AXES_MAX)
            return wrong(h, "shape is %.48s: must have 2 to %d axes", begin, AXES_MAX);
        h->shape[h->axes++] = size;
        h->at = *end == 'L' ? end + 1 : end; /* as Python 2 wrote them */
        skip_blanks(h);
        if (*h->at != ')' && !accept(h, ','))
            return wrong(h, "shape is %.48s: must be numbers with commas between", begin);
    }
    h->has_shape = true;
    return YP_OK;
}

static enum yp_status parse_fortran(struct header *h)
{
    skip_blanks(h);
    if (strncmp(h->at, "True", 4) == 0)
        h->fortran = true, h->at += 4;
    else if (strncmp(h->at, "False", 5) == 0)
        h->at += 5;
    else
        return wrong(h, "fortran_order is %.24s: must be True or False", h->at);
    h->has_order = true;
    return YP_OK;
}

static enum yp_status parse_entry(struct header *h)
{
    char key[32];
    if (!parse_quoted(h, key, sizeof key) || !accept(h, ':'))
        return wrong(h, "'%.24s': must be a quoted key and a colon", h->at);
    if (strcmp(key, "descr") == 0 && !h->has_type)
        return parse_descr(h);
    if (strcmp(key, "fortran_order") == 0 && !h->has_order)
        return parse_fortran(h);
    if (strcmp(key, "shape") == 0 && !h->has_shape)
        return parse_shape(h);
    return wrong(h, "the key '%s': must be descr, fortran_order and shape, each once", key);
}

static enum yp_status parse_dictionary(struct header *h)
{
    if (!accept(h, '{'))
        return wrong(h, "begins with '%.24s': must be a dictionary", h->at);
    while (!accept(h, '}')) {
        enum yp_status status = parse_entry(h);
        if (status != YP_OK)
            return status;
        skip_blanks(h);
        if (*h->at != '}' && !accept(h, ','))
            return wrong(h, "'%.24s': must be a comma or a closing brace", h->at);
    }
    skip_blanks(h);
    if (*h->at != '\0')
        return wrong(h, "'%.24s' after the dictionary: must be nothing", h->at);
    if (!h->has_type || !h->has_order || !h->has_shape)
        return wrong(h, "%s is missing",
                     !h->has_type    ? "descr"
                     : !h->has_order ? "fortran_order"
                                     : "shape");
    return YP_OK;
}

/* ---- reading ---- */

/* Sizes and strides of the axes cube, row, column, channel; a missing axis has size 1. */
static enum yp_status set_axes(const struct header *h, struct synth_cube_file *file)
{
    static const int places[AXES_MAX + 1][AXES_MAX] = {
        [2] = {1, 3}, [3] = {1, 2, 3}, [4] = {0, 1, 2, 3}};
    uint64_t sizes[4] = {1, 1, 1, 1}, strides[4] = {0, 0, 0, 0}, next = 1;
    if (h->axes < 2)
        return wrong(h,
                     "shape has %zu axes: must have 2 to %d: (pixels, channels), (height, width, "
                     "channels) or (cubes, height, width, channels)",
                     h->axes, AXES_MAX);
    for (size_t i = 0; i < h->axes; i++) {
        if (h->shape[i] == 0)
            return wrong(h, "axis %zu of shape is 0: must be 1 at least", i);
        sizes[places[h->axes][i]] = h->shape[i];
    }
    for (int i = 0; i < 4; i++) {
        int axis = h->fortran ? i : 3 - i;
        strides[axis] = next;
        if (__builtin_mul_overflow(next, sizes[axis], &next) || next > INT64_MAX / 8)
            return wrong(h, "the product of shape is more than a file can hold");
    }
    file->info.cubes = sizes[0];
    file->info.height = sizes[1];
    file->info.width = sizes[2];
    file->info.channels = sizes[3];
    file->strides = (struct ypi_strides){
        .cube = strides[0], .row = strides[1], .column = strides[2], .band = strides[3]};
    return YP_OK;
}

static enum yp_status check_length(const struct header *h, const struct synth_cube_file *file)
{
    const struct synth_cube_info *info = &file->info;
    struct stat status;
    if (fstat(file->fd, &status) != 0)
        return yp_set_error(YP_IO, "%s: %s", h->path, strerror(errno));
    uint64_t bytes = info->offset + (uint64_t)info->cubes * info->height * info->width *
                                        info->channels * ypi_type_size(info->type);
    if ((uint64_t)status.st_size == bytes)
        return YP_OK;
    return yp_set_error(
        YP_IO,
        "%s: has %lld bytes, %s than the %" PRIu64
        " that its header tells: %zu x %zu x %zu x %zu of %s after %" PRIu64 " bytes",
        h->path, (long long)status.st_size, (uint64_t)status.st_size < bytes ? "less" : "more",
        bytes, info->cubes, info->height, info->width, info->channels, ypi_type_name(info->type),
        info->offset);
}

/* Offset and length of the header's text. */
static enum yp_status read_prefix(int fd, const char *path, size_t *begin, size_t *length)
{
    unsigned char prefix[PREFIX_MAX] = {0};
    struct header h = {.path = path};
    enum yp_status status = ypi_read_at(fd, path, 0, prefix, 10);
    if (status != YP_OK)
        return status;
    unsigned version = prefix[6];
    if (version < 1 || version > 3)
        return wrong(&h, "version %u.%u: must be 1.0, 2.0 or 3.0", version, prefix[7]);
    *begin = version == 1 ? 10 : 12;
    *length = prefix[8] | (size_t)prefix[9] << 8;
    if (version > 1) {
        status = ypi_read_at(fd, path, 10, prefix + 10, 2);
        *length |= (size_t)prefix[10] << 16 | (size_t)prefix[11] << 24;
    }
    if (status == YP_OK && *length > HEADER_MAX)
        return wrong(&h, "has %zu bytes: must have %zu at most", *length, HEADER_MAX);
    return status;
}

static enum yp_status read_header(struct synth_cube_file *file, char *text, size_t begin,
                                  size_t length)
{
    struct header h = {.path = file->path, .at = text};
    enum yp_status status = ypi_read_at(file->fd, file->path, begin, text, length);
    if (status != YP_OK)
        return status;
    text[length] = '\0';
    if (strlen(text) != length)
        return wrong(&h, "byte %zu is 0: must be a text", begin + strlen(text));
    status = parse_dictionary(&h);
    if (status == YP_OK)
        status = set_axes(&h, file);
    if (status != YP_OK)
        return status;
    file->info.format = SYNTH_NPY;
    file->info.type = h.type;
    file->info.big_endian = h.big_endian && ypi_type_size(h.type) > 1;
    file->info.interleave = h.fortran ? SYNTH_BSQ : SYNTH_BIP;
    file->info.offset = begin + length;
    return check_length(&h, file);
}

struct synth_cube_file *ypi_npy_open(struct yp_device *device, const char *path)
{
    size_t begin = 0, length = 0;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        yp_set_error(YP_IO, "%s: %s", path, strerror(errno));
        return NULL;
    }
    struct synth_cube_file *file = NULL;
    size_t path_size = strlen(path) + 1;
    if (read_prefix(fd, path, &begin, &length) == YP_OK)
        file = yp_device_alloc(device, sizeof *file + path_size + length + 1);
    if (file != NULL) {
        char *end = (char *)(file + 1);
        *file = (struct synth_cube_file){.device = device, .fd = fd};
        file->path = memcpy(end, path, path_size);
        if (read_header(file, end + path_size, begin, length) == YP_OK)
            return file;
        yp_device_free(device, file);
    }
    close(fd);
    return NULL;
}

/* ---- writing ---- */

size_t ypi_npy_text(char *to, size_t capacity, const char *descr, const char *shape)
{
    char text[256];
    int length = snprintf(text, sizeof text,
                          "{'descr': '%s', 'fortran_order': False, 'shape': (%s), }", descr, shape);
    size_t whole = (10 + (size_t)length + 1 + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    if (capacity < whole)
        return whole;
    memset(to, ' ', whole);
    memcpy(to, MAGIC "\x01", 8); /* version 1.0: the string's NUL is the second byte of it */
    to[8] = (char)((whole - 10) & 0xff);
    to[9] = (char)((whole - 10) >> 8);
    memcpy(to + 10, text, (size_t)length);
    to[whole - 1] = '\n';
    return whole;
}

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

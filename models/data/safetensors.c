/* The header of a .safetensors file, and reading and writing by it. */
#include "models/data/safetensors_internal.h"

#include "base/system/atomic_file.h"
#include "base/system/file.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define LENGTH_BYTES 8
#define HEADER_MAX ((uint64_t)100 << 20) /* the format's own limit */

static const struct {
    const char *name;
    size_t bytes;
} types[SAFETENSORS_TYPES + 1] = {
    [SAFETENSORS_F64] = {"F64", 8}, [SAFETENSORS_F32] = {"F32", 4},
    [SAFETENSORS_F16] = {"F16", 2}, [SAFETENSORS_BF16] = {"BF16", 2},
    [SAFETENSORS_I64] = {"I64", 8}, [SAFETENSORS_I32] = {"I32", 4},
    [SAFETENSORS_U8] = {"U8", 1},   [SAFETENSORS_OTHER] = {"another type", 0}};

const char *safetensors_type_name(enum safetensors_type type)
{
    return types[type].name;
}

size_t safetensors_type_bytes(enum safetensors_type type)
{
    return types[type].bytes;
}

uint64_t safetensors_elements(const struct safetensors_tensor *tensor)
{
    uint64_t count = 1;
    for (size_t i = 0; i < tensor->dims; i++)
        count *= tensor->shape[i];
    return count;
}

/* -- the header -------------------------------------------------------------------------------- */

/* A whole number that a double holds exactly. */
static bool whole(const cJSON *item, uint64_t *out)
{
    if (!cJSON_IsNumber(item) || !(item->valuedouble >= 0 && item->valuedouble <= 0x1p53) ||
        item->valuedouble != floor(item->valuedouble))
        return false;
    *out = (uint64_t)item->valuedouble;
    return true;
}

static bool read_type(const cJSON *item, enum safetensors_type *type)
{
    int i = 0;
    while (cJSON_IsString(item) && i < SAFETENSORS_TYPES &&
           strcmp(types[i].name, item->valuestring) != 0)
        i++;
    *type = (enum safetensors_type)i;
    return cJSON_IsString(item);
}

static enum yp_status wrong(const char *path, const char *name, const char *what)
{
    return yp_set_error(YP_IO, "%s: tensor '%.*s': %s", path, SAFETENSORS_NAME, name, what);
}

static enum yp_status read_shape(const char *path, const cJSON *item,
                                 struct safetensors_tensor *tensor)
{
    const cJSON *size;
    uint64_t most = UINT64_C(1) << 60, count = 1;
    if (!cJSON_IsArray(item))
        return wrong(path, tensor->name, "shape is no list");
    cJSON_ArrayForEach(size, item)
    {
        if (tensor->dims == SAFETENSORS_DIMS)
            return wrong(path, tensor->name, "more than 8 dimensions");
        uint64_t *to = &tensor->shape[tensor->dims++];
        if (!whole(size, to) || (*to > 0 && count > most / *to))
            return wrong(path, tensor->name, "a size is not a whole number, or too large");
        count *= *to > 0 ? *to : 1;
    }
    tensor->bytes = safetensors_elements(tensor) * types[tensor->type].bytes;
    return YP_OK;
}

/* One entry; `bytes` are those behind the header. */
static enum yp_status read_entry(const char *path, const cJSON *entry, uint64_t bytes,
                                 struct safetensors_tensor *tensor)
{
    const cJSON *range = cJSON_GetObjectItemCaseSensitive(entry, "data_offsets");
    uint64_t end = 0;
    snprintf(tensor->name, sizeof tensor->name, "%s", entry->string);
    if (strlen(entry->string) >= SAFETENSORS_NAME)
        return wrong(path, entry->string, "its name has more than 127 bytes");
    if (!read_type(cJSON_GetObjectItemCaseSensitive(entry, "dtype"), &tensor->type))
        return wrong(path, tensor->name, "dtype is no word");
    enum yp_status status =
        read_shape(path, cJSON_GetObjectItemCaseSensitive(entry, "shape"), tensor);
    if (status != YP_OK)
        return status;
    if (!cJSON_IsArray(range) || cJSON_GetArraySize(range) != 2 ||
        !whole(cJSON_GetArrayItem(range, 0), &tensor->offset) ||
        !whole(cJSON_GetArrayItem(range, 1), &end) || end < tensor->offset || end > bytes)
        return wrong(path, tensor->name, "data_offsets are not a range within the file");
    if (tensor->type == SAFETENSORS_OTHER)
        tensor->bytes = end - tensor->offset;
    if (end - tensor->offset != tensor->bytes)
        return wrong(path, tensor->name, "data_offsets are not as long as shape and dtype say");
    return YP_OK;
}

static int by_offset(const void *a, const void *b)
{
    const struct safetensors_tensor *x = a, *y = b;
    if (x->offset != y->offset)
        return x->offset < y->offset ? -1 : 1;
    return x->bytes < y->bytes ? -1 : x->bytes > y->bytes;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct safetensors_tensor *)a)->name,
                  ((const struct safetensors_tensor *)b)->name);
}

enum yp_status safetensors_check_names(struct safetensors *file)
{
    qsort(file->tensors, file->count, sizeof *file->tensors, by_name);
    for (size_t i = 1; i < file->count; i++)
        if (strcmp(file->tensors[i - 1].name, file->tensors[i].name) == 0)
            return wrong(file->path, file->tensors[i].name, "is there twice");
    return YP_OK;
}

/* No name twice, no byte in two tensors or in none. */
static enum yp_status check_all(struct safetensors *file, uint64_t bytes)
{
    uint64_t at = 0;
    const enum yp_status status = safetensors_check_names(file);
    if (status != YP_OK)
        return status;
    qsort(file->tensors, file->count, sizeof *file->tensors, by_offset);
    for (size_t i = 0; i < file->count; i++) {
        if (file->tensors[i].offset != at)
            return wrong(file->path, file->tensors[i].name,
                         "its bytes overlap others', or leave a gap");
        at += file->tensors[i].bytes;
    }
    if (at != bytes)
        return yp_set_error(YP_IO, "%s: %" PRIu64 " bytes behind the last tensor", file->path,
                            bytes - at);
    return YP_OK;
}

struct safetensors *safetensors_describe(const char *path, size_t most)
{
    size_t length = strlen(path) + 1;
    struct safetensors *file =
        yp_device_alloc(yp_device_cpu(), sizeof *file + most * sizeof *file->tensors + length);
    if (file == NULL)
        return NULL;
    *file = (struct safetensors){.fd = -1, .path = (char *)(file->tensors + most)};
    memcpy(file->path, path, length);
    return file;
}

/* The description of a parsed header; NULL with yp_last_error() set. */
static struct safetensors *describe(const char *path, const cJSON *header, uint64_t bytes)
{
    struct safetensors *file = safetensors_describe(path, (size_t)cJSON_GetArraySize(header));
    const cJSON *entry;
    enum yp_status status = YP_OK;
    if (file == NULL)
        return NULL;
    cJSON_ArrayForEach(entry, header)
    {
        if (strcmp(entry->string, "__metadata__") == 0 || status != YP_OK)
            continue;
        struct safetensors_tensor *tensor = &file->tensors[file->count++];
        *tensor = (struct safetensors_tensor){.type = SAFETENSORS_F64};
        status = cJSON_IsObject(entry) ? read_entry(path, entry, bytes, tensor)
                                       : wrong(path, entry->string, "is described by no object");
    }
    if (status == YP_OK)
        status = check_all(file, bytes);
    if (status == YP_OK)
        return file;
    safetensors_close(file);
    return NULL;
}

/* -- reading ----------------------------------------------------------------------------------- */

/* The JSON text, ended by a NUL; the caller frees it with yp_device_free(). */
static char *read_header(int fd, const char *path, uint64_t size, uint64_t *length)
{
    unsigned char bytes[LENGTH_BYTES];
    if (size < LENGTH_BYTES) {
        yp_set_error(YP_IO, "%s: %" PRIu64 " bytes are no .safetensors file", path, size);
        return NULL;
    }
    if (ypi_read_at(fd, path, 0, bytes, sizeof bytes) != YP_OK)
        return NULL;
    *length = 0;
    for (int i = LENGTH_BYTES - 1; i >= 0; i--)
        *length = *length << 8 | bytes[i];
    if (*length > HEADER_MAX || *length > size - LENGTH_BYTES) {
        yp_set_error(YP_IO,
                     "%s: the header has %" PRIu64 " bytes: must be within the file and at "
                     "most 100 MiB",
                     path, *length);
        return NULL;
    }
    char *text = yp_device_alloc(yp_device_cpu(), *length + 1);
    if (text != NULL && ypi_read_at(fd, path, LENGTH_BYTES, text, *length) != YP_OK) {
        yp_device_free(yp_device_cpu(), text);
        return NULL;
    }
    if (text != NULL)
        text[*length] = '\0';
    return text;
}

static struct safetensors *open_description(int fd, const char *path)
{
    struct stat status;
    uint64_t length;
    if (fstat(fd, &status) != 0 || !S_ISREG(status.st_mode)) {
        yp_set_error(YP_IO, "%s: is no file", path);
        return NULL;
    }
    char *text = read_header(fd, path, (uint64_t)status.st_size, &length);
    if (text == NULL)
        return NULL;
    cJSON *header = cJSON_ParseWithLengthOpts(text, length + 1, NULL, false);
    struct safetensors *file = NULL;
    if (cJSON_IsObject(header))
        file = describe(path, header, (uint64_t)status.st_size - LENGTH_BYTES - length);
    else
        yp_set_error(YP_IO, "%s: the header is no JSON object", path);
    if (file != NULL)
        file->data = LENGTH_BYTES + length;
    cJSON_Delete(header);
    yp_device_free(yp_device_cpu(), text);
    return file;
}

struct safetensors *safetensors_open(const char *path)
{
    int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC); /* waits for no writer of a pipe */
    if (fd < 0) {
        yp_set_error(YP_IO, "%s: %s", path, strerror(errno));
        return NULL;
    }
    struct safetensors *file = open_description(fd, path);
    if (file != NULL)
        file->fd = fd;
    else
        close(fd);
    return file;
}

void safetensors_close(struct safetensors *file)
{
    if (file == NULL)
        return;
    if (file->fd >= 0)
        close(file->fd);
    yp_device_free(yp_device_cpu(), file);
}

const struct safetensors_tensor *safetensors_at(const struct safetensors *file, size_t i)
{
    return i < file->count ? &file->tensors[i] : NULL;
}

const struct safetensors_tensor *safetensors_find(const struct safetensors *file, const char *name)
{
    for (size_t i = 0; i < file->count; i++)
        if (strcmp(file->tensors[i].name, name) == 0)
            return &file->tensors[i];
    return NULL;
}

static enum yp_status check_range(const struct safetensors_tensor *tensor, uint64_t first,
                                  size_t count)
{
    uint64_t all = safetensors_elements(tensor);
    if (first <= all && count <= all - first)
        return YP_OK;
    return yp_set_error(YP_INVALID,
                        "safetensors: elements %" PRIu64 " to %" PRIu64 " of '%s', which has "
                        "%" PRIu64,
                        first, first + count, tensor->name, all);
}

enum yp_status safetensors_read(const struct safetensors *file,
                                const struct safetensors_tensor *tensor, uint64_t first,
                                size_t count, void *out)
{
    size_t bytes = types[tensor->type].bytes;
    enum yp_status status = check_range(tensor, first, count);
    if (tensor->type == SAFETENSORS_OTHER)
        return yp_set_error(YP_UNSUPPORTED, "%s: tensor '%s' is of a type that is not known",
                            file->path, tensor->name);
    return status == YP_OK
               ? ypi_read_at(file->fd, file->path, file->data + tensor->offset + first * bytes, out,
                             count * bytes)
               : status;
}

/* -- numbers ----------------------------------------------------------------------------------- */

static double from_f16(uint16_t half)
{
    int exponent = half >> 10 & 31;
    double fraction = half & 1023, sign = half >> 15 ? -1 : 1;
    if (exponent == 31)
        return fraction > 0 ? (double)NAN : sign * (double)INFINITY;
    return sign * (exponent == 0 ? ldexp(fraction, -24) : ldexp(1024 + fraction, exponent - 25));
}

/* Element i of an array in the file's type. */
static double number_at(const void *array, enum safetensors_type type, size_t i)
{
    union {
        uint32_t bits;
        float value;
    } wide;
    switch (type) {
    case SAFETENSORS_F64:
        return ((const double *)array)[i];
    case SAFETENSORS_F32:
        return (double)((const float *)array)[i];
    case SAFETENSORS_F16:
        return from_f16(((const uint16_t *)array)[i]);
    default:
        wide.bits = (uint32_t)((const uint16_t *)array)[i] << 16;
        return (double)wide.value;
    }
}

/* Through a buffer of the stack, to floats or, where those are NULL, to doubles. */
static enum yp_status read_numbers(const struct safetensors *file,
                                   const struct safetensors_tensor *tensor, uint64_t first,
                                   size_t count, float *floats, double *doubles)
{
    double buffer[1024] = {0};
    enum yp_status status = check_range(tensor, first, count);
    if (tensor->type > SAFETENSORS_BF16)
        return yp_set_error(YP_UNSUPPORTED, "%s: tensor '%s' is %s: no real numbers", file->path,
                            tensor->name, types[tensor->type].name);
    size_t most = sizeof buffer / types[tensor->type].bytes;
    for (size_t at = 0; at < count && status == YP_OK; at += most) {
        size_t some = count - at < most ? count - at : most;
        status = safetensors_read(file, tensor, first + at, some, buffer);
        for (size_t i = 0; i < some && status == YP_OK; i++) {
            double value = number_at(buffer, tensor->type, i);
            if (floats != NULL)
                floats[at + i] = (float)value;
            else
                doubles[at + i] = value;
        }
    }
    return status;
}

enum yp_status safetensors_read_floats(const struct safetensors *file,
                                       const struct safetensors_tensor *tensor, uint64_t first,
                                       size_t count, float *out)
{
    return read_numbers(file, tensor, first, count, out, NULL);
}

enum yp_status safetensors_read_doubles(const struct safetensors *file,
                                        const struct safetensors_tensor *tensor, uint64_t first,
                                        size_t count, double *out)
{
    return read_numbers(file, tensor, first, count, NULL, out);
}

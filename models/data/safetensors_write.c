/* A .safetensors file, written at once: the header is known before the first tensor is. */
#include "models/data/safetensors.h"

#include "base/system/atomic_file.h"

#include <cjson/cJSON.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define LENGTH_BYTES 8
#define MOST (UINT64_C(1) << 53) /* what a number of JSON holds exactly */

struct safetensors_writer {
    struct ypi_atomic_file file;
    uint64_t data;           /* where the tensors begin */
    uint64_t bytes, written; /* of all tensors */
    size_t count;
    struct safetensors_tensor tensors[]; /* (count) */
};

/* -- the header -------------------------------------------------------------------------------- */

static bool add_entry(cJSON *header, const struct safetensors_tensor *tensor)
{
    cJSON *entry = cJSON_AddObjectToObject(header, tensor->name);
    const char *type = safetensors_type_name(tensor->type);
    bool added = entry != NULL && cJSON_AddStringToObject(entry, "dtype", type) != NULL;
    cJSON *shape = added ? cJSON_AddArrayToObject(entry, "shape") : NULL;
    for (size_t i = 0; i < tensor->dims && added; i++)
        added = cJSON_AddItemToArray(shape, cJSON_CreateNumber((double)tensor->shape[i]));
    cJSON *range = added ? cJSON_AddArrayToObject(entry, "data_offsets") : NULL;
    double begin = (double)tensor->offset;
    return range != NULL && cJSON_AddItemToArray(range, cJSON_CreateNumber(begin)) &&
           cJSON_AddItemToArray(range, cJSON_CreateNumber(begin + (double)tensor->bytes));
}

/* The header's text, filled up with blanks to whole 8 bytes; the caller frees it with free(). */
static char *header_of(const struct safetensors_tensor *tensors, size_t count, size_t *length)
{
    cJSON *header = cJSON_CreateObject();
    bool added = header != NULL;
    for (size_t i = 0; i < count && added; i++)
        added = add_entry(header, &tensors[i]);
    char *printed = added ? cJSON_PrintUnformatted(header) : NULL, *text = NULL;
    if (printed != NULL) {
        size_t used = strlen(printed);
        *length = (used + 7) / 8 * 8;
        text = malloc(*length);
        if (text != NULL) {
            memset(text, ' ', *length);
            memcpy(text, printed, used);
        }
    }
    cJSON_free(printed);
    cJSON_Delete(header);
    if (text == NULL)
        yp_set_error(YP_OUT_OF_MEMORY, "safetensors_create: no memory for the header");
    return text;
}

static enum yp_status place_all(struct safetensors_tensor *tensors, size_t count)
{
    uint64_t at = 0;
    for (size_t i = 0; i < count; i++) {
        struct safetensors_tensor *tensor = &tensors[i];
        bool known = strcmp(tensor->name, "__metadata__") != 0 && tensor->name[0] != '\0';
        for (size_t k = 0; k < i && known; k++)
            known = strcmp(tensors[k].name, tensor->name) != 0;
        if (!known || tensor->dims > SAFETENSORS_DIMS ||
            (unsigned)tensor->type >= SAFETENSORS_TYPES)
            return yp_set_error(
                YP_INVALID,
                "safetensors_create: tensor %zu, '%s': must have a name of its own, "
                "a type and at most 8 dimensions",
                i, tensor->name);
        tensor->offset = at;
        tensor->bytes = safetensors_type_bytes(tensor->type);
        bool fits = true;
        for (size_t k = 0; k < tensor->dims; k++)
            fits = !__builtin_mul_overflow(tensor->bytes, tensor->shape[k], &tensor->bytes) && fits;
        if (!fits || tensor->bytes > MOST - at)
            return yp_set_error(
                YP_INVALID, "safetensors_create: tensor '%s' ends beyond 2^53 bytes", tensor->name);
        at += tensor->bytes;
    }
    return YP_OK;
}

/* -- writing ----------------------------------------------------------------------------------- */

static enum yp_status write_header(struct safetensors_writer *w)
{
    size_t length = 0;
    unsigned char bytes[LENGTH_BYTES];
    char *text = header_of(w->tensors, w->count, &length);
    if (text == NULL)
        return yp_last_status();
    for (int i = 0; i < LENGTH_BYTES; i++)
        bytes[i] = (unsigned char)((uint64_t)length >> (8 * i));
    w->data = LENGTH_BYTES + length;
    enum yp_status status = ypi_write_at(w->file.fd, w->file.path, 0, bytes, sizeof bytes);
    if (status == YP_OK)
        status = ypi_write_at(w->file.fd, w->file.path, LENGTH_BYTES, text, length);
    free(text);
    return status;
}

struct safetensors_writer *safetensors_create(const char *path, struct safetensors_tensor *tensors,
                                              size_t count)
{
    struct stat there;
    if (place_all(tensors, count) != YP_OK)
        return NULL;
    if (stat(path, &there) == 0 && !S_ISREG(there.st_mode)) {
        yp_set_error(YP_IO, "%s: is no regular file, which a new one could take the place of",
                     path);
        return NULL;
    }
    struct safetensors_writer *w =
        yp_device_alloc(yp_device_cpu(), sizeof *w + count * sizeof *w->tensors);
    if (w == NULL)
        return NULL;
    *w = (struct safetensors_writer){.file.fd = -1, .count = count};
    memcpy(w->tensors, tensors, count * sizeof *tensors);
    for (size_t i = 0; i < count; i++)
        w->bytes += tensors[i].bytes;
    if (ypi_atomic_create(&w->file, path) == YP_OK && write_header(w) == YP_OK)
        return w;
    safetensors_abandon(w);
    return NULL;
}

enum yp_status safetensors_write(struct safetensors_writer *writer, size_t i, uint64_t first,
                                 size_t count, const void *from)
{
    const struct safetensors_tensor *tensor = i < writer->count ? &writer->tensors[i] : NULL;
    uint64_t all = tensor != NULL ? safetensors_elements(tensor) : 0;
    if (tensor == NULL || first > all || count > all - first)
        return yp_set_error(YP_INVALID,
                            "safetensors_write: tensor %zu, %zu elements: there are %zu "
                            "tensors, and %llu elements of it",
                            i, count, writer->count, (unsigned long long)all);
    size_t bytes = safetensors_type_bytes(tensor->type);
    writer->written += count * bytes;
    return ypi_write_at(writer->file.fd, writer->file.path,
                        writer->data + tensor->offset + first * bytes, from, count * bytes);
}

enum yp_status safetensors_finish(struct safetensors_writer *writer)
{
    enum yp_status status =
        writer->written == writer->bytes
            ? ypi_atomic_sync(&writer->file)
            : yp_set_error(YP_INVALID, "%s: %llu of %llu bytes were written", writer->file.path,
                           (unsigned long long)writer->written, (unsigned long long)writer->bytes);
    if (status == YP_OK)
        status = ypi_atomic_publish(&writer->file, true);
    if (status == YP_OK)
        status = ypi_sync_directory(writer->file.path);
    safetensors_abandon(writer);
    return status;
}

void safetensors_abandon(struct safetensors_writer *writer)
{
    if (writer == NULL)
        return;
    ypi_atomic_abandon(&writer->file);
    yp_device_free(yp_device_cpu(), writer);
}

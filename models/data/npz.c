/* The directory at the end of a zip, and the header of each array. */
#include "models/data/npz.h"

#include "base/system/file.h"
#include "base/system/npy.h"
#include "models/data/safetensors_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Bytes of records without their texts. */
enum { END = 22, ENTRY = 46, LOCAL = 30, COMMENT = 65535, DIRECTORY = 1 << 24 };
enum { END_MARK = 0x06054b50, ENTRY_MARK = 0x02014b50, LOCAL_MARK = 0x04034b50 };

/* A little-endian number of `bytes`. */
static uint64_t number(const unsigned char *at, int bytes)
{
    uint64_t value = 0;
    for (int i = bytes - 1; i >= 0; i--)
        value = value << 8 | at[i];
    return value;
}

bool npz_is_one(const char *path)
{
    unsigned char mark[4] = {0};
    const int fd =
        open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC); /* waits for no writer of a pipe */
    const bool is = fd >= 0 && pread(fd, mark, sizeof mark, 0) == (ssize_t)sizeof mark &&
                    (number(mark, 4) == LOCAL_MARK || number(mark, 4) == END_MARK);
    if (fd >= 0)
        close(fd);
    return is;
}

/* -- the directory ---------------------------------------------------------------------------- */

struct zip {
    int fd;
    const char *path;
    uint64_t size, entries, at, bytes; /* of the file; of the directory */
    unsigned char *directory;
};

static enum yp_status damaged(const struct zip *z, const char *what)
{
    return yp_set_error(YP_IO, "%s: %s: must be a zip as numpy.savez() writes it, below 4 GiB",
                        z->path, what);
}

/* The record at the end; a comment may stand behind it. */
static enum yp_status find_end(struct zip *z)
{
    unsigned char tail[END + COMMENT];
    const size_t some = z->size < sizeof tail ? (size_t)z->size : sizeof tail;
    if (some < END)
        return damaged(z, "it is too short");
    const enum yp_status status = ypi_read_at(z->fd, z->path, z->size - some, tail, some);
    if (status != YP_OK)
        return status;
    size_t at = some - END;
    while (at > 0 && number(tail + at, 4) != END_MARK)
        at--;
    if (number(tail + at, 4) != END_MARK)
        return damaged(z, "it has no directory");
    z->entries = number(tail + at + 10, 2);
    z->bytes = number(tail + at + 12, 4);
    z->at = number(tail + at + 16, 4);
    if (z->bytes > DIRECTORY || z->at > z->size || z->bytes > z->size - z->at)
        return damaged(z, "its directory is not within it");
    return YP_OK;
}

static enum yp_status read_directory(struct zip *z)
{
    struct stat status;
    if (fstat(z->fd, &status) != 0 || !S_ISREG(status.st_mode))
        return yp_set_error(YP_IO, "%s: is no file", z->path);
    z->size = (uint64_t)status.st_size;
    if (find_end(z) != YP_OK)
        return yp_last_status();
    z->directory = yp_device_alloc(yp_device_cpu(), z->bytes + 1);
    if (z->directory == NULL)
        return yp_last_status();
    return ypi_read_at(z->fd, z->path, z->at, z->directory, z->bytes);
}

/* -- arrays ----------------------------------------------------------------------------------- */

static enum yp_status wrong(const struct zip *z, const char *name, const char *what)
{
    return yp_set_error(YP_IO, "%s: array '%s': %s", z->path, name, what);
}

static enum safetensors_type type_of(const struct ypi_npy *h)
{
    if (h->kind == 'f')
        return h->size == 8 ? SAFETENSORS_F64 : SAFETENSORS_F32;
    if (h->kind == 'i' && h->size >= 4)
        return h->size == 8 ? SAFETENSORS_I64 : SAFETENSORS_I32;
    return h->kind == 'u' && h->size == 1 ? SAFETENSORS_U8 : SAFETENSORS_OTHER;
}

/* The array whose .npy has `bytes` from `at` on. */
static enum yp_status describe(const struct zip *z, uint64_t at, uint64_t bytes,
                               struct safetensors_tensor *tensor)
{
    struct ypi_npy h;
    const enum yp_status status = ypi_npy_read_at(z->fd, z->path, at, &h);
    if (status != YP_OK)
        return status;
    if ((h.fortran && h.axes > 1) || h.big_endian)
        return wrong(z, tensor->name, "must be in C order and little-endian");
    if (h.offset - at > bytes)
        return wrong(z, tensor->name, "its header is longer than the array");
    tensor->type = type_of(&h);
    tensor->dims = h.axes;
    tensor->offset = h.offset;
    tensor->bytes = bytes - (h.offset - at);
    uint64_t wanted = h.size;
    bool right = true;
    for (size_t i = 0; i < h.axes; i++) {
        tensor->shape[i] = h.shape[i];
        right = right && (h.shape[i] == 0 || wanted <= UINT32_MAX / h.shape[i]);
        wanted *= h.shape[i];
    }
    if (!right || wanted != tensor->bytes)
        return wrong(z, tensor->name, "it does not have as many bytes as its shape says");
    return YP_OK;
}

/* The array of an entry of the directory. */
static enum yp_status take(const struct zip *z, const unsigned char *entry, size_t name_length,
                           struct safetensors_tensor *tensor)
{
    unsigned char local[LOCAL];
    const uint64_t bytes = number(entry + 24, 4), from = number(entry + 42, 4);
    snprintf(tensor->name, sizeof tensor->name, "%.*s", (int)name_length, entry + ENTRY);
    const size_t length = strlen(tensor->name);
    if (length != name_length || length < 4 || strcmp(tensor->name + length - 4, ".npy") != 0)
        return wrong(z, tensor->name, "must be a .npy file with a name below 128 bytes");
    tensor->name[length - 4] = '\0';
    if (number(entry + 10, 2) != 0 || (entry[8] & 1) != 0 || number(entry + 20, 4) != bytes)
        return wrong(z, tensor->name, "is compressed: must be as numpy.savez() writes it");
    if (from > z->size || z->size - from < LOCAL)
        return wrong(z, tensor->name, "is not within the file");
    if (ypi_read_at(z->fd, z->path, from, local, sizeof local) != YP_OK)
        return yp_last_status();
    const uint64_t at = from + LOCAL + number(local + 26, 2) + number(local + 28, 2);
    if (number(local, 4) != LOCAL_MARK || at > z->size || bytes > z->size - at)
        return wrong(z, tensor->name, "is not within the file");
    return describe(z, at, bytes, tensor);
}

static enum yp_status take_all(const struct zip *z, struct safetensors *file)
{
    uint64_t at = 0;
    for (uint64_t i = 0; i < z->entries; i++) {
        const unsigned char *entry = z->directory + at;
        if (z->bytes - at < ENTRY || number(entry, 4) != ENTRY_MARK)
            return damaged(z, "its directory has fewer entries than it says");
        const size_t name = (size_t)number(entry + 28, 2);
        const uint64_t all = ENTRY + name + number(entry + 30, 2) + number(entry + 32, 2);
        if (z->bytes - at < all)
            return damaged(z, "an entry of its directory is not within it");
        struct safetensors_tensor *tensor = &file->tensors[file->count++];
        *tensor = (struct safetensors_tensor){.type = SAFETENSORS_OTHER};
        const enum yp_status status = take(z, entry, name, tensor);
        if (status != YP_OK)
            return status;
        at += all;
    }
    return safetensors_check_names(file);
}

struct safetensors *npz_open(const char *path)
{
    struct zip z = {.path = path, .fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC)};
    if (z.fd < 0) {
        yp_set_error(YP_IO, "%s: %s", path, strerror(errno));
        return NULL;
    }
    struct safetensors *file =
        read_directory(&z) == YP_OK ? safetensors_describe(path, z.entries) : NULL;
    if (file != NULL && take_all(&z, file) != YP_OK) {
        safetensors_close(file);
        file = NULL;
    }
    yp_device_free(yp_device_cpu(), z.directory);
    if (file != NULL)
        file->fd = z.fd;
    else
        close(z.fd);
    return file;
}

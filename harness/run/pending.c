#include "harness/run/pending.h"

#include "base/text/text.h"
#include "harness/run/stack/target.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

const void *ypi_pending(const FILE *stream, size_t *size)
{
    /* Of glibc's public <stdio.h>. */
    const char *begin = stream->_IO_write_base;
    const char *end = stream->_IO_write_ptr;
    *size = begin != NULL && end > begin ? (size_t)(end - begin) : 0;
    return begin;
}

static bool same_file(int fd, const char *path)
{
    struct stat own;
    struct stat other;
    return fstat(fd, &own) == 0 && stat(path, &other) == 0 && own.st_dev == other.st_dev &&
           own.st_ino == other.st_ino;
}

void ypi_pending_rescue(const struct ypi_item *item)
{
    enum { MOST = 1 << 20 };
    const struct ypi_target target = {.pid = item->pid};
    char path[64];
    _Alignas(FILE) unsigned char stream[sizeof(FILE)];
    size_t size = 0;
    if (item->addresses.output == 0 || !ypi_target_same_program(item->pid) ||
        !ypi_target_get(&target, item->addresses.output, stream, sizeof stream))
        return;
    const void *begin = ypi_pending((const FILE *)(const void *)stream, &size);
    if (size == 0 || size > MOST)
        return;
    char *bytes = ypi_calloc(size, 1);
    size = ypi_target_read(&target, (uintptr_t)begin, bytes, size);
    snprintf(path, sizeof path, "/proc/%d/fd/%d", (int)item->pid, STDOUT_FILENO);
    const int fd =
        item->output == NULL ? STDOUT_FILENO : open(item->output, O_WRONLY | O_APPEND | O_CLOEXEC);
    if (fd >= 0 && same_file(fd, path) && write(fd, bytes, size) < 0)
        perror(path);
    if (fd >= 0 && item->output != NULL)
        close(fd);
    free(bytes);
}

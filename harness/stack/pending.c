#include "harness/stack/pending.h"

#include "base/text/text.h"
#include "harness/stack/target.h"

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

void ypi_pending_rescue(pid_t pid, uint64_t address, const char *output)
{
    enum { MOST = 1 << 20 };
    const struct ypi_target target = {.pid = pid};
    char path[64];
    _Alignas(FILE) unsigned char stream[sizeof(FILE)];
    size_t size = 0;
    if (address == 0 || !ypi_target_same_program(pid) ||
        !ypi_target_get(&target, address, stream, sizeof stream))
        return;
    const void *begin = ypi_pending((const FILE *)(const void *)stream, &size);
    if (size == 0 || size > MOST)
        return;
    char *bytes = ypi_calloc(size, 1);
    size = ypi_target_read(&target, (uintptr_t)begin, bytes, size);
    snprintf(path, sizeof path, "/proc/%d/fd/%d", (int)pid, STDOUT_FILENO);
    const int fd = output == NULL ? STDOUT_FILENO : open(output, O_WRONLY | O_APPEND | O_CLOEXEC);
    if (fd >= 0 && same_file(fd, path) && write(fd, bytes, size) < 0)
        perror(path);
    if (fd >= 0 && output != NULL)
        close(fd);
    free(bytes);
}

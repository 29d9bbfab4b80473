/* To be preloaded: file systems that give no locks (YPTEST_NO_LOCKS, YPTEST_NO_FLOCK) or no memory
 * that processes share (YPTEST_NO_SHARING), as some of networks do. */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define EXPORTED __attribute__((visibility("default")))

/* In the place of the C library's. */
EXPORTED int control(int fd, int command, ...) __asm__("fcntl");
EXPORTED int control64(int fd, int command, ...) __asm__("fcntl64");
EXPORTED int lock(int fd, int operation) __asm__("flock");
EXPORTED void *map(void *at, size_t size, int protection, int flags, int fd,
                   off_t offset) __asm__("mmap");
EXPORTED void *map64(void *at, size_t size, int protection, int flags, int fd,
                     off_t offset) __asm__("mmap64");

static int do_control(int fd, int command, void *argument)
{
    if (getenv("YPTEST_NO_LOCKS") != NULL &&
        (command == F_SETLK || command == F_SETLKW || command == F_GETLK)) {
        errno = ENOLCK;
        return -1;
    }
    return (int)syscall(SYS_fcntl, fd, command, argument);
}

#define FORWARD(command) \
    va_list rest; \
    va_start(rest, command); \
    void *argument = va_arg(rest, void *); \
    va_end(rest); \
    return do_control(fd, command, argument)

int control(int fd, int command, ...)
{
    FORWARD(command);
}

int control64(int fd, int command, ...)
{
    FORWARD(command);
}

int lock(int fd, int operation)
{
    if (getenv("YPTEST_NO_FLOCK") == NULL)
        return (int)syscall(SYS_flock, fd, operation);
    errno = ENOLCK;
    return -1;
}

/* SQLite's own, which lies beside a history. */
static int is_shared_index(int fd)
{
    char link[64];
    char path[4096];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, path, sizeof path - 1);
    return length > 4 && memcmp(path + length - 4, "-shm", 4) == 0;
}

void *map(void *at, size_t size, int protection, int flags, int fd, off_t offset)
{
    if (fd >= 0 && getenv("YPTEST_NO_SHARING") != NULL && is_shared_index(fd)) {
        errno = ENODEV;
        return MAP_FAILED;
    }
    return (void *)syscall(SYS_mmap, at, size, protection, flags, fd, offset);
}

void *map64(void *at, size_t size, int protection, int flags, int fd, off_t offset)
{
    return map(at, size, protection, flags, fd, offset);
}

#include "harness/message/channel_memory.h"

#include "base/text/text.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* Of address space; a message of 100,000 samples is about one fifth of it. */
#define SLOT_BYTES ((size_t)8 << 20)

struct ypi_channel_memory {
    _Atomic uint64_t used; /* bytes behind this, above the slot's size when one did not fit */
    char bytes[SLOT_BYTES - sizeof(uint64_t)];
};

int ypi_channel_memory_create(void)
{
    int fd = memfd_create("yieldpoint", MFD_CLOEXEC);
    /* As long as it may ever be: only what is written takes memory. */
    if (fd >= 0 && ftruncate(fd, (off_t)1 << 45) != 0) {
        close(fd);
        return -1;
    }
    return fd;
}

static off_t offset_of(int number)
{
    return (off_t)number * (off_t)SLOT_BYTES;
}

struct ypi_channel_memory *ypi_channel_memory_map(pid_t runner, int fd, int number)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/fd/%d", (int)runner, fd);
    int own = fd >= 0 ? open(path, O_RDWR | O_CLOEXEC) : -1;
    if (own < 0)
        return NULL;
    void *slot = mmap(NULL, SLOT_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, own, offset_of(number));
    close(own);
    return slot != MAP_FAILED ? slot : NULL;
}

bool ypi_channel_memory_append(struct ypi_channel_memory *memory, const void *const parts[3],
                               const size_t sizes[3])
{
    size_t total = sizes[0] + sizes[1] + sizes[2];
    if (total > sizeof memory->bytes)
        return false;
    uint64_t at = atomic_fetch_add(&memory->used, total);
    if (at > sizeof memory->bytes - total)
        return false;
    for (int i = 0; i < 3; at += sizes[i], i++)
        if (sizes[i] > 0)
            memcpy(memory->bytes + at, parts[i], sizes[i]);
    return true;
}

char *ypi_channel_memory_read(int fd, int number, size_t *size)
{
    uint64_t used = 0;
    *size = 0;
    if (fd < 0 || pread(fd, &used, sizeof used, offset_of(number)) != sizeof used || used == 0)
        return NULL;
    size_t capacity = SLOT_BYTES - sizeof used;
    *size = used < capacity ? used : capacity;
    char *bytes = ypi_calloc(*size, 1);
    ssize_t got = pread(fd, bytes, *size, offset_of(number) + (off_t)sizeof used);
    *size = got > 0 ? (size_t)got : 0;
    return bytes;
}

void ypi_channel_memory_clear(int fd, int number)
{
    if (fd >= 0)
        (void)fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, offset_of(number),
                        (off_t)SLOT_BYTES);
}

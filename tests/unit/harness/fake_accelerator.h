/* A device whose memory is not the CPU's to all who ask, though it is: code for accelerators runs
 * on it where there is none. */
#ifndef UNIT_FAKE_ACCELERATOR_H
#define UNIT_FAKE_ACCELERATOR_H

#include "device/backend.h"

#include <stdlib.h>
#include <string.h>

struct fake_block {
    size_t bytes, unused[7]; /* 64 bytes */
};

static inline const char *fake_name(const struct yp_device *device)
{
    (void)device;
    return "fake:0";
}

/* Filled with what is no number: nothing may count on zeros. */
static inline void *fake_take(struct yp_device *device, size_t bytes)
{
    (void)device;
    struct fake_block *block = NULL;
    if (posix_memalign((void **)&block, 64, sizeof *block + bytes) != 0)
        return NULL;
    memset(block, 0xff, sizeof *block + bytes);
    block->bytes = bytes;
    return block + 1;
}

static inline size_t fake_give(struct yp_device *device, void *memory)
{
    (void)device;
    struct fake_block *block = (struct fake_block *)memory - 1;
    size_t bytes = block->bytes;
    free(block);
    return bytes;
}

static inline void fake_memory(const struct yp_device *device, struct yp_memory *out)
{
    (void)device;
    (void)out;
}

static bool fake_copies_fail;

static inline enum yp_status fake_copy(struct yp_device *device, void *to, const void *from,
                                       size_t bytes)
{
    (void)device;
    if (fake_copies_fail)
        return yp_set_error(YP_DEVICE_FAULT, "the fake device was told to fail");
    memcpy(to, from, bytes);
    return YP_OK;
}

static inline struct yp_device *fake_accelerator(void)
{
    static const struct ypi_backend backend = {.kind = YP_DEVICE,
                                               .name = fake_name,
                                               .take = fake_take,
                                               .give = fake_give,
                                               .memory = fake_memory,
                                               .copy = fake_copy};
    static struct yp_device device = {.backend = &backend};
    return &device;
}

#endif

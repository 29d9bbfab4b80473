/* The loops that ceilings are measured with: nothing but what each is about. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <yieldpoint/ceiling.h>
#include <yieldpoint/isa.h>

/* What `to` is filled with. */
#define YPI_KERNEL_FILL 0x5a

/* What a kernel works on, and what came of it. Kernels of traffic go `passes` times over `bytes`.
 * Those of arithmetic have no memory: `steps` times every lane of their accumulators takes
 *     v = v * 0.999 + 0.5              fp64, fp32, from 1 on
 *     v = v + 1.5 * 2 + 1.5 * 2 + ...  bf16, from 0 on, as many products as a lane takes
 *     v = v + 1 * 3 + 1 * 3 + ...      int8, the same
 *     v = v * 3 + 1                    int32, from 1 on, modulo 2^32 */
struct ypi_kernel_work {
    const char *from; /* aligned to 64 bytes, like to */
    char *to;
    size_t bytes; /* to be read, or filled, or copied; a multiple of 512 */
    size_t passes;
    size_t steps;
    double total; /* of arithmetic: all lanes of all accumulators */
    uint64_t sum; /* of read: all 64-bit words that were read, modulo 2^64 */
};

struct ypi_kernel {
    enum yp_ceiling ceiling;
    enum yp_isa isa;
    bool streaming;     /* stores go past the caches */
    double amount;      /* operations a step; bytes moved a byte and pass */
    bool (*runs)(void); /* whether this processor has what it needs beyond isa; NULL: it does */
    void (*run)(struct ypi_kernel_work *work);
};

/* All kernels of this build, `*count` of them; of one ceiling the better ones stand behind. */
const struct ypi_kernel *ypi_kernels(size_t *count);

/* The best that runs here with no more than `isa`; NULL when there is none. */
const struct ypi_kernel *ypi_kernel_best(enum yp_ceiling ceiling, enum yp_isa isa, bool streaming);

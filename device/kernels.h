/* The loops that ceilings are measured with: nothing but what each is about. */
#ifndef YPI_KERNELS_H
#define YPI_KERNELS_H

#include <stddef.h>
#include <yieldpoint/ceiling.h>
#include <yieldpoint/isa.h>

/* What a kernel works on. Arithmetic kernels have no memory: they carry out `steps` times
 *     v = v * factor + term
 * in every lane of their accumulators, which begin at 1 (bf16 and int8: sums of products), and
 * leave one lane of the first accumulator in `result`. */
struct ypi_kernel_work {
    const char *from; /* aligned to 64 bytes, like to */
    char *to;
    size_t bytes; /* to be read, or filled, or copied; a multiple of 4096 */
    size_t steps;
    double
        result; /* of arithmetic: that lane; of read: the sum of all 64-bit words, as an integer */
};

struct ypi_kernel {
    enum yp_ceiling ceiling;
    enum yp_isa isa;
    bool (*runs)(void); /* whether this processor has what it needs beyond isa; NULL: it does */
    void (*run)(struct ypi_kernel_work *work);
    double amount;  /* operations a step, or bytes moved a byte of `bytes` */
    bool streaming; /* stores go past the caches */
};

/* All kernels of this build, `*count` of them. */
const struct ypi_kernel *ypi_kernels(size_t *count);

#endif

/* The device's own kernels, as far as the fake has any: they take time and fill memory. */
#include "device/cuda/kernels.h"
#include "tests/emulated/device.h"
#include "tests/fake_cuda/fake.h"

#define BYTES_A_SECOND 100e9
#define OPERATIONS_A_SECOND 1e12
#define CACHE_BYTES (1 << 20)

static const void *written; /* last; NULL: it is back in memory */

__attribute__((visibility("default"))) bool fake_cache_is_dirty(void)
{
    return written != NULL;
}

cudaError_t ypi_kernel_check(void)
{
    return cudaSuccess;
}

cudaError_t ypi_kernel_gate(unsigned *gate, unsigned long long nanoseconds, cudaStream_t stream)
{
    (void)nanoseconds;
    fake_gate(stream, gate);
    return cudaSuccess;
}

cudaError_t ypi_kernel_words(unsigned *to, size_t count, cudaStream_t stream)
{
    emulated_reach(true);
    for (size_t i = 0; i < count; i++)
        to[i] = (unsigned)i + 1;
    emulated_reach(false);
    written = to;
    fake_work(stream, (double)count * sizeof *to / BYTES_A_SECOND);
    return cudaSuccess;
}

cudaError_t ypi_kernel_traffic(enum yp_ceiling ceiling, const void *from, void *to, size_t bytes,
                               unsigned passes, unsigned *sink, int blocks, cudaStream_t stream)
{
    (void)to;
    (void)sink;
    (void)blocks;
    if (ceiling == YP_READ && bytes >= CACHE_BYTES && from != written)
        written = NULL;
    double moved = (double)bytes * passes * (ceiling == YP_COPY ? 2 : 1);
    fake_work(stream, moved / BYTES_A_SECOND);
    return cudaSuccess;
}

cudaError_t ypi_kernel_arithmetic(enum yp_ceiling ceiling, unsigned steps, int multiprocessors,
                                  int capability, unsigned *sink, double *operations,
                                  cudaStream_t stream)
{
    (void)sink;
    *operations = ceiling == YP_FP8 && capability < 89 ? 0 : 1e6 * steps * multiprocessors;
    fake_work(stream, *operations / OPERATIONS_A_SECOND);
    return cudaSuccess;
}

/* Kernels of the CUDA device itself, by functions that C may call. All of them go to `stream` and
 * return what the launch came to. */
#pragma once

#include <cuda_runtime_api.h>
#include <stddef.h>
#include <yieldpoint/ceiling.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Whether this build has code for device 0: cudaErrorNoKernelImageForDevice or the like if not. */
cudaError_t ypi_kernel_check(void);

/* Waits on the device until gate[0] is not 0, for `nanoseconds` at most; sets gate[1] to 1 when
 * that time is over first. `gate` is pinned memory of the host. */
cudaError_t ypi_kernel_gate(unsigned *gate, unsigned long long nanoseconds, cudaStream_t stream);

/* Fills `count` words with values that are neither zero nor the same. */
cudaError_t ypi_kernel_words(unsigned *to, size_t count, cudaStream_t stream);

/* Traffic: `passes` times over `bytes` (a multiple of 16) of `from`, `to` or both, as the ceiling
 * says; `blocks` of 512 threads. What is read is folded into a word of `sink`. */
cudaError_t ypi_kernel_traffic(enum yp_ceiling ceiling, const void *from, void *to, size_t bytes,
                               unsigned passes, unsigned *sink, int blocks, cudaStream_t stream);

/* Arithmetic with the operands in registers, or for matrix units in shared memory: `steps` loops.
 * `operations` is then what one launch did, 0 when this device has no such unit. */
cudaError_t ypi_kernel_arithmetic(enum yp_ceiling ceiling, unsigned steps, int multiprocessors,
                                  int capability, unsigned *sink, double *operations,
                                  cudaStream_t stream);

#ifdef __cplusplus
}
#endif

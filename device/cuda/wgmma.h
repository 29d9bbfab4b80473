/* Matrix units by the instructions that Hopper alone has. */
#pragma once

#include <cuda_runtime_api.h>
#include <stdbool.h>
#include <yieldpoint/ceiling.h>

#ifdef __cplusplus
extern "C" {
#endif

bool ypi_wgmma_has(enum yp_ceiling ceiling);

/* As ypi_kernel_arithmetic(). */
cudaError_t ypi_wgmma_run(enum yp_ceiling ceiling, unsigned steps, int multiprocessors,
                          unsigned *sink, double *operations, cudaStream_t stream);

#ifdef __cplusplus
}
#endif

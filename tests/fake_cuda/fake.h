/* What a test may ask of the fake runtime; see runtime.c. */
#pragma once

#include <cuda_runtime_api.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

double fake_now(void); /* monotonic seconds */

/* A kernel of so many seconds on that stream. */
void fake_work(cudaStream_t stream, double seconds);

/* The same on another stream. */
void fake_work_elsewhere(cudaStream_t stream, double seconds);

/* Work of the stream waits from here until gate[0] is not 0; gate[1] becomes 1 when somebody waits
 * for it before. */
void fake_gate(cudaStream_t stream, unsigned *gate);

/* Whether what was last written is still in the caches, to be written back. */
bool fake_cache_is_dirty(void);

/* Ranges of words and normals (stream.h) in the memory of any device. On an accelerator the work is
 * launched on its default stream and done when that stream is; the bits are the CPU's.
 *
 * out: (count), in the device's memory; fastest where it is aligned to 16 bytes and `first` is a
 * multiple of 4. YP_INVALID when device or out is NULL, YP_UNSUPPORTED when this build has no code
 * for the device; count may be 0. */
#pragma once

#include "base/random/stream.h"

#include <yieldpoint/device.h>

enum yp_status synth_device_words(struct yp_device *device, struct ypi_stream stream,
                                  uint64_t first, size_t count, uint32_t *out);
enum yp_status synth_device_normals(struct yp_device *device, struct ypi_stream stream,
                                    uint64_t first, size_t count, float *out);
enum yp_status synth_device_words_curand(struct yp_device *device, uint64_t seed, uint64_t first,
                                         size_t count, uint32_t *out);

/* The same words by cuRAND's own device functions, for comparison: of the stream or, with `legacy`,
 * in cuRAND's legacy order, which ignores the stream's subsequence. CUDA only. */
enum yp_status synth_device_words_by_curand(struct yp_device *device, struct ypi_stream stream,
                                            bool legacy, uint64_t first, size_t count,
                                            uint32_t *out);

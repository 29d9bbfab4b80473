/* Traffic: reading, copying and filling, 16 bytes a thread and access, several in flight. */
#include "device/cuda/kernels.h"

/* All of a multiprocessor's threads: as many blocks as probe.c begins on each are resident. */
enum { THREADS = 512, RESIDENT = 4, UNROLL = 4, COPIED = 2 };

static __device__ __forceinline__ uint4 streamed(const uint4 *from)
{
    uint4 v;
    asm volatile("ld.global.L1::no_allocate.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
                 : "l"(from));
    return v;
}

static __global__ void __launch_bounds__(THREADS, RESIDENT)
    read_kernel(const uint4 *from, size_t count, unsigned passes, unsigned *sink)
{
    size_t step = (size_t)gridDim.x * THREADS;
    unsigned folded = 0;
    for (unsigned pass = 0; pass < passes; pass++) {
        size_t i = (size_t)blockIdx.x * THREADS + threadIdx.x;
        for (; i + (UNROLL - 1) * step < count; i += UNROLL * step) {
            uint4 v[UNROLL];
#pragma unroll
            for (int k = 0; k < UNROLL; k++)
                v[k] = streamed(from + i + k * step);
#pragma unroll
            for (int k = 0; k < UNROLL; k++)
                folded ^= v[k].x ^ v[k].y ^ v[k].z ^ v[k].w;
        }
        for (; i < count; i += step) {
            uint4 v = streamed(from + i);
            folded ^= v.x ^ v.y ^ v.z ^ v.w;
        }
    }
    /* Never so; but the compiler cannot know. */
    if (folded == 0x2545f491U)
        *sink = folded;
}

static __global__ void __launch_bounds__(THREADS, RESIDENT)
    copy_kernel(const uint4 *from, uint4 *to, size_t count, unsigned passes)
{
    size_t step = (size_t)gridDim.x * THREADS;
    for (unsigned pass = 0; pass < passes; pass++) {
        size_t i = (size_t)blockIdx.x * THREADS + threadIdx.x;
        for (; i + (COPIED - 1) * step < count; i += COPIED * step) {
            uint4 v[COPIED];
#pragma unroll
            for (int k = 0; k < COPIED; k++)
                v[k] = streamed(from + i + k * step);
#pragma unroll
            for (int k = 0; k < COPIED; k++)
                to[i + k * step] = v[k];
        }
        for (; i < count; i += step)
            to[i] = streamed(from + i);
    }
}

static __global__ void __launch_bounds__(THREADS, RESIDENT)
    fill_kernel(uint4 *to, size_t count, unsigned passes)
{
    size_t step = (size_t)gridDim.x * THREADS;
    for (unsigned pass = 0; pass < passes; pass++) {
        unsigned word = 0x3f9e3779U + pass;
        uint4 v = make_uint4(word, word ^ 0x5555U, word ^ 0x33330000U, ~word);
        for (size_t i = (size_t)blockIdx.x * THREADS + threadIdx.x; i < count; i += step)
            to[i] = v;
    }
}

extern "C" cudaError_t ypi_kernel_traffic(enum yp_ceiling ceiling, const void *from, void *to,
                                          size_t bytes, unsigned passes, unsigned *sink, int blocks,
                                          cudaStream_t stream)
{
    size_t count = bytes / sizeof(uint4);
    const uint4 *source = static_cast<const uint4 *>(from);
    uint4 *target = static_cast<uint4 *>(to);
    if (ceiling == YP_READ)
        read_kernel<<<(unsigned)blocks, THREADS, 0, stream>>>(source, count, passes, sink);
    else if (ceiling == YP_COPY)
        copy_kernel<<<(unsigned)blocks, THREADS, 0, stream>>>(source, target, count, passes);
    else if (ceiling == YP_FILL)
        fill_kernel<<<(unsigned)blocks, THREADS, 0, stream>>>(target, count, passes);
    else
        return cudaErrorInvalidValue;
    return cudaGetLastError();
}

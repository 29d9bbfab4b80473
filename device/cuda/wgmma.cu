/* Matrix units as Hopper's warp groups drive them: both factors from shared memory, sums in
 * registers. Instructions and descriptors are those of "PTX ISA", "Asynchronous warpgroup level
 * matrix instructions". Compiled for sm_90a alone. */
#include "device/cuda/wgmma.h"

#include <stdint.h>

enum {
    GROUPS = 2, /* warp groups a block, each with rows of its own */
    THREADS = 128 * GROUPS,
    SLICES = 2, /* of the inner dimension, one after the other */
    ROWS = 64,  /* of one instruction */
    COLUMNS = 256,
    SLICE = 32, /* bytes of the inner dimension an instruction takes */
    SUMS = 128, /* registers a thread */
    CORE = 128, /* bytes of a core matrix: 8 rows of 16 bytes */
    A_BYTES = ROWS * SLICE,
    B_BYTES = COLUMNS * SLICE,
    UNROLL = 4 /* instructions before they are waited for, times SLICES */
};

/* No swizzling: core matrices lie one behind the other, two along the inner dimension, then the
 * next eight rows. */
static __device__ __forceinline__ uint64_t descriptor(const void *at)
{
    uint64_t address = (uint64_t)__cvta_generic_to_shared(at);
    return (address & 0x3ffff) >> 4 | (uint64_t)(CORE >> 4) << 16 | (uint64_t)(2 * CORE >> 4) << 32;
}

#define D16(n_) D4(n_), D4((n_) + 4), D4((n_) + 8), D4((n_) + 12)
#define D4(n_) SUM(d[n_]), SUM(d[(n_) + 1]), SUM(d[(n_) + 2]), SUM(d[(n_) + 3])
#define ALL_SUMS D16(0), D16(16), D16(32), D16(48), D16(64), D16(80), D16(96), D16(112)
#define REGISTERS \
    "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, " \
    "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, " \
    "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, " \
    "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63, " \
    "%64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, " \
    "%80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95, " \
    "%96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107, %108, %109, %110, " \
    "%111, %112, %113, %114, %115, %116, %117, %118, %119, %120, %121, %122, %123, %124, " \
    "%125, %126, %127}"

/* D += A B; the predicate says that it is not D = A B. */
#define MULTIPLY(instruction_, rest_) \
    asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, 1, 0;\n" \
                 "wgmma.mma_async.sync.aligned." instruction_ " " REGISTERS \
                 ", %128, %129, p" rest_ ";\n}\n" \
                 : ALL_SUMS \
                 : "l"(a), "l"(b))

#define SUM(x_) "+f"(x_)
struct bf16 {
    typedef float sum;
    static __device__ __forceinline__ void add(float *d, uint64_t a, uint64_t b)
    {
        MULTIPLY("m64n256k16.f32.bf16.bf16", ", 1, 1, 0, 0");
    }
};
struct fp16 {
    typedef float sum;
    static __device__ __forceinline__ void add(float *d, uint64_t a, uint64_t b)
    {
        MULTIPLY("m64n256k16.f32.f16.f16", ", 1, 1, 0, 0");
    }
};
struct tf32 {
    typedef float sum;
    static __device__ __forceinline__ void add(float *d, uint64_t a, uint64_t b)
    {
        MULTIPLY("m64n256k8.f32.tf32.tf32", ", 1, 1");
    }
};
struct fp8 {
    typedef float sum;
    static __device__ __forceinline__ void add(float *d, uint64_t a, uint64_t b)
    {
        MULTIPLY("m64n256k32.f32.e4m3.e4m3", ", 1, 1");
    }
};
#undef SUM
#define SUM(x_) "+r"(x_)
struct int8 {
    typedef int sum;
    static __device__ __forceinline__ void add(int *d, uint64_t a, uint64_t b)
    {
        MULTIPLY("m64n256k32.s32.s8.s8", "");
    }
};
#undef SUM

static __device__ void fill(unsigned *to, unsigned count, unsigned keep, unsigned set)
{
    for (unsigned i = threadIdx.x; i < count; i += THREADS) {
        unsigned x = (i + blockIdx.x * 977U + 1U) * 0x9e3779b9U;
        x = (x ^ x >> 15) * 0x85ebca6bU;
        to[i] = (x & keep) | set;
    }
}

template <typename unit>
static __global__ void __launch_bounds__(THREADS, 1)
    matrix_units(unsigned steps, unsigned keep, unsigned set, unsigned *sink)
{
    __shared__ alignas(128) unsigned char factors[SLICES * (GROUPS * A_BYTES + B_BYTES)];
    unsigned char *rows = factors + SLICES * B_BYTES + threadIdx.x / 128 * SLICES * A_BYTES;
    typename unit::sum d[SUMS];
    fill(reinterpret_cast<unsigned *>(factors), sizeof factors / sizeof(unsigned), keep, set);
#pragma unroll
    for (int i = 0; i < SUMS; i++)
        d[i] = 0;
    /* Ordinary stores are another way to shared memory than the matrix units'. */
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncthreads();
    uint64_t a[SLICES];
    uint64_t b[SLICES];
#pragma unroll
    for (int k = 0; k < SLICES; k++) {
        a[k] = descriptor(rows + k * A_BYTES);
        b[k] = descriptor(factors + k * B_BYTES);
    }
    for (unsigned i = 0; i < steps; i++) {
        asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#pragma unroll
        for (int u = 0; u < UNROLL; u++)
#pragma unroll
            for (int k = 0; k < SLICES; k++)
                unit::add(d, a[k], b[k]);
        asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
        asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
    }
    typename unit::sum sum = 0;
#pragma unroll
    for (int i = 0; i < SUMS; i++)
        sum += d[i];
    if (sum == (typename unit::sum)12345)
        *sink = 1;
}

extern "C" bool ypi_wgmma_has(enum yp_ceiling ceiling)
{
    return ceiling == YP_BF16 || ceiling == YP_FP16 || ceiling == YP_TF32 || ceiling == YP_FP8 ||
           ceiling == YP_INT8;
}

extern "C" cudaError_t ypi_wgmma_run(enum yp_ceiling ceiling, unsigned steps, int multiprocessors,
                                     unsigned *sink, double *operations, cudaStream_t stream)
{
    unsigned blocks = (unsigned)multiprocessors;
    double elements = ceiling == YP_TF32                        ? SLICE / 4
                      : ceiling == YP_FP8 || ceiling == YP_INT8 ? SLICE
                                                                : SLICE / 2;
    /* Signs and low bits at random, numbers between 1/2 and 1; any bytes as integers. */
    if (ceiling == YP_BF16)
        matrix_units<bf16><<<blocks, THREADS, 0, stream>>>(steps, 0x807f807fU, 0x3f003f00U, sink);
    else if (ceiling == YP_FP16)
        matrix_units<fp16><<<blocks, THREADS, 0, stream>>>(steps, 0x83ff83ffU, 0x38003800U, sink);
    else if (ceiling == YP_TF32)
        matrix_units<tf32><<<blocks, THREADS, 0, stream>>>(steps, 0x807fffffU, 0x3f000000U, sink);
    else if (ceiling == YP_FP8)
        matrix_units<fp8><<<blocks, THREADS, 0, stream>>>(steps, 0x87878787U, 0x30303030U, sink);
    else if (ceiling == YP_INT8)
        matrix_units<int8><<<blocks, THREADS, 0, stream>>>(steps, 0xffffffffU, 0U, sink);
    else
        return cudaErrorInvalidValue;
    *operations = 2.0 * ROWS * COLUMNS * elements * UNROLL * SLICES * GROUPS * blocks * steps;
    return cudaGetLastError();
}

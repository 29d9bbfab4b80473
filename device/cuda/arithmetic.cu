/* Rates of arithmetic: chains of multiplications and additions with every operand in registers.
 * Matrix units by mma.sync, whose shapes and fragments are those of "PTX ISA", "Matrix multiply
 * instructions"; Hopper's own way to them is in wgmma.cu. */
#include "device/cuda/kernels.h"
#include "device/cuda/wgmma.h"

enum { THREADS = 256, WARPS = THREADS / 32, CHAINS = 8, LARGE_CHAINS = 4, BLOCKS_EACH = 4 };

static __device__ __forceinline__ unsigned mixed(unsigned x)
{
    x = (x + blockIdx.x * 977U + threadIdx.x * 131U + 1U) * 0x9e3779b9U;
    x ^= x >> 15;
    return x * 0x85ebca6bU;
}

/* x = x * a + b with a near 1 stays near b / (1 - a): no infinities, no denormal numbers. */
template <typename real>
static __global__ void __launch_bounds__(THREADS)
    multiply_add(unsigned steps, real a, real b, unsigned *sink)
{
    real x[2 * CHAINS];
#pragma unroll
    for (int k = 0; k < 2 * CHAINS; k++)
        x[k] = (real)(1 + (mixed((unsigned)k) & 1023U));
        /* So that what counts the loop takes no part of the instructions worth speaking of. */
#pragma unroll 8
    for (unsigned i = 0; i < steps; i++)
#pragma unroll
        for (int k = 0; k < 2 * CHAINS; k++)
            x[k] = x[k] * a + b;
    real sum = 0;
#pragma unroll
    for (int k = 0; k < 2 * CHAINS; k++)
        sum += x[k];
    if (sum == (real)12345)
        *sink = 1;
}

/* -- matrix units --------------------------------------------------------------------------- */

/* Fragments: signs and low bits at random, exponents such that numbers are between 1/2 and 1. */
#define FRAGMENT(name_, keep_, set_) \
    struct name_ { \
        static __device__ __forceinline__ unsigned of(unsigned x) \
        { \
            return (mixed(x) & keep_) | set_; \
        } \
    };
FRAGMENT(bf16_fragment, 0x807f807fU, 0x3f003f00U)
FRAGMENT(fp16_fragment, 0x83ff83ffU, 0x38003800U)
FRAGMENT(tf32_fragment, 0x807fffffU, 0x3f000000U)
FRAGMENT(fp8_fragment, 0x87878787U, 0x30303030U)
FRAGMENT(int8_fragment, 0xffffffffU, 0U)

#define MMA_F32(name_, instruction_) \
    struct name_ { \
        typedef float sum; \
        static __device__ __forceinline__ void add(float *d, const unsigned *a, const unsigned *b) \
        { \
            asm volatile(instruction_ " {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, " \
                                      "{%0, %1, %2, %3};" \
                         : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) \
                         : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1])); \
        } \
    };
MMA_F32(bf16_mma, "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32")
MMA_F32(fp16_mma, "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32")
MMA_F32(tf32_mma, "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32")
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 890
MMA_F32(fp8_mma, "mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32")
#else
struct fp8_mma { /* never launched there */
    typedef float sum;
    static __device__ __forceinline__ void add(float *, const unsigned *, const unsigned *)
    {
    }
};
#endif

struct int8_mma {
    typedef int sum;
    static __device__ __forceinline__ void add(int *d, const unsigned *a, const unsigned *b)
    {
        asm volatile("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0, %1, %2, %3}, "
                     "{%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                     : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3])
                     : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
    }
};

template <typename mma, typename fragment>
static __global__ void __launch_bounds__(THREADS) matrix_units(unsigned steps, unsigned *sink)
{
    typename mma::sum d[CHAINS][4] = {};
    unsigned a[4];
    unsigned b[2];
#pragma unroll
    for (int k = 0; k < 4; k++)
        a[k] = fragment::of((unsigned)k);
#pragma unroll
    for (int k = 0; k < 2; k++)
        b[k] = fragment::of((unsigned)k + 4);
    for (unsigned i = 0; i < steps; i++)
#pragma unroll
        for (int k = 0; k < CHAINS; k++)
            mma::add(d[k], a, b);
    typename mma::sum sum = 0;
#pragma unroll
    for (int k = 0; k < CHAINS; k++)
        sum += d[k][0] + d[k][1] + d[k][2] + d[k][3];
    if (sum == (typename mma::sum)12345)
        *sink = 1;
}

/* Double precision has a matrix unit on some devices, faster than the ordinary one there. */
struct fp64_mma {
    enum { SUMS = 2, OF_A = 1, OF_B = 1 };
    static __device__ __forceinline__ void add(double *d, const double *a, const double *b)
    {
        asm volatile("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, "
                     "{%0, %1};"
                     : "+d"(d[0]), "+d"(d[1])
                     : "d"(a[0]), "d"(b[0]));
    }
};

/* Since sm_90 there are larger shapes, which its units want. */
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
struct fp64_large_mma {
    enum { SUMS = 4, OF_A = 8, OF_B = 4 };
    static __device__ __forceinline__ void add(double *d, const double *a, const double *b)
    {
        asm volatile("mma.sync.aligned.m16n8k16.row.col.f64.f64.f64.f64 {%0, %1, %2, %3}, "
                     "{%4, %5, %6, %7, %8, %9, %10, %11}, {%12, %13, %14, %15}, {%0, %1, %2, %3};"
                     : "+d"(d[0]), "+d"(d[1]), "+d"(d[2]), "+d"(d[3])
                     : "d"(a[0]), "d"(a[1]), "d"(a[2]), "d"(a[3]), "d"(a[4]), "d"(a[5]), "d"(a[6]),
                       "d"(a[7]), "d"(b[0]), "d"(b[1]), "d"(b[2]), "d"(b[3]));
    }
};
#else
struct fp64_large_mma { /* never launched there */
    enum { SUMS = 4, OF_A = 8, OF_B = 4 };
    static __device__ __forceinline__ void add(double *, const double *, const double *)
    {
    }
};
#endif

template <typename mma, int chains>
static __global__ void __launch_bounds__(THREADS, 2)
    matrix_units_fp64(unsigned steps, unsigned *sink)
{
    double d[chains][mma::SUMS] = {};
    double a[mma::OF_A];
    double b[mma::OF_B];
#pragma unroll
    for (int k = 0; k < mma::OF_A; k++)
        a[k] = 0.5 + 1e-6 * (mixed((unsigned)k) & 1023U);
#pragma unroll
    for (int k = 0; k < mma::OF_B; k++)
        b[k] = (mixed((unsigned)k + 8) & 1U) != 0 ? 0.75 : -0.75;
    for (unsigned i = 0; i < steps; i++)
#pragma unroll
        for (int k = 0; k < chains; k++)
            mma::add(d[k], a, b);
    double sum = 0;
#pragma unroll
    for (int k = 0; k < chains; k++)
#pragma unroll
        for (int i = 0; i < mma::SUMS; i++)
            sum += d[k][i];
    if (sum == 12345.0)
        *sink = 1;
}

/* -- launches ------------------------------------------------------------------------------- */

/* The capability that the code of a kernel is for, which may be less than the device's: what is
 * left out below some capability (fp8_mma) is left out then. 0: not known. */
static int compiled_for(const void *kernel)
{
    cudaFuncAttributes attributes;
    if (cudaFuncGetAttributes(&attributes, kernel) != cudaSuccess) {
        (void)cudaGetLastError();
        return 0;
    }
    return attributes.ptxVersion < attributes.binaryVersion ? attributes.ptxVersion
                                                            : attributes.binaryVersion;
}

/* All kernels of this file are for the same. Asked for once: launches are timed. */
static int compiled(void)
{
    static int capability;
    if (capability == 0)
        capability = compiled_for((const void *)matrix_units<bf16_mma, bf16_fragment>);
    return capability;
}

static bool has_fp64_matrices(int capability)
{
    return capability == 80 || capability == 90 || capability == 100;
}

extern "C" cudaError_t ypi_kernel_arithmetic(enum yp_ceiling ceiling, unsigned steps,
                                             int multiprocessors, int capability, unsigned *sink,
                                             double *operations, cudaStream_t stream)
{
    unsigned blocks = (unsigned)(BLOCKS_EACH * multiprocessors);
    double scalar = 2.0 * 2 * CHAINS * THREADS * blocks * steps;   /* an element a thread */
    double matrix = 2.0 * CHAINS * WARPS * (double)blocks * steps; /* times m n k a warp */
    bool hopper = capability == 90;
    *operations = 0;
    if (hopper && ypi_wgmma_has(ceiling))
        return ypi_wgmma_run(ceiling, steps, multiprocessors, sink, operations, stream);
    switch (ceiling) {
    case YP_FP64:
        if (compiled() >= 90 && has_fp64_matrices(capability)) {
            matrix_units_fp64<fp64_large_mma, LARGE_CHAINS>
                <<<blocks, THREADS, 0, stream>>>(steps, sink);
            *operations = matrix / CHAINS * LARGE_CHAINS * 16 * 8 * 16;
        } else if (has_fp64_matrices(capability)) {
            matrix_units_fp64<fp64_mma, CHAINS><<<blocks, THREADS, 0, stream>>>(steps, sink);
            *operations = matrix * 8 * 8 * 4;
        } else {
            multiply_add<double><<<blocks, THREADS, 0, stream>>>(steps, 0.9999, 0.5, sink);
            *operations = scalar;
        }
        break;
    case YP_FP32:
        multiply_add<float><<<blocks, THREADS, 0, stream>>>(steps, 0.9999F, 0.5F, sink);
        *operations = scalar;
        break;
    case YP_INT32:
        multiply_add<unsigned><<<blocks, THREADS, 0, stream>>>(steps, 0x9e3779b9U, 12345U, sink);
        *operations = scalar;
        break;
    case YP_BF16:
        matrix_units<bf16_mma, bf16_fragment><<<blocks, THREADS, 0, stream>>>(steps, sink);
        *operations = matrix * 16 * 8 * 16;
        break;
    case YP_FP16:
        matrix_units<fp16_mma, fp16_fragment><<<blocks, THREADS, 0, stream>>>(steps, sink);
        *operations = matrix * 16 * 8 * 16;
        break;
    case YP_TF32:
        matrix_units<tf32_mma, tf32_fragment><<<blocks, THREADS, 0, stream>>>(steps, sink);
        *operations = matrix * 16 * 8 * 8;
        break;
    case YP_INT8:
        matrix_units<int8_mma, int8_fragment><<<blocks, THREADS, 0, stream>>>(steps, sink);
        *operations = matrix * 16 * 8 * 32;
        break;
    case YP_FP8:
        if (compiled() < 89)
            return cudaSuccess;
        matrix_units<fp8_mma, fp8_fragment><<<blocks, THREADS, 0, stream>>>(steps, sink);
        *operations = matrix * 16 * 8 * 32;
        break;
    default:
        return cudaErrorInvalidValue;
    }
    return cudaGetLastError();
}

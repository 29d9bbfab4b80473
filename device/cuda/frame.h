/*
 * The frame of kernels: a .cu file that is written in it is a GPU's code to nvcc, and to a C
 * compiler the same kernels and launches for the emulated device of the tests.
 *
 *     struct scale { size_t n; float a, *x; };
 *
 *     YPK_KERNEL(scale_kernel, struct scale, job, 256)
 *     {
 *         YPK_EVERY (t) {
 *             size_t i = YPK_INDEX(t);
 *             if (i < job.n)
 *                 job.x[i] *= job.a;
 *         }
 *     }
 *
 *     static enum yp_status scale(struct yp_device *device, const struct scale *job)
 *     {
 *         unsigned blocks = ypk_blocks(job->n, 256);
 *         YPK_LAUNCH(scale_kernel, ypk_grid(blocks, 1), 256, 0, ypk_stream(host, device), *job);
 *         return ypk_launched(host, "scale");
 *     }
 *
 * A kernel takes one structure, whose pointers are the device's. It is written in phases: YPK_EACH
 * (t, n) runs what follows for each thread below n, YPK_EVERY (t) for each of the block. On a GPU
 * that is once, in that thread; on a CPU one thread after the other, in an order that must not
 * matter. Between phases that touch each other's memory stands ypk_block_barrier(). What a thread
 * keeps from one phase to the next is a YPK_PRIVATE array at [YPK_OWN(t)], what the block shares
 * YPK_SHARED or YPK_DYNAMIC. Nothing between phases may depend on the thread.
 *
 * Asynchronous copies from memory are asynchronous on a CPU as well: nothing arrives before the
 * thread's ypk_wait().
 */
#pragma once

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Of the host and of kernels. */
#ifdef __CUDACC__
#define YPK_BOTH static inline __host__ __device__
#else
#define YPK_BOTH static inline
#endif

#ifndef __CUDACC__
#include "device/cuda/frame_cpu.h"
#else

#include <cuda_runtime.h>
#include <yieldpoint/plugin.h>

#define YPK_FUNCTION static __device__ __forceinline__

/* -- kernels and launches ------------------------------------------------------------------- */

/* What follows the job: threads of a block at most, and how many blocks a multiprocessor is to
 * hold. */
#define YPK_KERNEL(name_, type_, job_, ...) \
    static __global__ void __launch_bounds__(__VA_ARGS__) name_(const type_ job_)

/* The same whose job stays in constant memory, for one that is indexed or larger than registers. */
#define YPK_KERNEL_CONSTANT(name_, type_, job_, ...) \
    static __global__ void __launch_bounds__(__VA_ARGS__) name_(const __grid_constant__ type_ job_)

/* The type of such kernels, for pointers to them. */
#define YPK_KERNEL_TYPE(name_, type_) typedef void name_(const type_)

/* A grid without blocks is no launch: there is nothing to do. */
#define YPK_LAUNCH(kernel_, grid_, threads_, shared_, stream_, job_) \
    do { \
        const dim3 ypk_blocks_of = (grid_); \
        if (ypk_blocks_of.x > 0 && ypk_blocks_of.y > 0) \
            (kernel_)<<<ypk_blocks_of, threads_, shared_, stream_>>>(job_); \
    } while (0)

#define YPK_BLOCK_X blockIdx.x
#define YPK_BLOCK_Y blockIdx.y
#define YPK_GRID_X gridDim.x
#define YPK_THREADS blockDim.x
#define YPK_INDEX(t_) ((size_t)blockIdx.x * blockDim.x + (t_)) /* of a thread among all */

typedef cudaStream_t ypk_stream_type;

static inline ypk_stream_type ypk_stream(const struct yp_plugin_host *host,
                                         struct yp_device *device)
{
    return yp_plugin_stream(host, device);
}

static inline dim3 ypk_grid(unsigned x, unsigned y)
{
    return dim3(x, y);
}

/* After launches: whether they were accepted. */
static inline enum yp_status ypk_launched(const struct yp_plugin_host *host, const char *what)
{
    return yp_plugin_launched(host, what);
}

/* More dynamic shared memory than every kernel may have is asked for before each launch: a context
 * can be another one by now. */
template <typename function>
static inline enum yp_status ypk_allow_shared(const struct yp_plugin_host *host, function kernel,
                                              size_t bytes, const char *what)
{
    return yp_plugin_status(
        host, cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)bytes),
        what);
}

/* As much of the multiprocessor's memory for that as there is, so that several blocks fit. */
template <typename function>
static inline enum yp_status ypk_prefer_shared(const struct yp_plugin_host *host, function kernel,
                                               const char *what)
{
    return yp_plugin_status(host,
                            cudaFuncSetAttribute(kernel,
                                                 cudaFuncAttributePreferredSharedMemoryCarveout,
                                                 cudaSharedmemCarveoutMaxShared),
                            what);
}

/* Of the device; 1 where that is not known. Asked for once: a process has one device. */
static inline unsigned ypk_multiprocessors(void)
{
    static int count;
    if (count <= 0 &&
        cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, 0) != cudaSuccess)
        (void)cudaGetLastError();
    return count > 0 ? (unsigned)count : 1;
}

/* -- phases ---------------------------------------------------------------------------------- */

#define YPK_EVERY(t_) for (unsigned t_ = threadIdx.x, once_ = 1; once_ != 0; once_ = 0)
#define YPK_EACH(t_, count_) \
    for (unsigned t_ = threadIdx.x, once_ = 1; once_ != 0 && t_ < (count_); once_ = 0)
/* The same with the bits `by_` of threads' numbers changed, which leaves all of them below the
 * count: which thread has which number is nothing to the phases. */
#define YPK_EACH_XOR(t_, count_, by_) \
    for (unsigned t_ = threadIdx.x ^ (by_), once_ = 1; once_ != 0 && t_ < (count_); once_ = 0)
/* The lanes of one warp, of a phase that a warp is alone with; YPK_WARPS runs each warp's. */
#define YPK_WARPS(w_, count_) \
    for (unsigned w_ = threadIdx.x / 32, once_ = 1; once_ != 0 && w_ < (count_); once_ = 0)
#define YPK_LANES(l_) \
    for (unsigned l_ = threadIdx.x % 32, more_ = 1; more_ != 0 && l_ < 32; more_ = 0)

static __device__ __forceinline__ void ypk_block_barrier(void)
{
    __syncthreads();
}

static __device__ __forceinline__ void ypk_warp_barrier(void)
{
    __syncwarp();
}

/* -- memory ---------------------------------------------------------------------------------- */

#define YPK_PRIVATE(type_, name_, threads_) type_ name_[1]
#define YPK_OWN(t_) 0
#define YPK_SHARED(type_, name_) __shared__ __align__(16) type_ name_
#define YPK_SHARED_ARRAY(type_, name_, count_) __shared__ __align__(16) type_ name_[count_]
/* A pointer to what the launch asked for. */
#define YPK_DYNAMIC(type_, name_) \
    extern __shared__ float4 ypk_dynamic_memory[]; \
    type_ *name_ = reinterpret_cast<type_ *>(ypk_dynamic_memory)

/* To shared memory: `words` is 1 or 4, and both addresses are multiples of that many. */
static __device__ __forceinline__ void ypk_copy(float *to, const float *from, unsigned words)
{
    unsigned shared = (unsigned)__cvta_generic_to_shared(to);
    if (words == 4)
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(shared), "l"(from)
                     : "memory");
    else
        asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(shared), "l"(from)
                     : "memory");
}

/* Ends a group of thread t's copies. */
static __device__ __forceinline__ void ypk_commit(unsigned t)
{
    (void)t;
    asm volatile("cp.async.commit_group;" ::: "memory");
}

/* Until no more than `pending` (0 or 1) of this thread's groups of copies are on their way. */
static __device__ __forceinline__ void ypk_wait(unsigned t, unsigned pending)
{
    (void)t;
    if (pending == 0)
        asm volatile("cp.async.wait_group 0;" ::: "memory");
    else
        asm volatile("cp.async.wait_group 1;" ::: "memory");
}

/* `from` is a multiple of 16 bytes. */
static __device__ __forceinline__ void ypk_load_four(const float *from, float *to)
{
    float4 four = *reinterpret_cast<const float4 *>(from);
    to[0] = four.x;
    to[1] = four.y;
    to[2] = four.z;
    to[3] = four.w;
}

/* `to` is a multiple of 16 bytes. */
static __device__ __forceinline__ void ypk_store_four(float *to, const float *from)
{
    *reinterpret_cast<float4 *>(to) = make_float4(from[0], from[1], from[2], from[3]);
}

/* Makes it 1; several threads may, at once. */
static __device__ __forceinline__ void ypk_set_flag(unsigned *flag)
{
    atomicOr(flag, 1U);
}

/* -- arithmetic ------------------------------------------------------------------------------ */

#define YPK_PRAGMA(text_) _Pragma(#text_)
#define YPK_UNROLL(n_) YPK_PRAGMA(unroll n_)
#define YPK_INFINITY __int_as_float(0x7f800000)
#define YPK_NAN __int_as_float(0x7fffffff)

static __device__ __forceinline__ bool ypk_finite(float x)
{
    return (__float_as_uint(x) & 0x7f800000U) != 0x7f800000U;
}

/* Rounded once each, never contracted: as the CPU has it. */
#define ypk_add(a_, b_) __fadd_rn(a_, b_)
#define ypk_sub(a_, b_) __fsub_rn(a_, b_)
#define ypk_mul(a_, b_) __fmul_rn(a_, b_)
#define ypk_div(a_, b_) __fdiv_rn(a_, b_)
#define ypk_root(a_) __fsqrt_rn(a_)

#endif

/* Blocks for so many of which each takes `each`. */
static inline unsigned ypk_blocks(size_t count, size_t each)
{
    return (unsigned)((count + each - 1) / each);
}

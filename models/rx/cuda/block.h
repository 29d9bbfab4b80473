/*
 * A block of threads that C can run too: unit tests run the kernels' own code where there is no
 * GPU.
 *
 * A kernel is written in phases. RXC_EACH(t, n) runs what follows for each thread below n: once, on
 * a GPU, in that thread; one thread after the other on a CPU, forwards or backwards, which must not
 * matter. Between phases that touch each other's memory stands rxc_barrier(). What a thread keeps
 * from one phase to the next is in its place of an array of RXC_HELD, at RXC_OWN(t).
 *
 * Copies from memory that go on while the threads work are asynchronous on a CPU as well: nothing
 * arrives before the thread's rxc_wait().
 */
#ifndef RXC_BLOCK_H
#define RXC_BLOCK_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifdef __CUDACC__

#define RXC_FUNCTION static __device__ __forceinline__
#define RXC_HELD(most_) 1
#define RXC_OWN(t_) 0
#define RXC_EACH(t_, count_) \
    for (unsigned t_ = threadIdx.x, once_ = 1; once_ != 0 && t_ < (count_); once_ = 0)
/* The same with the bits `by_` of threads' numbers changed, which leaves all of them below the
 * count: which thread has which number is nothing to the phases. */
#define RXC_EACH_TURNED(t_, count_, by_) \
    for (unsigned t_ = rxc_turned(threadIdx.x, by_), once_ = 1; once_ != 0 && t_ < (count_); \
         once_ = 0)
/* The lanes of one warp, of a phase that a warp is alone with; RXC_WARPS runs each warp's. */
#define RXC_WARPS(w_, count_) \
    for (unsigned w_ = threadIdx.x / 32, once_ = 1; once_ != 0 && w_ < (count_); once_ = 0)
#define RXC_LANES(l_) \
    for (unsigned l_ = threadIdx.x % 32, more_ = 1; more_ != 0 && l_ < 32; more_ = 0)
#define RXC_PRAGMA(text_) _Pragma(#text_)
#define RXC_UNROLL(n_) RXC_PRAGMA(unroll n_)
#define RXC_INFINITY __int_as_float(0x7f800000)
#define RXC_NAN __int_as_float(0x7fffffff)

static __device__ __forceinline__ unsigned rxc_turned(unsigned t, unsigned by)
{
    return t ^ by;
}

static __device__ __forceinline__ void rxc_barrier(void)
{
    __syncthreads();
}

static __device__ __forceinline__ void rxc_warp_barrier(void)
{
    __syncwarp();
}

/* `words` is 1 or 4, and both addresses are multiples of that many. */
static __device__ __forceinline__ void rxc_copy(float *to, const float *from, unsigned words)
{
    unsigned shared = (unsigned)__cvta_generic_to_shared(to);
    if (words == 4)
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(shared), "l"(from)
                     : "memory");
    else
        asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(shared), "l"(from)
                     : "memory");
}

static __device__ __forceinline__ void rxc_commit(unsigned t)
{
    (void)t;
    asm volatile("cp.async.commit_group;" ::: "memory");
}

/* Until no more than `most` (0 or 1) of this thread's groups of copies are on their way. */
static __device__ __forceinline__ void rxc_wait(unsigned t, unsigned most)
{
    (void)t;
    if (most == 0)
        asm volatile("cp.async.wait_group 0;" ::: "memory");
    else
        asm volatile("cp.async.wait_group 1;" ::: "memory");
}

/* `from` is a multiple of 16 bytes. */
static __device__ __forceinline__ void rxc_four(const float *from, float *to)
{
    float4 four = *reinterpret_cast<const float4 *>(from);
    to[0] = four.x;
    to[1] = four.y;
    to[2] = four.z;
    to[3] = four.w;
}

/* `to` is a multiple of 16 bytes. */
static __device__ __forceinline__ void rxc_put_four(float *to, const float *from)
{
    *reinterpret_cast<float4 *>(to) = make_float4(from[0], from[1], from[2], from[3]);
}

/* Makes it 1; several threads may, at once. */
static __device__ __forceinline__ void rxc_flag(unsigned *flag)
{
    atomicOr(flag, 1U);
}

static __device__ __forceinline__ bool rxc_finite(float x)
{
    return (__float_as_uint(x) & 0x7f800000U) != 0x7f800000U;
}

/* Rounded once each, never contracted: as the CPU has it. */
#define rxc_add(a_, b_) __fadd_rn(a_, b_)
#define rxc_sub(a_, b_) __fsub_rn(a_, b_)
#define rxc_mul(a_, b_) __fmul_rn(a_, b_)
#define rxc_div(a_, b_) __fdiv_rn(a_, b_)
#define rxc_root(a_) __fsqrt_rn(a_)

#else

#define RXC_FUNCTION static inline
#define RXC_HELD(most_) (most_)
#define RXC_OWN(t_) (t_##_is) /* the thread itself, whatever number it goes by */
#define RXC_EACH(t_, count_) RXC_EACH_TURNED (t_, count_, 0U)
#define RXC_EACH_TURNED(t_, count_, by_) \
    for (unsigned t_##_at = 0, t_##_is = rxc_turn(0, count_), t_ = rxc_turned(t_##_is, by_); \
         t_##_at < (count_) && t_ < (count_); \
         t_##_at++, t_##_is = rxc_turn(t_##_at, count_), t_ = rxc_turned(t_##_is, by_))
#define RXC_WARPS(w_, count_) RXC_EACH (w_, count_)
#define RXC_LANES(l_) RXC_EACH (l_, 32U)
#define RXC_UNROLL(n_)
#define RXC_INFINITY INFINITY
#define RXC_NAN NAN

/* Of the test: the order threads go in, the copies on their way, and what the kernels ask for. */
extern bool rxc_backwards;
void rxc_copy_later(float *to, const float *from, unsigned words);
void rxc_commit(unsigned t);
void rxc_wait(unsigned t, unsigned most);

static inline unsigned rxc_turn(unsigned at, unsigned count)
{
    return rxc_backwards ? count - 1 - at : at;
}

static inline unsigned rxc_turned(unsigned t, unsigned by)
{
    return t ^ by;
}

static inline void rxc_barrier(void)
{
}

static inline void rxc_warp_barrier(void)
{
}

static inline void rxc_copy(float *to, const float *from, unsigned words)
{
    rxc_copy_later(to, from, words);
}

static inline void rxc_four(const float *from, float *to)
{
    memcpy(to, from, 4 * sizeof *to);
}

static inline void rxc_put_four(float *to, const float *from)
{
    memcpy(to, from, 4 * sizeof *to);
}

static inline void rxc_flag(unsigned *flag)
{
    *flag = 1;
}

static inline bool rxc_finite(float x)
{
    return isfinite(x);
}

#define rxc_add(a_, b_) ((a_) + (b_))
#define rxc_sub(a_, b_) ((a_) - (b_))
#define rxc_mul(a_, b_) ((a_) * (b_))
#define rxc_div(a_, b_) ((a_) / (b_))
#define rxc_root(a_) sqrtf(a_)

#endif

#endif

/* What the CPU's fast versions share: loops for several instruction sets, and work in chunks.
 *
 * Chunks have a fixed size, so that sums are added up in the same order for any number of
 * threads. */
#pragma once

#include "base/simd/simd.h"
#include "models/nn/operator.h"

#include <cblas.h>

#define NN_LOOPS static inline __attribute__((always_inline)) void

/* From NAME_loops(), an NN_LOOPS function, best_NAME(): a pointer to what this machine runs. */
#define NN_KERNEL(name, parameters, arguments) \
    YPI_SIMD_VERSIONS(void, name, parameters, name##_loops arguments) \
    typedef void name##_kernel parameters; \
    NN_AT(name) \
    static name##_kernel *best_##name(void) \
    { \
        static const struct ypi_simd_version versions[] = {YPI_SIMD_TABLE(name##_at)}; \
        return *(name##_kernel *const *)ypi_simd_best(versions, \
                                                      sizeof versions / sizeof *versions); \
    }
#if defined(__x86_64__)
#define NN_AT(name) \
    static name##_kernel *const name##_at_baseline = name##_baseline, \
                                *const name##_at_avx2 = name##_avx2, \
                                *const name##_at_avx512 = name##_avx512;
#else
#define NN_AT(name) static name##_kernel *const name##_at_baseline = name##_baseline;
#endif

/* The same from NAME_loops(enum nn_type type, ...), for arrays of float, bf16 and fp16:
 * best_NAME(type). */
#define NN_TYPED_KERNEL(name, parameters, arguments) \
    NN_KERNEL_OF_TYPE(name##_float, name, NN_FLOAT, parameters, arguments) \
    NN_KERNEL_OF_TYPE(name##_bf16, name, NN_BFLOAT16, parameters, arguments) \
    NN_KERNEL_OF_TYPE(name##_fp16, name, NN_FLOAT16, parameters, arguments) \
    typedef name##_float_kernel name##_kernel; \
    static name##_kernel *best_##name(enum nn_type type) \
    { \
        return type == NN_BFLOAT16  ? best_##name##_bf16() \
               : type == NN_FLOAT16 ? best_##name##_fp16() \
                                    : best_##name##_float(); \
    }
#define NN_KERNEL_OF_TYPE(name, of, type, parameters, arguments) \
    NN_LOOPS name##_loops parameters \
    { \
        of##_loops(type, NN_UNWRAPPED arguments); \
    } \
    NN_KERNEL(name, parameters, arguments)
#define NN_UNWRAPPED(...) __VA_ARGS__

/* The functions of versions in fp32, bf16 and fp16, from forward_in() and vjp_in() with enum
 * nn_type type. */
#define NN_EACH_TYPE \
    NN_PASSES_OF_TYPE(forward, vjp, NN_FLOAT) \
    NN_PASSES_OF_TYPE(forward_bf16, vjp_bf16, NN_BFLOAT16) \
    NN_PASSES_OF_TYPE(forward_fp16, vjp_fp16, NN_FLOAT16)
#define NN_PASSES_OF_TYPE(forward_, vjp_, type) \
    static enum yp_status forward_(const struct nn_call *call) \
    { \
        return forward_in(call, type); \
    } \
    static enum yp_status vjp_(const struct nn_call *call) \
    { \
        return vjp_in(call, type); \
    }

/* Those functions of an operator x (n) -> y (n), element by element, in chunks: from the typed
 * kernels values(x, n, y) and slopes(x, dy, n, add, dx). */
#define NN_LINE_FUNCTION \
    static enum yp_status forward_in(const struct nn_call *call, enum nn_type type) \
    { \
        values_kernel *kernel = best_values(type); \
        size_t n = call->shape->size[N]; \
        NN_PARALLEL_FOR(n > NN_FEW * NN_CHUNK, at, n, NN_CHUNK, \
                        kernel(nn_from(call->value[X], at, type), nn_least(NN_CHUNK, n - at), \
                               nn_from(call->value[Y], at, type))); \
        return YP_OK; \
    } \
    static enum yp_status vjp_in(const struct nn_call *call, enum nn_type type) \
    { \
        slopes_kernel *kernel = best_slopes(type); \
        size_t n = call->gradient[X] != NULL ? call->shape->size[N] : 0; \
        NN_PARALLEL_FOR(n > NN_FEW * NN_CHUNK, at, n, NN_CHUNK, \
                        kernel(nn_from(call->value[X], at, type), \
                               nn_from(call->gradient[Y], at, type), nn_least(NN_CHUNK, n - at), \
                               nn_adds(call, X), nn_from(call->gradient[X], at, type))); \
        return YP_OK; \
    } \
    NN_EACH_TYPE

/* work(), work_bf16() and work_fp16() from work_in() with enum nn_type type. */
#define NN_EACH_WORK \
    NN_WORK_OF_TYPE(work, NN_FLOAT) \
    NN_WORK_OF_TYPE(work_bf16, NN_BFLOAT16) \
    NN_WORK_OF_TYPE(work_fp16, NN_FLOAT16)
#define NN_WORK_OF_TYPE(name, type) \
    static size_t name(const struct nn_shape *shape) \
    { \
        return work_in(shape, type); \
    }

#define NN_CHUNK ((size_t)8192) /* elements: 32 KiB */
#define NN_FEW 4                /* chunks that one thread does faster than several */

/* for (size_t i = 0; i < end; i += step), the iterations shared among threads if `many`. If not,
 * outside of any parallel region: that of GCC costs one thread 0.4 us, and takes memory. */
#define NN_PARALLEL_FOR(many, i, end, step, ...) \
    do { \
        if (many) { \
            _Pragma("omp parallel for schedule(static)") NN_FOR(i, end, step, __VA_ARGS__) \
        } else { \
            NN_FOR(i, end, step, __VA_ARGS__) \
        } \
    } while (0)
#define NN_FOR(i, end, step, ...) \
    for (size_t i = 0; i < (end); i += (step)) { \
        __VA_ARGS__; \
    }

/* Rows of `width` elements in a chunk of about `elements`. */
static inline size_t nn_rows(size_t width, size_t elements)
{
    return width < elements ? elements / width : 1;
}

static inline size_t nn_chunks(size_t count, size_t chunk)
{
    return count > chunk ? (count + chunk - 1) / chunk : 1;
}

/* Rows of `width` elements whose sums one thread makes: at least a chunk's, and of at most 64
 * blocks, which are added in their order. */
static inline size_t nn_block_rows(size_t rows, size_t width)
{
    enum { BLOCKS = 64 };
    size_t least = nn_rows(width, NN_CHUNK), even = (rows + BLOCKS - 1) / BLOCKS;
    return even > least ? even : least;
}

/* Whether a gradient is to be added to what is there. */
static inline bool nn_adds(const struct nn_call *call, int tensor)
{
    return (call->add >> tensor & 1) != 0;
}

/* Of a part of a workspace, so that the next one is aligned. */
static inline size_t nn_aligned(size_t bytes)
{
    return (bytes + 63) / 64 * 64;
}

static inline size_t nn_least(size_t a, size_t b)
{
    return a < b ? a : b;
}

static inline size_t nn_most(size_t a, size_t b)
{
    return a > b ? a : b;
}

/* Adds the sums of chunks, (chunks, width), in their order to the first of them. */
static inline void nn_merge(double *sums, size_t chunks, size_t width)
{
    for (size_t i = 1; i < chunks; i++)
        for (size_t k = 0; k < width; k++)
            sums[k] += sums[i * width + k];
}

/* Column sums of x (n, c), of that type: bytes of workspace, and sums (chunks, c), the totals
 * first. */
size_t nn_columns_bytes(size_t n, size_t c);
void nn_columns(const void *x, enum nn_type type, size_t n, size_t c, double *sums);

/* Adds the column sums of x (rows, c) to sums (c), by the calling thread. */
void nn_add_columns(const void *x, enum nn_type type, size_t rows, size_t c, double *sums);

/* The gradient of tensor i (count), unless it is not wanted, becomes these sums, or they are added.
 */
void nn_put_sums(const struct nn_call *call, int i, const double *sums, size_t count);

/* The gradient of a bias (c), tensor i of the call, unless it is not wanted: the column sums of dy
 * (n, c). `sums` has nn_columns_bytes(). */
void nn_bias_vjp(const struct nn_call *call, int i, const void *dy, enum nn_type type, size_t n,
                 size_t c, double *sums);

/* What an operator may do to its results at once: its setting "activation". The functions are those
 * of nn_relu and nn_gelu. */
enum nn_activation { NN_AS_IT_IS, NN_RELU, NN_GELU };

/* y (n) in place. */
void nn_activate(enum nn_activation how, void *y, enum nn_type type, size_t n);
/* dz (n) of dy, z being the results before. */
enum yp_status nn_activation_vjp(const struct nn_call *call, enum nn_activation how, float *z,
                                 float *dy, size_t n, float *dz);

void nn_zero(void *out, size_t bytes);
void nn_copy(const void *from, size_t bytes, void *to);
void nn_add_to(const void *from, enum nn_type type, size_t n, void *to); /* to (n) += from */

/* YP_INVALID, naming operator and tensor, unless all of index (count) are from 0 to below - 1. */
enum yp_status nn_check_indices(const char *op, const char *tensor, const int32_t *index,
                                size_t count, size_t below);
/* YP_INVALID unless offset (segments + 1) ascends from 0 to rows. */
enum yp_status nn_check_offsets(const char *op, const char *tensor, const int32_t *offset,
                                size_t segments, size_t rows);

/* y (n) = gain (x - shift), and backward: dx = gain dy unless that is NULL; the sums of dy and of
 * dy (x - shift) are the first two of `sums`, nn_affine_bytes() of workspace. */
size_t nn_affine_bytes(size_t n);
void nn_affine(const float *x, float shift, float gain, size_t n, float *y);
void nn_affine_vjp(const float *x, const float *dy, float shift, float gain, size_t n, float *dx,
                   double *sums);

/* out (n, c) = x - middle, rows of c side by side. */
void nn_centre(const float *x, const float *middle, size_t n, size_t c, float *out);

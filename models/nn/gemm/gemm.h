/* Matrix products on the CPU in float, bf16, fp16 and int8, by oneDNN where the machine has it and
 * it is the faster one, else by OpenBLAS. For operators; by as many threads as OpenMP gives. */
#pragma once

#include "models/nn/operator.h"

/* Element (i, j) is at[i * stride + j], or at[j * stride + i] of a transposed one. */
struct nn_matrix {
    void *at;
    enum nn_type type; /* NN_FLOAT, NN_BFLOAT16, NN_FLOAT16 or, of a and b, NN_SINT8 */
    size_t stride;     /* elements */
    bool transposed;
};

/* c (m, n) = a (m, k) b (k, n), or c = c + a b with `add`. Sums are float's, or
 * those of NN_SINT8 exact, with k below 2^17. `a` and `b` have the
 * same type and do not overlap with c, which is not transposed. A bias (n) is added to every row
 * before it is rounded; NULL: none. Not both. */
struct nn_gemm {
    size_t m, n, k;
    struct nn_matrix a, b, c;
    bool add;
    const float *bias;
    bool inside; /* by OpenBLAS, as in parallel regions: the same sums there and outside */
};

/* Bytes of workspace that the product takes with as many threads as OpenMP gives now, and with one;
 * for any other number, ask again. No element is read. In a parallel region a product is one
 * thread's: what was asked outside does not hold inside, and the other way round. */
size_t nn_gemm_bytes(const struct nn_gemm *gemm);

/* The most that one of them takes. */
size_t nn_gemm_most(const struct nn_gemm *products, size_t count);

/* YP_OUT_OF_MEMORY, YP_UNSUPPORTED: what oneDNN has to say. `work` is aligned to 64 bytes. */
enum yp_status nn_gemm(const struct nn_gemm *gemm, void *work);

/* OpenBLAS keeps a buffer for each thread, of which products touch as much as they need: has all of
 * it touched, so that what a process holds later tells what was kept by others. */
enum yp_status nn_gemm_settle(void);

/* Gives back the code that was made for the shapes so far, megabytes of it; no product may run
 * meanwhile. The next one of each shape makes its own again. */
void nn_gemm_forget(void);

/* A dense matrix as it lies in memory, and its transpose. */
static inline struct nn_matrix nn_rows_of(const void *at, enum nn_type type, size_t columns)
{
    return (struct nn_matrix){(void *)(uintptr_t)at, type, columns, false};
}

static inline struct nn_matrix nn_columns_of(const void *at, enum nn_type type, size_t columns)
{
    return (struct nn_matrix){(void *)(uintptr_t)at, type, columns, true};
}

static inline struct nn_gemm nn_gemm_of(size_t m, size_t n, size_t k, struct nn_matrix a,
                                        struct nn_matrix b, struct nn_matrix c, bool add,
                                        const float *bias)
{
    return (struct nn_gemm){
        .m = m, .n = n, .k = k, .a = a, .b = b, .c = c, .add = add, .bias = bias};
}

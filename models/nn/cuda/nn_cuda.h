/* Operators on a GPU: what the plugin of kernels.cu gives. Pointers are the device's, arrays dense
 * unless a stride says otherwise; `bf16`: arrays of the version's type are bf16, else float. All
 * launch on the device's default stream and return the status of the launch.
 *
 * Sums are float's, in an order that the sizes alone decide. An index that is not allowed, which
 * the CPU would refuse, makes what depends on it NaN. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <yieldpoint/device.h>

#ifdef __cplusplus
extern "C" {
#endif

#define NN_CUDA_PLUGIN "nn-cuda"

/* y = x in bf16 from float, to the nearest. */
struct nn_cuda_narrow {
    size_t n;
    const float *x;
    uint16_t *y;
};

/* y (n) = a + b; b NULL: y = a. */
struct nn_cuda_add {
    size_t n;
    bool bf16;
    const void *a, *b;
    void *y;
};

/* Forward: y (n, d), rows of table (v, d). Backward: dtable (v, d) in float, which is set to 0
 * first unless `add`. */
struct nn_cuda_embedding {
    size_t n, v, d;
    bool bf16, add;
    const int32_t *token;
    const void *table, *dy;
    void *y;
    float *dtable;
};

/* Backward: dx or dgain may be NULL; `work` is nn_cuda_columns_bytes(n, d). */
struct nn_cuda_rmsnorm {
    size_t n, d;
    bool bf16, add_dx, add_dgain;
    float eps;
    const void *x, *dy;
    const float *gain;
    void *y, *dx;
    float *r, *dgain;
    double *work;
};

/* From x to y, turned; or, `back`, from dy as x to dx as y. */
struct nn_cuda_rope {
    size_t b, t, h, e;
    bool bf16, back;
    const void *x;
    const float *cosine, *sine; /* (t, e / 2) */
    void *y;
};

/* Backward with dy; dgate or dup may be NULL. */
struct nn_cuda_swiglu {
    size_t n;
    bool bf16;
    const void *gate, *up, *dy;
    void *y, *dgate, *dup;
};

#define NN_CUDA_CHANNELS 128U /* of a head, at most */

/* Arrays (b, t, h, e); high, sum and along (b, h, t); backward with dy, all of dq, dk, dv, and
 * `along` as workspace. YP_UNSUPPORTED: e is above NN_CUDA_CHANNELS. */
struct nn_cuda_attention {
    size_t b, t, h, e;
    bool bf16, causal;
    const void *q, *k, *v, *dy;
    void *y, *dq, *dk, *dv;
    float *high, *sum, *along;
};

/* Of rows of logits z (n, v): forward loss, high and sum; backward s, where z may be when it is
 * float. */
struct nn_cuda_cross_entropy {
    size_t n, v;
    bool bf16; /* of s */
    const float *z, *dloss;
    const int32_t *label;
    float *loss, *high, *sum;
    void *s;
};

/* sums (c) of the columns of dy (n, c), or of dy x r with x (n, c) and r (n) where x is not NULL;
 * added to what is there when `add`. `work` is nn_cuda_columns_bytes(n, c). */
struct nn_cuda_columns {
    size_t n, c;
    bool bf16, add;
    const void *dy, *x;
    const float *r;
    float *sums;
    double *work;
};

#define NN_CUDA_GROUPS 64U /* of rows whose sums are added last */

static inline size_t nn_cuda_columns_bytes(size_t n, size_t c)
{
    return (n < NN_CUDA_GROUPS ? n : NN_CUDA_GROUPS) * c * sizeof(double);
}

/* As struct nn_gemm (gemm/gemm.h) and its matrices, in float and bf16. */
struct nn_cuda_matrix {
    void *at;
    bool bf16, transposed;
    size_t stride;
};

struct nn_cuda_gemm {
    size_t m, n, k;
    struct nn_cuda_matrix a, b, c;
    bool add;
    const float *bias;
};

struct nn_cuda {
    enum yp_status (*narrow)(struct yp_device *device, const struct nn_cuda_narrow *job);
    enum yp_status (*add)(struct yp_device *device, const struct nn_cuda_add *job);
    enum yp_status (*embedding[2])(struct yp_device *device, const struct nn_cuda_embedding *job);
    enum yp_status (*rmsnorm[2])(struct yp_device *device, const struct nn_cuda_rmsnorm *job);
    enum yp_status (*rope)(struct yp_device *device, const struct nn_cuda_rope *job);
    enum yp_status (*swiglu[2])(struct yp_device *device, const struct nn_cuda_swiglu *job);
    enum yp_status (*attention[2])(struct yp_device *device, const struct nn_cuda_attention *job);
    enum yp_status (*cross_entropy[2])(struct yp_device *device,
                                       const struct nn_cuda_cross_entropy *job);
    enum yp_status (*columns)(struct yp_device *device, const struct nn_cuda_columns *job);
    enum yp_status (*gemm)(struct yp_device *device, const struct nn_cuda_gemm *job);
};

#ifdef __cplusplus
}
#endif

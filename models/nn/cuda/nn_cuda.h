/* Operators on a GPU: what the plugin of kernels.cu gives. Pointers are the device's, arrays dense
 * unless a stride says otherwise; `type`: of arrays of the version's type, float or 16 bits. All
 * launch on the device's default stream and return the status of the launch.
 *
 * Sums are float's, in an order that the sizes alone decide. An index that is not allowed, which
 * the CPU would refuse, makes what depends on it NaN. */
#pragma once

#include "models/nn/drop.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <yieldpoint/device.h>

#ifdef __cplusplus
extern "C" {
#endif

#define NN_CUDA_PLUGIN "nn-cuda"

/* y = x in 16 bits from float, to the nearest. */
struct nn_cuda_narrow {
    size_t n;
    enum nn_type type;
    const float *x;
    uint16_t *y;
};

/* y (n) = a + b; b NULL: y = a. */
struct nn_cuda_add {
    size_t n;
    enum nn_type type;
    const void *a, *b;
    void *y;
};

/* y (n) = x times factor. */
struct nn_cuda_scale {
    size_t n;
    enum nn_type type; /* of y */
    float factor;
    const float *x;
    void *y;
};

enum nn_cuda_function { NN_CUDA_RELU, NN_CUDA_GELU, NN_CUDA_LEAKY_RELU };

/* Forward: y = the function of x, element by element. Backward: dx, which may be NULL. */
struct nn_cuda_line {
    size_t n;
    enum nn_type type;
    bool add;
    enum nn_cuda_function function;
    float slope; /* of NN_CUDA_LEAKY_RELU where x is not above 0 */
    const void *x, *dy;
    void *y, *dx;
};

/* Forward: y (n, d), rows of table (v, d). Backward: dtable (v, d) in float, which is set to 0
 * first unless `add`. */
struct nn_cuda_embedding {
    size_t n, v, d;
    enum nn_type type;
    bool add;
    const int32_t *token;
    const void *table, *dy;
    void *y;
    float *dtable;
};

/* Backward: dx or dgain may be NULL; `work` is nn_cuda_columns_bytes(n, d). */
struct nn_cuda_rmsnorm {
    size_t n, d;
    enum nn_type type;
    bool add_dx, add_dgain;
    float eps;
    const void *x, *dy;
    const float *gain;
    void *y, *dx;
    float *r, *dgain;
    double *work;
};

/* y (n, c) = x (n, c), in multiples of each row's largest magnitude / 127. */
struct nn_cuda_int8_rows {
    size_t n, c;
    const float *x;
    float *y;
};

/* Of rows (layer_norm), mean and r (n), or of columns (batch_norm), mean and r (c). Backward: dx,
 * dgain or dshift may be NULL; `work` is nn_cuda_columns_bytes(n, c), and that of batch_norm 2 c
 * floats more. */
struct nn_cuda_norm {
    size_t n, c;
    enum nn_type type;
    bool add_dx, add_dgain, add_dshift;
    float eps;
    const void *x, *dy;
    const float *gain, *shift;
    void *y, *dx;
    float *mean, *r, *dgain, *dshift;
    double *work;
};

/* From x to y, turned; or, `back`, from dy as x to dx as y. */
struct nn_cuda_rope {
    size_t b, t, h, e;
    enum nn_type type;
    bool back;
    const void *x;
    const float *cosine, *sine; /* (t, e / 2) */
    void *y;
};

/* Backward with dy; dgate or dup may be NULL. */
struct nn_cuda_swiglu {
    size_t n;
    enum nn_type type;
    const void *gate, *up, *dy;
    void *y, *dgate, *dup;
};

#define NN_CUDA_CHANNELS 128U /* of a head, at most */

/* Arrays (b, t, h, e); high, sum and along (b, h, t); backward with dy, all of dq, dk, dv, and
 * `along` as workspace. YP_UNSUPPORTED: e is above NN_CUDA_CHANNELS. */
struct nn_cuda_attention {
    size_t b, t, h, e;
    enum nn_type type;
    bool causal;
    const void *q, *k, *v, *dy;
    void *y, *dq, *dk, *dv;
    float *high, *sum, *along;
};

/* Of rows of logits z (n, v): forward loss, high and sum; backward s, where z may be when it is
 * float. */
struct nn_cuda_cross_entropy {
    size_t n, v;
    enum nn_type type; /* of s */
    const float *z, *dloss;
    const int32_t *label;
    float *loss, *high, *sum;
    void *s;
};

/* sums (c) of the columns of dy (n, c); where x (n, c) is not NULL, of dy h with h = (x - mean) r
 * or, without dy, of h^2. mean and r, of rows (n) or `by_column` (c), may be NULL: 0 and 1. The
 * sums are divided by n if `average`, or added to what is there if `add`. `work` is
 * nn_cuda_columns_bytes(n, c). */
struct nn_cuda_columns {
    size_t n, c;
    enum nn_type type;
    bool by_column, average, add;
    const void *dy, *x;
    const float *mean, *r;
    float *sums;
    double *work;
};

#define NN_CUDA_GROUPS 64U /* of rows whose sums are added last */

static inline size_t nn_cuda_columns_bytes(size_t n, size_t c)
{
    return (n < NN_CUDA_GROUPS ? n : NN_CUDA_GROUPS) * c * sizeof(double);
}

/* What lies around the points of a grid (b, p, q) in an array (b, h, w, c): at tap (u, v) of point
 * (i, j) the element of line (i scale + shift + u sign) / step, and of a column alike. There is 0
 * where that is outside, or no whole number. As a matrix: points in rows, taps (r, s, c) in
 * columns. */
struct nn_cuda_patches {
    const void *at;
    enum nn_type type;
    unsigned h, w, c, p, q, r, s;
    int scale, shift, sign, step;
};

/* As struct nn_gemm (gemm/gemm.h) and its matrices, in float and 16 bits. */
struct nn_cuda_matrix {
    void *at;
    enum nn_type type;
    bool transposed;
    size_t stride;
};

struct nn_cuda_gemm {
    size_t m, n, k;
    struct nn_cuda_matrix a, b, c;
    bool add;
    const float *bias;
};

/* What a or b may be instead: numbers of 8 bits times the `scale` of their row in memory; the
 * patches; weights (k, r, s, c) as the matrix (r s k, c) that patches of k channels are multiplied
 * with. */
enum nn_cuda_view { NN_CUDA_DENSE, NN_CUDA_BYTES, NN_CUDA_PATCHES, NN_CUDA_TURNED };

struct nn_cuda_views {
    enum nn_cuda_view a, b;
    const float *scale;
    struct nn_cuda_patches patches;
};

struct nn_cuda_gemm_of_views {
    struct nn_cuda_gemm gemm;
    struct nn_cuda_views views;
};

/* y (points, c) = bias (c) or 0, and for each tap of the point the element of its channel times
 * weights (r, s, c); added to what is there if `add`. Backward: dweights, the sums of dy (points,
 * c) times these elements; `work` is nn_cuda_columns_bytes(points, r s c). */
struct nn_cuda_depthwise {
    size_t points;
    bool add;
    struct nn_cuda_patches patches;
    const void *weights, *dy; /* of the type of the patches, and y */
    const float *bias;
    void *y;
    float *dweights;
    double *work;
};

/* As the operators of these names; gradients may be NULL. */
struct nn_cuda_mse {
    size_t n, c;
    enum nn_type type;
    const void *y, *t;
    const float *dloss;
    float *loss;
    void *dy, *dt;
};

struct nn_cuda_upsample {
    size_t b, h, w, c, p, q;
    enum nn_type type;
    bool corners, add;
    const void *x, *dy;
    void *y, *dx;
};

struct nn_cuda_tokens {
    size_t b, t, d;
    enum nn_type type;
    bool add_dfirst, add_dposition;
    const void *x, *dy;
    const float *first, *position;
    void *y, *dx;
    float *dfirst, *dposition;
};

struct nn_cuda_slice {
    size_t b, t, d, m, from;
    enum nn_type type;
    const void *x, *dy;
    void *y, *dx;
};

/* Rows (rows, c) in segments (n, c): of `offset` (n + 1), or the rows whose `index` (rows), in no
 * order, is the segment's number. A row counts `factor`, by 1 / the segment's rows if `mean`.
 * Forward: segments = the sums of their rows. Backward: rows = their segment. Added to what is
 * there with `add`. */
struct nn_cuda_segments {
    size_t n, rows, c;
    enum nn_type type;
    bool add, mean;
    float factor;
    const int32_t *offset, *index; /* one of them is NULL */
    void *rows_of, *segments;
};

/* As the operators of these names; gradients may be NULL. */
struct nn_cuda_gate {
    size_t n;
    enum nn_type type;
    bool add_dx, add_dg;
    const void *x, *g, *dy;
    void *y, *dx, *dg;
};

struct nn_cuda_edge_pair {
    size_t n, c, e;
    enum nn_type type;
    bool add_da, add_db;
    const int32_t *offset, *end;
    const void *a, *b, *dy;
    void *y, *da, *db;
};

/* `slopes` is workspace, (e + n, h). */
struct nn_cuda_gatv2 {
    size_t n, h, c, e, f;
    enum nn_type type;
    bool add_dleft, add_dright, add_dfeature, add_dedge, add_dattention;
    float slope;
    const int32_t *offset, *source;
    const void *left, *right, *dy;
    const float *feature, *edge, *attention, *bias;
    void *y, *dleft, *dright;
    float *alpha, *slopes, *dfeature, *dedge, *dattention;
};

/* Gradients of the following may be NULL, and each is added to what is there where its `add` says
 * so. The first four are in float alone. */
struct nn_cuda_sparse {
    size_t m, n, k, e;
    bool add_dvalue, add_dx;
    const int32_t *offset, *column;
    const float *value, *x, *dy;
    float *y, *dvalue, *dx;
};

struct nn_cuda_softmax { /* of segment_softmax */
    size_t e, h, n;
    bool add;
    const int32_t *offset;
    const float *x, *dy;
    float *y, *high, *sum, *dx;
};

struct nn_cuda_head_dot {
    size_t n, h, c;
    bool add_dx, add_da;
    const float *x, *a, *dy;
    float *y, *dx, *da;
};

struct nn_cuda_scale_rows {
    size_t n, c;
    bool add_dx, add_dw;
    const float *x, *w, *dy;
    float *y, *dx, *dw;
};

struct nn_cuda_add_embedding {
    size_t n, c, v, d;
    enum nn_type type;
    bool add_dx, add_dtable;
    const void *x, *dy;
    const float *table;
    const int32_t *index;
    void *y, *dx;
    float *dtable;
};

struct nn_cuda_mode_steps {
    size_t n, c, k, t;
    enum nn_type type;
    bool add_dx, add_dmode, add_dposition;
    const void *x, *dy;
    const float *mode, *position;
    void *y, *dx;
    float *dmode, *dposition;
};

/* y (n) of x, rows of `count` elements; either pass. */
struct nn_cuda_dropout {
    size_t n, count;
    enum nn_type type;
    bool add;
    struct nn_drop drop;
    const void *x;
    void *y;
};

/* Of feed_forward, hidden (n), rows of `count` elements: it becomes dropout(relu(hidden));
 * backward: its slopes become those at what relu was given. */
struct nn_cuda_hidden {
    size_t n, count;
    enum nn_type type;
    struct nn_drop drop;
    void *hidden, *slopes;
};

struct nn_cuda_attention_pool {
    size_t g, i, c;
    enum nn_type type;
    bool add_dx, add_dscore;
    const void *x, *score, *dy;
    void *y, *dx, *dscore;
    float *weight;
};

/* One step: gates (n, t, 4 h) from sums, cells and y; backward: dz (n, t, 4 h), dc (n, h) and the y
 * of the step before to `last` (n, t, h). */
struct nn_cuda_lstm {
    size_t n, t, h, step;
    enum nn_type type; /* of y and dy */
    float *gates, *cell;
    void *y;
    const void *dy;
    const float *dh; /* (n, h) of the step behind */
    float *dc, *dz, *last;
};

/* `along` (g, i, h) is workspace of the vjp. */
struct nn_cuda_segment_attention {
    size_t i, h, d, n, g;
    enum nn_type type;
    bool add_dq, add_dk, add_dv;
    const void *q, *k, *v, *dy;
    const int32_t *offset;
    void *y, *dq, *dk, *dv;
    float *high, *sum, *along;
};

/* As the operators mixture_nll, trajectory_terms and collision, which are of nodes or of graphs; on
 * the CPU, too. Arrays of the oracle are doubles. */
struct nn_cuda_mixture {
    size_t n, k, t;
    size_t d, graphs;  /* of collision */
    size_t room;       /* numbers of each node in `work` */
    enum nn_type type; /* of logit and dlogit */
    bool add_dp, add_dlogit, add_dtarget;
    double setting[5];
    const void *p, *logit, *target, *here, *dloss;
    const int32_t *offset;
    void *loss, *share, *dp, *dlogit, *dtarget, *work;
};

struct nn_cuda_mixture_head {
    size_t n;
    enum nn_type type; /* of raw and draw */
    bool add;
    float least, most;
    const void *raw;
    const float *dy;
    float *y;
    void *draw;
};

struct nn_cuda_coverage {
    size_t n;
    enum nn_type type; /* of x and dx */
    bool add_dx, add_dlabel;
    float smoothing;
    const void *x;
    const float *label, *dloss;
    float *loss, *dlabel;
    void *dx;
};

struct nn_cuda {
    enum yp_status (*narrow)(struct yp_device *device, const struct nn_cuda_narrow *job);
    enum yp_status (*add)(struct yp_device *device, const struct nn_cuda_add *job);
    enum yp_status (*scale)(struct yp_device *device, const struct nn_cuda_scale *job);
    enum yp_status (*line[2])(struct yp_device *device, const struct nn_cuda_line *job);
    enum yp_status (*embedding[2])(struct yp_device *device, const struct nn_cuda_embedding *job);
    enum yp_status (*rmsnorm[2])(struct yp_device *device, const struct nn_cuda_rmsnorm *job);
    enum yp_status (*layer_norm[2])(struct yp_device *device, const struct nn_cuda_norm *job);
    enum yp_status (*batch_norm[2])(struct yp_device *device, const struct nn_cuda_norm *job);
    enum yp_status (*rope)(struct yp_device *device, const struct nn_cuda_rope *job);
    enum yp_status (*swiglu[2])(struct yp_device *device, const struct nn_cuda_swiglu *job);
    enum yp_status (*attention[2])(struct yp_device *device, const struct nn_cuda_attention *job);
    enum yp_status (*cross_entropy[2])(struct yp_device *device,
                                       const struct nn_cuda_cross_entropy *job);
    enum yp_status (*columns)(struct yp_device *device, const struct nn_cuda_columns *job);
    enum yp_status (*gemm)(struct yp_device *device, const struct nn_cuda_gemm *job);
    enum yp_status (*gemm_of_views)(struct yp_device *device,
                                    const struct nn_cuda_gemm_of_views *job);
    enum yp_status (*depthwise[2])(struct yp_device *device, const struct nn_cuda_depthwise *job);
    enum yp_status (*mse[2])(struct yp_device *device, const struct nn_cuda_mse *job);
    enum yp_status (*upsample[2])(struct yp_device *device, const struct nn_cuda_upsample *job);
    enum yp_status (*tokens[2])(struct yp_device *device, const struct nn_cuda_tokens *job);
    enum yp_status (*slice[2])(struct yp_device *device, const struct nn_cuda_slice *job);
    enum yp_status (*int8_rows)(struct yp_device *device, const struct nn_cuda_int8_rows *job);
    enum yp_status (*segments[2])(struct yp_device *device, const struct nn_cuda_segments *job);
    enum yp_status (*gate[2])(struct yp_device *device, const struct nn_cuda_gate *job);
    enum yp_status (*edge_pair[2])(struct yp_device *device, const struct nn_cuda_edge_pair *job);
    enum yp_status (*gatv2[2])(struct yp_device *device, const struct nn_cuda_gatv2 *job);
    enum yp_status (*sparse_matmul[2])(struct yp_device *device, const struct nn_cuda_sparse *job);
    enum yp_status (*segment_softmax[2])(struct yp_device *device,
                                         const struct nn_cuda_softmax *job);
    enum yp_status (*head_dot[2])(struct yp_device *device, const struct nn_cuda_head_dot *job);
    enum yp_status (*scale_rows[2])(struct yp_device *device, const struct nn_cuda_scale_rows *job);
    enum yp_status (*add_embedding[2])(struct yp_device *device,
                                       const struct nn_cuda_add_embedding *job);
    enum yp_status (*mode_steps[2])(struct yp_device *device, const struct nn_cuda_mode_steps *job);
    enum yp_status (*dropout)(struct yp_device *device, const struct nn_cuda_dropout *job);
    enum yp_status (*hidden[2])(struct yp_device *device, const struct nn_cuda_hidden *job);
    enum yp_status (*attention_pool[2])(struct yp_device *device,
                                        const struct nn_cuda_attention_pool *job);
    enum yp_status (*lstm[2])(struct yp_device *device, const struct nn_cuda_lstm *job);
    enum yp_status (*segment_attention[2])(struct yp_device *device,
                                           const struct nn_cuda_segment_attention *job);
    enum yp_status (*mixture_nll[2])(struct yp_device *device, const struct nn_cuda_mixture *job);
    enum yp_status (*trajectory_terms[2])(struct yp_device *device,
                                          const struct nn_cuda_mixture *job);
    enum yp_status (*collision[2])(struct yp_device *device, const struct nn_cuda_mixture *job);
    enum yp_status (*mixture_head[2])(struct yp_device *device,
                                      const struct nn_cuda_mixture_head *job);
    enum yp_status (*coverage_bce[2])(struct yp_device *device, const struct nn_cuda_coverage *job);
};

#ifdef __cplusplus
}
#endif

/* What graph attention does node by node, in float: see operators/gatv2.c for the formulas. The
 * products with features of edges are made where they are needed, so that nothing of the size of
 * edges times channels is in memory. */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum { NN_GAT_FEATURES = 16 }; /* of an edge, at most */

/* A layer: n nodes, h heads of c channels, e edges with f features. The rows of node i are the
 * edges that end there, offset[i] to offset[i + 1] - 1, and then its self-loop, row e + i. */
struct nn_gat {
    size_t n, h, c, e, f;
    float slope;                    /* of the logits below 0 */
    const float *left, *right;      /* (n, h, c) */
    const float *feature, *mean;    /* (e, f); (n, f): of self-loops */
    const float *weights;           /* (h, f, c): of features */
    const float *attention;         /* (h, c) */
    const int32_t *offset, *source; /* (n + 1), (e) */
    float *alpha;                   /* (e + n, h) */
    /* Backward: */
    const float *dy;       /* (n, c) */
    float *slopes;         /* (h, e + n): of logits */
    float *dleft, *dright; /* (n, h, c), to add to; NULL: not wanted */
    float *sums;           /* (h, 1 + f, c): of the attention and of weights, to add to */
    float *dfeature;       /* (e + n, f), written */
};

struct nn_gat_kernels {
    const char *name;
    /* Of node i: logits to alpha. */
    void (*logits)(const struct nn_gat *g, size_t i);
    /* y (c) = the mean over heads of what alpha weighs, left rows. */
    void (*weigh)(const struct nn_gat *g, size_t i, float *y);
    /* Of one head: slopes of the logits, from alpha; and from those the gradients of channels
     * begin to end - 1, each by itself: any parts of a head have the same bits as all of it. */
    void (*slopes)(const struct nn_gat *g, size_t i, size_t head);
    void (*gradients)(const struct nn_gat *g, size_t i, size_t head, size_t begin, size_t end);
    /* dfeature of the node's rows, from the slopes of all heads. */
    void (*features)(const struct nn_gat *g, size_t i);
};

/* The fastest set that this process may use. */
const struct nn_gat_kernels *nn_gat_kernels(void);

/* The operator table: one line an operator, whose file has the same name. Meson reads these lines
 * for the files, operators.c makes the table of them. */
#pragma once

#define NN_OPERATORS(OPERATOR) \
    OPERATOR(adamw) \
    OPERATOR(add) \
    OPERATOR(add_embedding) \
    OPERATOR(attention) \
    OPERATOR(attention_pool) \
    OPERATOR(batch_norm) \
    OPERATOR(bce) \
    OPERATOR(collision) \
    OPERATOR(convolution) \
    OPERATOR(coverage_bce) \
    OPERATOR(depthwise_convolution) \
    OPERATOR(dropout) \
    OPERATOR(edge_pair) \
    OPERATOR(embedding) \
    OPERATOR(gate) \
    OPERATOR(gather) \
    OPERATOR(gatv2) \
    OPERATOR(gelu) \
    OPERATOR(layer_norm) \
    OPERATOR(linear) \
    OPERATOR(linear_cross_entropy) \
    OPERATOR(linear_int8) \
    OPERATOR(logit) \
    OPERATOR(lora) \
    OPERATOR(lstm) \
    OPERATOR(matmul) \
    OPERATOR(minmax) \
    OPERATOR(mixture_head) \
    OPERATOR(mixture_nll) \
    OPERATOR(mode_steps) \
    OPERATOR(mse) \
    OPERATOR(orthogonality) \
    OPERATOR(pca) \
    OPERATOR(quadratic) \
    OPERATOR(relu) \
    OPERATOR(rmsnorm) \
    OPERATOR(rope) \
    OPERATOR(scatter) \
    OPERATOR(segment_attention) \
    OPERATOR(segment_softmax) \
    OPERATOR(segment_spread) \
    OPERATOR(segment_sum) \
    OPERATOR(selector) \
    OPERATOR(slice) \
    OPERATOR(sparse_matmul) \
    OPERATOR(sum_squares) \
    OPERATOR(swiglu) \
    OPERATOR(tokens) \
    OPERATOR(trajectory_terms) \
    OPERATOR(transposed_convolution) \
    OPERATOR(upsample)

/* The operator table: one line an operator, whose file has the same name. Meson reads these lines
 * for the files, operators.c makes the table of them. */
#pragma once

#define NN_OPERATORS(OPERATOR) \
    OPERATOR(adamw) \
    OPERATOR(add) \
    OPERATOR(attention) \
    OPERATOR(bce) \
    OPERATOR(embedding) \
    OPERATOR(linear) \
    OPERATOR(linear_cross_entropy) \
    OPERATOR(linear_int8) \
    OPERATOR(logit) \
    OPERATOR(matmul) \
    OPERATOR(minmax) \
    OPERATOR(mse) \
    OPERATOR(orthogonality) \
    OPERATOR(pca) \
    OPERATOR(quadratic) \
    OPERATOR(rmsnorm) \
    OPERATOR(rope) \
    OPERATOR(selector) \
    OPERATOR(sum_squares) \
    OPERATOR(swiglu)

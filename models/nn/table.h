/*
 * The operator table: one line an operator, whose file has the same name. Meson reads these lines
 * for the files, operators.c makes the table of them.
 */
#ifndef NN_TABLE_H
#define NN_TABLE_H

#define NN_OPERATORS(OPERATOR) \
    OPERATOR(bce) \
    OPERATOR(linear) \
    OPERATOR(logit) \
    OPERATOR(matmul) \
    OPERATOR(minmax) \
    OPERATOR(mse) \
    OPERATOR(orthogonality) \
    OPERATOR(pca) \
    OPERATOR(quadratic) \
    OPERATOR(selector)

#endif

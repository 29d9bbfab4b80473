/*
 * The operator table: one line an operator, whose file has the same name. Meson reads these lines
 * for the files, operators.c makes the table of them, suites/perf its budgets: the figures are the
 * least shares of what bounds the work that one thread reaches, about 0.7 of what was measured:
 * forward and vjp at shape small, then at shape medium, of the slowest precision.
 */
#ifndef NN_TABLE_H
#define NN_TABLE_H

#define NN_OPERATORS(OPERATOR) \
    OPERATOR(bce, 0.15, 0.13, 0.17, 0.2) \
    OPERATOR(linear, 0.29, 0.29, 0.33, 0.32) \
    OPERATOR(logit, 0.18, 0.15, 0.6, 0.36) \
    OPERATOR(matmul, 0.3, 0.29, 0.32, 0.32) \
    OPERATOR(minmax, 0.18, 0.15, 0.6, 0.36) \
    OPERATOR(mse, 0.15, 0.27, 0.35, 0.5) \
    OPERATOR(orthogonality, 0.075, 0.15, 0.15, 0.24) \
    OPERATOR(pca, 0.13, 0.14, 0.18, 0.2) \
    OPERATOR(quadratic, 0.26, 0.22, 0.3, 0.3) \
    OPERATOR(selector, 0.12, 0.095, 0.4, 0.28)

#endif

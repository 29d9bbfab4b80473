/* A matrix product by blocks of the result: GEMM_TILE x GEMM_TILE elements by GEMM_THREADS threads,
 * a square of GEMM_OWN x GEMM_OWN each, with GEMM_DEPTH of k in shared memory at a time. */
#pragma once

#include "device/cuda/frame.h"
#include "models/nn/cuda/nn_cuda.h"
#include "models/nn/cuda/patches.h"
#include "models/nn/types.h"

#define GEMM_TILE 64U
#define GEMM_DEPTH 16U
#define GEMM_OWN 4U
#define GEMM_THREADS 256U
#define GEMM_SIDE (GEMM_TILE / GEMM_OWN) /* threads a row of the tile */

struct gemm_shared {
    float a[GEMM_DEPTH][GEMM_TILE + 4], b[GEMM_DEPTH][GEMM_TILE + 4];
};

struct gemm_own {
    float sum[GEMM_OWN][GEMM_OWN];
};

/* Element (i, j) of a or b; views: NULL, or what `view` refers to. */
YPK_FUNCTION float gemm_get(const struct nn_cuda_matrix *matrix, const struct nn_cuda_views *views,
                            enum nn_cuda_view view, size_t i, size_t j)
{
    size_t at = matrix->transposed ? j * matrix->stride + i : i * matrix->stride + j;
    if (views == NULL || view == NN_CUDA_DENSE)
        return nn_get(matrix->at, at, matrix->type);
    if (view == NN_CUDA_BYTES)
        return views->scale[matrix->transposed ? j : i] * (float)((const int8_t *)matrix->at)[at];
    if (view == NN_CUDA_PATCHES)
        return patches_get(&views->patches, i, j);
    unsigned k = (unsigned)i % views->patches.c, place = (unsigned)i / views->patches.c;
    size_t row = (size_t)k * views->patches.r * views->patches.s + place;
    return nn_get(matrix->at, row * matrix->stride + j, matrix->type);
}

/* Thread t's share of a part (GEMM_TILE rows from `row`, GEMM_DEPTH columns from `column`) of a
 * matrix (rows, columns), 0 beyond; neighbours in memory are neighbouring threads'. `turned`: the
 * part's rows are the matrix's columns. */
YPK_FUNCTION void gemm_load(const struct nn_cuda_matrix *matrix, const struct nn_cuda_views *views,
                            enum nn_cuda_view view, size_t rows, size_t columns, size_t row,
                            size_t column, bool turned, unsigned t,
                            float to[GEMM_DEPTH][GEMM_TILE + 4])
{
    bool along = matrix->transposed != turned; /* the tile's side is what lies side by side */
    for (unsigned n = 0; n < GEMM_TILE * GEMM_DEPTH / GEMM_THREADS; n++) {
        unsigned at = t + n * GEMM_THREADS;
        unsigned side = along ? at % GEMM_TILE : at / GEMM_DEPTH;
        unsigned deep = along ? at / GEMM_TILE : at % GEMM_DEPTH;
        bool inside = row + side < rows && column + deep < columns;
        float value = 0;
        if (inside)
            value = turned ? gemm_get(matrix, views, view, column + deep, row + side)
                           : gemm_get(matrix, views, view, row + side, column + deep);
        to[deep][side] = value;
    }
}

YPK_FUNCTION void gemm_multiply(const struct gemm_shared *shared, unsigned t, struct gemm_own *own)
{
    unsigned row = t / GEMM_SIDE * GEMM_OWN, column = t % GEMM_SIDE * GEMM_OWN;
    for (unsigned l = 0; l < GEMM_DEPTH; l++) {
        YPK_UNROLL(4)
        for (unsigned i = 0; i < GEMM_OWN; i++) {
            YPK_UNROLL(4)
            for (unsigned j = 0; j < GEMM_OWN; j++)
                own->sum[i][j] += shared->a[l][row + i] * shared->b[l][column + j];
        }
    }
}

YPK_FUNCTION void gemm_store(const struct nn_cuda_gemm *g, size_t row, size_t column, unsigned t,
                             const struct gemm_own *own)
{
    const enum nn_type type = g->c.type;
    row += t / GEMM_SIDE * GEMM_OWN;
    column += t % GEMM_SIDE * GEMM_OWN;
    for (unsigned i = 0; i < GEMM_OWN && row + i < g->m; i++)
        for (unsigned j = 0; j < GEMM_OWN && column + j < g->n; j++) {
            size_t at = (row + i) * g->c.stride + column + j;
            float value = own->sum[i][j];
            if (g->add)
                value += nn_get(g->c.at, at, type);
            if (g->bias != NULL)
                value += g->bias[column + j];
            nn_put(g->c.at, at, value, type);
        }
}

/* Block x of those of the result, row by row; views: NULL, or those of a and b. */
YPK_FUNCTION void gemm_block(const struct nn_cuda_gemm *g, const struct nn_cuda_views *views,
                             unsigned block, struct gemm_shared *shared, struct gemm_own *own)
{
    unsigned across = (unsigned)((g->n + GEMM_TILE - 1) / GEMM_TILE);
    size_t row = (size_t)(block / across) * GEMM_TILE,
           column = (size_t)(block % across) * GEMM_TILE;
    YPK_EACH (t, GEMM_THREADS)
        memset(&own[YPK_OWN(t)], 0, sizeof *own);
    for (size_t l = 0; l < g->k; l += GEMM_DEPTH) {
        YPK_EACH (t, GEMM_THREADS) {
            gemm_load(&g->a, views, views != NULL ? views->a : NN_CUDA_DENSE, g->m, g->k, row, l,
                      false, t, shared->a);
            gemm_load(&g->b, views, views != NULL ? views->b : NN_CUDA_DENSE, g->n, g->k, column, l,
                      true, t, shared->b);
        }
        ypk_block_barrier();
        YPK_EACH (t, GEMM_THREADS)
            gemm_multiply(shared, t, &own[YPK_OWN(t)]);
        ypk_block_barrier();
    }
    YPK_EACH (t, GEMM_THREADS)
        gemm_store(g, row, column, t, &own[YPK_OWN(t)]);
}

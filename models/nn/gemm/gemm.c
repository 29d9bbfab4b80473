/* Who does a matrix product, and OpenBLAS's way of doing it. */
#include "models/nn/gemm/gemm.h"

#include "models/nn/draw.h"

#include "models/nn/convert.h"
#include "models/nn/gemm/onednn.h"

#include <cblas.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

/* -- by OpenBLAS: what is smaller is widened to float, so that sums are float's ------------- */

/* From the first one to the last, with what lies between. */
static size_t elements(const struct nn_matrix *matrix, size_t rows, size_t columns)
{
    size_t lines = matrix->transposed ? columns : rows, width = matrix->transposed ? rows : columns;
    return (lines - 1) * matrix->stride + width;
}

static size_t widened_bytes(const struct nn_matrix *matrix, size_t rows, size_t columns)
{
    size_t bytes = elements(matrix, rows, columns) * sizeof(float);
    return matrix->type != NN_FLOAT ? (bytes + 63) / 64 * 64 : 0;
}

/* Sums of integers are exact in float. Some of OpenBLAS's kernels add them in parts to what is
 * there, and round each time; so they are made apart, and added as a whole. */
static bool made_apart(const struct nn_gemm *g)
{
    return g->a.type == NN_SINT8 && (g->add || g->bias != NULL);
}

static size_t blas_bytes(const struct nn_gemm *g)
{
    return widened_bytes(&g->a, g->m, g->k) + widened_bytes(&g->b, g->k, g->n) +
           widened_bytes(&g->c, g->m, g->n) + (made_apart(g) ? g->m * g->n * sizeof(float) : 0);
}

/* The matrix in float: itself, or widened into *work, which goes on behind it. */
static float *in_float(const struct nn_matrix *matrix, size_t rows, size_t columns, bool read,
                       char **work)
{
    if (matrix->type == NN_FLOAT)
        return matrix->at;
    float *wide = (float *)(void *)*work;
    *work += widened_bytes(matrix, rows, columns);
    if (read && matrix->type == NN_SINT8)
        nn_widen_int8(matrix->at, elements(matrix, rows, columns), wide);
    else if (read)
        nn_widen(matrix->at, matrix->type, elements(matrix, rows, columns), wide);
    return wide;
}

static enum yp_status blas_gemm(const struct nn_gemm *g, void *work)
{
    char *free = work;
    const float *a = in_float(&g->a, g->m, g->k, true, &free);
    const float *b = in_float(&g->b, g->k, g->n, true, &free);
    float *c = in_float(&g->c, g->m, g->n, g->add, &free);
    const bool apart = made_apart(g);
    float *sums = apart ? (float *)(void *)free : c;
    const size_t stride = apart ? g->n : g->c.stride;
    for (size_t i = 0; i < g->m && g->bias != NULL; i++)
        memcpy(c + i * g->c.stride, g->bias, g->n * sizeof *c);
    cblas_sgemm(CblasRowMajor, g->a.transposed ? CblasTrans : CblasNoTrans,
                g->b.transposed ? CblasTrans : CblasNoTrans, (int)g->m, (int)g->n, (int)g->k, 1, a,
                (int)g->a.stride, b, (int)g->b.stride,
                !apart && (g->add || g->bias != NULL) ? 1 : 0, sums, (int)stride);
    for (size_t i = 0; i < g->m && apart; i++)
        for (size_t j = 0; j < g->n; j++)
            c[i * g->c.stride + j] += sums[i * stride + j];
    for (size_t i = 0; i < g->m && nn_16_bits(g->c.type); i++)
        nn_narrow(c + i * g->c.stride, g->n, g->c.type, (uint16_t *)g->c.at + i * g->c.stride);
    return YP_OK;
}

/* -- either ---------------------------------------------------------------------------------- */

static size_t bytes_on(const struct nn_gemm *gemm, int threads)
{
    size_t bytes;
    return !gemm->inside && ypi_onednn_takes(gemm, threads, &bytes) ? bytes : blas_bytes(gemm);
}

/* Without an element there is nothing to do, and without a term the sums are 0. */
static bool is_empty(const struct nn_gemm *gemm)
{
    return gemm->m == 0 || gemm->n == 0 || gemm->k == 0;
}

static void without_terms(const struct nn_gemm *gemm)
{
    const size_t bytes = nn_type_bytes(gemm->c.type);
    for (size_t i = 0; i < gemm->m && !gemm->add; i++) {
        char *row = (char *)gemm->c.at + i * gemm->c.stride * bytes;
        for (size_t j = 0; j < gemm->n; j++)
            nn_store(row, gemm->c.type, j, gemm->bias != NULL ? (double)gemm->bias[j] : 0);
    }
}

size_t nn_gemm_bytes(const struct nn_gemm *gemm)
{
    if (is_empty(gemm))
        return 0;
    size_t bytes = bytes_on(gemm, omp_get_max_threads()), alone = bytes_on(gemm, 1);
    return alone > bytes ? alone : bytes;
}

size_t nn_gemm_most(const struct nn_gemm *products, size_t count)
{
    size_t most = 0;
    for (size_t i = 0; i < count; i++) {
        size_t bytes = nn_gemm_bytes(&products[i]);
        most = bytes > most ? bytes : most;
    }
    return most;
}

enum yp_status nn_gemm(const struct nn_gemm *gemm, void *work)
{
    size_t bytes;
    if (is_empty(gemm)) {
        without_terms(gemm);
        return YP_OK;
    }
    return !gemm->inside && ypi_onednn_takes(gemm, omp_get_max_threads(), &bytes)
               ? ypi_onednn_gemm(gemm, work)
               : blas_gemm(gemm, work);
}

void nn_gemm_forget(void)
{
    ypi_onednn_forget();
}

/* Above what OpenBLAS packs at once: of many rows, of many columns, of long sums. */
enum yp_status nn_gemm_settle(void)
{
    enum { MANY = 32768, SOME = 1024, K = 1024 };
    static const size_t sizes[][2] = {{MANY, 64}, {SOME, SOME}};
    float *zeros = calloc((size_t)MANY * K, sizeof *zeros);
    float *c = calloc((size_t)MANY * 64, sizeof *c);
    enum yp_status status = YP_OK;
    for (size_t i = 0; i < 2 && zeros != NULL && c != NULL; i++)
        cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, (int)sizes[i][0], (int)sizes[i][1],
                    K, 1, zeros, K, zeros, (int)sizes[i][1], 0, c, (int)sizes[i][1]);
    if (zeros == NULL || c == NULL)
        status = yp_set_error(YP_OUT_OF_MEMORY, "nn_gemm_settle: %d by %d floats", MANY, K);
    free(zeros);
    free(c);
    return status;
}

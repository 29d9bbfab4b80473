/* Loops over rows that several operators need. */
#include "models/nn/fast.h"

#include "models/nn/simd/pixels.h"

#include <string.h>

size_t nn_columns_bytes(size_t n, size_t c)
{
    return nn_chunks(n, nn_rows(c, NN_CHUNK)) * c * sizeof(double);
}

void nn_columns(const float *x, size_t n, size_t c, double *sums)
{
    const struct ypi_pixel_kernels *kernels = ypi_pixel_kernels();
    size_t rows = nn_rows(c, NN_CHUNK), chunks = nn_chunks(n, rows);
    memset(sums, 0, chunks * c * sizeof *sums);
#pragma omp parallel for schedule(static) if (chunks > NN_FEW)
    for (size_t i = 0; i < chunks; i++)
        kernels->columns(x + i * rows * c, NULL, nn_least(rows, n - i * rows), c, sums + i * c,
                         NULL);
    nn_merge(sums, chunks, c);
}

void nn_centre(const float *x, const float *middle, size_t n, size_t c, float *out)
{
    const struct ypi_pixel_kernels *kernels = ypi_pixel_kernels();
    size_t rows = nn_rows(c, NN_CHUNK), chunks = nn_chunks(n, rows);
#pragma omp parallel for schedule(static) if (chunks > NN_FEW)
    for (size_t i = 0; i < chunks; i++)
        kernels->centre(x + i * rows * c, NULL, nn_least(rows, n - i * rows), c, middle,
                        out + i * rows * c);
}

/* Sums of outer products, and Cholesky by rows, in double. */
#include "models/rx/methods/window.h"

#include "base/simd/simd.h"

#include <math.h>

#define BODY static inline __attribute__((always_inline))

BODY void move(double *restrict sums, const double *restrict gained, const double *restrict lost,
               size_t size)
{
    for (size_t i = 0; i < size; i++) {
        double in = gained[i], out = lost[i];
        const double *restrict g = gained + i, *restrict l = lost + i;
        size_t n = size - i;
        for (size_t j = 0; j < n; j++)
            sums[j] += in * g[j] - out * l[j];
        sums += n;
    }
}

BODY void add(double *restrict sums, const double *restrict gained, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        double in = gained[i];
        const double *restrict g = gained + i;
        size_t n = size - i;
        for (size_t j = 0; j < n; j++)
            sums[j] += in * g[j];
        sums += n;
    }
}

BODY void slide(double *restrict window, const double *restrict gained, const double *restrict lost,
                size_t total)
{
    if (lost == NULL)
        for (size_t i = 0; i < total; i++)
            window[i] += gained[i];
    else
        for (size_t i = 0; i < total; i++)
            window[i] += gained[i] - lost[i];
}

/* matrix = the regularised covariance of the ring, with z less the ring's mean as its last column;
 * least (size): what a pivot must be at least. Both means and least are scratch. */
BODY bool make_covariance(const struct ypi_ring *ring, const double *restrict outer,
                          const double *restrict inner, const double *restrict z,
                          double *restrict matrix, double *restrict mean, double *restrict least)
{
    size_t size = ring->size, channels = size - 1, last = ypi_window_total(size) - 1;
    double n = outer[last] - inner[last], scale = 1 / (n - 1);
    if (n < ring->fewest)
        return false;
    for (size_t i = 0, at = size - 1; i < channels; i++, at += size - i)
        mean[i] = (outer[at] - inner[at]) / n;
    for (size_t i = 0; i < channels; i++) {
        size_t length = channels - i;
        const double *restrict m = mean + i;
        double centre = mean[i] * n, factor = scale * ring->keep;
        double squares = outer[0] - inner[0];
        for (size_t j = 0; j < length; j++)
            matrix[j] = (outer[j] - inner[j] - centre * m[j]) * factor;
        matrix[0] = (squares - centre * mean[i]) * scale + ring->ridge;
        matrix[length] = z[i] - mean[i];
        least[i] = ring->least * (squares * scale);
        outer += length + 1;
        inner += length + 1;
        matrix += length + 1;
    }
    return true;
}

#define TOGETHER ((size_t)4) /* rows that are subtracted from others at once */

/* row (from its diagonal i on) -= the parts of up to 4 finished rows above it, whose elements of
 * column i are at `above`. */
BODY void subtract(double *restrict row, size_t n, const double *const *above, size_t rows)
{
    const double *restrict a = above[0], *restrict b = above[1 % rows],
                           *restrict c = above[2 % rows], *restrict d = above[3 % rows];
    double ka = a[0], kb = rows > 1 ? b[0] : 0, kc = rows > 2 ? c[0] : 0, kd = rows > 3 ? d[0] : 0;
    if (rows == TOGETHER)
        for (size_t j = 0; j < n; j++)
            row[j] -= (ka * a[j] + kb * b[j]) + (kc * c[j] + kd * d[j]);
    else
        for (size_t r = 0; r < rows; r++) {
            double k = above[r][0];
            for (size_t j = 0; j < n; j++)
                row[j] -= k * above[r][j];
        }
}

/* U of U^T U = matrix, in place, and U^-T times the last column; false: a pivot is too small. */
BODY bool factor(double *restrict matrix, size_t size, const double *restrict least)
{
    size_t channels = size - 1;
    double *first = matrix; /* the diagonal of row k */
    for (size_t k = 0; k < channels;) {
        size_t rows = channels - k < TOGETHER ? channels - k : TOGETHER;
        const double *above[TOGETHER] = {0}; /* at column i of the row at hand */
        double *row = first;
        for (size_t r = 0; r < rows; r++) {
            size_t n = size - k - r;
            if (r > 0)
                subtract(row, n, above, r);
            if (!(row[0] > least[k + r]))
                return false;
            double pivot = sqrt(row[0]), inverse = 1 / pivot;
            row[0] = pivot;
            for (size_t j = 1; j < n; j++)
                row[j] *= inverse;
            for (size_t q = 0; q < r; q++)
                above[q]++;
            above[r] = row + 1;
            row += n;
        }
        first = row;
        k += rows;
        for (size_t i = k; i < channels; i++) {
            subtract(row, size - i, above, rows);
            for (size_t q = 0; q < rows; q++)
                above[q]++;
            row += size - i;
        }
    }
    return true;
}

BODY double score(const struct ypi_ring *ring, const double *outer, const double *inner,
                  const double *z, double *scratch)
{
    size_t size = ring->size, total = ypi_window_total(size);
    double *matrix = scratch, *mean = scratch + total, *least = mean + size, sum = 0;
    if (!make_covariance(ring, outer, inner, z, matrix, mean, least) ||
        !factor(matrix, size, least))
        return NAN;
    for (size_t i = 0, at = size - 1; i + 1 < size; i++, at += size - i)
        sum += matrix[at] * matrix[at];
    return sum;
}

YPI_SIMD_VERSIONS(void, move, (double *sums, const double *gained, const double *lost, size_t size),
                  move(sums, gained, lost, size))
YPI_SIMD_VERSIONS(void, add, (double *sums, const double *gained, size_t size),
                  add(sums, gained, size))
YPI_SIMD_VERSIONS(void, slide,
                  (double *window, const double *gained, const double *lost, size_t total),
                  slide(window, gained, lost, total))
YPI_SIMD_VERSIONS(double, score,
                  (const struct ypi_ring *ring, const double *outer, const double *inner,
                   const double *z, double *scratch),
                  return score(ring, outer, inner, z, scratch))

#define KERNELS(set) \
    static const struct ypi_window_kernels kernels_##set = {#set, move_##set, add_##set, \
                                                            slide_##set, score_##set};
KERNELS(baseline)
#if defined(__x86_64__)
KERNELS(avx2)
KERNELS(avx512)
#endif

static const struct ypi_simd_version versions[] = {YPI_SIMD_TABLE(kernels)};
YPI_SIMD_CHOICE(struct ypi_window_kernels, ypi_window_kernels)

/* Loops over pixels that the pipeline needs beside those of kernel.c, compiled for each
 * instruction set in the same way. */
#include "nodes_internal.h"

#include <string.h>
#include <yieldpoint/isa.h>

#define BODY static inline __attribute__((always_inline))

BODY bool is_finite(const float *x, size_t channels)
{
    uint32_t bad = 0;
    for (size_t c = 0; c < channels; c++) {
        uint32_t bits;
        memcpy(&bits, &x[c], sizeof bits);
        bad |= (bits & 0x7f800000u) == 0x7f800000u; /* no early end: this one vectorises */
    }
    return bad == 0;
}

BODY size_t gather(const float *restrict x, size_t stride, size_t pixels, size_t channels,
                   const float *restrict base, const float *restrict gain,
                   const float *restrict rest, float *restrict out, uint8_t *restrict keep)
{
    size_t rows = 0;
    for (size_t p = 0; p < pixels; p++, x += stride) {
        keep[p] = is_finite(x, channels);
        if (!keep[p])
            continue;
        for (size_t c = 0; c < channels; c++)
            out[rows * channels + c] = (x[c] - base[c]) * gain[c] + rest[c];
        rows++;
    }
    return rows;
}

#define TOGETHER ((size_t)16) /* channels whose sums stay in registers */

/* `width` channels, TOGETHER or fewer: a constant where it matters. */
BODY void some_columns(const float *restrict a, const float *restrict b, size_t rows,
                       size_t channels, size_t width, double *restrict sum,
                       double *restrict product)
{
    double sums[TOGETHER] = {0}, products[TOGETHER] = {0};
    for (size_t r = 0; r < rows; r++, a += channels)
        for (size_t c = 0; c < width; c++)
            sums[c] += (double)a[c];
    for (size_t c = 0; c < width; c++)
        sum[c] += sums[c];
    if (product == NULL)
        return;
    a -= rows * channels;
    for (size_t r = 0; r < rows; r++, a += channels, b += channels)
        for (size_t c = 0; c < width; c++)
            products[c] += (double)a[c] * (double)b[c];
    for (size_t c = 0; c < width; c++)
        product[c] += products[c];
}

BODY void columns(const float *a, const float *b, size_t rows, size_t channels, double *sum,
                  double *product)
{
    size_t c = 0;
    for (; c + TOGETHER <= channels; c += TOGETHER)
        some_columns(a + c, b != NULL ? b + c : NULL, rows, channels, TOGETHER, sum + c,
                     product != NULL ? product + c : NULL);
    if (c < channels)
        some_columns(a + c, b != NULL ? b + c : NULL, rows, channels, channels - c, sum + c,
                     product != NULL ? product + c : NULL);
}

BODY void weigh(const float *x, const float *g, float factor, size_t rows, size_t channels,
                float *out)
{
    for (size_t r = 0; r < rows; r++, x += channels, out += channels) {
        float weight = factor * g[r];
#pragma omp simd
        for (size_t c = 0; c < channels; c++)
            out[c] = weight * x[c];
    }
}

#define VARIANT(set, attributes) \
    attributes static size_t gather_##set(const float *x, size_t stride, size_t n, size_t c, \
                                          const float *base, const float *gain, const float *rest, \
                                          float *out, uint8_t *keep) \
    { \
        return gather(x, stride, n, c, base, gain, rest, out, keep); \
    } \
    attributes static void columns_##set(const float *a, const float *b, size_t n, size_t c, \
                                         double *sum, double *product) \
    { \
        columns(a, b, n, c, sum, product); \
    } \
    attributes static void weigh_##set(const float *x, const float *g, float factor, size_t n, \
                                       size_t c, float *out) \
    { \
        weigh(x, g, factor, n, c, out); \
    } \
    static const struct ypi_rx_gathering set = {gather_##set, columns_##set, weigh_##set};

VARIANT(plain, )
#ifdef __x86_64__
VARIANT(avx2, __attribute__((target("avx2,fma"))))
VARIANT(avx512, __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,fma"))))
#endif

const struct ypi_rx_gathering *ypi_rx_gathering_at(int rank)
{
    if (rank == 0)
        return &plain;
#ifdef __x86_64__
    if (rank == 1 && yp_isa() >= YP_ISA_AVX2)
        return &avx2;
    if (rank == 2 && yp_isa() >= YP_ISA_AVX512)
        return &avx512;
#endif
    return NULL;
}

const struct ypi_rx_gathering *ypi_rx_gathering(void)
{
    for (int rank = 2; rank > 0; rank--)
        if (ypi_rx_gathering_at(rank) != NULL)
            return ypi_rx_gathering_at(rank);
    return &plain;
}

/* Loops over pixels that no library has (base/simd/simd.h). */
#include "models/nn/simd/pixels.h"
#include "base/simd/simd.h"

#include <string.h>

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

BODY size_t all_finite(const float *x, size_t pixels, size_t channels, uint8_t *keep)
{
    size_t kept = 0;
    for (size_t p = 0; p < pixels; p++) {
        keep[p] = is_finite(x + p * channels, channels);
        kept += keep[p];
    }
    return kept;
}

BODY size_t moments(const float *restrict x, size_t stride, size_t pixels, size_t channels,
                    double *restrict sum, float *restrict low, float *restrict high,
                    uint8_t *restrict keep)
{
    size_t kept = 0;
    for (size_t p = 0; p < pixels; p++, x += stride) {
        keep[p] = is_finite(x, channels);
        if (!keep[p])
            continue;
        kept++;
        for (size_t c = 0; c < channels; c++)
            sum[c] += (double)x[c];
        for (size_t c = 0; c < channels; c++) {
            low[c] = x[c] < low[c] ? x[c] : low[c];
            high[c] = x[c] > high[c] ? x[c] : high[c];
        }
    }
    return kept;
}

BODY size_t centre(const float *restrict x, const uint8_t *keep, size_t pixels, size_t channels,
                   const float *restrict middle, float *restrict out)
{
    size_t rows = 0;
    for (size_t p = 0; p < pixels; p++, x += channels) {
        if (keep != NULL && !keep[p])
            continue;
        for (size_t c = 0; c < channels; c++)
            out[rows * channels + c] = x[c] - middle[c];
        rows++;
    }
    return rows;
}

BODY void dots(const float *restrict a, const float *restrict b, size_t rows, size_t channels,
               float *restrict out)
{
    for (size_t r = 0; r < rows; r++, a += channels, b += channels) {
        float sum = 0;
#pragma omp simd reduction(+ : sum)
        for (size_t c = 0; c < channels; c++)
            sum += a[c] * b[c];
        out[r] = sum;
    }
}

BODY void scale(const float *restrict x, const float *restrict g, size_t rows, size_t channels,
                float *restrict out, double *restrict sum)
{
    for (size_t r = 0; r < rows; r++, x += channels, out += channels)
        for (size_t c = 0; c < channels; c++) {
            out[c] = g[r] * x[c];
            sum[c] += (double)out[c];
        }
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
    if (b == NULL || product == NULL)
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

#define VERSIONS YPI_SIMD_VERSIONS

VERSIONS(size_t, finite, (const float *x, size_t n, size_t c, uint8_t *keep),
         return all_finite(x, n, c, keep))
VERSIONS(size_t, moments,
         (const float *x, size_t stride, size_t n, size_t c, double *sum, float *low, float *high,
          uint8_t *keep),
         return moments(x, stride, n, c, sum, low, high, keep))
VERSIONS(size_t, centre,
         (const float *x, const uint8_t *keep, size_t n, size_t c, const float *middle, float *out),
         return centre(x, keep, n, c, middle, out))
VERSIONS(void, dots, (const float *a, const float *b, size_t n, size_t c, float *out),
         dots(a, b, n, c, out))
VERSIONS(void, scale, (const float *x, const float *g, size_t n, size_t c, float *out, double *sum),
         scale(x, g, n, c, out, sum))
VERSIONS(size_t, gather,
         (const float *x, size_t stride, size_t n, size_t c, const float *base, const float *gain,
          const float *rest, float *out, uint8_t *keep),
         return gather(x, stride, n, c, base, gain, rest, out, keep))
VERSIONS(void, columns,
         (const float *a, const float *b, size_t n, size_t c, double *sum, double *product),
         columns(a, b, n, c, sum, product))
VERSIONS(void, weigh,
         (const float *x, const float *g, float factor, size_t n, size_t c, float *out),
         weigh(x, g, factor, n, c, out))

#define KERNELS(set) \
    static const struct ypi_pixel_kernels kernels_##set = { \
        #set,        finite_##set, moments_##set, centre_##set, dots_##set, \
        scale_##set, gather_##set, columns_##set, weigh_##set};
KERNELS(baseline)
#if defined(__x86_64__)
KERNELS(avx2)
KERNELS(avx512)
#endif

size_t ypi_centre_finite(const struct ypi_pixel_kernels *kernels, const float *x, size_t stride,
                         size_t pixels, size_t channels, const float *middle, uint8_t *keep,
                         float *out)
{
    size_t rows = 0, together = stride == channels ? pixels : 1;
    for (size_t p = 0; p < pixels; p += together, x += together * stride) {
        kernels->finite(x, together, channels, keep + p);
        rows += kernels->centre(x, keep + p, together, channels, middle, out + rows * channels);
    }
    return rows;
}

static const struct ypi_simd_version versions[] = {YPI_SIMD_TABLE(kernels)};
YPI_SIMD_CHOICE(struct ypi_pixel_kernels, ypi_pixel_kernels)

/* Pixels, and all that a chunk of them goes through. */
#include "tests/unit/rx/rx_packed.h"

/* Values around 3 to 8 with some correlation from channel to channel. */
float *pixels_make(size_t pixels, size_t channels, size_t stride)
{
    uint64_t state = 31 * channels + pixels;
    float *x = block(pixels * stride, sizeof *x);
    for (size_t i = 0; i < pixels * stride; i++)
        x[i] = NAN; /* what lies between pixels may be anything */
    for (size_t p = 0; p < pixels; p++) {
        double common = normal(&state);
        for (size_t c = 0; c < channels; c++)
            x[p * stride + c] = (float)(3 + (double)(c % 6) + common + normal(&state));
    }
    return x;
}

/* All that a chunk goes through in one instruction set; `x` has gaps, `keep` may be NULL. */
struct packed through(const struct ypi_gram_kernels *kernels, const float *x, size_t stride,
                      const uint8_t *keep, size_t pixels, size_t channels)
{
    struct packed p = {.shape = ypi_gram_shape(channels, kernels->width)};
    size_t padded = p.shape.panels * kernels->width, rows = 0;
    p.sum = block(padded, sizeof *p.sum);
    p.sums = block(p.shape.total, sizeof *p.sums);
    p.m2 = block(channels * channels, sizeof *p.m2);
    p.low = block(padded, sizeof *p.low);
    p.high = block(padded, sizeof *p.high);
    p.centre = block(padded, sizeof *p.centre);
    p.fine = block(padded, sizeof *p.fine);
    p.panels = block(pixels * padded, sizeof *p.panels);
    double *across = block(padded, sizeof *across), *apart = block(padded, sizeof *apart);
    for (size_t c = 0; c < channels; c++) {
        p.low[c] = INFINITY;
        p.high[c] = -INFINITY;
        p.centre[c] = 4 + (float)c;
        p.fine[c] = 0x1p-12f;
        apart[c] = 0.5 - (double)c;
        across[c] = 0.75 * apart[c];
    }
    for (size_t i = 0; i < pixels; i++)
        rows += keep == NULL || keep[i];
    kernels->moments(x, stride, pixels, channels, p.sum, p.low, p.high);
    kernels->pack(x, stride, keep, pixels, channels, p.centre, p.fine, p.panels, rows);
    /* Memory ahead may be anywhere. */
    kernels->add(&p.shape, p.panels, 0, rows, NULL, across, apart, p.sums,
                 (struct ypi_ahead){(const char *)x, pixels * stride * sizeof *x});
    ypi_gram_merge(&p.shape, p.sums, across, apart, p.m2);
    free(across);
    free(apart);
    return p;
}

void packed_free(struct packed *p)
{
    free(p->sum);
    free(p->sums);
    free(p->m2);
    free(p->low);
    free(p->high);
    free(p->centre);
    free(p->fine);
    free(p->panels);
}

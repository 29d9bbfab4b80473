#include "tests/unit/rx/rx_methods.h"

struct rx_image image_make(size_t height, size_t width, size_t channels, double snr, uint64_t seed)
{
    enum { MATERIALS = 4 };
    uint64_t state = seed;
    double *spectra = block(MATERIALS * channels, sizeof *spectra);
    float *values = block(height * width * channels, sizeof *values);
    for (size_t i = 0; i < MATERIALS * channels; i++)
        spectra[i] = 0.2 + 0.6 * uniform(&state);
    for (size_t r = 0; r < height; r++)
        for (size_t c = 0; c < width; c++) {
            double amounts[MATERIALS], sum = 0;
            for (int k = 0; k < MATERIALS; k++)
                sum += amounts[k] = exp(2 * sin(0.02 * (double)r * (k + 1) + 0.05 * (double)c + k));
            for (size_t b = 0; b < channels; b++) {
                double x = 0;
                for (int k = 0; k < MATERIALS; k++)
                    x += amounts[k] / sum * spectra[(size_t)k * channels + b];
                values[(r * width + c) * channels + b] =
                    (float)(x + normal(&state) / snr * (1 + 0.5 * (double)(b % 3)));
            }
        }
    free(spectra);
    return (struct rx_image){values, height, width, channels};
}

void gauss(const long double *a, const long double *b, size_t n, long double *x)
{
    long double *m = block(n * (n + 1), sizeof *m);
    for (size_t i = 0; i < n; i++) {
        memcpy(m + i * (n + 1), a + i * n, n * sizeof *m);
        m[i * (n + 1) + n] = b[i];
    }
    for (size_t k = 0; k < n; k++) {
        size_t best = k;
        for (size_t i = k + 1; i < n; i++)
            if (fabsl(m[i * (n + 1) + k]) > fabsl(m[best * (n + 1) + k]))
                best = i;
        for (size_t j = 0; j <= n; j++) {
            long double swapped = m[k * (n + 1) + j];
            m[k * (n + 1) + j] = m[best * (n + 1) + j];
            m[best * (n + 1) + j] = swapped;
        }
        for (size_t i = k + 1; i < n; i++) {
            long double f = m[i * (n + 1) + k] / m[k * (n + 1) + k];
            for (size_t j = k; j <= n; j++)
                m[i * (n + 1) + j] -= f * m[k * (n + 1) + j];
        }
    }
    for (size_t k = n; k-- > 0;) {
        x[k] = m[k * (n + 1) + n];
        for (size_t j = k + 1; j < n; j++)
            x[k] -= m[k * (n + 1) + j] * x[j];
        x[k] /= m[k * (n + 1) + k];
    }
    free(m);
}

double worst(const float *got, const double *wanted, size_t count)
{
    double most = 0;
    for (size_t i = 0; i < count; i++) {
        cr_assert_eq(isnan(got[i]) != 0, isnan(wanted[i]) != 0, "place %zu: %g instead of %g", i,
                     (double)got[i], wanted[i]);
        if (!isnan(wanted[i]))
            most = fmax(most, fabs((double)got[i] - wanted[i]) / fmax(1, fabs(wanted[i])));
    }
    return most;
}

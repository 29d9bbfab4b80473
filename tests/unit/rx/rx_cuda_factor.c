/* The factor of a covariance on a GPU, without one: the kernel's code against the host's own. */
#include "models/rx/cuda/factor.h"
#include "tests/unit/rx/rx_gpu.h"

#include "models/rx/pipeline/internal.h"
#include <math.h>
#include <stdio.h>

struct work {
    unsigned channels;
    struct yp_device *gpu;
    double *m2, *mean; /* the host's; m2: both triangles */
    float *low, *high;
    bool mask;
    double ridge, shrink;
    double *matrix, *inverse; /* what came of it, the host's */
    double *squares;
    float *slices, *offset;
    unsigned failed;
};

static void *block(size_t count, size_t size)
{
    void *p = calloc(count, size);
    cr_assert_not_null(p);
    return p;
}

#define COUNT 3.0
#define LEAST 0x1p-20 /* as the host has it */

/* Channels that hang together, of very different size. */
static struct work work_make(unsigned channels)
{
    size_t n = channels;
    struct work w = {.channels = channels, .gpu = gpu_open()};
    w.m2 = block(n * n, sizeof *w.m2);
    w.mean = block(n, sizeof *w.mean);
    w.low = block(n, sizeof *w.low);
    w.high = block(n, sizeof *w.high);
    w.matrix = block(n * n, sizeof *w.matrix);
    w.inverse = block(n * n, sizeof *w.inverse);
    w.squares = block(n, sizeof *w.squares);
    w.slices = block(rxc_slices(channels), sizeof *w.slices);
    w.offset = block(n + RXC_ROWS, sizeof *w.offset);
    for (size_t i = 0; i < n; i++) {
        w.mean[i] = 50 * sin((double)i);
        w.high[i] = 1;
        for (size_t j = 0; j < n; j++) {
            double scale = (1 + (double)(i % 5)) * (1 + (double)(j % 5));
            w.m2[i * n + j] =
                COUNT * scale * (exp(-fabs((double)i - (double)j) / 7) + (i == j ? 0.01 : 0));
        }
    }
    return w;
}

static void work_free(struct work *w)
{
    void *const all[] = {w->m2,      w->mean,    w->low,    w->high,  w->matrix,
                         w->inverse, w->squares, w->slices, w->offset};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        free(all[i]);
}

static void *sent(const struct work *w, const void *from, size_t bytes)
{
    void *there = yp_device_alloc(w->gpu, bytes);
    cr_assert_not_null(there);
    if (from != NULL)
        yp_device_copy(w->gpu, there, from, bytes);
    return there;
}

/* Below the diagonal, m2 is nobody's. */
static void spoil(double *m2, size_t n)
{
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < i; j++)
            m2[i * n + j] = NAN;
}

static void run(struct work *w)
{
    size_t n = w->channels, square = n * n * sizeof(double);
    double *m2 = block(n * n, sizeof *m2);
    float *centre = block(n, sizeof *centre);
    memcpy(m2, w->m2, square);
    spoil(m2, n);
    struct rxc_factor job = {.channels = w->channels,
                             .mask = w->mask,
                             .count = COUNT,
                             .ridge = w->ridge,
                             .keep = 1 - w->shrink,
                             .least = LEAST,
                             .m2 = sent(w, m2, square),
                             .mean = sent(w, w->mean, n * sizeof(double)),
                             .low = sent(w, w->low, n * sizeof(float)),
                             .high = sent(w, w->high, n * sizeof(float)),
                             .matrix = sent(w, NULL, square),
                             .inverse = sent(w, NULL, square),
                             .squares = sent(w, NULL, n * sizeof(double)),
                             .centre = sent(w, NULL, n * sizeof(float)),
                             .slices = sent(w, NULL, rxc_slices(w->channels) * sizeof(float)),
                             .offset = sent(w, NULL, (n + RXC_ROWS) * sizeof(float)),
                             .failed = sent(w, NULL, sizeof(unsigned))};
    cr_assert_eq(ypi_rx_cuda()->factor(w->gpu, &job), YP_OK);
    yp_device_copy(w->gpu, w->matrix, job.matrix, square);
    yp_device_copy(w->gpu, w->inverse, job.inverse, square);
    yp_device_copy(w->gpu, w->squares, job.squares, n * sizeof(double));
    yp_device_copy(w->gpu, w->slices, job.slices, rxc_slices(w->channels) * sizeof(float));
    yp_device_copy(w->gpu, w->offset, job.offset, (n + RXC_ROWS) * sizeof(float));
    yp_device_copy(w->gpu, centre, job.centre, n * sizeof(float));
    yp_device_copy(w->gpu, &w->failed, job.failed, sizeof w->failed);
    for (size_t c = 0; c < n && w->failed == 0; c++)
        cr_expect_eq(centre[c], (float)w->mean[c]);
    const void *const all[] = {job.m2,     job.mean,   job.low,    job.high,
                               job.matrix, job.centre, job.slices, job.inverse,
                               job.offset, job.failed, job.squares};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        yp_device_free(w->gpu, (void *)(uintptr_t)all[i]);
    free(m2);
    free(centre);
}

static void expect_near(double got, double right, double scale, const char *what, size_t at)
{
    cr_expect(got == right || fabs(got - right) <= 1e-11 * (fabs(right) + scale),
              "%s: number %zu is %.17g, on the host %.17g", what, at, got, right);
}

/* How the host factors; whose status it is. `dead` has (n) elements. */
static enum yp_status host_factor(const struct work *w, uint8_t *dead, double *a)
{
    size_t n = w->channels;
    double *variances = block(n, sizeof *variances);
    for (size_t i = 0; i < n * n; i++)
        a[i] = w->m2[i] / COUNT;
    for (size_t c = 0; c < n; c++)
        dead[c] = w->low[c] == w->high[c];
    enum yp_status status = ypi_rx_factor(&(struct ypi_rx_factoring){.what = "test",
                                                                     .channels = n,
                                                                     .ridge = w->ridge,
                                                                     .shrink = w->shrink,
                                                                     .dead = w->mask ? dead : NULL},
                                          a, variances);
    free(variances);
    return status;
}

static void expect_like_the_host(struct work *w)
{
    size_t n = w->channels;
    double *rest = block(n, sizeof *rest), *column = block(n, sizeof *column);
    double *offset = block(n, sizeof *offset), *a = block(n * n, sizeof *a);
    float *whiten = block(n * n, sizeof *whiten);
    uint8_t *dead = block(n, 1);
    cr_assert_eq(host_factor(w, dead, a), YP_OK, "%s", yp_last_error());
    for (size_t c = 0; c < n; c++)
        rest[c] = w->mean[c] - (double)(float)w->mean[c];
    ypi_rx_whiten(a, n, rest, whiten, column, offset);
    run(w);
    cr_assert_eq(w->failed, 0);
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++)
            expect_near(w->matrix[i * n + j], j < i ? 0 : a[i * n + j], 1, "factor", i * n + j);
    for (unsigned i = 0, row, k; i < rxc_slices(w->channels); i++) {
        rxc_entry(i, &row, &k);
        float right = row < n && k <= row ? whiten[k * n + row] : 0;
        cr_expect_float_eq(w->slices[i], right, 1e-6F * (1 + fabsf(right)), "slice entry %u", i);
    }
    for (size_t i = 0; i < n + RXC_ROWS; i++)
        cr_expect_float_eq(w->offset[i], (float)(i < n ? offset[i] : 0), 1e-12F, "offset %zu", i);
    void *const all[] = {rest, column, offset, a, whiten, dead};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        free(all[i]);
}

Test(rx_cuda_factor, is_the_hosts)
{
    static const unsigned channels[] = {1, 2, 16, 17, 33, 100, 200, 248};
    for (size_t i = 0; i < 2 * sizeof channels / sizeof *channels; i++) {
        struct work w = work_make(channels[i / 2]);
        emulated.kernels.order = i % 2 != 0 ? YPK_BACKWARDS : YPK_FORWARDS;
        expect_like_the_host(&w);
        w.ridge = 0.5;
        w.shrink = 0.25;
        expect_like_the_host(&w);
        work_free(&w);
    }
}

/* The inverse, by what it is: times the factor it is one. */
Test(rx_cuda_factor, times_the_inverse_is_one)
{
    struct work w = work_make(65);
    size_t n = w.channels;
    run(&w);
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++) {
            double sum = 0;
            for (size_t k = j; k <= i; k++)
                sum += w.inverse[i * n + k] * w.matrix[j * n + k];
            cr_expect_float_eq(sum, (double)(i == j), 1e-12, "(%zu, %zu): %g", i, j, sum);
            cr_expect(j <= i || w.inverse[i * n + j] == 0);
        }
    for (size_t j = 0; j < n; j++) {
        double sum = 0;
        for (size_t i = 0; i < n; i++)
            sum += w.inverse[i * n + j] * w.inverse[i * n + j];
        cr_expect_float_eq(w.squares[j], sum, 1e-12 * sum, "squares %zu: %g", j, w.squares[j]);
    }
    work_free(&w);
}

Test(rx_cuda_factor, channels_that_are_out_do_nothing)
{
    struct work w = work_make(40);
    w.high[0] = w.high[7] = w.high[39] = 0;
    expect_like_the_host(&w);
    cr_expect(isfinite(w.matrix[7 * 40 + 7]), "it is nobody's wish");
    w.mask = true;
    expect_like_the_host(&w);
    cr_expect(isinf(w.matrix[7 * 40 + 7]));
    memset(w.high, 0, 40 * sizeof *w.high);
    expect_like_the_host(&w);
    for (size_t i = 0; i < 40 * 40; i++)
        cr_expect_eq(w.inverse[i], 0);
    work_free(&w);
}

/* Where the host refuses, and where a channel's pivot is enough to it. */
static void expect_refused(struct work *w, unsigned channel)
{
    size_t n = w->channels;
    double *a = block(n * n, sizeof *a);
    uint8_t *dead = block(n, 1);
    char name[32];
    snprintf(name, sizeof name, "at channel %u ", channel);
    cr_expect_eq(host_factor(w, dead, a), YP_INVALID);
    cr_expect_not_null(strstr(yp_last_error(), name), "%s: %s", name, yp_last_error());
    run(w);
    cr_expect_eq(w->failed, channel + 1, "%u: %u", channel, w->failed);
    free(a);
    free(dead);
}

/* Channel `to` as `from` is, and `more` of a part of its own. */
static void repeat_channel(struct work *w, size_t from, size_t to, double more)
{
    size_t n = w->channels;
    for (size_t j = 0; j < n; j++)
        w->m2[to * n + j] = w->m2[j * n + to] = w->m2[(j == to ? from : j) * n + from];
    w->m2[to * n + to] = w->m2[from * n + from] * (1 + more);
}

/* The first channel whose pivot fails is reported, whether it is no pivot or too small a one. */
Test(rx_cuda_factor, what_is_not_definite_is_told)
{
    static const double wrong[] = {-1, 0, NAN};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct work w = work_make(20);
        for (size_t j = 0; j < 20; j++)
            w.m2[j * 20 + 11] = w.m2[11 * 20 + j] = 0;
        w.m2[11 * 20 + 11] = w.m2[15 * 20 + 15] = wrong[i];
        expect_refused(&w, 11);
        w.high[11] = w.low[11];
        expect_refused(&w, 11);
        w.mask = true;
        expect_refused(&w, 15);
        work_free(&w);
    }
}

Test(rx_cuda_factor, a_pivot_may_be_too_small)
{
    struct work w = work_make(70);
    repeat_channel(&w, 30, 50, 1.2 * LEAST);
    expect_like_the_host(&w);
    repeat_channel(&w, 30, 50, 0.8 * LEAST);
    expect_refused(&w, 50);
    repeat_channel(&w, 20, 40, 0.8 * LEAST);
    expect_refused(&w, 40);
    w.m2[60 * 70 + 60] = 0; /* what is no pivot goes before what is too small */
    expect_refused(&w, 60);
    work_free(&w);
}

/* The factor of a covariance on a GPU, without one: the kernel's code against the host's own. */
#include "rx_on_cpu.h"

#include <math.h>
#include <rx/nodes_internal.h>

struct work {
    unsigned channels;
    struct yp_device *gpu;
    double *a, *least, *rest; /* the host's; a: both triangles */
    uint8_t *out;
    struct rxc_factor job;
    double *matrix, *inverse; /* what came of it, the host's */
    float *slices, *offset;
    unsigned failed;
};

static void *block(size_t count, size_t size)
{
    void *p = calloc(count, size);
    cr_assert_not_null(p);
    return p;
}

/* Channels that hang together, of very different size. */
static struct work work_make(unsigned channels)
{
    size_t n = channels;
    struct work w = {.channels = channels, .gpu = gpu_open()};
    w.a = block(n * n, sizeof *w.a);
    w.least = block(n, sizeof *w.least);
    w.rest = block(n, sizeof *w.rest);
    w.out = block(n, 1);
    w.matrix = block(n * n, sizeof *w.matrix);
    w.inverse = block(n * n, sizeof *w.inverse);
    w.slices = block(rxc_slices(channels), sizeof *w.slices);
    w.offset = block(n + RXC_ROWS, sizeof *w.offset);
    for (size_t i = 0; i < n; i++) {
        w.rest[i] = sin((double)i) * 1e-7;
        for (size_t j = 0; j < n; j++) {
            double scale = (1 + (double)(i % 5)) * (1 + (double)(j % 5));
            w.a[i * n + j] = scale * (exp(-fabs((double)i - (double)j) / 7) + (i == j ? 0.01 : 0));
        }
        w.least[i] = 1e-6 * w.a[i * n + i];
    }
    return w;
}

static void work_free(struct work *w)
{
    void *const all[] = {w->a,      w->least,   w->rest,   w->out,
                         w->matrix, w->inverse, w->slices, w->offset};
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

/* Whose row is out is 1 at the diagonal alone, as ypi_rx_factor() makes it. */
static void take_out(const struct work *w, double *a)
{
    size_t n = w->channels;
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++)
            if (w->out[i] || w->out[j])
                a[i * n + j] = i == j;
}

static void run(struct work *w)
{
    size_t n = w->channels, square = n * n * sizeof(double);
    double *a = block(n * n, sizeof *a);
    memcpy(a, w->a, square);
    take_out(w, a);
    struct rxc_factor job = {.channels = w->channels,
                             .matrix = sent(w, a, square),
                             .least = sent(w, w->least, n * sizeof(double)),
                             .out = sent(w, w->out, n),
                             .inverse = sent(w, NULL, square),
                             .rest = sent(w, w->rest, n * sizeof(double)),
                             .slices = sent(w, NULL, rxc_slices(w->channels) * sizeof(float)),
                             .offset = sent(w, NULL, (n + RXC_ROWS) * sizeof(float)),
                             .failed = sent(w, NULL, sizeof(unsigned))};
    cr_assert_eq(ypi_rx_cuda()->factor(w->gpu, &job), YP_OK);
    yp_device_copy(w->gpu, w->matrix, job.matrix, square);
    yp_device_copy(w->gpu, w->inverse, job.inverse, square);
    yp_device_copy(w->gpu, w->slices, job.slices, rxc_slices(w->channels) * sizeof(float));
    yp_device_copy(w->gpu, w->offset, job.offset, (n + RXC_ROWS) * sizeof(float));
    yp_device_copy(w->gpu, &w->failed, job.failed, sizeof w->failed);
    void *const all[] = {job.matrix,
                         (void *)(uintptr_t)job.least,
                         (void *)(uintptr_t)job.out,
                         job.inverse,
                         (void *)(uintptr_t)job.rest,
                         job.slices,
                         job.offset,
                         job.failed};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        yp_device_free(w->gpu, all[i]);
    free(a);
}

static void expect_near(double got, double right, double scale, const char *what, size_t at)
{
    cr_expect(got == right || fabs(got - right) <= 1e-11 * (fabs(right) + scale),
              "%s: number %zu is %.17g, on the host %.17g", what, at, got, right);
}

static void expect_like_the_host(struct work *w)
{
    size_t n = w->channels;
    double *variances = block(n, sizeof *variances), *column = block(n, sizeof *column);
    double *offset = block(n, sizeof *offset), *a = block(n * n, sizeof *a);
    float *whiten = block(n * n, sizeof *whiten);
    memcpy(a, w->a, n * n * sizeof *a);
    struct ypi_rx_factoring how = {.what = "test", .channels = n, .dead = w->out};
    cr_assert_eq(ypi_rx_factor(&how, a, variances), YP_OK, "%s", yp_last_error());
    ypi_rx_whiten(a, n, w->rest, whiten, column, offset);
    run(w);
    cr_assert_eq(w->failed, 0);
    for (size_t i = 0; i < n; i++)
        for (size_t j = i; j < n; j++)
            expect_near(w->matrix[i * n + j], a[i * n + j], 1, "factor", i * n + j);
    for (unsigned i = 0, row, k; i < rxc_slices(w->channels); i++) {
        rxc_entry(i, &row, &k);
        float right = row < n && k <= row ? whiten[k * n + row] : 0;
        cr_expect_float_eq(w->slices[i], right, 1e-6F * (1 + fabsf(right)), "slice entry %u", i);
    }
    for (size_t i = 0; i < n + RXC_ROWS; i++)
        cr_expect_float_eq(w->offset[i], (float)(i < n ? offset[i] : 0), 1e-12F, "offset %zu", i);
    void *const all[] = {variances, column, offset, a, whiten};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        free(all[i]);
}

Test(rx_cuda_factor, is_the_hosts)
{
    static const unsigned channels[] = {1, 2, 16, 17, 33, 100, 200, 248};
    for (size_t i = 0; i < 2 * sizeof channels / sizeof *channels; i++) {
        struct work w = work_make(channels[i / 2]);
        rxc_backwards = i % 2 != 0;
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
    work_free(&w);
}

Test(rx_cuda_factor, channels_that_are_out_do_nothing)
{
    struct work w = work_make(40);
    w.out[0] = w.out[7] = w.out[39] = 1;
    expect_like_the_host(&w);
    cr_expect(isinf(w.matrix[7 * 40 + 7]));
    work_free(&w);
}

/* The first channel whose pivot fails is told, whether it is no pivot or too small a one. */
Test(rx_cuda_factor, what_is_not_definite_is_told)
{
    static const double wrong[] = {-1, 0, NAN, 1e-9};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct work w = work_make(20);
        for (size_t j = 0; j < 20; j++)
            w.a[j * 20 + 11] = w.a[11 * 20 + j] = 0;
        w.a[11 * 20 + 11] = w.a[15 * 20 + 15] = wrong[i];
        run(&w);
        cr_expect_eq(w.failed, 12, "%g: %u", wrong[i], w.failed);
        work_free(&w);
    }
}

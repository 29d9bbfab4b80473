/* Kernels of rows against loops in double: gathered, multiplied, scored and judged. */
#include "tests/unit/rx/rx_arrays.h"

TestSuite(pipeline_cuda, .timeout = 120);

/* -- gather --------------------------------------------------------------------------------- */

/* Pixel p is not finite in channel p, if it is one of these; what lies between pixels never is. */
static float *gather_pixels(size_t pixels, unsigned channels, size_t stride, uint64_t *state)
{
    static const float strange[] = {NAN, INFINITY, -INFINITY};
    float *x = normals(pixels * stride, state);
    for (size_t i = 0; i < pixels * stride; i++)
        x[i] = i % stride < channels ? 20 + 3 * x[i] : strange[i % 3];
    for (size_t p = 0; p < pixels; p++)
        if (p % 5 == 2 || p == 7 || p == 8)
            x[p * stride + (p == 7 ? channels - 1 : p % channels)] = strange[p % 3];
    return x;
}

static void check_gather(size_t pixels, unsigned channels, size_t stride, float odd)
{
    uint64_t state = pixels * 1000 + channels;
    size_t count = pixels * channels;
    float *x = gather_pixels(pixels, channels, stride, &state), *rows = block(count, sizeof *rows);
    float *base = normals(channels, &state), *gain = normals(channels, &state);
    float *rest = normals(channels, &state);
    uint8_t *keep = block(pixels, 1);
    double worst = 0;
    struct rxc_gather job = {there(x, ((pixels - 1) * stride + channels) * sizeof *x),
                             stride,
                             pixels,
                             channels,
                             there(base, channels * sizeof *base),
                             there(gain, channels * sizeof *gain),
                             there(rest, channels * sizeof *rest),
                             odd,
                             there(NULL, count * sizeof *rows),
                             there(NULL, pixels)};
    OK(ypi_rx_cuda()->gather(gpu_open(), &job));
    fetch(rows, job.rows, count * sizeof *rows);
    fetch(keep, job.keep, pixels);
    for (size_t p = 0; p < pixels; p++) {
        bool kept = true;
        for (unsigned c = 0; c < channels; c++)
            kept = kept && isfinite(x[p * stride + c]);
        cr_expect_eq(keep[p], kept, "pixel %zu of %zu", p, pixels);
        for (unsigned c = 0; c < channels; c++) {
            double moved = ((double)x[p * stride + c] - (double)base[c]) * (double)gain[c];
            double exact = moved + (double)rest[c], got = (double)rows[p * channels + c];
            if (kept)
                note(&worst, got - exact, within(1.001, fabs(moved) + fabs(exact)));
            else if (isnan(odd) ? !isnan(got) : got != (double)odd)
                worst = INFINITY;
        }
    }
    cr_expect_leq(worst, 1, "%zu pixels of %u channels, odd %g: %g", pixels, channels, (double)odd,
                  worst);
    all_back();
    free(x);
    free(rows);
    free(base);
    free(gain);
    free(rest);
    free(keep);
}

Test(pipeline_cuda, rows_are_gathered)
{
    static const unsigned channels[] = {1, 2, 31, 32, 33, 64, 65, 200, 248};
    static const size_t pixels[] = {1, 7, 8, 9, 15, 16, 17, 100};
    for (size_t i = 0; i < LENGTH(channels) * LENGTH(pixels); i++) {
        unsigned c = channels[i % LENGTH(channels)];
        vary(i);
        check_gather(pixels[i / LENGTH(channels)], c, c + i % 4, i % 3 == 0 ? NAN : 0);
    }
}

/* -- linear --------------------------------------------------------------------------------- */

static void check_linear(unsigned inputs, unsigned outputs, size_t pixels, bool moved, bool lowered)
{
    uint64_t state = inputs + 1000 * outputs + 1000000 * pixels;
    size_t count = pixels * outputs;
    float *in = normals(pixels * inputs, &state), *w = normals((size_t)outputs * inputs, &state);
    float *offset = normals(outputs, &state), *less = normals(count, &state);
    float *out = block(count, sizeof *out);
    double worst = 0;
    struct rxc_linear job = {pixels,
                             inputs,
                             outputs,
                             there(in, pixels * inputs * sizeof *in),
                             there(w, (size_t)outputs * inputs * sizeof *w),
                             moved ? there(offset, outputs * sizeof *offset) : NULL,
                             lowered ? there(less, count * sizeof *less) : NULL,
                             there(NULL, count * sizeof *out)};
    OK(ypi_rx_cuda()->linear(gpu_open(), &job));
    fetch(out, job.out, count * sizeof *out);
    for (size_t i = 0; i < count; i++) {
        size_t p = i / outputs, j = i % outputs;
        double plus = moved ? (double)offset[j] : 0, minus = lowered ? (double)less[i] : 0;
        double sum = plus - minus, all = fabs(plus) + fabs(minus);
        for (size_t k = 0; k < inputs; k++) {
            double product = (double)in[p * inputs + k] * (double)w[j * inputs + k];
            sum += product;
            all += fabs(product);
        }
        note(&worst, (double)out[i] - sum, within(inputs + 2, all));
    }
    cr_expect_leq(worst, 1, "%zu pixels, %u to %u, offset %d, less %d: %g", pixels, inputs, outputs,
                  moved, lowered, worst);
    all_back();
    free(in);
    free(w);
    free(offset);
    free(less);
    free(out);
}

Test(pipeline_cuda, rows_are_multiplied)
{
    for (size_t i = 0; i < LENGTH(sizes); i++)
        for (size_t how = 0; how < 4; how++) {
            vary(i + how);
            check_linear(sizes[i], sizes[(4 * i + how + 3) % LENGTH(sizes)],
                         sizes[(7 * i + 3 * how + 5) % LENGTH(sizes)], how % 2 != 0, how > 1);
        }
}

static void dots_run(struct dots *d)
{
    size_t n = d->pixels, products = n * d->width * sizeof(float);
    size_t blocks = rxc_pixel_blocks(n);
    struct rxc_dots job = {.pixels = n,
                           .width = d->width,
                           .factor = d->factor,
                           .own = d->own,
                           .a = d->given ? there(d->a, products) : NULL,
                           .b = d->given ? there(d->b, products) : NULL,
                           .keep = there(d->keep, n),
                           .labels = d->judged ? there(d->labels, n) : NULL,
                           .target = d->target,
                           .scalars = d->judged ? there(d->scalars, sizeof d->scalars) : NULL,
                           .scores = there(d->given ? NULL : d->scores, n * sizeof(float)),
                           .g = d->judged || d->own ? there(NULL, n * sizeof(float)) : NULL,
                           .sums = there(NULL, 3 * blocks * sizeof(double)),
                           .kept = there(NULL, blocks * sizeof(unsigned))};
    OK(ypi_rx_cuda()->dots(gpu_open(), &job));
    fetch(d->scores, job.scores, n * sizeof(float));
    if (job.g != NULL)
        fetch(d->g, job.g, n * sizeof(float));
    fetch(d->sums, job.sums, 3 * blocks * sizeof(double));
    fetch(d->kept, job.kept, blocks * sizeof(unsigned));
    all_back();
}

/* The score of a pixel that counts. */
static void dots_score(const struct dots *d, size_t p, const float *before, double *worst)
{
    double sum = 0, all = 0;
    for (size_t c = 0; c < d->width; c++) {
        double product = (double)d->a[p * d->width + c] * (double)d->b[p * d->width + c];
        sum += product;
        all += fabs(product);
    }
    double factor = (double)d->factor, lanes = 32, each = ceil(d->width / lanes);
    if (d->given)
        note(worst, (double)d->scores[p] - factor * sum, within(each + lanes + 1, factor * all));
    else
        note(worst, (double)d->scores[p] - (double)before[p], 0);
}

static void check_dots(size_t pixels, unsigned width, size_t how)
{
    struct dots d = dots_make(pixels, width, how);
    float *before = block(pixels, sizeof *before);
    double worst = 0;
    memcpy(before, d.scores, pixels * sizeof *before);
    dots_run(&d);
    for (size_t p = 0; p < pixels; p++)
        if (d.keep[p] != 0)
            dots_score(&d, p, before, &worst);
    check_judged(&d, &worst);
    cr_expect_leq(worst, 1, "%zu pixels of %u, way %zu: %g", pixels, width, how, worst);
    free(before);
    dots_free(&d);
}

Test(pipeline_cuda, rows_are_scored_and_judged)
{
    static const unsigned widths[] = {1, 31, 32, 33, 63, 64, 65, 248};
    static const size_t pixels[] = {1, 127, 128, 129, 300};
    for (size_t i = 0; i < LENGTH(widths) * LENGTH(pixels); i++)
        for (size_t how = 0; how < 6; how++) {
            vary(i + how);
            check_dots(pixels[i / LENGTH(widths)], widths[i % LENGTH(widths)], how);
        }
}

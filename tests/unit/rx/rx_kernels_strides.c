/* Scores by triangle, and tiles whose pixels do not lie side by side. */
#include "tests/unit/rx/plain_loss.h"
#include "tests/unit/rx/rx_packed.h"

/* -- scores --------------------------------------------------------------------------------- */

/* |L^-1 (x - centre) - offset|^2 in double, and what float may be off: C + 4 roundings in each y.
 */
static double score_of(const struct ypi_triangle *t, const float *x, double *bound)
{
    double sum = 0, unit = (double)(t->channels + 4) * 0x1p-24;
    *bound = 0;
    for (size_t i = 0; i < t->channels; i++) {
        double y = -(double)t->offset[i], size = fabs(y);
        for (size_t k = 0; k <= i; k++) {
            double term =
                (double)t->whiten[k * t->channels + i] * ((double)x[k] - (double)t->centre[k]);
            y += term;
            size += fabs(term);
        }
        *bound += 2 * fabs(y) * unit * size + unit * size * unit * size;
        sum += y * y;
    }
    *bound += unit * sum;
    return sum;
}

static void check_scores(const struct ypi_triangle_kernels *kernels, size_t channels, size_t pixels)
{
    uint64_t state = channels;
    size_t stride = channels + pixels % 4;
    float *x = pixels_make(pixels, channels, stride), *scores = block(pixels + 1, sizeof *scores);
    float *whiten = block(channels * channels, sizeof *whiten);
    float *centre = block(channels, sizeof *centre), *offset = block(channels, sizeof *offset);
    float *scratch = block(channels * kernels->pixels, sizeof *scratch);
    for (size_t k = 0; k < channels; k++) {
        centre[k] = 3 + (float)(k % 6);
        offset[k] = (float)normal(&state) * 0.25f;
        for (size_t i = k; i < channels; i++)
            whiten[k * channels + i] = (float)normal(&state);
    }
    size_t bad = pixels / 2;
    if (pixels > 4)
        x[bad * stride + channels - 1] = INFINITY;
    scores[pixels] = -7;
    struct ypi_triangle triangle = {channels, whiten, centre, offset};
    kernels->score(&triangle, x, stride, pixels, scratch, scores);
    for (size_t p = 0; p < pixels; p++) {
        double bound, wanted = score_of(&triangle, x + p * stride, &bound);
        if (pixels > 4 && p == bad)
            cr_assert_not(isfinite(scores[p]));
        else
            cr_assert_leq(fabs((double)scores[p] - wanted), bound,
                          "%s, %zu channels, pixel %zu of %zu: %g instead of %g", kernels->name,
                          channels, p, pixels, (double)scores[p], wanted);
    }
    cr_assert_eq(scores[pixels], -7, "written behind the end");
    free(x);
    free(scores);
    free(whiten);
    free(centre);
    free(offset);
    free(scratch);
}

Test(rx_kernels, scores_of_any_number_of_channels_and_pixels)
{
    for (int rank = 0; rank < RANKS; rank++) {
        const struct ypi_triangle_kernels *kernels = ypi_triangle_kernels_at(rank);
        if (kernels == NULL)
            continue;
        cr_assert_leq(kernels->pixels, YPI_RX_BLOCK);
        for (size_t channels = 1; channels <= 50; channels++)
            check_scores(kernels, channels, 1 + channels * 11 % 60);
        for (size_t pixels = 1; pixels <= 100; pixels++)
            check_scores(kernels, 19, pixels);
        check_scores(kernels, 200, 49);
        check_scores(kernels, 103, 200);
    }
}

/* -- tiles with gaps ------------------------------------------------------------------------ */

/* An image, and what of it tiles take: adjacent bands of the pixels of columns, one tile each. */
struct window {
    float *image;
    uint8_t *labels;
    size_t height, width, bands, first_column, columns, first_band, channels;
    bool copy;     /* fill the model's memory instead */
    size_t stride; /* not 0: a wrong one */
};

static enum yp_status window_yield(void *arg, size_t index, float *values, uint8_t *labels,
                                   struct rx_tile *tile)
{
    const struct window *w = arg;
    const float *from = w->image + (w->first_column + index) * w->bands + w->first_band;
    size_t stride = w->width * w->bands;
    tile->pixels = w->height;
    tile->labels = w->labels;
    (void)labels;
    if (w->copy) {
        for (size_t p = 0; p < w->height; p++)
            memcpy(values + p * w->channels, from + p * stride, w->channels * sizeof *values);
        return YP_OK;
    }
    tile->values = from;
    tile->stride = w->stride != 0 ? w->stride : stride;
    return YP_OK;
}

static struct window window_make(size_t channels)
{
    struct window w = {.height = 700,
                       .width = 9,
                       .bands = channels + 5,
                       .first_column = 2,
                       .columns = 6,
                       .first_band = 3,
                       .channels = channels};
    w.image = pixels_make(w.height * w.width, w.bands, w.bands);
    w.labels = block(w.height, 1);
    for (size_t p = 0; p < w.height; p += 9)
        w.labels[p] = 1;
    /* One of the window, one of a band that is not of it. */
    w.image[(100 * w.width + 4) * w.bands + 3] = NAN;
    w.image[(101 * w.width + 4) * w.bands + 2] = NAN;
    return w;
}

struct answers {
    double covariance[33 * 33], mean[33], loss;
    float scores[6 * 700], gradient[33 + 33 * 33 + 2];
};

static struct answers *ask(struct window *w)
{
    struct answers *a = block(1, sizeof *a);
    size_t channels = w->channels;
    struct rx_source source = {channels, w->height, w->columns, window_yield, w};
    float *parameters = block(rx_loss_parameters(channels), sizeof *parameters);
    struct rx *rx = rx_create(yp_device_cpu(), channels, w->height, 2);
    struct rx_loss *loss = rx_loss_create(yp_device_cpu(), channels, w->height, 2);
    cr_assert(rx != NULL && loss != NULL, "%s", yp_last_error());
    OK(rx_fit(rx, &source));
    OK(rx_covariance(rx, a->covariance));
    memcpy(a->mean, rx_mean(rx), channels * sizeof *a->mean);
    OK(rx_finish(rx, RX_EPS));
    OK(rx_score(rx, &source, a->scores));
    OK(rx_loss_start(rx, 0.1f, (float)channels, parameters));
    OK(rx_loss_gradient(loss, &source, parameters, &a->loss, a->gradient));
    struct rx_summary summary;
    rx_summary(rx, &summary);
    cr_expect_eq(summary.skipped, 1);
    cr_expect_eq(summary.pixels, w->height * w->columns - 1);
    rx_destroy(rx);
    rx_loss_destroy(loss);
    free(parameters);
    return a;
}

Test(rx_kernels, a_window_of_an_image_has_the_answers_of_its_copy)
{
    const size_t channels[] = {1, 10, 16, 33};
    for (size_t i = 0; i < sizeof channels / sizeof *channels; i++) {
        struct window w = window_make(channels[i]);
        struct answers *gaps = ask(&w);
        w.copy = true;
        struct answers *copy = ask(&w);
        cr_expect_eq(memcmp(gaps, copy, sizeof *gaps), 0, "%zu channels", channels[i]);
        cr_expect(isnan(gaps->scores[2 * 700 + 100]) && isfinite(gaps->scores[2 * 700 + 101]));
        free(gaps);
        free(copy);
        free(w.image);
        free(w.labels);
    }
}

Test(rx_kernels, the_plain_versions_know_gaps_too)
{
    enum { C = 7, N = 50 };
    float *far = pixels_make(N, C, C + 4), near[N * C], parameters[C + C * C + 2], f[2][N];
    uint8_t labels[N];
    double wide[C + C * C + 2], losses[2][N], cotangent[N], gradient[2][C + C * C + 2];
    for (size_t p = 0; p < N; p++) {
        memcpy(near + p * C, far + p * (C + 4), C * sizeof *near);
        labels[p] = p % 5 == 0;
        cotangent[p] = 1 + (double)p;
    }
    struct rx_tile tiles[2] = {{near, N, C, labels, 0}, {far, N, C, labels, C + 4}};
    struct rx *rx = rx_create(yp_device_cpu(), C, N, 1);
    struct window w = {.image = far, .labels = labels, .height = N, .width = 1, .bands = C + 4};
    w.channels = C;
    w.columns = 1;
    struct rx_source source = {C, N, 1, window_yield, &w};
    OK(rx_fit(rx, &source));
    OK(rx_finish(rx, RX_EPS));
    OK(rx_loss_start(rx, 0.1f, C, parameters));
    for (size_t i = 0; i < C + C * C + 2; i++)
        wide[i] = (double)parameters[i];
    for (int i = 0; i < 2; i++)
        OK(rx_score_plain(rx, &tiles[i], losses[i]));
    cr_expect_eq(memcmp(losses[0], losses[1], sizeof losses[0]), 0);
    cr_expect_gt(losses[0][3], 0);
    for (int i = 0; i < 2; i++) {
        plain_losses(&tiles[i], wide, losses[i]);
        plain_losses_f32(&tiles[i], parameters, f[i]);
        plain_losses_vjp(&tiles[i], wide, cotangent, gradient[i]);
    }
    cr_expect_eq(memcmp(losses[0], losses[1], sizeof losses[0]), 0);
    cr_expect_eq(memcmp(f[0], f[1], sizeof f[0]), 0);
    cr_expect_eq(memcmp(gradient[0], gradient[1], sizeof gradient[0]), 0);
    tiles[1].stride = C - 1;
    FAILS(rx_score_plain(rx, &tiles[1], losses[0]), YP_INVALID, "stride 6");
    rx_destroy(rx);
    free(far);
}

Test(rx_kernels, a_stride_below_the_channels_is_refused)
{
    struct window w = window_make(10);
    struct rx_source source = {10, w.height, w.columns, window_yield, &w};
    struct rx *rx = rx_create(yp_device_cpu(), 10, w.height, 2);
    struct rx_loss *loss = rx_loss_create(yp_device_cpu(), 10, w.height, 2);
    float parameters[112] = {0}, gradient[112];
    double mean;
    w.stride = 9;
    FAILS(rx_fit(rx, &source), YP_INVALID, "tile 0 has stride 9, allowed are 0 and 10 or more");
    FAILS(rx_loss_gradient(loss, &source, parameters, &mean, gradient), YP_INVALID, "stride 9");
    w.stride = 10; /* the nearest there is: pixels that overlap in the image are still pixels */
    OK(rx_fit(rx, &source));
    rx_destroy(rx);
    rx_loss_destroy(loss);
    free(w.image);
    free(w.labels);
}

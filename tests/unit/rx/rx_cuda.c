/* RX on a GPU, without one: the kernels' code on the CPU against oracles in double and against the
 * CPU's own results. */
#include "models/rx/cuda/merge.h"
#include "tests/unit/rx/plain_loss.h"
#include "tests/unit/rx/rx_gpu.h"

#include "models/train/optimiser.h"
#include <math.h>

/* -- data ----------------------------------------------------------------------------------- */

static uint64_t words(uint64_t *state) /* splitmix64 */
{
    uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

static double uniform(uint64_t *state) /* (0, 1) */
{
    return ((double)(words(state) >> 12) + 0.5) * 0x1p-52;
}

static double normal(uint64_t *state)
{
    double r = sqrt(-2 * log(uniform(state)));
    return r * cos(6.283185307179586 * uniform(state));
}

struct scene {
    float *values; /* on the host; `stride` floats a pixel */
    uint8_t *labels;
    size_t pixels, channels, stride, tile_pixels;
    struct yp_device *gpu; /* NULL: tiles are the host's */
    float *there;
    uint8_t *labels_there;
    size_t fail_from; /* tiles from here on fail; 0: none */
    bool copy;        /* into the model's buffer */
};

static void *block(size_t count, size_t size)
{
    void *p = calloc(count > 0 ? count : 1, size);
    cr_assert_not_null(p);
    return p;
}

/* Pixels around `mean` whose channels hang together; one in 16 is a target, a little apart. */
static struct scene scene_make(size_t pixels, size_t channels, size_t stride, double mean)
{
    uint64_t state = 17 * channels + pixels;
    struct scene s = {.pixels = pixels, .channels = channels, .stride = stride};
    s.tile_pixels = 1500;
    s.values = block(pixels * stride, sizeof *s.values);
    s.labels = block(pixels, 1);
    for (size_t p = 0; p < pixels; p++) {
        float *x = s.values + p * stride;
        double common = normal(&state);
        s.labels[p] = words(&state) % 16 == 0;
        for (size_t c = 0; c < stride; c++) {
            double own = normal(&state) * (0.2 + (double)(c % 7) / 7) + common;
            x[c] = c < channels ? (float)(mean + own + (s.labels[p] && c % 3 == 0 ? 2 : 0)) : 1e30F;
        }
    }
    return s;
}

static void scene_send(struct scene *s, struct yp_device *gpu)
{
    size_t bytes = s->pixels * s->stride * sizeof *s->values;
    s->gpu = gpu;
    if (s->there == NULL) {
        s->there = yp_device_alloc(gpu, bytes);
        s->labels_there = yp_device_alloc(gpu, s->pixels);
        cr_assert(s->there != NULL && s->labels_there != NULL);
    }
    cr_assert_eq(yp_device_copy(gpu, s->there, s->values, bytes), YP_OK);
    cr_assert_eq(yp_device_copy(gpu, s->labels_there, s->labels, s->pixels), YP_OK);
}

static void scene_free(struct scene *s)
{
    if (s->there != NULL) {
        yp_device_free(s->gpu, s->there);
        yp_device_free(s->gpu, s->labels_there);
    }
    free(s->values);
    free(s->labels);
}

static enum yp_status scene_yield(void *arg, size_t index, float *values, uint8_t *labels,
                                  struct rx_tile *tile)
{
    const struct scene *s = arg;
    size_t first = index * s->tile_pixels;
    if (s->fail_from > 0 && index >= s->fail_from)
        return yp_set_error(YP_IO, "tile %zu cannot be read", index);
    tile->pixels = s->pixels - first < s->tile_pixels ? s->pixels - first : s->tile_pixels;
    if (s->copy) {
        cr_assert_eq(s->stride, s->channels);
        if (labels != NULL)
            yp_device_copy(s->gpu, labels, s->labels + first, tile->pixels);
        return yp_device_copy(s->gpu, values, s->values + first * s->channels,
                              tile->pixels * s->channels * sizeof *values);
    }
    tile->values = (s->gpu != NULL ? s->there : s->values) + first * s->stride;
    tile->labels = (s->gpu != NULL ? s->labels_there : s->labels) + first;
    tile->stride = s->stride;
    return YP_OK;
}

static struct rx_source source_of(struct scene *s)
{
    return (struct rx_source){s->channels, s->tile_pixels,
                              (s->pixels + s->tile_pixels - 1) / s->tile_pixels, scene_yield, s};
}

static bool counts(const struct scene *s, size_t pixel)
{
    for (size_t c = 0; c < s->channels; c++)
        if (!isfinite(s->values[pixel * s->stride + c]))
            return false;
    return true;
}

/* -- oracle --------------------------------------------------------------------------------- */

struct oracle {
    double *mean, *sigma;
    uint64_t kept;
    float low, high;
};

/* Two passes in double. */
static struct oracle oracle_make(const struct scene *s)
{
    size_t n = s->channels;
    struct oracle o = {block(n, sizeof(double)), block(n * n, sizeof(double)), 0, INFINITY,
                       -INFINITY};
    double *z = block(n, sizeof *z);
    for (int pass = 0; pass < 2; pass++)
        for (size_t p = 0; p < s->pixels; p++) {
            const float *x = s->values + p * s->stride;
            if (!counts(s, p))
                continue;
            o.kept += pass == 0;
            for (size_t i = 0; i < n; i++) {
                if (pass == 0) {
                    o.mean[i] += (double)x[i];
                    o.low = fminf(o.low, x[i]);
                    o.high = fmaxf(o.high, x[i]);
                    continue;
                }
                z[i] = (double)x[i] - o.mean[i] / (double)o.kept;
                for (size_t j = 0; j <= i; j++)
                    o.sigma[i * n + j] += z[i] * z[j] / (double)(o.kept - 1);
            }
        }
    for (size_t i = 0; i < n; i++) {
        o.mean[i] /= (double)o.kept;
        for (size_t j = 0; j < i; j++)
            o.sigma[j * n + i] = o.sigma[i * n + j];
    }
    free(z);
    return o;
}

static void oracle_free(struct oracle *o)
{
    free(o->mean);
    free(o->sigma);
}

static double error_of(const double *a, const double *b, size_t count)
{
    double wrong = 0, all = 0;
    for (size_t i = 0; i < count; i++) {
        wrong += (a[i] - b[i]) * (a[i] - b[i]);
        all += b[i] * b[i];
    }
    return sqrt(wrong / all);
}

/* -- statistics ----------------------------------------------------------------------------- */

/* The error of Sigma of a detector that has seen the scene; all else is checked. */
static double check_statistics(const struct rx *rx, const struct scene *s)
{
    size_t n = s->channels;
    struct oracle o = oracle_make(s);
    struct rx_summary all;
    double *sigma = block(n * n, sizeof *sigma);
    rx_summary(rx, &all);
    cr_expect_eq(all.pixels, o.kept);
    cr_expect_eq(all.skipped, s->pixels - o.kept);
    cr_expect_eq(all.min, o.low, "the least is %g, not %g", (double)all.min, (double)o.low);
    cr_expect_eq(all.max, o.high, "the most is %g, not %g", (double)all.max, (double)o.high);
    for (size_t c = 0; c < n; c++) {
        double deviation = sqrt(o.sigma[c * n + c]);
        cr_expect(fabs(rx_mean(rx)[c] - o.mean[c]) <= 1e-7 * deviation,
                  "%zu channels: the mean of %zu is %.17g, not %.17g", n, c, rx_mean(rx)[c],
                  o.mean[c]);
    }
    cr_expect_eq(rx_covariance(rx, sigma), YP_OK);
    double error = error_of(sigma, o.sigma, n * n);
    free(sigma);
    oracle_free(&o);
    return error;
}

/* The error of Sigma on the GPU, for tiles of the scene's size. */
static double fit(struct scene *s)
{
    struct yp_device *gpu = gpu_open();
    struct rx *rx = rx_create(gpu, s->channels, s->tile_pixels, 0);
    cr_assert_not_null(rx, "%s", yp_last_error());
    scene_send(s, gpu);
    struct rx_source source = source_of(s);
    cr_assert_eq(rx_fit(rx, &source), YP_OK, "%s", yp_last_error());
    double error = check_statistics(rx, s);
    rx_destroy(rx);
    return error;
}

Test(rx_cuda, statistics_of_all_numbers_of_channels)
{
    static const size_t channels[] = {1, 2, 4, 7, 8, 9, 31, 32, 33, 100, 121, 200, 217, 248};
    for (size_t i = 0; i < sizeof channels / sizeof *channels; i++) {
        struct scene s = scene_make(1700, channels[i], channels[i], 100);
        double error = fit(&s);
        cr_expect_lt(error, 3e-7, "%zu channels: the error is %g", channels[i], error);
        scene_free(&s);
    }
}

Test(rx_cuda, statistics_of_all_sizes_of_tiles)
{
    static const size_t tiles[] = {1, 2, 31, 32, 33, 511, 512, 513, 1024, 3000};
    for (size_t i = 0; i < sizeof tiles / sizeof *tiles; i++) {
        struct scene s = scene_make(3000, 20, 20, -3);
        s.tile_pixels = tiles[i];
        if (tiles[i] < 31)
            s.pixels = 300;
        double error = fit(&s);
        cr_expect_lt(error, 3e-7, "%zu pixels: the error is %g", tiles[i], error);
        scene_free(&s);
    }
}

/* Blocks of more pixels than registers sum at once. */
Test(rx_cuda, statistics_of_large_tiles)
{
    struct scene s = scene_make(300000, 3, 3, 30);
    s.tile_pixels = s.pixels;
    s.values[299999 * 3 + 1] = NAN;
    cr_expect_eq(ypi_rx_range(s.tile_pixels), 1024);
    cr_expect_eq(ypi_rx_range(1), 512);
    cr_expect_eq(ypi_rx_range(UINT32_MAX), 8192);
    double error = fit(&s);
    cr_expect_lt(error, 2e-7, "the error is %g", error);
    scene_free(&s);
}

/* Channels beside those that count, and addresses that are no multiple of 16 bytes. */
Test(rx_cuda, statistics_of_pixels_that_lie_apart)
{
    static const size_t strides[] = {24, 25, 27, 48};
    for (size_t i = 0; i < sizeof strides / sizeof *strides; i++) {
        struct scene s = scene_make(2000, 24, strides[i], 5);
        double error = fit(&s);
        cr_expect_lt(error, 3e-7, "stride %zu: the error is %g", strides[i], error);
        scene_free(&s);
    }
}

/* A first address that is no multiple of 16 bytes, where all else would be. */
Test(rx_cuda, statistics_of_channels_from_the_second_on)
{
    struct scene s = scene_make(1001, 24, 28, 5);
    scene_send(&s, gpu_open());
    s.pixels--;
    s.values++;
    s.there++;
    double error = fit(&s);
    cr_expect_lt(error, 3e-7, "the error is %g", error);
    s.values--;
    s.there--;
    scene_free(&s);
}

Test(rx_cuda, pixels_that_are_not_finite_are_skipped)
{
    static const float odd[] = {NAN, INFINITY, -INFINITY};
    struct scene s = scene_make(4000, 40, 40, 10);
    s.tile_pixels = 2500;
    for (size_t i = 0; i < 60; i++)
        s.values[(i * i * 7 % s.pixels) * 40 + i % 40] = odd[i % 3];
    for (size_t p = 512; p < 1024; p++) /* a whole block, but one */
        s.values[p * 40 + p % 40] = p == 700 ? 3.0F : odd[p % 3];
    double error = fit(&s);
    cr_expect_lt(error, 3e-7, "the error is %g", error);
    for (size_t p = 0; p < 1024; p++) /* and whole blocks */
        s.values[p * 40] = NAN;
    error = fit(&s);
    cr_expect_lt(error, 3e-7, "the error is %g", error);
    scene_free(&s);
}

/* The first centre misses: the sample sees one value in a channel, the rest of it another. */
Test(rx_cuda, a_centre_that_was_guessed_wrong_is_found_out)
{
    struct scene s = scene_make(1536, 16, 16, 0);
    s.tile_pixels = 1536;
    for (size_t p = 0; p < s.pixels; p++)
        for (size_t c = 0; c < 16; c++)
            s.values[p * 16 + c] += p % 8 == 0 ? 1e4F : -1e4F;
    unsigned before = emulated.blocks;
    double error = fit(&s);
    cr_expect_lt(error, 3e-7, "the error is %g", error);
    cr_expect_eq(emulated.blocks, before + 3);
    scene_free(&s);
}

/* Sums of products that are all alike may round all alike: rx_fit says how much that comes to. */
Test(rx_cuda, few_values_that_lie_far_off)
{
    struct scene s = scene_make(4096, 8, 8, 0);
    s.tile_pixels = 4096;
    for (size_t p = 0; p < s.pixels; p++)
        for (size_t c = 0; c < 8; c++)
            s.values[p * 8 + c] = 1e4F / 3 + (float)((p * (c + 3) / 7) % 5 == 0) / 3;
    double error = fit(&s);
    cr_expect_lt(error, 512 * 0x1p-25, "the error is %g", error);
    scene_free(&s);
}

/* A scene whose tiles lie far from each other, and one with a mean far from zero. */
Test(rx_cuda, statistics_far_from_zero)
{
    struct scene s = scene_make(4000, 30, 30, 1e4);
    s.tile_pixels = 700;
    double error = fit(&s);
    cr_expect_lt(error, 3e-7, "the error is %g", error);
    for (size_t p = 0; p < s.pixels; p++) {
        size_t tile = p / 700;
        for (size_t c = 0; c < 30; c++)
            s.values[p * 30 + c] += 100 * (float)tile;
    }
    error = fit(&s);
    cr_expect_lt(error, 3e-7, "the error is %g", error);
    scene_free(&s);
}

static void bits(struct scene *s, bool backwards, double *sigma)
{
    struct yp_device *gpu = gpu_open();
    struct rx *rx = rx_create(gpu, s->channels, s->tile_pixels, 0);
    scene_send(s, gpu);
    struct rx_source source = source_of(s);
    emulated.kernels.order = backwards ? YPK_BACKWARDS : YPK_FORWARDS;
    cr_assert_eq(rx_fit(rx, &source), YP_OK);
    cr_assert_eq(rx_covariance(rx, sigma), YP_OK);
    emulated.kernels.order = YPK_FORWARDS;
    rx_destroy(rx);
}

Test(rx_cuda, the_order_of_threads_does_not_matter)
{
    enum { CHANNELS = 44 };
    static double one[CHANNELS * CHANNELS], other[CHANNELS * CHANNELS];
    struct scene s = scene_make(2500, CHANNELS, CHANNELS, 7);
    s.values[100 * CHANNELS + 3] = NAN;
    bits(&s, false, one);
    bits(&s, true, other);
    cr_expect_arr_eq(one, other, sizeof one);
    s.copy = true;
    bits(&s, true, other);
    cr_expect_arr_eq(one, other, sizeof one);
    scene_free(&s);
}

Test(rx_cuda, fitting_in_two_goes)
{
    struct scene s = scene_make(3000, 12, 12, 2);
    struct yp_device *gpu = gpu_open();
    struct rx *rx = rx_create(gpu, 12, s.tile_pixels, 0);
    struct rx_source source = source_of(&s);
    scene_send(&s, gpu);
    s.fail_from = 1;
    cr_expect_eq(rx_fit(rx, &source), YP_IO);
    cr_expect_str_eq(yp_last_error(), "tile 1 cannot be read");
    struct rx_summary all;
    rx_summary(rx, &all);
    cr_expect_eq(all.pixels, 0, "a fit that fails adds nothing");
    s.fail_from = 0;
    source.tiles = 1;
    cr_expect_eq(rx_fit(rx, &source), YP_OK);
    s.there += 1500 * 12;
    cr_expect_eq(rx_fit(rx, &source), YP_OK);
    s.there -= 1500 * 12;
    cr_expect_lt(check_statistics(rx, &s), 3e-7);
    rx_reset(rx);
    source.tiles = 2;
    cr_expect_eq(rx_fit(rx, &source), YP_OK);
    cr_expect_lt(check_statistics(rx, &s), 3e-7);
    rx_destroy(rx);
    scene_free(&s);
}

/* -- scores --------------------------------------------------------------------------------- */

static void check_scores(struct rx *rx, struct scene *s, double bound)
{
    struct rx_source source = source_of(s);
    size_t count = source.tiles * source.tile_pixels;
    float *there = yp_device_alloc(s->gpu, count * sizeof *there);
    float *scores = block(count, sizeof *scores);
    double *plain = block(s->pixels, sizeof *plain), wrong = 0, all = 0;
    cr_assert_eq(rx_score(rx, &source, there), YP_OK, "%s", yp_last_error());
    yp_device_copy(s->gpu, scores, there, count * sizeof *there);
    struct rx_tile tile = {s->values, s->pixels, s->channels, NULL, s->stride};
    cr_assert_eq(rx_score_plain(rx, &tile, plain), YP_OK);
    for (size_t p = 0; p < count; p++) {
        size_t pixel = p;
        if (pixel >= s->pixels || !counts(s, pixel)) {
            cr_expect(isnan(scores[p]), "%zu channels: score %zu is %g, not NaN", s->channels, p,
                      (double)scores[p]);
            continue;
        }
        double off = (double)scores[p] - plain[pixel];
        wrong += off * off;
        all += plain[pixel] * plain[pixel];
    }
    double error = sqrt(wrong / all);
    cr_expect_lt(error, bound, "%zu channels: the error of scores is %g", s->channels, error);
    yp_device_free(s->gpu, there);
    free(scores);
    free(plain);
}

Test(rx_cuda, scores)
{
    static const size_t channels[] = {1, 3, 4, 15, 16, 17, 47, 64, 100, 200, 248};
    struct yp_device *gpu = gpu_open();
    for (size_t i = 0; i < sizeof channels / sizeof *channels; i++) {
        size_t n = channels[i];
        /* Far from zero the rounded mean is not the mean. */
        struct scene s = scene_make(900, n, n + i % 3, i % 2 == 0 ? 1e5 : 50);
        s.tile_pixels = 333;
        s.values[400 * s.stride + n - 1] = NAN;
        s.values[401 * s.stride] = -INFINITY;
        struct rx *rx = rx_create(gpu, n, s.tile_pixels, 0);
        struct rx_source source = source_of(&s);
        scene_send(&s, gpu);
        cr_assert_eq(rx_fit(rx, &source), YP_OK);
        cr_assert_eq(rx_finish(rx, 0), YP_OK, "%s", yp_last_error());
        emulated.kernels.order = i % 2 != 0 ? YPK_BACKWARDS : YPK_FORWARDS;
        emulated.kernels.garbage = i % 3 == 0 ? emulated.kernels.garbage : EMULATED_NAN;
        check_scores(rx, &s, 2e-6);
        emulated.kernels.order = YPK_FORWARDS;
        rx_destroy(rx);
        scene_free(&s);
    }
}

/* Beyond float is not the same as no value. */
Test(rx_cuda, a_score_may_be_infinite)
{
    struct yp_device *gpu = gpu_open();
    struct scene s = scene_make(200, 6, 6, 0);
    struct rx *rx = rx_create(gpu, 6, s.tile_pixels, 0);
    struct rx_source source = source_of(&s);
    float scores[2], *there = yp_device_alloc(gpu, s.tile_pixels * sizeof *there);
    scene_send(&s, gpu);
    cr_assert_eq(rx_fit(rx, &source), YP_OK);
    cr_assert_eq(rx_finish(rx, 0), YP_OK);
    s.values[0] = 1e25F;
    s.values[6] = INFINITY;
    scene_send(&s, gpu);
    cr_assert_eq(rx_score(rx, &source, there), YP_OK);
    yp_device_copy(gpu, scores, there, sizeof scores);
    cr_expect(isinf(scores[0]), "the score is %g", (double)scores[0]);
    cr_expect(isnan(scores[1]), "the score is %g", (double)scores[1]);
    yp_device_free(gpu, there);
    rx_destroy(rx);
    scene_free(&s);
}

Test(rx_cuda, scores_without_dead_channels)
{
    struct yp_device *gpu = gpu_open();
    struct scene s = scene_make(900, 20, 20, 50);
    for (size_t p = 0; p < s.pixels; p++)
        s.values[p * 20 + 5] = 3;
    struct rx *rx = rx_create(gpu, 20, s.tile_pixels, 0);
    struct rx_source source = source_of(&s);
    scene_send(&s, gpu);
    cr_assert_eq(rx_fit(rx, &source), YP_OK);
    cr_expect_eq(rx_finish(rx, 0), YP_INVALID);
    float *there = yp_device_alloc(gpu, 2000 * sizeof *there);
    cr_expect_eq(rx_score(rx, &source, there), YP_INVALID);
    cr_assert_eq(rx_finish_with(rx, &(struct rx_finish_options){.mask_dead = true}), YP_OK);
    cr_expect_eq(rx_masked(rx, NULL), 1);
    check_scores(rx, &s, 2e-6);
    yp_device_free(gpu, there);
    rx_destroy(rx);
    scene_free(&s);
}

/* -- loss ----------------------------------------------------------------------------------- */

/* The loss's mean and gradient in plain double loops. */
static double plain_gradient(const struct scene *s, const float *parameters, double *gradient)
{
    size_t n = s->channels, count = rx_loss_parameters(n), kept = 0;
    double *x = block(count, sizeof *x), *losses = block(s->pixels, sizeof *losses);
    double *cotangent = block(s->pixels, sizeof *cotangent), sum = 0;
    struct rx_tile tile = {s->values, s->pixels, n, s->labels, s->stride};
    for (size_t i = 0; i < count; i++)
        x[i] = (double)parameters[i];
    plain_losses(&tile, x, losses);
    for (size_t p = 0; p < s->pixels; p++)
        kept += counts(s, p);
    for (size_t p = 0; p < s->pixels; p++) {
        sum += losses[p];
        cotangent[p] = 1.0 / (double)kept;
    }
    plain_losses_vjp(&tile, x, cotangent, gradient);
    free(x);
    free(losses);
    free(cotangent);
    return sum / (double)kept;
}

static void check_gradient(struct scene *s, const float *parameters)
{
    size_t n = s->channels, count = rx_loss_parameters(n);
    struct rx_source source = source_of(s);
    struct rx_loss *loss = rx_loss_create(s->gpu, n, s->tile_pixels, 0);
    cr_assert_not_null(loss, "%s", yp_last_error());
    float *there = yp_device_alloc(s->gpu, count * sizeof *there);
    float *to = yp_device_alloc(s->gpu, count * sizeof *to);
    float *gradient = block(count, sizeof *gradient);
    double *plain = block(count, sizeof *plain), *got = block(count, sizeof *got), mean = 0;
    double should = plain_gradient(s, parameters, plain);
    yp_device_copy(s->gpu, there, parameters, count * sizeof *there);
    for (int again = 0; again < 2; again++) { /* nothing is left of the pass before */
        cr_assert_eq(rx_loss_gradient(loss, &source, there, &mean, to), YP_OK, "%s",
                     yp_last_error());
        cr_expect(fabs(mean - should) <= 1e-6 * should, "%zu channels: loss %.9g, not %.9g", n,
                  mean, should);
        yp_device_copy(s->gpu, gradient, to, count * sizeof *to);
        for (size_t i = 0; i < count; i++)
            got[i] = (double)gradient[i];
        const size_t begins[] = {0, n, n + n * n, n + n * n + 1, count};
        for (int part = 0; part < 4; part++) {
            size_t from = begins[part];
            double error = error_of(got + from, plain + from, begins[part + 1] - from);
            cr_expect_lt(error, 2e-5, "%zu channels: tensor %d is off by %g", n, part, error);
        }
    }
    rx_loss_destroy(loss);
    yp_device_free(s->gpu, there);
    yp_device_free(s->gpu, to);
    free(gradient);
    free(plain);
    free(got);
}

Test(rx_cuda, gradient_of_the_loss)
{
    static const size_t channels[] = {1, 5, 16, 33, 100, 200};
    struct yp_device *gpu = gpu_open();
    for (size_t i = 0; i < sizeof channels / sizeof *channels; i++) {
        size_t n = channels[i], count = rx_loss_parameters(n);
        uint64_t state = n;
        struct scene s = scene_make(1100, n, n, 5);
        s.tile_pixels = 522; /* its second block has 10 pixels */
        s.values[70 * n + n / 2] = NAN;
        s.values[1099 * n] = INFINITY;
        scene_send(&s, gpu);
        float *parameters = block(count, sizeof *parameters);
        for (size_t c = 0; c < n; c++)
            parameters[c] = (float)(5 + 0.2 * normal(&state));
        for (size_t c = 0; c < n * n; c++) /* not symmetric */
            parameters[n + c] =
                (float)((c / n == c % n ? 1.0 : 0) + 0.3 * normal(&state) / sqrt((double)n));
        parameters[n + n * n] = 0.7F / (float)n;
        parameters[n + n * n + 1] = 1.1F * (float)n;
        emulated.kernels.order = i % 2 != 0 ? YPK_BACKWARDS : YPK_FORWARDS;
        emulated.kernels.garbage = i % 3 == 0 ? emulated.kernels.garbage : EMULATED_NAN;
        check_gradient(&s, parameters);
        emulated.kernels.order = YPK_FORWARDS;
        free(parameters);
        scene_free(&s);
    }
}

Test(rx_cuda, a_loss_of_nothing)
{
    struct yp_device *gpu = gpu_open();
    struct scene s = scene_make(50, 4, 4, 5);
    for (size_t p = 0; p < s.pixels; p++)
        s.values[4 * p + p % 4] = NAN;
    scene_send(&s, gpu);
    struct rx_source source = source_of(&s);
    struct rx_loss *loss = rx_loss_create(gpu, 4, s.tile_pixels, 0);
    float *there = yp_device_alloc(gpu, 4 * 22 * sizeof *there), parameters[22] = {1};
    double mean;
    yp_device_copy(gpu, there, parameters, sizeof parameters);
    cr_expect_eq(rx_loss_gradient(loss, &source, there, &mean, there + 22), YP_INVALID);
    source.tiles = 0;
    cr_expect_eq(rx_loss_gradient(loss, &source, there, &mean, there + 22), YP_INVALID);
    yp_device_free(gpu, there);
    rx_loss_destroy(loss);
    scene_free(&s);
}

/* -- the interface -------------------------------------------------------------------------- */

Test(rx_cuda, memory_is_what_was_predicted)
{
    struct yp_device *gpu = gpu_open();
    struct yp_memory before, now, host, host_now;
    for (size_t channels = 1; channels <= 248; channels += 49)
        for (size_t tile = 1; tile < 3000000; tile = tile * 11 + 13) {
            yp_device_memory(gpu, &before);
            yp_device_memory(yp_device_cpu(), &host);
            struct rx *rx = rx_create(gpu, channels, tile, 0);
            cr_assert_not_null(rx, "%s", yp_last_error());
            yp_device_memory(gpu, &now);
            yp_device_memory(yp_device_cpu(), &host_now);
            cr_expect_eq(now.allocated - before.allocated, rx_device_bytes(channels, tile, NULL));
            cr_expect_leq(host_now.allocated - host.allocated, rx_bytes(channels, 512, 1));
            rx_destroy(rx);
            struct rx_loss *loss = rx_loss_create(gpu, channels, tile, 0);
            yp_device_memory(gpu, &now);
            cr_expect_eq(now.allocated - before.allocated,
                         rx_loss_device_bytes(channels, tile, NULL));
            rx_loss_destroy(loss);
            yp_device_memory(gpu, &now);
            cr_expect_eq(now.allocated, before.allocated);
            yp_device_memory(yp_device_cpu(), &host_now);
            cr_expect_eq(host_now.allocated, host.allocated);
        }
}

/* 227 KiB a block and 228 KiB a multiprocessor, 1 KiB of it for each block, on Hopper. Four blocks
 * of the usual cases of few channels, and two that score. */
Test(rx_cuda, shared_memory_fits)
{
    for (unsigned channels = 1; channels <= RXC_CHANNELS; channels++) {
        size_t product = rxc_product_shared(channels), quadratic = rxc_quadratic_shared(channels);
        cr_expect_leq(product, 227 * 1024, "%u channels: %zu bytes", channels, product);
        cr_expect_leq(quadratic, 227 * 1024, "%u channels: %zu bytes", channels, quadratic);
        cr_expect_leq(rxc_product_threads(channels), 512);
        cr_expect_geq(rxc_row(channels), rxc_groups(channels) * RXC_GROUP);
    }
    cr_expect_leq(4 * (rxc_product_shared(100) + 1024), 228 * 1024);
    cr_expect_leq(3 * (rxc_quadratic_shared(100) + 1024), 228 * 1024);
    cr_expect_leq(2 * (rxc_quadratic_shared(200) + 1024), 228 * 1024);
}

/* Everything a fit allocates, refused once. */
/* Each pair of groups is one thread's, and neighbours share a group where they can. */
Test(rx_cuda, every_pair_of_groups_has_a_thread)
{
    for (unsigned all = 1; all <= rxc_groups(RXC_CHANNELS); all++) {
        unsigned pairs = all * (all + 1) / 2, shared = 0;
        bool *seen = block((size_t)all * all, sizeof *seen);
        for (unsigned p = 0, last = ~0U; p < pairs; p++) {
            unsigned left, right;
            rxc_place(p, all, &left, &right);
            cr_assert(left <= right && right < all && !seen[left * all + right]);
            seen[left * all + right] = true;
            shared += p % 2 == 1 && right == last;
            last = right;
        }
        cr_expect_eq(shared, (pairs - (all + 1) / 2) / 2);
        free(seen);
    }
}

Test(rx_cuda, out_of_memory_is_an_answer)
{
    struct yp_device *gpu = gpu_open(), *const devices[] = {gpu, yp_device_cpu()};
    for (int i = 0; i < 2; i++) {
        yp_device_fail_allocation(devices[i], 1);
        cr_expect_null(rx_create(gpu, 10, 100, 0));
        yp_device_fail_allocation(devices[i], 1);
        cr_expect_null(rx_loss_create(gpu, 10, 100, 0));
        yp_device_fail_allocation(devices[i], 0);
    }
    struct yp_memory now;
    yp_device_memory(gpu, &now);
    cr_expect_eq(now.allocated, 0);
    struct rx *rx = rx_create(gpu, 10, 100, 0);
    cr_expect_not_null(rx);
    rx_destroy(rx);
}

Test(rx_cuda, what_is_not_allowed_is_said)
{
    struct yp_device *gpu = gpu_open();
    cr_expect_null(rx_create(gpu, 249, 100, 0));
    cr_expect_str_eq(yp_last_error(), "rx_create: channels is 249, a GPU takes 1 to 248");
    cr_expect_null(rx_create(gpu, 0, 100, 0));
    cr_expect_null(rx_create(gpu, 10, 0, 0));
    cr_expect_null(rx_create_with(gpu, 10, 10, 0, &(struct rx_options){.precision = RX_FP64}));
    cr_expect_eq(rx_device_bytes(249, 1, NULL), 0);
    cr_expect_eq(rx_loss_device_bytes(1, 0, NULL), 0);
    struct scene s = scene_make(20, 3, 3, 0);
    struct rx *rx = rx_create(gpu, 3, 10, 0);
    struct rx_source source = source_of(&s);
    cr_expect_eq(rx_fit(rx, &source), YP_INVALID);
    cr_expect_eq(rx_fit(rx, NULL), YP_INVALID);
    rx_destroy(rx);
    scene_free(&s);
    ypi_rx_set_cuda(NULL);
    setenv("YIELDPOINT_PLUGINS", "/nowhere", 1);
    cr_expect_null(rx_create(gpu, 3, 10, 0));
    struct yp_memory now;
    yp_device_memory(gpu, &now);
    cr_expect_eq(now.allocated, 0);
}

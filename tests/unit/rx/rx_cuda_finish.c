/* rx_finish on a GPU, without one: held to the host's own, of the same statistics. */
#include "tests/unit/rx/rx_gpu.h"

#include <math.h>
#include <stdio.h>

enum { TILE = 500 };

struct scene {
    size_t pixels, channels;
    float *values, *there; /* (pixels, channels): the host's, the GPU's */
    size_t fail_from;      /* tiles from here on fail; 0: none */
};

static void *block(size_t count, size_t size)
{
    void *p = calloc(count > 0 ? count : 1, size);
    cr_assert_not_null(p);
    return p;
}

static double uniform(uint64_t *state) /* (0, 1); splitmix64 */
{
    uint64_t z = *state += YPI_GOLDEN;
    return ((double)(ypi_mix64(z) >> 12) + 0.5) * 0x1p-52;
}

/* Channels that hang together, far from zero, so that the rounded mean is not the mean. */
static struct scene scene_make(size_t pixels, size_t channels)
{
    struct scene s = {.pixels = pixels, .channels = channels};
    uint64_t state = pixels + 31 * channels;
    s.values = block(pixels * channels, sizeof *s.values);
    s.there = yp_device_alloc(gpu_open(), pixels * channels * sizeof *s.there);
    for (size_t p = 0; p < pixels; p++) {
        double common = uniform(&state);
        for (size_t c = 0; c < channels; c++)
            s.values[p * channels + c] =
                (float)(100 + common + uniform(&state) * (0.3 + (double)(c % 4)));
    }
    return s;
}

static void scene_send(const struct scene *s)
{
    yp_device_copy(gpu_open(), s->there, s->values, s->pixels * s->channels * sizeof *s->values);
}

static void scene_free(struct scene *s)
{
    yp_device_free(gpu_open(), s->there);
    free(s->values);
}

static enum yp_status scene_yield(void *arg, size_t index, float *values, uint8_t *labels,
                                  struct rx_tile *tile)
{
    const struct scene *s = arg;
    size_t first = index * TILE, left = s->pixels - first;
    (void)values;
    (void)labels;
    if (s->fail_from > 0 && index >= s->fail_from)
        return yp_set_error(YP_IO, "tile %zu cannot be read", index);
    tile->values = s->there + first * s->channels;
    tile->pixels = left < TILE ? left : TILE;
    return YP_OK;
}

static struct rx_source source_of(struct scene *s)
{
    return (struct rx_source){s->channels, TILE, (s->pixels + TILE - 1) / TILE, scene_yield, s};
}

static struct rx *fitted(struct scene *s)
{
    struct rx *rx = rx_create(gpu_open(), s->channels, TILE, 0);
    struct rx_source source = source_of(s);
    cr_assert_not_null(rx, "%s", yp_last_error());
    scene_send(s);
    cr_assert_eq(rx_fit(rx, &source), YP_OK, "%s", yp_last_error());
    return rx;
}

/* An object of the CPU's with the same statistics: whose factor is the oracle. */
static struct rx *host_of(const struct rx *gpu)
{
    size_t n = gpu->channels;
    struct rx *host = rx_create(yp_device_cpu(), n, TILE, 1);
    cr_assert_not_null(host);
    host->pixels = gpu->pixels;
    host->skipped = gpu->skipped;
    memcpy(host->mean, gpu->mean, n * sizeof *host->mean);
    memcpy(host->m2, gpu->m2, n * n * sizeof *host->m2);
    memcpy(host->low, gpu->low, n * sizeof *host->low);
    memcpy(host->high, gpu->high, n * sizeof *host->high);
    return host;
}

static float *scores_of(struct rx *rx, struct scene *s)
{
    struct rx_source source = source_of(s);
    size_t bytes = source.tiles * TILE * sizeof(float);
    float *there = yp_device_alloc(gpu_open(), bytes), *scores = block(1, bytes);
    cr_assert_eq(rx_score(rx, &source, there), YP_OK, "%s", yp_last_error());
    yp_device_copy(gpu_open(), scores, there, bytes);
    yp_device_free(gpu_open(), there);
    return scores;
}

static void expect_near(double got, double right, double bound, const char *what, size_t at)
{
    cr_expect(got == right || fabs(got - right) <= bound * (1 + fabs(right)),
              "%s: number %zu is %.12g, on the host %.12g", what, at, got, right);
}

/* All that a finished object says. */
static void expect_alike(struct rx *rx, const struct rx *host, struct scene *s)
{
    size_t n = s->channels, count = rx_loss_parameters(n);
    uint8_t *masks = block(2 * n, 1);
    float *parameters = block(2 * count, sizeof *parameters), *scores = scores_of(rx, s);
    double *plain = block(2 * s->pixels, sizeof *plain);
    struct rx_tile tile = {s->values, s->pixels, n, NULL, 0};
    cr_expect_eq(rx_masked(rx, masks), rx_masked(host, masks + n));
    cr_expect_arr_eq(masks, masks + n, n);
    cr_expect(rx_score_error(host) > 0x1p-21);
    double sums = fmin((double)s->pixels, TILE); /* a GPU adds them up in float: u^2 / m more */
    expect_near(rx_score_error(rx) / rx_score_error(host), 1, 0.5 / sums, "error of scores", 0);
    cr_assert_eq(rx_loss_start(rx, 1, 2, parameters), YP_OK);
    cr_assert_eq(rx_loss_start(host, 1, 2, parameters + count), YP_OK);
    for (size_t i = 0; i < count; i++)
        expect_near((double)parameters[i], (double)parameters[count + i], 1e-6, "start", i);
    cr_assert_eq(rx_score_plain(rx, &tile, plain), YP_OK);
    cr_assert_eq(rx_score_plain(host, &tile, plain + s->pixels), YP_OK);
    for (size_t p = 0; p < s->pixels; p++) {
        expect_near(plain[p], plain[s->pixels + p], 1e-9, "plain score", p);
        expect_near((double)scores[p], plain[s->pixels + p], 1e-4, "score", p);
    }
    for (size_t i = 0; i < n; i++)
        for (size_t j = i; j < n; j++)
            expect_near(rx->factor[i * n + j], host->factor[i * n + j], 1e-11, "factor", i * n + j);
    free(masks);
    free(parameters);
    free(scores);
    free(plain);
}

static char said[512]; /* by the host, last */

/* The same answer, in the same words. */
static enum yp_status expect_same_answer(struct rx *rx, struct scene *s,
                                         const struct rx_finish_options *options)
{
    struct rx *host = host_of(rx);
    enum yp_status right = rx_finish_with(host, options);
    snprintf(said, sizeof said, "%s", right != YP_OK ? yp_last_error() : "");
    enum yp_status got = rx_finish_with(rx, options);
    cr_expect_eq(got, right, "%d, on the host %d", (int)got, (int)right);
    if (got == YP_OK && right == YP_OK) {
        expect_alike(rx, host, s);
    } else {
        cr_expect_str_eq(yp_last_error(), said);
        cr_expect_eq(rx_masked(rx, NULL), 0);
        cr_expect_eq(
            rx_score_plain(rx, &(struct rx_tile){s->values, 1, s->channels, NULL, 0}, &(double){0}),
            YP_INVALID);
    }
    rx_destroy(host);
    return got;
}

static const struct rx_finish_options ways[] = {{.eps = 0},
                                                {.eps = 1e-3},
                                                {.shrink = 0.3},
                                                {.eps = 1e-6, .shrink = 0.1, .mask_dead = true},
                                                {.mask_dead = true}};
enum { WAYS = sizeof ways / sizeof *ways };

Test(rx_cuda_finish, is_the_hosts)
{
    static const size_t channels[] = {1, 2, 16, 33, 100, 248};
    for (size_t i = 0; i < sizeof channels / sizeof *channels; i++) {
        struct scene s = scene_make(1300, channels[i]);
        struct rx *rx = fitted(&s);
        emulated.kernels.order = i % 2 != 0 ? YPK_BACKWARDS : YPK_FORWARDS;
        for (size_t way = 0; way < WAYS; way++)
            cr_expect_eq(expect_same_answer(rx, &s, &ways[way]), YP_OK);
        emulated.kernels.order = YPK_FORWARDS;
        rx_destroy(rx);
        scene_free(&s);
    }
}

Test(rx_cuda_finish, of_dead_channels)
{
    struct scene s = scene_make(800, 20);
    for (size_t p = 0; p < s.pixels; p++)
        s.values[p * 20 + 3] = s.values[p * 20 + 19] = 7;
    struct rx *rx = fitted(&s);
    for (size_t way = 0; way < WAYS; way++) {
        bool allowed = ways[way].eps > 0 || ways[way].mask_dead;
        cr_expect_eq(expect_same_answer(rx, &s, &ways[way]), allowed ? YP_OK : YP_INVALID);
        cr_expect_eq(rx_masked(rx, NULL), ways[way].mask_dead ? 2 : 0);
    }
    rx_destroy(rx);
    for (size_t i = 0; i < s.pixels * 20; i++) /* all of them */
        s.values[i] = (float)(i % 20);
    rx = fitted(&s);
    cr_expect_eq(expect_same_answer(rx, &s, &ways[0]), YP_INVALID);
    cr_expect_eq(expect_same_answer(rx, &s, &ways[1]), YP_OK);
    cr_expect_eq(expect_same_answer(rx, &s, &ways[4]), YP_OK);
    cr_expect_eq(rx_masked(rx, NULL), 20);
    float *scores = scores_of(rx, &s);
    for (size_t p = 0; p < s.pixels; p++)
        cr_expect_eq(scores[p], 0);
    free(scores);
    rx_destroy(rx);
    scene_free(&s);
}

/* A channel that others explain, to a part of its own; and what eps and shrink make of it. */
Test(rx_cuda_finish, of_what_is_not_definite)
{
    for (int i = 0; i < 3; i++) {
        struct scene s = scene_make(900, 12);
        for (size_t p = 0; p < s.pixels; p++)
            s.values[p * 12 + 7] = s.values[p * 12 + 2] * (i == 0 ? 1 : 0.5F) +
                                   (i == 2 ? 1e-4F * s.values[p * 12 + 9] : 0);
        struct rx *rx = fitted(&s);
        cr_expect_eq(expect_same_answer(rx, &s, &ways[1]), YP_OK);
        cr_expect_eq(expect_same_answer(rx, &s, &ways[0]), YP_INVALID);
        cr_expect_not_null(strstr(said, "not positive definite at channel "), "%s", said);
        cr_expect_eq(expect_same_answer(rx, &s, &ways[2]), YP_OK);
        rx_destroy(rx);
        scene_free(&s);
    }
}

Test(rx_cuda_finish, of_few_pixels)
{
    for (size_t pixels = 1; pixels < 4; pixels++) {
        struct scene s = scene_make(pixels, 6);
        struct rx *rx = fitted(&s);
        for (size_t way = 0; way < WAYS; way++) {
            bool allowed = pixels > 1 && (ways[way].eps > 0 || ways[way].shrink > 0);
            cr_expect_eq(expect_same_answer(rx, &s, &ways[way]), allowed ? YP_OK : YP_INVALID);
        }
        rx_destroy(rx);
        scene_free(&s);
    }
}

Test(rx_cuda_finish, of_values_that_are_not_finite)
{
    struct scene s = scene_make(700, 9);
    for (size_t p = 0; p < 699; p += 3)
        s.values[p * 9 + p % 9] = p % 2 == 0 ? NAN : INFINITY;
    struct rx *rx = fitted(&s);
    for (size_t p = 0; p < 699; p += 3) /* for the scores, which are compared as numbers */
        s.values[p * 9 + p % 9] = 100;
    scene_send(&s);
    cr_expect_eq(expect_same_answer(rx, &s, &ways[0]), YP_OK);
    rx_destroy(rx);
    for (size_t p = 0; p < 700; p++)
        s.values[p * 9 + 4] = NAN;
    rx = fitted(&s);
    cr_expect_eq(expect_same_answer(rx, &s, &ways[3]), YP_INVALID);
    rx_destroy(rx);
    scene_free(&s);
}

static unsigned factors;

static enum yp_status counted_factor(struct yp_device *device, const struct rxc_factor *job)
{
    factors++;
    return gpu_table.factor(device, job);
}

static enum yp_status no_factor(struct yp_device *device, const struct rxc_factor *job)
{
    (void)device;
    (void)job;
    return yp_set_error(YP_IO, "the device is lost");
}

/* The factor is made once a finish; one that cannot be made leaves none. */
Test(rx_cuda_finish, is_the_devices)
{
    struct rx_cuda table = gpu_table;
    struct scene s = scene_make(900, 10);
    table.factor = counted_factor;
    struct rx *rx = fitted(&s);
    rx->on->cuda = &table;
    struct rx *host = host_of(rx);
    for (size_t i = 0; i < 100; i++) /* the sums that lie on the device are taken */
        rx->m2[i] *= i / 10 == i % 10;
    cr_expect_eq(rx_finish(rx, 0), YP_OK);
    cr_expect_eq(factors, 1);
    memset(rx->whiten, 0xff, 100 * sizeof *rx->whiten); /* the CPU's, which nobody reads */
    memset(rx->offset, 0xff, 10 * sizeof *rx->offset);
    cr_assert_eq(rx_finish(host, 0), YP_OK);
    expect_alike(rx, host, &s);
    rx_destroy(host);
    table.factor = no_factor;
    float score;
    struct rx_source source = source_of(&s);
    cr_expect_eq(rx_finish(rx, 0), YP_IO);
    cr_expect_str_eq(yp_last_error(), "the device is lost");
    cr_expect_eq(rx_score(rx, &source, &score), YP_INVALID);
    rx_destroy(rx);
    scene_free(&s);
}

/* Of the statistics that the host knows of, whatever a pass left on the device. */
Test(rx_cuda_finish, after_a_fit_that_failed)
{
    for (int again = 0; again < 3; again++) {
        struct scene s = scene_make(1300, 15);
        struct rx *rx = fitted(&s);
        struct rx_source source = source_of(&s);
        for (size_t i = 0; i < s.pixels * 15; i++)
            s.values[i] *= i % 15 == 4 ? 30 : 1;
        scene_send(&s);
        s.fail_from = 1;
        cr_expect_eq(rx_fit(rx, &source), YP_IO);
        s.fail_from = 0;
        if (again == 1) { /* and forgets it */
            rx_reset(rx);
            cr_expect_eq(expect_same_answer(rx, &s, &ways[1]), YP_INVALID);
        }
        if (again > 0)
            cr_expect_eq(rx_fit(rx, &source), YP_OK);
        cr_expect_eq(expect_same_answer(rx, &s, &ways[0]), YP_OK);
        cr_expect_eq(expect_same_answer(rx, &s, &ways[1]), YP_OK);
        rx_destroy(rx);
        scene_free(&s);
    }
}

/* A later fit leaves the factor alone, and those who ask for it. */
Test(rx_cuda_finish, a_later_fit_changes_nothing)
{
    struct scene s = scene_make(1100, 18);
    struct rx *rx = fitted(&s), *host = host_of(rx);
    struct rx_source source = source_of(&s);
    cr_assert_eq(rx_finish(rx, 0), YP_OK);
    cr_assert_eq(rx_finish(host, 0), YP_OK);
    float *before = scores_of(rx, &s);
    for (size_t i = 0; i < s.pixels * 18; i++)
        s.values[i] += i % 18 == 1 ? 40 : (float)(i % 5);
    scene_send(&s);
    cr_assert_eq(rx_fit(rx, &source), YP_OK);
    expect_alike(rx, host, &s);
    cr_expect_eq(expect_same_answer(rx, &s, &ways[0]), YP_OK);
    float *after = scores_of(rx, &s);
    cr_expect_neq(before[3], after[3], "it is another factor");
    free(before);
    free(after);
    rx_destroy(rx);
    rx_destroy(host);
    scene_free(&s);
}

/* The methods beside RX, from an image that is in memory already. */
#include "models/rx/methods/local.h"
#include "models/rx/methods/matched.h"
#include "models/rx/methods/mnf.h"
#include "suites/perf/rx_work.h"

#include <string.h>

#define CHANNELS yp_axis_int("channels", 10, 50, 100, 200)
#define THREADS 2
#define TILE_PIXELS 4096 /* of rx_image_pixels() at these sizes */

struct methods {
    struct rx_image image;
    struct rx_image_tiles tiles;
    size_t pixels, channels;
    float *out; /* (floats of a pixel, pixels), where tiles place them */
};

/* The default scene, side x side pixels. */
static void keep(struct yp_case *t, struct methods *m, size_t side, size_t floats)
{
    size_t channels = (size_t)yp_int(t, "channels"), pixels = side * side;
    struct scale s = {.cubes = 1, .height = side, .width = side, .channels = channels};
    struct synth_spec spec = scale_spec(&s, yp_seed(t));
    float *values = yp_alloc(t, pixels * channels * sizeof *values);
    make_cube(t, yp_device_cpu(), &spec, 0, values, NULL);
    yp_data_hash(t, yp_hash_f32(0, values, pixels * channels));
    m->image = (struct rx_image){values, side, side, channels};
    m->pixels = pixels;
    m->channels = channels;
    yp_ok(t, rx_image_pixels(&m->image, &m->tiles));
    m->out =
        yp_alloc(t, m->tiles.source.tiles * m->tiles.source.tile_pixels * floats * sizeof *m->out);
}

/* For sizes alone: nothing reads its values. */
static struct rx_image sized(const struct yp_case *c, size_t side)
{
    static float none[1];
    return (struct rx_image){none, side, side, (size_t)yp_int(c, "channels")};
}

/* The bytes that a case keeps: the image, and `floats` of results a pixel. */
static size_t kept_bytes(const struct rx_image *image, size_t floats)
{
    return image->height * image->width * (image->channels + floats) * sizeof(float);
}

static struct rx *fitted(struct yp_case *t, struct methods *m)
{
    struct rx *rx = open_rx(t, m->channels, m->tiles.source.tile_pixels, THREADS);
    yp_ok(t, rx_fit(rx, &m->tiles.source));
    yp_ok(t, rx_finish(rx, RX_EPS));
    return rx;
}

#define WORK(m_, flops_, bytes_) \
    .items = (double)(m_)->pixels, .unit = "pixels", .flops = (double)(m_)->pixels * (flops_), \
    .bytes = (double)(m_)->pixels * (bytes_), .traffic = YP_READ, \
    .footprint = (double)(m_)->pixels * (bytes_), .threads = THREADS, .max_seconds = 0.5

static void matched_budgets(const struct yp_case *c, struct yp_budgets *out)
{
    struct rx_image image = sized(c, 128);
    size_t n = image.channels, targets = (size_t)yp_int(c, "targets");
    yp_budget_add(
        out, yp_max_peak(YP_HOST, kept_bytes(&image, targets) + rx_bytes(n, TILE_PIXELS, THREADS) +
                                      rx_matched_bytes(n, TILE_PIXELS, targets, THREADS)));
    if (strcmp(yp_string(c, "match"), "ace") == 0 && n >= (targets > 1 ? 100 : 50))
        yp_budget_add(out, yp_min_share("score", 0.15));
    else if (strcmp(yp_string(c, "match"), "filter") == 0 && targets > 1 && n >= 100)
        yp_budget_add(out, yp_min_share("score", 0.1));
}

/* Useful operations of a pixel: 2 C for each target, in double, and C^2 for ACE, which are in
 * float. The filters of one target are bounded by reading, with shares of 0.07 to 0.5.
 *
 * With 10 channels shares are 0.02 to 0.06 (a Zen 4: 0.11 to 0.43 with 50): of one thread's time
 * pixels made double, centred and projected, 10 values at a time, are 75 to 79 % of a filter's and
 * 46 to 51 % of ACE's; quotients and square roots of the scores, which are not declared, 10 to 14 %
 * and 24 to 42 %. */
YP_TEST(rx_methods, matched, .tags = "perf small",
        .axes = YP_AXES(yp_axis_string("match", "filter", "ace"), yp_axis_int("targets", 1, 8),
                        CHANNELS),
        .budgets_of = matched_budgets)
{
    struct methods m;
    size_t targets = (size_t)yp_int(t, "targets");
    bool is_ace = strcmp(yp_string(t, "match"), "ace") == 0;
    keep(t, &m, 128, targets);
    struct rx *rx = fitted(t, &m);
    struct rx_matched *matched = rx_matched_create(yp_device(t), rx, m.image.values, targets,
                                                   m.tiles.source.tile_pixels, THREADS);
    yp_got(t, matched);
    double c = (double)m.channels, filters = 2 * c * (double)targets;
    enum yp_status status = YP_OK;
    yp_measure (t, "score", WORK(&m, filters + (is_ace ? c * c : 0), 4 * c),
                .arithmetic = is_ace ? YP_FP32 : YP_FP64)
        status =
            rx_matched_score(matched, &m.tiles.source, is_ace ? RX_ACE : RX_MATCHED_FILTER, m.out);
    yp_ok(t, status);
    rx_matched_destroy(matched);
    rx_destroy(rx);
}

static const struct rx_local_options windows = {.inner = 5, .outer = 15, .threads = THREADS};

static void local_budgets(const struct yp_case *c, struct yp_budgets *out)
{
    struct rx_image image = sized(c, 64);
    yp_budget_add(out,
                  yp_max_peak(YP_HOST, kept_bytes(&image, 1) + rx_local_bytes(&image, &windows)));
}

/* Useful operations of a pixel, in double: a pixel comes and one goes in each of two windows'
 * columns (4 C (C + 1)), a column comes and one goes in both, and one is taken off the other
 * (5 C (C + 1) / 2), Cholesky (C^3 / 3), and the score (C^2). With 10 channels shares are 0.03 to
 * 0.05 (a Zen 4: 0.15 to 0.19 with 50): 61 % of one thread's time is Cholesky and score of 11 rows,
 * whose columns do not fill a vector. */
YP_TEST(rx_methods, local, .tags = "perf small",
        .axes = YP_AXES(yp_axis_int("channels", 10, 50, 100)), .timeout = 120,
        .budgets_of = local_budgets)
{
    struct methods m;
    keep(t, &m, 64, 1);
    double c = (double)m.channels;
    enum yp_status status = YP_OK;
    yp_measure (t, "local RX", WORK(&m, 6.5 * c * (c + 1) + c * c * c / 3 + c * c, 4 * c),
                .arithmetic = YP_FP64) {
        status = rx_local(yp_device(t), &m.image, &windows, m.out, NULL);
    }
    yp_ok(t, status);
}

/* At once: the noise, in double, the detector, and first what estimates the noise, then what makes
 * components of it. */
static void mnf_budgets(const struct yp_case *c, struct yp_budgets *out)
{
    struct rx_image image = sized(c, 128);
    size_t n = image.channels, noise = rx_noise_bytes(&image, RX_LOWER_RIGHT, THREADS);
    size_t mnf = rx_mnf_bytes(n, TILE_PIXELS, THREADS);
    yp_budget_add(out, yp_max_peak(YP_HOST, kept_bytes(&image, n) + n * n * sizeof(double) +
                                                rx_bytes(n, TILE_PIXELS, THREADS) +
                                                (noise > mnf ? noise : mnf)));
    if (n >= 50)
        yp_budget_add(out, yp_min_share("noise", 0.12), yp_min_share("components", 0.13));
}

/* C (C + 1) a pixel for the noise of differences, 2 C^2 for all components. With 10 channels the
 * share of components is 0.05 to 0.1 (0.3 to 0.45 with 50): products are a third of its time on one
 * thread of a Zen 4, the rest centring, copying and looking for what is not finite. */
YP_TEST(rx_methods, mnf, .tags = "perf small", .axes = YP_AXES(CHANNELS), .budgets_of = mnf_budgets)
{
    struct methods m;
    keep(t, &m, 128, (size_t)yp_int(t, "channels"));
    size_t n = m.channels;
    double *noise = yp_alloc(t, n * n * sizeof *noise), c = (double)n;
    struct rx *rx = fitted(t, &m);
    enum yp_status status = YP_OK;
    yp_measure (t, "noise", WORK(&m, c * (c + 1), 4 * c))
        status = rx_noise(yp_device(t), &m.image, RX_LOWER_RIGHT, THREADS, noise);
    yp_ok(t, status);
    struct rx_mnf *mnf =
        rx_mnf_create(yp_device(t), rx, noise, NULL, m.tiles.source.tile_pixels, THREADS);
    yp_got(t, mnf);
    yp_measure (t, "components", WORK(&m, 2 * c * c, 8 * c))
        status = rx_mnf_forward(mnf, &m.tiles.source, n, m.out);
    yp_ok(t, status);
    rx_mnf_destroy(mnf);
    rx_destroy(rx);
}

/* The detector, its loss and pipelines at the edges of their blocks, against plain loops in double:
 * numbers of channels, sizes of tiles, gaps between pixels, pixels that are not finite, levels far
 * from 0. */
#include "base/numbers/splitmix.h"
#include "suites/pipelines.h"
#include "suites/plain_linear.h"
#include "suites/scene_tiles.h"
#include "suites/score_error.h"
#include "suites/worst.h"

#include <math.h>
#include <string.h>

enum { PIXELS = 1300, DEAD_FROM = 512, DEAD_TO = 1030 };

/* Pixels whose channels are correlated, `stride` floats apart; one in 16 is a target. */
struct pixels {
    float *here, *there; /* on the host; where the detector reads them */
    uint8_t *labels, *labels_there;
    size_t pixels, channels, stride, tile_pixels;
};

static enum yp_status yield_pixels(void *arg, size_t index, float *values, uint8_t *labels,
                                   struct rx_tile *tile)
{
    const struct pixels *s = arg;
    size_t first = index * s->tile_pixels, left = s->pixels - first;
    (void)values, (void)labels;
    *tile = (struct rx_tile){s->there + first * s->stride,
                             left < s->tile_pixels ? left : s->tile_pixels, s->channels,
                             s->labels_there + first, s->stride};
    return YP_OK;
}

static struct rx_source source_of(struct pixels *s)
{
    return (struct rx_source){s->channels, s->tile_pixels,
                              (s->pixels + s->tile_pixels - 1) / s->tile_pixels, yield_pixels, s};
}

static bool counts(const struct pixels *s, size_t pixel)
{
    return finite_pixel(s->here + pixel * s->stride, s->channels);
}

/* "far": levels of 10,000 that differ between tiles of 333 pixels; "steps": two values,
 * nearly, and a sample of every eighth pixel has one of them; "dead": a channel is constant. Some
 * pixels, and a run longer than a chunk but for one, are not finite. */
static void make_pixels(struct yp_case *t, struct pixels *s, const char *data)
{
    static const float odd[] = {NAN, INFINITY, -INFINITY};
    struct ypi_seed seed = ypi_seed_of(yp_seed(t), 36, s->channels);
    s->here = yp_alloc_host(t, s->pixels * s->stride * sizeof *s->here);
    s->labels = yp_alloc_host(t, s->pixels);
    for (size_t p = 0; p < s->pixels; p++) {
        double common = ypi_seed_normal(&seed), level = 3;
        float *x = s->here + p * s->stride;
        s->labels[p] = p % 16 == 5;
        bool steps = strcmp(data, "steps") == 0;
        size_t part = p / 333;
        if (strcmp(data, "far") == 0)
            level = 1e4 + 100 * (double)part;
        else if (steps)
            level = p % 8 == 0 ? 1.1e6 : 0.3;
        for (size_t c = 0; c < s->stride; c++) {
            double own = ypi_seed_normal(&seed) * (0.3 + (double)(c % 7) / 7) + common;
            own += s->labels[p] != 0 && c % 3 == 0 ? 2 : 0;
            x[c] = c < s->channels ? (float)(level + (steps ? 1e-4 : 1) * own) : 1e30F;
        }
        if (strcmp(data, "dead") == 0)
            x[s->channels / 2] = 0.1F;
        if (p % 211 == 64 || (p >= DEAD_FROM && p < DEAD_TO && p != 700))
            x[p % s->channels] = odd[p % 3];
    }
    s->there = s->here;
    s->labels_there = s->labels;
    yp_data_hash(t, yp_hash_f32(0, s->here, s->pixels * s->stride));
}

/* -- the detector ------------------------------------------------------------------------------ */

/* Regularisation, and shrinkage where a channel is dead. */
static const struct rx_finish_options finish = {.eps = 1e-3, .mask_dead = true, .shrink = 0.2};

/* Mean and covariance of the finite pixels, then the factor of the covariance with the ridge; of a
 * dead channel it is 1. */
struct oracle {
    double *mean, *covariance, *factor;
    double low, high;
    size_t kept;
};

static struct oracle oracle_of(struct yp_case *t, const struct pixels *s, bool dead)
{
    size_t n = s->channels;
    struct oracle o = {.low = INFINITY, .high = -INFINITY};
    o.mean = yp_alloc_host(t, (n + 2 * n * n) * sizeof *o.mean);
    memset(o.mean, 0, (n + 2 * n * n) * sizeof *o.mean);
    o.covariance = o.mean + n;
    o.factor = o.covariance + n * n;
    for (size_t p = 0; p < s->pixels; p++) {
        const float *x = s->here + p * s->stride;
        bool kept = counts(s, p);
        o.kept += kept;
        for (size_t c = 0; c < n && kept; c++) {
            o.mean[c] += (double)x[c];
            o.low = fmin(o.low, (double)x[c]);
            o.high = fmax(o.high, (double)x[c]);
        }
    }
    for (size_t c = 0; c < n; c++)
        o.mean[c] /= (double)o.kept;
    for (size_t p = 0; p < s->pixels; p++)
        for (size_t i = 0; i < n && counts(s, p); i++)
            for (size_t j = 0; j <= i; j++)
                o.covariance[i * n + j] += ((double)s->here[p * s->stride + i] - o.mean[i]) *
                                           ((double)s->here[p * s->stride + j] - o.mean[j]) /
                                           (double)(o.kept - 1);
    for (size_t j = 0; j < n; j++)
        for (size_t i = j; i < n; i++) {
            double left = o.covariance[j * n + i] = o.covariance[i * n + j];
            if (i == j)
                left += finish.eps * (o.high - o.low) * (o.high - o.low);
            else if (dead)
                left *= 1 - finish.shrink;
            if (dead && (i == n / 2 || j == n / 2))
                left = i == j;
            for (size_t k = 0; k < j; k++)
                left -= o.factor[i * n + k] * o.factor[j * n + k];
            o.factor[i * n + j] = i == j ? sqrt(left) : left / o.factor[j * n + j];
        }
    return o;
}

static double right_score(const struct oracle *o, const float *x, size_t n)
{
    double wide[256], z[256];
    for (size_t i = 0; i < n; i++)
        wide[i] = (double)x[i];
    return whiten(o->factor, o->mean, wide, n, z);
}

/* How far the covariance is off; all else of the statistics is exact, or nearly. */
static double judge_fit(struct yp_case *t, const struct rx *rx, const struct pixels *s,
                        const struct oracle *o)
{
    size_t n = s->channels;
    struct rx_summary all;
    double *got = yp_alloc_host(t, n * n * sizeof *got), off = 0, size = 0, mean = 0;
    rx_summary(rx, &all);
    yp_ok(t, rx_covariance(rx, got));
    for (size_t i = 0; i < n * n; i++) {
        off += pow(got[i] - o->covariance[i], 2);
        size += pow(o->covariance[i], 2);
    }
    for (size_t c = 0; c < n; c++)
        mean =
            worse(mean, fabs(rx_mean(rx)[c] - o->mean[c]) / sqrt(o->covariance[c * n + c] + 1e-9));
    yp_expect(t,
              all.pixels == o->kept && all.skipped == s->pixels - o->kept &&
                  (double)all.min == o->low && (double)all.max == o->high && mean < 1e-7,
              "tiles of %zu: %zu pixels, %zu skipped, from %g to %g, means off by %g",
              s->tile_pixels, (size_t)all.pixels, (size_t)all.skipped, (double)all.min,
              (double)all.max, mean);
    return sqrt(off / size);
}

static double judge_scores(struct yp_case *t, struct rx *rx, struct pixels *s,
                           const struct oracle *o)
{
    struct rx_source source = source_of(s);
    size_t places = source.tiles * source.tile_pixels;
    float *scores = yp_alloc_host(t, places * sizeof *scores);
    float *there = runs_on_gpu(t) ? yp_alloc(t, places * sizeof *there) : scores;
    double *right = yp_alloc_host(t, places * sizeof *right);
    yp_ok(t, rx_score(rx, &source, there));
    if (there != scores)
        yp_ok(t, yp_device_copy(yp_device(t), scores, there, places * sizeof *scores));
    for (size_t p = 0; p < places; p++)
        right[p] = p < s->pixels && counts(s, p)
                       ? right_score(o, s->here + p * s->stride, s->channels)
                       : NAN;
    return relative_error(t, scores, right, places);
}

/* A GPU gives the same error of its scores as the CPU, within one part in 500: it sums by blocks.
 */
static void expect_same_error(struct yp_case *t, const struct rx *rx, const struct pixels *s)
{
    struct pixels here = *s;
    struct rx_source source = source_of(&here);
    struct rx *right = open_rx_on(t, yp_device_cpu(), s->channels, s->tile_pixels, 2, RX_FP32);
    here.there = here.here;
    here.labels_there = here.labels;
    yp_ok(t, rx_fit(right, &source));
    yp_ok(t, rx_finish(right, finish.eps));
    yp_expect(t, fabs(rx_score_error(rx) / rx_score_error(right) - 1) < 5e-3,
              "scores are said to be off by %g, on the CPU by %g", rx_score_error(rx),
              rx_score_error(right));
    rx_destroy(right);
}

/* Beyond float is not the same as no value. Changes the data. */
static void expect_infinite(struct yp_case *t, struct pixels *s)
{
    struct rx_source source = source_of(s);
    float scores[2], *to = yp_alloc(t, s->tile_pixels * sizeof *to);
    struct rx *rx = open_rx(t, s->channels, s->tile_pixels, 2);
    yp_ok(t, rx_fit(rx, &source));
    yp_ok(t, rx_finish(rx, finish.eps));
    expect_same_error(t, rx, s);
    s->here[0] = 1e25F;
    s->here[s->stride] = INFINITY;
    source.tiles = 1;
    yp_ok(t, yp_device_copy(yp_device(t), s->there, s->here, 2 * s->stride * sizeof *to));
    yp_ok(t, rx_score(rx, &source, to));
    yp_ok(t, yp_device_copy(yp_device(t), scores, to, sizeof scores));
    yp_expect(t, isinf(scores[0]) && isnan(scores[1]), "scores are %g and %g", (double)scores[0],
              (double)scores[1]);
    rx_destroy(rx);
}

/* The largest over tensors of how far two gradients are apart, relative to the right one. */
static double apart(const float *got, const double *right, const struct yp_tensor *tensors,
                    size_t count)
{
    double worst = 0;
    for (size_t k = 0; k < count; k++) {
        double off = 0, size = 0;
        for (size_t i = tensors[k].offset; i < tensors[k].offset + tensors[k].count; i++) {
            off += pow((double)got[i] - right[i], 2);
            size += right[i] * right[i];
        }
        worst = worse(worst, size > 0 ? sqrt(off / size) : sqrt(off));
    }
    return worst;
}

/* All of it, on the host. */
static struct rx_tile tile_of(const struct pixels *s)
{
    return (struct rx_tile){s->here, s->pixels, s->channels, s->labels, s->stride};
}

/* Twice with the same object: nothing is left of the pass before. A is not symmetric. */
static double judge_loss(struct yp_case *t, struct pixels *s, const struct oracle *o)
{
    size_t n = s->channels, count = rx_loss_parameters(n);
    struct ypi_seed seed = ypi_seed_of(yp_seed(t), 37, n);
    struct rx_pipeline_options options = {.channels = n, .tile_pixels = s->pixels};
    float *at = yp_alloc_host(t, count * sizeof *at), *got = yp_alloc_host(t, count * sizeof *got);
    double *to_be = yp_alloc_host(t, count * sizeof *to_be), mean = 0, off = 0;
    for (size_t i = 0; i < count; i++)
        at[i] = i < n ? (float)(o->mean[i] + 0.2 * ypi_seed_normal(&seed))
                      : (float)(((i - n) % (n + 1) == 0 ? 1.0 : 0) +
                                0.3 * ypi_seed_normal(&seed) / sqrt((double)n));
    at[count - 2] = 0.7F / (float)n;
    at[count - 1] = 1.1F * (float)n;
    const struct rx_tile tile = tile_of(s);
    double right = plain_gradient(t, &options, &tile, in_double(t, at, count), to_be);
    struct rx_loss *loss = rx_loss_create(yp_device(t), n, s->tile_pixels, 2);
    struct rx_source source = source_of(s);
    float *there = sent(t, at, count * sizeof *at), *to = yp_alloc(t, count * sizeof *to);
    struct yp_tensor tensors[RX_LOSS_TENSORS];
    yp_got(t, loss);
    rx_loss_tensors(n, tensors);
    for (int again = 0; again < 2; again++) {
        yp_ok(t, rx_loss_gradient(loss, &source, there, &mean, to));
        yp_ok(t, yp_device_copy(yp_device(t), got, to, count * sizeof *got));
        off =
            worse(off, worse(fabs(mean / right - 1), apart(got, to_be, tensors, RX_LOSS_TENSORS)));
    }
    rx_loss_destroy(loss);
    return off;
}

/* What an error of the covariance may be: rx.h. Values of two levels alone round alike. */
static double bound_of(enum rx_precision precision, const char *data)
{
    double bound = precision == RX_FP64 ? 1e-12 : precision == RX_BF16X2 ? 1e-5 : 1e-6;
    return precision < RX_FP64 && strcmp(data, "steps") == 0 ? 512 * 0x1p-25 : bound;
}

/* Where the level makes a difference, all channels are alike. */
static bool has_level(const struct yp_case *t)
{
    long long n = yp_int(t, "channels");
    const char *data = yp_string(t, "data");
    return strcmp(data, "near") == 0 || (strcmp(data, "dead") == 0 ? n > 3 : n < 100);
}

YP_TEST(rx, shapes, .tags = "stress small", .timeout = 120, .parallel = true,
        .axes = YP_AXES(yp_axis_int("channels", 1, 3, 8, 17, 33, 100, 121, 248),
                        yp_axis_string("data", "near", "far", "steps", "dead")),
        .devices = "cpu cuda", .filter = has_level)
{
    static const size_t tiles[] = {PIXELS, 522, 33, 1};
    size_t n = (size_t)yp_int(t, "channels");
    const char *data = yp_string(t, "data");
    struct pixels s = {.pixels = PIXELS, .channels = n, .stride = n + n % 3};
    double of_fit = 0, of_scores = 0, of_loss = 0;
    make_pixels(t, &s, data);
    bool dead = strcmp(data, "dead") == 0;
    struct oracle o = oracle_of(t, &s, dead);
    if (runs_on_gpu(t)) {
        s.there = sent(t, s.here, s.pixels * s.stride * sizeof *s.here);
        s.labels_there = sent(t, s.labels, s.pixels);
    }
    for (size_t i = 0; i < sizeof tiles / sizeof *tiles; i++)
        for (int p = RX_FP32; p <= (runs_on_gpu(t) ? RX_FP32 : RX_FP64); p++) {
            s.tile_pixels = tiles[i];
            if (runs_on_gpu(t) && tiles[i] < 100 && n != 17)
                continue; /* too many launches for an emulated one */
            struct rx_source source = source_of(&s);
            struct rx *rx = open_rx_on(t, yp_device(t), n, s.tile_pixels, 2, (enum rx_precision)p);
            yp_ok(t, rx_fit(rx, &source));
            of_fit = worse(of_fit, judge_fit(t, rx, &s, &o) / bound_of((enum rx_precision)p, data));
            yp_ok(t, dead ? rx_finish_with(rx, &finish) : rx_finish(rx, finish.eps));
            yp_expect(t, rx_masked(rx, NULL) == dead, "%zu masked", rx_masked(rx, NULL));
            if (p == RX_FP32)
                of_scores = worse(of_scores, judge_scores(t, rx, &s, &o));
            if (p == RX_FP32 && i < 2 && strcmp(data, "near") == 0)
                of_loss = worse(of_loss, judge_loss(t, &s, &o));
            rx_destroy(rx);
        }
    s.tile_pixels = 522;
    expect_infinite(t, &s);
    yp_value(t, "covariance over bound", of_fit);
    yp_value(t, "score off", of_scores);
    yp_value(t, "loss off", of_loss);
    yp_expect(t, of_fit <= 1 && of_scores < 1e-5 && of_loss < 2e-5,
              "covariance off by %g of its bound, scores by %g, loss or gradient by %g", of_fit,
              of_scores, of_loss);
}

/* -- what is refused --------------------------------------------------------------------------- */

enum { CLEAN = 8, BAD = 3 };

/* What is wrong with some pixels, and the words that rx_finish() has for it. */
static const struct refusal {
    const char *name, *words;
    size_t pixels;
    double eps;
} refusals[] = {
    {"one", "takes 2 at least", 1, 1e-3},
    {"none", "0 finite pixels (60 skipped)", 60, 1e-3},
    {"few", "8 finite pixels cannot give a covariance of 8 channels full rank", CLEAN, 0},
    {"dead", "channel 3 is dead, all its 60 values are 7", 60, 0},
    {"explained", "not positive definite at channel 3", 60, 0},
    {"nearly", "not positive definite at channel 3", 60, 0},
    {"beyond", "channel 3 has values from", 60, 1e-3}};

/* By either device in the same words; what is refused leaves no factor, and no loss. */
YP_TEST(rx, refusals, .tags = "stress small", .parallel = true,
        .axes = YP_AXES(yp_axis_string("data", "one", "none", "few", "dead", "explained", "nearly",
                                       "beyond")),
        .devices = "cpu cuda")
{
    const struct refusal *r = refusals;
    while (strcmp(r->name, yp_string(t, "data")) != 0)
        r++;
    struct pixels s = {
        .pixels = r->pixels, .channels = CLEAN, .stride = CLEAN, .tile_pixels = r->pixels};
    make_pixels(t, &s, "near");
    for (size_t p = 0; p < s.pixels; p++) {
        float *x = s.here + p * CLEAN;
        if (strcmp(r->name, "none") == 0)
            x[p % CLEAN] = NAN;
        else if (strcmp(r->name, "dead") == 0)
            x[BAD] = 7;
        else if (strcmp(r->name, "explained") == 0)
            x[BAD] = 0.5F * x[1] + x[2];
        else if (strcmp(r->name, "nearly") == 0) /* to less than 2^-20 of its variance */
            x[BAD] = 0.5F * x[1] + 1e-4F * (float)(p * 7 % 11);
        else if (strcmp(r->name, "beyond") == 0 && p == 9)
            x[BAD] = 3e30F;
    }
    if (runs_on_gpu(t)) {
        s.there = sent(t, s.here, s.pixels * CLEAN * sizeof *s.here);
        s.labels_there = sent(t, s.labels, s.pixels);
    }
    struct rx_source source = source_of(&s);
    struct rx *rx = open_rx(t, CLEAN, s.pixels, 2);
    struct rx_loss *loss = rx_loss_create(yp_device(t), CLEAN, s.pixels, 2);
    size_t n = rx_loss_parameters(CLEAN);
    float *scores = yp_alloc(t, s.pixels * sizeof *scores);
    float *at = yp_alloc_host(t, n * sizeof *at), *to = yp_alloc(t, n * sizeof *to);
    double mean;
    yp_got(t, loss);
    yp_ok(t, rx_fit(rx, &source));
    enum yp_status status = rx_finish(rx, r->eps);
    yp_expect(t, status == YP_INVALID && strstr(yp_last_error(), r->words) != NULL,
              "status %d, '%s'", (int)status, yp_last_error());
    yp_expect(t,
              rx_score(rx, &source, scores) == YP_INVALID &&
                  strstr(yp_last_error(), "no factor") != NULL && rx_masked(rx, NULL) == 0 &&
                  rx_score_error(rx) == 0 && rx_loss_start(rx, 1, 0, at) == YP_INVALID,
              "there is a factor: %s", yp_last_error());
    memset(at, 0, n * sizeof *at);
    status = rx_loss_gradient(loss, &source, sent(t, at, n * sizeof *at), &mean, to);
    yp_expect(t, strcmp(r->name, "none") != 0 || status == YP_INVALID, "a loss of nothing");
    rx_loss_destroy(loss);
    rx_destroy(rx);
}

/* -- pipelines --------------------------------------------------------------------------------- */

static struct rx_pipeline_options options_of(struct yp_case *t, const struct pixels *s)
{
    struct rx_pipeline_options o = {.channels = s->channels,
                                    .tile_pixels = s->tile_pixels,
                                    .threads = 2,
                                    .tiles = RX_TILES_OVERLAPPED,
                                    .normalise = true,
                                    .eps = 1e-3,
                                    .scale = 0.02F};
    const char *name = yp_string(t, "pipeline");
    o.select = strstr(name, "selector") != NULL;
    o.train_temperature = o.select && strstr(name, "hard") == NULL;
    o.keep = o.select ? 3 : 0;
    o.temperature = o.select ? 0.8 : 0;
    o.whiten = strstr(name, "whitened") != NULL;
    o.components = strstr(name, "pca") != NULL || o.whiten ? s->channels - s->channels / 4 : 0;
    o.orthogonality = o.components > 0 ? 0.5 : 0;
    if (strstr(name, "hard") != NULL) {
        o.hard = strstr(name, "ones") != NULL ? RX_TOP_ONES : RX_TOP_WEIGHTS;
        o.uniform = o.hard == RX_TOP_WEIGHTS;
        o.normalise = false;
        o.entropy = -0.2;
        o.diversity = -0.3;
    }
    o.detector = strstr(name, "lad") != NULL           ? RX_LAD
                 : strstr(name, "image") != NULL       ? RX_IMAGE
                 : strstr(name, "autoencoder") != NULL ? RX_AUTOENCODER
                                                       : RX_GLOBAL;
    if (o.detector == RX_LAD || o.detector == RX_AUTOENCODER)
        o.eps = 0;
    o.hidden = o.detector == RX_AUTOENCODER ? s->channels - s->channels / 5 : 0;
    return o;
}

/* A tile of several chunks of a GPU's, the last of one pixel, where there are two channels. */
enum { LARGE = 2 * 65536 + 1 };

static bool has_pixels(const struct yp_case *t)
{
    const char *name = yp_string(t, "pipeline");
    return yp_int(t, "channels") > 2 || strcmp(name, "rx") == 0 ||
           strcmp(name, "pca-selector") == 0 || strcmp(name, "image-selector") == 0 ||
           strcmp(name, "autoencoder-selector") == 0;
}

/* Scores and gradient of one tile, a little away from where training starts. */
YP_TEST(rx, pipeline_shapes, .tags = "stress small", .timeout = 120, .parallel = true,
        .axes = YP_AXES(yp_axis_int("channels", 2, 3, 35, 90),
                        yp_axis_string("pipeline", "rx", "selector", "hard-selector",
                                       "hard-ones-selector-image", "pca-selector", "whitened",
                                       "lad-selector", "image-selector", "autoencoder-selector")),
        .devices = "cpu cuda", .filter = has_pixels)
{
    size_t n = (size_t)yp_int(t, "channels"), pixels = n == 2 ? LARGE : PIXELS;
    struct pixels s = {.pixels = pixels, .channels = n, .stride = n + n % 4, .tile_pixels = pixels};
    make_pixels(t, &s, "near");
    struct rx_pipeline_options o = options_of(t, &s);
    struct rx_pipeline *pipeline = open_pipeline(t, yp_device(t), &o);
    size_t count = rx_pipeline_parameters(pipeline);
    struct yp_tensor tensors[RX_PIPELINE_TENSORS];
    size_t n_tensors = rx_pipeline_tensors(pipeline, tensors);
    float *at = yp_alloc_host(t, 2 * count * sizeof *at), *got = at + count;
    float *scores = yp_alloc_host(t, pixels * sizeof *scores);
    double *right = yp_alloc_host(t, count * sizeof *right), mean = 0;
    struct rx_source source = source_of(&s);
    struct rx *rx = open_rx_on(t, yp_device_cpu(), n, pixels, 2, RX_FP32);
    yp_ok(t, rx_pipeline_fit(pipeline, rx, &source, at, NULL));
    for (size_t i = 0; i < count; i++)
        at[i] = at[i] * (1 + 1e-2F * (float)((double)(i * 2654435761U % 1024) / 512 - 1)) +
                (o.uniform && at[i] == 0 ? 0.1F * (float)(i % 5) : 0);
    const double *exact = in_double(t, at, count);
    const struct rx_tile tile = tile_of(&s);
    double loss = plain_gradient(t, &o, &tile, exact, right);
    yp_ok(t, rx_pipeline_gradient(pipeline, &source, at, &mean, got));
    yp_ok(t, rx_pipeline_score(pipeline, &source, at, scores, NULL));
    double of_scores = scores_off(t, &o, &tile, exact, scores);
    double of_gradient = apart(got, right, tensors, n_tensors);
    yp_value(t, "score off", of_scores);
    yp_value(t, "gradient off", of_gradient);
    yp_value(t, "loss off", fabs(mean / loss - 1));
    yp_expect(t, of_scores < 5e-6 && of_gradient < 1e-4 && fabs(mean / loss - 1) < 1e-5,
              "scores are off by %g, the gradient by %g, the loss by %g", of_scores, of_gradient,
              fabs(mean / loss - 1));
    rx_destroy(rx);
    rx_pipeline_destroy(pipeline);
}

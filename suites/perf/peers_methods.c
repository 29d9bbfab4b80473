/* The methods beside RX, and ROC-AUC, beside Spectral Python and scikit-learn: results and times on
 * the same image. */
#include "suites/perf/peers.h"

#include "models/metrics/metrics.h"
#include "models/rx/methods/local.h"
#include "models/rx/methods/matched.h"
#include "models/rx/methods/mnf.h"
#include "suites/perf/rx_work.h"

#include <math.h>
#include <string.h>

#define AXES \
    yp_axis_int("side", 64, 256), yp_axis_int("channels", 10, 50, 100), \
        yp_axis_string("method", "filter", "ace", "mnf", "local", "auc")
#define THREADS 2
#define ROWS 20 /* of local RX, which takes Spectral Python a millisecond a pixel */
#define PARTS 5 /* components whose eigenvalues stand apart, so that none turns into another */

static bool is(const struct yp_case *t, const char *method)
{
    return strcmp(yp_string(t, "method"), method) == 0;
}

static bool is_measured(const struct yp_case *t)
{
    bool local = is(t, "local");
    return (yp_int(t, "side") == 64) == local && (yp_int(t, "channels") == 100) != local;
}

/* Statistics are summed in double for the exact results of filter and ACE. */
static bool is_ours(const struct yp_case *t)
{
    return is_measured(t) && (yp_int(t, "bits") == 32 || is(t, "filter") || is(t, "ace"));
}

YP_COMMAND(peers, other_methods, .tags = PEERS_TAGS, .timeout = 1800, .filter = is_measured,
           .axes = YP_AXES(AXES), .command = PEER("methods", "{side} {channels} {seed} {method}"),
           .environment = "OMP_NUM_THREADS=2 OPENBLAS_NUM_THREADS=2");

/* Waves of several sizes over the image, for MNF, which finds nothing where neighbours have nothing
 * in common. Exact in float. */
static void add_waves(struct peers_image *image)
{
    size_t channels = image->source.channels;
    for (size_t p = 0; p < image->pixels; p++)
        for (size_t c = 0; c < channels; c++) {
            float *x = &image->values[p * channels + c];
            *x /= 2;
            for (size_t k = 0; k < PARTS; k++) {
                size_t phase = 2 * (k + 1) * (p / image->side) + p % image->side;
                float wave = fabsf((float)(phase % 256) - 128) / 128;
                *x += (c >> k & 1 ? wave : -wave) / (float)(8U << k);
            }
        }
}

struct methods {
    struct peers_image data;
    struct rx_image image;
    struct rx_image_tiles tiles;
    float *target; /* (channels) */
    float *out;    /* (places, channels), as tiles place them */
    double *square, *values;
    enum rx_precision precision;
};

static struct rx *fitted(struct yp_case *t, struct methods *m)
{
    struct rx *rx = open_rx_on(t, yp_device_cpu(), m->image.channels, m->tiles.source.tile_pixels,
                               THREADS, m->precision);
    yp_ok(t, rx_fit(rx, &m->tiles.source));
    return rx;
}

static void match(struct yp_case *t, struct methods *m, enum rx_match how)
{
    struct rx *rx = fitted(t, m);
    yp_ok(t, rx_finish(rx, 0));
    struct rx_matched *matched =
        rx_matched_create(yp_device_cpu(), rx, m->target, 1, m->tiles.source.tile_pixels, THREADS);
    yp_got(t, matched);
    yp_ok(t, rx_matched_score(matched, &m->tiles.source, how, m->out));
    rx_matched_destroy(matched);
    rx_destroy(rx);
}

static void mnf(struct yp_case *t, struct methods *m)
{
    size_t channels = m->image.channels;
    struct rx *rx = fitted(t, m);
    yp_ok(t, rx_noise(yp_device_cpu(), &m->image, RX_LOWER_RIGHT, THREADS, m->square));
    struct rx_mnf *made =
        rx_mnf_create(yp_device_cpu(), rx, m->square, NULL, m->tiles.source.tile_pixels, THREADS);
    yp_got(t, made);
    yp_ok(t, rx_mnf_forward(made, &m->tiles.source, channels, m->out));
    memcpy(m->values, rx_mnf_eigenvalues(made), channels * sizeof *m->values);
    rx_mnf_destroy(made);
    rx_destroy(rx);
}

static void run(struct yp_case *t, struct methods *m)
{
    if (is(t, "mnf"))
        mnf(t, m);
    else if (is(t, "local"))
        yp_ok(t, rx_local(yp_device_cpu(), &m->image,
                          &(struct rx_local_options){.inner = 5, .outer = 15, .threads = THREADS},
                          m->out, NULL));
    else if (is(t, "auc"))
        yp_ok(t, metrics_auc(yp_device_cpu(), m->image.values, m->data.labels, m->data.pixels,
                             m->values, NULL));
    else
        match(t, m, is(t, "ace") ? RX_ACE : RX_MATCHED_FILTER);
}

/* The squares of a component, whose sign is free. */
static double squares(struct yp_case *t, const float *y, size_t pixels, size_t channels)
{
    double *square = yp_alloc(t, pixels * sizeof *square), sum = 0;
    for (size_t k = 0; k < PARTS; k++) {
        for (size_t p = 0; p < pixels; p++)
            square[p] = (double)y[p * channels + k] * (double)y[p * channels + k];
        sum += log(peers_digest(square, pixels));
    }
    return exp(sum / PARTS);
}

/* ROC-AUC is of the first `pixels` values as scores: whole numbers, so with ties. */
YP_TEST(peers, methods, .tags = PEERS_TAGS, .timeout = PEERS_TIMEOUT, .filter = is_ours,
        .axes = YP_AXES(AXES, yp_axis_int("bits", 32, 64)))
{
    struct methods m = {.precision = yp_int(t, "bits") == 64 ? RX_FP64 : RX_FP32};
    peers_image_open(&m.data, t);
    if (is(t, "mnf"))
        add_waves(&m.data);
    size_t side = m.data.side, channels = m.data.source.channels, pixels = m.data.pixels;
    size_t rows = is(t, "local") ? ROWS : side;
    m.image = (struct rx_image){m.data.values, rows, side, channels};
    yp_ok(t, rx_image_pixels(&m.image, &m.tiles));
    size_t places = m.tiles.source.tiles * m.tiles.source.tile_pixels;
    m.out = yp_alloc(t, places * channels * sizeof *m.out);
    m.square = yp_alloc(t, channels * channels * sizeof *m.square);
    m.values = yp_alloc(t, channels * sizeof *m.values);
    m.target = yp_alloc(t, channels * sizeof *m.target);
    for (size_t c = 0; c < channels; c++) /* off the background, exact in float */
        m.target[c] = m.data.values[c] * (float)(8 + c % 7) / 8;
    yp_measure (t, "method", .items = (double)(rows * side), .unit = "pixels", .threads = THREADS)
        run(t, &m);
    if (is(t, "auc")) {
        yp_value(t, "auc", m.values[0]);
        return;
    }
    if (is(t, "mnf")) {
        yp_value(t, "noise", peers_digest(m.square, channels * channels));
        yp_value(t, "first eigenvalue", m.values[0]);
        yp_value(t, "last eigenvalue", m.values[channels - 1]);
        yp_value(t, "components", squares(t, m.out, pixels, channels));
        return;
    }
    yp_value(t, "scores", peers_digest_f32(t, m.out, rows * side));
}

#define OURS(case_, bits_) "perf/peers_methods.c::methods[" case_ "-bits=" bits_ "]"
#define THEIRS(case_) "perf/peers_methods.c::other_methods[" case_ "]"
#define AGREES(name_, what_, case_, bits_, off_) \
    PEERS_AGREES(name_, what_, OURS(case_, bits_), THEIRS(case_), off_)
#define FASTER(name_, case_, least_) \
    PEERS_FASTER(name_, "method", OURS(case_, "32"), THEIRS(case_), least_)
#define AT_256(method_) "side=256-channels=100-method=" method_

AGREES(filter, "scores", AT_256("filter"), "32", 1e-3);
AGREES(filter_exact, "scores", AT_256("filter"), "64", 1e-6);
AGREES(ace, "scores", AT_256("ace"), "32", 1e-3);
AGREES(ace_exact, "scores", AT_256("ace"), "64", 3e-6);
AGREES(mnf_noise, "noise", AT_256("mnf"), "32", 1e-6);
AGREES(mnf_first, "first eigenvalue", AT_256("mnf"), "32", 3e-4);
AGREES(mnf_last, "last eigenvalue", AT_256("mnf"), "32", 3e-4);
AGREES(mnf_components, "components", AT_256("mnf"), "32", 1e-4);
AGREES(local_10, "scores", "side=64-channels=10-method=local", "32", 1e-6);
AGREES(local_50, "scores", "side=64-channels=50-method=local", "32", 1e-6);
AGREES(auc, "auc", AT_256("auc"), "32", 1e-12);
FASTER(filter_time, AT_256("filter"), 5);
FASTER(ace_time, AT_256("ace"), 5);
FASTER(mnf_time, AT_256("mnf"), 5);
FASTER(local_10_time, "side=64-channels=10-method=local", 5);
FASTER(local_50_time, "side=64-channels=50-method=local", 5);
FASTER(auc_time, AT_256("auc"), 1);

/* Whole pipelines forward, from raw values to logits: latency of a single image and of a batch, and
 * images a second. */
#include "suites/perf/rx_work.h"
#include "suites/pipelines.h"

#include <string.h>

#define SIDE 64
#define CHANNELS 10
#define HIDDEN 5
#define THREADS 2
#define REFERENCE "the reference system: 8.5 ms a forward pass of one image"

static struct rx_pipeline_options options_named(const char *name)
{
    struct rx_pipeline_options o = {
        .channels = CHANNELS, .threads = THREADS, .normalise = true, .select = true, .eps = RX_EPS};
    if (strcmp(name, "pca") == 0 || strcmp(name, "residual") == 0) {
        o.components = HIDDEN;
        o.whiten = true;
        o.residual = strcmp(name, "residual") == 0;
    } else if (strcmp(name, "lad") == 0) {
        o.detector = RX_LAD;
    } else if (strcmp(name, "image") == 0) {
        o.detector = RX_IMAGE;
    } else if (strcmp(name, "autoencoder") == 0) {
        o.detector = RX_AUTOENCODER;
        o.hidden = HIDDEN;
    }
    return o;
}

/* Useful operations a pixel: MinMax and selector are one product and a sum a channel; a quadratic
 * form of C channels is C^2, as a triangular product has it; the logit 2. */
static double flops_of(const struct rx_pipeline_options *o)
{
    double c = CHANNELS, k = (double)o->components, h = HIDDEN, front = 2 * c;
    switch (o->detector) {
    case RX_AUTOENCODER:
        return front + 4 * h * c + 3 * c;
    case RX_IMAGE:
        return front + c * (c + 1) + c * c + 2;
    default:
        return front + (o->components > 0 ? 2 * k * c + k * k : c * c) +
               (o->residual ? 2 * k * c + 2 * c : 0) + 2;
    }
}

/* What a case has at once on the CPU: images with their labels and counts, results, the detector,
 * the pipeline and its parameters. */
static void predict(const struct yp_case *c, struct yp_budgets *out)
{
    static const struct {
        const char *name;
        size_t parameters;
    } pipelines[] = {{"rx", 124},  {"pca", 109},  {"residual", 110},
                     {"lad", 124}, {"image", 14}, {"autoencoder", 127}};
    struct rx_pipeline_options o = options_named(yp_string(c, "pipeline"));
    size_t pixels = SIDE * SIDE, batch = (size_t)yp_int(c, "batch"), parameters = 0;
    size_t results = o.detector == RX_AUTOENCODER ? 1 : 2; /* scores; logits */
    if (strcmp(yp_device_of(c), "cpu") != 0)
        return;
    for (size_t i = 0; i < sizeof pipelines / sizeof *pipelines; i++)
        if (strcmp(pipelines[i].name, yp_string(c, "pipeline")) == 0)
            parameters = pipelines[i].parameters;
    o.tile_pixels = pixels;
    size_t images = batch * (pixels * ((CHANNELS + results) * sizeof(float) + 1) + sizeof(size_t));
    yp_budget_add(out,
                  yp_max_peak(YP_HOST, images + rx_bytes(CHANNELS, pixels, THREADS) +
                                           rx_pipeline_bytes(&o) + parameters * sizeof(float)));
}

/*
 * A tile is an image; on a GPU it is the batch, but where each image has its own statistics.
 *
 * There is no floor. Shares are 0.01 to 0.09, since with 10 channels the declared work is not what
 * takes the time. Of one thread's (a Zen 4, batches of 16) OpenBLAS's products are 17 % (rx) to 35
 * % (residual); sums over a pixel's row (dots) 20 to 44 % and gathering pixels 13 to 40 %, by rows
 * of 10 values, which do not fill a vector. With 100 channels instead of 10 the same batches have 2
 * to 5 times the share. One image is one tile, so one of the two threads takes it: half the share
 * of a batch. On a GPU shares are 0.0001 to 0.0013: an image takes an H100 67 to 84 us, and each
 * more of a batch 14 to 18; with statistics of its own 186 us, and each more 167.
 */
YP_TEST(rx, pipeline_forward, .tags = "perf small",
        .axes = YP_AXES(yp_axis_string("pipeline", "rx", "pca", "residual", "lad", "image",
                                       "autoencoder"),
                        yp_axis_int("batch", 1, 4, 8, 16)),
        .devices = "cpu cuda", .timeout = 120,
        .budgets = YP_BUDGETS(yp_required(yp_max_percentile("forward", 99, 8.5e-3), REFERENCE)),
        .budgets_of = predict)
{
    struct scale s = {
        .cubes = (size_t)yp_int(t, "batch"), .height = SIDE, .width = SIDE, .channels = CHANNELS};
    struct rx_pipeline_options o = options_named(yp_string(t, "pipeline"));
    struct kept_tiles kept;
    if (o.residual && runs_on_gpu(t))
        yp_skip(t, "a GPU scores what PCA keeps alone");
    o.tile_pixels = o.detector == RX_IMAGE
                        ? (size_t)SIDE * SIDE
                        : scale_tile_pixels(&s, yp_device(t), (size_t)SIDE * SIDE);
    perf_keep(&kept, t, &s, o.tile_pixels);
    struct rx_pipeline *pipeline = open_pipeline(t, yp_device(t), &o);
    struct rx *rx = open_rx(t, CHANNELS, o.tile_pixels, THREADS);
    float *parameters = parameters_of(t, pipeline);
    yp_ok(t, rx_pipeline_fit(pipeline, rx, &kept.source, parameters, NULL));
    size_t places = kept.source.tiles * kept.source.tile_pixels;
    float *scores = yp_alloc_host(t, places * sizeof *scores);
    float *logits = o.detector == RX_AUTOENCODER ? NULL : yp_alloc_host(t, places * sizeof *logits);
    double pixels = scale_pixels(&s), bytes = 4 * scale_values(&s);
    enum yp_status status = YP_OK;
    yp_measure (t, "forward", .items = (double)s.cubes, .unit = "images",
                .flops = pixels * flops_of(&o), .bytes = bytes, .traffic = YP_READ,
                .footprint = bytes, .threads = THREADS, .max_seconds = 1.5)
        status = rx_pipeline_score(pipeline, &kept.source, parameters, scores, logits);
    yp_ok(t, status);
    rx_destroy(rx);
    rx_pipeline_destroy(pipeline);
}

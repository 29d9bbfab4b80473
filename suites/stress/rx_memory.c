/* The detector's memory on either device against what was predicted, and what comes of memory that
 * cannot be had. */
#include "models/rx/pipeline/nodes.h"
#include "suites/scene_tiles.h"

#include <string.h>

#define THREADS 2

static struct rx_pipeline_options pipeline_options(size_t channels, size_t pixels, int threads)
{
    return (struct rx_pipeline_options){.channels = channels,
                                        .tile_pixels = pixels,
                                        .threads = threads,
                                        .normalise = true,
                                        .select = true,
                                        .eps = RX_EPS};
}

/* The pipeline, and its gradient where statistics put it. */
static void expect_pipeline(struct yp_case *t, struct rx *rx, const struct rx_source *source)
{
    struct rx_pipeline_options o = pipeline_options(source->channels, source->tile_pixels, THREADS);
    bool gpu = runs_on_gpu(t);
    struct rx_pipeline *pipeline = NULL;
    yp_expect_memory (t, "a pipeline",
                      .host = gpu ? rx_pipeline_host_bytes(&o) : rx_pipeline_bytes(&o),
                      .device = gpu ? rx_pipeline_device_bytes(&o) : 0, .host_at_most = gpu) {
        pipeline = rx_pipeline_create(yp_device(t), &o);
        yp_got(t, pipeline);
    }
    size_t n = rx_pipeline_parameters(pipeline);
    float *parameters = yp_alloc_host(t, 2 * n * sizeof *parameters);
    double mean = 0;
    yp_expect_no_requests (t, "a pipeline's gradient") {
        yp_ok(t, rx_pipeline_start(pipeline, rx, parameters, NULL));
        yp_ok(t, rx_pipeline_calibrate(pipeline, source, parameters));
        yp_ok(t, rx_pipeline_gradient(pipeline, source, parameters, &mean, parameters + n));
    }
    rx_pipeline_destroy(pipeline);
}

/* A detector at these tiles, what it takes and that its passes take no more. */
static struct rx *expect_detector(struct yp_case *t, const struct rx_source *source, float *scores)
{
    size_t c = source->channels, pixels = source->tile_pixels;
    bool gpu = runs_on_gpu(t);
    struct rx *rx = NULL;
    yp_expect_memory (t, "a detector",
                      .host = gpu ? rx_bytes(c, 512, 1) : rx_bytes(c, pixels, THREADS),
                      .device = gpu ? rx_device_bytes(c, pixels, NULL) : 0, .host_at_most = gpu) {
        rx = rx_create(yp_device(t), c, pixels, THREADS);
        yp_got(t, rx);
    }
    yp_expect_no_requests (t, "fit, finish and score") {
        yp_ok(t, rx_fit(rx, source));
        yp_ok(t, rx_finish(rx, RX_EPS));
        yp_ok(t, rx_score(rx, source, scores));
    }
    return rx;
}

/* The same of a loss; `parameters` has space for a gradient behind them. */
static void expect_loss(struct yp_case *t, const struct rx *rx, const struct rx_source *source,
                        float *parameters)
{
    size_t c = source->channels, pixels = source->tile_pixels, n = rx_loss_parameters(c);
    bool gpu = runs_on_gpu(t);
    struct rx_loss *loss = NULL;
    float *start = yp_alloc_host(t, n * sizeof *start);
    double mean = 0;
    yp_expect_memory (
        t, "a loss", .host = gpu ? rx_loss_bytes(c, 512, 1) : rx_loss_bytes(c, pixels, THREADS),
        .device = gpu ? rx_loss_device_bytes(c, pixels, NULL) : 0, .host_at_most = gpu) {
        loss = rx_loss_create(yp_device(t), c, pixels, THREADS);
        yp_got(t, loss);
    }
    yp_ok(t, rx_loss_start(rx, 0.05F, (float)c, start));
    yp_ok(t, yp_device_copy(yp_device(t), parameters, start, n * sizeof *start));
    yp_expect_no_requests (t, "a gradient")
        yp_ok(t, rx_loss_gradient(loss, source, parameters, &mean, parameters + n));
    struct yp_memory m;
    yp_device_memory(yp_device(t), &m);
    yp_value_unit(t, "allocated", (double)m.allocated, "bytes");
    report_reserved(t);
    rx_loss_destroy(loss);
}

/* What the reference system estimates for a scale, 12 bytes a value, beside the data in float32 and
 * what is predicted here, to the byte, of the objects that are there at once: whose tiles are made
 * when they are asked for. The case's peak has parameters and scores more. */
static void report_estimates(struct yp_case *t, const struct scale *s, size_t pixels)
{
    const struct rx_pipeline_options o = pipeline_options(s->channels, pixels, THREADS);
    struct synth_spec spec = scale_spec(s, yp_seed(t));
    size_t c = s->channels, predicted = synth_scene_bytes(&spec), loss, pipeline;
    if (runs_on_gpu(t)) {
        predicted += rx_device_bytes(c, pixels, NULL);
        loss = rx_loss_device_bytes(c, pixels, NULL);
        pipeline = rx_pipeline_device_bytes(&o);
    } else {
        predicted += rx_bytes(c, pixels, THREADS);
        loss = rx_loss_bytes(c, pixels, THREADS);
        pipeline = rx_pipeline_bytes(&o);
    }
    predicted += loss > pipeline ? loss : pipeline;
    struct yp_memory m;
    yp_device_memory(yp_device(t), &m);
    yp_value_unit(t, "reference's estimate", 12 * scale_values(s), "bytes");
    yp_value_unit(t, "data", 4 * scale_values(s), "bytes");
    yp_value_unit(t, "predicted", (double)predicted, "bytes");
    yp_value_unit(t, "peak", (double)m.allocated_peak, "bytes");
    yp_expect(t,
              predicted <= m.allocated_peak && (double)m.allocated_peak <= 1.15 * (double)predicted,
              "%zu bytes predicted, %llu at once", predicted, (unsigned long long)m.allocated_peak);
}

/* A scene, a detector, a loss and a pipeline at the tiles that the scale is worked on with, and one
 * tile of it through all of them. */
YP_TEST(rx, predicted_memory, .tags = "stress", .cases = SCALE_CASES, .devices = "cpu cuda",
        .timeout = 120, .budgets = YP_BUDGETS(yp_budget_file("budgets.ini")))
{
    struct scale s = scale_of(t);
    struct scene_tiles tiles = {0};
    size_t c = s.channels, pixels = scale_tile_pixels(&s, yp_device(t), 4096);
    struct synth_spec spec = scale_spec(&s, yp_seed(t));
    bool gpu = runs_on_gpu(t);
    float *parameters = yp_alloc(t, 2 * rx_loss_parameters(c) * sizeof *parameters);
    float *scores = yp_alloc(t, pixels * sizeof *scores);
    yp_expect_memory (t, "a scene", .host = synth_scene_bytes(&spec),
                      .device = gpu ? synth_scene_bytes(&spec) : 0, .host_at_most = gpu)
        scene_tiles_open(&tiles, t, &s, pixels);
    tiles.source.tiles = 1;
    struct rx *rx = expect_detector(t, &tiles.source, scores);
    expect_loss(t, rx, &tiles.source, parameters);
    expect_pipeline(t, rx, &tiles.source);
    report_estimates(t, &s, pixels);
    rx_destroy(rx);
    scene_tiles_close(&tiles);
}

/* -- memory that cannot be had ----------------------------------------------------------------- */

/* What a fit takes, in the order of taking. */
struct whole {
    struct synth_scene *scene;
    struct rx *rx;
    struct rx_loss *loss;
    struct rx_pipeline *pipeline;
    float *parameters, *scores;
};

enum { WHOLE_CHANNELS = 20, WHOLE_SIDE = 48, WHOLE_PIXELS = WHOLE_SIDE * WHOLE_SIDE };

static enum yp_status whole_open(struct whole *w, struct yp_device *device, uint64_t seed)
{
    struct synth_spec spec = {
        .height = WHOLE_SIDE, .width = WHOLE_SIDE, .channels = WHOLE_CHANNELS, .seed = seed};
    size_t parameters = 2 * rx_loss_parameters(WHOLE_CHANNELS) * sizeof(float);
    struct rx_pipeline_options options = pipeline_options(WHOLE_CHANNELS, WHOLE_PIXELS, 1);
    if ((w->scene = synth_scene_create(device, &spec)) == NULL ||
        (w->rx = rx_create(device, WHOLE_CHANNELS, WHOLE_PIXELS, 1)) == NULL ||
        (w->loss = rx_loss_create(device, WHOLE_CHANNELS, WHOLE_PIXELS, 1)) == NULL ||
        (w->pipeline = rx_pipeline_create(device, &options)) == NULL ||
        (w->parameters = yp_device_alloc(device, parameters)) == NULL ||
        (w->scores = yp_device_alloc(device, WHOLE_PIXELS * sizeof(float))) == NULL)
        return YP_OUT_OF_MEMORY;
    return YP_OK;
}

static void whole_close(struct whole *w, struct yp_device *device)
{
    yp_device_free(device, w->scores);
    yp_device_free(device, w->parameters);
    rx_pipeline_destroy(w->pipeline);
    rx_loss_destroy(w->loss);
    rx_destroy(w->rx);
    synth_scene_destroy(w->scene);
}

static enum yp_status yield_whole(void *arg, size_t index, float *values, uint8_t *labels,
                                  struct rx_tile *tile)
{
    tile->pixels = WHOLE_PIXELS;
    return synth_scene_tile(arg, index, 0, WHOLE_PIXELS, values,
                            &(struct synth_truth){.labels = labels});
}

static enum yp_status whole_work(struct whole *w, struct yp_device *device, double *covariance)
{
    struct rx_source source = {.channels = WHOLE_CHANNELS,
                               .tile_pixels = WHOLE_PIXELS,
                               .tiles = 1,
                               .yield = yield_whole,
                               .arg = w->scene};
    float start[WHOLE_CHANNELS * (WHOLE_CHANNELS + 1) + 2];
    double mean = 0;
    enum yp_status status = rx_fit(w->rx, &source);
    status = status == YP_OK ? rx_covariance(w->rx, covariance) : status;
    status = status == YP_OK ? rx_finish(w->rx, RX_EPS) : status;
    status = status == YP_OK ? rx_score(w->rx, &source, w->scores) : status;
    status = status == YP_OK ? rx_loss_start(w->rx, 0.05F, WHOLE_CHANNELS, start) : status;
    status = status == YP_OK ? yp_device_copy(device, w->parameters, start, sizeof start) : status;
    if (status == YP_OK)
        status = rx_loss_gradient(w->loss, &source, w->parameters, &mean,
                                  w->parameters + sizeof start / sizeof *start);
    float begin[WHOLE_CHANNELS * (WHOLE_CHANNELS + 2) + 4];
    float gradient[sizeof begin / sizeof *begin];
    if (status == YP_OK)
        status = rx_pipeline_fit(w->pipeline, w->rx, &source, begin, NULL);
    if (status == YP_OK)
        status = rx_pipeline_gradient(w->pipeline, &source, begin, &mean, gradient);
    return status == YP_OK ? yp_device_synchronize(device) : status;
}

/* The covariance of the first attempt, which all others must have. */
struct first {
    double covariance[WHOLE_CHANNELS * WHOLE_CHANNELS];
    bool there;
};

static enum yp_status whole_fit(struct yp_case *t, void *arg)
{
    struct first *first = arg, again = {.there = true};
    struct whole w = {0};
    struct yp_device *device = yp_device(t);
    enum yp_status status = whole_open(&w, device, yp_seed(t));
    if (status == YP_OK)
        status = whole_work(&w, device, again.covariance);
    whole_close(&w, device);
    if (status == YP_OK && !first->there)
        *first = again;
    if (status == YP_OK &&
        memcmp(first->covariance, again.covariance, sizeof again.covariance) != 0)
        return yp_set_error(YP_INVALID, "the covariance has other bits than the first");
    return status;
}

/* Scene, fit, factor, scores, gradient, pipeline: every allocation of each is refused once. All end
 * as out of memory, nothing is left, and the next attempt has the bits of one that nothing was
 * refused. */
YP_TEST(rx, every_allocation, .tags = "stress small", .devices = "cpu cuda", .timeout = 120,
        .budgets = YP_BUDGETS(yp_min_value("refused on the host", 5), yp_for_device("cuda"),
                              yp_min_value("refused on the device", 6)))
{
    struct first first = {0};
    yp_value(t, "refused on the host", yp_refuse_each(t, yp_device_cpu(), whole_fit, &first));
    if (runs_on_gpu(t))
        yp_value(t, "refused on the device", yp_refuse_each(t, yp_device(t), whole_fit, &first));
}

/* The detector's memory on either device against what was predicted, and what comes of memory that
 * cannot be had. */
#include "models/rx/pipeline/nodes.h"
#include "suites/scene_tiles.h"

#include <string.h>

#define THREADS 2

struct held {
    uint64_t host, device, requests;
};

/* In use now; `device` is 0 where it is the host's. */
static struct held held_now(struct yp_case *t)
{
    struct yp_memory host, device;
    yp_device_memory(yp_device_cpu(), &host);
    yp_device_memory(yp_device(t), &device);
    bool two = runs_on_gpu(t);
    return (struct held){host.allocated, two ? device.allocated : 0,
                         host.allocations + (two ? device.allocations : 0)};
}

static void expect_held(struct yp_case *t, const char *what, struct held before, size_t host_most,
                        size_t device)
{
    struct held now = held_now(t);
    uint64_t more = now.host - before.host;
    yp_expect(t, now.device - before.device == device, "%s takes %llu bytes of the GPU, not %zu",
              what, (unsigned long long)(now.device - before.device), device);
    yp_expect(t, runs_on_gpu(t) ? more <= host_most : more == host_most,
              "%s takes %llu bytes of the host, not %zu", what, (unsigned long long)more,
              host_most);
}

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
    struct held before = held_now(t);
    struct rx_pipeline *pipeline = rx_pipeline_create(yp_device(t), &o);
    yp_got(t, pipeline);
    expect_held(t, "a pipeline", before, gpu ? rx_pipeline_host_bytes(&o) : rx_pipeline_bytes(&o),
                gpu ? rx_pipeline_device_bytes(&o) : 0);
    size_t n = rx_pipeline_parameters(pipeline);
    float *parameters = yp_alloc_host(t, 2 * n * sizeof *parameters);
    double mean = 0;
    before = held_now(t);
    yp_ok(t, rx_pipeline_start(pipeline, rx, parameters, NULL));
    yp_ok(t, rx_pipeline_calibrate(pipeline, source, parameters));
    yp_ok(t, rx_pipeline_gradient(pipeline, source, parameters, &mean, parameters + n));
    struct held passed = held_now(t);
    yp_expect(t, passed.requests == before.requests, "a pipeline's gradient took memory %llu times",
              (unsigned long long)(passed.requests - before.requests));
    rx_pipeline_destroy(pipeline);
}

/* A scene, a detector, a loss and a pipeline at the tiles that the scale is worked on with, and one
 * tile of it through all of them. */
YP_TEST(rx, predicted_memory, .tags = "stress", .cases = SCALE_CASES, .devices = "cpu cuda",
        .timeout = 120, .budgets = YP_BUDGETS(yp_max_peak(YP_HOST, 64 * YP_MIB)))
{
    struct scale s = scale_of(t);
    struct scene_tiles tiles;
    size_t c = s.channels, pixels = scale_tile_pixels(&s, yp_device(t), 4096);
    float *parameters = yp_alloc(t, 2 * rx_loss_parameters(c) * sizeof *parameters);
    float *start = yp_alloc_host(t, rx_loss_parameters(c) * sizeof *start);
    float *scores = yp_alloc(t, pixels * sizeof *scores);
    struct held before = held_now(t);
    scene_tiles_open(&tiles, t, &s, pixels);
    size_t bytes = synth_scene_bytes(synth_scene_spec(tiles.scene));
    expect_held(t, "a scene", before, bytes, runs_on_gpu(t) ? bytes : 0);
    before = held_now(t);
    struct rx *rx = rx_create(yp_device(t), c, pixels, THREADS);
    yp_got(t, rx);
    expect_held(t, "a detector", before,
                runs_on_gpu(t) ? rx_bytes(c, 512, 1) : rx_bytes(c, pixels, THREADS),
                runs_on_gpu(t) ? rx_device_bytes(c, pixels) : 0);
    before = held_now(t);
    struct rx_loss *loss = rx_loss_create(yp_device(t), c, pixels, THREADS);
    yp_got(t, loss);
    expect_held(t, "a loss", before,
                runs_on_gpu(t) ? rx_loss_bytes(c, 512, 1) : rx_loss_bytes(c, pixels, THREADS),
                runs_on_gpu(t) ? rx_loss_device_bytes(c, pixels) : 0);
    before = held_now(t);
    double mean = 0;
    tiles.source.tiles = 1;
    yp_ok(t, rx_fit(rx, &tiles.source));
    yp_ok(t, rx_finish(rx, RX_EPS));
    yp_ok(t, rx_score(rx, &tiles.source, scores));
    struct held passed = held_now(t);
    yp_expect(t, passed.requests == before.requests, "fit, finish and score took memory %llu times",
              (unsigned long long)(passed.requests - before.requests));
    yp_ok(t, rx_loss_start(rx, 0.05F, (float)c, start));
    yp_ok(t,
          yp_device_copy(yp_device(t), parameters, start, rx_loss_parameters(c) * sizeof *start));
    before = held_now(t);
    yp_ok(t, rx_loss_gradient(loss, &tiles.source, parameters, &mean,
                              parameters + rx_loss_parameters(c)));
    passed = held_now(t);
    yp_expect(t, passed.requests == before.requests, "a gradient took memory %llu times",
              (unsigned long long)(passed.requests - before.requests));
    struct yp_memory m;
    yp_device_memory(yp_device(t), &m);
    yp_value_unit(t, "allocated", (double)m.allocated, "bytes");
    tell_reserved(t);
    rx_loss_destroy(loss);
    expect_pipeline(t, rx, &tiles.source);
    rx_destroy(rx);
    scene_tiles_close(&tiles);
}

/* -- memory that cannot be had ------------------------------------------------------------------
 */

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

static enum yp_status whole_fit(struct yp_case *t, double *covariance)
{
    struct whole w = {0};
    struct yp_device *device = yp_device(t);
    enum yp_status status = whole_open(&w, device, yp_seed(t));
    if (status == YP_OK)
        status = whole_work(&w, device, covariance);
    whole_close(&w, device);
    return status;
}

/* Fails request after request to this device, once each; how many there were. */
static int fail_each(struct yp_case *t, struct yp_device *device, const double *right)
{
    enum { MOST = 100, VALUES = WHOLE_CHANNELS * WHOLE_CHANNELS };
    double covariance[VALUES];
    for (int n = 1; n <= MOST; n++) {
        struct yp_memory before, after;
        struct held held = held_now(t);
        yp_device_memory(device, &before);
        yp_device_fail_allocation(device, (uint64_t)n);
        enum yp_status status = whole_fit(t, covariance);
        yp_device_fail_allocation(device, 0);
        yp_device_memory(device, &after);
        struct held left = held_now(t);
        yp_expect(t, left.host == held.host && left.device == held.device,
                  "%s, request %d: %lld bytes of the host and %lld of the device are left",
                  yp_device_name(device), n, (long long)(left.host - held.host),
                  (long long)(left.device - held.device));
        if (after.refused == before.refused) {
            yp_expect(t, status == YP_OK, "%s", yp_last_error());
            return n - 1;
        }
        yp_expect(t, status == YP_OUT_OF_MEMORY && strstr(yp_last_error(), "out of memory") != NULL,
                  "%s, request %d: status %d, '%s'", yp_device_name(device), n, (int)status,
                  yp_last_error());
        memset(covariance, 0, sizeof covariance);
        status = whole_fit(t, covariance);
        yp_expect(t, status == YP_OK && memcmp(covariance, right, sizeof covariance) == 0,
                  "%s, request %d: the retry ends with %d or has other bits",
                  yp_device_name(device), n, (int)status);
    }
    yp_fail(t, "more than %d requests", MOST);
}

/* Scene, fit, factor, scores, gradient, pipeline: every allocation of each is refused once. All end
 * as out of memory, nothing is left, and the next attempt has the bits of one that nothing was
 * refused. */
YP_TEST(rx, every_allocation, .tags = "stress small", .devices = "cpu cuda", .timeout = 120,
        .budgets = YP_BUDGETS(yp_min_value("refused on the host", 5), yp_for_device("cuda"),
                              yp_min_value("refused on the device", 6)))
{
    double right[WHOLE_CHANNELS * WHOLE_CHANNELS];
    yp_ok(t, whole_fit(t, right));
    yp_value(t, "refused on the host", fail_each(t, yp_device_cpu(), right));
    if (runs_on_gpu(t))
        yp_value(t, "refused on the device", fail_each(t, yp_device(t), right));
}

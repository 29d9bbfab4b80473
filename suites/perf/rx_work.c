#include "suites/perf/rx_work.h"

#include "suites/pipelines.h"
#include "suites/scene_work.h"

#include <omp.h>

struct scale perf_image(size_t channels)
{
    return (struct scale){.cubes = 1, .height = 256, .width = 256, .channels = channels};
}

void perf_keep(struct kept_tiles *kept, struct yp_case *t, const struct scale *scale,
               size_t tile_pixels)
{
    struct scene_tiles tiles;
    scene_tiles_open(&tiles, t, scale, tile_pixels);
    kept_tiles_open(kept, t, &tiles);
    scene_tiles_close(&tiles);
}

double perf_pixels(const struct rx_source *source)
{
    return (double)source->tiles * (double)source->tile_pixels;
}

struct rx *perf_rx(struct yp_case *t, const struct rx_work *work, enum rx_precision precision)
{
    return open_rx_on(t, yp_device(t), work->source->channels, work->source->tile_pixels,
                      work->threads, precision);
}

struct rx *perf_fitted(struct yp_case *t, const struct rx_work *work)
{
    struct rx *rx = perf_rx(t, work, RX_FP32);
    yp_ok(t, rx_fit(rx, work->source));
    yp_ok(t, rx_finish(rx, RX_EPS));
    return rx;
}

void measure_scene(struct yp_case *t, size_t channels, int count, int threads)
{
    struct scale s = perf_image(channels);
    struct scene_tiles tiles;
    scene_tiles_open(&tiles, t, &s, PERF_TILE_PIXELS);
    size_t one = PERF_TILE_PIXELS * channels;
    double all = (double)one * count;
    float *values = yp_alloc(t, (size_t)count * one * sizeof *values);
    uint64_t cube = 0;
    int failed = 0;
    yp_measure (t, "scene", .items = all, .unit = "values", .bytes = 4 * all, .traffic = YP_FILL,
                .footprint = 4 * all,
                .bounds = YP_WORK(SCENE_WORK((double)PERF_TILE_PIXELS * count, all)),
                .threads = threads) {
#pragma omp parallel for schedule(static) num_threads(threads) reduction(+ : failed)
        for (int i = 0; i < count; i++)
            failed += synth_scene_tile(tiles.scene, cube + (uint64_t)i, 0, PERF_TILE_PIXELS,
                                       values + (size_t)i * one, NULL) != YP_OK;
        cube += (uint64_t)count;
        yp_keep(values);
    }
    yp_require(t, failed == 0, "%d tiles could not be made", failed);
    scene_tiles_close(&tiles);
}

static double bytes_of(const struct rx_source *source)
{
    return 4 * perf_pixels(source) * (double)source->channels;
}

/* What all of them declare, of an operation that takes so many flops a pixel. Half a second holds
 * some tens of iterations, and there are many cases. */
#define WORK(w_, flops_) \
    .items = (w_)->pixels ? perf_pixels((w_)->source) : 0, .unit = (w_)->pixels ? "pixels" : NULL, \
    .flops = (w_)->copying ? 0 : perf_pixels((w_)->source) * (flops_), \
    .arithmetic = (w_)->arithmetic, .bytes = bytes_of((w_)->source), \
    .traffic = (w_)->copying ? YP_COPY : YP_READ, \
    .footprint = (w_)->cold ? 0 : bytes_of((w_)->source), .cold = (w_)->cold, \
    .threads = (w_)->threads, .max_seconds = 0.5

const float *measure_statistics(struct yp_case *t, struct rx *rx, const struct rx_work *work)
{
    double c = (double)work->source->channels;
    enum yp_status status = YP_OK;
    yp_measure (t, "statistics", WORK(work, c * (c + 1)), .reset = reset_rx, .arg = rx)
        status = rx_fit(rx, work->source);
    yp_ok(t, status);
    return NULL;
}

const float *measure_score(struct yp_case *t, struct rx *rx, const struct rx_work *work)
{
    float *scores = yp_alloc(t, work->source->tiles * work->source->tile_pixels * sizeof *scores);
    double c = (double)work->source->channels;
    enum yp_status status = YP_OK;
    yp_measure (t, "score", WORK(work, c * c))
        status = rx_score(rx, work->source, scores);
    yp_ok(t, status);
    return scores;
}

const float *measure_gradient_step(struct yp_case *t, struct rx *rx, const struct rx_work *work)
{
    size_t channels = work->source->channels;
    double c = (double)channels;
    struct rx_loss *loss =
        rx_loss_create(yp_device(t), channels, work->source->tile_pixels, work->threads);
    yp_got(t, loss);
    size_t bytes = rx_loss_parameters(channels) * sizeof(float);
    float *start = yp_alloc_host(t, bytes), *gradient = yp_alloc(t, bytes);
    yp_ok(t, rx_loss_start(rx, 0.05F, (float)c, start));
    const float *parameters = sent(t, start, bytes);
    double mean = 0;
    enum yp_status status = YP_OK;
    yp_measure (t, "gradient step", WORK(work, 4 * c * c))
        status = rx_loss_gradient(loss, work->source, parameters, &mean, gradient);
    yp_ok(t, status);
    rx_loss_destroy(loss);
    yp_value(t, "mean loss", mean);
    return gradient;
}

const float *measure_pipeline_step(struct yp_case *t, struct rx *rx, const struct rx_work *work)
{
    double c = (double)work->source->channels;
    struct rx_pipeline_options options = {.channels = work->source->channels,
                                          .tile_pixels = work->source->tile_pixels,
                                          .threads = work->threads,
                                          .normalise = true,
                                          .select = true,
                                          .eps = RX_EPS};
    struct rx_pipeline *pipeline = open_pipeline(t, yp_device(t), &options);
    size_t count = rx_pipeline_parameters(pipeline);
    float *parameters = yp_alloc_host(t, 2 * count * sizeof *parameters);
    double mean = 0;
    yp_ok(t, rx_pipeline_fit(pipeline, rx, work->source, parameters, NULL));
    enum yp_status status = YP_OK;
    yp_measure (t, "pipeline step", WORK(work, 4 * c * c))
        status =
            rx_pipeline_gradient(pipeline, work->source, parameters, &mean, parameters + count);
    yp_ok(t, status);
    rx_pipeline_destroy(pipeline);
    yp_value(t, "mean loss of the pipeline", mean);
    return NULL;
}

/* With fewer channels the declared products are a small part of the time: rows of 10 values do not
 * fill a vector, and by SSE2 statistics of 10 channels have 0.05. */
static void add_floor(const struct yp_case *c, struct yp_budgets *out, long long least_channels,
                      const char *name, double share)
{
    if (yp_int(c, "channels") >= least_channels)
        yp_budget_add(out, yp_min_share(name, share));
}

void perf_statistics_floor(const struct yp_case *c, struct yp_budgets *out)
{
    add_floor(c, out, 50, "statistics", yp_int(c, "channels") < 100 ? 0.14 : 0.18);
}

void perf_score_floor(const struct yp_case *c, struct yp_budgets *out)
{
    add_floor(c, out, 20, "score", 0.2);
}

void perf_gradient_floor(const struct yp_case *c, struct yp_budgets *out)
{
    add_floor(c, out, 50, "gradient step", 0.15);
}

void perf_pipeline_floor(const struct yp_case *c, struct yp_budgets *out)
{
    add_floor(c, out, 50, "pipeline step", 0.13);
}

void perf_measure(struct yp_case *t, const struct rx_work *work, perf_measurement *operation)
{
    struct rx *rx = perf_fitted(t, work);
    operation(t, rx, work);
    rx_destroy(rx);
}

void perf_scene(struct yp_case *t, struct scale scale, size_t tile_pixels, struct rx_work how,
                perf_measurement *operation)
{
    struct kept_tiles kept;
    perf_keep(&kept, t, &scale, tile_pixels);
    how.source = &kept.source;
    perf_measure(t, &how, operation);
}

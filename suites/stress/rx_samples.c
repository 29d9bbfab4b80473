/* MinMax by sample: each cube by its own smallest and largest value. */
#include "suites/pipelines.h"
#include "suites/stress/training.h"

#include <math.h>
#include <string.h>

/* A scene in other units, by powers of two so that nothing rounds: those in which values are about
 * 1e-9, as amperes are, or each cube in units of its own. */
enum units { THEIRS, SMALL, APART, UNITS };
struct scaled {
    const struct rx_source *scene;
    enum units units;
};

static enum yp_status yield_scaled(void *arg, size_t index, float *values, uint8_t *labels,
                                   struct rx_tile *tile)
{
    const struct scaled *scaled = arg;
    enum yp_status status = scaled->scene->yield(scaled->scene->arg, index, values, labels, tile);
    int shift = scaled->units == SMALL ? -30 : (int)(index % 7) - 3;
    bool moved = scaled->units != THEIRS;
    for (size_t i = 0; status == YP_OK && moved && i < tile->pixels * tile->channels; i++)
        values[i] = ldexpf(values[i], shift);
    return status;
}

/* The detector alone has MinMax in its ridge. */
static void check_detector(struct yp_case *t, struct rx *rx, const struct rx_source *source,
                           enum units units, float *scores[UNITS])
{
    size_t count = source->tiles * source->tile_pixels;
    scores[units] = yp_alloc_host(t, count * sizeof(float));
    yp_ok(t, rx_finish(rx, 1e-3));
    yp_ok(t, rx_score(rx, source, scores[units]));
    if (units == SMALL)
        yp_expect(t, memcmp(scores[THEIRS], scores[SMALL], count * sizeof(float)) == 0,
                  "rx_finish(): cubes in other units have other scores");
}

/* MinMax takes the unit away, and scores are the same bit for bit; where each cube has another one,
 * by sample alone. */
YP_TEST(rx, sample_minmax, .tags = "stress small", .timeout = 60,
        .axes = YP_AXES(yp_axis_string("detector", "global", "image", "lad")))
{
    const struct scale s = {.cubes = 10, .height = 64, .width = 64, .channels = 10};
    const char *name = yp_string(t, "detector");
    struct scene_tiles scene;
    scene_tiles_open(&scene, t, &s, s.height * s.width);
    yp_data_hash(t, scene_tiles_hash(&scene, t));
    struct rx *rx = open_rx(t, s.channels, scene.source.tile_pixels, TRAINING_THREADS);
    size_t count = scene.source.tiles * scene.source.tile_pixels;
    float *scores[UNITS], *alone[UNITS];
    for (int by_sample = 0; by_sample < 2; by_sample++) {
        struct rx_pipeline_options o = {.channels = s.channels,
                                        .tile_pixels = scene.source.tile_pixels,
                                        .threads = TRAINING_THREADS,
                                        .normalise = true,
                                        .by_sample = by_sample == 1,
                                        .detector = strcmp(name, "image") == 0 ? RX_IMAGE
                                                    : strcmp(name, "lad") == 0 ? RX_LAD
                                                                               : RX_GLOBAL,
                                        .eps = 1e-3};
        struct rx_pipeline *pipeline = open_pipeline(t, yp_device_cpu(), &o);
        float *parameters = parameters_of(t, pipeline);
        for (enum units units = THEIRS; units < UNITS; units++) {
            struct scaled scaled = {&scene.source, units};
            struct rx_source source = scene.source;
            source.yield = yield_scaled;
            source.arg = &scaled;
            scores[units] = yp_alloc_host(t, count * sizeof(float));
            yp_ok(t, rx_pipeline_fit(pipeline, rx, &source, parameters, NULL));
            yp_ok(t, rx_pipeline_score(pipeline, &source, parameters, scores[units], NULL));
            if (by_sample == 0)
                check_detector(t, rx, &source, units, alone);
            bool same = memcmp(scores[THEIRS], scores[units], count * sizeof(float)) == 0;
            yp_expect(t, same == (units != APART || by_sample == 1),
                      "%s: %s in other units have %s scores",
                      by_sample == 1 ? "by sample" : "by the range of all data",
                      units == APART ? "cubes that are each" : "cubes",
                      same ? "the same" : "other");
        }
        rx_pipeline_destroy(pipeline);
    }
    rx_destroy(rx);
    scene_tiles_close(&scene);
}

/* MinMax by sample: each cube by its own smallest and largest value. */
#include "suites/stress/training.h"

#include <math.h>
#include <string.h>

/* A scene whose cubes come in units of their own. */
struct units {
    const struct rx_source *scene;
    bool apart;
};

static enum yp_status yield_scaled(void *arg, size_t index, float *values, uint8_t *labels,
                                   struct rx_tile *tile)
{
    const struct units *units = arg;
    enum yp_status status = units->scene->yield(units->scene->arg, index, values, labels, tile);
    for (size_t i = 0; status == YP_OK && units->apart && i < tile->pixels * tile->channels; i++)
        values[i] = ldexpf(values[i], (int)(index % 7) - 3);
    return status;
}

/* Cubes in other units, by powers of two so that nothing rounds,
 * have the same scores bit for bit by sample, and other ones by the range of all data. */
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
    float *scores[2][2];
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
        struct rx_pipeline *pipeline = rx_pipeline_create(yp_device_cpu(), &o);
        yp_got(t, pipeline);
        float *parameters = yp_alloc_host(t, rx_pipeline_parameters(pipeline) * sizeof *parameters);
        for (int apart = 0; apart < 2; apart++) {
            struct units units = {&scene.source, apart == 1};
            struct rx_source source = scene.source;
            source.yield = yield_scaled;
            source.arg = &units;
            scores[by_sample][apart] = yp_alloc_host(t, count * sizeof(float));
            yp_ok(t, rx_pipeline_fit(pipeline, rx, &source, parameters, NULL));
            yp_ok(t,
                  rx_pipeline_score(pipeline, &source, parameters, scores[by_sample][apart], NULL));
        }
        bool same = memcmp(scores[by_sample][0], scores[by_sample][1], count * sizeof(float)) == 0;
        yp_expect(t, same == (by_sample == 1), "%s: cubes in other units have %s scores",
                  by_sample == 1 ? "by sample" : "by the range of all data",
                  same ? "the same" : "other");
        rx_pipeline_destroy(pipeline);
    }
    rx_destroy(rx);
    scene_tiles_close(&scene);
}

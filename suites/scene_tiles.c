#include "scene_tiles.h"

#include <omp.h>
#include <string.h>

/* Of a hash: each has a tile of its own, and memory budgets should not grow with the machine. */
#define MOST_THREADS 2
#define MOST_HASHED 100 /* cubes */

struct scale scale_named(struct yp_case *t, const char *name)
{
    static const struct scale scales[] = {
        {"small", 10, 64, 64, 10},
        {"medium", 100, 128, 128, 50},
        {"large", 1000, 256, 256, 100},
        {"xl", 10000, 512, 512, 200},
    };
    for (size_t i = 0; i < sizeof scales / sizeof scales[0]; i++)
        if (strcmp(scales[i].name, name) == 0)
            return scales[i];
    yp_fail(t, "there is no scale '%s': small, medium, large, xl", name);
}

double scale_pixels(const struct scale *s)
{
    return (double)s->cubes * (double)s->height * (double)s->width;
}

double scale_values(const struct scale *s)
{
    return scale_pixels(s) * (double)s->channels;
}

struct scene_place scene_tiles_place(const struct scene_tiles *tiles, size_t index)
{
    size_t whole = tiles->scale.height * tiles->scale.width;
    size_t most = tiles->source.tile_pixels;
    struct scene_place p = {.cube = index / tiles->tiles_per_cube,
                            .first = index % tiles->tiles_per_cube * most};
    p.pixels = whole - p.first < most ? whole - p.first : most;
    return p;
}

static enum yp_status yield(void *arg, size_t index, float *values, uint8_t *labels,
                            struct rx_tile *tile)
{
    const struct scene_tiles *tiles = arg;
    struct scene_place p = scene_tiles_place(tiles, index);
    tile->pixels = p.pixels;
    return synth_scene_tile(tiles->scene, p.cube, p.first, p.pixels, values,
                            &(struct synth_truth){.labels = labels});
}

void scene_tiles_open(struct scene_tiles *tiles, struct yp_case *t, const struct scale *scale,
                      size_t tile_pixels)
{
    struct synth_spec spec = {.height = scale->height,
                              .width = scale->width,
                              .channels = scale->channels,
                              .seed = yp_seed(t)};
    size_t pixels = scale->height * scale->width;
    *tiles = (struct scene_tiles){.scene = synth_scene_create(yp_device(t), &spec),
                                  .scale = *scale,
                                  .tiles_per_cube = (pixels + tile_pixels - 1) / tile_pixels};
    yp_require(t, tiles->scene != NULL, "%s", yp_last_error());
    tiles->source = (struct rx_source){.channels = scale->channels,
                                       .tile_pixels = tile_pixels,
                                       .tiles = scale->cubes * tiles->tiles_per_cube,
                                       .yield = yield,
                                       .arg = tiles};
}

void scene_tiles_close(struct scene_tiles *tiles)
{
    synth_scene_destroy(tiles->scene);
    tiles->scene = NULL;
}

uint64_t scene_tiles_hash_of(const struct scene_tiles *tiles, struct yp_case *t,
                             const struct rx_source *source)
{
    size_t channels = tiles->scale.channels;
    size_t most = tiles->source.tile_pixels * channels;
    uint64_t of_cube = tiles->scale.height * tiles->scale.width * channels;
    int threads = omp_get_max_threads() < MOST_THREADS ? omp_get_max_threads() : MOST_THREADS;
    float *room = yp_device_alloc(yp_device(t), (size_t)threads * most * sizeof *room);
    yp_require(t, room != NULL, "%s", yp_last_error());
    uint64_t sum = 0;
    int failed = 0;
    size_t cubes = tiles->scale.cubes < MOST_HASHED ? tiles->scale.cubes : MOST_HASHED;
#pragma omp parallel for schedule(dynamic) num_threads(threads) reduction(+ : sum, failed)
    for (size_t i = 0; i < cubes * tiles->tiles_per_cube; i++) {
        float *values = room + (size_t)omp_get_thread_num() * most;
        size_t cube = i / tiles->tiles_per_cube * tiles->scale.cubes / cubes;
        size_t index = cube * tiles->tiles_per_cube + i % tiles->tiles_per_cube;
        struct scene_place p = scene_tiles_place(tiles, index);
        struct rx_tile tile = {.values = values};
        failed += source->yield(source->arg, index, values, NULL, &tile) != YP_OK;
        sum += yp_hash_f32(p.cube * of_cube + p.first * channels, tile.values, p.pixels * channels);
    }
    yp_device_free(yp_device(t), room);
    yp_require(t, failed == 0, "%d tiles could not be made", failed);
    return sum;
}

uint64_t scene_tiles_hash(const struct scene_tiles *tiles, struct yp_case *t)
{
    return scene_tiles_hash_of(tiles, t, &tiles->source);
}

void scene_tiles_labels(const struct scene_tiles *tiles, struct yp_case *t, size_t cubes,
                        uint8_t *labels)
{
    size_t most = tiles->source.tile_pixels;
    float *values = yp_device_alloc(yp_device(t), most * tiles->scale.channels * sizeof *values);
    yp_require(t, values != NULL, "%s", yp_last_error());
    enum yp_status status = YP_OK;
    for (size_t i = 0; i < cubes * tiles->tiles_per_cube && status == YP_OK; i++) {
        struct scene_place p = scene_tiles_place(tiles, i);
        status = synth_scene_tile(tiles->scene, p.cube, p.first, p.pixels, values,
                                  &(struct synth_truth){.labels = labels + i * most});
        memset(labels + i * most + p.pixels, 0, most - p.pixels);
    }
    yp_device_free(yp_device(t), values);
    yp_ok(t, status);
}

double scene_tiles_auc(const struct scene_tiles *tiles, struct yp_case *t, const float *scores,
                       size_t cubes)
{
    size_t places = cubes * tiles->tiles_per_cube * tiles->source.tile_pixels;
    uint8_t *labels = yp_alloc(t, places);
    scene_tiles_labels(tiles, t, cubes, labels);
    double auc = 0;
    size_t skipped = 0; /* dead pixels and what short tiles leave */
    yp_ok(t, rx_auc(yp_device(t), scores, labels, places, &auc, &skipped));
    return auc;
}

static enum yp_status yield_kept(void *arg, size_t index, float *values, uint8_t *labels,
                                 struct rx_tile *tile)
{
    (void)values, (void)labels;
    const struct kept_tiles *kept = arg;
    index += kept->first;
    tile->values = kept->values + index * kept->source.tile_pixels * kept->source.channels;
    tile->labels = kept->labels + index * kept->source.tile_pixels;
    tile->pixels = kept->pixels[index];
    return YP_OK;
}

void kept_tiles_open(struct kept_tiles *kept, struct yp_case *t, const struct scene_tiles *tiles)
{
    size_t most = tiles->source.tile_pixels, channels = tiles->source.channels;
    *kept = (struct kept_tiles){.source = tiles->source};
    kept->source.yield = yield_kept;
    kept->source.arg = kept;
    kept->values = yp_alloc(t, tiles->source.tiles * most * channels * sizeof *kept->values);
    kept->labels = yp_alloc(t, tiles->source.tiles * most);
    kept->pixels = yp_alloc(t, tiles->source.tiles * sizeof *kept->pixels);
    uint64_t hash = 0;
    for (size_t i = 0; i < tiles->source.tiles; i++) {
        struct scene_place p = scene_tiles_place(tiles, i);
        float *values = kept->values + i * most * channels;
        yp_ok(t, synth_scene_tile(tiles->scene, p.cube, p.first, p.pixels, values,
                                  &(struct synth_truth){.labels = kept->labels + i * most}));
        size_t before = (p.cube * tiles->scale.height * tiles->scale.width + p.first) * channels;
        hash += yp_hash_f32(before, values, p.pixels * channels);
        kept->pixels[i] = p.pixels;
    }
    yp_data_hash(t, hash);
}

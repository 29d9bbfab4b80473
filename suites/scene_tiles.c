#include "suites/scene_tiles.h"

#include "models/metrics/metrics.h"

#include <math.h>
#include <omp.h>
#include <string.h>

/* Of a hash: each has a tile of its own, and memory budgets should not grow with the machine. */
#define MAX_THREADS 2
#define HASHED_CUBES_MAX 100             /* cubes */
#define HASHED_AT_ONCE ((size_t)1 << 20) /* values that come from a GPU */
#define TILE_PIXELS_OF_GPU ((size_t)1 << 20)

static size_t at_least_1(struct yp_case *t, const char *name)
{
    long long value = yp_int(t, name);
    yp_require(t, value > 0, "%s is %lld: at least 1", name, value);
    return (size_t)value;
}

struct scale scale_of(struct yp_case *t)
{
    size_t side = at_least_1(t, "side");
    return (struct scale){.cubes = at_least_1(t, "cubes"),
                          .height = side,
                          .width = side,
                          .channels = at_least_1(t, "channels")};
}

struct synth_spec scale_spec(const struct scale *s, uint64_t seed)
{
    return (struct synth_spec){.height = s->height,
                               .width = s->width,
                               .channels = s->channels,
                               .seed = seed,
                               .fwhm_nm = s->points ? SYNTH_OFF : 0};
}

struct synth_scene *open_scene(struct yp_case *t, struct yp_device *device,
                               const struct synth_spec *spec)
{
    struct synth_scene *scene = synth_scene_create(device, spec);
    yp_got(t, scene);
    return scene;
}

void make_cube(struct yp_case *t, struct yp_device *device, const struct synth_spec *spec,
               uint64_t cube, float *values, const struct synth_truth *truth)
{
    struct synth_scene *scene = open_scene(t, device, spec);
    enum yp_status status =
        synth_scene_tile(scene, cube, 0, spec->height * spec->width, values, truth);
    synth_scene_destroy(scene);
    yp_ok(t, status);
}

struct rx *open_rx_on(struct yp_case *t, struct yp_device *device, size_t channels,
                      size_t tile_pixels, int threads, enum rx_precision precision)
{
    struct rx *rx = rx_create_with(device, channels, tile_pixels, threads,
                                   &(struct rx_options){.precision = precision});
    yp_got(t, rx);
    return rx;
}

struct rx *open_rx(struct yp_case *t, size_t channels, size_t tile_pixels, int threads)
{
    return open_rx_on(t, yp_device(t), channels, tile_pixels, threads, RX_FP32);
}

void *sent(struct yp_case *t, const void *from, size_t bytes)
{
    void *to = yp_alloc(t, bytes);
    yp_ok(t, yp_device_copy(yp_device(t), to, from, bytes));
    return to;
}

void reset_rx(void *rx)
{
    rx_reset(rx);
}

double scale_pixels(const struct scale *s)
{
    return (double)s->cubes * (double)s->height * (double)s->width;
}

double scale_values(const struct scale *s)
{
    return scale_pixels(s) * (double)s->channels;
}

bool runs_on_gpu(struct yp_case *t)
{
    return yp_device_memory_kind(yp_device(t)) == YP_DEVICE;
}

void report_reserved(struct yp_case *t)
{
    struct yp_memory m;
    yp_device_memory(yp_device(t), &m);
    double allocated = (double)m.allocated_peak, granule = m.granule > 0 ? (double)m.granule : 1;
    yp_value(t, "reserved over allocated", (double)m.reserved_peak / allocated);
    yp_value(t, "reserved over granules",
             (double)m.reserved_peak / (ceil(allocated / granule) * granule));
}

size_t scale_tile_pixels(const struct scale *s, struct yp_device *device, size_t pixels)
{
    if (yp_device_memory_kind(device) == YP_HOST)
        return pixels;
    size_t of_cube = s->height * s->width;
    size_t cubes = of_cube < TILE_PIXELS_OF_GPU ? TILE_PIXELS_OF_GPU / of_cube : 1;
    return (cubes < s->cubes ? cubes : s->cubes) * of_cube;
}

struct scene_place scene_tiles_place(const struct scene_tiles *tiles, size_t index)
{
    size_t whole = tiles->scale.height * tiles->scale.width;
    size_t tile_pixels = tiles->source.tile_pixels, left = tiles->scale.cubes;
    if (tiles->cubes_per_tile > 1) {
        struct scene_place p = {.cube = index * tiles->cubes_per_tile};
        left -= p.cube;
        p.cubes = left < tiles->cubes_per_tile ? left : tiles->cubes_per_tile;
        p.pixels = p.cubes * whole;
        return p;
    }
    struct scene_place p = {.cube = index / tiles->tiles_per_cube,
                            .cubes = 1,
                            .first = index % tiles->tiles_per_cube * tile_pixels};
    p.pixels = whole - p.first < tile_pixels ? whole - p.first : tile_pixels;
    return p;
}

size_t scene_tiles_count(const struct scene_tiles *tiles, size_t cubes)
{
    size_t each = tiles->cubes_per_tile;
    return (cubes + each - 1) / each * tiles->tiles_per_cube;
}

static enum yp_status make(const struct scene_tiles *tiles, struct scene_place p, float *values,
                           uint8_t *labels)
{
    return synth_scene_cubes(tiles->scene, p.cube, p.cubes, p.first, p.pixels / p.cubes, values,
                             &(struct synth_truth){.labels = labels});
}

static enum yp_status yield(void *arg, size_t index, float *values, uint8_t *labels,
                            struct rx_tile *tile)
{
    const struct scene_tiles *tiles = arg;
    struct scene_place p = scene_tiles_place(tiles, index);
    tile->pixels = p.pixels;
    return make(tiles, p, values, labels);
}

void scene_tiles_open_on(struct scene_tiles *tiles, struct yp_case *t, struct yp_device *device,
                         const struct scale *scale, size_t tile_pixels)
{
    struct synth_spec spec = scale_spec(scale, yp_seed(t));
    size_t pixels = scale->height * scale->width;
    *tiles =
        (struct scene_tiles){.scene = open_scene(t, device, &spec),
                             .device = device,
                             .scale = *scale,
                             .tiles_per_cube = (pixels + tile_pixels - 1) / tile_pixels,
                             .cubes_per_tile = tile_pixels < pixels ? 1 : tile_pixels / pixels};
    tiles->source = (struct rx_source){.channels = scale->channels,
                                       .tile_pixels = tile_pixels,
                                       .tiles = scene_tiles_count(tiles, scale->cubes),
                                       .yield = yield,
                                       .arg = tiles};
}

void scene_tiles_open(struct scene_tiles *tiles, struct yp_case *t, const struct scale *scale,
                      size_t tile_pixels)
{
    scene_tiles_open_on(tiles, t, yp_device(t), scale, tile_pixels);
}

void scene_tiles_close(struct scene_tiles *tiles)
{
    synth_scene_destroy(tiles->scene);
    tiles->scene = NULL;
}

/* Allocates memory of a device; the caller frees it. */
static void *taken(struct yp_case *t, struct yp_device *device, size_t bytes)
{
    void *memory = yp_device_alloc(device, bytes);
    yp_got(t, memory);
    return memory;
}

/* The hash of values on the host, by all threads. */
static uint64_t hash_of(uint64_t first, const float *values, size_t count)
{
    enum { PIECE = 1 << 16 };
    uint64_t sum = 0;
#pragma omp parallel for schedule(static) reduction(+ : sum)
    for (size_t at = 0; at < count; at += PIECE)
        sum += yp_hash_f32(first + at, values + at, count - at < PIECE ? count - at : PIECE);
    return sum;
}

/* The same of values on a device; `staging` has HASHED_AT_ONCE values. */
static enum yp_status hash_from(struct yp_device *device, uint64_t first, const float *values,
                                size_t count, float *staging, uint64_t *sum)
{
    enum yp_status status = YP_OK;
    for (size_t at = 0; at < count && status == YP_OK; at += HASHED_AT_ONCE) {
        size_t piece = count - at < HASHED_AT_ONCE ? count - at : HASHED_AT_ONCE;
        status = yp_device_copy(device, staging, values + at, piece * sizeof *staging);
        *sum += status == YP_OK ? hash_of(first + at, staging, piece) : 0;
    }
    return status;
}

/* How many cubes are hashed, and which ones. */
static size_t hashed_cubes(const struct scene_tiles *tiles)
{
    return tiles->scale.cubes < HASHED_CUBES_MAX ? tiles->scale.cubes : HASHED_CUBES_MAX;
}

static size_t hashed_cube(const struct scene_tiles *tiles, size_t i)
{
    return i * tiles->scale.cubes / hashed_cubes(tiles);
}

/* Two blocks, or none of them. */
static void take_two(struct yp_case *t, struct yp_device *first, size_t first_bytes, void **one,
                     struct yp_device *second, size_t second_bytes, void **other)
{
    *one = taken(t, first, first_bytes);
    *other = yp_device_alloc(second, second_bytes);
    if (*other == NULL)
        yp_device_free(first, *one);
    yp_got(t, *other);
}

static uint64_t hash_on_device(const struct scene_tiles *tiles, struct yp_case *t)
{
    size_t pixels = tiles->scale.height * tiles->scale.width;
    size_t values = pixels * tiles->scale.channels;
    void *there = NULL, *here = NULL;
    take_two(t, tiles->device, values * sizeof(float), &there, yp_device_cpu(),
             HASHED_AT_ONCE * sizeof(float), &here);
    uint64_t sum = 0;
    enum yp_status status = YP_OK;
    for (size_t i = 0; i < hashed_cubes(tiles) && status == YP_OK; i++) {
        size_t cube = hashed_cube(tiles, i);
        status = synth_scene_tile(tiles->scene, cube, 0, pixels, there, NULL);
        if (status == YP_OK)
            status = hash_from(tiles->device, cube * values, there, values, here, &sum);
    }
    yp_device_free(tiles->device, there);
    yp_device_free(yp_device_cpu(), here);
    yp_ok(t, status);
    return sum;
}

uint64_t scene_tiles_hash_of(const struct scene_tiles *tiles, struct yp_case *t,
                             const struct rx_source *source)
{
    size_t channels = tiles->scale.channels, tile_values = tiles->source.tile_pixels * channels;
    uint64_t of_cube = tiles->scale.height * tiles->scale.width * channels;
    int threads = omp_get_max_threads() < MAX_THREADS ? omp_get_max_threads() : MAX_THREADS;
    float *staging = taken(t, tiles->device, (size_t)threads * tile_values * sizeof *staging);
    uint64_t sum = 0;
    int failed = 0;
    size_t cubes = hashed_cubes(tiles);
#pragma omp parallel for schedule(dynamic) num_threads(threads) reduction(+ : sum, failed)
    for (size_t i = 0; i < cubes * tiles->tiles_per_cube; i++) {
        float *values = staging + (size_t)omp_get_thread_num() * tile_values;
        size_t cube = hashed_cube(tiles, i / tiles->tiles_per_cube);
        size_t index = cube * tiles->tiles_per_cube + i % tiles->tiles_per_cube;
        struct scene_place p = scene_tiles_place(tiles, index);
        struct rx_tile tile = {.values = values};
        failed += source->yield(source->arg, index, values, NULL, &tile) != YP_OK;
        sum += yp_hash_f32(p.cube * of_cube + p.first * channels, tile.values, p.pixels * channels);
    }
    yp_device_free(tiles->device, staging);
    yp_require(t, failed == 0, "%d tiles could not be made", failed);
    return sum;
}

uint64_t scene_tiles_hash(const struct scene_tiles *tiles, struct yp_case *t)
{
    return yp_device_memory_kind(tiles->device) != YP_HOST
               ? hash_on_device(tiles, t)
               : scene_tiles_hash_of(tiles, t, &tiles->source);
}

void scene_tiles_labels(const struct scene_tiles *tiles, struct yp_case *t, size_t cubes,
                        uint8_t *labels)
{
    struct yp_device *device = tiles->device;
    size_t tile_pixels = tiles->source.tile_pixels;
    void *values = NULL, *there = NULL;
    take_two(t, device, tile_pixels * tiles->scale.channels * sizeof(float), &values, device,
             tile_pixels, &there);
    enum yp_status status = YP_OK;
    for (size_t i = 0; i < scene_tiles_count(tiles, cubes) && status == YP_OK; i++) {
        struct scene_place p = scene_tiles_place(tiles, i);
        status = make(tiles, p, values, there);
        if (status == YP_OK)
            status = yp_device_copy(device, labels + i * tile_pixels, there, p.pixels);
        memset(labels + i * tile_pixels + p.pixels, 0, tile_pixels - p.pixels);
    }
    yp_device_free(device, values);
    yp_device_free(device, there);
    yp_ok(t, status);
}

const float *scene_tiles_score(const struct scene_tiles *tiles, struct yp_case *t, struct rx *rx)
{
    size_t bytes = tiles->source.tiles * tiles->source.tile_pixels * sizeof(float);
    float *scores = yp_alloc_host(t, bytes);
    bool away = yp_device_memory_kind(tiles->device) != YP_HOST;
    float *there = away ? yp_alloc(t, bytes) : scores;
    yp_ok(t, rx_score(rx, &tiles->source, there));
    if (away)
        yp_ok(t, yp_device_copy(tiles->device, scores, there, bytes));
    return scores;
}

double scene_tiles_auc(const struct scene_tiles *tiles, struct yp_case *t, const float *scores,
                       size_t cubes)
{
    size_t places = scene_tiles_count(tiles, cubes) * tiles->source.tile_pixels;
    uint8_t *labels = yp_alloc_host(t, places);
    scene_tiles_labels(tiles, t, cubes, labels);
    double auc = 0;
    size_t skipped = 0; /* dead pixels and what short tiles leave */
    yp_ok(t, metrics_auc(yp_device_cpu(), scores, labels, places, &auc, &skipped));
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
    size_t tile_pixels = tiles->source.tile_pixels, channels = tiles->source.channels;
    bool away = yp_device_memory_kind(tiles->device) != YP_HOST;
    *kept = (struct kept_tiles){.source = tiles->source};
    kept->source.yield = yield_kept;
    kept->source.arg = kept;
    kept->values = yp_alloc(t, tiles->source.tiles * tile_pixels * channels * sizeof *kept->values);
    kept->labels = yp_alloc(t, tiles->source.tiles * tile_pixels);
    kept->pixels = yp_alloc_host(t, tiles->source.tiles * sizeof *kept->pixels);
    float *staging = away ? taken(t, yp_device_cpu(), HASHED_AT_ONCE * sizeof *staging) : NULL;
    uint64_t hash = 0;
    enum yp_status status = YP_OK;
    for (size_t i = 0; i < tiles->source.tiles && status == YP_OK; i++) {
        struct scene_place p = scene_tiles_place(tiles, i);
        float *values = kept->values + i * tile_pixels * channels;
        size_t before = (p.cube * tiles->scale.height * tiles->scale.width + p.first) * channels;
        status = make(tiles, p, values, kept->labels + i * tile_pixels);
        if (status == YP_OK && away)
            status = hash_from(tiles->device, before, values, p.pixels * channels, staging, &hash);
        else if (status == YP_OK)
            hash += yp_hash_f32(before, values, p.pixels * channels);
        kept->pixels[i] = p.pixels;
    }
    yp_device_free(yp_device_cpu(), staging);
    yp_ok(t, status);
    yp_data_hash(t, hash);
}

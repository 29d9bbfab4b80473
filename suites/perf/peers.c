/*
 * Other programs on the same work: NumPy, Spectral Python, PyTorch with the formulas of cuvis.ai.
 *
 * Every case of the detector works on one image, which peers/common.py makes with the same bits,
 * and says how far its results are from what is right. Threads are OMP_NUM_THREADS and
 * OPENBLAS_NUM_THREADS of the command and, in PyTorch, set_num_threads; a command that keeps more
 * processors busy fails. Python is YIELDPOINT_PYTHON, else python3.
 */
#include "scene_tiles.h"

#include "synth/stream.h"

#include <math.h>
#include <omp.h>

/* Some minutes, and gigabytes. */
#define TAGS "perf large slow"
#define TIMEOUT 600
#define SIDE yp_axis_int("side", 256, 512)
#define CHANNELS yp_axis_int("channels", 10, 50, 100, 200)
#define THREADS yp_axis_int("threads", 1, 2)
#define BITS yp_axis_int("bits", 32, 64)

/* Without the file, or Python, the case is skipped with the reason. */
#define PEER(script_, arguments_) \
    "peer=suites/perf/peers/" script_ ".py; python=${{YIELDPOINT_PYTHON:-python3}; " \
    "if ! [ -f $peer ]; then echo '{{\"skip\": \"no " script_ ".py below this directory\"}'; " \
    "elif ! command -v \"$python\" >/dev/null; then echo '{{\"skip\": \"no Python\"}'; " \
    "else exec \"$python\" $peer " arguments_ "; fi"
#define WITH_THREADS \
    "OMP_NUM_THREADS={threads} OPENBLAS_NUM_THREADS={threads} MKL_NUM_THREADS={threads}"

static bool is_measured(const struct yp_case *t)
{
    return yp_int(t, "side") == 256 || yp_int(t, "channels") == 200;
}

/* -- the peers ---------------------------------------------------------------------------- */

YP_COMMAND(peers, numpy, .tags = TAGS, .timeout = TIMEOUT, .filter = is_measured,
           .axes = YP_AXES(SIDE, CHANNELS, THREADS, BITS),
           .command = PEER("numpy_rx", "{side} {channels} {seed} {bits}"),
           .environment = WITH_THREADS);

YP_COMMAND(peers, spectral, .tags = TAGS, .timeout = TIMEOUT, .filter = is_measured,
           .axes = YP_AXES(SIDE, CHANNELS, THREADS),
           .command = PEER("spectral_rx", "{side} {channels} {seed}"), .environment = WITH_THREADS);

YP_COMMAND(peers, torch, .tags = TAGS, .timeout = TIMEOUT, .filter = is_measured,
           .axes = YP_AXES(SIDE, CHANNELS, THREADS,
                           yp_axis_string("form", "einsum", "product", "double")),
           .command = PEER("torch_rx", "{side} {channels} {seed} {form} {threads}"),
           .environment = WITH_THREADS);

/* Its arithmetic is NumPy's own, which has one thread. */
YP_COMMAND(peers, cuvis_scene, .tags = TAGS, .timeout = TIMEOUT, .filter = is_measured,
           .axes = YP_AXES(SIDE, CHANNELS, yp_axis_string("random", "pcg64", "legacy")),
           .command = PEER("cuvis_scene", "{side} {channels} {seed} {random}"),
           .environment = "OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1");

YP_COMMAND(peers, other_normals, .tags = TAGS, .timeout = TIMEOUT,
           .axes = YP_AXES(yp_axis_int("count", 1 << 24), THREADS,
                           yp_axis_string("by", "numpy", "torch")),
           .command = PEER("normals", "{by} {count} {seed}"), .environment = WITH_THREADS);

YP_COMMAND(peers, other_readers, .tags = TAGS, .timeout = TIMEOUT,
           .axes = YP_AXES(SIDE, yp_axis_int("channels", 100, 200), THREADS), .filter = is_measured,
           .command = PEER("read", "{side} {channels} {seed}"), .environment = WITH_THREADS);

/* -- their image -------------------------------------------------------------------------- */

enum { MATERIALS = 7, TILE_PIXELS = 4096 }; /* the last material is the target's */

/* SplitMix64 (Steele, Lea, Flood 2014). */
static uint64_t word(uint64_t seed, uint64_t index)
{
    uint64_t z = seed + (index + 1) * UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

/* (MATERIALS, channels): three bumps on a level each. */
static void make_spectra(uint64_t seed, size_t channels, int32_t *out)
{
    for (size_t k = 0; k < MATERIALS; k++)
        for (size_t c = 0; c < channels; c++) {
            int64_t at = (int64_t)(c * 4095 / (channels > 1 ? channels - 1 : 1));
            int64_t sum = 200;
            for (uint64_t b = 0; b < 3; b++) {
                uint64_t w = word(seed, 3 * k + b);
                int64_t far = at - (int64_t)(w % 4096);
                int64_t width = 256 + (int64_t)((w >> 16) % 1024);
                int64_t height = 256 + (int64_t)((w >> 32) % 1024);
                int64_t bump = height * (width * width - far * far);
                sum += bump > 0 ? bump / (width * width) : 0;
            }
            out[k * channels + c] = (int32_t)sum;
        }
}

static void make_amounts(uint64_t material_seed, uint64_t target_seed, uint64_t pixel,
                         int32_t amounts[MATERIALS])
{
    uint64_t w = word(material_seed, pixel);
    for (int k = 0; k < MATERIALS - 1; k++) {
        int32_t tenth = (int32_t)(w >> (10 * k) & 1023);
        amounts[k] = tenth * tenth >> 10;
    }
    w = word(target_seed, pixel);
    amounts[MATERIALS - 1] = w % 1024 == 0 ? 64 + (int32_t)((w >> 32) % 960) : 0;
}

struct image {
    struct rx_source source;
    size_t pixels;
    float *values;
    uint8_t *labels;
};

static enum yp_status yield(void *arg, size_t index, float *values, uint8_t *labels,
                            struct rx_tile *tile)
{
    (void)values, (void)labels;
    const struct image *image = arg;
    size_t first = index * TILE_PIXELS;
    tile->values = image->values + first * image->source.channels;
    tile->labels = image->labels + first;
    tile->pixels = TILE_PIXELS;
    return YP_OK;
}

/* A linear mixture with noise in 16 bits, in whole numbers: no order of sums changes it. Noise is
 * the sum of 4 bytes, so nearly normal; 40 dB below the signal, about. */
static void make_image(struct image *image, struct yp_case *t)
{
    size_t side = (size_t)yp_int(t, "side"), channels = (size_t)yp_int(t, "channels");
    size_t pixels = image->pixels = side * side;
    image->source = (struct rx_source){.channels = channels,
                                       .tile_pixels = TILE_PIXELS,
                                       .tiles = pixels / TILE_PIXELS,
                                       .yield = yield,
                                       .arg = image};
    float *values = image->values = yp_alloc(t, pixels * channels * sizeof *values);
    uint8_t *labels = image->labels = yp_alloc(t, pixels);
    int32_t *spectra = yp_alloc(t, MATERIALS * channels * sizeof *spectra);
    uint64_t seed = yp_seed(t), hash = 0;
    make_spectra(word(seed, 0), channels, spectra);
#pragma omp parallel for reduction(+ : hash)
    for (size_t p = 0; p < pixels; p++) {
        int32_t amounts[MATERIALS];
        make_amounts(word(seed, 1), word(seed, 2), p, amounts);
        labels[p] = amounts[MATERIALS - 1] > 0;
        for (size_t c = 0; c < channels; c++) {
            uint64_t i = p * channels + c;
            uint32_t w = (uint32_t)(word(word(seed, 3), i / 2) >> 32 * (i % 2));
            int32_t mixed = 0;
            for (size_t k = 0; k < MATERIALS; k++)
                mixed += amounts[k] * spectra[k * channels + c];
            w = (w & 0x00ff00ff) + (w >> 8 & 0x00ff00ff);
            mixed = (mixed >> 9) + (int32_t)((w & 0xffff) + (w >> 16));
            values[i] = (float)mixed / 65536;
            hash += (uint64_t)mixed * (2 * i + 1);
        }
    }
    yp_data_hash(t, hash);
}

/* -- our side ----------------------------------------------------------------------------- */

static double norm(const float *x, size_t count)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += (double)x[i] * (double)x[i];
    return sqrt(sum);
}

/* What the peers tell as well. The statistics must be those of the image. */
static void tell_results(struct yp_case *t, const struct rx *rx, const struct image *image,
                         const float *scores)
{
    size_t c = image->source.channels;
    double *covariance = yp_alloc(t, c * c * sizeof *covariance);
    yp_ok(t, rx_covariance(rx, covariance));
    double square = 0, sum = 0, largest = 0;
    for (size_t i = 0; i < c * c; i++)
        square += covariance[i] * covariance[i];
    for (size_t i = 0; i < image->pixels; i++) {
        sum += (double)scores[i];
        largest = fmax(largest, (double)scores[i]);
    }
    yp_value(t, "covariance", sqrt(square));
    yp_value(t, "largest score", largest);
    yp_value(t, "score sum error", fabs(sum / ((double)(image->pixels - 1) * (double)c) - 1));
}

static void step(struct yp_case *t, const struct rx *rx, const struct image *image, int threads)
{
    size_t channels = image->source.channels;
    double c = (double)channels, n = (double)image->pixels;
    struct rx_loss *loss = rx_loss_create(yp_device(t), channels, TILE_PIXELS, threads);
    yp_require(t, loss != NULL, "%s", yp_last_error());
    float *parameters = yp_alloc(t, rx_loss_parameters(channels) * sizeof *parameters);
    float *gradient = yp_alloc(t, rx_loss_parameters(channels) * sizeof *gradient);
    yp_ok(t, rx_loss_start(rx, 0.05F, (float)c, parameters));
    double mean = 0;
    enum yp_status status = YP_OK;
    yp_measure (t, "gradient step", .items = n, .unit = "pixels", .flops = 4 * n * c * c,
                .bytes = 4 * n * c, .traffic = YP_READ, .footprint = 4 * n * c,
                .threads = threads) {
        status = rx_loss_gradient(loss, &image->source, parameters, &mean, gradient);
    }
    yp_ok(t, status);
    rx_loss_destroy(loss);
    yp_value(t, "mean loss", mean);
    yp_value(t, "gradient of mean", norm(gradient, channels));
    yp_value(t, "gradient of A", norm(gradient + channels, channels * channels));
    yp_value(t, "gradient of scale", norm(gradient + channels + channels * channels, 1));
    yp_value(t, "gradient of bias", norm(gradient + channels + channels * channels + 1, 1));
}

static void reset_rx(void *rx)
{
    rx_reset(rx);
}

YP_TEST(peers, rx, .tags = TAGS, .timeout = TIMEOUT, .filter = is_measured,
        .axes = YP_AXES(SIDE, CHANNELS, THREADS),
        .budgets = YP_BUDGETS(yp_max_value("score sum error", 1e-4)))
{
    int threads = (int)yp_int(t, "threads");
    struct image image;
    make_image(&image, t);
    double c = (double)image.source.channels, n = (double)image.pixels;
    struct rx *rx = rx_create(yp_device(t), image.source.channels, TILE_PIXELS, threads);
    yp_require(t, rx != NULL, "%s", yp_last_error());
    float *scores = yp_alloc(t, image.pixels * sizeof *scores);
    enum yp_status status = YP_OK;
    yp_measure (t, "statistics", .items = n, .unit = "pixels", .flops = n * c * (c + 1),
                .bytes = 4 * n * c, .traffic = YP_READ, .footprint = 4 * n * c, .threads = threads,
                .reset = reset_rx, .arg = rx) {
        status = rx_fit(rx, &image.source);
    }
    yp_ok(t, status);
    yp_ok(t, rx_finish(rx, 0));
    yp_measure (t, "score", .items = n, .unit = "pixels", .flops = n * c * c, .bytes = 4 * n * c,
                .traffic = YP_READ, .footprint = 4 * n * c, .threads = threads) {
        status = rx_score(rx, &image.source, scores);
    }
    yp_ok(t, status);
    tell_results(t, rx, &image, scores);
    yp_measure (t, "detection", .items = n, .unit = "pixels", .flops = n * c * (2 * c + 1),
                .bytes = 8 * n * c, .traffic = YP_READ, .footprint = 4 * n * c,
                .threads = threads) {
        rx_reset(rx);
        status = rx_fit(rx, &image.source);
        status = status == YP_OK ? rx_finish(rx, 0) : status;
        status = status == YP_OK ? rx_score(rx, &image.source, scores) : status;
    }
    yp_ok(t, status);
    step(t, rx, &image, threads);
    rx_destroy(rx);
}

/* A whole cube into memory, with its labels: what a sample of the generator is. */
YP_TEST(peers, scene, .tags = TAGS, .timeout = TIMEOUT, .filter = is_measured,
        .axes = YP_AXES(SIDE, CHANNELS, yp_axis_string("preset", "scene", "cuvis"), THREADS))
{
    size_t side = (size_t)yp_int(t, "side"), channels = (size_t)yp_int(t, "channels");
    int threads = (int)yp_int(t, "threads");
    struct synth_spec spec = {.height = side, .width = side, .channels = channels};
    spec.preset = yp_string(t, "preset")[0] == 'c' ? SYNTH_CUVIS : SYNTH_SCENE;
    spec.seed = yp_seed(t);
    struct synth_scene *scene = synth_scene_create(yp_device(t), &spec);
    yp_require(t, scene != NULL, "%s", yp_last_error());
    size_t pixels = side * side;
    double count = (double)(pixels * channels);
    float *values = yp_alloc(t, pixels * channels * sizeof *values);
    uint8_t *labels = yp_alloc(t, pixels);
    uint64_t cube = 0;
    int failed = 0;
    yp_measure (t, "scene", .items = count, .unit = "values", .bytes = 4 * count,
                .traffic = YP_FILL, .footprint = 4 * count, .threads = threads) {
#pragma omp parallel for schedule(dynamic) num_threads(threads) reduction(+ : failed)
        for (size_t first = 0; first < pixels; first += TILE_PIXELS)
            failed += synth_scene_tile(scene, cube, first, TILE_PIXELS, values + first * channels,
                                       &(struct synth_truth){.labels = labels + first}) != YP_OK;
        cube++;
        yp_keep(values);
    }
    yp_require(t, failed == 0, "%d tiles could not be made", failed);
    yp_ok(t, synth_scene_tile(scene, 0, 0, pixels, values, NULL));
    yp_data_hash(t, yp_hash_f32(0, values, pixels * channels));
    synth_scene_destroy(scene);
}

YP_TEST(peers, normals, .tags = TAGS, .timeout = TIMEOUT,
        .axes = YP_AXES(yp_axis_int("count", 1 << 24), THREADS))
{
    enum { PIECE = 1 << 16 };
    size_t count = (size_t)yp_int(t, "count");
    int threads = (int)yp_int(t, "threads");
    float *z = yp_alloc(t, count * sizeof *z);
    struct synth_stream stream = synth_stream(yp_seed(t), 0, SYNTH_NOISE);
    yp_measure (t, "normals", .items = (double)count, .unit = "values",
                .bytes = 4.0 * (double)count, .traffic = YP_FILL, .footprint = 4.0 * (double)count,
                .threads = threads) {
#pragma omp parallel for schedule(static) num_threads(threads)
        for (size_t first = 0; first < count; first += PIECE)
            synth_normals(SYNTH_LEVEL_AUTO, stream, first,
                          count - first < PIECE ? count - first : PIECE, z + first);
        yp_keep(z);
    }
    yp_data_hash(t, yp_hash_f32(0, z, count));
}

/* -- ours against theirs ------------------------------------------------------------------ */

/* Times in medians of one run. `size_` is the beginning of a case's id, in brackets. */
#define FASTER(name_, what_, of_, to_, least_) \
    YP_RELATION(peers, name_, .tags = TAGS, .budgets = YP_BUDGETS(yp_min_value("ratio", least_)), \
                .relation = yp_ratio("perf/peers.c::" of_ "]", "perf/peers.c::" to_ "]", what_))
/* The same, to `off_` relative. */
#define AGREES(name_, what_, of_, to_, off_) \
    YP_RELATION( \
        peers, name_, .tags = TAGS, \
        .budgets = \
            YP_BUDGETS(yp_min_value("ratio", 1 - (off_)), yp_max_value("ratio", 1 + (off_))), \
        .relation = yp_value_ratio("perf/peers.c::" of_ "]", "perf/peers.c::" to_ "]", what_))
#define SAME_IMAGE(name_, of_, to_) \
    YP_RELATION(peers, name_, .tags = TAGS, \
                .relation = yp_same_hash("perf/peers.c::" of_ "]", "perf/peers.c::" to_ "]"))

/* One size and number of threads. Scores of a large image by two threads: at least 10 times as fast
 * as those of Spectral Python, 5 times as those of PyTorch by cuvis.ai's formula. Elsewhere, and
 * in all else, nothing may be slower than a peer. */
#define SPEED(label_, size_, than_spectral_, than_einsum_) \
    FASTER(label_##_numpy_statistics, "statistics", "rx[" size_, "numpy[" size_ "-bits=32", 1); \
    FASTER(label_##_numpy_score, "score", "rx[" size_, "numpy[" size_ "-bits=32", 1); \
    FASTER(label_##_spectral_statistics, "statistics", "rx[" size_, "spectral[" size_, 1); \
    FASTER(label_##_spectral_score, "score", "rx[" size_, "spectral[" size_, than_spectral_); \
    FASTER(label_##_spectral_detection, "detection", "rx[" size_, "spectral[" size_, 1); \
    FASTER(label_##_torch_statistics, "statistics", "rx[" size_, TORCH(size_, "product"), 1); \
    FASTER(label_##_einsum_score, "score", "rx[" size_, TORCH(size_, "einsum"), than_einsum_); \
    FASTER(label_##_torch_score, "score", "rx[" size_, TORCH(size_, "product"), 1); \
    FASTER(label_##_einsum_step, "gradient step", "rx[" size_, TORCH(size_, "einsum"), 1); \
    FASTER(label_##_torch_step, "gradient step", "rx[" size_, TORCH(size_, "product"), 1)
#define TORCH(size_, form_) "torch[" size_ "-form=" form_

SPEED(channels_10, "side=256-channels=10-threads=2", 1, 1);
SPEED(channels_50, "side=256-channels=50-threads=2", 1, 1);
SPEED(channels_100, "side=256-channels=100-threads=2", 1, 1);
SPEED(channels_200, "side=256-channels=200-threads=2", 1, 1);
SPEED(large, "side=512-channels=200-threads=2", 10, 5);
SPEED(large_alone, "side=512-channels=200-threads=1", 1, 1);

/* What they found. The covariance in double is ours to 2e-7; scores and gradients in float have the
 * condition of the image to bear. */
#define AGREEMENT(label_, size_) \
    SAME_IMAGE(label_##_image_numpy, "rx[" size_, "numpy[" size_ "-bits=64"); \
    SAME_IMAGE(label_##_image_spectral, "rx[" size_, "spectral[" size_); \
    SAME_IMAGE(label_##_image_torch, "rx[" size_, TORCH(size_, "einsum")); \
    AGREES(label_##_covariance, "covariance", "rx[" size_, "numpy[" size_ "-bits=64", 1e-6); \
    AGREES(label_##_largest_score, "largest score", "rx[" size_, "numpy[" size_ "-bits=64", 1e-5); \
    AGREES(label_##_loss, "mean loss", "rx[" size_, TORCH(size_, "einsum"), 1e-5); \
    AGREES(label_##_gradient_mean, "gradient of mean", "rx[" size_, TORCH(size_, "einsum"), 1e-3); \
    AGREES(label_##_gradient_A, "gradient of A", "rx[" size_, TORCH(size_, "einsum"), 1e-4); \
    AGREES(label_##_gradient_scale, "gradient of scale", "rx[" size_, TORCH(size_, "einsum"), 1e-4)

AGREEMENT(channels_10, "side=256-channels=10-threads=2");
AGREEMENT(channels_50, "side=256-channels=50-threads=2");
AGREEMENT(channels_100, "side=256-channels=100-threads=2");
AGREEMENT(channels_200, "side=256-channels=200-threads=2");
AGREEMENT(large, "side=512-channels=200-threads=2");

#define SCENES(label_, size_) \
    FASTER(label_##_scene, "scene", "scene[" size_ "-preset=scene-threads=2", \
           "cuvis_scene[" size_ "-random=pcg64", 1); \
    FASTER(label_##_scene_legacy, "scene", "scene[" size_ "-preset=scene-threads=2", \
           "cuvis_scene[" size_ "-random=legacy", 1); \
    FASTER(label_##_cuvis, "scene", "scene[" size_ "-preset=cuvis-threads=2", \
           "cuvis_scene[" size_ "-random=pcg64", 1)

SCENES(channels_10, "side=256-channels=10");
SCENES(channels_50, "side=256-channels=50");
SCENES(channels_100, "side=256-channels=100");
SCENES(channels_200, "side=256-channels=200");
SCENES(large, "side=512-channels=200");

/* The aim is 40 times the generator of cuvis.ai itself, of which 19 M values/s are known. */
YP_RELATION(peers, scene_by_40, .tags = TAGS, .budgets = YP_BUDGETS(yp_min_value("ratio", 40)),
            .relation = yp_ratio(
                "perf/peers.c::scene[side=256-channels=100-preset=scene-threads=2]",
                "perf/peers.c::cuvis_scene[side=256-channels=100-random=legacy]", "scene"));

#define NORMALS(name_, threads_, by_) \
    FASTER(name_, "normals", "normals[count=16777216-threads=" threads_, \
           "other_normals[count=16777216-threads=" threads_ "-by=" by_, 1)

NORMALS(numpy_normals, "2", "numpy");
NORMALS(torch_normals, "2", "torch");
NORMALS(numpy_normals_alone, "1", "numpy");
NORMALS(torch_normals_alone, "1", "torch");

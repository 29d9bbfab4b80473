/* Other programs on the same work: NumPy, Spectral Python, PyTorch with the formulas of cuvis.ai.
 *
 * Every case of the detector works on one image, which peers/common.py makes with the same bits,
 * and says how far its results are from what is right. Threads are OMP_NUM_THREADS and
 * OPENBLAS_NUM_THREADS of the command and, in PyTorch, set_num_threads; a command that keeps more
 * processors busy fails. Python is YIELDPOINT_PYTHON, else python3. */
#include "suites/perf/peers.h"

#include "base/random/stream.h"
#include "suites/perf/rx_work.h"
#include "suites/scene_work.h"
#include "synth/scene/purpose.h"

#include <math.h>

#define SIDE yp_axis_int("side", 256, 512)
#define CHANNELS yp_axis_int("channels", 10, 50, 100, 200)
#define THREADS yp_axis_int("threads", 1, 2)
#define BITS yp_axis_int("bits", 32, 64)

#define WITH_THREADS \
    "OMP_NUM_THREADS={threads} OPENBLAS_NUM_THREADS={threads} MKL_NUM_THREADS={threads}"

static bool is_measured(const struct yp_case *t)
{
    return yp_int(t, "side") == 256 || yp_int(t, "channels") == 200;
}

/* -- the peers ---------------------------------------------------------------------------- */

YP_COMMAND(peers, numpy, .tags = PEERS_TAGS, .timeout = PEERS_TIMEOUT, .filter = is_measured,
           .axes = YP_AXES(SIDE, CHANNELS, THREADS, BITS),
           .command = PEER("numpy_rx", "{side} {channels} {seed} {bits}"),
           .environment = WITH_THREADS);

YP_COMMAND(peers, spectral, .tags = PEERS_TAGS, .timeout = PEERS_TIMEOUT, .filter = is_measured,
           .axes = YP_AXES(SIDE, CHANNELS, THREADS),
           .command = PEER("spectral_rx", "{side} {channels} {seed}"), .environment = WITH_THREADS);

YP_COMMAND(peers, torch, .tags = PEERS_TAGS, .timeout = PEERS_TIMEOUT, .filter = is_measured,
           .axes = YP_AXES(SIDE, CHANNELS, THREADS,
                           yp_axis_string("form", "einsum", "product", "double")),
           .command = PEER("torch_rx", "{side} {channels} {seed} {form} {threads}"),
           .environment = WITH_THREADS);

/* Its arithmetic is NumPy's own, which has one thread. */
YP_COMMAND(peers, cuvis_scene, .tags = PEERS_TAGS, .timeout = PEERS_TIMEOUT, .filter = is_measured,
           .axes = YP_AXES(SIDE, CHANNELS, yp_axis_string("random", "pcg64", "legacy")),
           .command = PEER("cuvis_scene", "{side} {channels} {seed} {random}"),
           .environment = "OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1");

YP_COMMAND(peers, other_normals, .tags = PEERS_TAGS, .timeout = PEERS_TIMEOUT,
           .axes = YP_AXES(yp_axis_int("count", 1 << 24), THREADS,
                           yp_axis_string("by", "numpy", "torch")),
           .command = PEER("normals", "{by} {count} {seed}"), .environment = WITH_THREADS);

/* -- Yieldpoint --------------------------------------------------------------------------- */

static double norm(const float *x, size_t count)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += (double)x[i] * (double)x[i];
    return sqrt(sum);
}

/* The same values as the peers report. The statistics must be those of the image. */
static void report_results(struct yp_case *t, const struct rx *rx, const struct peers_image *image,
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

static void step(struct yp_case *t, struct rx *rx, const struct rx_work *work)
{
    size_t channels = work->source->channels;
    const float *gradient = measure_gradient_step(t, rx, work);
    yp_value(t, "gradient of mean", norm(gradient, channels));
    yp_value(t, "gradient of A", norm(gradient + channels, channels * channels));
    yp_value(t, "gradient of scale", norm(gradient + channels + channels * channels, 1));
    yp_value(t, "gradient of bias", norm(gradient + channels + channels * channels + 1, 1));
}

static void detect(struct yp_case *t, struct rx *rx, const struct rx_work *work, float *scores)
{
    double c = (double)work->source->channels, n = perf_pixels(work->source);
    enum yp_status status = YP_OK;
    yp_measure (t, "detection", .items = n, .unit = "pixels", .flops = n * c * (2 * c + 1),
                .bytes = 8 * n * c, .traffic = YP_READ, .footprint = 4 * n * c,
                .threads = work->threads) {
        rx_reset(rx);
        status = rx_fit(rx, work->source);
        status = status == YP_OK ? rx_finish(rx, 0) : status;
        status = status == YP_OK ? rx_score(rx, work->source, scores) : status;
    }
    yp_ok(t, status);
}

/* A detection is statistics and scores. */
static void rx_floors(const struct yp_case *c, struct yp_budgets *out)
{
    perf_statistics_floor(c, out);
    perf_score_floor(c, out);
    perf_gradient_floor(c, out);
    if (yp_int(c, "channels") >= 50)
        yp_budget_add(out, yp_min_share("detection", 0.18));
}

YP_TEST(peers, rx, .tags = PEERS_TAGS, .timeout = PEERS_TIMEOUT, .filter = is_measured,
        .axes = YP_AXES(SIDE, CHANNELS, THREADS), .budgets_of = rx_floors,
        .budgets = YP_BUDGETS(yp_max_value("score sum error", 1e-4)))
{
    struct peers_image image;
    peers_image_open(&image, t);
    struct rx_work work = {
        .source = &image.source, .threads = (int)yp_int(t, "threads"), .pixels = true};
    struct rx *rx = perf_rx(t, &work, RX_FP32);
    float *scores = yp_alloc(t, image.pixels * sizeof *scores);
    measure_statistics(t, rx, &work);
    yp_ok(t, rx_finish(rx, 0));
    report_results(t, rx, &image, measure_score(t, rx, &work));
    detect(t, rx, &work, scores);
    step(t, rx, &work);
    rx_destroy(rx);
}

/* A sample of the generator is a whole cube in memory, with its labels. */
YP_TEST(peers, scene, .tags = PEERS_TAGS, .timeout = PEERS_TIMEOUT, .filter = is_measured,
        .axes = YP_AXES(SIDE, CHANNELS, yp_axis_string("preset", "scene", "cuvis"), THREADS))
{
    size_t side = (size_t)yp_int(t, "side"), channels = (size_t)yp_int(t, "channels");
    int threads = (int)yp_int(t, "threads");
    struct synth_spec spec = {.height = side, .width = side, .channels = channels};
    spec.preset = yp_string(t, "preset")[0] == 'c' ? SYNTH_CUVIS : SYNTH_SCENE;
    spec.seed = yp_seed(t);
    struct synth_scene *scene = open_scene(t, yp_device(t), &spec);
    size_t pixels = side * side;
    double count = (double)(pixels * channels);
    float *values = yp_alloc(t, pixels * channels * sizeof *values);
    uint8_t *labels = yp_alloc(t, pixels);
    uint64_t cube = 0;
    int failed = 0;
    yp_measure (t, "scene", .items = count, .unit = "values", .bytes = 4 * count,
                .traffic = YP_FILL, .footprint = 4 * count,
                .bounds = YP_WORK(SCENE_WORK((double)pixels, count)), .threads = threads) {
#pragma omp parallel for schedule(dynamic) num_threads(threads) reduction(+ : failed)
        for (size_t first = 0; first < pixels; first += PEERS_TILE_PIXELS)
            failed +=
                synth_scene_tile(scene, cube, first, PEERS_TILE_PIXELS, values + first * channels,
                                 &(struct synth_truth){.labels = labels + first}) != YP_OK;
        cube++;
        yp_keep(values);
    }
    yp_require(t, failed == 0, "%d tiles could not be made", failed);
    yp_ok(t, synth_scene_tile(scene, 0, 0, pixels, values, NULL));
    yp_data_hash(t, yp_hash_f32(0, values, pixels * channels));
    synth_scene_destroy(scene);
}

YP_TEST(peers, normals, .tags = PEERS_TAGS, .timeout = PEERS_TIMEOUT,
        .axes = YP_AXES(yp_axis_int("count", 1 << 24), THREADS))
{
    enum { PIECE = 1 << 16 };
    size_t count = (size_t)yp_int(t, "count");
    int threads = (int)yp_int(t, "threads");
    float *z = yp_alloc(t, count * sizeof *z);
    struct ypi_stream stream = synth_stream(yp_seed(t), 0, SYNTH_NOISE);
    yp_measure (t, "normals", .items = (double)count, .unit = "values",
                .bytes = 4.0 * (double)count, .traffic = YP_FILL, .footprint = 4.0 * (double)count,
                .bounds = YP_WORK(NORMALS_WORK((double)count)), .threads = threads) {
#pragma omp parallel for schedule(static) num_threads(threads)
        for (size_t first = 0; first < count; first += PIECE)
            ypi_random_normals(YPI_LEVEL_AUTO, stream, first,
                               count - first < PIECE ? count - first : PIECE, z + first);
        yp_keep(z);
    }
    yp_data_hash(t, yp_hash_f32(0, z, count));
}

/* -- comparisons -------------------------------------------------------------------------- */

/* `of_` and `to_`: the beginning of a case's id, in brackets. */
#define FASTER(name_, what_, of_, to_, least_) \
    PEERS_FASTER(name_, what_, "perf/peers.c::" of_ "]", "perf/peers.c::" to_ "]", least_)
#define AGREES(name_, what_, of_, to_, off_) \
    PEERS_AGREES(name_, what_, "perf/peers.c::" of_ "]", "perf/peers.c::" to_ "]", off_)
#define SAME_IMAGE(name_, of_, to_) \
    PEERS_SAME_IMAGE(name_, "perf/peers.c::" of_ "]", "perf/peers.c::" to_ "]")

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

/* Results. Covariances in double agree to 2e-7; the error of scores and gradients in float grows
 * with the condition of the image. */
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
YP_RELATION(peers, scene_by_40, .tags = PEERS_TAGS,
            .budgets = YP_BUDGETS(yp_required(yp_min_value("ratio", 40), PEERS_REQUIRED)),
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

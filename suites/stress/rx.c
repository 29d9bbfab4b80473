/* The RX detector as the data grow: does it stay right and inside its memory. */
#include "suites/memory_tiles.h"
#include "suites/pipelines.h"
#include "suites/scene_work.h"
#include "suites/score_error.h"

#include <math.h>
#include <omp.h>
#include <string.h>

#define TILE_PIXELS 4096
/* Buffers are one a thread: with two the memory budget means the same on every machine. */
#define THREADS 2
/* Scores and labels are kept for this many pixels at most, 5 bytes each. */
#define SCORED_PIXELS (100 * 128 * 128)

/* The scores that a detector gives to the data it was fitted to sum to (n - 1) C, exactly, when
 * nothing is added to the covariance: sum (x-mu)^T Sigma^-1 (x-mu) = trace(Sigma^-1 M2). */
static double score_sum_error(const float *scores, size_t places, const struct rx *rx,
                              size_t channels)
{
    struct rx_summary summary;
    rx_summary(rx, &summary);
    double sum = 0, pixels = (double)summary.pixels;
    for (size_t i = 0; i < places; i++)
        sum += isnan(scores[i]) ? 0 : (double)scores[i];
    return fabs(sum / ((pixels - 1) * (double)channels) - 1);
}

/* On a GPU launches and merges bound what does not fill it, so that small scales show small shares.
 * On the CPU there is no floor: by SSE2 the generator is plain loops, with shares of 0.03 to 0.05,
 * by vectors 0.1 to 0.5. The same holds for all that generates while it is measured. */
YP_TEST(rx, fit, .tags = "stress",
        .cases = YP_CASES(
            SMALL_CASE, yp_case_of("medium", .set = YP_SET(SCALE_MEDIUM)),
            yp_case_of("large", .tags = "slow", .timeout = 1800, .set = YP_SET(SCALE_LARGE),
                       .budgets = YP_BUDGETS(yp_for_device("cuda"), yp_min_share("fit", 0.2)))),
        .devices = "cpu cuda", .timeout = 120,
        .budgets = YP_BUDGETS(yp_budget_file("budgets.ini"), yp_min_value("auc", 0.90),
                              yp_max_value("score sum error", 1e-4), yp_for_device("cpu"),
                              yp_max_resident(48 * YP_MIB)))
{
    struct scale s = scale_of(t);
    struct scene_tiles tiles;
    size_t tile_pixels = scale_tile_pixels(&s, yp_device(t), TILE_PIXELS);
    scene_tiles_open(&tiles, t, &s, tile_pixels);
    struct rx *rx = open_rx(t, s.channels, tile_pixels, THREADS);
    yp_data_hash(t, scene_tiles_hash(&tiles, t));

    size_t scored = SCORED_PIXELS / (s.height * s.width);
    bool once = s.cubes > scored;
    enum yp_status status = YP_OK;
    yp_measure (t, "fit", .items = scale_values(&s), .unit = "values", .bounds = FIT_WORK(&s),
                .threads = THREADS, .reset = reset_rx, .arg = rx, .warmup = once ? -1 : 0,
                .samples = once ? 3 : 0)
        status = rx_fit(rx, &tiles.source);
    yp_ok(t, status);
    yp_ok(t, rx_finish(rx, 0));

    /* The identity needs all the data; larger scales show it on the cubes that are scored. */
    if (once) {
        s.cubes = scored - scored % tiles.cubes_per_tile;
        tiles.source.tiles = scene_tiles_count(&tiles, s.cubes);
        rx_reset(rx);
        yp_ok(t, rx_fit(rx, &tiles.source));
        yp_ok(t, rx_finish(rx, 0));
    }
    size_t places = tiles.source.tiles * tile_pixels;
    const float *scores = scene_tiles_score(&tiles, t, rx);
    yp_value(t, "score sum error", score_sum_error(scores, places, rx, s.channels));
    yp_value(t, "auc", scene_tiles_auc(&tiles, t, scores, s.cubes));
    rx_destroy(rx);
    scene_tiles_close(&tiles);
}

YP_RELATION(rx, fit_data, .tags = "stress small",
            .relation = yp_same_hash("stress/rx.c::fit[small-cpu]",
                                     "stress/rx.c::fit[small-cuda]"));

/* The data do not depend on the number of threads or the size of tiles. */
YP_TEST(rx, same_data, .tags = "stress", .cases = YP_CASES(SMALL_CASE, MEDIUM_CASE), .timeout = 120,
        .parallel = true)
{
    struct scale s = scale_of(t);
    static const size_t tile_pixels[] = {4096, 1000, 137};
    uint64_t first = 0;
    for (size_t i = 0; i < sizeof tile_pixels / sizeof tile_pixels[0]; i++) {
        struct scene_tiles tiles;
        scene_tiles_open(&tiles, t, &s, tile_pixels[i]);
        for (int threads = 1; threads <= 2; threads++) {
            omp_set_num_threads(threads);
            uint64_t hash = scene_tiles_hash(&tiles, t);
            if (i == 0 && threads == 1)
                first = hash;
            yp_expect(t, hash == first,
                      "%016llx with tiles of %zu pixels and %d threads, %016llx "
                      "with 4096 and 1",
                      (unsigned long long)hash, tile_pixels[i], threads, (unsigned long long)first);
        }
        scene_tiles_close(&tiles);
    }
    yp_data_hash(t, first);
}

/* Mean, covariance and scores in the same bits for every number of threads at one tile size. */
YP_TEST(rx, same_statistics, .tags = "stress", .cases = YP_CASES(SMALL_CASE, MEDIUM_CASE),
        .timeout = 120, .parallel = true)
{
    struct scale s = scale_of(t);
    struct scene_tiles tiles;
    scene_tiles_open(&tiles, t, &s, TILE_PIXELS);
    size_t values = s.channels * s.channels, places = tiles.source.tiles * TILE_PIXELS;
    double *covariance[2];
    float *scores[2];
    for (int i = 0; i < 2; i++) {
        struct rx *rx = open_rx(t, s.channels, TILE_PIXELS, i + 1);
        covariance[i] = yp_alloc(t, values * sizeof *covariance[i]);
        scores[i] = yp_alloc(t, places * sizeof *scores[i]);
        yp_ok(t, rx_fit(rx, &tiles.source));
        yp_ok(t, rx_covariance(rx, covariance[i]));
        yp_ok(t, rx_finish(rx, RX_EPS));
        yp_ok(t, rx_score(rx, &tiles.source, scores[i]));
        rx_destroy(rx);
    }
    yp_expect(t, memcmp(covariance[0], covariance[1], values * sizeof *covariance[0]) == 0,
              "the covariances of 1 and 2 threads differ");
    yp_expect(t, memcmp(scores[0], scores[1], places * sizeof *scores[0]) == 0,
              "the scores of 1 and 2 threads differ");
    yp_data_hash(t, scene_tiles_hash(&tiles, t));
    scene_tiles_close(&tiles);
}

/* -- gradients ---------------------------------------------------------------------------- */

struct gradient_case {
    size_t channels, pixels, parameters;
    struct rx_tile tile;
    float *start;  /* parameters as float; all arrays are on the host */
    double *exact; /* the same values */
};

/* A tile of a fitted scene with some targets in it, and the parameters training starts from. */
static struct gradient_case gradient_case_open(struct yp_case *t, const struct scale *s,
                                               size_t pixels)
{
    struct scene_tiles tiles;
    scene_tiles_open_on(&tiles, t, yp_device_cpu(), s, TILE_PIXELS);
    struct rx *rx = open_rx_on(t, yp_device_cpu(), s->channels, TILE_PIXELS, THREADS, RX_FP32);
    yp_ok(t, rx_fit(rx, &tiles.source));
    yp_ok(t, rx_finish(rx, RX_EPS));

    struct gradient_case g = {
        .channels = s->channels, .pixels = pixels, .parameters = rx_loss_parameters(s->channels)};
    g.start = yp_alloc_host(t, g.parameters * sizeof *g.start);
    /* A scale that keeps the logits of background and targets off the flat ends of the sigmoid. */
    yp_ok(t, rx_loss_start(rx, 0.05F, (float)s->channels, g.start));
    g.exact = in_double(t, g.start, g.parameters);

    float *values = yp_alloc_host(t, pixels * s->channels * sizeof *values);
    uint8_t *labels = yp_alloc_host(t, pixels);
    yp_ok(t, synth_scene_tile(tiles.scene, 0, 0, pixels, values,
                              &(struct synth_truth){.labels = labels}));
    for (size_t i = 0; i < pixels; i += 7)
        labels[i] = 1; /* both classes, whatever the seed put here */
    g.tile = (struct rx_tile){
        .values = values, .pixels = pixels, .channels = s->channels, .labels = labels};
    yp_data_hash(t, yp_hash_f32(0, values, pixels * s->channels));
    rx_destroy(rx);
    scene_tiles_close(&tiles);
    return g;
}

/* The detection loss is that of a pipeline of RX alone. */
static struct rx_pipeline_options options_of(const struct rx_tile *tile)
{
    return (struct rx_pipeline_options){.channels = tile->channels, .tile_pixels = tile->pixels};
}

enum { PARTS = 64, PART_PIXELS = 64 };

/* The same on the device. */
struct moved {
    struct rx_tile tile;
    float *start, *gradient;
};

static struct moved move(struct yp_case *t, const struct gradient_case *g)
{
    struct moved m = {.tile = g->tile};
    m.tile.values = sent(t, g->tile.values, g->pixels * g->channels * sizeof(float));
    m.tile.labels = sent(t, g->tile.labels, g->pixels);
    m.start = sent(t, g->start, g->parameters * sizeof(float));
    m.gradient = yp_alloc(t, g->parameters * sizeof(float));
    return m;
}

/* The gradients of one part of the tile in three ways, stored tensor by tensor with all PARTS of a
 * tensor contiguous. A tensor of a single number then has 64, so that its error is not decided by
 * chance. */
static void add_part(struct yp_case *t, const struct gradient_case *g, const struct moved *moved,
                     struct rx_loss *loss, int part, double *exact, float *plain, float *fast)
{
    size_t n = g->parameters;
    struct rx_tile tile = {.values = g->tile.values + (size_t)part * PART_PIXELS * g->channels,
                           .labels = g->tile.labels + part * PART_PIXELS,
                           .pixels = PART_PIXELS,
                           .channels = g->channels};
    double *exact_part = yp_alloc_host(t, n * sizeof *exact_part);
    float *plain_part = yp_alloc_host(t, n * sizeof *plain_part);
    float *fast_part = yp_alloc_host(t, n * sizeof *fast_part);
    float share[PART_PIXELS]; /* the fast one's loss is the mean over finite pixels */
    double exact_share[PART_PIXELS];
    float finite = 0;
    for (size_t i = 0; i < PART_PIXELS; i++) /* a dead pixel is so in all channels */
        finite += isfinite(tile.values[i * g->channels]) ? 1.0F : 0;
    for (int i = 0; i < PART_PIXELS; i++)
        exact_share[i] = (double)(share[i] = 1 / finite);
    const struct rx_pipeline_options options = options_of(&tile);
    struct rx_plain *loops = open_plain(t, &options, &tile);
    rx_plain_vjp(loops, g->exact, exact_share, exact_part);
    rx_plain_vjp_f32(loops, g->start, share, plain_part);
    rx_plain_destroy(loops);
    struct rx_tile there = tile;
    there.values = moved->tile.values + (tile.values - g->tile.values);
    there.labels = moved->tile.labels + (tile.labels - g->tile.labels);
    struct rx_source source = one_tile_source(&there);
    double mean = 0;
    yp_ok(t, rx_loss_gradient(loss, &source, moved->start, &mean, moved->gradient));
    yp_ok(t, yp_device_copy(yp_device(t), fast_part, moved->gradient, n * sizeof *fast_part));

    struct yp_tensor tensors[RX_LOSS_TENSORS];
    rx_loss_tensors(g->channels, tensors);
    for (int i = 0; i < RX_LOSS_TENSORS; i++) {
        size_t from = tensors[i].offset, count = tensors[i].count;
        size_t to = PARTS * from + (size_t)part * count;
        memcpy(exact + to, exact_part + from, count * sizeof *exact);
        memcpy(plain + to, plain_part + from, count * sizeof *plain);
        memcpy(fast + to, fast_part + from, count * sizeof *fast);
    }
}

#define GRADIENT_FLOOR yp_for_device("cpu"), yp_min_share("gradient", 0.18)

/* The fast gradient in float against the double one, tensor by tensor, in units of what plain
 * loops in float are off. */
YP_TEST(rx, gradient_precision, .tags = "stress",
        .cases = YP_CASES(
            yp_case_of("small", .set = YP_SET(SCALE(2, 64, 10))),
            yp_case_of("medium", .set = YP_SET(SCALE(2, 128, 50)),
                       .budgets = YP_BUDGETS(GRADIENT_FLOOR)),
            yp_case_of("large", .tags = "slow", .set = YP_SET(SCALE(2, 256, 100)),
                       .budgets = YP_BUDGETS(GRADIENT_FLOOR, yp_max_peak(YP_HOST, 26515576))),
            yp_case_of("xl", .tags = "slow", .set = YP_SET(SCALE(2, 512, 200)),
                       .budgets = YP_BUDGETS(GRADIENT_FLOOR, yp_max_peak(YP_HOST, 94602312)))),
        .devices = "cpu cuda", .timeout = 120)
{
    struct scale s = scale_of(t);
    struct gradient_case g = gradient_case_open(t, &s, (size_t)PARTS * PART_PIXELS);
    size_t n = PARTS * g.parameters;
    float *fast = yp_alloc_host(t, n * sizeof *fast);
    float *plain = yp_alloc_host(t, n * sizeof *plain);
    double *exact = yp_alloc_host(t, n * sizeof *exact);
    /* One thread: a tile this small is finished before a second thread starts. */
    struct rx_loss *loss = rx_loss_create(yp_device(t), g.channels, g.pixels, 1);
    yp_require(t, loss != NULL, "%s", yp_last_error());
    struct moved moved = move(t, &g);
    for (int i = 0; i < PARTS; i++)
        add_part(t, &g, &moved, loss, i, exact, plain, fast);

    struct yp_tensor tensors[RX_LOSS_TENSORS];
    rx_loss_tensors(g.channels, tensors);
    for (int i = 0; i < RX_LOSS_TENSORS; i++) {
        tensors[i].offset *= PARTS;
        tensors[i].count *= PARTS;
    }
    struct yp_precision check = {.count = n,
                                 .oracle = exact,
                                 .plain = plain,
                                 .got = fast,
                                 .tensors = tensors,
                                 .n_tensors = RX_LOSS_TENSORS};
    yp_check_precision(t, &check);

    struct rx_source source = one_tile_source(&moved.tile);
    double mean = 0;
    enum yp_status status = YP_OK;
    double values = (double)(g.pixels * g.channels);
    yp_measure (t, "gradient", .items = values, .unit = "values",
                /* With 10 channels vectors are not full, and the loss of a pixel takes as long as
                 * its products: a share below 0.05. On a GPU up to "large": 93 us for an H100 at
                 * "small" and 103 at "medium", which has 25 times the work. */
                .flops = 4 * values * (double)g.channels, .threads = 1)
        status = rx_loss_gradient(loss, &source, moved.start, &mean, moved.gradient);
    yp_ok(t, status);
    yp_value(t, "mean loss", mean);
    rx_loss_destroy(loss);
}

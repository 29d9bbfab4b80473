/* Ranks beside threads: a process of two threads, and two processes of one thread that share the
 * work. Of two cores, so that both have as many. */
#include "models/data/ranks.h"
#include "suites/lm_training.h"
#include "suites/scene_work.h"

#include <omp.h>

enum { CORES = 2, TILE_PIXELS = 4096 };

/* The detector's statistics of a part of scale "large", generated tile by tile. */
YP_TEST(ranks, rx_fit, .tags = "perf large slow ranks", .ranks = "1 2", .timeout = 600)
{
    struct scale s = {.cubes = 64, .height = 256, .width = 256, .channels = 100};
    struct scale mine = s;
    const int threads = CORES / yp_ranks(t);
    struct scene_tiles tiles;
    mine.cubes = s.cubes / (size_t)yp_ranks(t);
    scene_tiles_open(&tiles, t, &s, TILE_PIXELS);
    struct rx *rx = open_rx(t, s.channels, TILE_PIXELS, threads);
    enum yp_status status = YP_OK;
    yp_measure (t, "fit", .items = scale_values(&mine), .unit = "values", .bounds = FIT_WORK(&mine),
                .threads = threads, .reset = reset_rx, .arg = rx, .samples = 5)
        status = rx_fit_over(rx, &tiles.source, yp_ranks_communicator(t));
    yp_ok(t, status);
    yp_ok(t, rx_finish(rx, RX_EPS));
    struct rx_summary summary;
    rx_summary(rx, &summary);
    yp_value(t, "pixels", (double)summary.pixels);
    yp_value(t, "mean of channel 50", rx_mean(rx)[50]); /* the same bits */
    rx_destroy(rx);
    scene_tiles_close(&tiles);
}

YP_RELATION(ranks, rx_fit_gain, .tags = "perf large slow ranks",
            .relation = yp_ratio_over("perf/ranks.c::rx_fit", "fit", "ranks", "2", "1"));

/* One thread a rank; the ranks share the cubes. */
static void fit_cubes(struct yp_case *t, size_t cubes)
{
    const struct scale all = {.cubes = cubes, .height = 128, .width = 128, .channels = 100};
    struct scale mine = all;
    struct scene_tiles tiles;
    mine.cubes = cubes / (size_t)yp_ranks(t);
    scene_tiles_open(&tiles, t, &all, TILE_PIXELS);
    struct rx *rx = open_rx(t, all.channels, TILE_PIXELS, 1);
    enum yp_status status = YP_OK;
    yp_measure (t, "fit", .items = scale_values(&mine), .unit = "values", .bounds = FIT_WORK(&mine),
                .threads = 1, .reset = reset_rx, .arg = rx, .samples = 10)
        status = rx_fit_over(rx, &tiles.source, yp_ranks_communicator(t));
    yp_ok(t, status);
    rx_destroy(rx);
    scene_tiles_close(&tiles);
}

YP_TEST(ranks, rx_fit_shared, .tags = "perf large slow ranks", .ranks = "1 2 4", .timeout = 600)
{
    fit_cubes(t, 16);
}

YP_RELATION(ranks, rx_fit_strong, .tags = "perf large slow ranks",
            .relation = yp_strong_scaling("perf/ranks.c::rx_fit_shared", "fit", "ranks"));

/* As many cubes for each rank. */
YP_TEST(ranks, rx_fit_grown, .tags = "perf large slow ranks", .ranks = "1 2 4", .timeout = 600)
{
    fit_cubes(t, 8 * (size_t)yp_ranks(t));
}

YP_RELATION(ranks, rx_fit_weak, .tags = "perf large slow ranks",
            .relation = yp_weak_scaling("perf/ranks.c::rx_fit_grown", "fit", "ranks"));

/* Sums of floats in the communicator's own memory: from a latency to what no cache holds. */
YP_TEST(ranks, all_reduce, .tags = "perf large slow ranks", .ranks = "2 4",
        .axes = YP_AXES(yp_axis_int("bytes", 8, 65536, 16 << 20)))
{
    struct ypk_communicator *all = yp_ranks_communicator(t);
    const size_t bytes = (size_t)yp_int(t, "bytes");
    float *data = ypk_allocate(all, bytes);
    enum yp_status status = YP_OK;
    yp_require(t, data != NULL, "%s", yp_last_error());
    yp_measure (t, "sum", .bounds = YP_WORK(yp_exchange(YP_ALL_REDUCE, bytes)), .threads = 1)
        status = ypk_all_reduce(all, data, bytes / sizeof *data, YPK_FLOAT, YPK_SUM);
    yp_ok(t, status);
    yp_ok(t, ypk_free(all, data));
}

/* The smallest size of the benchmark with 2 of its 12 layers: 34 million parameters. */
static struct lm_options reduced(struct yp_case *t, size_t batch)
{
    struct lm_options o = {.device = yp_device(t), .batch = batch, .context = 128};
    yp_require(t, lm_config_named("small", &o.config), "%s", yp_last_error());
    o.config.layers = 2;
    nn_precision_from_name(yp_string(t, "precision"), &o.precision);
    return o;
}

enum { BATCH = 4, BATCHES = 2, STEPS = 10 };

struct curve {
    double loss[64];
    size_t steps;
    struct train_exchange exchange; /* of all steps */
};

static bool keep_loss(void *arg, const struct train_event *event)
{
    struct curve *curve = arg;
    if (event->kind == TRAIN_STEP && curve->steps < sizeof curve->loss / sizeof *curve->loss)
        curve->loss[curve->steps++] = event->loss;
    if (event->kind == TRAIN_STEP) {
        curve->exchange.wait += event->exchange.wait;
        curve->exchange.hidden += event->exchange.hidden;
        curve->exchange.open += event->exchange.open;
        curve->exchange.spread += event->exchange.spread;
    }
    return true;
}

static struct train_config config_of(const struct lm_options *o, struct curve *curve)
{
    struct train_config config = train_defaults();
    config.batch = BATCH;
    config.accumulate = BATCHES;
    config.epochs = UINT64_MAX;
    config.validation = 0;
    config.keep_best = false;
    config.adamw.lr = 1e-4;
    config.schedule = TRAIN_CONSTANT;
    config.no_decay = lm_no_decay(&o->config);
    config.watch = keep_loss;
    config.watch_arg = curve;
    return config;
}

/* Steps of two batches, one after the other or one a rank. */
YP_TEST(ranks, lm_step, .tags = "perf large slow ranks", .ranks = "1 2", .timeout = 600,
        .axes = YP_AXES(yp_axis_string("precision", "fp32", "bf16")))
{
    struct lm_training training;
    struct curve curve = {.steps = 0};
    const struct lm_options o = reduced(t, BATCH);
    struct train_config config = config_of(&o, &curve);
    const int threads = CORES / yp_ranks(t);
    omp_set_num_threads(threads);
    config.ranks.all = yp_ranks_communicator(t);
    lm_training_open(&training, t, &o, &config, (size_t)BATCH * BATCHES * 64, 1);
    yp_ok(t, train_run(training.train, 2));
    enum yp_status status = YP_OK;
    yp_measure (t, "step", .items = (double)(BATCH * BATCHES * o.context) / yp_ranks(t),
                .unit = "tokens", .threads = threads, .warmup = -1, .samples = STEPS)
        status = train_run(training.train, 1);
    yp_ok(t, status);
    yp_value(t, "first loss", curve.loss[0]);
    yp_value(t, "loss of step 10", curve.loss[9]);
    lm_training_close(&training);
}

YP_RELATION(ranks, lm_step_gain, .tags = "perf large slow ranks",
            .relation = yp_ratio_over("perf/ranks.c::lm_step", "step", "ranks", "2", "1"));

/* What gradients cost a step with overlap and without it, in milliseconds of a rank: time in which
 * it does nothing but move them or wait for them (open), and time within the backward passes
 * (hidden). The two take turns, so that both have the machine alike. */
YP_TEST(ranks, lm_exchange, .tags = "perf large slow", .ranks = "2", .timeout = 600,
        .axes = YP_AXES(yp_axis_string("precision", "fp32", "bf16")))
{
    enum { WITH, WITHOUT, BOTH };
    struct lm_training training[BOTH];
    struct curve curves[BOTH] = {{.steps = 0}};
    const struct lm_options o = reduced(t, BATCH);
    omp_set_num_threads(CORES / yp_ranks(t));
    for (int i = 0; i < BOTH; i++) {
        struct train_config config = config_of(&o, &curves[i]);
        config.ranks.all = yp_ranks_communicator(t);
        config.ranks.bucket = (size_t)4 << 20;
        config.ranks.no_overlap = i == WITHOUT;
        lm_training_open(&training[i], t, &o, &config, (size_t)BATCH * BATCHES * 64, 1);
    }
    for (int step = -2; step < STEPS; step++)
        for (int i = 0; i < BOTH; i++) {
            yp_ok(t, train_run(training[i].train, 1));
            if (step < 0) /* first touches, connections */
                curves[i].exchange = (struct train_exchange){.wait = 0};
        }
    const struct train_exchange *with = &curves[WITH].exchange;
    const struct train_exchange *without = &curves[WITHOUT].exchange;
    const double scale = 1e3 / STEPS;
    yp_expect(t, curves[WITH].loss[STEPS] == curves[WITHOUT].loss[STEPS], "the losses differ");
    yp_value(t, "open without overlap", scale * without->open);
    yp_value(t, "open with overlap", scale * with->open);
    yp_value(t, "hidden with overlap", scale * with->hidden);
    yp_value(t, "wait for batches without overlap", scale * without->wait);
    yp_value(t, "wait for batches with overlap", scale * with->wait);
    yp_value(t, "spread of parameters", scale * (with->spread + without->spread) / 2);
    yp_value(t, "share hidden", 1 - with->open / without->open);
    for (int i = 0; i < BOTH; i++)
        lm_training_close(&training[i]);
}

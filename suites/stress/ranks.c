/* Work that ranks share has the bits of one process. Every rank computes both. */
#include "models/data/ranks.h"
#include "models/refiner/vit_train.h"
#include "suites/graph_plays.h"
#include "suites/lm_training.h"
#include "suites/nccl_ranks.h"
#include "suites/scene_tiles.h"

#include <math.h>
#include <omp.h>
#include <string.h>

enum { CORES = 2, TILE_PIXELS = 4096 };

/* -- the detector ------------------------------------------------------------------------------ */

/* Statistics and scores of a scale; tiles in blocks of one, and of two where there are more than
 * 256. */
YP_TEST(ranks, rx, .tags = "stress small", .ranks = "1 2 3", .timeout = 120,
        .axes = YP_AXES(yp_axis_int("tile", 300, 100)))
{
    struct scale s = {.cubes = 10, .height = 64, .width = 64, .channels = 10};
    const size_t tile_pixels = (size_t)yp_int(t, "tile"), square = s.channels * s.channels;
    struct scene_tiles tiles;
    double covariance[2][100];
    scene_tiles_open(&tiles, t, &s, tile_pixels);
    const struct data_share mine = data_share_of(tiles.source.tiles, yp_rank(t), yp_ranks(t));
    float *scores[2];
    for (int i = 0; i < 2; i++) {
        struct rx *rx = open_rx(t, s.channels, tile_pixels, 1 + i);
        scores[i] = yp_alloc(t, tiles.source.tiles * tile_pixels * sizeof(float));
        yp_ok(t, i == 0 ? rx_fit(rx, &tiles.source)
                        : rx_fit_over(rx, &tiles.source, yp_ranks_communicator(t)));
        yp_ok(t, rx_covariance(rx, covariance[i]));
        yp_ok(t, rx_finish(rx, RX_EPS));
        yp_ok(t, rx_score(rx, &tiles.source, scores[i]));
        rx_destroy(rx);
    }
    yp_expect(t, memcmp(covariance[0], covariance[1], square * sizeof(double)) == 0,
              "the covariances of one process and of %d ranks differ", yp_ranks(t));
    yp_expect(t,
              memcmp(scores[0] + mine.first * tile_pixels, scores[1] + mine.first * tile_pixels,
                     mine.count * tile_pixels * sizeof(float)) == 0,
              "the scores differ");
    yp_data_hash(t, yp_rank(t) == 0 ? scene_tiles_hash(&tiles, t) : 0);
    scene_tiles_close(&tiles);
}

/* Memory of a rank. */
#define MOST(mib_) yp_max_resident((mib_)*YP_MIB), yp_max_peak(YP_HOST, (mib_)*YP_MIB)

/* The scales of rx.c and rx_scaling.c that take minutes, each rank its part of the tiles; `--set
 * cubes=N` takes a slice. The hash is that of the statistics: it may not depend on the ranks. */
YP_TEST(ranks, rx_scale, .tags = "stress slow ranks", .ranks = "1 2", .timeout = 7200,
        .cases = YP_CASES(
            yp_case_of("large", .set = YP_SET(SCALE_LARGE), .budgets = YP_BUDGETS(MOST(24))),
            yp_case_of("xl", .set = YP_SET(SCALE_XL), .budgets = YP_BUDGETS(MOST(48)))),
        .budgets = YP_BUDGETS(yp_min_value("auc", 0.90)))
{
    struct scale s = scale_of(t);
    const int threads = yp_ranks(t) < CORES ? CORES / yp_ranks(t) : 1;
    const size_t square = s.channels * s.channels, scored = s.cubes < 10 ? s.cubes : 10;
    struct scene_tiles tiles;
    scene_tiles_open(&tiles, t, &s, TILE_PIXELS);
    struct rx *rx = open_rx(t, s.channels, TILE_PIXELS, threads);
    double *covariance = yp_alloc(t, square * sizeof *covariance);
    yp_ok(t, rx_fit_over(rx, &tiles.source, yp_ranks_communicator(t)));
    yp_ok(t, rx_covariance(rx, covariance));
    yp_data_hash(t,
                 yp_rank(t) == 0 ? yp_hash_bytes(0, covariance, square * sizeof *covariance) : 0);
    yp_ok(t, rx_finish(rx, RX_EPS));
    tiles.source.tiles = scene_tiles_count(&tiles, scored);
    const float *scores = scene_tiles_score(&tiles, t, rx);
    yp_value(t, "auc", scene_tiles_auc(&tiles, t, scores, scored));
    rx_destroy(rx);
    scene_tiles_close(&tiles);
}

YP_RELATION(ranks, rx_same_large, .tags = "stress slow large ranks",
            .relation = yp_same_hash("stress/ranks.c::rx_scale[large-ranks=1]",
                                     "stress/ranks.c::rx_scale[large-ranks=2]"));
YP_RELATION(ranks, rx_same_xl, .tags = "stress slow xl ranks",
            .relation = yp_same_hash("stress/ranks.c::rx_scale[xl-ranks=1]",
                                     "stress/ranks.c::rx_scale[xl-ranks=2]"));

/* -- training ---------------------------------------------------------------------------------- */

enum { STEPS_MAX = 64 };

struct curve {
    double loss[STEPS_MAX];
    size_t steps;
    double hidden; /* seconds of exchange during the backward passes */
};

static bool keep_loss(void *arg, const struct train_event *event)
{
    struct curve *curve = arg;
    if (event->kind == TRAIN_STEP && curve->steps < STEPS_MAX)
        curve->loss[curve->steps++] = event->loss;
    curve->hidden += event->exchange.hidden;
    return true;
}

static struct train_config little(struct yp_case *t, size_t accumulate, struct curve *curve)
{
    struct train_config config = train_defaults();
    config.seed = yp_seed(t);
    config.batch = 4;
    config.accumulate = accumulate;
    config.epochs = 2;
    config.average = 0.9;
    config.watch = keep_loss;
    config.watch_arg = curve;
    config.ranks.bucket = 8192; /* many, which begin one after the other in a backward pass */
    return config;
}

static void expect_same_losses(struct yp_case *t, const struct curve *one, const struct curve *all)
{
    yp_expect(t, all->steps == one->steps && one->steps > 4, "%zu steps and %zu", one->steps,
              all->steps);
    for (size_t i = 0; i < one->steps; i++)
        yp_require(t, all->loss[i] == one->loss[i], "step %zu: loss %.17g, of one process %.17g",
                   i + 1, all->loss[i], one->loss[i]);
    const bool hides = yp_ranks(t) > 1 && yp_device_memory_kind(yp_device(t)) == YP_HOST;
    yp_expect(t, (all->hidden > 0) == hides, "%g s of exchange are hidden", all->hidden);
}

/* One thread: with more a batch's products may be rounded otherwise. */
static void train_lm(struct yp_case *t, struct ypk_communicator *ranks, size_t accumulate,
                     struct curve *curve, float *parameters)
{
    const struct lm_options o = {.config = {.vocabulary = 100,
                                            .d_model = 32,
                                            .d_ff = 64,
                                            .layers = 2,
                                            .heads = 4,
                                            .theta = 10000,
                                            .eps = 1e-5},
                                 .device = yp_device(t),
                                 .batch = 4,
                                 .context = 16};
    struct train_config config = little(t, accumulate, curve);
    struct lm_training training;
    config.no_decay = lm_no_decay(&o.config);
    config.ranks.all = ranks;
    lm_training_open(&training, t, &o, &config, 150, 1);
    yp_ok(t, train_run(training.train, 0));
    yp_ok(t, yp_device_copy(yp_device(t), parameters, train_parameters(training.train),
                            lm_parameters(&o.config) * sizeof *parameters));
    lm_training_close(&training);
}

/* By all ranks and by each alone. */
static void expect_same_training(struct yp_case *t)
{
    enum { PARAMETERS = 40000 };
    static float parameters[2][PARAMETERS];
    struct curve one = {.steps = 0}, all = {.steps = 0};
    omp_set_num_threads(1);
    train_lm(t, NULL, 4, &one, parameters[0]);
    train_lm(t, yp_ranks_communicator(t), 4, &all, parameters[1]);
    expect_same_losses(t, &one, &all);
    yp_expect(t, memcmp(parameters[0], parameters[1], sizeof parameters[0]) == 0,
              "the parameters differ");
}

/* Each rank with a GPU of its own. */
YP_TEST(ranks, lm_devices, .tags = "stress small", .ranks = "1 2 4", .devices = "cuda",
        .timeout = 120)
{
    ypk_devices_leave(nccl_join(t));
    expect_same_training(t);
}

YP_TEST(ranks, lm, .tags = "stress small", .ranks = "1 2 4", .timeout = 120)
{
    expect_same_training(t);
}

/* Batches that are divided: the loss within the rounding of float, over 60 steps. */
YP_TEST(ranks, lm_divided, .tags = "stress small", .ranks = "2 3", .timeout = 120,
        .budgets = YP_BUDGETS(yp_max_value("difference", 2e-7)))
{
    enum { PARAMETERS = 40000 };
    struct curve one = {.steps = 0}, all = {.steps = 0};
    float *parameters = yp_alloc(t, PARAMETERS * sizeof(float));
    double worst = 0;
    omp_set_num_threads(1);
    train_lm(t, NULL, 1, &one, parameters);
    train_lm(t, yp_ranks_communicator(t), 1, &all, parameters);
    yp_require(t, one.steps == all.steps && one.steps > 50, "%zu steps", one.steps);
    for (size_t i = 0; i < one.steps; i++) {
        const double difference = all.loss[i] / one.loss[i] - 1;
        worst = difference > worst ? difference : -difference > worst ? -difference : worst;
    }
    yp_value(t, "difference", worst);
}

/* The graph trajectory model, whose batches have different weights. */
static void train_graph(struct yp_case *t, struct ypk_communicator *ranks, struct curve *curve)
{
    struct graph_options o;
    struct graph_plays plays;
    yp_ok(t, graph_sized("base", yp_device(t), &o));
    o.hidden = 32, o.heads = 2, o.layers = 2, o.modes = 4, o.blocks = 1;
    struct train_config config = little(t, 4, curve);
    config.ranks.all = ranks;
    graph_plays_open(&plays, t, (struct synth_plays){.frames = 20, .missing = 0.1}, 12,
                     &GRAPH_RULES, config.batch);
    struct graph_trainee *trainee =
        graph_trainee_create(&o, &plays.source, config.batch, yp_seed(t));
    yp_got(t, trainee);
    const struct train_objective objective = graph_trainee_objective(trainee);
    struct train *train = train_create(o.device, &objective, &config);
    yp_got(t, train);
    yp_ok(t, train_begin(train, graph_trainee_start(trainee)));
    yp_ok(t, train_run(train, 0));
    train_destroy(train);
    graph_trainee_destroy(trainee);
    graph_plays_close(&plays);
}

YP_TEST(ranks, graph, .tags = "stress small", .ranks = "1 2", .timeout = 120)
{
    struct curve one = {.steps = 0}, all = {.steps = 0};
    omp_set_num_threads(1);
    train_graph(t, NULL, &one);
    train_graph(t, yp_ranks_communicator(t), &all);
    expect_same_losses(t, &one, &all);
}

/* The image refiner, whose last blocks and head are trained, two images at once of a batch of four:
 * a gradient is whole in the second part alone. */
static enum yp_status read_image(void *arg, uint32_t item, double *image, double *target)
{
    const struct vit_options *o = arg;
    for (size_t i = 0; i < o->tile * o->tile; i++) {
        const double wave = sin(0.2 * (double)(i % o->tile) + 0.7 * (double)item);
        for (size_t c = 0; c < o->channels; c++)
            image[i * o->channels + c] = wave * (1 + (double)c) / 2;
        for (size_t c = 0; c < o->head_width; c++)
            target[i * o->head_width + c] = wave + 0.1 * (double)c;
    }
    return YP_OK;
}

static void train_refiner(struct yp_case *t, struct ypk_communicator *ranks, struct curve *curve)
{
    struct vit_options o = vit_full(yp_device(t));
    o.pass = NN_MODEL_GRADIENT;
    o.batch = 2, o.tile = 12, o.channels = 2, o.bands = 3, o.patch = 2;
    o.width = 16, o.depth = 3, o.heads = 2, o.trained = 2, o.rank = 2, o.alpha = 3;
    o.head_width = 4, o.head_blocks = 2;
    const struct vit_source source = {.images = 40, .read = read_image, .arg = &o};
    struct vit_trainee *trainee = vit_trainee_create(&o, &source, yp_seed(t));
    yp_got(t, trainee);
    struct train_config config = little(t, 2, curve);
    config.epochs = 3;
    config.ranks.all = ranks;
    const struct train_objective objective = vit_trainee_objective(trainee);
    struct train *train = train_create(o.device, &objective, &config);
    yp_got(t, train);
    yp_ok(t, train_begin(train, vit_trainee_start(trainee)));
    yp_ok(t, train_run(train, 0));
    train_destroy(train);
    vit_trainee_destroy(trainee);
}

YP_TEST(ranks, refiner, .tags = "stress small", .ranks = "1 2", .timeout = 120)
{
    struct curve one = {.steps = 0}, all = {.steps = 0};
    omp_set_num_threads(1);
    train_refiner(t, NULL, &one);
    train_refiner(t, yp_ranks_communicator(t), &all);
    expect_same_losses(t, &one, &all);
}

/* Training of the graph trajectory model: what it learns, and what must not change a run. */
#include "models/metrics/metrics.h"
#include "suites/graph_plays.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { ADE, FDE, MIN_ADE, MIN_FDE, MISS, COVERAGE, METRICS };

/* A small model with everything that a large one has. */
static struct graph_options small_model(struct yp_case *t)
{
    struct graph_options o;
    yp_ok(t, graph_sized("base", yp_device(t), &o));
    o.hidden = 32, o.heads = 2, o.layers = 2, o.modes = 4, o.blocks = 1;
    o.losses.winner = 0.5;
    return o;
}

struct run {
    struct graph_plays plays;
    struct graph_trainee *trainee;
    struct train *train;
    struct train_objective objective;
};

/* On plays that are open. */
static void run_begin(struct run *r, struct yp_case *t, const struct graph_options *o,
                      const struct train_config *config)
{
    r->trainee = graph_trainee_create(o, &r->plays.source, config->batch, yp_seed(t));
    yp_got(t, r->trainee);
    r->objective = graph_trainee_objective(r->trainee);
    r->train = train_create(o->device, &r->objective, config);
    yp_got(t, r->train);
    yp_ok(t, train_begin(r->train, graph_trainee_start(r->trainee)));
}

static void run_open(struct run *r, struct yp_case *t, const struct graph_options *o,
                     const struct train_config *config, size_t plays)
{
    graph_plays_open(&r->plays, t, (struct synth_plays){.frames = 20, .missing = 0.1}, plays,
                     &GRAPH_RULES, config->batch);
    r->plays.augmentation.flip = 0.5F;
    r->plays.augmentation.noise = 0.1F;
    run_begin(r, t, o, config);
}

static void run_close(struct run *r)
{
    train_destroy(r->train);
    graph_trainee_destroy(r->trainee);
    graph_plays_close(&r->plays);
}

static struct train_config little_config(struct yp_case *t)
{
    struct train_config config = train_defaults();
    config.seed = yp_seed(t);
    config.batch = 8;
    config.epochs = 2;
    config.average = 0.9;
    return config;
}

/* In fp16 the loss is scaled. This scale is too large for every gradient: the first steps are
 * skipped until it is not, and as it soon doubles, later ones are skipped, too. */
static void in_precision(const char *name, struct graph_options *o, struct train_config *config)
{
    nn_precision_from_name(name, &o->precision);
    if (o->precision == NN_FP16)
        config->scaling =
            (struct train_scaling){.initial = 0x1p20, .growth = 2, .backoff = 0.5, .interval = 2};
    config->max_skipped = 0;
    config->epochs = 4;
}

/* -- what must not change a run ---------------------------------------------------------------- */

/* The parameters after so many steps of SGD, on graphs that all have as many nodes that count. */
static const float *after_steps(struct yp_case *t, size_t batch, size_t accumulate, uint64_t steps,
                                size_t *count)
{
    const struct graph_options o = small_model(t);
    struct train_config config = little_config(t);
    struct run r;
    config.batch = batch;
    config.accumulate = accumulate;
    config.optimiser = TRAIN_SGD;
    config.sgd.lr = 1e-3;
    graph_plays_open(&r.plays, t, (struct synth_plays){.frames = 20}, 12, &GRAPH_RULES, batch);
    for (size_t i = 0; i < r.plays.count; i++)
        r.plays.plays[i].coverage = (float)(i % 2);
    run_begin(&r, t, &o, &config);
    yp_ok(t, train_run(r.train, steps));
    *count = r.objective.parameters;
    float *out = yp_alloc_host(t, *count * sizeof *out);
    memcpy(out, train_parameters(r.train), *count * sizeof *out);
    run_close(&r);
    return out;
}

/* Batches of 4 whose gradients are accumulated, and batches of 12: how far the parameters are from
 * each other, in parts of how far they have gone. */
YP_TEST(graph_train, accumulates, .tags = "stress small", .parallel = true,
        .budgets = YP_BUDGETS(yp_max_value("difference", 1e-5)))
{
    size_t count;
    const float *start = after_steps(t, 12, 1, 1, &count),
                *large = after_steps(t, 12, 1, 4, &count);
    const float *parts = after_steps(t, 4, 3, 4, &count);
    double off = 0, gone = 0;
    for (size_t i = 0; i < count; i++) {
        off += pow((double)parts[i] - (double)large[i], 2);
        gone += pow((double)large[i] - (double)start[i], 2);
    }
    yp_value(t, "difference", sqrt(off / gone));
}

/* A run that stops within an epoch and goes on from its checkpoint has the same bits, scale and
 * skipped steps. */
YP_TEST(graph_train, resumes, .tags = "stress small", .parallel = true,
        .axes = YP_AXES(yp_axis_string("precision", "fp32", "fp16")))
{
    struct graph_options o = small_model(t);
    struct train_config config = little_config(t);
    struct train_state left, straight, resumed;
    char checkpoint[4096];
    in_precision(yp_string(t, "precision"), &o, &config);
    snprintf(checkpoint, sizeof checkpoint, "%s/graph.checkpoint", yp_tmp_path(t));
    struct run whole, stopped;
    run_open(&whole, t, &o, &config, 6);
    yp_ok(t, train_run(whole.train, 0));
    run_open(&stopped, t, &o, &config, 6);
    yp_ok(t, train_run(stopped.train, 7));
    yp_ok(t, train_save(stopped.train, checkpoint));
    train_state(stopped.train, &left);
    run_close(&stopped);
    run_open(&stopped, t, &o, &config, 6);
    yp_ok(t, train_run(stopped.train, 1)); /* what a trainer did before is not to matter */
    yp_ok(t, train_resume(stopped.train, checkpoint));
    yp_ok(t, train_run(stopped.train, 0));
    train_state(whole.train, &straight);
    train_state(stopped.train, &resumed);
    const bool scaled = o.precision == NN_FP16;
    yp_expect(t, (left.skipped > 0) == scaled && (straight.skipped > left.skipped) == scaled,
              "%d steps skipped before, %d in all", (int)left.skipped, (int)straight.skipped);
    yp_expect(t, resumed.scale == straight.scale && resumed.skipped == straight.skipped,
              "scale %g, %d skipped; straight %g, %d", resumed.scale, (int)resumed.skipped,
              straight.scale, (int)straight.skipped);
    const size_t bytes = whole.objective.parameters * sizeof(float);
    yp_expect(t, memcmp(train_parameters(whole.train), train_parameters(stopped.train), bytes) == 0,
              "parameters differ");
    yp_expect(t, memcmp(train_average(whole.train), train_average(stopped.train), bytes) == 0,
              "averages differ");
    run_close(&whole);
    run_close(&stopped);
}

/* -- 16 bits ------------------------------------------------------------------------------------
 */

struct scales {
    struct yp_case *t;
    double expected; /* scale of the next step */
    int skipped, made;
};

/* Without growth the scale is halved by every step that is skipped, and by none that is made. */
static bool watch_scale(void *arg, const struct train_event *event)
{
    struct scales *s = arg;
    if (event->kind != TRAIN_STEP)
        return true;
    yp_expect(s->t, event->scale == s->expected, "step %d has the scale %g, not %g",
              s->skipped + s->made, event->scale, s->expected);
    yp_expect(s->t, event->skipped != isfinite(event->norm), "a gradient of norm %g is%s used",
              event->norm, event->skipped ? " not" : "");
    s->expected *= event->skipped ? 0.5 : 1;
    s->skipped += event->skipped;
    s->made += !event->skipped;
    return true;
}

/* A gradient that overflows changes nothing but the scale. */
YP_TEST(graph_train, overflows, .tags = "stress small", .parallel = true)
{
    struct scales s = {.t = t, .expected = 0x1p20};
    struct graph_options o = small_model(t);
    struct train_config config = little_config(t);
    struct train_state state;
    struct run r;
    in_precision("fp16", &o, &config);
    config.scaling.interval = 1000;
    config.watch = watch_scale;
    config.watch_arg = &s;
    run_open(&r, t, &o, &config, 6);
    yp_ok(t, train_run(r.train, 1));
    train_state(r.train, &state);
    yp_expect(t, state.skipped == 1 && state.step == 0 && state.scale == 0x1p19,
              "%d skipped, scale %g", (int)state.skipped, state.scale);
    yp_expect(t,
              memcmp(train_parameters(r.train), graph_trainee_start(r.trainee),
                     r.objective.parameters * sizeof(float)) == 0,
              "parameters have changed");
    yp_expect(t,
              memcmp(train_average(r.train), graph_trainee_start(r.trainee),
                     r.objective.parameters * sizeof(float)) == 0 &&
                  state.lr == config.adamw.lr,
              "their average or the rate has: %g", state.lr);
    yp_ok(t, train_run(r.train, 0));
    train_state(r.train, &state);
    yp_expect(t, s.made > s.skipped && (int)state.step == s.made && (int)state.skipped == s.skipped,
              "%d made, %d skipped", s.made, s.skipped);
    run_close(&r);
}

/* How far the loss of plays that are not trained on falls: with the scale of each precision in
 * training, beside float's. */
static double fallen(struct yp_case *t, const char *precision)
{
    struct graph_options o = small_model(t);
    struct train_config config = little_config(t);
    struct train_state state;
    struct run r;
    double before, after;
    in_precision(precision, &o, &config);
    config.epochs = 2;
    config.scaling.interval = 2000;
    config.scaling.initial = o.precision == NN_FP16 ? train_scaling_defaults().initial : 0;
    config.adamw.lr = 2e-3;
    run_open(&r, t, &o, &config, 16);
    const struct train_items items = train_part_items(r.train, TRAIN_VALIDATION);
    yp_ok(t, train_judge(r.train, items, graph_trainee_start(r.trainee), &before, NULL));
    yp_ok(t, train_run(r.train, 0));
    yp_ok(t, train_judge(r.train, items, train_average(r.train), &after, NULL));
    train_state(r.train, &state);
    yp_expect(t, state.skipped <= 2, "%d steps are skipped", (int)state.skipped);
    run_close(&r);
    return before - after;
}

YP_TEST(graph_train, rounded_learns, .tags = "stress medium slow", .parallel = true,
        .axes = YP_AXES(yp_axis_string("precision", "bf16", "fp16")),
        .budgets = YP_BUDGETS(yp_min_value("fp32's fall", 1), yp_min_value("beside fp32", 0.99),
                              yp_max_value("beside fp32", 1.01)))
{
    const double plain = fallen(t, "fp32"), rounded = fallen(t, yp_string(t, "precision"));
    yp_value(t, "fp32's fall", plain);
    yp_value(t, "beside fp32", rounded / plain);
    yp_expect(t, rounded != plain, "nothing is rounded");
}

/* -- learning ---------------------------------------------------------------------------------- */

struct spoiled {
    struct graph_source source;
    const char *without;
    bool defenders; /* training is about them alone */
};

/* What is left out of all graphs, or of those of training. Judged are the defenders in coverage,
 * who react to others. */
static void spoil(const struct spoiled *s, struct graph_batch *batch, bool training)
{
    float *counts = (float *)(uintptr_t)batch->counts;
    if (strcmp(s->without, "history") == 0)
        memset((float *)(uintptr_t)batch->motion, 0,
               batch->nodes * batch->history * GRAPH_MOTION * sizeof(float));
    if (strcmp(s->without, "edges") == 0) {
        const size_t bytes = (batch->nodes + 1) * sizeof *batch->incoming;
        memset((int32_t *)(uintptr_t)batch->incoming, 0, bytes);
        memset((int32_t *)(uintptr_t)batch->outgoing, 0, bytes);
        batch->edges = 0;
    }
    for (size_t i = 0; i < batch->nodes && strcmp(s->without, "masks") == 0 && training; i++)
        counts[i] = 1;
    for (size_t i = 0; i < batch->nodes && (s->defenders || !training); i++)
        if (batch->role[i] != SYNTH_PLAY_COVERAGE)
            counts[i] = 0;
}

static enum yp_status read_spoiled(void *arg, const uint32_t *index, size_t count, int64_t epoch,
                                   struct graph_batch *out)
{
    const struct spoiled *s = arg;
    enum yp_status status = s->source.read(s->source.arg, index, count, epoch, out);
    if (status == YP_OK)
        spoil(s, out, epoch >= 0);
    return status;
}

/* The mean distance of paths that go on as fast as between the last two frames. */
static double constant_velocity(struct yp_case *t, const struct graph_source *source,
                                struct train_items items)
{
    struct metrics_displacement sums = {.nodes = 0};
    struct metrics_displaced out;
    for (size_t at = 0; at < items.count; at++) {
        struct graph_batch b;
        yp_ok(t, source->read(source->arg, &items.index[at], 1, -1, &b));
        const size_t row = b.future * 2;
        float path[GRAPH_PLAYERS_MOST * 2 * 10];
        yp_require(t, b.nodes * row <= sizeof path / sizeof *path, "%zu nodes", b.nodes);
        for (size_t i = 0; i < b.nodes; i++)
            for (size_t k = 0; k < row; k++) {
                const size_t steps = k / 2 + 1;
                path[i * row + k] =
                    (float)steps * b.motion[((i + 1) * b.history - 1) * GRAPH_MOTION + k % 2];
            }
        metrics_displacement_add(&sums, &(struct metrics_paths){.nodes = b.nodes,
                                                                .modes = 1,
                                                                .steps = b.future,
                                                                .stride = 2,
                                                                .path = path,
                                                                .target = b.target,
                                                                .counts = b.counts});
    }
    metrics_displacement_result(&sums, &out);
    return out.ade;
}

/* The modes' probabilities stay equal. */
static void fix_modes(struct run *r, struct train_config *config, float *start)
{
    for (size_t i = 0; i < r->objective.n_tensors; i++)
        if (strncmp(r->objective.tensors[i].name, "decoder.mode_prob_head.", 23) == 0) {
            train_set_add(&config->frozen, i);
            memset(start + r->objective.tensors[i].offset, 0,
                   r->objective.tensors[i].count * sizeof *start);
        }
}

/* A training, and what it is to reach. */
struct lesson {
    struct graph_options o;
    struct train_config config; /* without a seed */
    struct synth_plays spec;
    size_t plays;
    bool defenders; /* training is about them alone */
};

struct taught {
    double metrics[METRICS], loss;
    double still; /* mean error of paths that go on at the same velocity */
};

/* Trains a model that lacks something and judges it on plays that it has not seen. */
static struct taught teach(struct yp_case *t, const char *without, struct lesson *l)
{
    struct graph_plays f;
    struct taught out;
    l->config.seed = yp_seed(t);
    graph_plays_open(&f, t, l->spec, l->plays, &GRAPH_RULES, l->config.batch);
    struct spoiled spoiled = {.source = f.source, .without = without, .defenders = l->defenders};
    struct graph_source source = f.source;
    source.read = read_spoiled;
    source.arg = &spoiled;
    struct run r = {.trainee = graph_trainee_create(&l->o, &source, l->config.batch, yp_seed(t))};
    yp_got(t, r.trainee);
    r.objective = graph_trainee_objective(r.trainee);
    float *start = yp_alloc_host(t, r.objective.parameters * sizeof *start);
    memcpy(start, graph_trainee_start(r.trainee), r.objective.parameters * sizeof *start);
    if (strcmp(without, "modes") == 0)
        fix_modes(&r, &l->config, start);
    r.train = train_create(l->o.device, &r.objective, &l->config);
    yp_got(t, r.train);
    yp_ok(t, train_begin(r.train, start));
    yp_ok(t, train_run(r.train, 0));
    const struct train_items items = train_part_items(r.train, TRAIN_VALIDATION);
    yp_ok(t, train_judge(r.train, items, train_average(r.train), &out.loss, out.metrics));
    yp_value(t, "min_ade", out.metrics[MIN_ADE]);
    yp_value(t, "ade", out.metrics[ADE]);
    yp_value(t, "fde", out.metrics[FDE]);
    yp_value(t, "loss", out.loss);
    yp_value(t, "coverage", out.metrics[COVERAGE]);
    spoiled.without = "nothing"; /* a velocity is of the history */
    out.still = constant_velocity(t, &source, items);
    yp_value(t, "constant velocity", out.still);
    train_destroy(r.train);
    graph_trainee_destroy(r.trainee);
    graph_plays_close(&f);
    return out;
}

/* The mean errors over a second of the best of four paths and of the likely one, in yards, of plays
 * that the model has not seen. Going on at the same velocity is further off, and so is a model that
 * lacks something. For history and edges see `follows`. */
#define BEST_PATH 0.58
#define LIKELY_PATH 0.88

YP_TEST(graph_train, learns, .tags = "stress medium slow", .timeout = 1200,
        .axes = YP_AXES(yp_axis_string("without", "nothing", "masks", "modes")))
{
    const char *without = yp_string(t, "without");
    struct lesson l = {
        .o = small_model(t), .config = train_defaults(), .spec = {.missing = 0.3}, .plays = 96};
    l.config.batch = 16;
    l.config.epochs = 5;
    l.config.adamw.lr = 2e-3;
    l.config.average = 0.99;
    const struct taught got = teach(t, without, &l);
    const bool learnt = got.metrics[MIN_ADE] < BEST_PATH && got.metrics[ADE] < LIKELY_PATH;
    yp_expect(t, got.still > LIKELY_PATH, "at the same velocity the error is %g", got.still);
    yp_expect(t, learnt == (strcmp(without, "nothing") == 0),
              "without %s the best path is off by %g, the likely one by %g", without,
              got.metrics[MIN_ADE], got.metrics[ADE]);
}

/* A longer training on defenders in coverage alone. They run after receivers, so how they move on
 * depends on others, whom a node knows by its edges, and on how they moved. One path is asked for:
 * its mean error over a second, in yards, and the loss, which also says how sure the model is. */
#define FOLLOWED 0.435
#define FOLLOWED_LOSS (-3.9)

YP_TEST(graph_train, follows, .tags = "stress medium slow", .timeout = 2400,
        .axes = YP_AXES(yp_axis_string("without", "nothing", "history", "edges")))
{
    const char *without = yp_string(t, "without");
    struct lesson l = {.o = small_model(t),
                       .config = train_defaults(),
                       .spec = {.frames = 40, .missing = 0.3},
                       .plays = 600,
                       .defenders = true};
    l.o.modes = 1;
    l.o.dropout = l.o.drop_path = 0;
    l.config.batch = 16;
    l.config.epochs = 3;
    l.config.validation = 0.1;
    l.config.adamw.lr = 3e-3;
    l.config.average = 0.99;
    l.config.schedule = TRAIN_COSINE;
    l.config.cosine.warmup = 100;
    const struct taught got = teach(t, without, &l);
    const bool learnt = got.metrics[ADE] < FOLLOWED && got.loss < FOLLOWED_LOSS;
    yp_expect(t, got.still > FOLLOWED, "at the same velocity the error is %g", got.still);
    yp_expect(t, learnt == (strcmp(without, "nothing") == 0),
              "without %s the path is off by %g, the loss is %g", without, got.metrics[ADE],
              got.loss);
}

/* The channel selector's ways: its start, its terms of the loss, a hard selection, a temperature
 * that falls from epoch to epoch. */
#include "suites/memory_tiles.h"
#include "suites/pipelines.h"
#include "suites/score_error.h"
#include "suites/stress/training.h"

#include <math.h>
#include <string.h>

static const struct scale small = {.cubes = 10, .height = 32, .width = 32, .channels = 10};

static struct training_plan plan_of(uint64_t epochs)
{
    struct training_plan p = {.options = {.threads = TRAINING_THREADS,
                                          .normalise = true,
                                          .select = true,
                                          .keep = 4,
                                          .eps = RX_EPS},
                              .config = train_defaults()};
    p.config.batch = 2;
    p.config.epochs = epochs;
    return p;
}

/* -- start -------------------------------------------------------------------------------- */

/* Logits that are all 0 leave the channels as they are, but for k / C: the scores are those of the
 * same pipeline without a selector, for RX with eps = 0 sees no channel's scale. Channels are
 * points, which are less alike, so that less of it is rounding. */
YP_TEST(rx, selector_uniform, .tags = "stress small", .devices = "cpu cuda", .timeout = 60,
        .budgets = YP_BUDGETS(yp_max_value("apart", 7.5e-6)))
{
    struct scale points = small;
    points.points = true;
    float *scores[2];
    struct training f;
    size_t count = 0;
    for (int way = 0; way < 2; way++) {
        struct training_plan how = plan_of(0);
        how.options.eps = 0;
        how.options.select = how.options.uniform = way == 1;
        training_open(&f, t, &points, &how);
        yp_ok(t, training_begin(&f));
        const struct rx_source *source = rx_training_source(f.training, TRAIN_VALIDATION);
        count = source->tiles * source->tile_pixels;
        scores[way] = yp_alloc_host(t, count * sizeof **scores);
        yp_ok(t, rx_pipeline_score(f.pipeline, source, f.parameters, scores[way], NULL));
        if (way == 1)
            for (size_t c = 0; c < small.channels; c++)
                yp_expect(t, training_tensor(t, &f, "logits", f.parameters)[c] == 0,
                          "logit %zu is not 0", c);
        training_close(&f);
    }
    yp_value(t, "apart", relative_error(t, scores[1], in_double(t, scores[0], count), count));
}

/* -- terms of the loss -------------------------------------------------------------------- */

/* H and the variance of the weights that training ends with, by terms that outweigh the rest of the
 * loss. */
static void train_with(struct yp_case *t, double entropy, double diversity, double *h, double *var)
{
    struct training_plan how = plan_of(entropy != 0 || diversity != 0 ? 2 : 0);
    how.options.entropy = entropy;
    how.options.diversity = diversity;
    how.config.adamw.lr = 0.05;
    struct training f;
    training_open(&f, t, &small, &how);
    yp_ok(t, training_begin(&f));
    yp_ok(t, train_run(f.train, 0));
    const float *logits = training_tensor(t, &f, "logits", train_parameters(f.train));
    double sum = 0;
    for (size_t c = 0; c < small.channels; c++)
        sum += exp((double)logits[c]);
    *h = *var = 0;
    for (size_t c = 0; c < small.channels; c++) {
        double s = exp((double)logits[c]) / sum, even = 1 / (double)small.channels;
        *h -= s * log(s);
        *var += 4 * (s - even) * 4 * (s - even) * even;
    }
    training_close(&f);
}

/* Each term moves what it weighs, in the direction of its sign: H and the variance rise with
 * weights above 0 and fall with those below. Figures are those of five seeds, with a slack of 1.5.
 */
YP_TEST(rx, selector_terms, .tags = "stress small", .timeout = 120,
        .budgets = YP_BUDGETS(yp_min_value("entropy rises", 0.03),
                              yp_max_value("entropy falls", -0.028),
                              yp_min_value("variance rises", 0.0123),
                              yp_max_value("variance falls", -0.01)))
{
    double h[3], var[3], unused;
    for (int way = 0; way < 3; way++) {
        train_with(t, 1e5 * (way - 1), 0, &h[way], &unused);
        train_with(t, 0, 1e5 * (way - 1), &unused, &var[way]);
    }
    yp_value(t, "entropy rises", h[2] - h[1]);
    yp_value(t, "entropy falls", h[0] - h[1]);
    yp_value(t, "variance rises", var[2] - var[1]);
    yp_value(t, "variance falls", var[0] - var[1]);
}

/* -- a hard selection --------------------------------------------------------------------- */

enum { PIXELS = 1024 };

/* Scores are those of the plain chain in double; channels that are not selected change no bit of
 * them, those that are do. */
YP_TEST(rx, selector_hard, .tags = "stress small", .devices = "cpu cuda", .timeout = 60,
        .axes = YP_AXES(yp_axis_string("top", "weights", "ones")),
        .budgets = YP_BUDGETS(yp_max_value("error", 1e-6)))
{
    struct scene_tiles scene;
    scene_tiles_open_on(&scene, t, yp_device_cpu(), &small, PIXELS);
    struct rx_pipeline_options o = {
        .channels = small.channels,
        .tile_pixels = PIXELS,
        .threads = 1,
        .normalise = true,
        .select = true,
        .keep = 4,
        .hard = strcmp(yp_string(t, "top"), "ones") == 0 ? RX_TOP_ONES : RX_TOP_WEIGHTS,
        .eps = 1e-3,
        .tiles = RX_TILES_OVERLAPPED};
    struct rx_pipeline *pipeline = open_pipeline(t, yp_device(t), &o);
    struct rx_pipeline *fitting = open_pipeline(t, yp_device_cpu(), &o);
    struct rx *rx = open_rx_on(t, yp_device_cpu(), small.channels, PIXELS, 1, RX_FP32);
    float *parameters = parameters_of(t, pipeline);
    yp_ok(t, rx_pipeline_fit(fitting, rx, &scene.source, parameters, NULL));
    const double *exact = in_double(t, parameters, rx_pipeline_parameters(pipeline));
    float *values = yp_alloc_host(t, PIXELS * small.channels * sizeof *values);
    uint8_t *labels = yp_alloc_host(t, PIXELS);
    float *scores = yp_alloc_host(t, PIXELS * sizeof *scores);
    float *other = yp_alloc_host(t, PIXELS * sizeof *other);
    yp_ok(t, synth_scene_tile(scene.scene, 0, 0, PIXELS, values,
                              &(struct synth_truth){.labels = labels}));
    yp_data_hash(t, yp_hash_f32(0, values, PIXELS * small.channels));
    struct rx_tile tile = {
        .values = values, .labels = labels, .pixels = PIXELS, .channels = small.channels};
    struct rx_source source = one_tile_source(&tile);
    yp_ok(t, rx_pipeline_score(pipeline, &source, parameters, scores, NULL));
    yp_value(t, "error", scores_off(t, &o, &tile, exact, scores));

    size_t list[10], count = rx_pipeline_selected(pipeline, parameters, list);
    yp_require(t, count == 4, "%zu channels are selected: %s", count, yp_last_error());
    for (size_t c = 0, next = 0; c < small.channels; c++) {
        bool selected = next < count && list[next] == c;
        next += selected;
        for (size_t i = 0; i < PIXELS; i++)
            values[i * small.channels + c] += 1;
        yp_ok(t, rx_pipeline_score(pipeline, &source, parameters, other, NULL));
        bool same = memcmp(scores, other, PIXELS * sizeof *scores) == 0;
        yp_expect(t, same != selected, "channel %zu, %sselected, changes %s", c,
                  selected ? "" : "not ", same ? "nothing" : "scores");
        yp_ok(t, synth_scene_tile(scene.scene, 0, 0, PIXELS, values, NULL));
    }
    rx_pipeline_destroy(pipeline);
    rx_pipeline_destroy(fitting);
    rx_destroy(rx);
    scene_tiles_close(&scene);
}

/* -- temperature -------------------------------------------------------------------------- */

struct heat {
    struct yp_case *t;
    struct training *training;
    double seen[8]; /* at the ends of epochs */
};

static bool note(void *arg, const struct train_event *event)
{
    struct heat *heat = arg;
    if (event->kind == TRAIN_EPOCH)
        heat->seen[event->epoch] = (double)*training_tensor(
            heat->t, heat->training, "temperature", train_parameters(heat->training->train));
    return true;
}

/* T is max(T_min, T_0 decay^n) throughout epoch n, in the parameters, so that a judgement, the best
 * epoch and a checkpoint have the one they go with. */
YP_TEST(rx, selector_decay, .tags = "stress small", .devices = "cpu cuda", .timeout = 120)
{
    const double expected[] = {2, 2, 1, 0.5, 0.3, 0.3};
    struct training f;
    struct heat heat = {.t = t, .training = &f};
    struct training_plan how = plan_of(5);
    how.options.temperature = 2;
    how.options.temperature_decay = 0.5;
    how.options.temperature_min = 0.3;
    how.config.watch = note;
    how.config.watch_arg = &heat;
    training_open(&f, t, &small, &how);
    yp_ok(t, training_begin(&f));
    yp_ok(t, train_run(f.train, 0));
    for (size_t e = 0; e < sizeof expected / sizeof *expected; e++)
        yp_expect(t, heat.seen[e] == (double)(float)expected[e],
                  "temperature is %.9g at the end of epoch %zu, expected %g", heat.seen[e], e,
                  expected[e]);
    struct train_state state;
    train_state(f.train, &state);
    const float *best = training_tensor(t, &f, "temperature", train_best(f.train));
    yp_expect(t, *best == (float)expected[state.best_epoch], "the best epoch, %d, has T %g",
              (int)state.best_epoch, (double)*best);
    training_close(&f);
    how.config.watch = NULL;
    how.config.epochs = 3;
    training_resumes(t, &small, &how);
}

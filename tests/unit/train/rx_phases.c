/* Training of a pipeline in both phases: models/rx/train.h with models/rx/pipeline/nodes.h. */
#include "tests/unit/rx/plain_loss.h"
#include "tests/unit/rx/rx_fixture.h"

#include "models/rx/pipeline/nodes.h"
#include "models/rx/train.h"
#include <math.h>
#include <stdio.h>
#include <unistd.h>

#define CHANNELS ((size_t)12)
#define TILE_PIXELS ((size_t)700) /* more than a chunk */
#define CUBES ((size_t)10)
#define TILES (2 * CUBES)
#define STRIDE (CHANNELS + 3)
#define PARAMETERS (CHANNELS + CHANNELS * CHANNELS + 2)

struct cubes {
    size_t fail_at;     /* a tile; SIZE_MAX: none */
    size_t unlabelled;  /* a tile without labels; SIZE_MAX: none */
    bool all_nan, slow; /* slow: tiles end in another order than they begin */
    float values[TILES][TILE_PIXELS * STRIDE]; /* what lies between pixels is NaN */
    uint8_t labels[TILES][TILE_PIXELS];
    size_t pixels[TILES];
};

/* Correlated background; targets are off in one direction, which RX cannot know: it weighs all
 * directions alike, so the second phase has something to learn. */
static void fill(struct cubes *s, size_t t)
{
    uint64_t state = 77 + t;
    s->pixels[t] = TILE_PIXELS - t % 7;
    for (size_t p = 0; p < s->pixels[t]; p++) {
        double shared = script_normal(&state);
        for (size_t c = CHANNELS; c < STRIDE; c++)
            s->values[t][p * STRIDE + c] = NAN;
        s->labels[t][p] = script_uniform(&state) < 0.02;
        for (size_t c = 0; c < CHANNELS; c++) {
            double x = script_normal(&state) * (c < 6 ? 1 : 0.2) + shared + 3;
            x += s->labels[t][p] == 0 || c < 6 ? 0 : c % 2 == 0 ? 0.3 : -0.3;
            s->values[t][p * STRIDE + c] = (float)x;
        }
        if (s->all_nan || (p % 97 == 5 && t % 3 == 0))
            s->values[t][p * STRIDE + t % CHANNELS] = p % 2 == 0 ? NAN : INFINITY;
    }
}

static struct cubes *cubes_create(bool all_nan)
{
    struct cubes *s = calloc(1, sizeof *s);
    cr_assert_not_null(s);
    s->fail_at = s->unlabelled = SIZE_MAX;
    s->all_nan = all_nan;
    for (size_t t = 0; t < TILES; t++)
        fill(s, t);
    return s;
}

static enum yp_status cubes_yield(void *arg, size_t index, float *values, uint8_t *labels,
                                  struct rx_tile *tile)
{
    struct cubes *s = arg;
    if (s->slow)
        usleep((useconds_t)(index * 7 % 5 * 200));
    if (index == s->fail_at)
        return yp_set_error(YP_IO, "tile %zu cannot be read", index);
    tile->pixels = s->pixels[index];
    if (index % 2 == 0 && labels != NULL && index != s->unlabelled) {
        for (size_t p = 0; p < tile->pixels; p++)
            memcpy(values + p * CHANNELS, s->values[index] + p * STRIDE, CHANNELS * sizeof *values);
        memcpy(labels, s->labels[index], tile->pixels);
        return YP_OK;
    }
    tile->values = s->values[index];
    tile->stride = STRIDE;
    tile->labels = index == s->unlabelled ? NULL : s->labels[index];
    return YP_OK;
}

static struct rx_source source_for(struct cubes *s)
{
    return (struct rx_source){CHANNELS, TILE_PIXELS, TILES, cubes_yield, s};
}

static struct train_config config_of(void)
{
    struct train_config config = train_defaults();
    config.epochs = 4;
    config.batch = 3;
    config.adamw.lr = 0.02;
    return config;
}

/* RX and the logit: the parameters are those of the detection loss of rx.h. */
static struct rx_pipeline *pipeline_create(int threads)
{
    struct rx_pipeline_options options = {.channels = CHANNELS,
                                          .tile_pixels = TILE_PIXELS,
                                          .threads = threads,
                                          .eps = RX_EPS,
                                          .scale = (float)(1 / sqrt(2.0 * CHANNELS))};
    struct rx_pipeline *p = rx_pipeline_create(yp_device_cpu(), &options);
    cr_assert_not_null(p, "%s", yp_last_error());
    cr_assert_eq(rx_pipeline_parameters(p), PARAMETERS);
    return p;
}

static void statistical_phase(struct rx_pipeline *p, const struct rx_source *source, int threads,
                              float *parameters)
{
    struct rx *rx = rx_create(yp_device_cpu(), CHANNELS, TILE_PIXELS, threads);
    cr_assert_not_null(rx, "%s", yp_last_error());
    OK(rx_pipeline_fit(p, rx, source, parameters, NULL));
    rx_destroy(rx);
}

/* -- the objective ---------------------------------------------------------------------------- */

struct taken {
    struct cubes *scene;
    size_t tile;
    double loss, weight;
};

/* Each pixel's logit gives the loss that the plain oracle gives. */
static void take(void *arg, const float *logits, const uint8_t *labels, size_t pixels)
{
    struct taken *taken = arg;
    cr_assert_eq(pixels, taken->scene->pixels[taken->tile]);
    cr_expect(memcmp(labels, taken->scene->labels[taken->tile], pixels) == 0);
    for (size_t p = 0; p < pixels; p++) {
        if (isnan(logits[p]))
            continue;
        double l = (double)logits[p], wrong = labels[p] != 0 ? -l : l;
        taken->loss += 10 * (fmax(wrong, 0) + log1p(exp(-fabs(wrong))));
        taken->weight++;
    }
    taken->tile++;
}

Test(rx_phases, an_objective_is_the_loss_and_its_gradient_with_pixels_counted)
{
    struct cubes *s = cubes_create(false);
    struct rx_source source = source_for(s);
    static float p[PARAMETERS], gradient[PARAMETERS], wanted[PARAMETERS];
    static double oracle[TILE_PIXELS], doubles[PARAMETERS];
    struct rx_pipeline *pipeline = pipeline_create(1);
    statistical_phase(pipeline, &source, 1, p);
    rx_pipeline_destroy(pipeline);
    for (size_t i = 0; i < PARAMETERS; i++)
        doubles[i] = (double)p[i];
    double plain = 0, finite = 0;
    for (size_t t = 0; t < TILES; t++) {
        struct rx_tile tile = {s->values[t], s->pixels[t], CHANNELS, s->labels[t], STRIDE};
        plain_losses(&tile, doubles, oracle);
        for (size_t i = 0; i < s->pixels[t]; i++) {
            bool ok = true;
            for (size_t c = 0; c < CHANNELS; c++)
                ok = ok && isfinite(s->values[t][i * STRIDE + c]);
            finite += ok;
            plain += oracle[i];
        }
    }
    for (int threads = 1; threads <= 3; threads++) {
        struct yp_tensor tensors[RX_PIPELINE_TENSORS];
        pipeline = pipeline_create(threads);
        struct rx_objective o = rx_pipeline_objective(pipeline, tensors);
        cr_expect(o.parameters == PARAMETERS && o.n_tensors == 4 && o.tensors == tensors);
        cr_expect(o.identity == 0 && !o.no_logits && o.arg == pipeline);
        cr_expect(strcmp(tensors[1].name, "A") == 0 && tensors[1].count == CHANNELS * CHANNELS);
        double mean, weight, again, counted, lone;
        s->slow = threads > 1;
        OK(o.gradient(o.arg, &source, p, 1, &mean, &weight, gradient));
        OK(rx_pipeline_gradient(pipeline, &source, p, &lone, wanted));
        cr_expect(mean == lone && memcmp(gradient, wanted, sizeof wanted) == 0);
        cr_expect(weight == finite, "%g pixels, not %g", weight, finite);
        struct taken taken = {.scene = s};
        OK(o.evaluate(o.arg, &source, p, &again, &counted, take, &taken));
        cr_expect(again == mean && counted == weight, "%.17g, not %.17g", again, mean);
        cr_expect(taken.tile == TILES && taken.weight == finite);
        cr_expect_float_eq(taken.loss / finite, mean, 1e-6);
        cr_expect_float_eq(plain / finite, mean, 1e-4);
        rx_pipeline_destroy(pipeline);
    }
    free(s);
}

Test(rx_phases, an_autoencoder_has_no_logits)
{
    struct yp_tensor tensors[RX_PIPELINE_TENSORS];
    struct rx_pipeline *p = rx_pipeline_create(
        yp_device_cpu(), &(struct rx_pipeline_options){.channels = CHANNELS,
                                                       .tile_pixels = TILE_PIXELS,
                                                       .detector = RX_AUTOENCODER});
    cr_assert_not_null(p, "%s", yp_last_error());
    cr_expect(rx_pipeline_objective(p, tensors).no_logits);
    rx_pipeline_destroy(p);
}

Test(rx_phases, a_source_without_finite_pixels_has_no_weight_and_failures_stay_failures)
{
    struct cubes *s = cubes_create(true);
    struct rx_source source = source_for(s);
    static float p[PARAMETERS], gradient[PARAMETERS];
    struct yp_tensor tensors[RX_PIPELINE_TENSORS];
    struct rx_pipeline *pipeline = pipeline_create(2);
    struct rx_objective o = rx_pipeline_objective(pipeline, tensors);
    double mean, weight = 1;
    OK(o.gradient(o.arg, &source, p, 1, &mean, &weight, gradient));
    cr_expect(weight == 0);
    weight = 1;
    OK(o.evaluate(o.arg, &source, p, &mean, &weight, NULL, NULL));
    cr_expect(weight == 0);
    s->fail_at = 3;
    FAILS(o.gradient(o.arg, &source, p, 1, &mean, &weight, gradient), YP_IO, "tile 3 cannot");
    FAILS(o.evaluate(o.arg, &source, p, &mean, &weight, NULL, NULL), YP_IO, "tile 3 cannot");
    s->fail_at = SIZE_MAX;
    s->unlabelled = 4;
    FAILS(o.gradient(o.arg, &source, p, 1, &mean, &weight, gradient), YP_INVALID,
          "tile 4 has no labels");
    s->unlabelled = SIZE_MAX;
    source.channels = 5;
    FAILS(o.gradient(o.arg, &source, p, 1, &mean, &weight, gradient), YP_INVALID,
          "source->channels is 5");
    rx_pipeline_destroy(pipeline);
    free(s);
}

/* -- both phases ------------------------------------------------------------------------------ */

struct outcome {
    float parameters[PARAMETERS];
    double start_loss, best_loss, train_loss;
    struct rx_judgement start, best;
};

static bool keep_loss(void *arg, const struct train_event *event)
{
    struct outcome *out = arg;
    if (event->kind == TRAIN_EPOCH)
        out->train_loss = event->train_loss;
    return true;
}

/* As a suite does it; stopped and resumed in another object after `stop` steps, 0: not. */
static void train_both(struct cubes *s, int threads, uint64_t stop, struct outcome *out)
{
    struct rx_source source = source_for(s);
    struct yp_tensor tensors[RX_PIPELINE_TENSORS];
    struct rx_pipeline *p = pipeline_create(threads);
    struct rx_objective objective = rx_pipeline_objective(p, tensors);
    struct train_config config = config_of();
    objective.targets = 2000;
    config.watch = keep_loss;
    config.watch_arg = out;
    struct rx_training *training =
        rx_training_create(yp_device_cpu(), &objective, &source, 2, &config);
    cr_assert_not_null(training, "%s", yp_last_error());
    struct train *train = rx_training_trainer(training);
    static float start[PARAMETERS];
    statistical_phase(p, rx_training_source(training, TRAIN_TRAINING), threads, start);
    OK(rx_training_judge(training, TRAIN_VALIDATION, start, &out->start_loss, &out->start));
    OK(train_begin(train, start));
    OK(train_run(train, stop));
    if (stop > 0) {
        char path[] = "/tmp/rx_phases.XXXXXX";
        int fd = mkstemp(path);
        cr_assert_geq(fd, 0);
        close(fd);
        OK(train_save(train, path));
        rx_training_destroy(training);
        training = rx_training_create(yp_device_cpu(), &objective, &source, 2, &config);
        train = rx_training_trainer(training);
        OK(train_resume(train, path));
        unlink(path);
        OK(train_run(train, 0));
    }
    OK(rx_training_judge(training, TRAIN_VALIDATION, train_best(train), &out->best_loss,
                         &out->best));
    memcpy(out->parameters, train_parameters(train), sizeof out->parameters);
    rx_training_destroy(training);
    rx_pipeline_destroy(p);
}

Test(rx_phases, the_second_phase_improves_on_the_first)
{
    struct cubes *s = cubes_create(false);
    static struct outcome out;
    train_both(s, 2, 0, &out);
    cr_expect_lt(out.best_loss, 0.8 * out.start_loss, "%g of %g", out.best_loss, out.start_loss);
    cr_expect_gt(out.best.ranked.average_precision, out.start.ranked.average_precision);
    cr_expect_gt(out.best.ranked.roc_auc, out.start.ranked.roc_auc);
    cr_expect_gt(out.start.ranked.roc_auc, 0.7);
    fprintf(stderr, "loss %.3f to %.3f, average precision %.3f to %.3f, AUC %.3f to %.3f\n",
            out.start_loss, out.best_loss, out.start.ranked.average_precision,
            out.best.ranked.average_precision, out.start.ranked.roc_auc, out.best.ranked.roc_auc);
    free(s);
}

Test(rx_phases, threads_and_stops_change_no_bit)
{
    struct cubes *s = cubes_create(false);
    static struct outcome first, other;
    train_both(s, 1, 0, &first);
    s->slow = true;
    for (int threads = 1; threads <= 4; threads++) {
        memset(&other, 0, sizeof other);
        train_both(s, threads, threads == 2 ? 0 : (uint64_t)threads, &other);
        cr_expect(memcmp(first.parameters, other.parameters, sizeof first.parameters) == 0,
                  "%d threads", threads);
        cr_expect(first.best_loss == other.best_loss && first.train_loss == other.train_loss);
        cr_expect(memcmp(&first.best, &other.best, sizeof first.best) == 0);
    }
    free(s);
}

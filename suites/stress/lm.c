/* The Transformer language model: its gradient, training on a chain whose least loss is known, and
 * that batches, threads and interruptions change nothing. */
#include "models/lm/plan.h"
#include "suites/file_tiles.h"
#include "suites/lm_training.h"
#include "suites/score_error.h"

#include <math.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

static struct lm_config config_of(size_t vocabulary, size_t d, size_t layers)
{
    return (struct lm_config){.vocabulary = vocabulary,
                              .d_model = d,
                              .d_ff = 2 * d,
                              .layers = layers,
                              .heads = 4,
                              .theta = 10000,
                              .eps = 1e-5};
}

static enum nn_precision precision_of(const struct yp_case *t)
{
    enum nn_precision precision = NN_FP32;
    nn_precision_from_name(yp_string(t, "precision"), &precision);
    return precision;
}

/* -- gradients --------------------------------------------------------------------------------- */

struct trial {
    struct lm *lm;
    int32_t *tokens, *labels;
    size_t parameters;
    enum yp_status status;
};

static void trial_open(struct trial *s, struct yp_case *t, const struct lm_options *options)
{
    size_t count = options->batch * options->context;
    *s = (struct trial){.lm = lm_create(options),
                        .tokens = yp_alloc_host(t, (count + 1) * sizeof(int32_t)),
                        .labels = yp_alloc_host(t, count * sizeof(int32_t)),
                        .parameters = lm_parameters(&options->config)};
    yp_got(t, s->lm);
    yp_ok(t, lm_start(s->lm));
    const struct synth_tokens chain = {yp_seed(t), (uint32_t)options->config.vocabulary, 2};
    for (size_t i = 0; i < options->batch; i++) {
        int32_t *row = s->tokens + i * options->context; /* one more is written than is kept */
        synth_tokens_sequence(&chain, i, options->context + 1, row);
        memcpy(s->labels + i * options->context, row + 1, options->context * sizeof *row);
    }
}

static void run(struct trial *s, const void *x, void *gradient, double scale, double *loss)
{
    const struct lm_batch batch = {s->tokens, s->labels, 0};
    enum yp_status status = lm_pass(s->lm, &batch, x, gradient, scale, NN_MODEL_COPY, loss);
    s->status = s->status == YP_OK ? status : s->status;
}

static void loss_of(void *arg, const double *x, double *y)
{
    run(arg, x, NULL, 1, y);
}

static void gradient_of(void *arg, const double *x, const double *cotangent, double *g)
{
    run(arg, x, g, *cotangent, NULL);
}

/* Initial weights in double; gains that are not all 1. */
static double *point_of(struct yp_case *t, const struct lm_config *config, float *narrow)
{
    struct lm_tensor tensor;
    lm_initialise(config, yp_seed(t), narrow);
    for (size_t i = 0; lm_tensor(config, i, &tensor); i++)
        for (size_t k = 0; tensor.rows == 0 && k < tensor.columns; k++)
            narrow[tensor.offset + k] += 0.25F * (float)(k % 3) - 0.25F;
    return in_double(t, narrow, lm_parameters(config));
}

/* In double, tensor by tensor against differences of the loss. */
static void check_gradient(struct yp_case *t, const struct lm_options *options, int directions)
{
    struct yp_tensor tensors[TRAIN_TENSORS];
    struct lm_tensor named[TRAIN_TENSORS];
    size_t count = 0;
    for (; count < TRAIN_TENSORS && lm_tensor(&options->config, count, &named[count]); count++)
        tensors[count] = (struct yp_tensor){named[count].name, named[count].offset,
                                            (named[count].rows > 0 ? named[count].rows : 1) *
                                                named[count].columns};
    struct trial s;
    trial_open(&s, t, options);
    float *narrow = yp_alloc_host(t, s.parameters * sizeof *narrow);
    const struct yp_gradient check = {.name = "loss",
                                      .inputs = s.parameters,
                                      .outputs = 1,
                                      .f = loss_of,
                                      .vjp = gradient_of,
                                      .arg = &s,
                                      .x = point_of(t, &options->config, narrow),
                                      .tensors = tensors,
                                      .n_tensors = count,
                                      .directions = directions};
    yp_check_gradient(t, &check);
    yp_ok(t, s.status);
    lm_destroy(s.lm);
}

/* Of every tensor of a small model, whatever is made again. */
YP_TEST(lm, gradient, .tags = "stress small", .parallel = true,
        .axes = YP_AXES(yp_axis_string("recompute", "none", "norms", "blocks")))
{
    struct lm_options o = {.config = config_of(23, 16, 3),
                           .device = yp_device_cpu(),
                           .batch = 2,
                           .context = 9,
                           .oracle = true,
                           .pass = NN_MODEL_GRADIENT};
    const char *again = yp_string(t, "recompute");
    o.recompute = strcmp(again, "none") == 0    ? LM_KEEP_ALL
                  : strcmp(again, "norms") == 0 ? LM_REMAKE_NORMS
                                                : LM_REMAKE_BLOCKS;
    check_gradient(t, &o, 0);
}

/* Of the size "small", a direction a tensor. */
YP_TEST(lm, gradient_of_size, .tags = "stress large slow", .timeout = 7200,
        .axes = YP_AXES(yp_axis_string("size", "small")))
{
    struct lm_options o = {.device = yp_device_cpu(),
                           .batch = 1,
                           .context = 4,
                           .oracle = true,
                           .pass = NN_MODEL_GRADIENT};
    yp_expect(t, lm_config_named(yp_string(t, "size"), &o.config), "%s", yp_last_error());
    check_gradient(t, &o, 1);
}

/* What is made again has the same bits, counts as no work, and less is kept. */
static void check_again(struct yp_case *t, struct lm_options o, const struct trial *all,
                        const float *x, double loss, const float *right)
{
    size_t bytes = all->parameters * sizeof *right;
    const struct nn_model_bytes *kept = nn_model_bytes(lm_model(all->lm));
    float *gradient = yp_alloc(t, bytes), *got = yp_alloc_host(t, bytes);
    for (int level = LM_REMAKE_NORMS; level <= LM_REMAKE_BLOCKS; level++) {
        struct trial s;
        double same = 0;
        o.recompute = (enum lm_recompute)level;
        trial_open(&s, t, &o);
        run(&s, x, gradient, 1, &same);
        yp_ok(t, s.status);
        yp_ok(t, yp_device_copy(yp_device(t), got, gradient, bytes));
        yp_expect(t, same == loss && memcmp(got, right, bytes) == 0, "level %d: other bits", level);
        yp_expect(t,
                  nn_model_bytes(lm_model(s.lm))->kept < kept->kept &&
                      nn_model_flops(lm_model(s.lm)) == nn_model_flops(lm_model(all->lm)),
                  "level %d keeps %zu bytes of %zu", level, nn_model_bytes(lm_model(s.lm))->kept,
                  kept->kept);
        lm_destroy(s.lm);
    }
}

/* Limits of training are those of five seeds; they have a slack of 1.5 to the worst of them, where
 * a result is rounding alone up to 2. In bf16 a weight that is rounded the other way round makes
 * all the difference there is. */
static void precision_errors(const struct yp_case *c, struct yp_budgets *out)
{
    bool bf16 = precision_of(c) == NN_BF16;
    if (strcmp(yp_device_of(c), "cpu") == 0)
        yp_budget_add(out, yp_max_value("loss error", bf16 ? 0.0004 : 5e-8),
                      yp_max_value("gradient error", bf16 ? 0.017 : 8.5e-7));
}

static void same_training(const struct yp_case *c, struct yp_budgets *out)
{
    double off = precision_of(c) == NN_BF16 ? 0.0007 : 8e-8;
    yp_budget_add(out, yp_max_value("in parts", off), yp_max_value("added up", off),
                  yp_max_value("other threads", off));
}

/* The fast passes against those in double: loss and gradient as a whole, relative. */
YP_TEST(lm, precision, .tags = "stress small", .parallel = true, .devices = "cpu cuda",
        .axes = YP_AXES(yp_axis_string("precision", "fp32", "bf16")),
        .budgets_of = precision_errors)
{
    struct lm_options o = {.config = config_of(97, 64, 3),
                           .device = yp_device(t),
                           .batch = 3,
                           .context = 21,
                           .precision = precision_of(t),
                           .pass = NN_MODEL_GRADIENT};
    struct trial fast, oracle;
    trial_open(&fast, t, &o);
    o.oracle = true;
    o.device = yp_device_cpu();
    trial_open(&oracle, t, &o);
    float *narrow = yp_alloc_host(t, fast.parameters * sizeof *narrow);
    float *got = yp_alloc_host(t, fast.parameters * sizeof *got);
    double *g = yp_alloc_host(t, fast.parameters * sizeof *g);
    const double *x = point_of(t, &o.config, narrow);
    size_t bytes = fast.parameters * sizeof *narrow;
    float *there = sent(t, narrow, bytes), *gradient = yp_alloc(t, bytes);
    double loss = 0, right = 0;
    run(&fast, there, gradient, 1, &loss);
    yp_ok(t, yp_device_copy(yp_device(t), got, gradient, bytes));
    run(&oracle, x, g, 1, &right);
    yp_ok(t, fast.status);
    yp_ok(t, oracle.status);
    yp_value(t, "loss error", fabs(loss / right - 1));
    yp_value(t, "gradient error", relative_error(t, got, g, fast.parameters));
    o.oracle = false;
    o.device = yp_device(t);
    check_again(t, o, &fast, there, loss, got);
    lm_destroy(fast.lm);
    lm_destroy(oracle.lm);
}

/* -- training ---------------------------------------------------------------------------------- */

/* Of a case: vocabulary, d, layers, context, batch, steps. */
static struct lm_options options_of(struct yp_case *t)
{
    return (struct lm_options){.config =
                                   config_of((size_t)yp_int(t, "vocabulary"),
                                             (size_t)yp_int(t, "d"), (size_t)yp_int(t, "layers")),
                               .device = yp_device(t),
                               .batch = (size_t)yp_int(t, "batch"),
                               .context = (size_t)yp_int(t, "context"),
                               .precision = precision_of(t)};
}

static struct train_config training_of(const struct lm_options *o, uint64_t steps, double lr)
{
    struct train_config c = train_defaults();
    c.batch = o->batch;
    c.epochs = 1;
    c.validation = 0.05;
    c.adamw.lr = lr;
    c.adamw.weight_decay = 0.1;
    c.no_decay = lm_no_decay(&o->config);
    c.schedule = TRAIN_COSINE;
    c.cosine = (struct train_cosine){.warmup = steps / 20, .steps = steps, .min_lr = lr / 20};
    c.keep_best = false;
    return c;
}

#define TRAINING(name_, tags_, vocabulary_, d_, layers_, context_, batch_, steps_, above_) \
    yp_case_of(name_, .tags = tags_, \
               .budgets = \
                   YP_BUDGETS(yp_for_device("cpu"), yp_max_value("above the least", above_)), \
               .set = YP_SET(yp_set_int("vocabulary", vocabulary_), yp_set_int("d", d_), \
                             yp_set_int("layers", layers_), yp_set_int("context", context_), \
                             yp_set_int("batch", batch_), yp_set_int("steps", steps_)))

/* To the byte, on the device and, where that is another, the host; and without the device. */
static void check_plan(struct yp_case *t, const struct lm_options *o,
                       const struct train_config *how, size_t sequences,
                       const struct yp_memory before[2])
{
    struct lm_options elsewhere = *o;
    struct lm_plan plan, other;
    struct yp_memory there, here;
    bool gpu = yp_device_memory_kind(o->device) == YP_DEVICE;
    elsewhere.device = yp_device_cpu();
    elsewhere.kind = gpu ? "cuda" : "cpu";
    yp_ok(t, lm_plan(o, LM_TRAIN_STEP, how, sequences, &plan));
    yp_ok(t, lm_plan(&elsewhere, LM_TRAIN_STEP, how, sequences, &other));
    yp_device_memory(o->device, &there);
    yp_device_memory(yp_device_cpu(), &here);
    yp_expect(t, memcmp(&plan, &other, sizeof plan) == 0, "another plan without the device");
    yp_expect(t, there.allocated - before[0].allocated == plan.total,
              "%zu bytes are taken, planned %zu", (size_t)(there.allocated - before[0].allocated),
              plan.total);
    yp_expect(t, !gpu || here.allocated - before[1].allocated == plan.host,
              "%zu bytes of the host, planned %zu", (size_t)(here.allocated - before[1].allocated),
              plan.host);
}

/* One epoch: no sequence comes twice. The chain is of order 2, so that the model has to look back:
 * what the last token alone tells leaves far more than the bound of "above the least". Nothing may
 * be below the least but by chance, as it would be if labels leaked. */
YP_TEST(lm, train, .tags = "stress", .timeout = 7200, .devices = "cpu cuda",
        .cases = YP_CASES(TRAINING("small", NULL, 4, 16, 2, 16, 16, 600, 0.025),
                          TRAINING("medium", NULL, 16, 64, 2, 64, 16, 1500, 0.04),
                          TRAINING("large", "slow", 32, 128, 4, 128, 32, 8000, 0.02)),
        .axes = YP_AXES(yp_axis_string("precision", "fp32", "bf16")),
        .budgets = YP_BUDGETS(yp_max_value("above the least", 0.1),
                              yp_min_value("above the least", -0.03),
                              yp_max_value("kept growing", 0)))
{
    struct lm_options o = options_of(t);
    size_t steps = (size_t)yp_int(t, "steps");
    struct train_config how = training_of(&o, steps, 1e-2);
    struct lm_training f;
    struct yp_memory at_start[2], before, after;
    size_t sequences = steps * o.batch * 20 / 19;
    /* A second thread takes a quarter off products this small, and beside a busy processor they
     * wait for it a hundred times longer than they take. */
    if (o.config.d_model < 128)
        omp_set_num_threads(1);
    yp_device_memory(yp_device(t), &at_start[0]);
    yp_device_memory(yp_device_cpu(), &at_start[1]);
    lm_training_open(&f, t, &o, &how, sequences, 2);
    check_plan(t, &o, &how, sequences, at_start);
    struct train_items judged = train_part_items(f.train, TRAIN_VALIDATION);
    double least = synth_tokens_loss(&f.chain, o.context), first = NAN, last = NAN;
    yp_ok(t, train_judge(f.train, judged, train_parameters(f.train), &first, NULL));
    yp_device_memory(yp_device(t), &before);
    yp_ok(t, train_run(f.train, 0));
    yp_device_memory(yp_device(t), &after);
    yp_ok(t, train_judge(f.train, judged, train_parameters(f.train), &last, NULL));
    struct train_state state;
    train_state(f.train, &state);
    yp_expect(t, state.end == TRAIN_ALL_EPOCHS && state.skipped == 0,
              "ended by %d with %llu steps skipped", (int)state.end,
              (unsigned long long)state.skipped);
    yp_value(t, "steps", (double)state.step);
    yp_value(t, "loss before", first);
    yp_value(t, "loss after", last);
    yp_value(t, "least", least);
    yp_value(t, "above the least", last - least);
    yp_value(t, "kept growing", (double)after.allocated_peak - (double)before.allocated_peak);
    lm_training_close(&f);
}

/* -- what changes nothing ---------------------------------------------------------------------- */

static struct lm_options tiny(struct yp_case *t, size_t batch)
{
    return (struct lm_options){.config = config_of(8, 32, 2),
                               .device = yp_device(t),
                               .batch = batch,
                               .context = 16,
                               .precision = precision_of(t)};
}

/* Parameters, or their average, after so many steps; stops in between where there is a checkpoint.
 * Owned by the case.
 */
static float *trained(struct yp_case *t, const struct lm_options *o, const struct train_config *how,
                      uint64_t steps, uint64_t stop, const char *checkpoint)
{
    struct lm_training f;
    lm_training_open(&f, t, o, how, 2000, 2);
    yp_ok(t, train_run(f.train, checkpoint != NULL ? stop : steps));
    if (checkpoint != NULL) {
        yp_ok(t, train_save(f.train, checkpoint));
        lm_training_close(&f);
        lm_training_open(&f, t, o, how, 2000, 2);
        yp_ok(t, train_run(f.train, 1)); /* what a trainer has done before is not to matter */
        yp_ok(t, train_resume(f.train, checkpoint));
        yp_ok(t, train_run(f.train, steps - stop));
    }
    size_t bytes = lm_parameters(&o->config) * sizeof(float);
    float *parameters = yp_alloc_host(t, bytes);
    yp_ok(t, yp_device_copy(o->device, parameters, train_average(f.train), bytes));
    lm_training_close(&f);
    return parameters;
}

#define PRECISIONS YP_AXES(yp_axis_string("precision", "fp32", "bf16"))

/* The same seed twice, and stopped and resumed, have the same bits. */
YP_TEST(lm, train_resumes, .tags = "stress small", .axes = PRECISIONS, .devices = "cpu cuda")
{
    struct lm_options o = tiny(t, 16);
    struct train_config how = training_of(&o, 20, 1e-2);
    size_t bytes = lm_parameters(&o.config) * sizeof(float);
    char checkpoint[512];
    tmp_file(t, "checkpoint", checkpoint);
    how.average = 0.9;
    const float *whole = trained(t, &o, &how, 12, 0, NULL);
    yp_expect(t, memcmp(whole, trained(t, &o, &how, 12, 0, NULL), bytes) == 0,
              "the same seed twice: other bits");
    for (uint64_t stop = 1; stop < 12; stop += 5)
        yp_expect(t, memcmp(whole, trained(t, &o, &how, 12, stop, checkpoint), bytes) == 0,
                  "stopped after %llu steps: other bits", (unsigned long long)stop);
}

/* Four batches of four, added up by the trainer, and one of sixteen; all at once and in parts. And
 * one thread and two. By gradient descent, which sees a factor on the gradient as AdamW does not.
 */
YP_TEST(lm, batches_and_threads, .tags = "stress small", .axes = PRECISIONS,
        .budgets_of = same_training)
{
    struct lm_options whole = tiny(t, 16), part = tiny(t, 4);
    struct train_config at_once = training_of(&whole, 20, 1e-3);
    at_once.optimiser = TRAIN_SGD;
    at_once.sgd.lr = 0.3;
    at_once.clip = 0;
    struct train_config in_parts = at_once, added = at_once;
    size_t n = lm_parameters(&whole.config);
    in_parts.batch = 16; /* by a model that takes 4 */
    added.batch = 4;
    added.accumulate = 4;
    const double *right = in_double(t, trained(t, &whole, &at_once, 8, 0, NULL), n);
    const float *got = trained(t, &part, &in_parts, 8, 0, NULL);
    yp_value(t, "in parts", relative_error(t, got, right, n));
    got = trained(t, &part, &added, 8, 0, NULL);
    yp_value(t, "added up", relative_error(t, got, right, n));
    omp_set_num_threads(omp_get_max_threads() > 1 ? 1 : 2);
    got = trained(t, &whole, &at_once, 8, 0, NULL);
    yp_value(t, "other threads", relative_error(t, got, right, n));
}

/* On a GPU beside the CPU: gradients added up, clipped and scaled. From a checkpoint of either one
 * the other goes on. Five seeds gave up to 1.7e-7, and 2.2e-4 in bf16. */
YP_TEST(lm, trains_as_the_cpu, .tags = "stress small", .devices = "cuda",
        .axes = YP_AXES(yp_axis_string("precision", "fp32", "bf16"),
                        yp_axis_string("optimiser", "adamw", "sgd", "clipped sgd")))
{
    struct lm_options there = tiny(t, 4), here = there;
    struct train_config how = training_of(&there, 20, 1e-3);
    size_t n = lm_parameters(&there.config);
    char checkpoint[512];
    here.device = yp_device_cpu();
    how.accumulate = 2;
    how.clip = strcmp(yp_string(t, "optimiser"), "sgd") == 0 ? 0 : 0.5;
    how.scaling.initial = 1024;
    how.average = 0.9;
    how.optimiser = strcmp(yp_string(t, "optimiser"), "adamw") == 0 ? TRAIN_ADAMW : TRAIN_SGD;
    how.sgd.lr = 0.1;
    const double *right = in_double(t, trained(t, &here, &how, 8, 0, NULL), n);
    double off = relative_error(t, trained(t, &there, &how, 8, 0, NULL), right, n);
    tmp_file(t, "checkpoint", checkpoint);
    for (int to_gpu = 0; to_gpu < 2; to_gpu++) {
        struct lm_training f;
        float *moved = yp_alloc_host(t, n * sizeof *moved);
        lm_training_open(&f, t, to_gpu ? &here : &there, &how, 2000, 2);
        yp_ok(t, train_run(f.train, 5));
        yp_ok(t, train_save(f.train, checkpoint));
        lm_training_close(&f);
        lm_training_open(&f, t, to_gpu ? &there : &here, &how, 2000, 2);
        yp_ok(t, train_resume(f.train, checkpoint));
        yp_ok(t, train_run(f.train, 3));
        yp_ok(t, yp_device_copy(yp_device(t), moved, train_average(f.train), n * sizeof *moved));
        lm_training_close(&f);
        off = fmax(off, relative_error(t, moved, right, n));
    }
    yp_value(t, "off by", off);
    yp_expect(t, off <= (there.precision == NN_FP32 ? 4e-6 : 1e-3), "off by %g", off);
}

/* The Transformer language model over sizes, contexts, batches, passes and precisions, and how such
 * figures come to be: warm-up, and sweeps in one process or in several. */
#include "base/system/clock.h"
#include "models/lm/plan.h"
#include "suites/lm_training.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <yieldpoint/yieldpoint.h>

/* The protocol of the benchmark that the sizes are from: 5 passes that do not count, 10 that do. */
enum { WARMUP = 5, MEASURED = 10 };
YP_OPTION(warmup, .value = "N", .help = "passes of the language model before those measured (5)");
YP_OPTION(measure, .value = "N", .help = "passes of the language model that are measured (10)");

static int given(struct yp_case *t, const char *name, const char *text, int otherwise, int least)
{
    char *end = NULL;
    long n = text != NULL ? strtol(text, &end, 10) : otherwise;
    if (text != NULL && (*text == '\0' || *end != '\0' || n < least || n > 1000000))
        yp_fail(t, "--%s is '%s': must be a whole number from %d", name, text, least);
    return (int)n;
}

/* -- a pass ------------------------------------------------------------------------------------ */

/* Small enough for every run: 5.2 million parameters. */
static const struct lm_config mini = {.vocabulary = 2000,
                                      .d_model = 256,
                                      .d_ff = 1024,
                                      .layers = 4,
                                      .heads = 4,
                                      .theta = 10000,
                                      .eps = 1e-5};

enum { SEQUENCES = 64 }; /* a batch each of an epoch */

struct work {
    struct lm_options o;
    enum lm_work pass;
    struct lm_plan plan;
    struct train_config config;
    uint64_t limit;
    long resident; /* KiB, before anything is taken */
    /* Of a pass alone: */
    struct lm *lm;
    int32_t *tokens, *labels;
    float *parameters, *gradient;
    /* Of a step: */
    struct lm_training training;
};

static long most_resident(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_maxrss;
}

/* What the case's device may have: the run's limit, or all that there is. */
static uint64_t memory_limit(struct yp_case *t)
{
    struct yp_memory memory;
    yp_device_memory(yp_device(t), &memory);
    return memory.limit > 0 ? memory.limit : memory.capacity > 0 ? memory.capacity : UINT64_MAX;
}

/* Skips the case with the plan and what would fit. */
static void out_of_memory(struct yp_case *t, const struct work *w)
{
    size_t batch, context;
    const struct lm_plan *p = &w->plan;
    const double mib = 1 << 20;
    yp_ok(t, lm_plan_fitting(&w->o, w->pass, &w->config, w->limit, &batch, &context));
    yp_skip(t,
            "OOM: %.0f MiB of %.0f MiB: weights %.0f, gradients %.0f, optimiser %.0f, copies %.0f, "
            "activations %.0f, transients %.0f; with it a batch of %zu sequences of %zu tokens "
            "fits, or one sequence of %zu",
            (double)p->total / mib, (double)w->limit / mib, (double)p->weights / mib,
            (double)p->gradients / mib, (double)p->optimiser / mib, (double)p->copies / mib,
            (double)p->activations / mib, (double)p->transients / mib, batch, w->o.context,
            context);
}

static void open_pass(struct work *w, struct yp_case *t)
{
    size_t context = w->o.context, count = w->o.batch * context;
    const struct synth_tokens chain = {yp_seed(t), (uint32_t)w->o.config.vocabulary, 1};
    w->o.pass = w->pass == LM_FORWARD ? NN_MODEL_FORWARD : NN_MODEL_GRADIENT;
    w->tokens = malloc((count + w->o.batch) * sizeof *w->tokens);
    w->labels = malloc(count * sizeof *w->labels);
    for (size_t i = 0; i < w->o.batch; i++) {
        int32_t *row = w->tokens + i * context;
        synth_tokens_sequence(&chain, i, context + 1, row); /* one more than is kept */
        memcpy(w->labels + i * context, row + 1, context * sizeof *row);
    }
    w->parameters = lm_training_weights(t, &w->o.config);
    if (w->pass != LM_FORWARD)
        w->gradient = yp_alloc(t, w->plan.gradients);
    w->lm = lm_create(&w->o);
    yp_got(t, w->lm);
    yp_ok(t, lm_start(w->lm));
}

static struct train_config config_of(const struct work *w)
{
    struct train_config c = train_defaults();
    c.batch = w->o.batch;
    c.epochs = UINT64_MAX;
    c.validation = 0;
    c.keep_best = false;
    c.adamw.lr = 1e-4;
    c.schedule = TRAIN_CONSTANT;
    c.no_decay = lm_no_decay(&w->o.config);
    return c;
}

/* By the case's axes "pass" and "precision"; skips it where it does not fit. The structure must not
 * move. */
static void open_work(struct work *w, struct yp_case *t, const struct lm_config *config,
                      size_t batch, size_t context)
{
    *w = (struct work){
        .o = {.config = *config, .device = yp_device(t), .batch = batch, .context = context},
        .limit = memory_limit(t),
        .resident = most_resident()};
    nn_precision_from_name(yp_string(t, "precision"), &w->o.precision);
    while (strcmp(lm_work_name(w->pass), yp_string(t, "pass")) != 0)
        w->pass++;
    w->config = config_of(w);
    yp_ok(t, lm_plan(&w->o, w->pass, &w->config, SEQUENCES * batch, &w->plan));
    if (w->plan.total > w->limit)
        out_of_memory(t, w);
    if (w->pass == LM_TRAIN_STEP)
        lm_training_open(&w->training, t, &w->o, &w->config, SEQUENCES * batch, 1);
    else
        open_pass(w, t);
}

/* A pass alone does not change the weights: copies in bf16 are made by the first one. A step makes
 * them. */
static enum yp_status run(struct work *w)
{
    const struct lm_batch batch = {w->tokens, w->labels, 0};
    if (w->training.train != NULL)
        return train_run(w->training.train, 1);
    return lm_pass(w->lm, &batch, w->parameters, w->gradient, 1, 0, NULL);
}

static void close_work(struct work *w)
{
    lm_training_close(&w->training);
    lm_destroy(w->lm);
    free(w->tokens);
    free(w->labels);
}

/* The memory of the pass as planned and as taken: accounted and, on the CPU, resident with what
 * libraries have. */
static void check_memory(struct yp_case *t, const struct work *w)
{
    struct yp_memory memory;
    yp_device_memory(yp_device(t), &memory);
    double planned = (double)w->plan.total, taken = (double)memory.allocated_peak;
    double resident = 1024.0 * (double)(most_resident() - w->resident);
    yp_value(t, "planned", planned);
    yp_value(t, "taken over planned", taken / planned);
    if (yp_device_memory_kind(yp_device(t)) == YP_HOST)
        yp_value(t, "resident over planned", resident / planned);
    yp_expect(t, taken <= planned && taken >= 0.97 * planned,
              "the plan says %.0f bytes, %.0f were taken", planned, taken);
}

static void measure(struct yp_case *t, struct work *w, const char *name, int warmup, int samples)
{
    enum nn_model_pass passes = w->pass == LM_FORWARD ? NN_MODEL_FORWARD : NN_MODEL_GRADIENT;
    double n = (double)lm_parameters(&w->o.config), tokens = (double)(w->o.batch * w->o.context);
    /* AdamW reads four vectors and writes three, after the clip has read one. */
    double update = w->training.train != NULL ? 8 * sizeof(float) * n : 0;
    enum yp_status status = YP_OK;
    yp_measure (t, name, .items = tokens, .unit = "tokens",
                .flops = lm_flops(&w->o.config, w->o.batch, w->o.context, passes),
                .arithmetic = w->o.precision == NN_BF16 ? YP_BF16 : YP_FP32,
                .bounds = YP_WORK(yp_then(), yp_traffic(YP_COPY, update, YP_FOOTPRINT_MEMORY)),
                .warmup = warmup > 0 ? warmup : -1, .samples = samples)
        status = run(w);
    yp_ok(t, status);
}

static void pass(struct yp_case *t, const struct lm_config *config)
{
    struct work w;
    int warmup = given(t, "warmup", yp_option(warmup), WARMUP, 0);
    int samples = given(t, "measure", yp_option(measure), MEASURED, 1);
    open_work(&w, t, config, (size_t)yp_int(t, "batch"), (size_t)yp_int(t, "context"));
    measure(t, &w, "pass", warmup, samples);
    check_memory(t, &w);
    close_work(&w);
}

/* What a table of sizes has beside the times (yieldpoint history export --columns model-sweep). */
static void tell_size(struct yp_case *t, const struct lm_config *config)
{
    yp_value(t, "d_model", (double)config->d_model);
    yp_value(t, "d_ff", (double)config->d_ff);
    yp_value(t, "num_layers", (double)config->layers);
    yp_value(t, "num_heads", (double)config->heads);
    yp_value(t, "vocab_size", (double)config->vocabulary);
    yp_value(t, "parameters", (double)lm_parameters(config));
}

static void pass_of_size(struct yp_case *t)
{
    struct lm_config config;
    yp_expect(t, lm_config_named(yp_string(t, "size"), &config), "%s", yp_last_error());
    tell_size(t, &config);
    pass(t, &config);
}

#define PASSES yp_axis_string("pass", "forward", "forward_backward", "train_step")
#define PRECISIONS yp_axis_string("precision", "fp32", "bf16")

/* Operations bound a pass on the CPU, but not with matrix units (AMX) in bf16, which products of
 * this size do not fill: shares are 0.12 to 0.2 there, and 0.28 with the update of a step, which
 * memory bounds. On a GPU
 * products go by tiles in fp32, not on matrix units, so that bf16 takes as long as fp32 (forward
 * 1.67 and 1.74 ms on an H100) and has 0.002 to 0.009 of its ceiling; fp32 0.03 to 0.04: 512 tokens
 * of `mini`, like the 128 of `small`, make 32 to 256 tiles of a product, for 132 multiprocessors.
 */
static void pass_floor(const struct yp_case *c, struct yp_budgets *out)
{
    bool amx = yp_isa() >= YP_ISA_AMX && strcmp(yp_string(c, "precision"), "bf16") == 0;
    if (strcmp(yp_device_of(c), "cpu") != 0)
        return;
    if (!amx)
        yp_budget_add(out, yp_min_share("pass", 0.33));
    else if (strcmp(yp_string(c, "pass"), "train_step") == 0)
        yp_budget_add(out, yp_min_share("pass", 0.18));
}

YP_TEST(lm, mini, .tags = "perf small", .devices = "cpu cuda",
        .axes = YP_AXES(yp_axis_int("context", 128), yp_axis_int("batch", 4), PASSES, PRECISIONS),
        .budgets_of = pass_floor)
{
    pass(t, &mini);
}

YP_TEST(lm, small, .tags = "perf medium", .timeout = 600, .devices = "cpu cuda",
        .axes = YP_AXES(yp_axis_string("size", "small"), yp_axis_int("context", 128),
                        yp_axis_int("batch", 1), PASSES, PRECISIONS),
        .budgets_of = pass_floor)
{
    pass_of_size(t);
}

/* All of the benchmark: minutes a case, and gigabytes; what the machine has no memory for is
 * skipped as OOM, with its plan. */
YP_TEST(lm, sweep, .tags = "perf large slow", .timeout = 7200, .devices = "cpu cuda",
        .axes = YP_AXES(yp_axis_string("size", "small", "medium", "large", "xl", "2.7B"),
                        yp_axis_int("context", 128, 256, 512, 1024), yp_axis_int("batch", 4),
                        PASSES, PRECISIONS))
{
    pass_of_size(t);
}

/* -- how the figures come to be ---------------------------------------------------------------- */

/* What passes that do not count are for: the first ones take memory, make copies and primitives. */
YP_TEST(lm, warmup, .tags = "perf medium", .devices = "cpu cuda",
        .axes = YP_AXES(yp_axis_int("warmup", 0, 1, 2, 5),
                        yp_axis_string("pass", "forward_backward"),
                        yp_axis_string("precision", "bf16")))
{
    struct work w;
    open_work(&w, t, &mini, 4, 128);
    measure(t, &w, "pass", (int)yp_int(t, "warmup"), MEASURED);
    close_work(&w);
}

/* All contexts in one process, one after the other, beside each in a process of its own. */
static const int contexts[] = {64, 128, 256};
#define CONTEXTS yp_axis_int("context", 64, 128, 256)

YP_TEST(lm, one_process, .tags = "perf medium",
        .axes = YP_AXES(yp_axis_string("pass", "forward_backward"), PRECISIONS))
{
    for (size_t i = 0; i < sizeof contexts / sizeof *contexts; i++) {
        char name[32];
        struct work w;
        snprintf(name, sizeof name, "context %d", contexts[i]);
        open_work(&w, t, &mini, 4, (size_t)contexts[i]);
        measure(t, &w, name, WARMUP, MEASURED);
        close_work(&w);
    }
}

YP_TEST(lm, own_process, .tags = "perf medium",
        .axes = YP_AXES(CONTEXTS, yp_axis_string("pass", "forward_backward"), PRECISIONS))
{
    char name[32];
    struct work w;
    snprintf(name, sizeof name, "context %d", (int)yp_int(t, "context"));
    open_work(&w, t, &mini, 4, (size_t)yp_int(t, "context"));
    measure(t, &w, name, WARMUP, MEASURED);
    close_work(&w);
}

/* The least of the passes measured: their launches, which return before the work is done, and until
 * it is. */
YP_TEST(lm, without_waiting, .tags = "perf medium", .devices = "cuda",
        .axes = YP_AXES(yp_axis_string("pass", "forward_backward"), PRECISIONS))
{
    struct work w;
    double launched = INFINITY, done = INFINITY;
    open_work(&w, t, &mini, 4, 128);
    for (int i = -WARMUP; i < MEASURED; i++) {
        yp_ok(t, yp_device_synchronize(yp_device(t)));
        double begin = ypi_now();
        yp_ok(t, run(&w));
        double between = ypi_now();
        yp_ok(t, yp_device_synchronize(yp_device(t)));
        launched = i >= 0 ? fmin(launched, between - begin) : launched;
        done = i >= 0 ? fmin(done, ypi_now() - begin) : done;
    }
    yp_value(t, "milliseconds without waiting", 1e3 * launched);
    yp_value(t, "milliseconds", 1e3 * done);
    yp_value(t, "reported time / true time", launched / done);
    close_work(&w);
}

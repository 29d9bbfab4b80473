/* models/lm: where training begins, batches in parts, plans, and training on tokens whose least
 * loss is known. */
#include "models/lm/plan.h"
#include "synth/tokens/tokens.h"

#include <criterion/criterion.h>
#include <math.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define OK(call) cr_assert_eq(call, YP_OK, "%s", yp_last_error())

/* -- initial values ---------------------------------------------------------------------------- */

static const struct lm_config middle = {.vocabulary = 512,
                                        .d_model = 128,
                                        .d_ff = 384,
                                        .layers = 2,
                                        .heads = 4,
                                        .theta = 10000,
                                        .eps = 1e-5};

static float *initial(const struct lm_config *config, uint64_t seed)
{
    float *x = malloc(lm_parameters(config) * sizeof *x);
    lm_initialise(config, seed, x);
    return x;
}

/* Of a normal cut off at 3 deviations the variance is 0.97334 of the whole one's. */
Test(lm_train, initial_values_have_their_variance_and_bounds)
{
    float *x = initial(&middle, 5);
    struct lm_tensor tensor;
    for (size_t t = 0; lm_tensor(&middle, t, &tensor); t++) {
        size_t count = (tensor.rows > 0 ? tensor.rows : 1) * tensor.columns;
        double deviation = t == 0 ? 1 : sqrt(2.0 / (double)(tensor.rows + tensor.columns));
        double sum = 0, squares = 0, most = 0;
        for (size_t i = 0; i < count; i++) {
            double z = (double)x[tensor.offset + i] / deviation;
            sum += z;
            squares += z * z;
            most = fmax(most, fabs(z));
            cr_expect(tensor.rows > 0 || x[tensor.offset + i] == 1, "%s", tensor.name);
        }
        double n = (double)count;
        if (tensor.rows == 0)
            continue;
        cr_expect_leq(most, 3 + 1e-6, "%s: %g", tensor.name, most);
        cr_expect_geq(most, 2.9, "%s: %g", tensor.name, most);
        cr_expect_leq(fabs(sum / n), 5 / sqrt(n), "%s: mean %g", tensor.name, sum / n);
        cr_expect_leq(fabs(squares / n - 0.97334), 5 * sqrt(2 / n), "%s: variance %g", tensor.name,
                      squares / n);
    }
    free(x);
}

Test(lm_train, initial_values_are_of_the_seed_alone)
{
    size_t bytes = lm_parameters(&middle) * sizeof(float);
    omp_set_num_threads(1);
    float *one = initial(&middle, 5);
    omp_set_num_threads(3);
    float *three = initial(&middle, 5), *other = initial(&middle, 6);
    cr_expect_eq(memcmp(one, three, bytes), 0);
    size_t same = 0;
    for (size_t i = 0; i < 512 * 128; i++)
        same += one[i] == other[i];
    cr_expect_leq(same, 5);
    for (size_t i = 0, k = 512 * 128 + 128; i < 1000; i++)
        cr_expect_neq(one[i], one[k + i], "two tensors have the same words");
    free(one);
    free(three);
    free(other);
}

/* -- batches ----------------------------------------------------------------------------------- */

enum { V = 8, CONTEXT = 16, SEQUENCES = 4096 };

static const struct lm_config tiny = {.vocabulary = V,
                                      .d_model = 32,
                                      .d_ff = 64,
                                      .layers = 2,
                                      .heads = 4,
                                      .theta = 10000,
                                      .eps = 1e-5};

static const struct synth_tokens chain = {.seed = 11, .vocabulary = V, .order = 2};

static enum yp_status read_chain(void *arg, uint32_t item, int32_t *tokens)
{
    size_t *fail = arg;
    if (fail != NULL && *fail == item)
        return yp_set_error(YP_IO, "sequence %u is not there", item);
    synth_tokens_sequence(&chain, item, CONTEXT + 1, tokens);
    return YP_OK;
}

static struct lm_trainee *trainee_of(const struct lm_config *config, size_t at_once,
                                     enum nn_precision precision, size_t *fail)
{
    const struct lm_options options = {.config = *config,
                                       .device = yp_device_cpu(),
                                       .batch = at_once,
                                       .context = CONTEXT,
                                       .precision = precision};
    const struct lm_source source = {
        .sequences = SEQUENCES, .identity = 3, .read = read_chain, .arg = fail};
    struct lm_trainee *t = lm_trainee_create(&options, &source);
    cr_assert_not_null(t, "%s", yp_last_error());
    return t;
}

/* 11 sequences, by 1, 4 and 16 at once: the same loss and gradient but for rounding. */
Test(lm_train, a_batch_in_parts_is_the_whole_batch)
{
    static const uint32_t items[11] = {5, 3, 900, 17, 1, 2, 77, 4000, 8, 9, 10};
    size_t n = lm_parameters(&tiny);
    float *x = initial(&tiny, 1), *whole = malloc(n * sizeof *x), *part = malloc(n * sizeof *x);
    double loss = 0;
    for (size_t at_once = 16; at_once >= 1; at_once /= 4) {
        struct lm_trainee *t = trainee_of(&tiny, at_once, NN_FP32, NULL);
        struct train_objective o = lm_trainee_objective(t);
        double mean, weight, judged, perplexity, off = 0, norm = 0;
        float *g = at_once == 16 ? whole : part;
        OK(o.gradient(o.arg, (struct train_items){items, 11}, x, 2, &mean, &weight, g));
        OK(o.evaluate(o.arg, (struct train_items){items, 11}, x, &judged, &weight, &perplexity));
        cr_expect_eq(weight, 11 * CONTEXT);
        cr_expect_eq(judged, mean);
        cr_expect_float_eq(perplexity, exp(mean), 1e-12);
        loss = at_once == 16 ? mean : loss;
        cr_expect_float_eq(mean, loss, 1e-6, "%zu at once", at_once);
        for (size_t i = 0; i < n; i++) {
            off += pow((double)g[i] - (double)whole[i], 2);
            norm += pow((double)whole[i], 2);
        }
        cr_expect_leq(sqrt(off / norm), 2e-6, "%zu at once: off by %g", at_once, sqrt(off / norm));
        lm_trainee_destroy(t);
    }
    free(x);
    free(whole);
    free(part);
}

Test(lm_train, what_the_source_cannot_read_ends_the_step)
{
    size_t fail = 900;
    struct lm_trainee *t = trainee_of(&tiny, 4, NN_FP32, &fail);
    struct train_objective o = lm_trainee_objective(t);
    float *x = initial(&tiny, 1), *g = malloc(lm_parameters(&tiny) * sizeof *g);
    double mean, weight;
    cr_expect_eq(
        o.gradient(o.arg, (struct train_items){(uint32_t[]){899, 900}, 2}, x, 1, &mean, &weight, g),
        YP_IO);
    cr_expect_str_eq(yp_last_error(), "sequence 900 is not there");
    free(x);
    free(g);
    lm_trainee_destroy(t);
}

Test(lm_train, what_is_not_allowed_is_named)
{
    struct lm_options o = {.config = tiny, .device = yp_device_cpu(), .batch = 1, .context = 4};
    const struct lm_source source = {.sequences = 1, .read = read_chain};
    o.config.layers = 57;
    cr_expect_null(lm_trainee_create(&o, &source));
    cr_expect_str_eq(yp_last_error(), "lm_config.layers is 57: a trainer takes at most 512 "
                                      "tensors, which is 56 layers");
    o.config.layers = 1;
    o.oracle = true;
    cr_expect_null(lm_trainee_create(&o, &source));
    cr_expect_str_eq(yp_last_error(), "lm_options.oracle: a trainer's parameters are floats");
    o.oracle = false;
    o.batch = 0;
    cr_expect_eq(lm_trainee_bytes(&o), 0);
    cr_expect_not_null(strstr(yp_last_error(), "lm_options.batch is 0"));
}

static struct train *started(struct lm_trainee *t, const struct train_config *config)
{
    struct train_objective o = lm_trainee_objective(t);
    struct train *train = train_create(yp_device_cpu(), &o, config);
    cr_assert_not_null(train, "%s", yp_last_error());
    float *x = initial(&tiny, 1);
    OK(train_begin(train, x));
    free(x);
    return train;
}

/* -- memory ------------------------------------------------------------------------------------ */

static size_t peak(void)
{
    struct yp_memory figures;
    yp_device_memory(yp_device_cpu(), &figures);
    return figures.allocated_peak;
}

/* Bytes that a pass or a trainer takes, to the byte. */
Test(lm_train, plans_are_what_is_taken)
{
    static const enum nn_precision precisions[] = {NN_FP32, NN_BF16};
    for (int i = 0; i < 2 * 3 * 2; i++) {
        struct lm_options o = {.config = tiny,
                               .device = yp_device_cpu(),
                               .batch = 3,
                               .context = CONTEXT,
                               .precision = precisions[i % 2],
                               .recompute = (enum lm_recompute)(i / 2 % 3),
                               .pass = i < 6 ? NN_MODEL_GRADIENT : NN_MODEL_FORWARD};
        struct lm_plan plan;
        OK(lm_plan(&o, i < 6 ? LM_FORWARD_BACKWARD : LM_FORWARD, NULL, 0, &plan));
        yp_device_reset_peak(yp_device_cpu());
        struct lm *lm = lm_create(&o);
        OK(lm_start(lm));
        cr_expect_eq(peak(), plan.total - plan.weights - plan.gradients, "%d: %zu", i, peak());
        lm_destroy(lm);
    }
    for (int i = 0; i < 4; i++) {
        struct train_config config = train_defaults();
        config.batch = 6;
        config.keep_best = i % 2 == 1;
        config.accumulate = i < 2 ? 1 : 2;
        config.no_decay = lm_no_decay(&tiny);
        struct lm_options o = {
            .config = tiny, .device = yp_device_cpu(), .batch = 3, .context = CONTEXT};
        struct lm_plan plan;
        OK(lm_plan(&o, LM_TRAIN_STEP, &config, SEQUENCES, &plan));
        yp_device_reset_peak(yp_device_cpu());
        struct lm_trainee *t = trainee_of(&tiny, 3, NN_FP32, NULL);
        struct train *train = started(t, &config);
        float *x = initial(&tiny, 1);
        OK(train_run(train, 2));
        cr_expect_eq(peak(), plan.total, "%d: %zu, planned %zu", i, peak(), plan.total);
        free(x);
        train_destroy(train);
        lm_trainee_destroy(t);
    }
}

/* The largest batch and context that fit do, and one more does not. */
Test(lm_train, what_fits_is_the_most_that_fits)
{
    struct lm_options o = {.config = tiny, .device = yp_device_cpu(), .batch = 5, .context = 7};
    struct train_config config = train_defaults();
    struct lm_plan plan;
    size_t batch, context, limit = 1 << 20;
    OK(lm_plan_fitting(&o, LM_TRAIN_STEP, &config, limit, &batch, &context));
    cr_expect(batch > 1 && context > 1, "%zu %zu", batch, context);
    for (size_t more = 0; more < 2; more++) {
        o.batch = batch + more;
        o.context = 7;
        OK(lm_plan(&o, LM_TRAIN_STEP, &config, o.batch, &plan));
        cr_expect_eq(plan.total <= limit, more == 0, "batch %zu takes %zu", o.batch, plan.total);
        o.batch = 1;
        o.context = context + more;
        OK(lm_plan(&o, LM_TRAIN_STEP, &config, 1, &plan));
        cr_expect_eq(plan.total <= limit, more == 0, "context %zu takes %zu", o.context,
                     plan.total);
    }
    OK(lm_plan_fitting(&o, LM_TRAIN_STEP, &config, 1000, &batch, &context));
    cr_expect(batch == 0 && context == 0, "a kilobyte is enough for %zu %zu", batch, context);
}

/* -- training ---------------------------------------------------------------------------------- */

static struct train_config how(void)
{
    struct train_config c = train_defaults();
    c.seed = 4;
    c.batch = 32;
    c.epochs = 3;
    c.validation = 0.05;
    c.adamw.lr = 1e-2;
    c.adamw.weight_decay = 0.1;
    c.no_decay = lm_no_decay(&tiny);
    c.schedule = TRAIN_COSINE;
    c.cosine = (struct train_cosine){.warmup = 20, .steps = 366, .min_lr = 1e-4};
    c.keep_best = false;
    return c;
}

/* Stopped after 10 steps and resumed in another trainer: the same bits as 20 steps in one. */
Test(lm_train, a_resumed_run_has_the_same_bits)
{
    char path[] = "lm-resumeXXXXXX";
    int file = mkstemp(path);
    cr_assert_geq(file, 0);
    close(file);
    size_t bytes = lm_parameters(&tiny) * sizeof(float);
    struct train_config config = how();
    struct lm_trainee *t = trainee_of(&tiny, 32, NN_BF16, NULL);
    struct train *whole = started(t, &config), *first = started(t, &config);
    OK(train_run(whole, 20));
    OK(train_run(first, 10));
    OK(train_save(first, path));
    train_destroy(first);
    struct train *second = started(t, &config);
    OK(train_resume(second, path));
    OK(train_run(second, 10));
    cr_expect_eq(memcmp(train_parameters(whole), train_parameters(second), bytes), 0);
    train_destroy(second);
    train_destroy(whole);
    lm_trainee_destroy(t);
    t = trainee_of(&tiny, 16, NN_BF16, NULL);
    second = started(t, &config);
    cr_expect_eq(train_resume(second, path), YP_INVALID);
    cr_expect_not_null(strstr(yp_last_error(), "at_once"), "%s", yp_last_error());
    train_destroy(second);
    lm_trainee_destroy(t);
    unlink(path);
}

/* models/lm: where training begins, memory that is refused, and what is not allowed.
 * suites/stress/lm.c and tests/usage/lm.py have gradients, passes, training and plans. */
#include "models/lm/plan.h"
#include "tests/unit/status.h"

#include <math.h>
#include <omp.h>
#include <stdlib.h>
#include <unistd.h>

/* `done`: what was to be refused. */
static void expect_refused(bool done, const char *words)
{
    cr_expect_not(done, "%s", words);
    cr_expect_not_null(strstr(yp_last_error(), words), "'%s' is not '%s'", yp_last_error(), words);
}

/* -- initial values ---------------------------------------------------------------------------- */

static const struct lm_config middle = {.vocabulary = 512,
                                        .d_model = 128,
                                        .d_ff = 384,
                                        .layers = 2,
                                        .heads = 4,
                                        .theta = 10000,
                                        .eps = 1e-5};

static float *initial(const struct lm_config *config, uint64_t seed, int threads)
{
    float *x = malloc(lm_parameters(config) * sizeof *x);
    omp_set_num_threads(threads);
    lm_initialise(config, seed, x);
    return x;
}

/* Of a normal cut off at 3 deviations the variance is 0.97334 of the whole one's. */
Test(lm, initial_values_have_their_variance_and_bounds)
{
    float *x = initial(&middle, 5, 1);
    struct lm_tensor tensor;
    for (size_t t = 0; lm_tensor(&middle, t, &tensor); t++) {
        size_t count = (tensor.rows > 0 ? tensor.rows : 1) * tensor.columns;
        double deviation = t == 0 ? 1 : sqrt(2.0 / (double)(tensor.rows + tensor.columns));
        double sum = 0, squares = 0, most = 0, n = (double)count;
        for (size_t i = 0; i < count; i++) {
            double z = (double)x[tensor.offset + i] / deviation;
            sum += z;
            squares += z * z;
            most = fmax(most, fabs(z));
            cr_expect(tensor.rows > 0 || x[tensor.offset + i] == 1, "%s", tensor.name);
        }
        cr_expect(tensor.rows == 0 ||
                      (most <= 3 + 1e-6 && most >= 2.9 && fabs(sum / n) <= 5 / sqrt(n) &&
                       fabs(squares / n - 0.97334) <= 5 * sqrt(2 / n)),
                  "%s: at most %g, mean %g, variance %g", tensor.name, most, sum / n, squares / n);
    }
    free(x);
}

Test(lm, initial_values_are_of_the_seed_and_the_tensor_alone)
{
    float *one = initial(&middle, 5, 1), *three = initial(&middle, 5, 3);
    float *other = initial(&middle, 6, 1);
    size_t same = 0, second = 512 * 128 + 128; /* of deviation 1 / (8 sqrt 2) */
    cr_expect_eq(memcmp(one, three, lm_parameters(&middle) * sizeof *one), 0);
    for (size_t i = 0; i < 512 * 128; i++)
        same += one[i] == other[i];
    for (size_t i = 0; i < 1000; i++)
        same += fabsf(one[i] - one[second + i] * 8 * sqrtf(2)) < 1e-5F;
    cr_expect_leq(same, 5, "two seeds, or two tensors, have the same words");
    free(one);
    free(three);
    free(other);
}

/* -- what is refused --------------------------------------------------------------------------- */

enum { V = 11, BATCH = 2, CONTEXT = 5, TOKENS = BATCH * CONTEXT };

static struct lm_options options_of(enum nn_precision precision)
{
    return (struct lm_options){.config = {.vocabulary = V,
                                          .d_model = 8,
                                          .d_ff = 12,
                                          .layers = 2,
                                          .heads = 2,
                                          .theta = 10000,
                                          .eps = 1e-5},
                               .device = yp_device_cpu(),
                               .batch = BATCH,
                               .context = CONTEXT,
                               .precision = precision,
                               .pass = NN_MODEL_GRADIENT};
}

Test(lm, every_refusal_of_memory_is_told)
{
    struct lm_options options = options_of(NN_BF16);
    for (uint64_t nth = 1; nth <= 3; nth++) {
        yp_device_fail_allocation(yp_device_cpu(), nth);
        struct lm *lm = lm_create(&options);
        cr_expect_eq(lm != NULL, nth == 3, "refusal %d", (int)nth);
        cr_expect(lm == NULL || lm_start(lm) == YP_OUT_OF_MEMORY);
        cr_expect_eq(yp_last_status(), YP_OUT_OF_MEMORY);
        lm_destroy(lm);
        cr_expect_eq(memory().allocated, 0, "refusal %d", (int)nth);
    }
    struct train_config config = train_defaults();
    size_t batch, context;
    OK(lm_plan_fitting(&options, LM_TRAIN_STEP, &config, 1000, &batch, &context));
    cr_expect(batch == 0 && context == 0, "a kilobyte is enough for %zu %zu", batch, context);
}

#define WRONG(change, words) \
    do { \
        struct lm_options o = options_of(NN_FP32); \
        change; \
        expect_refused(lm_create(&o) != NULL, words); \
    } while (0)

Test(lm, what_is_not_allowed_is_told)
{
    WRONG(o.config.heads = 8, "lm_config.heads is 8: must be 1 to 4");
    WRONG(o.config.layers = 0, "lm_config.layers is 0");
    WRONG(o.config.theta = 1, "lm_config.theta is 1");
    WRONG(o.batch = 0, "lm_options.batch is 0, context 5");
    WRONG(o.logits = true, "only a loss has a gradient");
    WRONG(o.precision = NN_INT8, "has no version in int8");
    WRONG(o.kind = "tpu", "lm_options.kind is 'tpu': must be cpu or cuda");
    cr_expect_eq(memory().allocated, 0);
    struct lm_options o = options_of(NN_FP32);
    o.kind = "cuda";
    struct lm *lm = lm_create(&o);
    expect_refused(lm_start(lm) == YP_OK, "planned for cuda");
    lm_destroy(lm);
}

Test(lm, passes_that_cannot_be_are_refused)
{
    struct lm_options options = options_of(NN_FP32);
    int32_t tokens[TOKENS] = {0}, labels[TOKENS] = {0};
    float *x = initial(&options.config, 1, 1);
    options.pass = NN_MODEL_FORWARD;
    struct lm *lm = lm_create(&options);
    const struct lm_batch batch = {tokens, labels, 0};
#define PASS(tokens_, labels_, count_, parameters, gradient) \
    lm_pass(lm, &(struct lm_batch){tokens_, labels_, count_}, parameters, gradient, 1, 0, NULL) == \
        YP_OK
    expect_refused(lm_pass(lm, &batch, x, NULL, 1, 0, NULL) == YP_OK, "lm_start() was not called");
    OK(lm_start(lm));
    expect_refused(PASS(tokens, labels, 0, x, x), "no gradient was planned");
    expect_refused(PASS(tokens, NULL, 0, x, NULL), "labels is NULL");
    expect_refused(PASS(NULL, labels, 0, x, NULL), "tokens is NULL");
    expect_refused(PASS(tokens, labels, 0, NULL, NULL), "parameters is NULL");
    expect_refused(PASS(tokens, labels, BATCH + 1, x, NULL), "batch.count is above");
    tokens[7] = V;
    expect_refused(PASS(tokens, labels, 0, x, NULL), "embedding: token[7] is 11: must be 0 to 10");
    lm_destroy(lm);
    free(x);
}

static enum yp_status no_sequence(void *arg, uint32_t item, int32_t *tokens)
{
    (void)arg, (void)tokens;
    return yp_set_error(YP_IO, "sequence %u is not there", item);
}

Test(lm, what_a_trainer_does_not_take_is_named)
{
    struct lm_options o = options_of(NN_FP32);
    const struct lm_source source = {.sequences = 8, .read = no_sequence};
    o.config.layers = 57;
    expect_refused(lm_trainee_create(&o, &source) != NULL,
                   "lm_config.layers is 57: a trainer takes at most 512 "
                   "tensors, which is 56 layers");
    o.config.layers = 1;
    o.oracle = true;
    expect_refused(lm_trainee_create(&o, &source) != NULL,
                   "lm_options.oracle: a trainer's parameters are floats");
    o.oracle = false;
    o.batch = 0;
    expect_refused(lm_trainee_bytes(&o) > 0, "lm_options.batch is 0");
    o.batch = BATCH;
    float *x = initial(&o.config, 1, 1);
    struct train_config config = train_defaults();
    for (int other = 0; other < 2; other++) { /* another batch has a sum of other bits */
        o.batch = BATCH + (size_t)other;
        struct lm_trainee *t = lm_trainee_create(&o, &source);
        struct train_objective objective = lm_trainee_objective(t);
        struct train *train = train_create(yp_device_cpu(), &objective, &config);
        OK(train_begin(train, x));
        expect_refused(train_run(train, 1) == YP_OK, "is not there");
        if (other == 0)
            OK(train_save(train, "lm-checkpoint"));
        else
            expect_refused(train_resume(train, "lm-checkpoint") == YP_OK,
                           "at_once is 2 there, 3 here");
        train_destroy(train);
        lm_trainee_destroy(t);
    }
    unlink("lm-checkpoint");
    free(x);
}

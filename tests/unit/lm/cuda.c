/* The language model on a GPU: the emulated device with the kernels' own code, beside the CPU. */
#include "models/lm/plan.h"
#include "synth/tokens/tokens.h"
#include "tests/emulated/device.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define OK(call) cr_assert_eq(call, YP_OK, "%s", yp_last_error())

enum { V = 11, BATCH = 2, CONTEXT = 40, TOKENS = BATCH * CONTEXT, SEQUENCES = 64 };

static const struct lm_config tiny = {.vocabulary = V,
                                      .d_model = 32,
                                      .d_ff = 48,
                                      .layers = 2,
                                      .heads = 2,
                                      .theta = 10000,
                                      .eps = 1e-5};

static const struct synth_tokens chain = {.seed = 11, .vocabulary = V, .order = 2};

static struct lm_options options_on(struct yp_device *device, enum nn_precision precision)
{
    return (struct lm_options){.config = tiny,
                               .device = device,
                               .batch = BATCH,
                               .context = CONTEXT,
                               .precision = precision,
                               .pass = NN_MODEL_GRADIENT};
}

/* -- a pass --------------------------------------------------------------------------------- */

struct result {
    double loss;
    float *gradient;
};

static float *copy_of(struct yp_device *device, const float *values, size_t count)
{
    float *there = yp_device_alloc(device, count * sizeof *there);
    cr_assert_not_null(there, "%s", yp_last_error());
    OK(yp_device_copy(device, there, values, count * sizeof *there));
    return there;
}

/* Loss and gradient with seeded parameters and tokens; `times` runs, whose gradients are added. */
static struct result run_on(const struct lm_options *o, int times)
{
    size_t n = lm_parameters(&tiny);
    float *x = malloc(n * sizeof *x);
    int32_t sequence[CONTEXT + 1], tokens[TOKENS], labels[TOKENS];
    struct result result = {0, calloc(n, sizeof *x)};
    for (uint32_t i = 0; i < BATCH; i++) {
        synth_tokens_sequence(&chain, i, CONTEXT + 1, sequence);
        memcpy(tokens + i * CONTEXT, sequence, CONTEXT * sizeof *tokens);
        memcpy(labels + i * CONTEXT, sequence + 1, CONTEXT * sizeof *labels);
    }
    lm_initialise(&tiny, 3, x);
    float *parameters = copy_of(o->device, x, n),
          *gradient = copy_of(o->device, result.gradient, n);
    struct lm *lm = lm_create(o);
    cr_assert_not_null(lm, "%s", yp_last_error());
    OK(lm_start(lm));
    for (int i = 0; i < times; i++)
        OK(lm_run(lm, &(struct lm_batch){tokens, labels, 0}, parameters, gradient, 1,
                  i == 0 ? NN_MODEL_COPY : NN_MODEL_ADD, &result.loss));
    OK(yp_device_copy(o->device, result.gradient, gradient, n * sizeof *gradient));
    lm_destroy(lm);
    yp_device_free(o->device, parameters);
    yp_device_free(o->device, gradient);
    free(x);
    return result;
}

/* ||got - right|| / ||right|| of the tensor that is off most. */
static double distance(const float *got, const float *right, double times)
{
    struct lm_tensor tensor;
    double worst = 0;
    for (size_t t = 0; lm_tensor(&tiny, t, &tensor); t++) {
        size_t count = (tensor.rows > 0 ? tensor.rows : 1) * tensor.columns;
        double off = 0, norm = 0;
        for (size_t i = tensor.offset; i < tensor.offset + count; i++) {
            off += pow((double)got[i] - times * (double)right[i], 2);
            norm += pow(times * (double)right[i], 2);
        }
        worst = fmax(worst, isnan(off) ? INFINITY : sqrt(off / norm));
    }
    return worst;
}

static const enum nn_precision precisions[] = {NN_FP32, NN_BF16};
/* Sums in another order; in bf16, what is rounded the other way on the way. */
static const double bounds[] = {3e-6, 0.03};

Test(lm_cuda, a_pass_is_the_cpus)
{
    for (int p = 0; p < 2; p++) {
        struct lm_options here = options_on(yp_device_cpu(), precisions[p]);
        struct lm_options there = options_on(emulated_device(), precisions[p]);
        struct result cpu = run_on(&here, 1), gpu = run_on(&there, 1), twice = run_on(&there, 2);
        cr_expect_float_eq(gpu.loss, cpu.loss, bounds[p] / 10, "%.9g, not %.9g", gpu.loss,
                           cpu.loss);
        double off = distance(gpu.gradient, cpu.gradient, 1);
        cr_expect_leq(off, bounds[p], "off by %g", off);
        off = distance(twice.gradient, gpu.gradient, 2);
        cr_expect_leq(off, 1e-6, "added: off by %g", off);
        for (int level = LM_REMAKE_NORMS; level <= LM_REMAKE_BLOCKS; level++) {
            there.recompute = (enum lm_recompute)level;
            struct result again = run_on(&there, 1);
            cr_expect_eq(again.loss, gpu.loss);
            cr_expect_eq(distance(again.gradient, gpu.gradient, 1), 0, "level %d", level);
            free(again.gradient);
        }
        free(cpu.gradient);
        free(gpu.gradient);
        free(twice.gradient);
    }
}

/* -- memory --------------------------------------------------------------------------------- */

static size_t peak_of(struct yp_device *device)
{
    struct yp_memory figures;
    yp_device_memory(device, &figures);
    return figures.allocated_peak;
}

/* To the byte, on the device and on the host; and planned without the device. */
Test(lm_cuda, plans_are_what_is_taken)
{
    for (int i = 0; i < 2 * 3; i++) {
        struct lm_options o = options_on(emulated_device(), precisions[i % 2]);
        struct lm_plan plan, elsewhere;
        o.recompute = (enum lm_recompute)(i / 2);
        OK(lm_plan(&o, LM_FORWARD_BACKWARD, NULL, 0, &plan));
        struct lm_options without = o;
        without.device = yp_device_cpu();
        without.kind = "cuda";
        OK(lm_plan(&without, LM_FORWARD_BACKWARD, NULL, 0, &elsewhere));
        cr_expect_eq(memcmp(&plan, &elsewhere, sizeof plan), 0, "%d", i);
        yp_device_reset_peak(emulated_device());
        yp_device_reset_peak(yp_device_cpu());
        struct lm *lm = lm_create(&o);
        OK(lm_start(lm));
        cr_expect_eq(peak_of(emulated_device()), plan.total - plan.weights - plan.gradients,
                     "%d: %zu", i, peak_of(emulated_device()));
        cr_expect_eq(peak_of(yp_device_cpu()), plan.host, "%d", i);
        lm_destroy(lm);
    }
}

Test(lm_cuda, a_kind_that_is_not_known_is_refused)
{
    struct lm_options o = options_on(yp_device_cpu(), NN_FP32);
    o.kind = "tpu";
    cr_expect_eq(lm_check_options(&o), YP_INVALID);
    cr_expect_str_eq(yp_last_error(), "lm_options.kind is 'tpu': must be cpu or cuda");
    o.kind = "cuda";
    struct lm *lm = lm_create(&o);
    cr_expect_eq(lm_start(lm), YP_INVALID);
    cr_expect_not_null(strstr(yp_last_error(), "planned for cuda"), "%s", yp_last_error());
    lm_destroy(lm);
}

/* -- training ------------------------------------------------------------------------------- */

static enum yp_status read_chain(void *arg, uint32_t item, int32_t *tokens)
{
    (void)arg;
    synth_tokens_sequence(&chain, item, CONTEXT + 1, tokens);
    return YP_OK;
}

/* The loss of the validation items behind some clipped steps. */
static double trained_on(struct yp_device *device, enum nn_precision precision, size_t *taken)
{
    const struct lm_options options = options_on(device, precision);
    const struct lm_source source = {.sequences = SEQUENCES, .identity = 3, .read = read_chain};
    struct train_config config = train_defaults();
    config.batch = 4;
    config.accumulate = 2;
    config.clip = 1;
    config.epochs = 4;
    config.adamw.lr = 1e-2;
    config.validation = 0.1;
    config.no_decay = lm_no_decay(&tiny);
    struct lm_plan plan;
    OK(lm_plan(&options, LM_TRAIN_STEP, &config, SEQUENCES, &plan));
    yp_device_reset_peak(device);
    struct lm_trainee *t = lm_trainee_create(&options, &source);
    cr_assert_not_null(t, "%s", yp_last_error());
    struct train_objective objective = lm_trainee_objective(t);
    struct train *train = train_create(device, &objective, &config);
    cr_assert_not_null(train, "%s", yp_last_error());
    float *x = malloc(lm_parameters(&tiny) * sizeof *x);
    double loss;
    lm_initialise(&tiny, 3, x);
    OK(train_begin(train, x));
    OK(train_run(train, 20));
    OK(train_judge(train, train_part_items(train, TRAIN_VALIDATION), train_parameters(train), &loss,
                   NULL));
    *taken = peak_of(device) - plan.total;
    train_destroy(train);
    lm_trainee_destroy(t);
    free(x);
    return loss;
}

Test(lm_cuda, training_is_the_cpus)
{
    for (int p = 0; p < 2; p++) {
        size_t more;
        double cpu = trained_on(yp_device_cpu(), precisions[p], &more);
        double gpu = trained_on(emulated_device(), precisions[p], &more);
        cr_expect_eq(more, 0, "%zu bytes beside the plan", more);
        cr_expect_float_eq(gpu, cpu, p == 0 ? 1e-4 : 0.02, "%.9g, not %.9g", gpu, cpu);
        cr_expect_lt(gpu, log(V));
    }
}

/* models/lm: sizes and names, the whole model's gradient in double, in float and bf16 against that,
 * what is made again, and memory. */
#include "models/lm/lm.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <yieldpoint/gradient.h>

#include "base/numbers/splitmix.h"

#define OK(call) cr_assert_eq(call, YP_OK, "%s", yp_last_error())

/* -- sizes ------------------------------------------------------------------------------------- */

Test(lm, the_sizes_have_their_parameters)
{
    static const struct {
        const char *name;
        size_t parameters;
    } sizes[] = {{"small", 128625408},
                 {"medium", 423183360},
                 {"large", 969411840},
                 {"xl", 1998235200},
                 {"2.7B", 3406809600}};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        struct lm_config config;
        cr_assert(lm_config_named(sizes[i].name, &config));
        OK(lm_check_config(&config));
        cr_expect_str_eq(lm_config_name(i), sizes[i].name);
        cr_expect_eq(lm_parameters(&config), sizes[i].parameters, "%s: %zu", sizes[i].name,
                     lm_parameters(&config));
        size_t at = 0, count = 0;
        struct lm_tensor tensor;
        for (; lm_tensor(&config, count, &tensor); count++) {
            cr_assert_eq(tensor.offset, at, "%s leaves a gap", tensor.name);
            at += (tensor.rows > 0 ? tensor.rows : 1) * tensor.columns;
        }
        cr_expect_eq(at, sizes[i].parameters);
        cr_expect_eq(count, 3 + 9 * config.layers);
    }
    cr_expect_null(lm_config_name(5));
}

Test(lm, tensors_have_the_references_names)
{
    static const char *const names[] = {"token_embeddings.weight",
                                        "layers.0.ln1.weight",
                                        "layers.0.attn.q_proj.weight",
                                        "layers.0.attn.k_proj.weight",
                                        "layers.0.attn.v_proj.weight",
                                        "layers.0.attn.output_proj.weight",
                                        "layers.0.ln2.weight",
                                        "layers.0.ffn.w1.weight",
                                        "layers.0.ffn.w2.weight",
                                        "layers.0.ffn.w3.weight",
                                        "ln_final.weight",
                                        "lm_head.weight"};
    struct lm_config config = {.vocabulary = 7, .d_model = 4, .d_ff = 6, .layers = 1, .heads = 2};
    struct lm_tensor tensor;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        cr_assert(lm_tensor(&config, i, &tensor));
        cr_expect_str_eq(tensor.name, names[i]);
    }
    cr_expect_not(lm_tensor(&config, 12, &tensor));
    lm_tensor(&config, 8, &tensor);
    cr_expect(tensor.rows == 4 && tensor.columns == 6, "w2 goes from d_ff to d_model");
}

/* -- a tiny model ------------------------------------------------------------------------------ */

enum { V = 11, BATCH = 2, CONTEXT = 5, TOKENS = BATCH * CONTEXT, TENSORS = 21 };

static const struct lm_config tiny = {.vocabulary = V,
                                      .d_model = 8,
                                      .d_ff = 12,
                                      .layers = 2,
                                      .heads = 2,
                                      .theta = 10000,
                                      .eps = 1e-5};

#define OF(tokens, labels) \
    &(struct lm_batch) \
    { \
        tokens, labels, 0 \
    }

struct trial {
    struct lm *lm;
    size_t parameters;
    double *x, *g; /* in double */
    float *xf, *gf;
    int32_t tokens[TOKENS], labels[TOKENS];
};

static struct lm_options options_of(enum nn_precision precision)
{
    return (struct lm_options){.config = tiny,
                               .device = yp_device_cpu(),
                               .batch = BATCH,
                               .context = CONTEXT,
                               .precision = precision,
                               .pass = NN_MODEL_GRADIENT};
}

/* Weights like those of training, gains around 1. */
static void fill(struct trial *s)
{
    struct lm_tensor tensor;
    struct ypi_seed seed = ypi_seed_of(1, 2, 3);
    s->parameters = lm_parameters(&tiny);
    s->x = malloc(s->parameters * sizeof *s->x);
    s->g = calloc(s->parameters, sizeof *s->g);
    s->xf = malloc(s->parameters * sizeof *s->xf);
    s->gf = calloc(s->parameters, sizeof *s->gf);
    for (size_t i = 0; lm_tensor(&tiny, i, &tensor); i++) {
        size_t count = (tensor.rows > 0 ? tensor.rows : 1) * tensor.columns;
        for (size_t k = 0; k < count; k++) {
            double z = ypi_seed_normal(&seed);
            float value = (float)(tensor.rows == 0 ? 1 + 0.25 * z : 0.35 * z);
            s->xf[tensor.offset + k] = value;
            s->x[tensor.offset + k] = (double)value;
        }
    }
    for (int i = 0; i < TOKENS; i++) {
        s->tokens[i] = (int32_t)(ypi_seed_next(&seed) % V);
        s->labels[i] = (int32_t)(ypi_seed_next(&seed) % V);
    }
}

static struct trial trial_of(const struct lm_options *options)
{
    struct trial s = {.lm = lm_create(options)};
    cr_assert_not_null(s.lm, "%s", yp_last_error());
    OK(lm_start(s.lm));
    fill(&s);
    return s;
}

static void end(struct trial *s)
{
    lm_destroy(s->lm);
    free(s->x);
    free(s->g);
    free(s->xf);
    free(s->gf);
}

static void loss_of(void *arg, const double *x, double *y)
{
    struct trial *s = arg;
    OK(lm_run(s->lm, OF(s->tokens, s->labels), x, NULL, 1, 0, y));
}

static void gradient_of(void *arg, const double *x, const double *cotangent, double *g)
{
    struct trial *s = arg;
    OK(lm_run(s->lm, OF(s->tokens, s->labels), x, g, *cotangent, 0, NULL));
}

Test(lm, the_gradient_of_every_tensor_is_that_of_the_loss)
{
    struct lm_options options = options_of(NN_FP32);
    options.oracle = true;
    struct trial s = trial_of(&options);
    struct lm_tensor tensor[TENSORS];
    struct yp_tensor slices[TENSORS];
    size_t n = 0;
    for (; lm_tensor(&tiny, n, &tensor[n]); n++)
        slices[n] =
            (struct yp_tensor){tensor[n].name, tensor[n].offset,
                               (tensor[n].rows > 0 ? tensor[n].rows : 1) * tensor[n].columns};
    cr_assert_eq(n, TENSORS);
    struct yp_gradient check = {.name = "lm",
                                .inputs = s.parameters,
                                .outputs = 1,
                                .f = loss_of,
                                .vjp = gradient_of,
                                .arg = &s,
                                .x = s.x,
                                .tensors = slices,
                                .n_tensors = n};
    struct yp_gradient_result result;
    OK(yp_gradient_error(&check, 1, &result));
    cr_expect_leq(result.error, 1e-6, "%g at %s: expected %g, got %g", result.error, result.tensor,
                  result.expected, result.got);
    end(&s);
}

/* -- precisions -------------------------------------------------------------------------------- */

/* ||got - right|| / ||right|| of a tensor. */
static double distance(const struct lm_tensor *tensor, const float *got, const double *right)
{
    double off = 0, norm = 0;
    size_t count = (tensor->rows > 0 ? tensor->rows : 1) * tensor->columns;
    for (size_t i = tensor->offset; i < tensor->offset + count; i++) {
        off += ((double)got[i] - right[i]) * ((double)got[i] - right[i]);
        norm += right[i] * right[i];
    }
    return sqrt(off / norm);
}

static void check_precision(enum nn_precision precision, double of_loss, double of_gradient)
{
    struct lm_options options = options_of(precision), in_double = options_of(NN_FP32);
    in_double.oracle = true;
    struct trial fast = trial_of(&options), oracle = trial_of(&in_double);
    struct lm_tensor tensor;
    double loss, right;
    OK(lm_run(fast.lm, OF(fast.tokens, fast.labels), fast.xf, fast.gf, 1, NN_MODEL_COPY, &loss));
    OK(lm_run(oracle.lm, OF(oracle.tokens, oracle.labels), oracle.x, oracle.g, 1, 0, &right));
    cr_expect_leq(fabs(loss / right - 1), of_loss, "loss %g, not %g", loss, right);
    for (size_t i = 0; lm_tensor(&tiny, i, &tensor); i++) {
        double off = distance(&tensor, fast.gf, oracle.g);
        cr_expect(off <= of_gradient, "%s: %g", tensor.name, off);
    }
    end(&fast);
    end(&oracle);
}

Test(lm, fp32_is_near_double)
{
    check_precision(NN_FP32, 1e-6, 1e-5);
}

Test(lm, bf16_is_as_near_as_its_digits)
{
    check_precision(NN_BF16, 0x1p-8, 0.06);
}

/* -- what a pass may do otherwise -------------------------------------------------------------- */

static const enum nn_precision precisions[] = {NN_FP32, NN_BF16};

Test(lm, what_is_made_again_has_the_same_bits_and_takes_less)
{
    for (int p = 0; p < 2; p++) {
        struct lm_options options = options_of(precisions[p]);
        struct trial all = trial_of(&options);
        size_t kept = nn_model_bytes(lm_model(all.lm))->kept;
        double loss, other;
        OK(lm_run(all.lm, OF(all.tokens, all.labels), all.xf, all.gf, 1, NN_MODEL_COPY, &loss));
        for (int level = LM_REMAKE_NORMS; level <= LM_REMAKE_BLOCKS; level++) {
            options.recompute = (enum lm_recompute)level;
            struct trial s = trial_of(&options);
            OK(lm_run(s.lm, OF(s.tokens, s.labels), s.xf, s.gf, 1, NN_MODEL_COPY, &other));
            cr_expect_eq(loss, other);
            cr_expect_eq(memcmp(all.gf, s.gf, all.parameters * sizeof *all.gf), 0, "level %d",
                         level);
            cr_expect_lt(nn_model_bytes(lm_model(s.lm))->kept, kept, "level %d", level);
            kept = nn_model_bytes(lm_model(s.lm))->kept;
            cr_expect_eq(nn_model_flops(lm_model(s.lm)), nn_model_flops(lm_model(all.lm)));
            end(&s);
        }
        end(&all);
    }
}

Test(lm, gradients_are_scaled_and_added)
{
    struct lm_options options = options_of(NN_FP32);
    struct trial s = trial_of(&options), twice = trial_of(&options);
    OK(lm_run(s.lm, OF(s.tokens, s.labels), s.xf, s.gf, 1, 0, NULL));
    OK(lm_run(twice.lm, OF(s.tokens, s.labels), s.xf, twice.gf, 0.5, 0, NULL));
    OK(lm_run(twice.lm, OF(s.tokens, s.labels), s.xf, twice.gf, 0.5, NN_MODEL_ADD, NULL));
    for (size_t i = 0; i < s.parameters; i++)
        cr_assert_leq(fabsf(s.gf[i] - twice.gf[i]), 1e-6f * (1e-3f + fabsf(s.gf[i])), "%zu: %g, %g",
                      i, (double)s.gf[i], (double)twice.gf[i]);
    end(&s);
    end(&twice);
}

/* The first run makes copies in bf16; from then on they are made anew when asked for. */
Test(lm, copies_are_made_when_asked_for)
{
    struct lm_options options = options_of(NN_BF16);
    struct trial s = trial_of(&options), other = trial_of(&options);
    double loss, first, same, changed;
    OK(lm_run(s.lm, OF(s.tokens, s.labels), s.xf, NULL, 1, NN_MODEL_COPY, &loss));
    OK(lm_run(other.lm, OF(s.tokens, s.labels), s.xf, NULL, 1, 0, &first));
    cr_expect_eq(first, loss);
    for (size_t i = s.parameters - (size_t)V * 8; i < s.parameters; i++)
        s.xf[i] *= 2; /* the head, of which there is a copy */
    OK(lm_run(other.lm, OF(s.tokens, s.labels), s.xf, NULL, 1, 0, &same));
    OK(lm_run(other.lm, OF(s.tokens, s.labels), s.xf, NULL, 1, NN_MODEL_COPY, &changed));
    cr_expect_eq(same, loss);
    cr_expect_neq(changed, loss);
    end(&s);
    end(&other);
}

/* Logits of a position do not depend on what comes after it; the loss is theirs. */
Test(lm, logits_are_causal_and_give_the_loss)
{
    struct lm_options options = options_of(NN_FP32);
    struct trial s = trial_of(&options);
    options.logits = true;
    options.pass = NN_MODEL_FORWARD;
    struct trial logits = trial_of(&options);
    float before[TOKENS * V];
    double loss, sum = 0;
    OK(lm_run(s.lm, OF(s.tokens, s.labels), s.xf, NULL, 1, 0, &loss));
    OK(lm_run(logits.lm, OF(s.tokens, NULL), s.xf, NULL, 1, 0, NULL));
    memcpy(before, lm_result(logits.lm), sizeof before);
    for (int i = 0; i < TOKENS; i++) {
        double all = 0;
        for (int k = 0; k < V; k++)
            all += exp((double)before[i * V + k]);
        sum += log(all) - (double)before[i * V + s.labels[i]];
    }
    cr_expect_float_eq(sum / TOKENS, loss, 1e-6 * loss);
    s.tokens[3] = (s.tokens[3] + 1) % V; /* of the first sequence */
    OK(lm_run(logits.lm, OF(s.tokens, NULL), s.xf, NULL, 1, 0, NULL));
    const float *after = lm_result(logits.lm);
    for (int i = 0; i < TOKENS; i++)
        cr_expect_eq(memcmp(before + i * V, after + i * V, V * sizeof *after) == 0,
                     i != 3 && i != 4, "position %d", i);
    end(&s);
    end(&logits);
}

/* -- memory ------------------------------------------------------------------------------------ */

static uint64_t allocated(bool peak)
{
    struct yp_memory memory;
    yp_device_memory(yp_device_cpu(), &memory);
    return peak ? memory.allocated_peak : memory.allocated;
}

Test(lm, the_arena_is_what_was_predicted_and_every_refusal_is_told)
{
    struct lm_options options = options_of(NN_BF16);
    for (uint64_t nth = 1; nth <= 3; nth++) {
        yp_device_fail_allocation(yp_device_cpu(), nth);
        struct lm *lm = lm_create(&options);
        if (nth <= 2)
            cr_expect_null(lm, "refusal %d", (int)nth);
        else
            cr_expect_eq(lm_start(lm), YP_OUT_OF_MEMORY, "refusal %d", (int)nth);
        cr_expect_eq(yp_last_status(), YP_OUT_OF_MEMORY);
        lm_destroy(lm);
        cr_expect_eq(allocated(false), 0, "refusal %d", (int)nth);
    }
    yp_device_fail_allocation(yp_device_cpu(), 0);
    struct lm *lm = lm_create(&options);
    uint64_t before = allocated(false);
    OK(lm_start(lm));
    cr_expect_eq(allocated(false) - before, nn_model_bytes(lm_model(lm))->arena);
    lm_destroy(lm);
}

/* Bytes a token and layer, with s bytes an element and H heads (8 d + 3 d_ff, and for the norms and
 * the softmax 2 + 2 H floats): the plan keeps those, the last norm's input, output and factor, and
 * the head's largest logit and sum. No memory is taken for it. */
Test(lm, the_plan_keeps_what_the_formula_says)
{
    struct lm_options options = {.device = yp_device_cpu(),
                                 .batch = 4,
                                 .context = 512,
                                 .precision = NN_BF16,
                                 .pass = NN_MODEL_GRADIENT};
    cr_assert(lm_config_named("small", &options.config));
    struct lm *lm = lm_create(&options);
    cr_assert_not_null(lm, "%s", yp_last_error());
    const struct nn_model_bytes *bytes = nn_model_bytes(lm_model(lm));
    size_t layer = 2 * (8 * 768 + 3 * 3072) + 4 * (2 + 2 * 12), rest = 2 * 2 * 768 + 3 * 4;
    cr_expect_eq(bytes->kept, 2048 * (12 * layer + rest), "%zu", bytes->kept);
    cr_expect_eq(bytes->copies, 2 * (lm_parameters(&options.config) - 25 * 768));
    cr_expect_leq(bytes->arena, bytes->peak * 1.015, "%zu for %zu", bytes->arena, bytes->peak);
    lm_destroy(lm);
}

/* -- what is not allowed ----------------------------------------------------------------------- */

static void check_refused(struct lm_options options, const char *words)
{
    cr_expect_null(lm_create(&options), "%s", words);
    cr_expect_not_null(strstr(yp_last_error(), words), "'%s' is not '%s'", yp_last_error(), words);
    cr_expect_eq(allocated(false), 0);
}

Test(lm, what_is_not_allowed_is_told)
{
    struct lm_config config;
    cr_expect_not(lm_config_named("huge", &config));
    cr_expect_not_null(strstr(yp_last_error(), "must be small, medium, large, xl or 2.7B"));
    struct lm_options o = options_of(NN_FP32);
    o.config.heads = 3;
    check_refused(o, "lm_config.heads is 3, d_model 8");
    o = options_of(NN_FP32);
    o.config.heads = 8; /* of one channel each */
    check_refused(o, "lm_config.heads is 8: must be 1 to 4");
    o = options_of(NN_FP32);
    o.config.layers = 0;
    check_refused(o, "lm_config.layers is 0");
    o = options_of(NN_FP32);
    o.config.theta = 1;
    check_refused(o, "lm_config.theta is 1");
    o = options_of(NN_FP32);
    o.batch = 0;
    check_refused(o, "lm_options.batch is 0, context 5");
    o = options_of(NN_FP32);
    o.logits = true;
    check_refused(o, "only a loss has a gradient");
    o = options_of(NN_INT8);
    check_refused(o, "has no version in int8");
}

Test(lm, passes_that_cannot_be_are_refused)
{
    struct lm_options options = options_of(NN_FP32);
    options.pass = NN_MODEL_FORWARD;
    struct trial s = trial_of(&options);
    cr_expect_eq(lm_run(s.lm, OF(s.tokens, s.labels), s.xf, s.gf, 1, 0, NULL), YP_INVALID);
    cr_expect_not_null(strstr(yp_last_error(), "no gradient was planned"));
    cr_expect_eq(lm_run(s.lm, OF(s.tokens, NULL), s.xf, NULL, 1, 0, NULL), YP_INVALID);
    cr_expect_not_null(strstr(yp_last_error(), "labels is NULL"));
    cr_expect_eq(lm_run(s.lm, OF(NULL, s.labels), s.xf, NULL, 1, 0, NULL), YP_INVALID);
    cr_expect_not_null(strstr(yp_last_error(), "tokens is NULL"));
    cr_expect_eq(lm_run(s.lm, OF(s.tokens, s.labels), NULL, NULL, 1, 0, NULL), YP_INVALID);
    cr_expect_not_null(strstr(yp_last_error(), "parameters is NULL"));
    s.tokens[7] = V;
    cr_expect_eq(lm_run(s.lm, OF(s.tokens, s.labels), s.xf, NULL, 1, 0, NULL), YP_INVALID);
    cr_expect_str_eq(yp_last_error(), "embedding: token[7] is 11: must be 0 to 10");
    end(&s);
    struct lm *lm = lm_create(&options);
    cr_expect_eq(lm_run(lm, OF(s.tokens, s.labels), NULL, NULL, 1, 0, NULL), YP_INVALID);
    lm_destroy(lm);
}

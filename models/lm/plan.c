/* What a pass takes, by kind. */
#include "models/lm/plan.h"

#include <string.h>

const char *lm_work_name(enum lm_work work)
{
    static const char *const names[LM_WORKS] = {"forward", "forward_backward", "train_step"};
    return names[work];
}

static enum yp_status no_gradient(void *arg, struct train_items items, const float *parameters,
                                  double scale, double *mean, double *weight, float *gradient)
{
    (void)arg, (void)items, (void)parameters, (void)scale, (void)mean, (void)weight, (void)gradient;
    return YP_INVALID;
}

static bool on_host(const struct lm_options *o)
{
    return strcmp(o->kind != NULL ? o->kind : nn_device_kind(o->device), "cpu") == 0;
}

/* What the trainer takes beside weights and gradients. */
static enum yp_status add_trainer(const struct lm_options *o, const struct train_config *config,
                                  size_t sequences, struct lm_plan *plan)
{
    const struct train_objective objective = {.parameters = lm_parameters(&o->config),
                                              .items = sequences,
                                              .gradient = no_gradient,
                                              .any_device = true};
    struct train_config how = *config;
    how.no_decay = how.frozen = (struct train_set){{0}}; /* they take nothing */
    bool host = on_host(o);
    size_t there = host ? train_bytes(&objective, &how) : train_device_bytes(&objective, &how);
    size_t here = host ? 0 : train_host_bytes(&objective, &how), trainee = lm_trainee_bytes(o);
    if (there == 0 || trainee == 0 || (here == 0 && !host))
        return yp_last_status();
    plan->optimiser = there - plan->weights - plan->gradients;
    plan->host = trainee + here;
    plan->total += plan->optimiser;
    return YP_OK;
}

enum yp_status lm_plan(const struct lm_options *options, enum lm_work work,
                       const struct train_config *config, size_t sequences, struct lm_plan *out)
{
    struct lm_options o = *options;
    o.logits = false;
    o.pass = work == LM_FORWARD ? NN_MODEL_FORWARD : NN_MODEL_GRADIENT;
    struct lm *lm = lm_create(&o);
    if (lm == NULL)
        return yp_last_status();
    const struct nn_model_bytes *b = nn_model_bytes(lm_model(lm));
    size_t vector = lm_parameters(&o.config) * (o.oracle ? sizeof(double) : sizeof(float));
    *out = (struct lm_plan){.weights = vector,
                            .gradients = work == LM_FORWARD ? 0 : vector,
                            .copies = b->copies,
                            .activations = b->kept,
                            .transients = b->arena - b->constants - b->copies - b->kept,
                            .host = lm_description(&o),
                            .flops = nn_model_flops(lm_model(lm))};
    out->total = out->weights + out->gradients + b->arena;
    lm_destroy(lm);
    enum yp_status status =
        work == LM_TRAIN_STEP ? add_trainer(&o, config, sequences, out) : (enum yp_status)YP_OK;
    if (on_host(&o))
        out->total += out->host;
    return status;
}

/* -- what fits --------------------------------------------------------------------------------- */

struct fitting {
    const struct lm_options *o;
    enum lm_work work;
    const struct train_config *config;
    size_t limit;
};

static enum yp_status fits(const struct fitting *f, size_t batch, size_t context, bool *yes)
{
    struct lm_options o = *f->o;
    struct lm_plan plan;
    o.batch = batch;
    o.context = context;
    enum yp_status status = lm_plan(&o, f->work, f->config, batch, &plan);
    *yes = status == YP_OK && plan.total <= f->limit;
    return status;
}

/* The largest value that fits, from 1 to `most`, by halving: more takes more. */
static enum yp_status largest(const struct fitting *f, bool of_batch, size_t most, size_t *out)
{
    size_t low = 0, high = most + 1;
    enum yp_status status = YP_OK;
    while (high - low > 1 && status == YP_OK) {
        size_t middle = low + (high - low) / 2;
        bool yes;
        status = of_batch ? fits(f, middle, f->o->context, &yes) : fits(f, 1, middle, &yes);
        low = yes ? middle : low;
        high = yes ? high : middle;
    }
    *out = low;
    return status;
}

enum yp_status lm_plan_fitting(const struct lm_options *options, enum lm_work work,
                               const struct train_config *config, size_t limit, size_t *batch,
                               size_t *context)
{
    const struct fitting f = {options, work, config, limit};
    enum yp_status status = largest(&f, true, LM_TOKENS / options->context, batch);
    return status == YP_OK ? largest(&f, false, LM_TOKENS, context) : status;
}

#include "suites/lm_training.h"

#include <stdlib.h>

static enum yp_status read_chain(void *arg, uint32_t item, int32_t *tokens)
{
    const struct lm_training *f = arg;
    synth_tokens_sequence(&f->chain, item, f->context + 1, tokens);
    return YP_OK;
}

/* Of the case's seed, on the host; the caller frees it. */
static float *initial(struct yp_case *t, const struct lm_config *config)
{
    float *weights = malloc(lm_parameters(config) * sizeof *weights);
    yp_got(t, weights);
    lm_initialise(config, yp_seed(t), weights);
    return weights;
}

float *lm_training_weights(struct yp_case *t, const struct lm_config *config)
{
    size_t bytes = lm_parameters(config) * sizeof(float);
    float *weights = yp_alloc(t, bytes);
    if (yp_device_memory_kind(yp_device(t)) == YP_HOST) {
        lm_initialise(config, yp_seed(t), weights);
        return weights;
    }
    float *start = initial(t, config);
    yp_ok(t, yp_device_copy(yp_device(t), weights, start, bytes));
    free(start);
    return weights;
}

void lm_training_open(struct lm_training *f, struct yp_case *t, const struct lm_options *options,
                      const struct train_config *config, size_t sequences, int order)
{
    const struct lm_config *c = &options->config;
    *f = (struct lm_training){.chain = {yp_seed(t), (uint32_t)c->vocabulary, order},
                              .context = options->context};
    const struct lm_source source = {
        .sequences = sequences, .identity = yp_seed(t), .read = read_chain, .arg = f};
    f->trainee = lm_trainee_create(options, &source);
    yp_got(t, f->trainee);
    struct train_objective objective = lm_trainee_objective(f->trainee);
    struct train_config how = *config;
    how.seed = yp_seed(t);
    f->train = train_create(options->device, &objective, &how);
    yp_got(t, f->train);
    float *start = initial(t, c);
    yp_ok(t, train_begin(f->train, start));
    free(start);
}

void lm_training_close(struct lm_training *f)
{
    train_destroy(f->train);
    lm_trainee_destroy(f->trainee);
}

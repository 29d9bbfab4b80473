/* What the tests of training train: logistic regression, in plain loops, on small cubes. */
#ifndef TRAIN_SUBJECT_H
#define TRAIN_SUBJECT_H

#include "tests/unit/rx/rx_fixture.h"

#include "models/rx/train.h"
#include "models/train/internal.h"
#include <math.h>

#define CHANNELS ((size_t)6)
#define TILE_PIXELS ((size_t)24)
#define TILES_PER_CUBE ((size_t)2)
#define PARAMETERS (CHANNELS + 1)

struct subject {
    size_t fail_at;  /* that yield fails, counted from 1; 0: none */
    size_t nan_cube; /* all of its pixels are NaN; SIZE_MAX: none */
    size_t poison;   /* that call of gradient gives what is not finite; 0: none */
    bool poison_all, poison_loss;
    size_t yields, gradients;
    size_t seen[512]; /* tiles in the order they were asked for */
};

/* Tiles have 24, 23, .. 10 pixels, so that pixels and batches weigh differently. */
static inline enum yp_status subject_yield(void *arg, size_t index, float *values, uint8_t *labels,
                                           struct rx_tile *tile)
{
    struct subject *s = arg;
    uint64_t state = 1000 + index;
    s->seen[s->yields++ % LENGTH(s->seen)] = index;
    if (s->yields == s->fail_at)
        return yp_set_error(YP_IO, "tile %zu cannot be read", index);
    tile->pixels = TILE_PIXELS - index % 15;
    for (size_t p = 0; p < tile->pixels; p++) {
        double away = 0;
        for (size_t c = 0; c < CHANNELS; c++) {
            double x = script_uniform(&state) * 2 - 1 + 0.1 * (double)(index % 5);
            values[p * CHANNELS + c] = index / TILES_PER_CUBE == s->nan_cube ? NAN : (float)x;
            away += x * ((double)c - 2);
        }
        labels[p] = away + script_uniform(&state) > 1;
    }
    return YP_OK;
}

static inline struct rx_source subject_source(struct subject *s, size_t cubes)
{
    return (struct rx_source){CHANNELS, TILE_PIXELS, cubes * TILES_PER_CUBE, subject_yield, s};
}

/* Sums over the pixels of a source: loss and its gradient. */
struct subject_sums {
    double loss, weight, gradient[PARAMETERS];
};

static inline void subject_add(const struct rx_tile *tile, const float *w,
                               struct subject_sums *sums, float *logits)
{
    for (size_t p = 0; p < tile->pixels; p++) {
        const float *x = tile->values + p * CHANNELS;
        double l = (double)w[CHANNELS], y = tile->labels[p] != 0;
        for (size_t c = 0; c < CHANNELS; c++)
            l += (double)w[c] * (double)x[c];
        logits[p] = (float)l;
        if (isnan(l))
            continue;
        double d = 1 / (1 + exp(-l)) - y;
        sums->loss += log1p(exp(-fabs(l))) + fmax(y != 0 ? -l : l, 0);
        sums->weight += 1;
        for (size_t c = 0; c < CHANNELS; c++)
            sums->gradient[c] += d * (double)x[c];
        sums->gradient[CHANNELS] += d;
    }
}

static inline enum yp_status subject_pass(const struct rx_source *source, const float *w,
                                          struct subject_sums *sums, rx_take *take, void *take_arg)
{
    float values[TILE_PIXELS * CHANNELS], logits[TILE_PIXELS];
    uint8_t labels[TILE_PIXELS];
    *sums = (struct subject_sums){0};
    for (size_t i = 0; i < source->tiles; i++) {
        struct rx_tile tile = {values, 0, CHANNELS, labels, 0};
        enum yp_status status = source->yield(source->arg, i, values, labels, &tile);
        if (status != YP_OK)
            return status;
        subject_add(&tile, w, sums, logits);
        if (take != NULL)
            take(take_arg, logits, tile.labels, tile.pixels);
    }
    return YP_OK;
}

static inline enum yp_status subject_gradient(void *arg, const struct rx_source *source,
                                              const float *w, double scale, double *mean,
                                              double *weight, float *gradient)
{
    struct subject *s = arg;
    struct subject_sums sums;
    enum yp_status status = subject_pass(source, w, &sums, NULL, NULL);
    *weight = sums.weight;
    *mean = sums.loss / sums.weight;
    for (size_t i = 0; i < PARAMETERS; i++)
        gradient[i] = (float)scale * (float)(sums.gradient[i] / sums.weight);
    if (++s->gradients == s->poison || s->poison_all)
        gradient[3] = s->gradients % 2 == 0 ? NAN : -INFINITY;
    if (s->gradients == s->poison && s->poison_loss) {
        gradient[3] = 0;
        *mean = NAN;
    }
    return status;
}

static inline enum yp_status subject_evaluate(void *arg, const struct rx_source *source,
                                              const float *w, double *mean, double *weight,
                                              rx_take *take, void *take_arg)
{
    struct subject_sums sums;
    (void)arg;
    enum yp_status status = subject_pass(source, w, &sums, take, take_arg);
    if (mean != NULL) {
        *weight = sums.weight;
        *mean = sums.loss / sums.weight;
    }
    return status;
}

static const struct yp_tensor subject_tensors[] = {{"w", 0, CHANNELS}, {"b", CHANNELS, 1}};

static inline struct rx_objective subject_objective(struct subject *s)
{
    return (struct rx_objective){.parameters = PARAMETERS,
                                 .tensors = subject_tensors,
                                 .n_tensors = 2,
                                 .identity = 77,
                                 .gradient = subject_gradient,
                                 .evaluate = subject_evaluate,
                                 .targets = 400,
                                 .arg = s};
}

/* A short and lively run: 3 steps an epoch, the last one smaller, the schedule at work. */
static inline struct train_config subject_config(void)
{
    struct train_config config = train_defaults();
    config.seed = 11;
    config.epochs = 6;
    config.batch = 2;
    config.accumulate = 2;
    config.adamw.lr = 0.2;
    config.plateau.patience = 0;
    config.plateau.threshold = 0.26;
    config.no_decay.word[0] = 2;
    return config;
}

#define SUBJECT_CUBES ((size_t)13) /* 10 for training, 3 for validation */

static const float subject_start[PARAMETERS] = {0.5F, -0.25F, 1, 0, -2, 0.125F, 3};

/* A trainer of the cubes of a source; NULL with yp_last_error() set. */
static inline struct train *subject_make(struct yp_device *device,
                                         const struct rx_objective *objective,
                                         const struct rx_source *source, size_t tiles_per_cube,
                                         const struct train_config *config)
{
    struct rx_training *training =
        rx_training_create(device, objective, source, tiles_per_cube, config);
    return training != NULL ? rx_training_trainer(training) : NULL;
}

/* What such a trainer belongs to. */
static inline struct rx_training *subject_of(const struct train *train)
{
    return train->objective.arg;
}

static inline void subject_destroy(struct train *train)
{
    rx_training_destroy(train != NULL ? subject_of(train) : NULL);
}

static inline const struct rx_source *subject_part(const struct train *train, enum train_part part)
{
    return rx_training_source(subject_of(train), part);
}

static inline struct train *subject_create(struct subject *s, const struct train_config *config)
{
    struct rx_objective objective = subject_objective(s);
    struct rx_source source = subject_source(s, SUBJECT_CUBES);
    struct train *train =
        subject_make(yp_device_cpu(), &objective, &source, TILES_PER_CUBE, config);
    cr_assert_not_null(train, "%s", yp_last_error());
    return train;
}

static inline struct train *subject_begin(struct subject *s, const struct train_config *config)
{
    struct train *train = subject_create(s, config);
    OK(train_begin(train, subject_start));
    return train;
}

#endif

/* What the files of training share. */
#pragma once

#include "base/system/arena.h"
#include "models/nn/operator.h"
#include "models/nn/operators/adamw.h"
#include "models/train/ranks/shards.h"
#include "models/train/trainer.h"

/* -- optimisers ------------------------------------------------------------------------------- */

/* Step t on `count` elements with the gradient times `factor`, as the operator takes it. */
struct nn_shape ypi_adamw_shape(const struct train_adamw *how, uint64_t t, double factor,
                                size_t count);
void ypi_adamw_step(struct nn_shape shape, const float *gradient, float *m, float *v,
                    float *parameters);

/* What the elements of one step of SGD share. */
struct ypi_sgd_factors {
    double decay, keep, gain, ahead, step;
};
struct ypi_sgd_factors ypi_sgd_factors(const struct train_sgd *how, uint64_t t);

/* -- arrays ------------------------------------------------------------------------------------ */

enum { YPI_TRAIN_STATES = 2 }; /* arrays of an optimiser, at most */

struct train_cuda;

/* The plugin's table; NULL with yp_last_error() set when there is none. */
const struct train_cuda *ypi_train_cuda(void);

/* Doubles: a sum of squares in parts, then one of each tensor. */
enum { YPI_TRAIN_SCRATCH = 256 + TRAIN_TENSORS };

/* Arrays of (parameters) elements, in the memory of `device`; work on them is done there. */
struct ypi_train_arrays {
    struct yp_device *device;
    const struct train_cuda *cuda; /* NULL: it is the CPU */
    size_t count;
    float *parameters, *gradient;
    float *state[YPI_TRAIN_STATES]; /* of the optimiser; NULL where it has fewer */
    float *average;                 /* what is judged; `parameters` without an average */
    float *best;                    /* `average` without keep_best */
    double *sum;                    /* of weighted gradients; NULL where there is no accumulation */
    double *scratch;                /* YPI_TRAIN_SCRATCH; NULL on the CPU */
    float *host;                    /* (parameters): copies for the host; NULL on the CPU */
};

/* On its device; for copies of the host too. All wait only where a number comes back. */
enum yp_status ypi_train_zero(const struct ypi_train_arrays *a, void *values, size_t bytes);
enum yp_status ypi_train_copy(const struct ypi_train_arrays *a, void *to, const void *from,
                              size_t bytes);
/* sum += weight gradient; gradient = sum / weight. */
enum yp_status ypi_train_add(const struct ypi_train_arrays *a, double weight);
enum yp_status ypi_train_divide(const struct ypi_train_arrays *a, double weight);
/* gradient[first ..] <- factor gradient, rounded once. */
enum yp_status ypi_train_scale(const struct ypi_train_arrays *a, size_t first, size_t count,
                               double factor);
/* Sum of the squares of the gradient of those tensors that are not frozen. */
enum yp_status ypi_train_squares(const struct ypi_train_arrays *a,
                                 const struct train_objective *objective,
                                 const struct train_set *frozen, double *sum);
/* Step t of the configuration's optimiser with that learning rate on one tensor, by its gradient
 * times `factor`; what is in the gradient's array is not used after it. */
enum yp_status ypi_train_step(const struct ypi_train_arrays *a, const struct train_config *config,
                              double lr, bool decay, double factor, uint64_t t,
                              const struct yp_tensor *tensor);
/* average[first ..] = d average + (1 - d) parameters, or (d = 0) the parameters. */
enum yp_status ypi_train_average(const struct ypi_train_arrays *a, size_t first, size_t count,
                                 double d);
/* Arrays of state that the optimiser has. */
size_t ypi_train_states(const struct train_config *config);
/* The values for the host: themselves, or a copy in a->host; NULL with yp_last_error() set. */
const float *ypi_train_for_host(const struct ypi_train_arrays *a, const float *values);

/* -- the trainer ------------------------------------------------------------------------------- */

/* What a run is at, besides the arrays. Members of 8 bytes alone: it is written as it is. */
struct ypi_train_progress {
    uint64_t judged; /* the parameters at the beginning were */
    uint64_t epoch, place, step, skipped, skipped_in_row;
    uint64_t early, bad_epochs, best_epoch;
    double lr, best_loss;
    double loss_sum, weight_sum; /* over the steps of the epoch */
    struct train_plateau_state plateau;
    struct train_scaling_state scaling;
};

struct train {
    struct yp_device *device; /* of the arrays */
    struct yp_device *host;   /* of this object */
    void *block;              /* of the arrays, where they are not the host's */
    struct train_objective objective;
    struct yp_tensor whole; /* for an objective without tensors */
    struct train_config config;
    struct train_setting settings[TRAIN_SETTINGS];
    size_t training, validation; /* items */
    uint64_t steps_per_epoch;
    uint32_t *split;  /* (items): for training, for validation */
    uint32_t *order;  /* (training): of the epoch `ordered` */
    uint64_t ordered; /* UINT64_MAX: none */
    struct ypi_train_arrays at;
    struct ypi_train_shards
        *shards; /* NULL: one process. Else the optimiser's arrays are `own` long */
    double metrics[TRAIN_METRICS]; /* of the last judgement */
    bool begun;
    bool epoch_begun; /* the objective was told which epoch is on, since begin or resume */
    bool unsaved;     /* since the last checkpoint something happened */
    struct ypi_train_progress progress;
};

/* -- settings ---------------------------------------------------------------------------------- */

enum { YPI_TRAIN_SETTINGS = TRAIN_SETTINGS + 48 };

struct ypi_train_setting {
    const char *name;
    bool real; /* `bits` are a double's */
    uint64_t bits;
};

/* What a run depends on, in the order of a checkpoint. */
struct ypi_train_settings {
    struct ypi_train_setting list[YPI_TRAIN_SETTINGS];
    size_t count;
};

struct ypi_train_settings ypi_train_settings_of(const struct train *train);
/* YP_INVALID with the name of the first that is another one in the file. */
enum yp_status ypi_train_compare(const char *path, const struct ypi_train_settings *ours,
                                 const uint64_t *theirs);

/* Whether the objective gives a judgement more than the loss. */
static inline bool ypi_train_has_metrics(const struct train_objective *objective)
{
    return objective->evaluate != NULL && objective->n_metrics > 0;
}

enum train_end ypi_train_end(const struct train *train);
/* The configured learning rate. */
double ypi_train_first_rate(const struct train_config *config);

enum yp_status ypi_train_check(const char *what, const struct train_objective *objective,
                               const struct train_config *config);

/* What the files of training share. */
#ifndef YPI_RX_TRAIN_INTERNAL_H
#define YPI_RX_TRAIN_INTERNAL_H

#include "models/metrics/internal.h"
#include "models/rx/internal.h"
#include "models/train/trainer.h"

double ypi_rx_seconds(void); /* of the monotonic clock */

/* What a run is at, besides the arrays. Members of 8 bytes alone: it is written as it is. */
struct ypi_rx_progress {
    uint64_t judged; /* the parameters at the beginning were */
    uint64_t epoch, place, step, skipped, skipped_in_row;
    uint64_t early, bad_epochs, best_epoch;
    double lr, best_loss;
    double loss_sum, weight_sum; /* over the steps of the epoch */
    struct rx_plateau_state plateau;
};

struct rx_train {
    struct yp_device *device;
    struct rx_objective objective;
    struct yp_tensor whole; /* for an objective without tensors */
    struct rx_train_config config;
    struct rx_source source;
    size_t tiles_per_cube, training, validation; /* cubes */
    uint64_t steps_per_epoch;
    uint32_t *split;                 /* (cubes): for training, for validation */
    uint32_t *order;                 /* (training): of the epoch `ordered` */
    uint64_t ordered;                /* UINT64_MAX: none */
    struct rx_cubes part_cubes[2];   /* by enum rx_part */
    struct rx_source part_source[2]; /* by enum rx_part */
    /* All (parameters): */
    float *parameters, *m, *v, *gradient;
    float *best; /* `parameters` without keep_best */
    double *sum; /* of weighted gradients; NULL where there is no accumulation */
    struct metrics_ranking *ranking; /* NULL without config.targets */
    struct rx_judgement judgement;
    bool begun;
    bool unsaved; /* since the last checkpoint something happened */
    struct ypi_rx_progress progress;
};

/* Bits of tensor masks. */
static inline bool ypi_rx_has(uint64_t mask, size_t tensor)
{
    return (mask >> tensor & 1) != 0;
}

/* Whether the objective gives a judgement more than the loss. */
static inline bool ypi_rx_has_logits(const struct rx_objective *objective)
{
    return objective->evaluate != NULL && !objective->no_logits;
}

enum yp_status ypi_rx_train_check(const char *what, const struct rx_objective *objective,
                                  const struct rx_source *source, size_t tiles_per_cube,
                                  const struct rx_train_config *config);

#endif

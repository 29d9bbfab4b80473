/* Learning rates over a run. All are functions of their arguments alone. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum train_schedule {
    TRAIN_PLATEAU, /* lower when the watched loss gets no better; by epoch */
    TRAIN_CONSTANT,
    TRAIN_COSINE /* by step */
};

/* -- ReduceLROnPlateau ----------------------------------------------------------------------- */

/* As PyTorch's class of that name with mode 'min', but for losses below 0: there PyTorch takes
 * nearly the same loss, or a worse one, for a better one, and the learning rate never falls. */
struct train_plateau {
    double factor;     /* in (0, 1); 1: the learning rate stays */
    uint32_t patience; /* calls without improvement that are borne */
    double threshold; /* better: below best - threshold |best|, or best - threshold if `absolute` */
    bool absolute;
    uint32_t cooldown; /* calls after a reduction in which nothing counts as bad */
    double min_lr;
    double eps; /* a smaller change of the learning rate is not made */
};

struct train_plateau
train_plateau_defaults(void); /* PyTorch's: 0.1, 10, 1e-4 relative, 0, 0, 1e-8 */

struct train_plateau_state {
    double best;
    uint64_t bad, cooling;
};

void train_plateau_start(struct train_plateau_state *state);

/* Takes over one value of what is to become small and returns the learning rate from now on. A
 * NaN is never an improvement. */
double train_plateau_step(const struct train_plateau *how, struct train_plateau_state *state,
                          double value, double lr);

/* -- cosine with linear warm-up --------------------------------------------------------------- */

struct train_cosine {
    uint64_t warmup; /* steps; 0: none */
    uint64_t steps;  /* until min_lr is reached, those of the warm-up too; above `warmup`. A trainer
                        takes 0 for the steps of all its epochs */
    double min_lr;   /* 0 to the rate at the top */
};

/* The learning rate of step t = 1, 2, ..., with `lr` the rate at the top:
 *     lr t / warmup                                                              t <= warmup
 *     min_lr + (lr - min_lr) / 2 (1 + cos(pi (t - warmup) / (steps - warmup)))   else
 * and min_lr behind the last step: linear warm-up (Goyal et al., 2017, 2.2), then half a cosine
 * (Loshchilov and Hutter, 2017, formula 5, without restarts). */
double train_cosine_rate(const struct train_cosine *how, uint64_t t, double lr);

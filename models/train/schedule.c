/* Learning rates over a run. */
#include "models/train/schedule.h"

#include <math.h>

struct train_plateau train_plateau_defaults(void)
{
    return (struct train_plateau){.factor = 0.1, .patience = 10, .threshold = 1e-4, .eps = 1e-8};
}

void train_plateau_start(struct train_plateau_state *state)
{
    *state = (struct train_plateau_state){.best = INFINITY};
}

/* What is better lies below; the first value always does. */
static double bar_of(const struct train_plateau *how, double best)
{
    if (how->absolute)
        return best - how->threshold;
    return best * (best < 0 ? 1 + how->threshold : 1 - how->threshold);
}

double train_plateau_step(const struct train_plateau *how, struct train_plateau_state *state,
                          double value, double lr)
{
    if (value < bar_of(how, state->best)) {
        state->best = value;
        state->bad = 0;
    } else {
        state->bad++;
    }
    if (state->cooling > 0) {
        state->cooling--;
        state->bad = 0;
    }
    if (state->bad <= how->patience)
        return lr;
    state->cooling = how->cooldown;
    state->bad = 0;
    double reduced = fmax(lr * how->factor, how->min_lr);
    return lr - reduced > how->eps ? reduced : lr;
}

double train_cosine_rate(const struct train_cosine *how, uint64_t t, double lr)
{
    const double pi = 3.14159265358979323846;
    if (t <= how->warmup)
        return lr * (double)t / (double)how->warmup;
    if (t >= how->steps)
        return how->min_lr;
    double part = (double)(t - how->warmup) / (double)(how->steps - how->warmup);
    return how->min_lr + (lr - how->min_lr) / 2 * (1 + cos(pi * part));
}

/* The scale of the loss, for gradients in 16 bits. */
#include "models/train/optimiser.h"

#include <float.h>

struct train_scaling train_scaling_defaults(void)
{
    return (struct train_scaling){.initial = 65536, .growth = 2, .backoff = 0.5, .interval = 2000};
}

void train_scaling_start(const struct train_scaling *how, struct train_scaling_state *state)
{
    *state = (struct train_scaling_state){.scale = how->initial > 0 ? how->initial : 1};
}

void train_scaling_update(const struct train_scaling *how, struct train_scaling_state *state,
                          bool finite)
{
    if (!finite) {
        state->scale *= how->backoff;
        state->made = 0;
    } else if (++state->made == how->interval) {
        double grown = state->scale * how->growth;
        state->scale = grown <= (double)FLT_MAX ? grown : state->scale;
        state->made = 0;
    }
}

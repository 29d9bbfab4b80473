/* What the elements of one step of AdamW share, for code that makes the step elsewhere. */
#pragma once

/* Settings of the operator; `step` counts from 1, `factor` is that of clipping. */
enum nn_adamw_setting {
    NN_ADAMW_LR,
    NN_ADAMW_BETA1,
    NN_ADAMW_BETA2,
    NN_ADAMW_EPS,
    NN_ADAMW_WEIGHT_DECAY,
    NN_ADAMW_STEP,
    NN_ADAMW_FACTOR,
    NN_ADAMW_SETTINGS
};

/* Made in double from the settings, rounded once; see adamw.c for the formula. */
struct nn_adamw_shared {
    float keep;         /* 1 - lr weight_decay */
    float gain1, gain2; /* 1 - beta */
    float beta2;
    float correction; /* sqrt(1 - beta2^step) */
    float eps;
    float step; /* lr / (1 - beta1^step) */
};

struct nn_adamw_shared nn_adamw_shared(const double setting[NN_ADAMW_SETTINGS]);

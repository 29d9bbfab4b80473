/* An objective of a model that takes only so many items at once, whatever the batch:
 *
 *     t->parts = (struct train_parts){.read = read, .pass = pass, .arg = t};
 *     struct train_objective objective = {.gradient = train_parts_gradient,
 *                                         .evaluate = train_parts_evaluate,
 *                                         .arg = &t->parts, ...};
 *
 * The loss is the sum over all items divided by their weight. The gradient is added up part by part
 * in float, where parameters and gradient are: the model's passes add to it. */
#pragma once

#include "models/train/trainer.h"

struct train_parts {
    /* Reads as many of the items as the model takes, from the first one on, and writes how many
     * those are; `items` has one or more. They are what the next pass is over. */
    enum yp_status (*read)(void *arg, struct train_items items, size_t *count);
    /* One pass: adds to *sum the sum of the losses. The gradient, unless NULL, is `scale` times
     * that of this sum; `flags` as of nn_model_pass() (models/nn/model/model.h). */
    enum yp_status (*pass)(void *arg, const float *parameters, float *gradient, double scale,
                           unsigned flags, double *sum);
    /* The weight of items, by which their sum is divided; NULL: their number. Where it is 0 nothing
     * is read. */
    double (*weigh)(void *arg, struct train_items items);
    /* Of an evaluation with metrics: before its first pass, and after its last; or NULL. */
    void (*begin)(void *arg);
    void (*measure)(void *arg, double mean, double *metrics);
    /* See struct train_objective, as it is for one pass; or NULL: there is none. */
    train_tell *tell;
    void *arg;
    train_ready *ready; /* of train_parts_tell() */
    void *ready_arg;
};

train_gradient train_parts_gradient; /* their arg is a struct train_parts */
train_evaluate train_parts_evaluate;
train_tell train_parts_tell;

/* A model: operators in order, over one arena whose layout is computed before anything is taken.
 *
 *     struct nn_model *model = nn_model_create(&options);
 *     int tokens = nn_model_constant(model, "tokens", NN_INT32, n);
 *     int table = nn_model_parameter(model, "table", v * d);
 *     int x = nn_model_step(model, &nn_embedding, (struct nn_shape){.size = {n, v, d}},
 *                           (int[]){table, tokens});
 *     ...
 *     nn_model_plan(model, NN_MODEL_GRADIENT);        // nn_model_bytes() is known from here on
 *     char *arena = yp_device_alloc(device, nn_model_bytes(model)->arena);
 *     nn_model_bind(model, arena);
 *     yp_device_copy(device, nn_model_value(model, tokens), ...);
 *     nn_model_pass(model, parameters, gradient, 0);
 *
 * A step's outputs are new tensors. Its vector-Jacobian product runs in the opposite order, and
 * what it reads is kept from the forward pass or, where the step that made it says so, made again.
 * A tensor that several steps take gets the sum of their gradients: the last one's vjp writes it,
 * the others' add to it, which their operators must allow (struct nn_tensor, .adds).
 *
 * Memory is shared by tensors that are not needed at the same time. Parameters and their gradient
 * are one vector of floats each (doubles of an oracle), the caller's; a version that takes 16 bits
 * has copies in the arena, which nn_model_pass() makes when asked to. */
#pragma once

#include "models/nn/operator.h"

struct nn_model;

struct nn_model_options {
    struct yp_device *device;
    /* Whose versions: "cpu" or "cuda"; NULL: the device's. With another kind a model may be
     * planned, not bound. */
    const char *kind;
    enum nn_precision precision; /* of steps, see nn_model_precision() */
    bool oracle; /* the plain loops in double instead, vectors of doubles too; on the CPU */
    bool plain;  /* the plain loops in float instead: how far off plain arithmetic is; on the CPU */
    /* Parameters change with NN_MODEL_COPY alone: the arena keeps what versions prepare of them. */
    bool steady;
    size_t steps, tensors; /* at most; the model's own memory is taken for so many */
};

/* Bytes that nn_model_create() takes; 0 with yp_last_error() set. */
size_t nn_model_description(const struct nn_model_options *options);

/* The description, in the CPU's memory. NULL with yp_last_error() set: a field is not allowed, out
 * of memory. */
struct nn_model *nn_model_create(const struct nn_model_options *options);
void nn_model_destroy(struct nn_model *model); /* NULL is allowed; the arena is the caller's */

/* Takes out all tensors and steps, for others within the same options. */
void nn_model_clear(struct nn_model *model);

/* -- what it consists of ----------------------------------------------------------------------- */

/* These return numbers of tensors, or -1 with yp_last_error() set: too many, or the model failed
 * before, so that the last call of several tells. Names are kept by reference. */

/* Written by the caller before a run: tokens, labels, angles, images. NN_REAL: as the first step
 * takes it. A step takes it as a constant, as an input or as a parameter that is not trained;
 * gradients of the last two are left out. */
int nn_model_constant(struct nn_model *model, const char *name, enum nn_type type, size_t count);

/* A constant of type NN_REAL whose gradient is wanted, as another model's cotangent: after a run
 * with a gradient nn_model_cotangent() has it. */
int nn_model_input(struct nn_model *model, const char *name, size_t count);

/* The next `count` elements of the vector of parameters. */
int nn_model_parameter(struct nn_model *model, const char *name, size_t count);

/* A step of `op` with these inputs, in the order of the operator's tensors; -1 for one that is
 * optional. Returns its first output; others have the numbers behind it. YP_INVALID: a size or a
 * type is not what the step takes, YP_UNSUPPORTED: the operator has no version for device and
 * precision. */
int nn_model_step(struct nn_model *model, const struct nn_operator *op, struct nn_shape shape,
                  const int *inputs);

/* The value of a tensor that a step makes, as what a normaliser saves, may be read after a pass, by
 * nn_model_value(). What is made again is that of the last time. */
void nn_model_keep(struct nn_model *model, int tensor);

/* The precision of the steps from now on. What goes from one to the next has the same type for
 * both. */
void nn_model_precision(struct nn_model *model, enum nn_precision precision);

/* Whether what steps from now on make is not kept for the vjp but made again; at first it is kept.
 * What every chain of such steps begins with is kept. */
void nn_model_make_again(struct nn_model *model, bool again);

/* -- plan -------------------------------------------------------------------------------------- */

enum nn_model_pass { NN_MODEL_FORWARD, NN_MODEL_GRADIENT };

/* Order, lifetimes and places. May be called again for another pass; what was bound is not any
 * more. YP_INVALID: a gradient would have to be added where its operator does not. */
enum yp_status nn_model_plan(struct nn_model *model, enum nn_model_pass pass);

struct nn_model_bytes {
    size_t arena; /* all below, as they lie: */
    size_t constants;
    size_t copies;    /* of parameters in 16 bits */
    size_t prepared;  /* of steady parameters */
    size_t kept;      /* activations that wait for their vjp, at most */
    size_t peak;      /* what is alive at the same time, at most; the arena holds that and gaps */
    size_t workspace; /* of the step that takes most */
};

const struct nn_model_bytes *nn_model_bytes(const struct nn_model *model);
double nn_model_flops(const struct nn_model *model); /* of the planned passes, as declared */

/* -- run --------------------------------------------------------------------------------------- */

/* `arena` is nn_model_bytes()->arena bytes of the device's memory, aligned to 64. */
void nn_model_bind(struct nn_model *model, void *arena);

/* Where a constant, or the value of an output that no step takes or that is kept, is on the device.
 */
void *nn_model_value(const struct nn_model *model, int tensor);
/* The elements of a tensor that a step takes or makes. */
enum nn_type nn_model_type(const struct nn_model *model, int tensor);
/* Where the caller writes the cotangent of such an output before a run with a gradient. */
void *nn_model_cotangent(const struct nn_model *model, int tensor);

enum nn_model_flags {
    /* Parameters changed: copies in 16 bits, and what is prepared, are made anew, as in the first
     * run.
     */
    NN_MODEL_COPY = 1,
    NN_MODEL_ADD = 2,  /* the gradient is added to what is there; not by plain loops */
    NN_MODEL_BACK = 4, /* the gradient alone: the call before made the forward pass */
};

/* Elements first .. first + count - 1 of the gradient have the value that the pass leaves there;
 * count = 0: none more, and time to do something else. */
typedef void nn_model_ready(void *arg, size_t first, size_t count);

/* From now on each pass with a gradient calls ready() after every step of the backward pass, with
 * the parts of the gradient that have their last value. The thread that called nn_model_pass() does
 * that. Parameters that no step gives a gradient come first. A pass names each part once; with
 * NN_MODEL_ADD the caller knows which pass is the last. On the CPU alone: on a GPU a step may still
 * run when its call returns. `ready` NULL ends the calls. */
void nn_model_tell(struct nn_model *model, nn_model_ready *ready, void *arg);

/* All steps; with a gradient where that was planned. Vectors are on the device; `gradient` NULL:
 * none is wanted, and only the forward pass runs. What is not YP_OK is the first step's that
 * fails. */
enum yp_status nn_model_pass(struct nn_model *model, const void *parameters, void *gradient,
                             unsigned flags);

/* What the parts of a model share; not for users of model.h. */
#pragma once

#include "models/nn/model/model.h"

#define YPI_NONE (-1)

enum ypi_origin { YPI_CONSTANT, YPI_PARAMETER, YPI_MADE };

/* A piece of the arena, needed from one place of the schedule to another, both included. */
struct ypi_piece {
    size_t bytes, offset;
    int from, to; /* to < from: nowhere */
};

struct ypi_tensor {
    const char *name;
    enum ypi_origin origin;
    enum nn_type type;
    size_t count;
    size_t place;              /* of a parameter: in the vector */
    int step;                  /* that made it */
    bool again;                /* not kept for the vjp */
    bool result;               /* an output that no step takes */
    bool kept;                 /* its value may be read after a pass */
    bool asked;                /* of a constant: its gradient is wanted */
    bool written;              /* of a parameter: its gradient, by an earlier call of the plan */
    int last_call, last_input; /* of a written parameter: which writes its gradient last */
    /* Of the plan: pieces by number, YPI_NONE where there is none. Of a parameter, `value` is its
     * copy in 16 bits. */
    int value, remade, gradient;
};

struct ypi_step {
    const struct nn_operator *op;
    const struct nn_version *version; /* NULL: the oracle. Of plain loops in float: their types */
    struct nn_shape shape;
    int tensors[NN_TENSORS];
    bool again;
    bool wanted; /* to be made again, while the schedule is made */
};

/* Something that runs. */
struct ypi_call {
    enum ypi_call_kind { YPI_FORWARD, YPI_AGAIN, YPI_VJP } kind;
    int step;
    int work;       /* a piece, or YPI_NONE */
    int prepared;   /* of steady parameters: a piece, or YPI_NONE */
    int spare;      /* of plain loops, which do not add: where their gradients go first */
    unsigned add;   /* gradients that an earlier call has written */
    unsigned final; /* gradients of parameters that no later call writes */
};

struct nn_model {
    struct nn_model_options o;
    struct ypi_tensor *tensors;
    struct ypi_step *steps;
    struct ypi_call *calls;   /* (3 steps) */
    struct ypi_piece *pieces; /* (3 tensors + 7 steps) */
    int *order;               /* of pieces, (as many) */
    int tensor_count, step_count, call_count, piece_count;
    int forward_calls; /* the first of the calls */
    size_t parameters;
    enum nn_precision precision; /* of the steps that are added now */
    bool again;
    enum yp_status status; /* of the first call that failed */
    char message[256];
    enum nn_model_pass pass;
    struct nn_model_bytes bytes;
    char *arena;
    bool copied;           /* the arena has copies of the parameters */
    nn_model_ready *ready; /* NULL: there is none */
    void *ready_arg;
};

/* Whether its steps run as plain loops, in double or in float. */
static inline bool ypi_model_loops(const struct nn_model *model)
{
    return model->o.oracle || model->o.plain;
}

/* Notes the failure, once; returns the status. */
enum yp_status ypi_model_fail(struct nn_model *model, enum yp_status status, const char *format,
                              ...) __attribute__((format(printf, 3, 4)));

/* ---- schedule.c: calls in order, and who needs what from where to where ---- */

enum yp_status ypi_model_schedule(struct nn_model *model);

/* ---- layout.c: offsets of pieces; pieces that are alive at the same place do not overlap ---- */

void ypi_model_lay_out(struct nn_model *model);

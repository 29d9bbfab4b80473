/* In: the steps. Out: the calls in their order, and how long each piece of memory is needed. */
#include "models/nn/model/internal.h"

#include <limits.h>

#define ALWAYS (INT_MAX - 1)

/* -- pieces ------------------------------------------------------------------------------------ */

static int add_piece(struct nn_model *model, size_t bytes, int from, int to)
{
    model->pieces[model->piece_count] =
        (struct ypi_piece){.bytes = (bytes + 63) / 64 * 64, .from = from, .to = to};
    return model->piece_count++;
}

static int piece_of(struct nn_model *model, const struct ypi_tensor *tensor, int from, int to)
{
    return add_piece(model, tensor->count * nn_type_bytes(tensor->type), from, to);
}

static void extend(struct nn_model *model, int piece, int to)
{
    if (model->pieces[piece].to < to)
        model->pieces[piece].to = to;
}

/* What is there when the schedule begins, and stays. */
static void begin(struct nn_model *model)
{
    model->piece_count = model->call_count = 0;
    for (int i = 0; i < model->tensor_count; i++) {
        struct ypi_tensor *tensor = &model->tensors[i];
        bool copied = tensor->origin == YPI_PARAMETER && nn_16_bits(tensor->type);
        tensor->remade = tensor->gradient = YPI_NONE;
        tensor->written = false;
        tensor->value = tensor->origin == YPI_CONSTANT || copied
                            ? piece_of(model, tensor, 0, ALWAYS)
                            : YPI_NONE;
    }
}

/* -- calls ------------------------------------------------------------------------------------- */

static bool is_value(const struct ypi_step *step, int i)
{
    return step->tensors[i] != YPI_NONE && nn_is_drawn(&step->op->tensors[i]);
}

/* Where a tensor's value is while the vjps run. */
static int kept_piece(const struct ypi_tensor *tensor)
{
    return tensor->again ? tensor->remade : tensor->value;
}

/* Appends it; returns its place. */
static int add_call(struct nn_model *model, enum ypi_call_kind kind, int s)
{
    const struct ypi_step *step = &model->steps[s];
    int at = model->call_count++;
    nn_bytes *work = ypi_model_loops(model) ? step->op->plain_work : step->version->work;
    size_t bytes = work != NULL ? work(&step->shape) : 0;
    model->calls[at] = (struct ypi_call){
        .kind = kind, .step = s, .work = YPI_NONE, .prepared = YPI_NONE, .spare = YPI_NONE};
    if (bytes > 0)
        model->calls[at].work = add_piece(model, bytes, at, at);
    return at;
}

static void add_forward(struct nn_model *model, int s)
{
    const struct ypi_step *step = &model->steps[s];
    int at = add_call(model, YPI_FORWARD, s);
    size_t prepared = model->o.steady && !ypi_model_loops(model) && step->version->prepare != NULL
                          ? step->version->prepared(&step->shape)
                          : 0;
    if (prepared > 0)
        model->calls[at].prepared = add_piece(model, prepared, 0, ALWAYS);
    for (int i = 0; i < nn_tensors(step->op); i++) {
        struct ypi_tensor *tensor =
            step->tensors[i] != YPI_NONE ? &model->tensors[step->tensors[i]] : NULL;
        if (tensor != NULL && tensor->origin == YPI_MADE && !nn_is_drawn(&step->op->tensors[i]))
            tensor->value = piece_of(model, tensor, at, at);
        else if (tensor != NULL && tensor->value != YPI_NONE)
            extend(model, tensor->value, at);
    }
}

static void add_again(struct nn_model *model, int s)
{
    const struct ypi_step *step = &model->steps[s];
    int at = add_call(model, YPI_AGAIN, s);
    for (int i = 0; i < nn_tensors(step->op); i++) {
        struct ypi_tensor *tensor =
            step->tensors[i] != YPI_NONE ? &model->tensors[step->tensors[i]] : NULL;
        if (tensor == NULL || tensor->origin != YPI_MADE)
            continue;
        if (nn_is_drawn(&step->op->tensors[i]))
            extend(model, kept_piece(tensor), at);
        else
            tensor->remade = piece_of(model, tensor, at, at);
    }
}

/* The tensor that a step's vjp, or the making again of it, reads as its i-th and that has to be
 * made again first; NULL: it is there, or not read. */
static struct ypi_tensor *missing(struct nn_model *model, const struct ypi_step *step, int i,
                                  bool vjp)
{
    const struct nn_tensor *entry = &step->op->tensors[i];
    bool read = vjp ? !entry->unread && entry->role != NN_OUTPUT : nn_is_drawn(entry);
    struct ypi_tensor *tensor =
        read && step->tensors[i] != YPI_NONE ? &model->tensors[step->tensors[i]] : NULL;
    return tensor != NULL && tensor->origin == YPI_MADE && tensor->again &&
                   tensor->remade == YPI_NONE
               ? tensor
               : NULL;
}

/* Makes again what the vjp of step s reads and is not there, and what that needs. */
static void make_again(struct nn_model *model, int s)
{
    int lowest = s;
    for (int q = s; q >= lowest; q--) {
        const struct ypi_step *step = &model->steps[q];
        if (q < s && !step->wanted)
            continue;
        for (int i = 0; i < nn_tensors(step->op); i++) {
            const struct ypi_tensor *tensor = missing(model, step, i, q == s && !step->wanted);
            if (tensor == NULL)
                continue;
            model->steps[tensor->step].wanted = true;
            lowest = tensor->step < lowest ? tensor->step : lowest;
            if (tensor->step == q) /* what it saves itself: now its inputs count */
                i = -1;
        }
    }
    for (int q = lowest; q <= s; q++) {
        if (model->steps[q].wanted)
            add_again(model, q);
        model->steps[q].wanted = false;
    }
}

/* -- gradients --------------------------------------------------------------------------------- */

static enum yp_status cannot_add(struct nn_model *model, const struct ypi_step *step, int i)
{
    return ypi_model_fail(
        model, YP_INVALID,
        "nn_model_plan: the gradient of '%s' is that of several steps, and %s does "
        "not add to %s's",
        model->tensors[step->tensors[i]].name, step->op->name, step->op->tensors[i].name);
}

/* A tensor whose cotangent lies in the same piece, where the vjp of step s, or one that runs after
 * it, reads it; NULL: the piece may be added to. */
static const struct ypi_tensor *sharer(const struct nn_model *model, int piece, int tensor, int s)
{
    for (int i = 0; i < model->tensor_count; i++)
        if (i != tensor && model->tensors[i].gradient == piece && model->tensors[i].step <= s)
            return &model->tensors[i];
    return NULL;
}

/* The gradients of its inputs are that of its output, in the same place. */
static enum yp_status pass_on(struct nn_model *model, const struct ypi_step *step, int gradient)
{
    for (int i = 0; i < nn_tensors(step->op); i++) {
        if (!is_value(step, i) || step->op->tensors[i].role != NN_INPUT)
            continue;
        struct ypi_tensor *tensor = &model->tensors[step->tensors[i]];
        if (tensor->gradient != YPI_NONE)
            return cannot_add(model, step, i);
        tensor->gradient = gradient;
    }
    return YP_OK;
}

/* Of a constant, a gradient is what plain loops write and nobody reads. */
static void waste_gradient(struct nn_model *model, int at, int i)
{
    const struct ypi_step *step = &model->steps[model->calls[at].step];
    struct ypi_tensor *tensor = &model->tensors[step->tensors[i]];
    if (ypi_model_loops(model) && tensor->gradient == YPI_NONE)
        tensor->gradient = piece_of(model, tensor, at, at);
    if (ypi_model_loops(model))
        extend(model, tensor->gradient, at);
}

/* Input i of the call at `at`. */
static enum yp_status write_gradient(struct nn_model *model, int at, int i)
{
    struct ypi_call *call = &model->calls[at];
    const struct ypi_step *step = &model->steps[call->step];
    struct ypi_tensor *tensor = &model->tensors[step->tensors[i]];
    bool again = tensor->origin == YPI_PARAMETER ? tensor->written : tensor->gradient != YPI_NONE;
    const struct ypi_tensor *other =
        again && tensor->origin == YPI_MADE
            ? sharer(model, tensor->gradient, step->tensors[i], call->step)
            : NULL;
    if (again && !step->op->tensors[i].adds && !ypi_model_loops(model))
        return cannot_add(model, step, i);
    if (other != NULL)
        return ypi_model_fail(model, YP_INVALID,
                              "nn_model_plan: %s would add to the gradient of '%s' where that of "
                              "'%s' is read still: both are terms of a sum, and at least two steps "
                              "must lie between them",
                              step->op->name, tensor->name, other->name);
    call->add |= again ? 1U << i : 0;
    if (tensor->origin == YPI_PARAMETER) {
        if (again)
            model->calls[tensor->last_call].final &= ~(1U << tensor->last_input);
        call->final |= 1U << i;
        tensor->last_call = at;
        tensor->last_input = i;
    }
    tensor->written = true;
    if (tensor->origin != YPI_PARAMETER && tensor->gradient == YPI_NONE)
        tensor->gradient = add_piece(
            model, tensor->count * nn_type_bytes(nn_gradient_type(step->op, step->version, i)), at,
            at);
    if (tensor->origin != YPI_PARAMETER)
        extend(model, tensor->gradient, tensor->asked ? ALWAYS : at);
    return YP_OK;
}

/* The piece with the output's cotangent, or YPI_NONE: nothing depends on the step. */
static int cotangent_of(struct nn_model *model, const struct ypi_step *step)
{
    for (int i = 0; i < nn_tensors(step->op); i++) {
        if (step->op->tensors[i].role != NN_OUTPUT)
            continue;
        struct ypi_tensor *tensor = &model->tensors[step->tensors[i]];
        if (tensor->gradient == YPI_NONE && tensor->result) /* the caller writes it */
            tensor->gradient = add_piece(
                model, tensor->count * nn_type_bytes(nn_gradient_type(step->op, step->version, i)),
                0, 0);
        return tensor->gradient;
    }
    return YPI_NONE;
}

/* All its gradients, one behind the other. */
static size_t spare_bytes(const struct ypi_step *step)
{
    size_t count = 0;
    for (int i = 0; i < nn_tensors(step->op); i++)
        if (nn_has_gradient(&step->op->tensors[i]))
            count += nn_count(step->op, &step->op->tensors[i], &step->shape);
    return count * sizeof(double);
}

static enum yp_status add_vjp(struct nn_model *model, int s)
{
    const struct ypi_step *step = &model->steps[s];
    enum yp_status status = YP_OK;
    int cotangent = cotangent_of(model, step);
    if (cotangent == YPI_NONE)
        return YP_OK;
    if (step->op->passes)
        return pass_on(model, step, cotangent);
    make_again(model, s);
    int at = add_call(model, YPI_VJP, s);
    extend(model, cotangent, at);
    for (int i = 0; i < nn_tensors(step->op) && status == YP_OK; i++) {
        const struct nn_tensor *entry = &step->op->tensors[i];
        if (step->tensors[i] == YPI_NONE)
            continue;
        const struct ypi_tensor *tensor = &model->tensors[step->tensors[i]];
        if (tensor->origin == YPI_MADE && !entry->unread && entry->role != NN_OUTPUT)
            extend(model, kept_piece(tensor), at);
        if (nn_has_gradient(entry) && tensor->origin == YPI_CONSTANT && !tensor->asked)
            waste_gradient(model, at, i);
        else if (nn_has_gradient(entry))
            status = write_gradient(model, at, i);
    }
    if (ypi_model_loops(model) && model->calls[at].add != 0)
        model->calls[at].spare = add_piece(model, spare_bytes(step), at, at);
    return status;
}

/* -- all --------------------------------------------------------------------------------------- */

/* Results stay until the caller has read them. */
static void keep_results(struct nn_model *model)
{
    for (int i = 0; i < model->tensor_count; i++) {
        const struct ypi_tensor *tensor = &model->tensors[i];
        if (tensor->origin == YPI_MADE && (tensor->result || tensor->kept))
            extend(model, tensor->value, ALWAYS);
    }
}

enum yp_status ypi_model_schedule(struct nn_model *model)
{
    enum yp_status status = YP_OK;
    begin(model);
    for (int s = 0; s < model->step_count; s++)
        add_forward(model, s);
    model->forward_calls = model->call_count;
    for (int s = model->step_count - 1;
         s >= 0 && model->pass == NN_MODEL_GRADIENT && status == YP_OK; s--)
        status = add_vjp(model, s);
    keep_results(model);
    return status;
}

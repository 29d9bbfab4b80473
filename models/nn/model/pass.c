/* A plan, and its calls one after the other. */
#include "models/nn/model/internal.h"

#include "models/nn/convert.h"
#include "models/nn/cuda/on_cuda.h"

#include <string.h>
#include <sys/mman.h>

enum yp_status nn_model_plan(struct nn_model *model, enum nn_model_pass pass)
{
    if (model->status != YP_OK)
        return yp_set_error(model->status, "%s", model->message);
    model->pass = pass;
    model->arena = NULL;
    enum yp_status status = ypi_model_schedule(model);
    if (status == YP_OK)
        ypi_model_lay_out(model);
    return status;
}

const struct nn_model_bytes *nn_model_bytes(const struct nn_model *model)
{
    return &model->bytes;
}

double nn_model_flops(const struct nn_model *model)
{
    double flops = 0;
    for (int i = 0; i < model->call_count; i++) {
        const struct ypi_step *step = &model->steps[model->calls[i].step];
        if (model->calls[i].kind != YPI_AGAIN) /* saves memory and is no work that counts */
            flops += step->op->flops(&step->shape,
                                     model->calls[i].kind == YPI_VJP ? NN_VJP : NN_FORWARD);
    }
    return flops;
}

/* Asks for large pages, where the system gives some on request: steps go through many places of the
 * arena at once, more than a processor keeps small pages' addresses of. */
static void ask_for_large_pages(const struct nn_model *model)
{
#ifdef MADV_HUGEPAGE
    const uintptr_t page = (uintptr_t)2 << 20, at = (uintptr_t)model->arena;
    const uintptr_t first = (at + page - 1) / page * page;
    const uintptr_t end = (at + model->bytes.arena) / page * page;
    if (first < end && yp_device_memory_kind(model->o.device) == YP_HOST)
        madvise(model->arena + (first - at), end - first, MADV_HUGEPAGE); /* else small ones */
#else
    (void)model;
#endif
}

void nn_model_bind(struct nn_model *model, void *arena)
{
    model->arena = arena;
    model->copied = false;
    ask_for_large_pages(model);
}

static void *at_piece(const struct nn_model *model, int piece)
{
    return piece != YPI_NONE && model->arena != NULL ? model->arena + model->pieces[piece].offset
                                                     : NULL;
}

void *nn_model_value(const struct nn_model *model, int tensor)
{
    return at_piece(model, model->tensors[tensor].value);
}

enum nn_type nn_model_type(const struct nn_model *model, int tensor)
{
    return model->tensors[tensor].type;
}

void *nn_model_cotangent(const struct nn_model *model, int tensor)
{
    return at_piece(model, model->tensors[tensor].gradient);
}

/* -- calls ------------------------------------------------------------------------------------- */

/* An element of the caller's vectors. */
static void *in_vector(const struct nn_model *model, const void *vector, size_t place)
{
    return (char *)(uintptr_t)vector + place * (model->o.oracle ? sizeof(double) : sizeof(float));
}

/* Whether this vjp is the first one, of the step that ran last, and does that step's work, too. */
static bool does_both(const struct nn_model *model, const struct ypi_call *call)
{
    const struct ypi_step *step = &model->steps[call->step];
    return call == &model->calls[model->forward_calls] && call->kind == YPI_VJP &&
           call[-1].step == call->step && !ypi_model_loops(model) && step->op->both;
}

static void *value_at(const struct nn_model *model, const struct ypi_call *call, int i,
                      const void *parameters)
{
    const struct ypi_step *step = &model->steps[call->step];
    const struct nn_tensor *entry = &step->op->tensors[i];
    const struct ypi_tensor *tensor = &model->tensors[step->tensors[i]];
    bool out = entry->role == NN_OUTPUT;
    if (call->kind == YPI_VJP && (entry->unread || (out && !does_both(model, call))))
        return NULL; /* its memory is another's by now */
    if (tensor->origin == YPI_PARAMETER && tensor->value == YPI_NONE)
        return in_vector(model, parameters, tensor->place);
    bool remade = tensor->again && call->kind != YPI_FORWARD;
    return at_piece(model, remade ? tensor->remade : tensor->value);
}

static void *gradient_at(const struct nn_model *model, const struct ypi_call *call, int i,
                         void *gradient)
{
    const struct ypi_step *step = &model->steps[call->step];
    const struct ypi_tensor *tensor = &model->tensors[step->tensors[i]];
    if (call->kind != YPI_VJP)
        return NULL;
    return tensor->origin == YPI_PARAMETER ? in_vector(model, gradient, tensor->place)
                                           : at_piece(model, tensor->gradient);
}

static void add(bool wide, const void *from, size_t count, void *to)
{
    for (size_t k = 0; k < count; k++)
        if (wide)
            ((double *)to)[k] += ((const double *)from)[k];
        else
            ((float *)to)[k] += ((const float *)from)[k];
}

static nn_plain *loops_of(const struct nn_model *model, const struct ypi_call *call)
{
    const struct nn_operator *op = model->steps[call->step].op;
    if (model->o.oracle)
        return call->kind == YPI_VJP ? op->oracle_vjp : op->oracle;
    return call->kind == YPI_VJP ? op->plain_vjp : op->plain;
}

/* The plain loops, which write all gradients: those to be added go by way of the spare piece. */
static enum yp_status run_loops(const struct nn_model *model, const struct ypi_call *call,
                                struct nn_call *run)
{
    const struct ypi_step *step = &model->steps[call->step];
    char *spare = at_piece(model, call->spare);
    void *to[NN_TENSORS];
    for (int i = 0; i < nn_tensors(step->op); i++) {
        to[i] = run->gradient[i];
        if ((call->add >> i & 1) == 0)
            continue;
        run->gradient[i] = spare;
        spare += nn_count(step->op, &step->op->tensors[i], &step->shape) * sizeof(double);
    }
    run->add = 0;
    loops_of(model, call)(run);
    for (int i = 0; i < nn_tensors(step->op); i++)
        if ((call->add >> i & 1) != 0 && to[i] != NULL)
            add(model->o.oracle, run->gradient[i],
                nn_count(step->op, &step->op->tensors[i], &step->shape), to[i]);
    return YP_OK;
}

static struct nn_call call_of(const struct nn_model *model, const struct ypi_call *call,
                              const void *parameters, void *gradient, unsigned flags)
{
    const struct ypi_step *step = &model->steps[call->step];
    struct nn_call run = {.device = model->o.device,
                          .shape = &step->shape,
                          .add = call->add,
                          .both = does_both(model, call),
                          .work = at_piece(model, call->work),
                          .prepared = at_piece(model, call->prepared)};
    for (int i = 0; i < nn_tensors(step->op); i++) {
        if (step->tensors[i] == YPI_NONE)
            continue;
        run.value[i] = value_at(model, call, i, parameters);
        run.gradient[i] = gradient_at(model, call, i, gradient);
        if ((flags & NN_MODEL_ADD) != 0 && step->op->tensors[i].role == NN_PARAMETER)
            run.add |= 1U << i;
    }
    return run;
}

static enum yp_status run_call(const struct nn_model *model, const struct ypi_call *call,
                               const void *parameters, void *gradient, unsigned flags)
{
    const struct ypi_step *step = &model->steps[call->step];
    struct nn_call run = call_of(model, call, parameters, gradient, flags);
    if (ypi_model_loops(model))
        return run_loops(model, call, &run);
    return (call->kind == YPI_VJP ? step->version->vjp : step->version->forward)(&run);
}

/* In 16 bits, to the nearest. */
static enum yp_status copy_parameter(const struct nn_model *model, const float *from, size_t count,
                                     enum nn_type type, uint16_t *to)
{
    const struct nn_cuda_narrow job = {count, type, from, to};
    if (yp_device_memory_kind(model->o.device) == YP_HOST) {
        nn_narrow(from, count, type, to);
        return YP_OK;
    }
    const struct nn_cuda *cuda = nn_cuda_table();
    return cuda != NULL ? cuda->narrow(model->o.device, &job) : yp_last_status();
}

/* What is made of parameters that changed. */
static enum yp_status copy_parameters(const struct nn_model *model, const float *parameters)
{
    enum yp_status status = YP_OK;
    for (int i = 0; i < model->tensor_count && status == YP_OK; i++) {
        const struct ypi_tensor *tensor = &model->tensors[i];
        if (tensor->origin == YPI_PARAMETER && tensor->value != YPI_NONE)
            status = copy_parameter(model, parameters + tensor->place, tensor->count, tensor->type,
                                    at_piece(model, tensor->value));
    }
    for (int i = 0; i < model->forward_calls && status == YP_OK; i++) {
        const struct ypi_call *call = &model->calls[i];
        const struct nn_call run = call_of(model, call, parameters, NULL, 0);
        if (call->prepared != YPI_NONE)
            status = model->steps[call->step].version->prepare(&run);
    }
    return status;
}

void nn_model_tell(struct nn_model *model, nn_model_ready *ready, void *arg)
{
    const bool waits = yp_device_memory_kind(model->o.device) == YP_HOST;
    model->ready = waits ? ready : NULL;
    model->ready_arg = arg;
}

static void tell_untouched(const struct nn_model *model)
{
    for (int i = 0; i < model->tensor_count; i++) {
        const struct ypi_tensor *tensor = &model->tensors[i];
        if (tensor->origin == YPI_PARAMETER && !tensor->written && tensor->count > 0)
            model->ready(model->ready_arg, tensor->place, tensor->count);
    }
}

static void tell(const struct nn_model *model, const struct ypi_call *call)
{
    const struct ypi_step *step = &model->steps[call->step];
    for (int i = 0; i < nn_tensors(step->op); i++) {
        if ((call->final >> i & 1) == 0)
            continue;
        const struct ypi_tensor *tensor = &model->tensors[step->tensors[i]];
        model->ready(model->ready_arg, tensor->place, tensor->count);
    }
    if (call->final == 0)
        model->ready(model->ready_arg, 0, 0);
}

enum yp_status nn_model_pass(struct nn_model *model, const void *parameters, void *gradient,
                             unsigned flags)
{
    if (model->arena == NULL || (ypi_model_loops(model) && (flags & NN_MODEL_ADD) != 0))
        return yp_set_error(YP_INVALID, "nn_model_pass: %s",
                            model->arena == NULL
                                ? "no arena is bound to this plan"
                                : "the gradient of plain loops is not added to others");
    int first = (flags & NN_MODEL_BACK) != 0 ? model->forward_calls : 0;
    int count = gradient != NULL ? model->call_count : model->forward_calls;
    enum yp_status status =
        !model->copied || (flags & NN_MODEL_COPY) != 0 ? copy_parameters(model, parameters) : YP_OK;
    model->copied = status == YP_OK;
    for (int i = first; i < count && status == YP_OK; i++) {
        const bool tells = model->ready != NULL && i >= model->forward_calls;
        if (tells && i == model->forward_calls)
            tell_untouched(model);
        if (i + 1 >= count || !does_both(model, &model->calls[i + 1]))
            status = run_call(model, &model->calls[i], parameters, gradient, flags);
        if (tells && status == YP_OK)
            tell(model, &model->calls[i]);
    }
    return status;
}

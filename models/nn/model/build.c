/* What a model consists of. */
#include "models/nn/model/internal.h"

#include "base/system/arena.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum yp_status ypi_model_fail(struct nn_model *model, enum yp_status status, const char *format,
                              ...)
{
    va_list args;
    if (model->status == YP_OK) {
        model->status = status;
        va_start(args, format);
        vsnprintf(model->message, sizeof model->message, format, args);
        va_end(args);
    }
    return yp_set_error(model->status, "%s", model->message);
}

static void lay_out(struct nn_model *model, struct ypi_arena *arena)
{
    size_t steps = model->o.steps, tensors = model->o.tensors;
    ypi_arena_take(arena, 1, sizeof *model);
    model->tensors = ypi_arena_take(arena, tensors, sizeof *model->tensors);
    model->steps = ypi_arena_take(arena, steps, sizeof *model->steps);
    model->calls = ypi_arena_take(arena, 3 * steps, sizeof *model->calls);
    model->pieces = ypi_arena_take(arena, 3 * tensors + 7 * steps, sizeof *model->pieces);
    model->order = ypi_arena_take(arena, 3 * tensors + 7 * steps, sizeof *model->order);
}

static enum yp_status check(const struct nn_model_options *options)
{
    const size_t most = 1 << 20;
    bool loops = options->oracle || options->plain;
    bool other = loops && options->device != yp_device_cpu();
    if (options->device == NULL || other || options->steps < 1 || options->steps > most ||
        options->tensors < 1 || options->tensors > most)
        return yp_set_error(
            YP_INVALID,
            "nn_model_create: device is %s, steps %zu, tensors %zu: must be a device (of plain "
            "loops the CPU), and 1 to %zu",
            options->device == NULL ? "NULL" : yp_device_name(options->device), options->steps,
            options->tensors, most);
    return YP_OK;
}

size_t nn_model_description(const struct nn_model_options *options)
{
    struct nn_model counted = {.o = *options};
    struct ypi_arena arena = {0};
    if (check(options) != YP_OK)
        return 0;
    lay_out(&counted, &arena);
    return arena.used;
}

void nn_model_clear(struct nn_model *model)
{
    *model = (struct nn_model){.o = model->o, .precision = model->o.precision};
    struct ypi_arena arena = {.base = (char *)model};
    lay_out(model, &arena);
}

struct nn_model *nn_model_create(const struct nn_model_options *options)
{
    size_t bytes = nn_model_description(options);
    struct nn_model *model = bytes > 0 ? yp_device_alloc(yp_device_cpu(), bytes) : NULL;
    if (model == NULL)
        return NULL;
    model->o = *options;
    nn_model_clear(model);
    return model;
}

void nn_model_destroy(struct nn_model *model)
{
    yp_device_free(yp_device_cpu(), model);
}

/* -- tensors ----------------------------------------------------------------------------------- */

static int add_tensor(struct nn_model *model, struct ypi_tensor tensor)
{
    if (model->status == YP_OK && (size_t)model->tensor_count == model->o.tensors)
        ypi_model_fail(model, YP_INVALID,
                       "nn_model: '%s' is tensor %zu: nn_model_options.tensors are %zu",
                       tensor.name, model->o.tensors + 1, model->o.tensors);
    if (model->status != YP_OK) {
        yp_set_error(model->status, "%s", model->message);
        return -1;
    }
    model->tensors[model->tensor_count] = tensor;
    return model->tensor_count++;
}

int nn_model_constant(struct nn_model *model, const char *name, enum nn_type type, size_t count)
{
    return add_tensor(
        model,
        (struct ypi_tensor){
            .name = name, .origin = YPI_CONSTANT, .type = type, .count = count, .step = YPI_NONE});
}

int nn_model_input(struct nn_model *model, const char *name, size_t count)
{
    int tensor = nn_model_constant(model, name, NN_REAL, count);
    if (tensor >= 0)
        model->tensors[tensor].asked = true;
    return tensor;
}

int nn_model_parameter(struct nn_model *model, const char *name, size_t count)
{
    int tensor = add_tensor(model, (struct ypi_tensor){.name = name,
                                                       .origin = YPI_PARAMETER,
                                                       .count = count,
                                                       .place = model->parameters,
                                                       .step = YPI_NONE});
    model->parameters += tensor >= 0 ? count : 0;
    return tensor;
}

void nn_model_keep(struct nn_model *model, int tensor)
{
    if (tensor >= 0 && tensor < model->tensor_count)
        model->tensors[tensor].kept = true;
}

/* -- steps ------------------------------------------------------------------------------------- */

static enum yp_status check_input(struct nn_model *model, const struct ypi_step *step, int i,
                                  int input)
{
    const struct nn_tensor *wanted = &step->op->tensors[i];
    size_t count = nn_count(step->op, wanted, &step->shape);
    enum nn_type type = nn_value_type(step->op, step->version, i);
    if (input == YPI_NONE && wanted->optional)
        return YP_OK;
    if (input < 0 || input >= model->tensor_count)
        return ypi_model_fail(model, YP_INVALID,
                              "nn_model_step: %s of %s is tensor %d: there are %d", wanted->name,
                              step->op->name, input, model->tensor_count);
    struct ypi_tensor *tensor = &model->tensors[input];
    if (tensor->type == NN_REAL)
        tensor->type = type;
    if (tensor->count != count || tensor->type != type)
        return ypi_model_fail(model, YP_INVALID,
                              "nn_model_step: %s of %s is '%s' with %zu elements of type %d: must "
                              "be %zu of type %d",
                              wanted->name, step->op->name, tensor->name, tensor->count,
                              (int)tensor->type, count, (int)type);
    if ((tensor->origin == YPI_PARAMETER && wanted->role != NN_PARAMETER) ||
        (tensor->origin == YPI_MADE && wanted->role != NN_INPUT))
        return ypi_model_fail(model, YP_INVALID,
                              "nn_model_step: %s of %s is '%s', another kind of "
                              "tensor",
                              wanted->name, step->op->name, tensor->name);
    tensor->result = false;
    return YP_OK;
}

static int add_outputs(struct nn_model *model, struct ypi_step *step)
{
    int first = YPI_NONE;
    for (int i = 0; i < nn_tensors(step->op) && model->status == YP_OK; i++) {
        const struct nn_tensor *tensor = &step->op->tensors[i];
        if (tensor->role != NN_OUTPUT && tensor->role != NN_SAVED)
            continue;
        step->tensors[i] =
            add_tensor(model, (struct ypi_tensor){.name = tensor->name,
                                                  .origin = YPI_MADE,
                                                  .type = nn_value_type(step->op, step->version, i),
                                                  .count = nn_count(step->op, tensor, &step->shape),
                                                  .step = model->step_count,
                                                  .again = step->again,
                                                  .result = tensor->role == NN_OUTPUT});
        first = first == YPI_NONE ? step->tensors[i] : first;
    }
    return first;
}

static const struct nn_version floats = {.precision = NN_FP32, .device = "cpu"};

int nn_model_step(struct nn_model *model, const struct nn_operator *op, struct nn_shape shape,
                  const int *inputs)
{
    const char *device = model->o.kind != NULL ? model->o.kind : nn_device_kind(model->o.device);
    struct ypi_step step = {.op = op, .shape = shape, .again = model->again};
    step.version = model->o.oracle  ? NULL
                   : model->o.plain ? &floats
                                    : nn_version(op, device, model->precision);
    if (model->status == YP_OK && step.version == NULL && !model->o.oracle)
        ypi_model_fail(model, yp_last_status(), "%s", yp_last_error());
    if (model->status == YP_OK && (size_t)model->step_count == model->o.steps)
        ypi_model_fail(model, YP_INVALID,
                       "nn_model_step: %s is step %zu: nn_model_options.steps are %zu", op->name,
                       model->o.steps + 1, model->o.steps);
    for (int i = 0; i < nn_tensors(op) && nn_is_drawn(&op->tensors[i]) && model->status == YP_OK;
         i++) {
        step.tensors[i] = inputs[i];
        check_input(model, &step, i, inputs[i]);
    }
    int first = model->status == YP_OK ? add_outputs(model, &step) : YPI_NONE;
    if (model->status != YP_OK) {
        yp_set_error(model->status, "%s", model->message);
        return -1;
    }
    model->steps[model->step_count++] = step;
    return first;
}

void nn_model_precision(struct nn_model *model, enum nn_precision precision)
{
    model->precision = precision;
}

void nn_model_make_again(struct nn_model *model, bool again)
{
    model->again = again;
}

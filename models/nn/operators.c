/* The table, and what follows from an entry. */
#include "models/nn/operator.h"

#include <string.h>

#define ENTRY(name) &nn_##name,
const struct nn_operator *const nn_operators[] = {NN_OPERATORS(ENTRY) NULL};

static const char *const precision_names[NN_PRECISIONS] = {
    [NN_FP32] = "fp32", [NN_BF16] = "bf16", [NN_FP16] = "fp16", [NN_INT8] = "int8"};

const char *nn_precision_name(enum nn_precision precision)
{
    return precision_names[precision];
}

bool nn_precision_from_name(const char *name, enum nn_precision *precision)
{
    for (int i = 0; i < NN_PRECISIONS; i++)
        if (strcmp(precision_names[i], name) == 0) {
            *precision = (enum nn_precision)i;
            return true;
        }
    return false;
}

const struct nn_operator *nn_operator(const char *name)
{
    for (size_t i = 0; nn_operators[i] != NULL; i++)
        if (strcmp(nn_operators[i]->name, name) == 0)
            return nn_operators[i];
    yp_set_error(YP_INVALID, "nn_operator: '%s' is not in the table, models/nn/table.h", name);
    return NULL;
}

const struct nn_shape *nn_shape(const struct nn_operator *op, const char *name)
{
    for (int i = 0; i < NN_SHAPES && op->shapes[i].name != NULL; i++)
        if (strcmp(op->shapes[i].name, name) == 0)
            return &op->shapes[i];
    yp_set_error(YP_INVALID, "nn_shape: operator %s has no shape '%s'", op->name, name);
    return NULL;
}

const char *nn_device_kind(const struct yp_device *device)
{
    return yp_device_memory_kind(device) == YP_HOST ? "cpu" : "cuda";
}

bool nn_declares(const struct nn_operator *op, const char *device, enum nn_precision precision)
{
    for (int i = 0; i < NN_VERSIONS && op->versions[i].device != NULL; i++)
        if (op->versions[i].precision == precision && strcmp(op->versions[i].device, device) == 0)
            return true;
    return false;
}

const struct nn_version *nn_version(const struct nn_operator *op, const char *device,
                                    enum nn_precision precision)
{
    for (int i = 0; i < NN_VERSIONS && op->versions[i].device != NULL; i++) {
        const struct nn_version *version = &op->versions[i];
        if (version->precision == precision && strcmp(version->device, device) == 0 &&
            version->isa <= yp_isa())
            return version;
    }
    yp_set_error(YP_UNSUPPORTED, "nn_version: operator %s has no version in %s for %s%s", op->name,
                 nn_precision_name(precision), device,
                 nn_declares(op, device, precision) ? " that this process may use" : "");
    return NULL;
}

int nn_tensors(const struct nn_operator *op)
{
    int n = 0;
    while (n < NN_TENSORS && op->tensors[n].name != NULL)
        n++;
    return n;
}

bool nn_has_gradient(const struct nn_tensor *tensor)
{
    return tensor->role == NN_INPUT || tensor->role == NN_PARAMETER;
}

enum nn_pass nn_last_pass(const struct nn_operator *op)
{
    return op->oracle_vjp != NULL ? NN_VJP : NN_FORWARD;
}

bool nn_is_drawn(const struct nn_tensor *tensor)
{
    return tensor->role != NN_OUTPUT && tensor->role != NN_SAVED;
}

bool nn_is_result(const struct nn_tensor *tensor)
{
    return tensor->role == NN_OUTPUT || tensor->role == NN_SAVED || tensor->role == NN_STATE;
}

size_t nn_count(const struct nn_operator *op, const struct nn_tensor *tensor,
                const struct nn_shape *shape)
{
    size_t count = 1;
    for (const char *letter = tensor->dims; *letter != '\0'; letter++)
        count *= shape->size[strchr(op->dims, *letter) - op->dims];
    return count;
}

size_t nn_type_bytes(enum nn_type type)
{
    static const size_t bytes[] = {
        [NN_REAL] = 0,    [NN_DOUBLE] = 8, [NN_FLOAT] = 4, [NN_BFLOAT16] = 2,
        [NN_FLOAT16] = 2, [NN_UINT8] = 1,  [NN_SINT8] = 1, [NN_INT32] = 4};
    return bytes[type];
}

static enum nn_type type_of(const struct nn_version *version, const char *letters, int i)
{
    return letters == NULL || letters[i] != 'b' ? NN_FLOAT
           : version->precision == NN_FP16      ? NN_FLOAT16
                                                : NN_BFLOAT16;
}

enum nn_type nn_value_type(const struct nn_operator *op, const struct nn_version *version, int i)
{
    if (op->tensors[i].type != NN_REAL)
        return op->tensors[i].type;
    return version == NULL ? NN_DOUBLE : type_of(version, version->types, i);
}

enum nn_type nn_gradient_type(const struct nn_operator *op, const struct nn_version *version, int i)
{
    (void)op;
    return version == NULL ? NN_DOUBLE : type_of(version, version->gradients, i);
}

double nn_bytes_moved(const struct nn_operator *op, const struct nn_shape *shape, enum nn_pass pass,
                      const struct nn_version *version)
{
    if (op->bytes != NULL)
        return op->bytes(shape, pass, version);
    double bytes = 0;
    for (int i = 0; i < nn_tensors(op); i++) {
        const struct nn_tensor *tensor = &op->tensors[i];
        double count = (double)nn_count(op, tensor, shape);
        bool valued = pass == NN_FORWARD || (tensor->role != NN_OUTPUT && !tensor->unread);
        bool graded = pass == NN_VJP && (nn_has_gradient(tensor) || tensor->role == NN_OUTPUT);
        bytes += pass == NN_FORWARD && tensor->role == NN_STATE
                     ? count * (double)nn_type_bytes(nn_value_type(op, version, i))
                     : 0; /* written as well */
        bytes += valued ? count * (double)nn_type_bytes(nn_value_type(op, version, i)) : 0;
        bytes += graded ? count * (double)nn_type_bytes(nn_gradient_type(op, version, i)) : 0;
    }
    return bytes;
}

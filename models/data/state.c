/* Named tensors between files and a model's memory. */
#include "models/data/state.h"

#include "base/system/file.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* -- shapes ----------------------------------------------------------------------------------- */

size_t state_elements(const struct state_tensor *tensor)
{
    uint64_t count = 1;
    for (size_t i = 0; i < tensor->axes; i++)
        count *= tensor->shape[i];
    return count;
}

const char *state_shape(size_t axes, const uint64_t *shape, char text[256])
{
    size_t at = 1;
    text[0] = '(';
    for (size_t i = 0; i < axes; i++)
        at += (size_t)snprintf(text + at, 256 - at, "%s%" PRIu64, i > 0 ? ", " : "", shape[i]);
    snprintf(text + at, 256 - at, ")");
    return text;
}

/* A matrix (rows, columns) of halves as (rows, 2, columns / 2), and the second axis is the slowest
 * in memory. */
static struct state_tensor split(const struct state_tensor *t)
{
    struct state_tensor three = {.axes = 3, .order = {1, 0, 2}};
    three.shape[0] = t->shape[0];
    three.shape[1] = t->halves;
    three.shape[2] = t->shape[1] / t->halves;
    return three;
}

void state_reorder(const struct state_tensor *t, bool to_file, size_t bytes, const void *from,
                   void *to)
{
    const struct state_tensor three = t->halves > 1 ? split(t) : *t;
    size_t size[STATE_AXES], step[STATE_AXES]; /* of memory's axes; in elements of the file */
    for (size_t i = 0; i < STATE_AXES; i++) {
        const bool real = i < three.axes;
        size[i] = real ? three.shape[three.order[i]] : 1;
        step[i] = 1;
        for (size_t k = real ? (size_t)three.order[i] + 1 : STATE_AXES; k < three.axes; k++)
            step[i] *= three.shape[k];
    }
    size_t memory = 0;
    for (size_t a = 0; a < size[0]; a++)
        for (size_t b = 0; b < size[1]; b++)
            for (size_t c = 0; c < size[2]; c++)
                for (size_t d = 0; d < size[3]; d++, memory++) {
                    const size_t file = a * step[0] + b * step[1] + c * step[2] + d * step[3];
                    memcpy((char *)to + (to_file ? file : memory) * bytes,
                           (const char *)from + (to_file ? memory : file) * bytes, bytes);
                }
}

/* -- reading ---------------------------------------------------------------------------------- */

struct reading {
    const char *path;
    const struct safetensors *file;
    state_table *table;
    const void *model;
    bool *used;  /* by place in the file */
    size_t most; /* elements of the largest tensor */
};

/* The first tensor of the file that the model did not ask for; NULL: there is none. */
static const struct safetensors_tensor *other(const struct reading *g)
{
    const struct safetensors_tensor *tensor;
    size_t i = 0;
    for (; (tensor = safetensors_at(g->file, i)) != NULL; i++) {
        const char *dot = strrchr(tensor->name, '.');
        if (!g->used[i] && (dot == NULL || strcmp(dot, ".num_batches_tracked") != 0))
            break;
    }
    return tensor;
}

static enum yp_status missing(const struct reading *g, const struct state_tensor *wanted)
{
    char text[256];
    struct state_tensor t;
    for (size_t i = 0; g->table(g->model, i, &t); i++) {
        const struct safetensors_tensor *found = safetensors_find(g->file, t.name);
        if (found != NULL)
            g->used[found - safetensors_at(g->file, 0)] = true;
    }
    const struct safetensors_tensor *stranger = other(g);
    state_shape(wanted->axes, wanted->shape, text);
    if (stranger != NULL)
        return yp_set_error(YP_INVALID,
                            "%s: has no tensor '%s' %s but '%s', which is none of the model's",
                            g->path, wanted->name, text, stranger->name);
    return yp_set_error(YP_INVALID, "%s: has no tensor '%s' %s", g->path, wanted->name, text);
}

static enum yp_status look_at(struct reading *g, const struct state_tensor *wanted)
{
    const struct safetensors_tensor *found = safetensors_find(g->file, wanted->name);
    char is[256], must_be[256];
    if (found == NULL)
        return missing(g, wanted);
    g->used[found - safetensors_at(g->file, 0)] = true;
    g->most = state_elements(wanted) > g->most ? state_elements(wanted) : g->most;
    state_shape(found->dims, found->shape, is);
    state_shape(wanted->axes, wanted->shape, must_be);
    if (strcmp(is, must_be) != 0)
        return yp_set_error(YP_INVALID, "%s: tensor '%s' is %s: must be %s", g->path, wanted->name,
                            is, must_be);
    if (found->type > SAFETENSORS_BF16)
        return yp_set_error(YP_INVALID, "%s: tensor '%s' is of %s: must be F64, F32, F16 or BF16",
                            g->path, wanted->name, safetensors_type_name(found->type));
    return YP_OK;
}

static enum yp_status look_at_all(struct reading *g)
{
    struct state_tensor t;
    enum yp_status status = YP_OK;
    size_t count = 0;
    for (; status == YP_OK && g->table(g->model, count, &t); count++)
        status = look_at(g, &t);
    const struct safetensors_tensor *stranger = status == YP_OK ? other(g) : NULL;
    if (stranger == NULL)
        return status;
    return yp_set_error(YP_INVALID,
                        "%s: tensor '%s' is none of the model's: must have its %zu tensors and no "
                        "others",
                        g->path, stranger->name, count);
}

enum yp_status state_check_finite(const char *path, const char *name, const double *values,
                                  size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (!isfinite(values[i]))
            return yp_set_error(YP_INVALID, "%s: %s is %g at element %zu: must be finite", path,
                                name, values[i], i);
    return YP_OK;
}

/* `values` is g->most doubles for a tensor as the file has it, and as many as memory does. */
static enum yp_status read_all(const struct reading *g, double *values, state_take *take, void *arg)
{
    struct state_tensor t;
    enum yp_status status = YP_OK;
    for (size_t i = 0; status == YP_OK && g->table(g->model, i, &t); i++) {
        const size_t count = state_elements(&t);
        status =
            safetensors_read_doubles(g->file, safetensors_find(g->file, t.name), 0, count, values);
        if (status == YP_OK)
            status = state_check_finite(g->path, t.name, values, count);
        state_reorder(&t, false, sizeof *values, values, values + g->most);
        if (status == YP_OK)
            status = take(arg, i, &t, values + g->most);
    }
    return status;
}

enum yp_status state_load(const char *path, state_table *table, const void *model, state_take *take,
                          void *arg)
{
    struct safetensors *file = safetensors_open(path);
    size_t count = 0;
    if (file == NULL)
        return yp_last_status();
    while (safetensors_at(file, count) != NULL)
        count++;
    struct reading g = {path, file, table, model, yp_device_alloc(yp_device_cpu(), count + 1), 0};
    double *values = NULL;
    enum yp_status status = YP_OUT_OF_MEMORY;
    if (g.used != NULL) {
        memset(g.used, 0, count);
        status = look_at_all(&g);
    }
    if (status == YP_OK) {
        values = yp_device_alloc(yp_device_cpu(), 2 * g.most * sizeof *values);
        status = values != NULL ? read_all(&g, values, take, arg) : yp_last_status();
    }
    yp_device_free(yp_device_cpu(), values);
    yp_device_free(yp_device_cpu(), g.used);
    safetensors_close(file);
    return status;
}

enum yp_status state_take_vectors(void *arg, size_t i, const struct state_tensor *tensor,
                                  const double *values)
{
    const struct state_vectors *vectors = arg;
    void *to = vectors->at[tensor->vector];
    (void)i;
    for (size_t k = 0; k < state_elements(tensor); k++)
        if (vectors->wide)
            ((double *)to)[tensor->offset + k] = values[k];
        else
            ((float *)to)[tensor->offset + k] = (float)values[k];
    return YP_OK;
}

/* -- writing ---------------------------------------------------------------------------------- */

enum yp_status state_check_output(struct state_file output, const struct state_file *inputs,
                                  size_t count)
{
    for (size_t i = 0; i < count && output.path != NULL; i++)
        if (inputs[i].path != NULL && (strcmp(output.path, inputs[i].path) == 0 ||
                                       ypi_is_same_file(output.path, inputs[i].path)))
            return yp_set_error(YP_INVALID, "--%s %s is the file of --%s: must be another",
                                output.option, output.path, inputs[i].option);
    return YP_OK;
}

size_t state_values_of(state_table *table, const void *model, const struct state_vectors *vectors,
                       const char *suffix, struct state_values *out)
{
    const size_t element = vectors->wide ? sizeof(double) : sizeof(float);
    struct state_tensor t;
    size_t count = 0;
    for (size_t i = 0; table(model, i, &t); i++) {
        const char *vector = vectors->at[t.vector];
        if (vector == NULL)
            continue;
        if (out != NULL) {
            strncat(t.name, suffix, sizeof t.name - strlen(t.name) - 1);
            out[count] = (struct state_values){t, vector + t.offset * element, vectors->wide};
        }
        count++;
    }
    return count;
}

static enum yp_status write_one(struct safetensors_writer *writer, size_t i,
                                const struct state_values *one)
{
    const size_t count = state_elements(&one->tensor);
    const size_t element = one->wide ? sizeof(double) : sizeof(float);
    void *as_file = yp_device_alloc(yp_device_cpu(), count * element);
    if (as_file == NULL)
        return yp_last_status();
    state_reorder(&one->tensor, true, element, one->values, as_file);
    enum yp_status status = safetensors_write(writer, i, 0, count, as_file);
    yp_device_free(yp_device_cpu(), as_file);
    return status;
}

enum yp_status state_save(const char *path, const struct state_values *all, size_t count)
{
    struct safetensors_tensor *described =
        yp_device_alloc(yp_device_cpu(), count * sizeof *described);
    if (described == NULL)
        return yp_last_status();
    for (size_t i = 0; i < count; i++) {
        const struct state_tensor *t = &all[i].tensor;
        described[i] = (struct safetensors_tensor){
            .type = all[i].wide ? SAFETENSORS_F64 : SAFETENSORS_F32, .dims = t->axes};
        memcpy(described[i].name, t->name, sizeof t->name);
        memcpy(described[i].shape, t->shape, sizeof t->shape);
    }
    struct safetensors_writer *writer = safetensors_create(path, described, count);
    enum yp_status status = writer != NULL ? YP_OK : yp_last_status();
    for (size_t i = 0; i < count && status == YP_OK; i++)
        status = write_one(writer, i, &all[i]);
    if (status == YP_OK)
        status = safetensors_finish(writer);
    else
        safetensors_abandon(writer);
    yp_device_free(yp_device_cpu(), described);
    return status;
}

/* Weights of a .safetensors file with the names of a PyTorch state dict. */
#include "models/lm/command/internal.h"

#include "models/data/safetensors.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

struct reading {
    const struct ypi_lm_request *r;
    const struct safetensors *file;
    void *parameters;
    bool *used; /* by place in the file */
};

/* -- which tensors ----------------------------------------------------------------------------- */

/* A tool that wraps a model puts its own word before all names, as torch.compile's "_orig_mod.". */
static enum yp_status missing(const struct reading *g, const char *name)
{
    const struct safetensors_tensor *tensor;
    size_t length = strlen(name);
    for (size_t i = 0; (tensor = safetensors_at(g->file, i)) != NULL; i++) {
        size_t all = strlen(tensor->name), prefix = all > length ? all - length : 0;
        if (prefix > 0 && tensor->name[prefix - 1] == '.' &&
            strcmp(tensor->name + prefix, name) == 0)
            return yp_set_error(YP_INVALID,
                                "%s: has no tensor '%s' but '%s': take the prefix '%.*s' off all "
                                "names",
                                g->r->load, name, tensor->name, (int)prefix, tensor->name);
    }
    return yp_set_error(YP_INVALID, "%s: has no tensor '%s'", g->r->load, name);
}

static enum yp_status find(const struct reading *g, const struct lm_tensor *tensor)
{
    const struct safetensors_tensor *found = safetensors_find(g->file, tensor->name);
    const uint64_t wanted[2] = {tensor->rows > 0 ? tensor->rows : tensor->columns, tensor->columns};
    size_t dims = tensor->rows > 0 ? 2 : 1;
    if (found == NULL)
        return missing(g, tensor->name);
    g->used[found - safetensors_at(g->file, 0)] = true;
    if (found->dims != dims || memcmp(found->shape, wanted, dims * sizeof *wanted) != 0)
        return yp_set_error(YP_INVALID,
                            "%s: tensor '%s' has %zu axes and %" PRIu64
                            " elements: must be (%" PRIu64 "%s%" PRIu64 ")",
                            g->r->load, tensor->name, found->dims, safetensors_elements(found),
                            wanted[0], dims == 2 ? ", " : "", dims == 2 ? wanted[1] : 0);
    return YP_OK;
}

/* As PyTorch's modules call what is trained; buffers have other names, as masks and angles. */
static bool is_weight(const char *name)
{
    const char *dot = strrchr(name, '.'), *last = dot != NULL ? dot + 1 : name;
    return strcmp(last, "weight") == 0 || strcmp(last, "bias") == 0;
}

/* Weights that the model has not are another model's; buffers are passed over, and named. */
static enum yp_status look_at_others(const struct reading *g)
{
    const struct safetensors_tensor *tensor, *first = NULL;
    size_t count = 0, layers = g->r->options.config.layers;
    for (size_t i = 0; (tensor = safetensors_at(g->file, i)) != NULL; i++) {
        if (g->used[i])
            continue;
        if (is_weight(tensor->name))
            return yp_set_error(YP_INVALID,
                                "%s: tensor '%s' is none of the model's, which has %zu layer%s and "
                                "no biases: must have the model's weights and no others",
                                g->r->load, tensor->name, layers, layers > 1 ? "s" : "");
        first = first == NULL ? tensor : first;
        count++;
    }
    if (count > 1)
        fprintf(stderr, "yieldpoint: %s: not used: '%s' and %zu more tensors\n", g->r->load,
                first->name, count - 1);
    else if (count > 0)
        fprintf(stderr, "yieldpoint: %s: not used: tensor '%s'\n", g->r->load, first->name);
    return YP_OK;
}

/* -- their values ------------------------------------------------------------------------------ */

static enum yp_status read_values(const struct reading *g, const struct lm_tensor *tensor)
{
    const struct safetensors_tensor *found = safetensors_find(g->file, tensor->name);
    size_t count = (tensor->rows > 0 ? tensor->rows : 1) * tensor->columns;
    return g->r->in_double ? safetensors_read_doubles(g->file, found, 0, count,
                                                      (double *)g->parameters + tensor->offset)
                           : safetensors_read_floats(g->file, found, 0, count,
                                                     (float *)g->parameters + tensor->offset);
}

static enum yp_status for_each(const struct reading *g,
                               enum yp_status (*each)(const struct reading *g,
                                                      const struct lm_tensor *tensor))
{
    struct lm_tensor tensor;
    enum yp_status status = YP_OK;
    for (size_t i = 0; status == YP_OK && lm_tensor(&g->r->options.config, i, &tensor); i++)
        status = each(g, &tensor);
    return status;
}

enum yp_status ypi_lm_load(const struct ypi_lm_request *request, void *parameters)
{
    size_t count = 0;
    struct safetensors *file = safetensors_open(request->load);
    if (file == NULL)
        return yp_last_status();
    while (safetensors_at(file, count) != NULL)
        count++;
    const struct reading g = {request, file, parameters,
                              yp_device_alloc(yp_device_cpu(), count + 1)};
    enum yp_status status = YP_OUT_OF_MEMORY;
    if (g.used != NULL) {
        memset(g.used, 0, count);
        status = for_each(&g, find);
    }
    if (status == YP_OK)
        status = look_at_others(&g);
    if (status == YP_OK)
        status = for_each(&g, read_values);
    yp_device_free(yp_device_cpu(), g.used);
    safetensors_close(file);
    return status;
}

bool ypi_lm_finite(const struct ypi_lm_request *request, const void *values, const char *file,
                   const char *what)
{
    struct lm_tensor tensor;
    for (size_t i = 0; lm_tensor(&request->options.config, i, &tensor); i++)
        for (size_t k = 0; k < (tensor.rows > 0 ? tensor.rows : 1) * tensor.columns; k++) {
            double value = request->in_double ? ((const double *)values)[tensor.offset + k]
                                              : (double)((const float *)values)[tensor.offset + k];
            if (isfinite(value))
                continue;
            yp_set_error(YP_INVALID, "%s: %s '%s' is %g at element %zu: must be finite", file, what,
                         tensor.name, value, k);
            return false;
        }
    return true;
}

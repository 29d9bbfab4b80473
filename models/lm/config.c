/* Sizes of the model, and names of its tensors. */
#include "models/lm/lm.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const struct {
    const char *name;
    size_t d_model, d_ff, layers, heads;
} sizes[] = {{"small", 768, 3072, 12, 12},
             {"medium", 1024, 4096, 24, 16},
             {"large", 1280, 5120, 36, 20},
             {"xl", 1600, 6400, 48, 25},
             {"2.7B", 2560, 10240, 32, 32}};

enum { SIZES = sizeof sizes / sizeof *sizes };

bool lm_config_named(const char *name, struct lm_config *config)
{
    for (size_t i = 0; i < SIZES; i++)
        if (strcmp(sizes[i].name, name) == 0) {
            *config = (struct lm_config){.vocabulary = 10000,
                                         .d_model = sizes[i].d_model,
                                         .d_ff = sizes[i].d_ff,
                                         .layers = sizes[i].layers,
                                         .heads = sizes[i].heads,
                                         .theta = 10000,
                                         .eps = 1e-5};
            return true;
        }
    yp_set_error(YP_INVALID, "there is no size '%s': must be small, medium, large, xl or 2.7B",
                 name);
    return false;
}

static enum yp_status check_size(const char *field, size_t value, size_t low, size_t high)
{
    if (value >= low && value <= high)
        return YP_OK;
    return yp_set_error(YP_INVALID, "lm_config.%s is %zu: must be %zu to %zu", field, value, low,
                        high);
}

enum yp_status lm_check_config(const struct lm_config *c)
{
    enum yp_status status = check_size("vocabulary", c->vocabulary, 1, 1 << 24);
    if (status == YP_OK)
        status = check_size("d_model", c->d_model, 2, 1 << 20);
    if (status == YP_OK)
        status = check_size("d_ff", c->d_ff, 1, 1 << 22);
    if (status == YP_OK)
        status = check_size("layers", c->layers, 1, 1 << 12);
    if (status == YP_OK)
        status = check_size("heads", c->heads, 1, c->d_model / 2);
    if (status == YP_OK && (c->d_model % c->heads != 0 || c->d_model / c->heads % 2 != 0))
        status =
            yp_set_error(YP_INVALID,
                         "lm_config.heads is %zu, d_model %zu: it must be made of as many even "
                         "parts",
                         c->heads, c->d_model);
    if (status == YP_OK && !(c->theta > 1 && c->eps >= 0 && isfinite(c->theta + c->eps)))
        status = yp_set_error(YP_INVALID,
                              "lm_config.theta is %g, eps %g: must be above 1, and 0 or above",
                              c->theta, c->eps);
    return status;
}

size_t lm_parameters(const struct lm_config *c)
{
    size_t d = c->d_model;
    return 2 * c->vocabulary * d + c->layers * (4 * d * d + 3 * d * c->d_ff + 2 * d) + d;
}

double lm_flops(const struct lm_config *c, size_t batch, size_t context, enum nn_model_pass pass)
{
    double d = (double)c->d_model, layers = (double)c->layers, tokens = (double)(batch * context);
    double weights = layers * (4 * d * d + 3 * d * (double)c->d_ff) + (double)c->vocabulary * d;
    double forward = tokens * (2 * weights + 2 * layers * ((double)context + 1) * d);
    return pass == NN_MODEL_GRADIENT ? 3 * forward : forward;
}

/* -- tensors ----------------------------------------------------------------------------------- */

enum { OF_A_LAYER = 9 };

/* The k-th of a layer, without its offset. */
static struct lm_tensor of_layer(const struct lm_config *c, size_t k)
{
    size_t d = c->d_model, f = c->d_ff;
    const struct lm_tensor tensors[OF_A_LAYER] = {{"ln1.weight", 0, 0, d},
                                                  {"attn.q_proj.weight", 0, d, d},
                                                  {"attn.k_proj.weight", 0, d, d},
                                                  {"attn.v_proj.weight", 0, d, d},
                                                  {"attn.output_proj.weight", 0, d, d},
                                                  {"ln2.weight", 0, 0, d},
                                                  {"ffn.w1.weight", 0, f, d},
                                                  {"ffn.w2.weight", 0, d, f},
                                                  {"ffn.w3.weight", 0, f, d}};
    return tensors[k];
}

static size_t elements(const struct lm_tensor *tensor)
{
    return (tensor->rows > 0 ? tensor->rows : 1) * tensor->columns;
}

bool lm_tensor(const struct lm_config *c, size_t i, struct lm_tensor *out)
{
    size_t d = c->d_model, v = c->vocabulary, last = 1 + OF_A_LAYER * c->layers;
    size_t layer = 4 * d * d + 3 * d * c->d_ff + 2 * d;
    if (i == 0) {
        *out = (struct lm_tensor){"token_embeddings.weight", 0, v, d};
    } else if (i < last) {
        struct lm_tensor tensor = of_layer(c, (i - 1) % OF_A_LAYER);
        *out = tensor;
        out->offset = v * d + (i - 1) / OF_A_LAYER * layer;
        for (size_t k = 0; k < (i - 1) % OF_A_LAYER; k++) {
            struct lm_tensor before = of_layer(c, k);
            out->offset += elements(&before);
        }
        snprintf(out->name, sizeof out->name, "layers.%zu.%.31s", (i - 1) / OF_A_LAYER,
                 tensor.name);
    } else if (i == last) {
        *out = (struct lm_tensor){"ln_final.weight", v * d + c->layers * layer, 0, d};
    } else if (i == last + 1) {
        *out = (struct lm_tensor){"lm_head.weight", v * d + c->layers * layer + d, v, d};
    }
    return i <= last + 1;
}

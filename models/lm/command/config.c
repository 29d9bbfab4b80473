/* A model's configuration, an object of JSON. Every key has a meaning here, or is refused. */
#include "models/lm/command/internal.h"

#include "base/system/file.h"
#include "base/text/text.h"

#include <cJSON.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum kind { WHOLE, REAL, UNTIED };

static const struct key {
    const char *name;
    enum kind kind;
    size_t offset; /* in struct ypi_lm_config */
    bool optional;
} keys[] = {
    {"vocab_size", WHOLE, offsetof(struct ypi_lm_config, model.vocabulary), false},
    {"d_model", WHOLE, offsetof(struct ypi_lm_config, model.d_model), false},
    {"d_ff", WHOLE, offsetof(struct ypi_lm_config, model.d_ff), false},
    {"num_layers", WHOLE, offsetof(struct ypi_lm_config, model.layers), false},
    {"num_heads", WHOLE, offsetof(struct ypi_lm_config, model.heads), false},
    {"context_length", WHOLE, offsetof(struct ypi_lm_config, context), true},
    {"rope_theta", REAL, offsetof(struct ypi_lm_config, model.theta), true},
    {"rms_norm_eps", REAL, offsetof(struct ypi_lm_config, model.eps), true},
    {"tie_word_embeddings", UNTIED, 0, true},
};

enum { KEYS = sizeof keys / sizeof *keys };

/* NULL, or what is allowed. */
static const char *take(const struct key *key, const cJSON *item, struct ypi_lm_config *out)
{
    void *to = (char *)out + key->offset;
    double value = cJSON_IsNumber(item) ? item->valuedouble : NAN;
    if (key->kind == UNTIED)
        return cJSON_IsFalse(item) ? NULL : "false: the head has weights of its own";
    if (key->kind == REAL) {
        *(double *)to = value;
        return isfinite(value) ? NULL : "a number";
    }
    if (!(value >= 1 && value <= 0x1p32) || value != floor(value))
        return "a whole number from 1";
    *(size_t *)to = (size_t)value;
    return NULL;
}

static enum yp_status unknown(const char *path, const char *name)
{
    const char *names[KEYS];
    struct ypi_text all = {0};
    for (int i = 0; i < KEYS; i++) {
        names[i] = keys[i].name;
        ypi_text_add(&all, "%s%s", i > 0 ? ", " : "", names[i]);
    }
    char *near = ypi_did_you_mean(name, names, KEYS), *list = ypi_text_take(&all);
    yp_set_error(YP_IO, "%s: there is no key '%.64s'%s Allowed are %s", path, name,
                 *near != '\0' ? near : ".", list);
    free(near);
    free(list);
    return YP_IO;
}

static enum yp_status take_all(const char *path, const cJSON *file, struct ypi_lm_config *out)
{
    bool seen[KEYS] = {false};
    const cJSON *item;
    cJSON_ArrayForEach(item, file)
    {
        int i = 0;
        while (i < KEYS && strcmp(keys[i].name, item->string) != 0)
            i++;
        if (i == KEYS)
            return unknown(path, item->string);
        const char *allowed = seen[i] ? "there once" : take(&keys[i], item, out);
        if (allowed != NULL)
            return yp_set_error(YP_IO, "%s: %s: must be %s", path, keys[i].name, allowed);
        seen[i] = true;
    }
    for (int i = 0; i < KEYS; i++)
        if (!seen[i] && !keys[i].optional)
            return yp_set_error(YP_IO, "%s: %s is missing", path, keys[i].name);
    return YP_OK;
}

enum yp_status ypi_lm_read_config(const char *path, struct ypi_lm_config *out)
{
    char text[1 << 16];
    size_t length = ypi_read_file(path, text, sizeof text);
    if (length == 0)
        return yp_set_error(YP_IO, "%s: cannot be read, or is empty", path);
    *out = (struct ypi_lm_config){.model = {.theta = 10000, .eps = 1e-5}};
    cJSON *file = cJSON_ParseWithOpts(text, NULL, true);
    enum yp_status status = cJSON_IsObject(file)
                                ? take_all(path, file, out)
                                : yp_set_error(YP_IO, "%s: is no JSON object", path);
    cJSON_Delete(file);
    return status;
}

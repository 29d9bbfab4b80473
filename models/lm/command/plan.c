/* Plans for people and programs. */
#include "models/lm/command/internal.h"

#include "base/text/figures.h"
#include "base/text/output.h"

#include <stdio.h>

/* AdamW, without anything that would take more. */
static struct train_config plain_training(void)
{
    struct train_config config = train_defaults();
    config.keep_best = false;
    config.validation = 0;
    return config;
}

static const struct kind {
    const char *name, *what;
    size_t offset;
} kinds[] = {
    {"weights", "in float", offsetof(struct lm_plan, weights)},
    {"gradients", "in float", offsetof(struct lm_plan, gradients)},
    {"optimiser", "AdamW's moments", offsetof(struct lm_plan, optimiser)},
    {"copies", "of weights in bf16", offsetof(struct lm_plan, copies)},
    {"activations", "kept for the backward pass", offsetof(struct lm_plan, activations)},
    {"transients", "other activations, their gradients, workspace",
     offsetof(struct lm_plan, transients)},
    {"host", "tokens, tables, descriptions", offsetof(struct lm_plan, host)},
    {"total", "at most", offsetof(struct lm_plan, total)},
};

static size_t bytes_of(const struct lm_plan *plan, const struct kind *kind)
{
    return *(const size_t *)(const void *)((const char *)plan + kind->offset);
}

struct answer {
    struct lm_plan plan;
    bool fits;
    size_t batch, context; /* that would fit */
};

static void print_text(const struct ypi_lm_request *r, const struct answer *a)
{
    const struct lm_config *c = &r->options.config;
    char figure[YPI_FIGURE_MAX], limit[YPI_FIGURE_MAX];
    printf("%zu parameters: vocabulary %zu, d_model %zu, d_ff %zu, %zu layers, %zu heads\n",
           lm_parameters(c), c->vocabulary, c->d_model, c->d_ff, c->layers, c->heads);
    printf("%s of %zu x %zu tokens in %s on %s: %.4g TFLOP\n", lm_work_name(r->work),
           r->options.batch, r->options.context, nn_precision_name(r->options.precision),
           r->options.kind, a->plan.flops * 1e-12);
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        size_t bytes = bytes_of(&a->plan, &kinds[i]);
        ypi_format_bytes(figure, (double)bytes);
        printf("  %-12s %12s  %15zu  %s\n", kinds[i].name, figure, bytes, kinds[i].what);
    }
    if (r->limit == 0)
        return;
    ypi_format_bytes(limit, (double)r->limit);
    ypi_format_bytes(figure, a->fits ? (double)(r->limit - a->plan.total)
                                     : (double)(a->plan.total - r->limit));
    printf("%s %s: %s %s\n", a->fits ? "fits" : "does not fit", limit, figure,
           a->fits ? "are left" : "are missing");
    printf("with %s: a batch of %zu sequences of %zu tokens, or one sequence of %zu\n", limit,
           a->batch, r->options.context, a->context);
}

static int print_json(const struct ypi_lm_request *r, const struct answer *a)
{
    cJSON *object = cJSON_CreateObject(), *bytes = cJSON_AddObjectToObject(object, "bytes");
    cJSON_AddNumberToObject(object, "parameters", (double)lm_parameters(&r->options.config));
    cJSON_AddStringToObject(object, "pass", lm_work_name(r->work));
    cJSON_AddStringToObject(object, "precision", nn_precision_name(r->options.precision));
    cJSON_AddStringToObject(object, "device", r->options.kind);
    cJSON_AddNumberToObject(object, "batch", (double)r->options.batch);
    cJSON_AddNumberToObject(object, "context", (double)r->options.context);
    cJSON_AddNumberToObject(object, "flops", a->plan.flops);
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        cJSON_AddNumberToObject(bytes, kinds[i].name, (double)bytes_of(&a->plan, &kinds[i]));
    if (r->limit > 0) {
        cJSON_AddNumberToObject(object, "limit", (double)r->limit);
        cJSON_AddBoolToObject(object, "fits", a->fits);
        cJSON_AddNumberToObject(object, "largest_batch", (double)a->batch);
        cJSON_AddNumberToObject(object, "largest_context", (double)a->context);
    }
    int code = ypi_put_json(object);
    cJSON_Delete(object);
    return code;
}

int ypi_lm_print_plan(const struct ypi_lm_request *r)
{
    const struct train_config config = plain_training();
    struct answer a = {.fits = true};
    enum yp_status status = lm_plan(&r->options, r->work, &config, r->options.batch, &a.plan);
    if (status == YP_OK && r->limit > 0) {
        a.fits = a.plan.total <= r->limit;
        status = lm_plan_fitting(&r->options, r->work, &config, r->limit, &a.batch, &a.context);
    }
    if (status != YP_OK) {
        ypi_file_error();
        return status == YP_INVALID ? YPI_COMMAND_USAGE : YPI_COMMAND_FILE;
    }
    int code = YPI_COMMAND_OK;
    if (r->json)
        code = print_json(r, &a);
    else
        print_text(r, &a);
    if (code == YPI_COMMAND_OK)
        code = ypi_flush();
    return code != YPI_COMMAND_OK ? code : a.fits ? YPI_COMMAND_OK : YPI_COMMAND_NOTHING;
}

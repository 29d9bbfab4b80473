/* Plans for people and programs. */
#include "models/graph/command/internal.h"

#include "base/text/figures.h"
#include "base/text/output.h"

#include <stdio.h>

static const struct kind {
    const char *name, *what;
    size_t offset;
} kinds[] = {
    {"weights", "in float", offsetof(struct graph_memory, weights)},
    {"batch", "the graphs", offsetof(struct graph_memory, batch)},
    {"gradients", "in float", offsetof(struct graph_memory, gradients)},
    {"optimiser", "AdamW's moments", offsetof(struct graph_memory, optimiser)},
    {"copies", "of weights in 16 bits, and as kernels take them",
     offsetof(struct graph_memory, copies)},
    {"activations", "kept for the backward pass", offsetof(struct graph_memory, activations)},
    {"transients", "other activations, their gradients, workspace",
     offsetof(struct graph_memory, transients)},
    {"host", "descriptions, parts of the loss", offsetof(struct graph_memory, host)},
    {"total", "at most", offsetof(struct graph_memory, total)},
};

enum { KINDS = sizeof kinds / sizeof *kinds };

static size_t bytes_of(const struct graph_memory *memory, const struct kind *kind)
{
    return *(const size_t *)(const void *)((const char *)memory + kind->offset);
}

static void print_text(const struct ypi_graph_request *r, const struct graph_memory *memory)
{
    const struct graph_options *o = &r->options;
    const struct graph_batch *b = &r->sizes;
    char figure[YPI_FIGURE_MAX], limit[YPI_FIGURE_MAX];
    printf("%zu parameters: hidden %zu, %zu heads, %zu layers, %zu modes, %zu blocks\n",
           graph_elements(o, GRAPH_PARTS), o->hidden, o->heads, o->layers, o->modes, o->blocks);
    printf("%s of %zu graphs, %zu nodes, %zu edges in %s on %s: %.4g GFLOP\n",
           ypi_graph_work_name(r->work), b->graphs, b->nodes, b->edges,
           nn_precision_name(o->precision), o->kind, memory->flops * 1e-9);
    for (size_t i = 0; i < KINDS; i++) {
        const size_t bytes = bytes_of(memory, &kinds[i]);
        ypi_format_bytes(figure, (double)bytes);
        printf("  %-12s %12s %6.1f %%  %s\n", kinds[i].name, figure,
               100 * (double)bytes / (double)memory->total, kinds[i].what);
    }
    if (r->limit == 0)
        return;
    const double left = (double)r->limit - (double)memory->total;
    ypi_format_bytes(limit, (double)r->limit);
    ypi_format_bytes(figure, left < 0 ? -left : left);
    printf("%s %s: %s %s\n", left < 0 ? "does not fit" : "fits", limit, figure,
           left < 0 ? "are missing" : "are left");
}

static int print_json(const struct ypi_graph_request *r, const struct graph_memory *memory)
{
    cJSON *object = cJSON_CreateObject(), *bytes = cJSON_AddObjectToObject(object, "bytes");
    const struct {
        const char *name;
        double value;
    } numbers[] = {{"parameters", (double)graph_elements(&r->options, GRAPH_PARTS)},
                   {"graphs", (double)r->sizes.graphs},
                   {"nodes", (double)r->sizes.nodes},
                   {"edges", (double)r->sizes.edges},
                   {"flops", memory->flops}};
    cJSON_AddStringToObject(object, "pass", ypi_graph_work_name(r->work));
    cJSON_AddStringToObject(object, "precision", nn_precision_name(r->options.precision));
    cJSON_AddStringToObject(object, "device", r->options.kind);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        cJSON_AddNumberToObject(object, numbers[i].name, numbers[i].value);
    for (size_t i = 0; i < KINDS; i++)
        cJSON_AddNumberToObject(bytes, kinds[i].name, (double)bytes_of(memory, &kinds[i]));
    if (r->limit > 0) {
        cJSON_AddNumberToObject(object, "limit", (double)r->limit);
        cJSON_AddBoolToObject(object, "fits", memory->total <= r->limit);
    }
    const int code = ypi_put_json(object);
    cJSON_Delete(object);
    return code;
}

int ypi_graph_print_plan(const struct ypi_graph_request *r)
{
    struct graph_memory memory;
    const enum yp_status status = graph_need(&r->options, &r->sizes, r->work, &memory);
    if (status != YP_OK) {
        ypi_file_error();
        return status == YP_INVALID ? YPI_COMMAND_USAGE : YPI_COMMAND_FILE;
    }
    int code = YPI_COMMAND_OK;
    if (r->json)
        code = print_json(r, &memory);
    else
        print_text(r, &memory);
    if (code == YPI_COMMAND_OK)
        code = ypi_flush();
    const bool fits = r->limit == 0 || memory.total <= r->limit;
    return code != YPI_COMMAND_OK || fits ? code : YPI_COMMAND_NOTHING;
}

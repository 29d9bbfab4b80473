/* Graph attention by one operator beside the same by operators that write every step of it, on
 * graphs of 22 players with 8 edges that end in each: what fusing gains in time and memory. On one
 * thread, to measure the work alone. */
#include "suites/graph_attention.h"

#include <omp.h>
#include <string.h>

/* Layers of the graph trajectory model, a batch of 16 graphs. */
static const struct size {
    const char *name;
    struct graph_attention_size size;
} sizes[] = {{"base", {16, 4, 64, 0.385}}, {"12M", {16, 8, 256, 0.385}}};

static const struct graph_attention_size *size_of(const struct yp_case *t)
{
    size_t i = 0;
    while (strcmp(sizes[i].name, yp_string(t, "size")) != 0)
        i++;
    return &sizes[i].size;
}

YP_TEST(graph_attention, layer, .tags = "perf small",
        .axes = YP_AXES(yp_axis_string("form", "fused", "unfused"),
                        yp_axis_string("size", "base", "12M")))
{
    struct graph_attention a;
    omp_set_num_threads(1);
    graph_attention_open(&a, t, size_of(t), strcmp(yp_string(t, "form"), "fused") == 0);
    yp_value(t, "edges", (double)a.edges);
    yp_value_unit(t, "kept", (double)nn_model_bytes(a.model)->kept, "bytes");
    yp_value_unit(t, "arena", (double)nn_model_bytes(a.model)->arena, "bytes");
    yp_measure (t, "step", .items = (double)a.edges, .unit = "edges", .threads = 1)
        graph_attention_step(&a, t);
    graph_attention_close(&a);
}

YP_RELATION(graph_attention, fused_is_faster, .tags = "perf small",
            .budgets = YP_BUDGETS(yp_min_value("ratio", 2)),
            .relation = yp_ratio_over("perf/graph_attention.c::layer", "step", "form", "fused",
                                      "unfused"));

#define KEEPS_A_QUARTER(name_, size_) \
    YP_RELATION(graph_attention, name_, .tags = "perf small", \
                .budgets = YP_BUDGETS(yp_max_value("ratio", 0.25)), \
                .relation = yp_value_ratio( \
                    "perf/graph_attention.c::layer[form=fused-size=" size_ "]", \
                    "perf/graph_attention.c::layer[form=unfused-size=" size_ "]", "kept"))
KEEPS_A_QUARTER(fused_keeps_less, "base");
KEEPS_A_QUARTER(fused_keeps_less_of_12M, "12M");

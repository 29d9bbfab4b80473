/* What the files of the command share. */
#pragma once

#include "models/graph/plan.h"

struct ypi_graph_request {
    struct graph_options options;
    enum graph_work work;
    struct graph_batch sizes; /* of a plan */
    uint64_t limit;           /* of memory; 0: none */
    uint64_t seed;
    const char *graphs, *load, *dump; /* files; NULL: not said */
    bool json;
};

/* "forward", "forward_backward", "train_step". */
const char *ypi_graph_work_name(enum graph_work work);

/* Prints a plan; an exit code. */
int ypi_graph_print_plan(const struct ypi_graph_request *request);

/* One pass over the graphs of a file; an exit code. */
int ypi_graph_pass(const struct ypi_graph_request *request);

/* What the files of the command share. */
#pragma once

#include "models/graph/data.h"
#include "models/graph/plan.h"
#include "models/train/trainer.h"

struct ypi_graph_request {
    struct graph_options options;
    enum graph_work work;
    struct graph_batch sizes; /* of a plan; of training the graphs of a batch */
    uint64_t limit;           /* of memory; 0: none */
    uint64_t seed;
    const char *graphs, *load, *dump; /* files; NULL: not said */
    bool json;

    /* Of training: files, and how. */
    const char *data, *save, *log, *checkpoint;
    const char *ranks;            /* where processes of a launcher meet; NULL: not said */
    struct train_config training; /* without watcher */
    enum graph_cache cache;
    bool augment, resume, skip_bad_rows, quiet;
};

/* "forward", "forward_backward", "train_step". */
const char *ypi_graph_work_name(enum graph_work work);

/* Prints a plan; an exit code. */
int ypi_graph_print_plan(const struct ypi_graph_request *request);

/* One pass over the graphs of a file; an exit code. */
int ypi_graph_pass(const struct ypi_graph_request *request);

/* Trains on the plays of a directory; an exit code. */
int ypi_graph_train(const struct ypi_graph_request *request);

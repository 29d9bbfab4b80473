/* The graph trajectory model: graphs of players (graph.h) become, for each player, a mixture of
 * `modes` trajectories of `future` steps, and for each graph a logit of zone coverage.
 *
 *     x      relu(W node) + role + side
 *            + [relu(W_c context) + formation + alignment + frame] of the graph
 *            + W_h (last output of a two-layer LSTM over the history of motion)
 *     layers x <- LayerNorm(x + drop_path(dropout(relu(GATv2(x; edges)))))
 *     social x <- LayerNorm(x + mean over the edges that begin in the node of m sigmoid(W_g m)),
 *            m = W_2 dropout(relu(W_1 [x_begin, x_end]))
 *     scene  x <- x + 0.5 MLP(pooled), with inducing points that attend to the graph's nodes,
 *            pooled by a softmax of a linear score
 *     decoder, for each mode: x + mode + position of each step, Transformer blocks with the norm
 *            behind (heads, feed-forward 4 hidden, relu), MLP to 5 numbers: means, logarithms of
 *            deviations, and what tanh makes the correlation (nn/operators/mixture_head.c)
 *     mode probabilities softmax(W x), coverage W mean of the graph's x
 *
 * (Brody et al., "How attentive are graph attention networks?", 2022; Lee et al., "Set
 * Transformer", 2019.) Norms have eps 1e-5. Dropout is behind the LSTM's first layer, in GATv2
 * layers, in the social MLP and in the decoder's blocks; attention weights have none.
 *
 * The loss of a batch is the mean over the nodes that count of the mixture's negative
 * log-likelihood, plus weighted terms, each a mean over what it is about (struct graph_losses).
 * Tensors have the names of the reference's state dict. */
#pragma once

#include "models/graph/graph.h"
#include "models/nn/model/model.h"

/* Weights of the terms beside the negative log-likelihood; 0: without it. */
struct graph_losses {
    double coverage;  /* cross entropy of the coverage, over graphs where it is known */
    double smoothing; /* of its labels */
    /* Of nodes, see nn/operators/trajectory_terms.c; `likely` is within `winner`. */
    double velocity, acceleration, winner, likely, endpoint;
    double collision; /* of graphs, see nn/operators/collision.c; nodes nearer than a yard */
};

struct graph_options {
    struct yp_device *device;
    const char *kind; /* "cpu" or "cuda", to plan for one that is not there; NULL: the device's */
    enum nn_precision precision; /* NN_FP32, NN_BF16 or NN_FP16 */
    bool oracle;                 /* in double by plain loops, see struct nn_model_options */
    bool plain;                  /* in float by plain loops */

    size_t hidden, heads; /* heads divide hidden, which is even */
    size_t layers;        /* of GATv2 */
    size_t modes;
    size_t blocks;   /* of the decoder */
    size_t inducing; /* points of the scene */
    size_t features; /* of a node that are read, 1 to GRAPH_FEATURES */
    size_t history, future;

    double dropout,
        drop_path; /* rates; drop_path is the last layer's, less by equal steps before */
    struct graph_losses losses;
};

/* "base": hidden 64, 4 heads, 4 layers, 6 modes, 352,429 parameters. "9M": 256, 8, 6, 12:
 * 9,606,291. "12M": 256, 8, 8, 16: 11,739,799. All with 2 blocks, 8 inducing points, 9 features,
 * history 4, future 10, dropout and drop path 0.1, coverage 0.5, smoothing 0.05, in float.
 * YP_INVALID: another name. */
enum yp_status graph_sized(const char *name, struct yp_device *device, struct graph_options *out);

/* YP_INVALID with the field and what is allowed. */
enum yp_status graph_check_options(const struct graph_options *options);

/* -- tensors ---------------------------------------------------------------------------------- */

enum graph_part { GRAPH_ENCODER, GRAPH_SCENE, GRAPH_DECODER, GRAPH_CLASSIFIER, GRAPH_PARTS };

struct graph_tensor {
    char name[80]; /* "encoder.gat_layers.0.lin_l.weight" */
    enum graph_part part;
    size_t shape[3]; /* as the reference has it */
    int axes;        /* of them */
    size_t count;
    size_t offset; /* in the vector of parameters, in floats (doubles of an oracle) */
    size_t halves; /* 2: the two halves of the columns lie one behind the other; else 1 */
    int start;     /* see graph_draw(), by its own numbers */
};

/* Tensor i in the vector's order; false behind the last one. */
bool graph_tensor(const struct graph_options *options, size_t i, struct graph_tensor *out);

/* Elements of a part; of GRAPH_PARTS: of the vector. */
size_t graph_elements(const struct graph_options *options, enum graph_part part);

/* Values to start from, (elements) on the host: as PyTorch and PyTorch Geometric draw them. Linear
 * layers and LSTM uniform within 1 / sqrt(inputs), of an LSTM 1 / sqrt(hidden); matrices of GATv2
 * and of projections to queries, keys and values within sqrt(6 / (rows + columns)); embeddings,
 * positions and inducing points normal; gains 1; other vectors 0. A function of options and seed,
 * the same bits on every machine. */
void graph_draw(const struct graph_options *options, uint64_t seed, float *parameters);

/* -- the model -------------------------------------------------------------------------------- */

struct graph;

/* Bytes of the CPU's memory that graph_create() takes; 0 with yp_last_error() set. */
size_t graph_description(const struct graph_options *options);

/* NULL with yp_last_error() set. Takes nothing of the device's memory. */
struct graph *graph_create(const struct graph_options *options);
void graph_destroy(struct graph *graph); /* NULL is allowed */

/* How a batch is used. Drops are functions of (seed, id of the graph, node), so a node has the same
 * masks in any batch. */
struct graph_use {
    bool losses;   /* the losses, too */
    bool gradient; /* and their gradient; implies losses */
    bool drops;    /* dropout and drop path at their rates, as in training */
    uint64_t seed; /* of drops */
};

/* Plans for a batch with so many graphs, nodes and edges; arrays are not read. graph_model() then
 * has bytes and operations. */
enum yp_status graph_plan(struct graph *graph, const struct graph_batch *sizes,
                          struct graph_use use);
const struct nn_model *graph_model(const struct graph *graph);

/* Plans for the batch, takes an arena where the last one is smaller, and copies the batch to the
 * device. YP_INVALID, naming array and place, where an index is out of range or a number is not
 * finite. */
enum yp_status graph_load(struct graph *graph, const struct graph_batch *batch,
                          struct graph_use use);

/* A pass over the loaded batch. Parameters and gradient (NULL: none is wanted) are on the device.
 * The gradient is `scale` times that of the batch's loss. Flags as of nn_model_pass(). */
enum yp_status graph_pass(struct graph *graph, const void *parameters, double scale, void *gradient,
                          unsigned flags);

/* Whom passes with a gradient tell which of it is final, see nn_model_tell(). */
void graph_tell(struct graph *graph, nn_model_ready *ready, void *arg);

/* Nodes of the loaded batch that count. */
double graph_counted(const struct graph *graph);

struct graph_loss {
    double total;          /* with weights */
    double likelihood;     /* mean negative log-likelihood */
    double terms;          /* mean of the nodes' other terms, with their weights */
    double coverage;       /* mean cross entropy; 0 where no coverage is known */
    double collision;      /* mean over graphs */
    double nodes, covered; /* how many counted */
};

/* After a pass with losses. */
enum yp_status graph_read_loss(const struct graph *graph, struct graph_loss *out);

/* After a pass, to arrays on the host in double; NULL: not wanted. */
struct graph_result {
    double *mixture; /* (nodes, modes, future, 5): means x and y, deviations x and y, correlation */
    double *logit;   /* (nodes, modes): of the modes' probabilities */
    double *coverage; /* (graphs): logits */
};
enum yp_status graph_read(const struct graph *graph, struct graph_result result);

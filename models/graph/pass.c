/* In: a batch on the host. Out: passes over it on the device, losses and results. */
#include "models/graph/internal.h"

#include "base/numbers/splitmix.h"
#include "models/nn/draw.h"

enum { CHUNK = 4096 };

/* -- copies ------------------------------------------------------------------------------------ */

/* Real numbers, doubles or floats, to memory of the device in a type. */
static enum yp_status put(struct graph *g, void *to, enum nn_type type, const void *values,
                          bool wide, size_t count)
{
    char chunk[CHUNK * sizeof(double)];
    const size_t bytes = nn_type_bytes(type);
    enum yp_status status = YP_OK;
    for (size_t at = 0; at < count && status == YP_OK; at += CHUNK) {
        const size_t some = count - at < CHUNK ? count - at : CHUNK;
        for (size_t i = at; i < at + some; i++)
            nn_store(chunk, type, i - at,
                     wide ? ((const double *)values)[i] : (double)((const float *)values)[i]);
        status = yp_device_copy(g->o.device, (char *)to + at * bytes, chunk, some * bytes);
    }
    return status;
}

static enum yp_status put_reals(struct graph *g, int tensor, const float *values, size_t count)
{
    return put(g, nn_model_value(g->model, tensor), nn_model_type(g->model, tensor), values, false,
               count);
}

static enum yp_status put_indices(struct graph *g, int tensor, const int32_t *values, size_t count)
{
    return yp_device_copy(g->o.device, nn_model_value(g->model, tensor), values,
                          count * sizeof *values);
}

/* The first so many features of each node. */
static enum yp_status put_nodes(struct graph *g, int tensor, size_t features, const float *node)
{
    const size_t rows = CHUNK / GRAPH_FEATURES;
    const enum nn_type type = nn_model_type(g->model, tensor);
    char *to = nn_model_value(g->model, tensor);
    float some[CHUNK];
    enum yp_status status = YP_OK;
    for (size_t at = 0; at < g->nodes && status == YP_OK; at += rows) {
        const size_t count = g->nodes - at < rows ? g->nodes - at : rows;
        for (size_t i = 0; i < count * features; i++)
            some[i] = node[(at + i / features) * GRAPH_FEATURES + i % features];
        status =
            put(g, to + at * features * nn_type_bytes(type), type, some, false, count * features);
    }
    return status;
}

static uint64_t child(uint64_t key, uint64_t number)
{
    return ypi_mix64(key + YPI_GOLDEN * (number + 1));
}

/* Keys on their way to a constant. */
struct keys {
    struct graph *graph;
    int tensor;
    size_t written, count; /* on the device; here */
    uint64_t some[CHUNK];
};

static enum yp_status flush(struct keys *keys)
{
    uint64_t *to = nn_model_value(keys->graph->model, keys->tensor);
    enum yp_status status = yp_device_copy(keys->graph->o.device, to + keys->written, keys->some,
                                           keys->count * sizeof *to);
    keys->written += keys->count;
    keys->count = 0;
    return status;
}

static enum yp_status append(struct keys *keys, uint64_t key)
{
    keys->some[keys->count++] = key;
    return keys->count == CHUNK ? flush(keys) : (enum yp_status)YP_OK;
}

/* Of nodes, by (seed, graph, place in it), and of edges, by begin and end. */
static enum yp_status put_keys(struct graph *g, const struct graph_batch *batch)
{
    struct keys nodes = {.graph = g, .tensor = g->constants.key},
                edges = {.graph = g, .tensor = g->constants.edge_key};
    enum yp_status status = YP_OK;
    for (size_t b = 0; b < batch->graphs; b++)
        for (int32_t i = batch->first[b]; i < batch->first[b + 1]; i++) {
            const uint64_t key =
                child(child(g->use.seed, batch->id[b]), (uint64_t)(i - batch->first[b]));
            if (status == YP_OK)
                status = append(&nodes, key);
            for (int32_t k = batch->outgoing[i];
                 edges.tensor >= 0 && k < batch->outgoing[i + 1] && status == YP_OK; k++)
                status = append(&edges, child(key, (uint64_t)(batch->end[k] - batch->first[b])));
        }
    if (status == YP_OK)
        status = flush(&nodes);
    return status == YP_OK && edges.tensor >= 0 ? flush(&edges) : status;
}

static enum yp_status put_batch(struct graph *g, const struct graph_batch *b)
{
    const struct constants *c = &g->constants;
    const size_t n = g->nodes, e = g->edges, graphs = g->graphs;
    const struct {
        int tensor;
        const float *values;
        size_t count;
    } reals[] = {{c->motion, b->motion, n * g->o.history * GRAPH_MOTION},
                 {c->context, b->context, graphs * GRAPH_CONTEXT},
                 {c->edge, b->edge, e * GRAPH_EDGE_FEATURES},
                 {c->label, b->coverage, graphs},
                 {c->target, b->target, n * g->o.future * 2}};
    const struct {
        int tensor;
        const int32_t *values;
        size_t count;
    } indices[] = {{c->role, b->role, n},
                   {c->side, b->side, n},
                   {c->frame, b->frame, graphs},
                   {c->formation, b->formation, graphs},
                   {c->alignment, b->alignment, graphs},
                   {c->first, b->first, graphs + 1},
                   {c->incoming, b->incoming, n + 1},
                   {c->source, b->source, e},
                   {c->outgoing, b->outgoing, n + 1},
                   {c->end, b->end, e}};
    enum yp_status status = put_nodes(g, c->node, g->o.features, b->node);
    if (status == YP_OK && c->place >= 0)
        status = put_nodes(g, c->place, 2, b->node);
    for (size_t i = 0; i < sizeof reals / sizeof *reals && status == YP_OK; i++)
        if (reals[i].tensor >= 0)
            status = put_reals(g, reals[i].tensor, reals[i].values, reals[i].count);
    for (size_t i = 0; i < sizeof indices / sizeof *indices && status == YP_OK; i++)
        status = put_indices(g, indices[i].tensor, indices[i].values, indices[i].count);
    for (int32_t i = 0; i < (int32_t)g->o.inducing && status == YP_OK; i++)
        status = yp_device_copy(g->o.device, (int32_t *)nn_model_value(g->model, c->point) + i, &i,
                                sizeof i);
    return status == YP_OK ? put_keys(g, b) : status;
}

/* -- shares of the loss ------------------------------------------------------------------------ */

/* Of each node's losses, each graph's coverage and each graph's collisions in the batch's loss. */
size_t graph_shares(const struct graph_batch *sizes)
{
    return sizes->nodes + 2 * sizes->graphs;
}

static enum yp_status share(struct graph *g, const struct graph_batch *b)
{
    const size_t count = graph_shares(b);
    if (g->share_count < count) {
        yp_device_free(yp_device_cpu(), g->shares);
        g->share_count = 0;
        g->shares = yp_device_alloc(yp_device_cpu(), count * sizeof *g->shares);
        if (g->shares == NULL)
            return yp_last_status();
        g->share_count = count;
    }
    double nodes = 0, covered = 0;
    for (size_t i = 0; i < g->nodes; i++)
        nodes += b->counts[i] != 0;
    for (size_t i = 0; i < g->graphs; i++)
        covered += b->coverage[i] >= 0;
    for (size_t i = 0; i < g->nodes; i++)
        g->shares[i] = b->counts[i] != 0 ? 1 / nodes : 0;
    for (size_t i = 0; i < g->graphs; i++)
        g->shares[g->nodes + i] = b->coverage[i] >= 0 ? 1 / covered : 0;
    for (size_t i = 0; i < g->graphs; i++)
        g->shares[g->nodes + g->graphs + i] = 1 / (double)g->graphs;
    g->counted = nodes;
    g->covered = covered;
    return YP_OK;
}

/* -- a batch ----------------------------------------------------------------------------------- */

static enum yp_status take_arena(struct graph *g)
{
    const size_t bytes = nn_model_bytes(g->model)->arena;
    if (g->arena_bytes < bytes) {
        yp_device_free(g->o.device, g->arena);
        g->arena_bytes = 0;
        g->arena = yp_device_alloc(g->o.device, bytes);
        if (g->arena == NULL)
            return yp_last_status();
        g->arena_bytes = bytes;
    }
    nn_model_bind(g->model, g->arena);
    return YP_OK;
}

enum yp_status graph_load(struct graph *g, const struct graph_batch *batch, struct graph_use use)
{
    enum yp_status status = graph_check_batch(batch);
    if (status == YP_OK)
        status = graph_plan(g, batch, use);
    if (status == YP_OK)
        status = take_arena(g);
    if (status == YP_OK)
        status = put_batch(g, batch);
    return status == YP_OK && g->use.losses ? share(g, batch) : status;
}

/* `weight` times each share, as the cotangents of the losses. */
static enum yp_status ask(struct graph *g, int losses, const double *shares, size_t count,
                          double weight)
{
    char *to = nn_model_cotangent(g->model, losses);
    const enum nn_type type = nn_model_type(g->model, losses);
    double some[CHUNK];
    enum yp_status status = YP_OK;
    for (size_t at = 0; at < count && status == YP_OK; at += CHUNK) {
        const size_t part = count - at < CHUNK ? count - at : CHUNK;
        for (size_t i = 0; i < part; i++)
            some[i] = weight * shares[at + i];
        status = put(g, to + at * nn_type_bytes(type), type, some, true, part);
    }
    return status;
}

/* The losses there are, with their shares, and their weights in the batch's loss. */
struct part {
    int losses;
    const double *shares;
    size_t count;
    double of; /* how many have a share */
    double weight;
};

enum { LIKELIHOOD, TERMS, COVERAGE, COLLISION, LOSSES };

static void list_losses(const struct graph *g, struct part parts[LOSSES])
{
    const double *covered = g->shares + g->nodes, *graphs = covered + g->graphs;
    parts[LIKELIHOOD] = (struct part){g->likelihood, g->shares, g->nodes, g->counted, 1};
    parts[TERMS] = (struct part){g->terms, g->shares, g->nodes, g->counted, 1};
    parts[COVERAGE] =
        (struct part){g->cross_entropy, covered, g->graphs, g->covered, g->o.losses.coverage};
    parts[COLLISION] =
        (struct part){g->collision, graphs, g->graphs, (double)g->graphs, g->o.losses.collision};
}

void graph_tell(struct graph *g, nn_model_ready *ready, void *arg)
{
    g->ready = ready;
    g->ready_arg = arg;
}

double graph_counted(const struct graph *g)
{
    return g->counted;
}

enum yp_status graph_pass(struct graph *g, const void *parameters, double scale, void *gradient,
                          unsigned flags)
{
    struct part parts[LOSSES];
    enum yp_status status = YP_OK;
    if (gradient != NULL && !g->use.gradient)
        return yp_set_error(YP_INVALID, "graph_pass: the batch was loaded without a gradient");
    nn_model_tell(g->model, g->ready, g->ready_arg);
    list_losses(g, parts);
    for (int i = 0; i < LOSSES && gradient != NULL && status == YP_OK; i++)
        if (parts[i].losses >= 0)
            status =
                ask(g, parts[i].losses, parts[i].shares, parts[i].count, scale * parts[i].weight);
    return status == YP_OK ? nn_model_pass(g->model, parameters, gradient, flags) : status;
}

/* -- results ----------------------------------------------------------------------------------- */

/* A tensor's elements from `at` on, in double. */
static enum yp_status get(const struct graph *g, int tensor, size_t at, size_t count, double *to)
{
    char chunk[CHUNK * sizeof(double)];
    const enum nn_type type = nn_model_type(g->model, tensor);
    const size_t bytes = nn_type_bytes(type);
    const char *from = (const char *)nn_model_value(g->model, tensor) + at * bytes;
    enum yp_status status = YP_OK;
    for (size_t done = 0; done < count && status == YP_OK; done += CHUNK) {
        const size_t some = count - done < CHUNK ? count - done : CHUNK;
        status = yp_device_copy(g->o.device, chunk, from + done * bytes, some * bytes);
        for (size_t i = 0; i < some && status == YP_OK; i++)
            to[done + i] =
                type == NN_DOUBLE ? ((double *)(void *)chunk)[i] : (double)nn_load(chunk, type, i);
    }
    return status;
}

/* The mean of those that have a share; 0 where there are none. */
static enum yp_status mean(const struct graph *g, const struct part *part, double *out)
{
    double some[CHUNK], sum = 0;
    enum yp_status status = YP_OK;
    for (size_t at = 0; at < part->count && part->losses >= 0 && status == YP_OK; at += CHUNK) {
        const size_t count = part->count - at < CHUNK ? part->count - at : CHUNK;
        status = get(g, part->losses, at, count, some);
        for (size_t i = 0; i < count; i++)
            sum += part->shares[at + i] != 0 ? some[i] : 0;
    }
    *out = part->of > 0 ? sum / part->of : 0;
    return status;
}

enum yp_status graph_read_loss(const struct graph *g, struct graph_loss *out)
{
    struct part parts[LOSSES];
    double *const to[LOSSES] = {&out->likelihood, &out->terms, &out->coverage, &out->collision};
    enum yp_status status = YP_OK;
    if (!g->use.losses)
        return yp_set_error(YP_INVALID, "graph_read_loss: the batch was loaded without losses");
    *out = (struct graph_loss){.nodes = g->counted, .covered = g->covered};
    list_losses(g, parts);
    for (int i = 0; i < LOSSES && status == YP_OK; i++) {
        status = mean(g, &parts[i], to[i]);
        out->total += parts[i].weight * *to[i];
    }
    return status;
}

enum yp_status graph_read(const struct graph *g, struct graph_result result)
{
    const size_t n = g->nodes, k = g->o.modes;
    enum yp_status status = YP_OK;
    if (result.mixture != NULL)
        status = get(g, g->mixture, 0, n * k * g->o.future * 5, result.mixture);
    if (result.logit != NULL && status == YP_OK)
        status = get(g, g->logit, 0, n * k, result.logit);
    if (result.coverage != NULL && status == YP_OK)
        status = get(g, g->coverage, 0, g->graphs, result.coverage);
    return status;
}

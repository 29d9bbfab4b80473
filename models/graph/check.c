/* Whether a batch of graphs is one. */
#include "models/graph/graph.h"

#include <math.h>
#include <stdbool.h>

static enum yp_status check_reals(const char *name, const float *values, size_t count, size_t row)
{
    for (size_t i = 0; i < count; i++)
        if (!isfinite(values[i]))
            return yp_set_error(YP_INVALID,
                                "graph_batch.%s: element %zu of row %zu is %g: must be "
                                "finite",
                                name, i % row, i / row, (double)values[i]);
    return YP_OK;
}

static enum yp_status check_indices(const char *name, const int32_t *values, size_t count,
                                    size_t below)
{
    for (size_t i = 0; i < count; i++)
        if (values[i] < 0 || (size_t)values[i] >= below)
            return yp_set_error(YP_INVALID,
                                "graph_batch.%s: element %zu is %d: must be 0 or more, below %zu",
                                name, i, values[i], below);
    return YP_OK;
}

static enum yp_status check_labels(const struct graph_batch *b)
{
    for (size_t i = 0; i < b->nodes; i++)
        if (b->counts[i] != 0 && b->counts[i] != 1)
            return yp_set_error(YP_INVALID, "graph_batch.counts: element %zu is %g: must be 0 or 1",
                                i, (double)b->counts[i]);
    for (size_t i = 0; i < b->graphs; i++)
        if (b->coverage[i] > 1)
            return yp_set_error(YP_INVALID,
                                "graph_batch.coverage: element %zu is %g: must be 1 at most", i,
                                (double)b->coverage[i]);
    return YP_OK;
}

/* (count + 1) places that ascend from 0 to `end`. */
static enum yp_status check_offsets(const char *name, const int32_t *values, size_t count,
                                    size_t end)
{
    for (size_t i = 0; i <= count; i++) {
        const int64_t low = i > 0 ? values[i - 1] : 0, high = i > 0 ? (int64_t)end : 0;
        if (values[i] < low || values[i] > high || (i == count && (size_t)values[i] != end))
            return yp_set_error(YP_INVALID,
                                "graph_batch.%s: element %zu of %zu is %d: must ascend from 0 to "
                                "%zu",
                                name, i, count + 1, values[i], end);
    }
    return YP_OK;
}

/* Edges between nodes `from` of one graph, [low, high), and `to` of the same. */
static enum yp_status check_edges(const char *name, const int32_t *offset, const int32_t *other,
                                  int32_t low, int32_t high)
{
    for (int32_t i = low; i < high; i++)
        for (int32_t k = offset[i]; k < offset[i + 1]; k++) {
            if (other[k] < low || other[k] >= high)
                return yp_set_error(YP_INVALID,
                                    "graph_batch.%s: element %d is node %d, of another graph than "
                                    "node %d",
                                    name, k, other[k], i);
            if (k > offset[i] && other[k] <= other[k - 1])
                return yp_set_error(YP_INVALID,
                                    "graph_batch.%s: element %d is node %d, behind node %d: must "
                                    "ascend for each node",
                                    name, k, other[k], other[k - 1]);
        }
    return YP_OK;
}

/* Whether edge j -> i, which `incoming` has, is among those that begin in j. */
static bool has_edge(const struct graph_batch *b, int32_t j, int32_t i)
{
    int32_t low = b->outgoing[j], high = b->outgoing[j + 1];
    while (low < high) {
        const int32_t middle = low + (high - low) / 2;
        if (b->end[middle] < i)
            low = middle + 1;
        else
            high = middle;
    }
    return low < b->outgoing[j + 1] && b->end[low] == i;
}

static enum yp_status check_orders(const struct graph_batch *b)
{
    enum yp_status status = YP_OK;
    for (size_t k = 0; k < b->graphs && status == YP_OK; k++) {
        status = check_edges("source", b->incoming, b->source, b->first[k], b->first[k + 1]);
        if (status == YP_OK)
            status = check_edges("end", b->outgoing, b->end, b->first[k], b->first[k + 1]);
    }
    for (size_t i = 0; i < b->nodes && status == YP_OK; i++)
        for (int32_t k = b->incoming[i]; k < b->incoming[i + 1] && status == YP_OK; k++)
            if (!has_edge(b, b->source[k], (int32_t)i))
                status = yp_set_error(YP_INVALID,
                                      "graph_batch.source: edge %d, from node %d to %zu, is not "
                                      "among those that begin in node %d",
                                      k, b->source[k], i, b->source[k]);
    return status;
}

enum yp_status graph_check_batch(const struct graph_batch *b)
{
    const size_t n = b->nodes, e = b->edges, g = b->graphs, most = INT32_MAX;
    const struct {
        const char *name;
        const float *values;
        size_t count, row;
    } reals[] = {{"node", b->node, n * GRAPH_FEATURES, GRAPH_FEATURES},
                 {"motion", b->motion, n * b->history * GRAPH_MOTION, b->history * GRAPH_MOTION},
                 {"target", b->target, n * b->future * 2, b->future * 2},
                 {"counts", b->counts, n, 1},
                 {"edge", b->edge, e * GRAPH_EDGE_FEATURES, GRAPH_EDGE_FEATURES},
                 {"context", b->context, g * GRAPH_CONTEXT, GRAPH_CONTEXT},
                 {"coverage", b->coverage, g, 1}};
    const struct {
        const char *name;
        const int32_t *values;
        size_t count, below;
    } indices[] = {{"role", b->role, n, GRAPH_ROLES},
                   {"side", b->side, n, GRAPH_SIDES},
                   {"frame", b->frame, g, GRAPH_FRAMES},
                   {"formation", b->formation, g, GRAPH_FORMATIONS},
                   {"alignment", b->alignment, g, GRAPH_ALIGNMENTS},
                   {"source", b->source, e, n},
                   {"end", b->end, e, n}};
    if (n > most || e > most || g > most)
        return yp_set_error(YP_INVALID,
                            "graph_batch: %zu graphs, %zu nodes and %zu edges: must be at most "
                            "2^31 - 1 each",
                            g, n, e);
    enum yp_status status = check_offsets("first", b->first, g, n);
    if (status == YP_OK)
        status = check_offsets("incoming", b->incoming, n, e);
    if (status == YP_OK)
        status = check_offsets("outgoing", b->outgoing, n, e);
    for (size_t i = 0; i < sizeof reals / sizeof *reals && status == YP_OK; i++)
        status = check_reals(reals[i].name, reals[i].values, reals[i].count, reals[i].row);
    for (size_t i = 0; i < sizeof indices / sizeof *indices && status == YP_OK; i++)
        status =
            check_indices(indices[i].name, indices[i].values, indices[i].count, indices[i].below);
    if (status == YP_OK)
        status = check_labels(b);
    return status == YP_OK ? check_orders(b) : status;
}

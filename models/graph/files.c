/* Files of graphs: arrays by name, and edges sorted. */
#include "models/graph/files.h"

#include "models/data/npz.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* -- arrays ----------------------------------------------------------------------------------- */

/* Sizes that a file has, and fixed ones. */
enum size {
    ENDS,
    GRAPHS,
    NODES,
    EDGES,
    HISTORY,
    FUTURE,
    OFFSETS,
    TWO,
    CONTEXT,
    FEATURES,
    MOTION,
    EDGE_FEATURES,
    SIZES
};

/* A file's edges, before they are sorted. */
struct edges {
    const int32_t *index; /* (2, edges) */
    const float *attr;    /* (edges, GRAPH_EDGE_FEATURES) */
};

/* What is read, before and after. */
struct content {
    struct graph_batch batch;
    struct edges edges;
};

/* All arrays but id have elements of four bytes. */
static const struct array {
    const char *name;
    bool real, optional;
    size_t place; /* of the pointer in struct content */
    enum size shape[3];
} arrays[] = {
#define AT(field) offsetof(struct content, field)
    {"first", false, false, AT(batch.first), {OFFSETS}},
    {"frame", false, false, AT(batch.frame), {GRAPHS}},
    {"formation", false, false, AT(batch.formation), {GRAPHS}},
    {"alignment", false, false, AT(batch.alignment), {GRAPHS}},
    {"context", true, false, AT(batch.context), {GRAPHS, CONTEXT}},
    {"coverage", true, true, AT(batch.coverage), {GRAPHS}},
    {"node", true, false, AT(batch.node), {NODES, FEATURES}},
    {"role", false, false, AT(batch.role), {NODES}},
    {"side", false, false, AT(batch.side), {NODES}},
    {"motion", true, false, AT(batch.motion), {NODES, HISTORY, MOTION}},
    {"target", true, false, AT(batch.target), {NODES, FUTURE, TWO}},
    {"counts", true, true, AT(batch.counts), {NODES}},
    {"edge_index", false, false, AT(edges.index), {TWO, EDGES}},
    {"edge_attr", true, false, AT(edges.attr), {EDGES, EDGE_FEATURES}},
#undef AT
};
enum { ARRAYS = sizeof arrays / sizeof *arrays };

struct reading {
    const char *path;
    struct safetensors *file;
    const struct safetensors_tensor *found[ARRAYS], *id; /* NULL: missing */
    uint64_t sizes[SIZES];
    struct content content;
};

static size_t axes_of(const struct array *array)
{
    size_t axes = 0;
    while (axes < 3 && array->shape[axes] != ENDS)
        axes++;
    return axes;
}

static size_t count_of(const struct reading *r, const struct array *array)
{
    size_t count = 1;
    for (size_t i = 0; i < axes_of(array); i++)
        count *= r->sizes[array->shape[i]];
    return count;
}

static void *field_of(struct reading *r, const struct array *array)
{
    return (char *)&r->content + array->place;
}

/* -- shapes ----------------------------------------------------------------------------------- */

static const char *const letters[SIZES] = {
    [GRAPHS] = "graphs",   [NODES] = "nodes",   [EDGES] = "edges",
    [HISTORY] = "history", [FUTURE] = "future", [OFFSETS] = "graphs + 1"};
static const char *const counted[SIZES] = {[GRAPHS] = "graphs",
                                           [NODES] = "nodes",
                                           [EDGES] = "edges",
                                           [HISTORY] = "steps of history",
                                           [FUTURE] = "steps of future"};

/* "(nodes, history, 4)". */
static const char *allowed_shape(const struct reading *r, const struct array *array, char text[128])
{
    size_t at = (size_t)snprintf(text, 128, "(");
    for (size_t i = 0; i < axes_of(array); i++) {
        const enum size size = array->shape[i];
        const char *between = i > 0 ? ", " : "";
        if (letters[size] != NULL)
            at += (size_t)snprintf(text + at, 128 - at, "%s%s", between, letters[size]);
        else
            at += (size_t)snprintf(text + at, 128 - at, "%s%" PRIu64, between, r->sizes[size]);
    }
    snprintf(text + at, 128 - at, ")");
    return text;
}

static enum yp_status wrong_shape(const struct reading *r, size_t i)
{
    const struct safetensors_tensor *is = r->found[i];
    char text[128], shape[256], sizes[256] = "";
    size_t at = 0;
    for (enum size k = GRAPHS; k <= FUTURE; k++)
        if (r->sizes[k] != UINT64_MAX)
            at += (size_t)snprintf(sizes + at, sizeof sizes - at, "%s%" PRIu64 " %s",
                                   at > 0 ? ", " : " with ", r->sizes[k], counted[k]);
    return yp_set_error(YP_INVALID, "%s: tensor '%s' is %s: must be %s%s", r->path, is->name,
                        state_shape(is->dims, is->shape, shape), allowed_shape(r, &arrays[i], text),
                        sizes);
}

/* The first tensor that has a size says it. */
static enum yp_status take_shape(struct reading *r, size_t i)
{
    const struct safetensors_tensor *is = r->found[i];
    const size_t axes = axes_of(&arrays[i]);
    bool right = is->dims == axes;
    for (size_t k = 0; k < axes && right; k++) {
        uint64_t *size = &r->sizes[arrays[i].shape[k]];
        const bool offsets = arrays[i].shape[k] == OFFSETS;
        if (offsets && is->shape[k] > 0)
            r->sizes[GRAPHS] = is->shape[k] - 1;
        if (*size == UINT64_MAX)
            *size = is->shape[k];
        right = *size == is->shape[k] && (!offsets || is->shape[k] > 0);
    }
    return right ? YP_OK : wrong_shape(r, i);
}

static enum yp_status take_type(const struct reading *r, const struct safetensors_tensor *is,
                                bool real)
{
    const bool of_reals = is->type <= SAFETENSORS_BF16;
    if (is->type != SAFETENSORS_OTHER && of_reals == real)
        return YP_OK;
    return yp_set_error(YP_INVALID, "%s: tensor '%s' is of %s: must be %s", r->path, is->name,
                        safetensors_type_name(is->type),
                        real ? "F64, F32, F16 or BF16" : "I64, I32 or U8");
}

static enum yp_status look_at(struct reading *r, size_t i)
{
    char text[128];
    r->found[i] = safetensors_find(r->file, arrays[i].name);
    if (r->found[i] == NULL && arrays[i].optional)
        return YP_OK;
    if (r->found[i] == NULL)
        return yp_set_error(YP_INVALID, "%s: has no tensor '%s' %s", r->path, arrays[i].name,
                            allowed_shape(r, &arrays[i], text));
    const enum yp_status status = take_type(r, r->found[i], arrays[i].real);
    return status == YP_OK ? take_shape(r, i) : status;
}

static enum yp_status look_at_id(struct reading *r)
{
    r->id = safetensors_find(r->file, "id");
    if (r->id == NULL)
        return YP_OK;
    if (r->id->type != SAFETENSORS_I64 || r->id->dims != 1 || r->id->shape[0] != r->sizes[GRAPHS])
        return yp_set_error(YP_INVALID,
                            "%s: tensor 'id' is of %s with %" PRIu64 " elements: must be I64 with "
                            "%" PRIu64 ", one for each graph",
                            r->path, safetensors_type_name(r->id->type),
                            safetensors_elements(r->id), r->sizes[GRAPHS]);
    return YP_OK;
}

static enum yp_status look_for_others(const struct reading *r)
{
    const struct safetensors_tensor *tensor;
    for (size_t k = 0; (tensor = safetensors_at(r->file, k)) != NULL; k++) {
        bool known = tensor == r->id;
        for (size_t i = 0; i < ARRAYS; i++)
            known = known || tensor == r->found[i];
        if (!known)
            return yp_set_error(YP_INVALID, "%s: tensor '%s' is none of a file of graphs", r->path,
                                tensor->name);
    }
    return YP_OK;
}

static enum yp_status look_at_all(struct reading *r)
{
    enum yp_status status = YP_OK;
    for (size_t i = 0; i < ARRAYS && status == YP_OK; i++)
        status = look_at(r, i);
    if (status == YP_OK)
        status = look_at_id(r);
    if (status == YP_OK)
        status = look_for_others(r);
    for (enum size k = GRAPHS; k <= FUTURE && status == YP_OK; k++)
        if (r->sizes[k] > INT32_MAX || (r->sizes[k] == 0 && k != EDGES && k != NODES))
            status = yp_set_error(YP_INVALID, "%s: %s: %" PRIu64 ": must be 1 to 2^31 - 1", r->path,
                                  letters[k], r->sizes[k]);
    return status;
}

/* -- values ----------------------------------------------------------------------------------- */

static int64_t whole(const struct safetensors_tensor *tensor, const void *values, size_t i)
{
    if (tensor->type == SAFETENSORS_I64)
        return ((const int64_t *)values)[i];
    return tensor->type == SAFETENSORS_I32 ? ((const int32_t *)values)[i]
                                           : ((const uint8_t *)values)[i];
}

static enum yp_status read_whole(const struct reading *r, const struct safetensors_tensor *tensor,
                                 size_t count, int32_t *to)
{
    int64_t values[512];
    enum yp_status status = YP_OK;
    for (size_t at = 0; at < count && status == YP_OK; at += 512) {
        const size_t some = count - at < 512 ? count - at : 512;
        status = safetensors_read(r->file, tensor, at, some, values);
        for (size_t i = 0; i < some && status == YP_OK; i++) {
            const int64_t value = whole(tensor, values, i);
            to[at + i] = (int32_t)value;
            if (to[at + i] != value)
                status = yp_set_error(YP_INVALID,
                                      "%s: tensor '%s' is %" PRId64 " at element %zu: must be "
                                      "below 2^31",
                                      r->path, tensor->name, value, at + i);
        }
    }
    return status;
}

/* What a file without the tensor means. */
static void fill(const struct array *array, size_t count, float *to)
{
    for (size_t i = 0; i < count; i++)
        to[i] = strcmp(array->name, "counts") == 0 ? 1 : -1;
}

static enum yp_status read_array(struct reading *r, size_t i, void *to)
{
    const size_t count = count_of(r, &arrays[i]);
    memcpy(field_of(r, &arrays[i]), &to, sizeof to);
    if (r->found[i] == NULL)
        fill(&arrays[i], count, to);
    else if (arrays[i].real)
        return safetensors_read_floats(r->file, r->found[i], 0, count, to);
    else
        return read_whole(r, r->found[i], count, to);
    return YP_OK;
}

/* -- edges ------------------------------------------------------------------------------------ */

/* Where edges are while they are sorted: numbers of the file's edges. */
struct order {
    int32_t *a, *b; /* (edges) */
};

/* Sorts `from` by `key` into `to`, equal ones as they were; counts into first (nodes + 1). */
static void sort_by(const int32_t *key, size_t nodes, size_t edges, const int32_t *from,
                    int32_t *to, int32_t *first)
{
    memset(first, 0, (nodes + 1) * sizeof *first);
    for (size_t k = 0; k < edges; k++)
        first[key[k] + 1]++;
    for (size_t i = 0; i < nodes; i++)
        first[i + 1] += first[i];
    for (size_t k = 0; k < edges; k++)
        to[first[key[from[k]]]++] = from[k];
    memmove(first + 1, first, nodes * sizeof *first); /* each has become where the next begins */
    first[0] = 0;
}

static enum yp_status check_edge(const struct reading *r, size_t k, int32_t begin, int32_t end)
{
    const int32_t nodes = (int32_t)r->sizes[NODES],
                  wrong = begin < 0 || begin >= nodes ? begin : end;
    if (wrong < 0 || wrong >= nodes)
        return yp_set_error(YP_INVALID,
                            "%s: tensor 'edge_index' has node %d at edge %zu: must be 0 or more, "
                            "below %d",
                            r->path, wrong, k, nodes);
    if (begin == end)
        return yp_set_error(YP_INVALID,
                            "%s: tensor 'edge_index' has a loop of node %d at edge %zu: the model "
                            "adds loops itself",
                            r->path, begin, k);
    return YP_OK;
}

/* Both orders of the batch, by end and begin and by begin and end. */
static enum yp_status sort_edges(struct reading *r, struct order order, int32_t *incoming,
                                 int32_t *source, float *edge, int32_t *outgoing, int32_t *end)
{
    const size_t n = r->sizes[NODES], e = r->sizes[EDGES];
    const int32_t *begins = r->content.edges.index, *ends = begins + e;
    enum yp_status status = YP_OK;
    for (size_t k = 0; k < e && status == YP_OK; k++) {
        status = check_edge(r, k, begins[k], ends[k]);
        order.a[k] = (int32_t)k;
    }
    if (status != YP_OK)
        return status;
    sort_by(ends, n, e, order.a, order.b, incoming);
    sort_by(begins, n, e, order.b, order.a, outgoing);
    for (size_t k = 0; k < e; k++)
        end[k] = ends[order.a[k]];
    sort_by(ends, n, e, order.a, order.b, incoming);
    for (size_t k = 0; k < e; k++) {
        const size_t from = (size_t)order.b[k];
        source[k] = begins[from];
        memcpy(edge + k * GRAPH_EDGE_FEATURES, r->content.edges.attr + from * GRAPH_EDGE_FEATURES,
               GRAPH_EDGE_FEATURES * sizeof *edge);
        if (k > 0 && source[k] == source[k - 1] && ends[from] == ends[order.b[k - 1]])
            return yp_set_error(YP_INVALID,
                                "%s: tensor 'edge_index' has an edge from node %d to node %d twice",
                                r->path, source[k], ends[from]);
    }
    r->content.batch.incoming = incoming;
    r->content.batch.source = source;
    r->content.batch.edge = edge;
    r->content.batch.outgoing = outgoing;
    r->content.batch.end = end;
    return YP_OK;
}

/* -- files ------------------------------------------------------------------------------------ */

/* Elements of four bytes behind those of id: of the file's arrays, then of sorted edges. */
static size_t elements(const struct reading *r)
{
    size_t count = 2 * (r->sizes[NODES] + 1) + r->sizes[EDGES] * (4 + GRAPH_EDGE_FEATURES);
    for (size_t i = 0; i < ARRAYS; i++)
        count += count_of(r, &arrays[i]);
    return count;
}

static enum yp_status read_all(struct reading *r, uint64_t *id)
{
    const size_t n = r->sizes[NODES], e = r->sizes[EDGES], g = r->sizes[GRAPHS];
    float *at = (float *)(id + g);
    enum yp_status status = r->id != NULL ? safetensors_read(r->file, r->id, 0, g, id) : YP_OK;
    for (size_t i = 0; i < g && r->id == NULL; i++)
        id[i] = i;
    for (size_t i = 0; i < ARRAYS && status == YP_OK; i++) {
        status = read_array(r, i, at);
        at += count_of(r, &arrays[i]);
    }
    int32_t *places = (int32_t *)(void *)(at + e * GRAPH_EDGE_FEATURES);
    const struct order order = {places + 2 * (n + 1) + 2 * e, places + 2 * (n + 1) + 3 * e};
    if (status == YP_OK)
        status = sort_edges(r, order, places, places + 2 * (n + 1), at, places + n + 1,
                            places + 2 * (n + 1) + e);
    if (status != YP_OK)
        return status;
    struct graph_batch *batch = &r->content.batch;
    batch->graphs = g;
    batch->nodes = n;
    batch->edges = e;
    batch->history = r->sizes[HISTORY];
    batch->future = r->sizes[FUTURE];
    batch->id = id;
    status = graph_check_batch(batch);
    if (status == YP_INVALID) {
        char what[512];
        snprintf(what, sizeof what, "%s", yp_last_error());
        yp_set_error(YP_INVALID, "%s: %s", r->path, what);
    }
    return status;
}

enum yp_status graph_read_file(const char *path, struct graph_batch *out)
{
    struct reading r = {.path = path,
                        .file = npz_is_one(path) ? npz_open(path) : safetensors_open(path)};
    static const uint64_t fixed[SIZES] = {[TWO] = 2,
                                          [CONTEXT] = GRAPH_CONTEXT,
                                          [FEATURES] = GRAPH_FEATURES,
                                          [MOTION] = GRAPH_MOTION,
                                          [EDGE_FEATURES] = GRAPH_EDGE_FEATURES};
    if (r.file == NULL)
        return yp_last_status();
    for (int k = 0; k < SIZES; k++)
        r.sizes[k] = fixed[k] > 0 ? fixed[k] : UINT64_MAX;
    uint64_t *memory = NULL;
    enum yp_status status = look_at_all(&r);
    if (status == YP_OK) {
        memory = yp_device_alloc(yp_device_cpu(),
                                 r.sizes[GRAPHS] * sizeof *memory + elements(&r) * sizeof(float));
        status = memory != NULL ? read_all(&r, memory) : yp_last_status();
    }
    safetensors_close(r.file);
    if (status == YP_OK)
        *out = r.content.batch;
    else
        yp_device_free(yp_device_cpu(), memory);
    return status;
}

void graph_give_back(struct graph_batch *batch)
{
    void *memory;
    memcpy(&memory, &batch->id, sizeof memory); /* the first of the piece */
    yp_device_free(yp_device_cpu(), memory);
    *batch = (struct graph_batch){.graphs = 0};
}

/* -- tensors ---------------------------------------------------------------------------------- */

bool graph_state(const void *options, size_t i, struct state_tensor *out)
{
    struct graph_tensor t;
    if (!graph_tensor(options, i, &t))
        return false;
    *out = (struct state_tensor){.axes = (size_t)t.axes,
                                 .order = {0, 1, 2},
                                 .halves = t.halves > 1 ? t.halves : 0,
                                 .vector = STATE_PARAMETERS,
                                 .offset = t.offset};
    memcpy(out->name, t.name, sizeof t.name);
    for (int axis = 0; axis < t.axes; axis++)
        out->shape[axis] = t.shape[axis];
    return true;
}

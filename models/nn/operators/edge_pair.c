/* y (e, c) = relu(a[i] + b[end]) for the edges of a graph, sorted by the node i where they begin:
 * those of node i are offset[i] to offset[i + 1] - 1 and end in node end[k]. a, b (n, c). With d =
 * dy where a + b > 0, else 0: da = the sums of d by beginning, db those by end. */
#ifndef REAL
#define NN_FILE "models/nn/operators/edge_pair.c"
enum { A, B, OFFSET, END, Y };
enum { N, C, M, E };
#include "models/nn/cuda/on_cuda.h"
#include "models/nn/fast.h"
#include "models/nn/plain.h"
#include "models/nn/segments.h"
#include "models/nn/types.h"

enum { COLUMNS = 64 }; /* that are summed at once */

/* The edges from one node on. */
NN_LOOPS pairs_loops(enum nn_type type, const void *a, const void *b, const int32_t *end,
                     size_t edges, size_t c, void *restrict y)
{
    for (size_t k = 0; k < edges; k++) {
        const void *other = nn_from(b, (size_t)end[k] * c, type);
        void *row = nn_from(y, k * c, type);
        for (size_t i = 0; i < c; i++) {
            const float sum = nn_get(a, i, type) + nn_get(other, i, type);
            nn_put(row, i, sum < 0 ? 0 : sum, type);
        }
    }
}
NN_TYPED_KERNEL(pairs,
                (const void *a, const void *b, const int32_t *end, size_t edges, size_t c, void *y),
                (a, b, end, edges, c, y))

/* The gradient of a node's row `own` of a or b: of `edges` edges, the numbers order[k] or, without
 * an order, k; `node` has for each edge the other array's row. */
NN_LOOPS slopes_loops(enum nn_type type, const void *own, const void *other, const int32_t *node,
                      const int32_t *order, size_t begin, size_t end, const void *dy, size_t c,
                      bool add, void *restrict dx)
{
    for (size_t at = 0; at < c; at += COLUMNS) {
        float sum[COLUMNS] = {0};
        const size_t width = nn_least(COLUMNS, c - at);
        for (size_t k = begin; k < end; k++) {
            const size_t edge = order != NULL ? (size_t)order[k] : k;
            const void *row = nn_from(other, (size_t)node[edge] * c + at, type);
            const void *slope = nn_from(dy, edge * c + at, type);
            for (size_t i = 0; i < width; i++)
                sum[i] += nn_get(own, at + i, type) + nn_get(row, i, type) <= 0
                              ? 0
                              : nn_get(slope, i, type);
        }
        for (size_t i = 0; i < width; i++)
            nn_put(dx, at + i, sum[i] + (add ? nn_get(dx, at + i, type) : 0), type);
    }
}
NN_TYPED_KERNEL(slopes,
                (const void *own, const void *other, const int32_t *node, const int32_t *order,
                 size_t begin, size_t end, const void *dy, size_t c, bool add, void *dx),
                (own, other, node, order, begin, end, dy, c, add, dx))

static bool many(const struct nn_shape *shape)
{
    return shape->size[E] * shape->size[C] > NN_FEW * NN_CHUNK;
}

static enum yp_status forward_in(const struct nn_call *call, enum nn_type type)
{
    const size_t *size = call->shape->size, c = size[C];
    const int32_t *offset = call->value[OFFSET], *end = call->value[END];
    enum yp_status status = nn_check_offsets("edge_pair", "offset", offset, size[N], size[E]);
    if (status == YP_OK)
        status = nn_check_indices("edge_pair", "end", end, size[E], size[N]);
    if (status != YP_OK)
        return status;
    pairs_kernel *kernel = best_pairs(type);
    NN_PARALLEL_FOR(many(call->shape), i, size[N], 1, {
        const size_t at = (size_t)offset[i];
        kernel(nn_from(call->value[A], i * c, type), call->value[B], end + at,
               (size_t)offset[i + 1] - at, c, nn_from(call->value[Y], at * c, type));
    });
    return YP_OK;
}

static size_t work(const struct nn_shape *shape)
{
    const size_t *size = shape->size;
    return nn_index_bytes(size[E], size[N]) + size[E] * sizeof(int32_t);
}

/* The gradient of tensor `own`, from what each node's edges are and which node the other is. */
static void vjp_of(const struct nn_call *call, enum nn_type type, int own,
                   const struct nn_segments *edges, const int32_t *node)
{
    const size_t c = call->shape->size[C];
    const void *other = call->value[own == A ? B : A];
    slopes_kernel *kernel = best_slopes(type);
    NN_PARALLEL_FOR(many(call->shape), i, edges->n, 1,
                    kernel(nn_from(call->value[own], i * c, type), other, node, edges->order,
                           (size_t)edges->offset[i], (size_t)edges->offset[i + 1],
                           call->gradient[Y], c, nn_adds(call, own),
                           nn_from(call->gradient[own], i * c, type)));
}

static enum yp_status vjp_in(const struct nn_call *call, enum nn_type type)
{
    const size_t *size = call->shape->size;
    const struct nn_segments beginning = {.n = size[N], .offset = call->value[OFFSET]};
    if (call->gradient[A] != NULL)
        vjp_of(call, type, A, &beginning, call->value[END]);
    if (call->gradient[B] == NULL)
        return YP_OK;
    int32_t *from = (int32_t *)((char *)call->work + nn_index_bytes(size[E], size[N]));
    for (size_t i = 0; i < size[N]; i++)
        for (size_t k = (size_t)beginning.offset[i]; k < (size_t)beginning.offset[i + 1]; k++)
            from[k] = (int32_t)i;
    const struct nn_segments ending =
        nn_index_segments(call->value[END], size[E], size[N], call->work);
    vjp_of(call, type, B, &ending, from);
    return YP_OK;
}

NN_EACH_TYPE

static struct nn_cuda_edge_pair job_of(const struct nn_call *call, enum nn_type type)
{
    const size_t *size = call->shape->size;
    return (struct nn_cuda_edge_pair){.n = size[N],
                                      .c = size[C],
                                      .e = size[E],
                                      .type = type,
                                      .add_da = nn_adds(call, A),
                                      .add_db = nn_adds(call, B),
                                      .offset = call->value[OFFSET],
                                      .end = call->value[END],
                                      .a = call->value[A],
                                      .b = call->value[B],
                                      .dy = call->gradient[Y],
                                      .y = call->value[Y],
                                      .da = call->gradient[A],
                                      .db = call->gradient[B]};
}

NN_ON_CUDA_BY_JOB(edge_pair, struct nn_cuda_edge_pair)

static double flops(const struct nn_shape *shape, enum nn_pass pass)
{
    return (pass == NN_VJP ? 6.0 : 2.0) * (double)shape->size[E] * (double)shape->size[C];
}

const struct nn_operator nn_edge_pair = {
    .name = "edge_pair",
    .dims = "ncme",
    /* The sum is never near the kink. */
    .tensors = {{"a", "nc", .role = NN_INPUT, .adds = true,
                 .domain = {NN_WHOLE, .low = -2, .high = 3}},
                {"b", "nc", .role = NN_INPUT, .adds = true,
                 .domain = {NN_UNIFORM, .low = 0.25, .high = 0.75}},
                {"offset", "m", .role = NN_CONSTANT, .type = NN_INT32,
                 .domain = {NN_OFFSETS, .below = 'e'}},
                {"end", "e", .role = NN_CONSTANT, .type = NN_INT32,
                 .domain = {NN_WHOLE, .below = 'n'}},
                {"y", "ec", .role = NN_OUTPUT}},
    .shapes = {{"one", .size = {1, 1, 2, 1}},
               {"odd", .size = {3, 7, 4, 200}},
               {"small", .size = {32, 64, 33, 256}},
               {"medium", .size = {352, 256, 353, 7000}}},
    NN_PLAIN,
    .flops = flops,
    NN_EACH_VERSION(work, NULL, "bbffb", "bbffb"),
};

#else
static void NAME(forward)(const struct nn_call *call)
{
    const size_t *size = call->shape->size;
    const int32_t *offset = call->value[OFFSET], *end = call->value[END];
    const REAL *a = call->value[A], *b = call->value[B];
    REAL *y = call->value[Y];
    for (size_t i = 0; i < size[N]; i++)
        for (size_t k = (size_t)offset[i]; k < (size_t)offset[i + 1]; k++)
            for (size_t c = 0; c < size[C]; c++) {
                const REAL sum = a[i * size[C] + c] + b[(size_t)end[k] * size[C] + c];
                y[k * size[C] + c] = sum < 0 ? 0 : sum;
            }
}

static void NAME(vjp)(const struct nn_call *call)
{
    const size_t *size = call->shape->size;
    const int32_t *offset = call->value[OFFSET], *end = call->value[END];
    const REAL *a = call->value[A], *b = call->value[B], *dy = call->gradient[Y];
    REAL *da = call->gradient[A], *db = call->gradient[B];
    memset(da, 0, size[N] * size[C] * sizeof *da);
    memset(db, 0, size[N] * size[C] * sizeof *db);
    for (size_t i = 0; i < size[N]; i++)
        for (size_t k = (size_t)offset[i]; k < (size_t)offset[i + 1]; k++)
            for (size_t c = 0; c < size[C]; c++) {
                const size_t from = i * size[C] + c, to = (size_t)end[k] * size[C] + c;
                const REAL slope = a[from] + b[to] <= 0 ? 0 : dy[k * size[C] + c];
                da[from] += slope;
                db[to] += slope;
            }
}
#endif

/* y (n, d) = rows of table (v, d) by token (n). dtable = for each row the sum of dy's rows whose
 * token it is. */
#ifndef REAL
#define NN_FILE "models/nn/operators/embedding.c"
enum { TABLE, TOKEN, Y };
enum { N, V, D };
#include "models/nn/cuda/on_cuda.h"
#include "models/nn/fast.h"
#include "models/nn/plain.h"
#include "models/nn/types.h"

enum { STRIPE = 64 }; /* columns that one thread adds up, of all rows in their order */

NN_LOOPS add_row_loops(enum nn_type type, const void *dy, size_t n, float *restrict sum)
{
    for (size_t i = 0; i < n; i++)
        sum[i] += nn_get(dy, i, type);
}
NN_TYPED_KERNEL(add_row, (const void *dy, size_t n, float *sum), (dy, n, sum))

static enum yp_status forward_in(const struct nn_call *call, enum nn_type type)
{
    const size_t *size = call->shape->size;
    const int32_t *token = call->value[TOKEN];
    size_t bytes = size[D] * (nn_16_bits(type) ? sizeof(uint16_t) : sizeof(float));
    enum yp_status status = nn_check_indices("embedding", "token", token, size[N], size[V]);
    if (status != YP_OK)
        return status;
    NN_PARALLEL_FOR(size[N] * size[D] > NN_FEW * NN_CHUNK, i, size[N], 1,
                    memcpy(nn_from(call->value[Y], i * size[D], type),
                           nn_from(call->value[TABLE], (size_t)token[i] * size[D], type), bytes));
    return YP_OK;
}

static enum yp_status vjp_in(const struct nn_call *call, enum nn_type type)
{
    const size_t *size = call->shape->size;
    const int32_t *token = call->value[TOKEN];
    float *dtable = call->gradient[TABLE];
    add_row_kernel *kernel = best_add_row(type);
    if (dtable == NULL)
        return YP_OK;
    if (!nn_adds(call, TABLE))
        nn_zero(dtable, size[V] * size[D] * sizeof(float));
    NN_PARALLEL_FOR(size[N] * size[D] > NN_FEW * NN_CHUNK, at, size[D], STRIPE, {
        for (size_t i = 0; i < size[N]; i++)
            kernel(nn_from(call->gradient[Y], i * size[D] + at, type),
                   nn_least(STRIPE, size[D] - at), dtable + (size_t)token[i] * size[D] + at);
    });
    return YP_OK;
}

NN_EACH_TYPE

static struct nn_cuda_embedding job_of(const struct nn_call *call, enum nn_type type)
{
    const size_t *size = call->shape->size;
    return (struct nn_cuda_embedding){size[N],
                                      size[V],
                                      size[D],
                                      type,
                                      nn_adds(call, TABLE),
                                      call->value[TOKEN],
                                      call->value[TABLE],
                                      call->gradient[Y],
                                      call->value[Y],
                                      call->gradient[TABLE]};
}

static enum yp_status forward_on(const struct nn_cuda *cuda, const struct nn_call *call,
                                 enum nn_type type)
{
    const struct nn_cuda_embedding job = job_of(call, type);
    return cuda->embedding[NN_FORWARD](call->device, &job);
}

static enum yp_status vjp_on(const struct nn_cuda *cuda, const struct nn_call *call,
                             enum nn_type type)
{
    const struct nn_cuda_embedding job = job_of(call, type);
    return job.dtable != NULL ? cuda->embedding[NN_VJP](call->device, &job) : (enum yp_status)YP_OK;
}

NN_ON_CUDA

static double flops(const struct nn_shape *shape, enum nn_pass pass)
{
    return pass == NN_VJP ? (double)shape->size[N] * (double)shape->size[D] : 1; /* copies */
}

/* The table's rows that are read; its gradient is written whole, and then what is added. */
static double bytes(const struct nn_shape *shape, enum nn_pass pass,
                    const struct nn_version *version)
{
    const size_t *size = shape->size;
    double rows = (double)size[N] * (double)size[D];
    double element = (double)nn_type_bytes(nn_value_type(&nn_embedding, version, Y));
    double tokens = (double)size[N] * sizeof(int32_t);
    if (pass == NN_FORWARD)
        return tokens + 2 * rows * element;
    double gradient = (double)nn_type_bytes(nn_gradient_type(&nn_embedding, version, TABLE));
    return tokens + rows * element + ((double)size[V] * (double)size[D] + 2 * rows) * gradient;
}

const struct nn_operator nn_embedding = {
    .name = "embedding",
    .dims = "nvd",
    .tensors = {{"table", "vd", .role = NN_PARAMETER, .unread = true, .adds = true},
                {"token", "n", .role = NN_CONSTANT, .type = NN_INT32,
                 .domain = {NN_WHOLE, .below = 'v'}},
                {"y", "nd", .role = NN_OUTPUT}},
    .shapes = {{"one", .size = {1, 1, 1}},
               {"odd", .size = {9, 5, 7}},
               {"small", .size = {128, 256, 64}},
               {"medium", .size = {2048, 10000, 512}}},
    NN_PLAIN,
    .flops = flops,
    .bytes = bytes,
    NN_EACH_VERSION(NULL, NULL, "bfb", "ffb"),
};

#else
static void NAME(forward)(const struct nn_call *call)
{
    const size_t *size = call->shape->size;
    const REAL *table = call->value[TABLE];
    const int32_t *token = call->value[TOKEN];
    REAL *y = call->value[Y];
    for (size_t i = 0; i < size[N]; i++)
        for (size_t k = 0; k < size[D]; k++)
            y[i * size[D] + k] = table[(size_t)token[i] * size[D] + k];
}

static void NAME(vjp)(const struct nn_call *call)
{
    const size_t *size = call->shape->size;
    const int32_t *token = call->value[TOKEN];
    const REAL *dy = call->gradient[Y];
    REAL *dtable = call->gradient[TABLE];
    memset(dtable, 0, size[V] * size[D] * sizeof *dtable);
    for (size_t i = 0; i < size[N]; i++)
        for (size_t k = 0; k < size[D]; k++)
            dtable[(size_t)token[i] * size[D] + k] += dy[i * size[D] + k];
}
#endif

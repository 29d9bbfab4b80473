/* y (n) = a + b, of the same size. da = db = dy. */
#ifndef REAL
#define NN_FILE "models/nn/operators/add.c"
enum { A, B, Y };
enum { N };
#include "models/nn/cuda/on_cuda.h"
#include "models/nn/fast.h"
#include "models/nn/plain.h"
#include "models/nn/types.h"

NN_LOOPS sums_loops(enum nn_type type, const void *a, const void *b, size_t n, void *restrict y)
{
    for (size_t i = 0; i < n; i++)
        nn_put(y, i, nn_get(a, i, type) + nn_get(b, i, type), type);
}
NN_TYPED_KERNEL(sums, (const void *a, const void *b, size_t n, void *y), (a, b, n, y))

static enum yp_status forward_in(const struct nn_call *call, enum nn_type type)
{
    sums_kernel *kernel = best_sums(type);
    size_t n = call->shape->size[N];
    NN_PARALLEL_FOR(n > NN_FEW * NN_CHUNK, at, n, NN_CHUNK,
                    kernel(nn_from(call->value[A], at, type), nn_from(call->value[B], at, type),
                           nn_least(NN_CHUNK, n - at), nn_from(call->value[Y], at, type)));
    return YP_OK;
}

static enum yp_status vjp_in(const struct nn_call *call, enum nn_type type)
{
    size_t bytes = call->shape->size[N] * (nn_16_bits(type) ? sizeof(uint16_t) : sizeof(float));
    for (int i = A; i <= B; i++)
        if (call->gradient[i] != NULL)
            memcpy(call->gradient[i], call->gradient[Y], bytes);
    return YP_OK;
}

NN_EACH_TYPE

static enum yp_status forward_on(const struct nn_cuda *cuda, const struct nn_call *call,
                                 enum nn_type type)
{
    const struct nn_cuda_add job = {call->shape->size[N], type, call->value[A], call->value[B],
                                    call->value[Y]};
    return cuda->add(call->device, &job);
}

static enum yp_status vjp_on(const struct nn_cuda *cuda, const struct nn_call *call,
                             enum nn_type type)
{
    enum yp_status status = YP_OK;
    for (int i = A; i <= B && status == YP_OK; i++) {
        const struct nn_cuda_add copy = {call->shape->size[N], type, call->gradient[Y], NULL,
                                         call->gradient[i]};
        if (copy.y != NULL)
            status = cuda->add(call->device, &copy);
    }
    return status;
}

NN_ON_CUDA

static double flops(const struct nn_shape *shape, enum nn_pass pass)
{
    return pass == NN_VJP ? 1 : (double)shape->size[N]; /* copies */
}

const struct nn_operator nn_add = {
    .name = "add",
    .dims = "n",
    .tensors = {{"a", "n", .role = NN_INPUT, .unread = true},
                {"b", "n", .role = NN_INPUT, .unread = true},
                {"y", "n", .role = NN_OUTPUT}},
    .passes = true,
    NN_LINE_SHAPES(0),
    NN_PLAIN,
    .flops = flops,
    NN_EACH_VERSION(NULL, NULL, "bbb", "bbb"),
};

#else
static void NAME(forward)(const struct nn_call *call)
{
    const REAL *a = call->value[A], *b = call->value[B];
    REAL *y = call->value[Y];
    for (size_t i = 0; i < call->shape->size[N]; i++)
        y[i] = a[i] + b[i];
}

static void NAME(vjp)(const struct nn_call *call)
{
    const REAL *dy = call->gradient[Y];
    REAL *da = call->gradient[A], *db = call->gradient[B];
    for (size_t i = 0; i < call->shape->size[N]; i++)
        da[i] = db[i] = dy[i];
}
#endif

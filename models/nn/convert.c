#include "models/nn/convert.h"

#include "models/nn/fast.h"
#include "models/nn/types.h"

NN_LOOPS widen_loops(enum nn_type type, const void *values, size_t n, float *restrict out)
{
    for (size_t i = 0; i < n; i++)
        out[i] = nn_get(values, i, type);
}
NN_TYPED_KERNEL(widen, (const void *values, size_t n, float *out), (values, n, out))

NN_LOOPS widen_int8_loops(const int8_t *small, size_t n, float *restrict out)
{
    for (size_t i = 0; i < n; i++)
        out[i] = small[i];
}
NN_KERNEL(widen_int8, (const int8_t *small, size_t n, float *out), (small, n, out))

NN_LOOPS narrow_loops(enum nn_type type, const float *value, size_t n, void *restrict out)
{
    for (size_t i = 0; i < n; i++)
        nn_put(out, i, value[i], type);
}
NN_TYPED_KERNEL(narrow, (const float *value, size_t n, void *out), (value, n, out))

NN_LOOPS round_bf16_loops(const float *value, size_t n, float *out)
{
    for (size_t i = 0; i < n; i++)
        out[i] = nn_from_bf16(nn_to_bf16(value[i]));
}
NN_KERNEL(round_bf16, (const float *value, size_t n, float *out), (value, n, out))

NN_LOOPS round_fp16_loops(const float *value, size_t n, float *out)
{
    for (size_t i = 0; i < n; i++)
        out[i] = nn_as_fp16(value[i]);
}
NN_KERNEL(round_fp16, (const float *value, size_t n, float *out), (value, n, out))

void nn_widen(const void *values, enum nn_type type, size_t count, float *out)
{
    widen_kernel *kernel = best_widen(type);
    NN_PARALLEL_FOR(count > NN_FEW * NN_CHUNK, at, count, NN_CHUNK,
                    kernel(nn_from(values, at, type), nn_least(NN_CHUNK, count - at), out + at));
}

void nn_widen_int8(const int8_t *small, size_t count, float *out)
{
    widen_int8_kernel *kernel = best_widen_int8();
    NN_PARALLEL_FOR(count > NN_FEW * NN_CHUNK, at, count, NN_CHUNK,
                    kernel(small + at, nn_least(NN_CHUNK, count - at), out + at));
}

void nn_narrow(const float *value, size_t count, enum nn_type type, void *out)
{
    narrow_kernel *kernel = best_narrow(type);
    NN_PARALLEL_FOR(count > NN_FEW * NN_CHUNK, at, count, NN_CHUNK,
                    kernel(value + at, nn_least(NN_CHUNK, count - at), nn_from(out, at, type)));
}

void nn_round_bf16(const float *value, size_t count, float *out)
{
    best_round_bf16()(value, count, out);
}

void nn_round_fp16(const float *value, size_t count, float *out)
{
    best_round_fp16()(value, count, out);
}

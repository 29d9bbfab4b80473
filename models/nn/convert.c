#include "models/nn/convert.h"

#include "models/nn/fast.h"
#include "models/nn/types.h"

NN_LOOPS widen_loops(const uint16_t *bf16, size_t n, float *restrict out)
{
    for (size_t i = 0; i < n; i++)
        out[i] = nn_from_bf16(bf16[i]);
}
NN_KERNEL(widen, (const uint16_t *bf16, size_t n, float *out), (bf16, n, out))

NN_LOOPS widen_int8_loops(const int8_t *small, size_t n, float *restrict out)
{
    for (size_t i = 0; i < n; i++)
        out[i] = small[i];
}
NN_KERNEL(widen_int8, (const int8_t *small, size_t n, float *out), (small, n, out))

NN_LOOPS narrow_loops(const float *value, size_t n, uint16_t *restrict out)
{
    for (size_t i = 0; i < n; i++)
        out[i] = nn_to_bf16(value[i]);
}
NN_KERNEL(narrow, (const float *value, size_t n, uint16_t *out), (value, n, out))

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

void nn_widen(const uint16_t *bf16, size_t count, float *out)
{
    widen_kernel *kernel = best_widen();
    NN_PARALLEL_FOR(count > NN_FEW * NN_CHUNK, at, count, NN_CHUNK,
                    kernel(bf16 + at, nn_least(NN_CHUNK, count - at), out + at));
}

void nn_widen_int8(const int8_t *small, size_t count, float *out)
{
    widen_int8_kernel *kernel = best_widen_int8();
    NN_PARALLEL_FOR(count > NN_FEW * NN_CHUNK, at, count, NN_CHUNK,
                    kernel(small + at, nn_least(NN_CHUNK, count - at), out + at));
}

void nn_narrow(const float *value, size_t count, uint16_t *out)
{
    narrow_kernel *kernel = best_narrow();
    NN_PARALLEL_FOR(count > NN_FEW * NN_CHUNK, at, count, NN_CHUNK,
                    kernel(value + at, nn_least(NN_CHUNK, count - at), out + at));
}

void nn_round_bf16(const float *value, size_t count, float *out)
{
    best_round_bf16()(value, count, out);
}

void nn_round_fp16(const float *value, size_t count, float *out)
{
    best_round_fp16()(value, count, out);
}

/* y (n, r, c) = x m with m = 1 / (1 - rate), or 0 with the probability `rate` (Srivastava et al.,
 * "Dropout", 2014). m of an element is a function of its row's key (n, 2), the lower 32 bits first,
 * of the layer and of its place in the row (r, c): word `place` of the stream with that key as seed
 * and that layer as subsequence (base/random/philox.h) is at least rate 2^32. So it does not matter
 * which rows a batch has, and the vjp, dx = dy m, makes the same m again. `whole` = 1: word 0
 * decides for the row ("stochastic depth": Huang et al., 2016). */
#ifndef REAL
#define NN_FILE "models/nn/operators/dropout.c"
enum { X, KEY, Y };
enum { N, R, C, K };
enum { RATE, LAYER, WHOLE };
#include "base/random/philox.h"
#include "models/nn/operator.h"

/* Words below it are of elements that are left out. */
static uint32_t threshold(const struct nn_shape *shape)
{
    return (uint32_t)(shape->setting[RATE] * 0x1p32);
}

static struct ypi_stream stream_of(const struct nn_call *call, size_t row)
{
    const int32_t *key = (const int32_t *)call->value[KEY] + 2 * row;
    return (struct ypi_stream){(uint64_t)(uint32_t)key[1] << 32 | (uint32_t)key[0],
                               (uint64_t)call->shape->setting[LAYER]};
}

#include "base/random/stream.h"
#include "models/nn/fast.h"
#include "models/nn/plain.h"
#include "models/nn/types.h"

enum { WORDS = 1024 }; /* that are made at once */

/* y = x m, or y + x m. A NaN stays one where m is 0, too. */
NN_LOOPS keep_loops(bool bf16, const void *x, const uint32_t *word, uint32_t least, float factor,
                    size_t n, bool add, void *restrict y)
{
    for (size_t i = 0; i < n; i++) {
        const float value = nn_get(x, i, bf16) * (word[i] >= least ? factor : 0);
        nn_put(y, i, add ? nn_get(y, i, bf16) + value : value, bf16);
    }
}
NN_TYPED_KERNEL(keep,
                (const void *x, const uint32_t *word, uint32_t least, float factor, size_t n,
                 bool add, void *y),
                (x, word, least, factor, n, add, y))

/* Of one row. */
static void drop(const struct nn_call *call, bool bf16, size_t row, const void *from, bool add,
                 void *to)
{
    const size_t *size = call->shape->size, count = size[R] * size[C];
    const float factor = (float)(1 / (1 - call->shape->setting[RATE]));
    const struct ypi_stream stream = stream_of(call, row);
    keep_kernel *keep = best_keep(bf16);
    uint32_t word[WORDS] = {0};
    if (call->shape->setting[WHOLE] != 0) {
        ypi_random_words(YPI_LEVEL_AUTO, stream, 0, 1, word);
        for (size_t i = 1; i < WORDS; i++)
            word[i] = word[0];
    }
    for (size_t at = 0; at < count; at += WORDS) {
        const size_t n = nn_least(WORDS, count - at), place = row * count + at;
        if (call->shape->setting[WHOLE] == 0)
            ypi_random_words(YPI_LEVEL_AUTO, stream, at, n, word);
        keep(nn_from(from, place, bf16), word, threshold(call->shape), factor, n, add,
             nn_from(to, place, bf16));
    }
}

static enum yp_status drop_all(const struct nn_call *call, bool bf16, const void *from, bool add,
                               void *to)
{
    const size_t *size = call->shape->size;
    const double rate = call->shape->setting[RATE];
    if (!(rate >= 0 && rate < 1))
        return yp_set_error(YP_INVALID, "dropout: rate is %g: must be at least 0 and below 1",
                            rate);
    NN_PARALLEL_FOR(size[N] * size[R] * size[C] > NN_CHUNK, i, size[N], 1,
                    drop(call, bf16, i, from, add, to));
    return YP_OK;
}

static enum yp_status forward_in(const struct nn_call *call, bool bf16)
{
    return drop_all(call, bf16, call->value[X], false, call->value[Y]);
}

static enum yp_status vjp_in(const struct nn_call *call, bool bf16)
{
    if (call->gradient[X] == NULL)
        return YP_OK;
    return drop_all(call, bf16, call->gradient[Y], nn_adds(call, X), call->gradient[X]);
}

NN_BOTH_TYPES

/* A block of four words takes ten rounds of two products, which are counted as operations. */
static double flops(const struct nn_shape *shape, enum nn_pass pass)
{
    const size_t *size = shape->size;
    (void)pass;
    return (double)(size[N] * size[R] * size[C]) *
           (shape->setting[WHOLE] != 0 ? 1 : 1 + 10 * 6 / 4);
}

const struct nn_operator nn_dropout = {
    .name = "dropout",
    .dims = "nrck",
    .settings = {"rate", "layer", "whole"},
    .tensors = {{"x", "nrc", .role = NN_INPUT, .adds = true, .unread = true},
                {"key", "nk", .role = NN_CONSTANT, .type = NN_INT32,
                 .domain = {NN_WHOLE, .low = INT32_MIN, .high = INT32_MAX}},
                {"y", "nrc", .role = NN_OUTPUT}},
    .shapes = {{"one", .size = {1, 1, 1, 2}, .setting = {0, 0, 0}},
               {"odd", .size = {5, 3, 7, 2}, .setting = {0.25, 3, 0}},
               {"small", .size = {16, 10, 64, 2}, .setting = {0.1, 1, 0}},
               {"medium", .size = {352, 160, 64, 2}, .setting = {0.1, 7, 0}},
               {"whole", .size = {9, 2, 7, 2}, .setting = {0.5, 2, 1}}},
    NN_PLAIN,
    .flops = flops,
    .versions = {{NN_FP32, "cpu", .forward = forward, .vjp = vjp},
                 {NN_BF16, "cpu", .forward = forward_bf16, .vjp = vjp_bf16, .types = "bfb",
                  .gradients = "bfb"}},
};

#else
static void NAME(drop)(const struct nn_call *call, const REAL *from, REAL *to)
{
    const size_t *size = call->shape->size, count = size[R] * size[C];
    const REAL factor = 1 / (1 - (REAL)call->shape->setting[RATE]);
    for (size_t i = 0; i < size[N]; i++)
        for (size_t k = 0; k < count; k++) {
            uint32_t words[4];
            const size_t place = call->shape->setting[WHOLE] != 0 ? 0 : k;
            ypi_philox_block(stream_of(call, i), place / 4, words);
            to[i * count + k] =
                from[i * count + k] * (words[place % 4] >= threshold(call->shape) ? factor : 0);
        }
}

static void NAME(forward)(const struct nn_call *call)
{
    NAME(drop)(call, call->value[X], call->value[Y]);
}

static void NAME(vjp)(const struct nn_call *call)
{
    NAME(drop)(call, call->gradient[Y], call->gradient[X]);
}
#endif

/* Rotary positions (Su et al., "RoFormer", 2021): every pair of x (b, t, h, e), e even, is turned
 * by an angle of its own that grows with the position t. Pairs are neighbours in x, and the output
 * has all first halves, then all second ones: with e = 2p,
 *     y[i] = x[2i] cos[i] - x[2i + 1] sin[i],   y[p + i] = x[2i] sin[i] + x[2i + 1] cos[i].
 * dx turns dy back. The angles' cosines and sines, (t, p) each, are inputs: nn_rope_angles(). */
#ifndef REAL
#define NN_FILE "models/nn/operators/rope.c"
enum { X, COS, SIN, Y };
enum { B, T, H, E, P };
#include "models/nn/operators/rope.h"
#include "models/nn/cuda/on_cuda.h"
#include "models/nn/fast.h"
#include "models/nn/plain.h"
#include "models/nn/types.h"

void nn_rope_angles(size_t t, size_t p, double theta, double *cosine, double *sine)
{
    for (size_t at = 0; at < t; at++)
        for (size_t i = 0; i < p; i++) {
            double angle = (double)at * pow(theta, -(double)i / (double)p);
            cosine[at * p + i] = cos(angle);
            sine[at * p + i] = sin(angle);
        }
}

static inline float from_16(uint32_t bits, enum nn_type type)
{
    return type == NN_BFLOAT16 ? nn_from_bf16((uint16_t)bits) : nn_from_fp16((uint16_t)bits);
}

static inline uint32_t to_16(float value, enum nn_type type)
{
    return type == NN_BFLOAT16 ? nn_to_bf16(value) : nn_to_fp16(value);
}

/* Pair i of an array; those of 16 bits are a word each, which vector code is made of. */
static inline void get_pair(const void *x, size_t i, enum nn_type type, float *first, float *second)
{
    if (nn_16_bits(type)) {
        uint32_t both;
        memcpy(&both, (const uint16_t *)x + 2 * i, sizeof both);
        *first = from_16(both & 0xffffU, type);
        *second = from_16(both >> 16, type);
    } else {
        *first = ((const float *)x)[2 * i];
        *second = ((const float *)x)[2 * i + 1];
    }
}

static inline void put_pair(void *x, size_t i, float first, float second, enum nn_type type)
{
    if (nn_16_bits(type)) {
        uint32_t both = to_16(first, type) | to_16(second, type) << 16;
        memcpy((uint16_t *)x + 2 * i, &both, sizeof both);
    } else {
        ((float *)x)[2 * i] = first;
        ((float *)x)[2 * i + 1] = second;
    }
}

NN_LOOPS turn_loops(enum nn_type type, const void *x, const float *cosine, const float *sine,
                    size_t p, void *restrict y)
{
#pragma omp simd
    for (size_t i = 0; i < p; i++) {
        float first, second;
        get_pair(x, i, type, &first, &second);
        nn_put(y, i, first * cosine[i] - second * sine[i], type);
        nn_put(y, p + i, first * sine[i] + second * cosine[i], type);
    }
}
NN_TYPED_KERNEL(turn, (const void *x, const float *cosine, const float *sine, size_t p, void *y),
                (x, cosine, sine, p, y))

NN_LOOPS turn_back_loops(enum nn_type type, const void *dy, const float *cosine, const float *sine,
                         size_t p, void *restrict dx)
{
#pragma omp simd
    for (size_t i = 0; i < p; i++) {
        float first = nn_get(dy, i, type), second = nn_get(dy, p + i, type);
        put_pair(dx, i, first * cosine[i] + second * sine[i], second * cosine[i] - first * sine[i],
                 type);
    }
}
NN_TYPED_KERNEL(turn_back,
                (const void *dy, const float *cosine, const float *sine, size_t p, void *dx),
                (dy, cosine, sine, p, dx))

/* All heads of all positions, from one array to another. */
static void turn_all(const struct nn_call *call, turn_kernel *kernel, enum nn_type type,
                     const void *from, void *to)
{
    const size_t *size = call->shape->size;
    const float *cosine = call->value[COS], *sine = call->value[SIN];
    size_t width = size[H] * size[E];
    NN_PARALLEL_FOR(size[B] * size[T] * width > NN_FEW * NN_CHUNK, at, size[B] * size[T], 1, {
        for (size_t h = 0; h < size[H]; h++)
            kernel(nn_from(from, at * width + h * size[E], type), cosine + at % size[T] * size[P],
                   sine + at % size[T] * size[P], size[P],
                   nn_from(to, at * width + h * size[E], type));
    });
}

static enum yp_status forward_in(const struct nn_call *call, enum nn_type type)
{
    turn_all(call, best_turn(type), type, call->value[X], call->value[Y]);
    return YP_OK;
}

static enum yp_status vjp_in(const struct nn_call *call, enum nn_type type)
{
    if (call->gradient[X] != NULL)
        turn_all(call, best_turn_back(type), type, call->gradient[Y], call->gradient[X]);
    return YP_OK;
}

NN_EACH_TYPE

static enum yp_status turn_on(const struct nn_cuda *cuda, const struct nn_call *call,
                              enum nn_type type, bool back)
{
    const size_t *size = call->shape->size;
    const struct nn_cuda_rope job = {size[B],
                                     size[T],
                                     size[H],
                                     size[E],
                                     type,
                                     back,
                                     back ? call->gradient[Y] : call->value[X],
                                     call->value[COS],
                                     call->value[SIN],
                                     back ? call->gradient[X] : call->value[Y]};
    return job.y != NULL ? cuda->rope(call->device, &job) : (enum yp_status)YP_OK;
}

static enum yp_status forward_on(const struct nn_cuda *cuda, const struct nn_call *call,
                                 enum nn_type type)
{
    return turn_on(cuda, call, type, false);
}

static enum yp_status vjp_on(const struct nn_cuda *cuda, const struct nn_call *call,
                             enum nn_type type)
{
    return turn_on(cuda, call, type, true);
}

NN_ON_CUDA

static double flops(const struct nn_shape *shape, enum nn_pass pass)
{
    const size_t *size = shape->size;
    (void)pass;
    return 3.0 * (double)(size[B] * size[T]) * (double)(size[H] * size[E]);
}

const struct nn_operator nn_rope = {
    .name = "rope",
    .dims = "bthep",
    .tensors = {{"x", "bthe", .role = NN_INPUT, .unread = true},
                {"cos", "tp", .role = NN_CONSTANT, .domain = {NN_UNIFORM, .low = -1, .high = 1}},
                {"sin", "tp", .role = NN_CONSTANT, .domain = {NN_UNIFORM, .low = -1, .high = 1}},
                {"y", "bthe", .role = NN_OUTPUT}},
    .shapes = {{"one", .size = {1, 1, 1, 2, 1}},
               {"odd", .size = {2, 3, 3, 6, 3}},
               {"small", .size = {1, 64, 4, 32, 16}},
               {"medium", .size = {4, 512, 12, 64, 32}}},
    NN_PLAIN,
    .flops = flops,
    NN_EACH_VERSION(NULL, NULL, "bffb", "bffb"),
};

#else
static void NAME(forward)(const struct nn_call *call)
{
    const size_t *size = call->shape->size;
    const REAL *x = call->value[X], *cosine = call->value[COS], *sine = call->value[SIN];
    REAL *y = call->value[Y];
    for (size_t at = 0; at < size[B] * size[T] * size[H]; at++, x += size[E], y += size[E])
        for (size_t i = 0, p = size[P]; i < p; i++) {
            size_t angle = at / size[H] % size[T] * p + i;
            y[i] = x[2 * i] * cosine[angle] - x[2 * i + 1] * sine[angle];
            y[p + i] = x[2 * i] * sine[angle] + x[2 * i + 1] * cosine[angle];
        }
}

static void NAME(vjp)(const struct nn_call *call)
{
    const size_t *size = call->shape->size;
    const REAL *dy = call->gradient[Y], *cosine = call->value[COS], *sine = call->value[SIN];
    REAL *dx = call->gradient[X];
    for (size_t at = 0; at < size[B] * size[T] * size[H]; at++, dx += size[E], dy += size[E])
        for (size_t i = 0, p = size[P]; i < p; i++) {
            size_t angle = at / size[H] % size[T] * p + i;
            dx[2 * i] = dy[i] * cosine[angle] + dy[p + i] * sine[angle];
            dx[2 * i + 1] = dy[p + i] * cosine[angle] - dy[i] * sine[angle];
        }
}
#endif

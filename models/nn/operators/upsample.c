/* y (b, p, q, c) = x (b, h, w, c) at the sizes p and q by bilinear interpolation. Line i of y lies
 * at t = max((i + 1/2) h / p - 1/2, 0) of x or, with corners aligned, at t = i (h - 1) / (p - 1), 0
 * where p is 1, between the lines floor(t) and the next one, h - 1 at most; columns alike. As
 * PyTorch's interpolate(mode="bilinear", align_corners=...). dx adds up dy by the same weights. */
#ifndef REAL
#define NN_FILE "models/nn/operators/upsample.c"
enum { X, Y };
enum { B, H, W, C, P, Q };
enum { CORNERS };
#include "models/nn/operators/upsample.h"
#include "models/nn/convert.h"
#include "models/nn/cuda/on_cuda.h"
#include "models/nn/fast.h"
#include "models/nn/plain.h"
#include "models/nn/types.h"

/* y = (1 - t) low + t high, twice. */
NN_LOOPS blend_loops(enum nn_type type, const void *const *corner, const float *share, size_t c,
                     void *restrict y)
{
    for (size_t k = 0; k < c; k++)
        nn_put(y, k,
               share[0] * nn_get(corner[0], k, type) + share[1] * nn_get(corner[1], k, type) +
                   share[2] * nn_get(corner[2], k, type) + share[3] * nn_get(corner[3], k, type),
               type);
}
NN_TYPED_KERNEL(blend, (const void *const *corner, const float *share, size_t c, void *y),
                (corner, share, c, y))

NN_LOOPS add_loops(enum nn_type type, const void *dy, float share, size_t c, float *restrict sums)
{
    for (size_t k = 0; k < c; k++)
        sums[k] += share * nn_get(dy, k, type);
}
NN_TYPED_KERNEL(add, (const void *dy, float share, size_t c, float *sums), (dy, share, c, sums))

static void forward_line(const struct nn_call *call, enum nn_type type, size_t line,
                         blend_kernel *blend)
{
    const size_t *size = call->shape->size, c = size[C];
    const bool corners = call->shape->setting[CORNERS] != 0;
    const size_t image = line / size[P] * size[H] * size[W] * c;
    size_t up, down, left, right;
    const float below = (float)nn_between(line % size[P], size[P], size[H], corners, &up, &down);
    for (size_t j = 0; j < size[Q]; j++) {
        const float beside = (float)nn_between(j, size[Q], size[W], corners, &left, &right);
        const size_t at[] = {up * size[W] + left, up * size[W] + right, down * size[W] + left,
                             down * size[W] + right};
        const void *corner[4];
        for (int k = 0; k < 4; k++)
            corner[k] = nn_from(call->value[X], image + at[k] * c, type);
        const float share[] = {(1 - below) * (1 - beside), (1 - below) * beside,
                               below * (1 - beside), below * beside};
        blend(corner, share, c, nn_from(call->value[Y], (line * size[Q] + j) * c, type));
    }
}

static enum yp_status forward_in(const struct nn_call *call, enum nn_type type)
{
    const size_t *size = call->shape->size, lines = size[B] * size[P];
    blend_kernel *blend = best_blend(type);
    NN_PARALLEL_FOR(lines * size[Q] * size[C] > NN_FEW * NN_CHUNK, line, lines, 1,
                    forward_line(call, type, line, blend));
    return YP_OK;
}

/* Sums in float, of gradients in 16 bits. */
static size_t work_16(const struct nn_shape *shape)
{
    const size_t *size = shape->size;
    return size[B] * size[H] * size[W] * size[C] * sizeof(float);
}

/* To one line of dx what the lines of dy that lie beside it have for it, in their order. */
static void dx_line(const struct nn_call *call, enum nn_type type, size_t line, add_kernel *add)
{
    const size_t *size = call->shape->size, c = size[C], at = line % size[H], width = size[W] * c;
    const bool corners = call->shape->setting[CORNERS] != 0;
    void *dx = nn_from(call->gradient[X], line * width, type);
    float *sums = nn_16_bits(type) ? (float *)call->work + line * width : dx;
    size_t up, down, left, right;
    if (!nn_adds(call, X))
        memset(sums, 0, width * sizeof *sums);
    else if (nn_16_bits(type))
        nn_widen(dx, type, width, sums);
    for (size_t i = 0; i < size[P]; i++) {
        const float below = (float)nn_between(i, size[P], size[H], corners, &up, &down);
        const float of_line = (up == at ? 1 - below : 0) + (down == at ? below : 0);
        const size_t from = (line / size[H] * size[P] + i) * size[Q];
        for (size_t j = 0; j < size[Q] && of_line > 0; j++) {
            const void *dy = nn_from(call->gradient[Y], (from + j) * c, type);
            const float beside = (float)nn_between(j, size[Q], size[W], corners, &left, &right);
            add(dy, of_line * (1 - beside), c, sums + left * c);
            add(dy, of_line * beside, c, sums + right * c);
        }
    }
    if (nn_16_bits(type))
        nn_narrow(sums, width, type, dx);
}

static enum yp_status vjp_in(const struct nn_call *call, enum nn_type type)
{
    const size_t *size = call->shape->size;
    const size_t lines = call->gradient[X] != NULL ? size[B] * size[H] : 0;
    add_kernel *add = best_add(type);
    NN_PARALLEL_FOR(lines * size[W] * size[C] > NN_FEW * NN_CHUNK, line, lines, 1,
                    dx_line(call, type, line, add));
    return YP_OK;
}

NN_EACH_TYPE

static struct nn_cuda_upsample job_of(const struct nn_call *call, enum nn_type type)
{
    const size_t *size = call->shape->size;
    return (struct nn_cuda_upsample){.type = type,
                                     .b = size[B],
                                     .h = size[H],
                                     .w = size[W],
                                     .c = size[C],
                                     .p = size[P],
                                     .q = size[Q],
                                     .corners = call->shape->setting[CORNERS] != 0,
                                     .add = nn_adds(call, X),
                                     .x = call->value[X],
                                     .dy = call->gradient[Y],
                                     .y = call->value[Y],
                                     .dx = call->gradient[X]};
}

NN_ON_CUDA_BY_JOB(upsample, struct nn_cuda_upsample)

static double flops(const struct nn_shape *shape, enum nn_pass pass)
{
    const size_t *size = shape->size;
    (void)pass;
    return 8.0 * (double)(size[B] * size[P] * size[Q] * size[C]);
}

const struct nn_operator nn_upsample = {
    .name = "upsample",
    .dims = "bhwcpq",
    .settings = {"corners"},
    .tensors = {{"x", "bhwc", .role = NN_INPUT, .adds = true, .unread = true},
                {"y", "bpqc", .role = NN_OUTPUT}},
    .shapes = {{"one", .size = {1, 1, 1, 1, 1, 1}, .setting = {0}},
               {"odd", .size = {2, 3, 4, 5, 7, 9}, .setting = {0}},
               {"small", .size = {1, 8, 8, 16, 20, 20}, .setting = {1}},
               {"medium", .size = {1, 18, 18, 256, 256, 256}, .setting = {0}}},
    NN_PLAIN,
    .flops = flops,
    .versions = {{NN_FP32, "cpu", .forward = forward, .vjp = vjp},
                 {NN_BF16, "cpu", .forward = forward_bf16, .vjp = vjp_bf16, .work = work_16,
                  .types = "bb", .gradients = "bb"},
                 {NN_FP16, "cpu", .forward = forward_fp16, .vjp = vjp_fp16, .work = work_16,
                  .types = "bb", .gradients = "bb"},
                 {NN_FP32, "cuda", .forward = forward_cuda, .vjp = vjp_cuda},
                 {NN_BF16, "cuda", .forward = forward_cuda_bf16, .vjp = vjp_cuda_bf16,
                  .types = "bb", .gradients = "bb"},
                 {NN_FP16, "cuda", .forward = forward_cuda_fp16, .vjp = vjp_cuda_fp16,
                  .types = "bb", .gradients = "bb"}},
};

#else
/* Where point i lies, and its neighbours. */
static REAL NAME(neighbours)(size_t i, size_t points, size_t size, bool corners, size_t to[2])
{
    REAL t = ((REAL)i + (REAL)0.5) * (REAL)size / (REAL)points - (REAL)0.5;
    if (corners)
        t = points == 1 ? 0 : (REAL)(i * (size - 1)) / (REAL)(points - 1);
    if (t < 0)
        t = 0;
    to[0] = (size_t)floor(t) < size ? (size_t)floor(t) : size - 1;
    to[1] = to[0] + 1 < size ? to[0] + 1 : size - 1;
    return t - (REAL)to[0];
}

/* y of x, or dx of dy. */
static void NAME(pass)(const struct nn_call *call, const REAL *x, REAL *y, const REAL *dy, REAL *dx)
{
    const size_t *size = call->shape->size;
    const bool corners = call->shape->setting[CORNERS] != 0;
    for (size_t at = 0; at < size[B] * size[P] * size[Q] * size[C]; at++) {
        size_t c = at % size[C], j = at / size[C] % size[Q], i = at / size[C] / size[Q] % size[P];
        size_t b = at / size[C] / size[Q] / size[P], line[2], column[2];
        REAL below = NAME(neighbours)(i, size[P], size[H], corners, line);
        REAL beside = NAME(neighbours)(j, size[Q], size[W], corners, column);
        REAL sum = 0;
        for (int k = 0; k < 4; k++) {
            size_t from = ((b * size[H] + line[k / 2]) * size[W] + column[k % 2]) * size[C] + c;
            REAL share = (k / 2 == 0 ? 1 - below : below) * (k % 2 == 0 ? 1 - beside : beside);
            if (dx != NULL)
                dx[from] += share * dy[at];
            else
                sum += share * x[from];
        }
        if (dx == NULL)
            y[at] = sum;
    }
}

static void NAME(forward)(const struct nn_call *call)
{
    NAME(pass)(call, call->value[X], call->value[Y], NULL, NULL);
}

static void NAME(vjp)(const struct nn_call *call)
{
    const size_t *size = call->shape->size;
    REAL *dx = call->gradient[X];
    memset(dx, 0, size[B] * size[H] * size[W] * size[C] * sizeof *dx);
    NAME(pass)(call, NULL, NULL, call->gradient[Y], dx);
}
#endif

/* y (b, p, q, c) = x (b, h, w, c) at the sizes p and q by bilinear interpolation. Line i of y lies
 * at t = max((i + 1/2) h / p - 1/2, 0) of x or, with corners aligned, at t = i (h - 1) / (p - 1), 0
 * where p is 1, between the lines floor(t) and the next one, h - 1 at most; columns alike. As
 * PyTorch's interpolate(mode="bilinear", align_corners=...). dx adds up dy by the same weights. */
#ifndef REAL
#define NN_FILE "models/nn/operators/upsample.c"
enum { X, Y };
enum { B, H, W, C, P, Q };
enum { CORNERS };
#include "models/nn/fast.h"
#include "models/nn/plain.h"

/* Where point `i` of `points` lies among `size`: beside `*low`, and how far towards `*high`. */
static double between(size_t i, size_t points, size_t size, bool corners, size_t *low, size_t *high)
{
    double t = ((double)i + 0.5) * (double)size / (double)points - 0.5;
    if (corners)
        t = points > 1 ? (double)i * (double)(size - 1) / (double)(points - 1) : 0;
    t = t > 0 ? t : 0;
    *low = nn_least(size - 1, (size_t)t);
    *high = nn_least(size - 1, *low + 1);
    return t - (double)*low;
}

/* y = (1 - t) low + t high, twice. */
NN_LOOPS blend_loops(const float *const *corner, const float *share, size_t c, float *restrict y)
{
    const float *a = corner[0], *b = corner[1], *d = corner[2], *e = corner[3];
    for (size_t k = 0; k < c; k++)
        y[k] = share[0] * a[k] + share[1] * b[k] + share[2] * d[k] + share[3] * e[k];
}
NN_KERNEL(blend, (const float *const *corner, const float *share, size_t c, float *y),
          (corner, share, c, y))

NN_LOOPS add_loops(const float *dy, float share, size_t c, float *restrict dx)
{
    for (size_t k = 0; k < c; k++)
        dx[k] += share * dy[k];
}
NN_KERNEL(add, (const float *dy, float share, size_t c, float *dx), (dy, share, c, dx))

static void forward_line(const struct nn_call *call, size_t line, blend_kernel *blend)
{
    const size_t *size = call->shape->size, c = size[C];
    const bool corners = call->shape->setting[CORNERS] != 0;
    const float *x = (const float *)call->value[X] + line / size[P] * size[H] * size[W] * c;
    float *y = (float *)call->value[Y] + line * size[Q] * c;
    size_t up, down, left, right;
    const float below = (float)between(line % size[P], size[P], size[H], corners, &up, &down);
    for (size_t j = 0; j < size[Q]; j++, y += c) {
        const float beside = (float)between(j, size[Q], size[W], corners, &left, &right);
        const float *corner[] = {x + (up * size[W] + left) * c, x + (up * size[W] + right) * c,
                                 x + (down * size[W] + left) * c, x + (down * size[W] + right) * c};
        const float share[] = {(1 - below) * (1 - beside), (1 - below) * beside,
                               below * (1 - beside), below * beside};
        blend(corner, share, c, y);
    }
}

static enum yp_status forward(const struct nn_call *call)
{
    const size_t *size = call->shape->size, lines = size[B] * size[P];
    blend_kernel *blend = best_blend();
    NN_PARALLEL_FOR(lines * size[Q] * size[C] > NN_FEW * NN_CHUNK, line, lines, 1,
                    forward_line(call, line, blend));
    return YP_OK;
}

/* To one line of dx what the lines of dy that lie beside it have for it, in their order. */
static void dx_line(const struct nn_call *call, size_t line, add_kernel *add)
{
    const size_t *size = call->shape->size, c = size[C], at = line % size[H];
    const bool corners = call->shape->setting[CORNERS] != 0;
    float *dx = (float *)call->gradient[X] + line * size[W] * c;
    size_t up, down, left, right;
    if (!nn_adds(call, X))
        memset(dx, 0, size[W] * c * sizeof *dx);
    for (size_t i = 0; i < size[P]; i++) {
        const float below = (float)between(i, size[P], size[H], corners, &up, &down);
        const float of_line = (up == at ? 1 - below : 0) + (down == at ? below : 0);
        const float *dy =
            (const float *)call->gradient[Y] + (line / size[H] * size[P] + i) * size[Q] * c;
        for (size_t j = 0; j < size[Q] && of_line > 0; j++, dy += c) {
            const float beside = (float)between(j, size[Q], size[W], corners, &left, &right);
            add(dy, of_line * (1 - beside), c, dx + left * c);
            add(dy, of_line * beside, c, dx + right * c);
        }
    }
}

static enum yp_status vjp(const struct nn_call *call)
{
    const size_t *size = call->shape->size;
    const size_t lines = call->gradient[X] != NULL ? size[B] * size[H] : 0;
    add_kernel *add = best_add();
    NN_PARALLEL_FOR(lines * size[W] * size[C] > NN_FEW * NN_CHUNK, line, lines, 1,
                    dx_line(call, line, add));
    return YP_OK;
}

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
    .versions = {{NN_FP32, "cpu", .forward = forward, .vjp = vjp}},
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

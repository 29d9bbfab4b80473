/* Patches of images as rows of a matrix, a few lines of the grid at once. */
#include "models/nn/patches.h"

#include "models/nn/convert.h"
#include "models/nn/gemm/gemm.h"
#include "models/nn/types.h"

#include <string.h>

enum {
    ROWS_BYTES = 4 << 20
}; /* of patches at once: they stay in a core's cache or the shared one */

static size_t width_of(const struct nn_patches *g)
{
    return g->r * g->s * g->c;
}

size_t nn_activated_bytes(const struct nn_shape *shape, size_t n)
{
    return shape->setting[NN_ACTIVATION] > 0 ? 2 * nn_aligned(n * sizeof(float)) : 0;
}

enum yp_status nn_activated_vjp(const struct nn_call *call, int y, enum nn_type type, size_t n,
                                nn_typed *forward, nn_typed *vjp)
{
    const enum nn_activation how = (enum nn_activation)call->shape->setting[NN_ACTIVATION];
    if (how == NN_AS_IT_IS)
        return vjp(call, type);
    if (nn_16_bits(type))
        return yp_set_error(
            YP_UNSUPPORTED,
            "gradient of a convolution in 16 bits: activation is %d: must be 0, none", (int)how);
    struct nn_shape shape = *call->shape;
    struct nn_call before = *call;
    const size_t bytes = nn_aligned(n * sizeof(float));
    char *work = call->work;
    float *z = call->work, *dz = (float *)(void *)(work + bytes);
    shape.setting[NN_ACTIVATION] = NN_AS_IT_IS;
    before.shape = &shape;
    before.work = work + 2 * bytes;
    before.value[y] = z;
    enum yp_status status = forward(&before, NN_FLOAT);
    if (status == YP_OK)
        status = nn_activation_vjp(call, how, z, call->gradient[y], n, dz);
    before.gradient[y] = dz;
    return status == YP_OK ? vjp(&before, NN_FLOAT) : status;
}

/* Whether the image is its patches already. */
static bool is_matrix(const struct nn_patches *g)
{
    return g->r == 1 && g->s == 1 && g->stride == 1 && g->pad == 0;
}

/* Lines of the grid at once; there are b p of them. */
static size_t lines_of(const struct nn_patches *g)
{
    size_t line = g->q * width_of(g) * sizeof(float);
    size_t lines = is_matrix(g) ? g->b * g->p : ROWS_BYTES / line;
    lines = nn_least(g->b * g->p, lines);
    return lines > 0 ? lines : 1;
}

/* Places [*from, *to) among `count` of a kernel's axis that stay inside: 0 <= at + place < size,
 * where at = point stride - pad. */
static ptrdiff_t inside(size_t point, const struct nn_patches *g, size_t count, size_t size,
                        size_t *from, size_t *to)
{
    ptrdiff_t at = (ptrdiff_t)(point * g->stride) - (ptrdiff_t)g->pad;
    ptrdiff_t most = (ptrdiff_t)size - at;
    *from = at < 0 ? nn_least(count, (size_t)-at) : 0;
    *to = most < 0 ? 0 : nn_least(count, (size_t)most);
    if (*to < *from)
        *to = *from;
    return at;
}

static void gather_line(const struct nn_patches *g, const char *image, size_t line, char *rows)
{
    const size_t pixel = g->c * nn_width(g->type), row = g->s * pixel;
    const char *of = image + line / g->p * g->h * g->w * pixel;
    size_t first, last, from, to;
    ptrdiff_t up = inside(line % g->p, g, g->r, g->h, &first, &last);
    for (size_t j = 0; j < g->q; j++, rows += g->r * row) {
        ptrdiff_t left = inside(j, g, g->s, g->w, &from, &to);
        if (first > 0 || last < g->r || from > 0 || to < g->s)
            memset(rows, 0, g->r * row);
        for (size_t u = first; u < last && from < to; u++)
            memcpy(rows + u * row + from * pixel,
                   of + ((size_t)(up + (ptrdiff_t)u) * g->w + (size_t)(left + (ptrdiff_t)from)) *
                            pixel,
                   (to - from) * pixel);
    }
}

static const void *gather(const struct nn_patches *g, const void *image, size_t line, size_t lines,
                          void *rows)
{
    const size_t width = g->q * width_of(g);
    if (is_matrix(g))
        return nn_from(image, line * width, g->type);
    NN_PARALLEL_FOR(lines * width > NN_FEW * NN_CHUNK, i, lines, 1,
                    gather_line(g, image, line + i, nn_from(rows, i * width, g->type)));
    return rows;
}

NN_LOOPS add_loops(const float *x, size_t n, float *restrict y)
{
    for (size_t i = 0; i < n; i++)
        y[i] += x[i];
}
NN_KERNEL(add, (const float *x, size_t n, float *y), (x, n, y))

/* To line `i` of the image, which of all lines is number `at`, what lines [line, line + lines) of
 * the grid have for it. */
static void scatter_line(const struct nn_patches *g, const float *rows, size_t line, size_t lines,
                         size_t at, float *image, add_kernel *add)
{
    const size_t c = g->c, row = g->s * c, of = at / g->h;
    float *to_line = image + at * g->w * c;
    for (size_t u = 0; u < g->r; u++) {
        size_t below = at % g->h + g->pad - u; /* = point stride; wraps where there is none */
        size_t point = below / g->stride, from, to;
        if (at % g->h + g->pad < u || below % g->stride != 0 || point >= g->p)
            continue;
        size_t there = of * g->p + point;
        if (there < line || there >= line + lines)
            continue;
        const float *part = rows + (there - line) * g->q * g->r * row + u * row;
        for (size_t j = 0; j < g->q; j++, part += g->r * row) {
            ptrdiff_t left = inside(j, g, g->s, g->w, &from, &to);
            if (from < to)
                add(part + from * c, (to - from) * c,
                    to_line + (size_t)(left + (ptrdiff_t)from) * c);
        }
    }
}

static void scatter(const struct nn_patches *g, const float *rows, size_t line, size_t lines,
                    float *image)
{
    add_kernel *add = best_add();
    /* Lines of the image that these lines of the grid reach. */
    const size_t top = line % g->p * g->stride, all = g->b * g->h;
    const size_t first = line / g->p * g->h + nn_least(g->h, top > g->pad ? top - g->pad : 0);
    const size_t last = line + lines - 1;
    const size_t bottom = last % g->p * g->stride + g->r;
    const size_t end =
        nn_least(all, last / g->p * g->h + nn_least(g->h, bottom > g->pad ? bottom - g->pad : 0));
    const size_t reached = end > first ? end - first : 0;
    NN_PARALLEL_FOR(reached * g->w * g->c > NN_FEW * NN_CHUNK, i, reached, 1,
                    scatter_line(g, rows, line, lines, first + i, image, add));
}

/* -- products --------------------------------------------------------------------------------- */

static enum nn_type type_of(const struct nn_patches *g)
{
    return g->type;
}

static struct nn_gemm grid_product(const struct nn_patches *g, size_t lines, const void *rows,
                                   const void *weights, const float *bias, bool add,
                                   const void *grid)
{
    size_t width = width_of(g);
    return nn_gemm_of(lines * g->q, g->g, width, nn_rows_of(rows, type_of(g), width),
                      nn_columns_of(weights, type_of(g), width), nn_rows_of(grid, type_of(g), g->g),
                      add, bias);
}

/* Rows are sums, in float, or pixels of an image that is a matrix. */
static struct nn_gemm image_product(const struct nn_patches *g, size_t lines, const void *grid,
                                    const void *weights, const float *bias, bool add,
                                    const void *rows)
{
    size_t width = width_of(g);
    return nn_gemm_of(lines * g->q, width, g->g, nn_rows_of(grid, type_of(g), g->g),
                      nn_rows_of(weights, type_of(g), width),
                      nn_rows_of(rows, is_matrix(g) ? type_of(g) : NN_FLOAT, width), add, bias);
}

static struct nn_gemm weights_product(const struct nn_patches *g, size_t lines, const void *rows,
                                      const void *grid, bool add, const float *weights)
{
    size_t width = width_of(g);
    return nn_gemm_of(g->g, width, lines * g->q, nn_columns_of(grid, type_of(g), g->g),
                      nn_rows_of(rows, type_of(g), width), nn_rows_of(weights, NN_FLOAT, width),
                      add, NULL);
}

/* -- workspace -------------------------------------------------------------------------------- */

static size_t rows_bytes(const struct nn_patches *g)
{
    return is_matrix(g) ? 0 : nn_aligned(lines_of(g) * g->q * width_of(g) * sizeof(float));
}

static size_t image_floats(const struct nn_patches *g)
{
    return g->h * g->w * g->c;
}

/* Of one image in 16 bits, sums in float. */
static size_t sums_bytes(const struct nn_patches *g)
{
    return nn_16_bits(g->type) && !is_matrix(g) ? nn_aligned(image_floats(g) * sizeof(float)) : 0;
}

/* What of one image, if sums are apart, or of all is made at once. */
static struct nn_patches part_of(struct nn_patches g)
{
    g.b = sums_bytes(&g) > 0 ? 1 : g.b;
    return g;
}

static size_t products_bytes(const struct nn_patches *g)
{
    const size_t whole = lines_of(g), rest = g->b * g->p % whole;
    const float bias = 0; /* with and without what may be */
    size_t most = 0;
    for (int i = 0; i < 2; i++) {
        const size_t lines = i == 0 || rest == 0 ? whole : rest;
        const struct nn_gemm products[] = {grid_product(g, lines, NULL, NULL, &bias, false, NULL),
                                           grid_product(g, lines, NULL, NULL, NULL, true, NULL),
                                           grid_product(g, lines, NULL, NULL, NULL, false, NULL),
                                           image_product(g, lines, NULL, NULL, &bias, false, NULL),
                                           image_product(g, lines, NULL, NULL, NULL, true, NULL),
                                           image_product(g, lines, NULL, NULL, NULL, false, NULL),
                                           weights_product(g, lines, NULL, NULL, false, NULL),
                                           weights_product(g, lines, NULL, NULL, true, NULL)};
        most = nn_most(most, nn_gemm_most(products, sizeof products / sizeof *products));
    }
    return rows_bytes(g) + most;
}

size_t nn_patches_bytes(const struct nn_patches *g)
{
    const struct nn_patches part = part_of(*g);
    return sums_bytes(g) + nn_most(products_bytes(g), products_bytes(&part));
}

/* -- passes ----------------------------------------------------------------------------------- */

enum yp_status nn_patches_to_grid(const struct nn_patches *g, const void *image,
                                  const void *weights, const float *bias, bool add, void *grid,
                                  void *work)
{
    enum yp_status status = YP_OK;
    const size_t step = lines_of(g), all = g->b * g->p;
    for (size_t line = 0; line < all && status == YP_OK; line += step) {
        const size_t lines = nn_least(step, all - line);
        const void *rows = gather(g, image, line, lines, work);
        const struct nn_gemm gemm = grid_product(g, lines, rows, weights, bias, add,
                                                 nn_from(grid, line * g->q * g->g, g->type));
        status = nn_gemm(&gemm, (char *)work + rows_bytes(g));
        nn_activate(add ? NN_AS_IT_IS : g->activation, nn_from(grid, line * g->q * g->g, g->type),
                    g->type, lines * g->q * g->g);
    }
    return status;
}

/* Images that are matrices, all at once. */
static enum yp_status to_matrix(const struct nn_patches *g, const void *grid, const void *weights,
                                const float *bias, bool add, void *image, void *work)
{
    const struct nn_gemm gemm = image_product(g, g->b * g->p, grid, weights, bias, add, image);
    return nn_gemm(&gemm, work);
}

/* sums += the sum of each pixel's parts in grid weights. */
static enum yp_status add_parts(const struct nn_patches *g, const void *grid, const void *weights,
                                float *sums, void *work)
{
    enum yp_status status = YP_OK;
    const size_t step = lines_of(g), all = g->b * g->p;
    for (size_t line = 0; line < all && status == YP_OK; line += step) {
        const size_t lines = nn_least(step, all - line);
        const struct nn_gemm gemm = image_product(
            g, lines, nn_from(grid, line * g->q * g->g, g->type), weights, NULL, false, work);
        status = nn_gemm(&gemm, (char *)work + rows_bytes(g));
        if (status == YP_OK)
            scatter(g, work, line, lines, sums);
    }
    return status;
}

/* What sums begin with. */
static void start(const struct nn_patches *g, const float *bias, float *sums)
{
    const size_t pixels = g->b * g->h * g->w, c = g->c;
    if (bias == NULL) {
        nn_zero(sums, pixels * c * sizeof *sums);
        return;
    }
    NN_PARALLEL_FOR(pixels * c > NN_FEW * NN_CHUNK, i, pixels, 1,
                    memcpy(sums + i * c, bias, c * sizeof *sums));
}

enum yp_status nn_patches_to_image(const struct nn_patches *g, const void *grid,
                                   const void *weights, const float *bias, bool add, void *image,
                                   void *work)
{
    const struct nn_patches part = part_of(*g);
    enum yp_status status = YP_OK;
    if (is_matrix(g))
        return to_matrix(g, grid, weights, bias, add, image, work);
    for (size_t i = 0; i < g->b && status == YP_OK; i += part.b) {
        void *to = nn_from(image, i * image_floats(g), g->type);
        float *sums = nn_16_bits(g->type) ? work : to;
        if (!add)
            start(&part, bias, sums);
        else if (nn_16_bits(g->type))
            nn_widen(to, g->type, image_floats(g), sums);
        status = add_parts(&part, nn_from(grid, i * g->p * g->q * g->g, g->type), weights, sums,
                           (char *)work + sums_bytes(g));
        if (nn_16_bits(g->type))
            nn_narrow(sums, image_floats(g), g->type, to);
    }
    return status;
}

enum yp_status nn_patches_to_weights(const struct nn_patches *g, const void *image,
                                     const void *grid, bool add, float *weights, void *work)
{
    enum yp_status status = YP_OK;
    const size_t step = lines_of(g), all = g->b * g->p;
    for (size_t line = 0; line < all && status == YP_OK; line += step) {
        const size_t lines = nn_least(step, all - line);
        const void *rows = gather(g, image, line, lines, work);
        const struct nn_gemm gemm = weights_product(
            g, lines, rows, nn_from(grid, line * g->q * g->g, g->type), add || line > 0, weights);
        status = nn_gemm(&gemm, (char *)work + rows_bytes(g));
    }
    return status;
}

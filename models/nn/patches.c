/* Patches of images as rows of a matrix, a few lines of the grid at once. */
#include "models/nn/patches.h"

#include "models/nn/fast.h"
#include "models/nn/gemm/gemm.h"

#include <string.h>

enum {
    ROWS_BYTES = 4 << 20
}; /* of patches at once: they stay in a core's cache or the shared one */

static size_t width_of(const struct nn_patches *g)
{
    return g->r * g->s * g->c;
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

static void gather_line(const struct nn_patches *g, const float *image, size_t line, float *rows)
{
    const size_t c = g->c, row = g->s * c;
    const float *of = image + line / g->p * g->h * g->w * c;
    size_t first, last, from, to;
    ptrdiff_t up = inside(line % g->p, g, g->r, g->h, &first, &last);
    for (size_t j = 0; j < g->q; j++, rows += g->r * row) {
        ptrdiff_t left = inside(j, g, g->s, g->w, &from, &to);
        if (first > 0 || last < g->r || from > 0 || to < g->s)
            memset(rows, 0, g->r * row * sizeof *rows);
        for (size_t u = first; u < last && from < to; u++)
            memcpy(rows + u * row + from * c,
                   of + (((size_t)(up + (ptrdiff_t)u) * g->w) + (size_t)(left + (ptrdiff_t)from)) *
                            c,
                   (to - from) * c * sizeof *rows);
    }
}

static const float *gather(const struct nn_patches *g, const float *image, size_t line,
                           size_t lines, float *rows)
{
    const size_t width = g->q * width_of(g);
    if (is_matrix(g))
        return image + line * width;
    NN_PARALLEL_FOR(lines * width > NN_FEW * NN_CHUNK, i, lines, 1,
                    gather_line(g, image, line + i, rows + i * width));
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

static struct nn_gemm grid_product(const struct nn_patches *g, size_t lines, const float *rows,
                                   const float *weights, const float *bias, bool add, float *grid)
{
    size_t width = width_of(g);
    return nn_gemm_of(lines * g->q, g->g, width, nn_rows_of(rows, NN_FLOAT, width),
                      nn_columns_of(weights, NN_FLOAT, width), nn_rows_of(grid, NN_FLOAT, g->g),
                      add, bias);
}

static struct nn_gemm image_product(const struct nn_patches *g, size_t lines, const float *grid,
                                    const float *weights, bool add, float *rows)
{
    size_t width = width_of(g);
    return nn_gemm_of(lines * g->q, width, g->g, nn_rows_of(grid, NN_FLOAT, g->g),
                      nn_rows_of(weights, NN_FLOAT, width), nn_rows_of(rows, NN_FLOAT, width), add,
                      NULL);
}

static struct nn_gemm weights_product(const struct nn_patches *g, size_t lines, const float *rows,
                                      const float *grid, bool add, float *weights)
{
    size_t width = width_of(g);
    return nn_gemm_of(g->g, width, lines * g->q, nn_columns_of(grid, NN_FLOAT, g->g),
                      nn_rows_of(rows, NN_FLOAT, width), nn_rows_of(weights, NN_FLOAT, width), add,
                      NULL);
}

static size_t rows_bytes(const struct nn_patches *g)
{
    return is_matrix(g) ? 0 : nn_aligned(lines_of(g) * g->q * width_of(g) * sizeof(float));
}

size_t nn_patches_bytes(const struct nn_patches *g)
{
    const size_t whole = lines_of(g), rest = g->b * g->p % whole;
    const float bias = 0; /* with and without what may be */
    size_t most = 0;
    for (int i = 0; i < 2; i++) {
        const size_t lines = i == 0 || rest == 0 ? whole : rest;
        const struct nn_gemm products[] = {grid_product(g, lines, NULL, NULL, &bias, false, NULL),
                                           grid_product(g, lines, NULL, NULL, NULL, true, NULL),
                                           grid_product(g, lines, NULL, NULL, NULL, false, NULL),
                                           image_product(g, lines, NULL, NULL, false, NULL),
                                           image_product(g, lines, NULL, NULL, true, NULL),
                                           weights_product(g, lines, NULL, NULL, false, NULL),
                                           weights_product(g, lines, NULL, NULL, true, NULL)};
        size_t bytes = nn_gemm_most(products, sizeof products / sizeof *products);
        most = bytes > most ? bytes : most;
    }
    return rows_bytes(g) + most;
}

enum yp_status nn_patches_to_grid(const struct nn_patches *g, const float *image,
                                  const float *weights, const float *bias, bool add, float *grid,
                                  void *work)
{
    enum yp_status status = YP_OK;
    const size_t step = lines_of(g), all = g->b * g->p;
    for (size_t line = 0; line < all && status == YP_OK; line += step) {
        const size_t lines = nn_least(step, all - line);
        const float *rows = gather(g, image, line, lines, work);
        const struct nn_gemm gemm =
            grid_product(g, lines, rows, weights, bias, add, grid + line * g->q * g->g);
        status = nn_gemm(&gemm, (char *)work + rows_bytes(g));
    }
    return status;
}

enum yp_status nn_patches_to_image(const struct nn_patches *g, const float *grid,
                                   const float *weights, float *image, void *work)
{
    enum yp_status status = YP_OK;
    const size_t step = lines_of(g), all = g->b * g->p;
    for (size_t line = 0; line < all && status == YP_OK; line += step) {
        const size_t lines = nn_least(step, all - line);
        float *rows = is_matrix(g) ? image + line * g->q * g->c : work;
        const struct nn_gemm gemm =
            image_product(g, lines, grid + line * g->q * g->g, weights, is_matrix(g), rows);
        status = nn_gemm(&gemm, (char *)work + rows_bytes(g));
        if (status == YP_OK && !is_matrix(g))
            scatter(g, rows, line, lines, image);
    }
    return status;
}

enum yp_status nn_patches_to_weights(const struct nn_patches *g, const float *image,
                                     const float *grid, bool add, float *weights, void *work)
{
    enum yp_status status = YP_OK;
    const size_t step = lines_of(g), all = g->b * g->p;
    for (size_t line = 0; line < all && status == YP_OK; line += step) {
        const size_t lines = nn_least(step, all - line);
        const float *rows = gather(g, image, line, lines, work);
        const struct nn_gemm gemm =
            weights_product(g, lines, rows, grid + line * g->q * g->g, add || line > 0, weights);
        status = nn_gemm(&gemm, (char *)work + rows_bytes(g));
    }
    return status;
}

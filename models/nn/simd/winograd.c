/* Winograd's convolutions: tiles to points, a matrix product a point, points to tiles. */
#include "models/nn/simd/winograd.h"

#include "models/nn/fast.h"
#include "models/nn/simd/small.h"
#include "models/nn/simd/unroll.h"

#include <omp.h>
#include <stdint.h>
#include <string.h>

#define NEAR 0.625F
#define FAR 1.5F

enum { SIDE = 4, POINTS = 36, PANEL = 64, BLOCK = 24, GRADIENT_BLOCK = 96, GROUP = 16 };

/* -- windows ---------------------------------------------------------------------------------- */

/* A square of pixels of an image with channels last. Those from `top` to `bottom` - 1 and from
 * `left` to `right` - 1 are inside. */
struct window {
    float *image;          /* its first pixel, which may be outside; a panel's first channel */
    size_t line, channels; /* floats from a line, and a pixel, to the next */
    size_t top, bottom, left, right;
};

struct kernels {
    void (*to_points)(const struct window *w, size_t n, float *points, size_t step);
    void (*across_points)(const struct window *w, size_t n, float *points, size_t step);
    void (*from_points)(const float *points, size_t step, size_t n, const float *bias, bool add,
                        const struct window *w);
};

#define V_SOURCE "models/nn/simd/winograd.inc"
#include "base/simd/vector_sets.h"

static const struct kernels *best(void)
{
    static const struct ypi_simd_version versions[] = {YPI_SIMD_TABLE(kernels)};
    return ypi_simd_best(versions, sizeof versions / sizeof *versions);
}

static size_t tiles_along(size_t pixels)
{
    return (pixels + SIDE - 1) / SIDE;
}

static size_t tiles_of(const struct nn_winograd *g)
{
    return g->b * tiles_along(g->h) * tiles_along(g->w);
}

/* Of an image (b, h, w, channels): the window of `side` pixels whose first one is `before` pixels
 * above and left of the tile's. */
static struct window window_of(const struct nn_winograd *g, const float *image, size_t channels,
                               size_t tile, size_t side, size_t before)
{
    const size_t across = tiles_along(g->w), down = tiles_along(g->h);
    const size_t row = tile / across % down * SIDE, column = tile % across * SIDE;
    const size_t first = (tile / across / down * g->h + row) * g->w + column;
    const ptrdiff_t back = (ptrdiff_t)(before * (g->w + 1));
    return (struct window){.image = (float *)(uintptr_t)image +
                                    ((ptrdiff_t)first - back) * (ptrdiff_t)channels,
                           .line = g->w * channels,
                           .channels = channels,
                           .top = row < before ? before - row : 0,
                           .bottom = nn_least(side, g->h + before - row),
                           .left = column < before ? before - column : 0,
                           .right = nn_least(side, g->w + before - column)};
}

/* -- weights ---------------------------------------------------------------------------------- */

static size_t panels_of(size_t channels)
{
    return (channels + PANEL - 1) / PANEL;
}

/* Floats from one point to the next: 64 bytes more than a power of two keep the stores of a tile
 * out of one set of the cache. */
static size_t point_step(size_t rows, size_t columns)
{
    return rows * columns + GROUP;
}

static size_t weight_step(size_t in, size_t out)
{
    return point_step(panels_of(out) * in, PANEL);
}

size_t nn_winograd_points(size_t in, size_t out)
{
    return POINTS * weight_step(in, out);
}

/* G of the points: powers of the point over the product of its distances to the others. */
static void factors(float to[6][3])
{
    const double a = (double)NEAR * (double)NEAR, b = (double)FAR * (double)FAR;
    const double point[] = {0, (double)NEAR, -(double)NEAR, (double)FAR, -(double)FAR};
    const double over[] = {a * b, 2 * a * (a - b), 2 * a * (a - b), 2 * b * (b - a),
                           2 * b * (b - a)};
    for (int i = 0; i < 5; i++) {
        to[i][0] = (float)(1 / over[i]);
        to[i][1] = (float)(point[i] / over[i]);
        to[i][2] = (float)(point[i] * point[i] / over[i]);
    }
    to[5][0] = to[5][1] = 0;
    to[5][2] = 1;
}

/* points = G g G^T for PANEL pairs of channels; g (3, 3, PANEL). */
NN_LOOPS forth_loops(const float *g, const float (*factor)[3], float *restrict points, size_t step)
{
    float half[6][3][PANEL];
    for (size_t i = 0; i < 6; i++)
        for (size_t v = 0; v < 3; v++)
            for (size_t k = 0; k < PANEL; k++)
                half[i][v][k] = factor[i][0] * g[v * PANEL + k] +
                                factor[i][1] * g[(3 + v) * PANEL + k] +
                                factor[i][2] * g[(6 + v) * PANEL + k];
    for (size_t i = 0; i < 6; i++)
        for (size_t j = 0; j < 6; j++)
            for (size_t k = 0; k < PANEL; k++)
                points[(i * 6 + j) * step + k] = factor[j][0] * half[i][0][k] +
                                                 factor[j][1] * half[i][1][k] +
                                                 factor[j][2] * half[i][2][k];
}
NN_KERNEL(forth, (const float *g, const float (*factor)[3], float *points, size_t step),
          (g, factor, points, step))

/* g = G^T points G. */
NN_LOOPS back_loops(const float *points, const float (*factor)[3], size_t step, float *restrict g)
{
    float half[3][6][PANEL];
    memset(half, 0, sizeof half);
    for (size_t i = 0; i < 6; i++)
        for (size_t u = 0; u < 3; u++)
            for (size_t j = 0; j < 6; j++)
                for (size_t k = 0; k < PANEL; k++)
                    half[u][j][k] += factor[i][u] * points[(i * 6 + j) * step + k];
    for (size_t u = 0; u < 3; u++)
        for (size_t v = 0; v < 3; v++)
            for (size_t k = 0; k < PANEL; k++) {
                float sum = 0;
                for (size_t j = 0; j < 6; j++)
                    sum += factor[j][v] * half[u][j][k];
                g[(u * 3 + v) * PANEL + k] = sum;
            }
}
NN_KERNEL(back, (const float *points, const float (*factor)[3], size_t step, float *g),
          (points, factor, step, g))

/* Where weights (out, 3, 3, in) have tap `tap` of a pair; `backward`: those (in, 3, 3, out), whose
 * kernels are turned by half a circle. */
static size_t place_of(size_t in, size_t out, size_t i, size_t o, size_t tap, bool backward)
{
    return backward ? (i * 9 + 8 - tap) * out + o : (o * 9 + tap) * in + i;
}

void nn_winograd_weights(size_t in, size_t out, const float *weights, bool backward, float *points)
{
    const size_t step = weight_step(in, out), groups = (in + GROUP - 1) / GROUP;
    float factor[6][3];
    factors(factor);
    forth_kernel *forth = best_forth();
    NN_PARALLEL_FOR(in * out > NN_CHUNK, job, panels_of(out) * groups, 1, {
        float g[GROUP][9][PANEL];
        const size_t first = job / groups * PANEL, wide = nn_least(PANEL, out - first);
        const size_t from = job % groups * GROUP, some = nn_least(GROUP, in - from);
        memset(g, 0, sizeof g);
        for (size_t o = 0; o < wide; o++)
            for (size_t tap = 0; tap < 9; tap++)
                for (size_t i = 0; i < some; i++)
                    g[i][tap][o] = weights[place_of(in, out, from + i, first + o, tap, backward)];
        for (size_t i = 0; i < some; i++)
            forth(&g[i][0][0], (const float(*)[3])factor,
                  points + (first / PANEL * in + from + i) * PANEL, step);
    });
}

static void weights_back(size_t in, size_t out, const float *points, bool add, float *weights)
{
    const size_t step = weight_step(in, out), groups = (in + GROUP - 1) / GROUP;
    float factor[6][3];
    factors(factor);
    back_kernel *back = best_back();
    NN_PARALLEL_FOR(in * out > NN_CHUNK, job, panels_of(out) * groups, 1, {
        float g[GROUP][9][PANEL];
        const size_t first = job / groups * PANEL, wide = nn_least(PANEL, out - first);
        const size_t from = job % groups * GROUP, some = nn_least(GROUP, in - from);
        for (size_t i = 0; i < some; i++)
            back(points + (first / PANEL * in + from + i) * PANEL, (const float(*)[3])factor, step,
                 &g[i][0][0]);
        for (size_t o = 0; o < wide; o++)
            for (size_t tap = 0; tap < 9; tap++)
                for (size_t i = 0; i < some; i++) {
                    float *to = weights + place_of(in, out, from + i, first + o, tap, false);
                    *to = add ? *to + g[i][tap][o] : g[i][tap][o];
                }
    });
}

/* -- passes ----------------------------------------------------------------------------------- */

bool nn_winograd_pays(const struct nn_winograd *g)
{
    return g->in >= 16 && g->out >= 16 && g->h >= SIDE && g->w >= SIDE;
}

/* Tiles at once. Where there are enough, each thread has blocks of its own, and what it makes stays
 * in its cache; else all threads share a block. */
struct plan {
    size_t tiles, block, threads;
    bool shared;
    size_t in_step, out_step; /* floats from a point to the next */
};

static struct plan plan_of(const struct nn_winograd *g, size_t block)
{
    struct plan plan = {.tiles = tiles_of(g), .threads = (size_t)omp_get_max_threads()};
    plan.shared = plan.threads > 1 && plan.tiles < 2 * block * plan.threads;
    plan.block = nn_least(plan.tiles, plan.shared ? block * plan.threads : block);
    plan.in_step = point_step(plan.block, g->in);
    plan.out_step = point_step(panels_of(g->out) * plan.block, PANEL);
    return plan;
}

static size_t plan_floats(const struct plan *plan)
{
    return POINTS * (plan->in_step + plan->out_step);
}

size_t nn_winograd_bytes(const struct nn_winograd *g)
{
    const struct plan forward = plan_of(g, BLOCK), gradient = plan_of(g, GRADIENT_BLOCK);
    const size_t own = plan_floats(&forward) * (forward.shared ? 1 : forward.threads);
    const size_t all = plan_floats(&gradient);
    return nn_aligned((own > all ? own : all) * sizeof(float));
}

/* A pass's arrays: of a block, x at its points (point, tile, in), and what is beside it, panel by
 * panel (point, panel, tile, PANEL). */
struct pass {
    const struct nn_winograd *g;
    const struct plan *plan;
    const struct kernels *kernels;
    const float *x, *points, *bias;
    bool add;
    float *y;
};

static void tile_to_points(const struct pass *s, size_t first, size_t tile, float *in)
{
    const struct window w = window_of(s->g, s->x, s->g->in, first + tile, SIDE + 2, 1);
    s->kernels->to_points(&w, s->g->in, in + tile * s->g->in, s->plan->in_step);
}

static void product_at(const struct pass *s, size_t count, size_t point, size_t panel,
                       const float *in, float *out)
{
    const size_t c = s->g->in;
    const struct nn_small_product product = {
        .m = count,
        .n = nn_least(PANEL, s->g->out - panel * PANEL),
        .k = c,
        .a = in + point * s->plan->in_step,
        .a_row = c,
        .a_column = 1,
        .b = s->points + point * weight_step(c, s->g->out) + panel * c * PANEL,
        .b_row = PANEL,
        .c = out + point * s->plan->out_step + panel * s->plan->block * PANEL,
        .c_row = PANEL};
    nn_small_product(&product);
}

static void tile_from_points(const struct pass *s, size_t first, size_t tile, const float *out)
{
    for (size_t panel = 0; panel < panels_of(s->g->out); panel++) {
        struct window w = window_of(s->g, s->y, s->g->out, first + tile, SIDE, 0);
        w.image += panel * PANEL;
        s->kernels->from_points(out + (panel * s->plan->block + tile) * PANEL, s->plan->out_step,
                                nn_least(PANEL, s->g->out - panel * PANEL),
                                s->bias != NULL ? s->bias + panel * PANEL : NULL, s->add, &w);
    }
}

/* A block by one thread. */
static void own_block(const struct pass *s, size_t first, float *in)
{
    const size_t count = nn_least(s->plan->block, s->plan->tiles - first);
    float *out = in + POINTS * s->plan->in_step;
    for (size_t tile = 0; tile < count; tile++)
        tile_to_points(s, first, tile, in);
    for (size_t point = 0; point < POINTS; point++)
        for (size_t panel = 0; panel < panels_of(s->g->out); panel++)
            product_at(s, count, point, panel, in, out);
    for (size_t tile = 0; tile < count; tile++)
        tile_from_points(s, first, tile, out);
}

/* A block by all threads. */
static void shared_block(const struct pass *s, size_t first, float *in)
{
    const size_t count = nn_least(s->plan->block, s->plan->tiles - first);
    const size_t panels = panels_of(s->g->out);
    float *out = in + POINTS * s->plan->in_step;
#pragma omp parallel
    {
#pragma omp for schedule(static)
        for (size_t tile = 0; tile < count; tile++)
            tile_to_points(s, first, tile, in);
#pragma omp for schedule(static)
        for (size_t job = 0; job < POINTS * panels; job++)
            product_at(s, count, job / panels, job % panels, in, out);
#pragma omp for schedule(static)
        for (size_t tile = 0; tile < count; tile++)
            tile_from_points(s, first, tile, out);
    }
}

void nn_winograd(const struct nn_winograd *g, const float *x, const float *points,
                 const float *bias, bool add, float *y, void *work)
{
    const struct plan plan = plan_of(g, BLOCK);
    const struct pass pass = {g, &plan, best(), x, points, bias, add, y};
    if (plan.shared) {
        for (size_t first = 0; first < plan.tiles; first += plan.block)
            shared_block(&pass, first, work);
        return;
    }
    NN_PARALLEL_FOR(
        plan.threads > 1, first, plan.tiles, plan.block,
        own_block(&pass, first, (float *)work + (size_t)omp_get_thread_num() * plan_floats(&plan)));
}

/* -- the gradient by weights ------------------------------------------------------------------ */

static void tile_across_points(const struct pass *s, size_t first, size_t tile, const float *dy,
                               float *out)
{
    for (size_t panel = 0; panel < panels_of(s->g->out); panel++) {
        struct window w = window_of(s->g, dy, s->g->out, first + tile, SIDE, 0);
        w.image += panel * PANEL;
        s->kernels->across_points(&w, nn_least(PANEL, s->g->out - panel * PANEL),
                                  out + (panel * s->plan->block + tile) * PANEL, s->plan->out_step);
    }
}

/* points (in, PANEL) += in^T out, over the tiles of a block. */
static void add_product(const struct pass *s, size_t count, size_t point, size_t panel,
                        const float *in, const float *out, float *points, bool add)
{
    const size_t c = s->g->in;
    const struct nn_small_product product = {
        .m = c,
        .n = nn_least(PANEL, s->g->out - panel * PANEL),
        .k = count,
        .a = in + point * s->plan->in_step,
        .a_row = 1,
        .a_column = c,
        .b = out + point * s->plan->out_step + panel * s->plan->block * PANEL,
        .b_row = PANEL,
        .c = points + point * weight_step(c, s->g->out) + panel * c * PANEL,
        .c_row = PANEL,
        .add = add};
    nn_small_product(&product);
}

void nn_winograd_gradient(const struct nn_winograd *g, const float *x, const float *dy, bool add,
                          float *dweights, float *points, void *work)
{
    const struct plan plan = plan_of(g, GRADIENT_BLOCK);
    const struct pass pass = {.g = g, .plan = &plan, .kernels = best(), .x = x};
    const size_t panels = panels_of(g->out);
    float *in = work, *out = in + POINTS * plan.in_step;
    for (size_t first = 0; first < plan.tiles; first += plan.block) {
        const size_t count = nn_least(plan.block, plan.tiles - first);
#pragma omp parallel
        {
#pragma omp for schedule(static)
            for (size_t tile = 0; tile < count; tile++) {
                tile_to_points(&pass, first, tile, in);
                tile_across_points(&pass, first, tile, dy, out);
            }
#pragma omp for schedule(static)
            for (size_t job = 0; job < POINTS * panels; job++)
                add_product(&pass, count, job / panels, job % panels, in, out, points, first > 0);
        }
    }
    weights_back(g->in, g->out, points, add, dweights);
}

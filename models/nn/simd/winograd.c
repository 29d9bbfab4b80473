/* Winograd's convolutions: tiles to points, a matrix product a point, points to tiles. */
#include "models/nn/simd/winograd.h"

#include "models/nn/simd/small.h"
#include "models/nn/simd/unroll.h"

#include <omp.h>
#include <stdint.h>
#include <string.h>

#define NEAR 0.625F /* stride 1 */
#define FAR 1.5F
#define NEAR_2 0.5F /* stride 2 */
#define FAR_2 1.2F

enum { SIX = 6, WEIGHTS = SIX * SIX, PANEL = 64, ROWS = 16, GROUP = 48 };

/* Tiles of a block: at least, where threads share one at most, and what one thread's may take. */
enum { LEAST = 12, SHARED = 96, OWN_BYTES = 3 << 18 };

/* -- windows ---------------------------------------------------------------------------------- */

/* A square of pixels of an image with channels last. Those from `top` to `bottom` - 1 and from
 * `left` to `right` - 1 are inside. */
struct window {
    float *image;          /* its first pixel, which may be outside; a panel's first channel */
    size_t line, channels; /* floats from a line, and a pixel, to the next */
    size_t top, bottom, left, right;
};

/* What becomes of results: bias, or NULL; their activation; whether they are added to what is
 * there. */
struct ending {
    const float *bias;
    enum nn_activation activation;
    bool add;
};

/* By form. Of x and of results. */
enum { SAME, DOWN, UP, FORMS };
struct kernels {
    void (*to_points[FORMS])(const struct window *w, size_t n, float *points, size_t step);
    void (*from_points[FORMS])(const float *points, size_t step, size_t n, const struct ending *end,
                               const struct window *w);
    /* By stride - 1; windows of 3 x 3 taps. */
    void (*weights_to_points[2])(const struct window *w, size_t n, float *points, size_t step);
    /* For the gradient by weights: dy, and from the points to taps. */
    void (*across_points)(const struct window *w, size_t n, float *points, size_t step);
    void (*weights_from_points)(const float *points, size_t step, size_t n,
                                const struct ending *end, const struct window *w);
    /* to (columns, rows) = from (rows, columns) transposed, or added to it. */
    void (*transpose)(const float *from, size_t from_row, size_t rows, size_t columns, bool add,
                      float *to, size_t to_row);
};

/* A tile of results, `side` pixels square at multiples of that, is made of a window of `window`
 * pixels square, the first one `before` pixels above and left of a multiple of `step`. `along`
 * points an axis. */
static const struct form {
    size_t window, before, step, side, along;
} forms[] = {[SAME] = {.window = 6, .before = 1, .step = 4, .side = 4, .along = 6},
             [DOWN] = {.window = 9, .before = 1, .step = 8, .side = 4, .along = 9},
             [UP] = {.window = 5, .before = 0, .step = 4, .side = 8, .along = 9}};

#define V_SOURCE "models/nn/simd/winograd.inc"
#include "base/simd/vector_sets.h"

static const struct kernels *best(void)
{
    static const struct ypi_simd_version versions[] = {YPI_SIMD_TABLE(kernels)};
    return ypi_simd_best(versions, sizeof versions / sizeof *versions);
}

static int form_of(const struct nn_winograd *g)
{
    return g->stride == 1 ? SAME : g->back ? UP : DOWN;
}

static size_t points_of(const struct nn_winograd *g)
{
    const size_t along = forms[form_of(g)].along;
    return along * along;
}

/* Of the image's axis, on the grid. */
static size_t grid_of(const struct nn_winograd *g, size_t pixels)
{
    return (pixels + g->stride - 1) / g->stride;
}

/* A tile is 4 x 4 of the grid. */
static size_t tiles_along(const struct nn_winograd *g, size_t pixels)
{
    return (grid_of(g, pixels) + 3) / 4;
}

static size_t tiles_of(const struct nn_winograd *g)
{
    return g->b * tiles_along(g, g->h) * tiles_along(g, g->w);
}

/* Of the image or the grid, with `channels`: the square of `side` pixels, the first one `before`
 * pixels above and left of the tile's, which are `step` apart. */
static struct window window_of(const struct nn_winograd *g, const float *image, bool grid,
                               size_t channels, size_t tile, size_t side, size_t before,
                               size_t step)
{
    const size_t h = grid ? grid_of(g, g->h) : g->h, w = grid ? grid_of(g, g->w) : g->w;
    const size_t across = tiles_along(g, g->w), down = tiles_along(g, g->h);
    const size_t row = tile / across % down * step, column = tile % across * step;
    const size_t first = (tile / across / down * h + row) * w + column;
    const ptrdiff_t back = (ptrdiff_t)(before * (w + 1));
    return (struct window){.image = (float *)(uintptr_t)image +
                                    ((ptrdiff_t)first - back) * (ptrdiff_t)channels,
                           .line = w * channels,
                           .channels = channels,
                           .top = row < before ? before - row : 0,
                           .bottom = nn_least(side, h + before - row),
                           .left = column < before ? before - column : 0,
                           .right = nn_least(side, w + before - column)};
}

static struct window window_of_x(const struct nn_winograd *g, const float *x, size_t tile)
{
    const struct form *f = &forms[form_of(g)];
    return window_of(g, x, g->back, g->in, tile, f->window, f->before, f->step);
}

static struct window window_of_y(const struct nn_winograd *g, const float *y, size_t tile)
{
    const size_t side = forms[form_of(g)].side;
    return window_of(g, y, !g->back, g->out, tile, side, 0, side);
}

/* -- weights ---------------------------------------------------------------------------------- */

static size_t parts_of(size_t count, size_t part)
{
    return (count + part - 1) / part;
}

static size_t panels_of(size_t channels)
{
    return parts_of(channels, PANEL);
}

/* Floats from one point to the next: 64 bytes more than a power of two keep the stores of a tile
 * out of one set of the cache. */
static size_t point_step(size_t rows, size_t columns)
{
    return rows * columns + ROWS;
}

static size_t weight_step(const struct nn_winograd *g)
{
    return point_step(panels_of(g->out) * g->in, PANEL);
}

size_t nn_winograd_points(const struct nn_winograd *g)
{
    return WEIGHTS * weight_step(g);
}

/* Where weights (out, 3, 3, in) have tap `tap` of a pair; back: those (in, 3, 3, out), whose
 * kernels are turned by half a circle. */
static size_t place_of(const struct nn_winograd *g, size_t i, size_t o, size_t tap)
{
    return g->back ? (i * 9 + 8 - tap) * g->out + o : (o * 9 + tap) * g->in + i;
}

/* Taps of PANEL outputs beside each other. */
typedef float panel_taps[9][PANEL];

static struct window window_of_taps(const float *first, ptrdiff_t tap)
{
    return (struct window){.image = (float *)(uintptr_t)first,
                           .line = (size_t)(3 * tap),
                           .channels = (size_t)tap,
                           .bottom = 3,
                           .right = 3};
}

/* Inputs from `from` on, at most GROUP. */
static size_t group_at(const struct nn_winograd *g, size_t from)
{
    return nn_least(GROUP, g->in - from);
}

/* A group's weights to a panel's outputs at the points: (WEIGHTS, group, PANEL), `step` floats from
 * one point to the next. */
static void group_to_points(const struct nn_winograd *g, const struct kernels *kernels,
                            const float *weights, size_t panel, size_t from, float *points,
                            size_t step)
{
    const size_t first = panel * PANEL, wide = nn_least(PANEL, g->out - first);
    panel_taps taps[GROUP];
    for (size_t tap = 0; tap < 9 && !g->back; tap++)
        kernels->transpose(weights + place_of(g, from, first, tap), 9 * g->in, wide,
                           group_at(g, from), false, &taps[0][tap][0], 9 * PANEL);
    for (size_t i = 0; i < group_at(g, from); i++) {
        const struct window w =
            g->back ? window_of_taps(weights + place_of(g, from + i, first, 0), -(ptrdiff_t)g->out)
                    : window_of_taps(&taps[i][0][0], PANEL);
        kernels->weights_to_points[g->stride - 1](&w, wide, points + i * PANEL, step);
    }
}

void nn_winograd_weights(const struct nn_winograd *g, const float *weights, float *points)
{
    const size_t groups = parts_of(g->in, GROUP);
    const struct kernels *kernels = best();
    NN_PARALLEL_FOR(g->in * g->out > NN_CHUNK, job, panels_of(g->out) * groups, 1,
                    group_to_points(g, kernels, weights, job / groups, job % groups * GROUP,
                                    points + (job / groups * g->in + job % groups * GROUP) * PANEL,
                                    weight_step(g)));
}

/* And `some` inputs' back, from their gradient at the points. */
static void group_from_points(const struct nn_winograd *g, const struct kernels *kernels,
                              const float *points, size_t step, size_t panel, size_t from,
                              size_t some, bool add, float *weights)
{
    const size_t first = panel * PANEL, wide = nn_least(PANEL, g->out - first);
    const struct ending end = {.add = false};
    panel_taps taps[GROUP];
    for (size_t i = 0; i < some; i++) {
        const struct window w = window_of_taps(&taps[i][0][0], PANEL);
        kernels->weights_from_points(points + i * PANEL, step, wide, &end, &w);
    }
    for (size_t tap = 0; tap < 9; tap++)
        kernels->transpose(&taps[0][tap][0], 9 * PANEL, some, wide, add,
                           weights + place_of(g, from, first, tap), 9 * g->in);
}

/* -- passes ----------------------------------------------------------------------------------- */

bool nn_winograd_takes(const struct nn_winograd *g)
{
    return g->in >= 16 && g->out >= 16 && grid_of(g, g->h) >= 4 && grid_of(g, g->w) >= 4;
}

bool nn_winograd_pays(const struct nn_winograd *g)
{
    /* With stride 2 a tile saves but 63 multiplications of 144. */
    return nn_winograd_takes(g) && (g->stride == 1 || tiles_of(g) >= 96);
}

/* Tiles at once. Where there are enough, each thread has blocks of its own, and what it makes stays
 * in its cache; else all threads share a block. */
struct plan {
    size_t tiles, block, threads;
    bool shared,
        passing; /* passing: a group's weights are at their points for its products alone */
    size_t in_step, out_step; /* floats from a point to the next */
    size_t panel_step;        /* from a panel's results to the next one's; 0: they are used up */
};

static void lay_out(const struct nn_winograd *g, struct plan *plan)
{
    plan->in_step = point_step(plan->block, g->in);
    plan->out_step = point_step(plan->block, PANEL);
    plan->panel_step = plan->shared && !plan->passing ? points_of(g) * plan->out_step : 0;
}

/* What one thread has of a panel: results, and a group's weights. */
static size_t panel_floats(const struct nn_winograd *g, const struct plan *plan)
{
    return points_of(g) * plan->out_step + WEIGHTS * point_step(GROUP, PANEL);
}

static size_t plan_floats(const struct nn_winograd *g, const struct plan *plan)
{
    const size_t panels = plan->shared ? panels_of(g->out) : 1;
    return points_of(g) * plan->in_step + (plan->passing ? plan->threads * panel_floats(g, plan)
                                                         : points_of(g) * panels * plan->out_step);
}

static struct plan plan_forward(const struct nn_winograd *g, bool prepared)
{
    struct plan plan = {.tiles = tiles_of(g), .threads = (size_t)omp_get_max_threads()};
    const size_t tile = points_of(g) * (g->in + PANEL) * sizeof(float);
    const size_t each = parts_of(plan.tiles, plan.threads);
    const size_t own = parts_of(each, parts_of(each, nn_most(OWN_BYTES / tile, LEAST)));
    plan.shared = (each < LEAST && plan.threads > 1) ||
                  WEIGHTS * g->in * g->out > 2 * own * points_of(g) * (g->in + g->out);
    plan.block = plan.shared ? parts_of(plan.tiles, parts_of(plan.tiles, SHARED)) : own;
    plan.passing = plan.shared && !prepared && plan.block == plan.tiles &&
                   points_of(g) * plan.tiles * PANEL * sizeof(float) <= OWN_BYTES &&
                   panels_of(g->out) >= plan.threads;
    lay_out(g, &plan);
    return plan;
}

/* Of the gradient by weights. */
static struct plan plan_gradient(const struct nn_winograd *g)
{
    struct plan plan = {.tiles = tiles_of(g), .threads = (size_t)omp_get_max_threads()};
    plan.shared = true;
    plan.block = parts_of(plan.tiles, parts_of(plan.tiles, SHARED));
    lay_out(g, &plan);
    return plan;
}

size_t nn_winograd_bytes(const struct nn_winograd *g, bool prepared)
{
    const struct plan forward = plan_forward(g, prepared), gradient = plan_gradient(g);
    const bool also = !prepared && g->stride == 1;
    const size_t own = plan_floats(g, &forward) * (forward.shared ? 1 : forward.threads) +
                       (prepared || forward.passing ? 0 : nn_winograd_points(g));
    const size_t all = plan_floats(g, &gradient) + gradient.threads * panel_floats(g, &gradient);
    return nn_aligned((also ? nn_most(own, all) : own) * sizeof(float));
}

/* A pass's arrays: of a block, x at its points (point, tile, in), and what is beside it, panel by
 * panel (panel, point, tile, PANEL). */
struct pass {
    const struct nn_winograd *g;
    const struct plan *plan;
    const struct kernels *kernels;
    const float *x, *weights;
    struct ending end;
    float *y;
};

static void tile_to_points(const struct pass *s, size_t first, size_t tile, float *in)
{
    const struct window w = window_of_x(s->g, s->x, first + tile);
    s->kernels->to_points[form_of(s->g)](&w, s->g->in, in + tile * s->g->in, s->plan->in_step);
}

/* Weights (SIX, SIX) are those of one point, but for the last row and column: with stride 2, these
 * are the same for four rows and columns of points, from theirs to this one. */
static size_t last_of(const struct nn_winograd *g, size_t weights)
{
    return weights < SIX - 1 ? weights : forms[form_of(g)].along - 1;
}

/* A panel's products with one point's weights (some, PANEL), of inputs from `from` on. */
static void products_at(const struct pass *s, size_t count, size_t weights, size_t panel,
                        const float *b, size_t from, size_t some, const float *in, float *out)
{
    const size_t along = forms[form_of(s->g)].along;
    struct nn_small_product product = {.m = count,
                                       .n = nn_least(PANEL, s->g->out - panel * PANEL),
                                       .k = some,
                                       .a_row = s->g->in,
                                       .a_column = 1,
                                       .b = b,
                                       .b_row = PANEL,
                                       .c_row = PANEL,
                                       .add = from > 0,
                                       .far = s->plan->shared && !s->plan->passing};
    for (size_t i = weights / SIX; i <= last_of(s->g, weights / SIX); i++)
        for (size_t j = weights % SIX; j <= last_of(s->g, weights % SIX); j++) {
            product.a = in + (i * along + j) * s->plan->in_step + from;
            product.c = out + panel * s->plan->panel_step + (i * along + j) * s->plan->out_step;
            nn_small_product(&product);
        }
}

/* The same of all inputs, whose weights are at the points. */
static void all_products_at(const struct pass *s, size_t count, size_t weights, size_t panel,
                            const float *in, float *out)
{
    const float *b = s->weights + weights * weight_step(s->g) + panel * s->g->in * PANEL;
    products_at(s, count, weights, panel, b, 0, s->g->in, in, out);
}

static void tile_from_points(const struct pass *s, size_t first, size_t tile, size_t panel,
                             const float *out)
{
    struct window w = window_of_y(s->g, s->y, first + tile);
    const size_t wide = nn_least(PANEL, s->g->out - panel * PANEL);
    struct ending end = s->end;
    w.image += panel * PANEL;
    end.bias = end.bias != NULL ? end.bias + panel * PANEL : NULL;
    s->kernels->from_points[form_of(s->g)](out + panel * s->plan->panel_step + tile * PANEL,
                                           s->plan->out_step, wide, &end, &w);
    for (size_t i = 0; i < w.bottom && end.activation == NN_GELU; i++)
        for (size_t j = 0; j < w.right; j++)
            nn_activate(end.activation, w.image + i * w.line + j * w.channels, NN_FLOAT, wide);
}

/* A block by one thread. */
static void own_block(const struct pass *s, size_t first, float *in)
{
    const size_t count = nn_least(s->plan->block, s->plan->tiles - first);
    float *out = in + points_of(s->g) * s->plan->in_step;
    for (size_t tile = 0; tile < count; tile++)
        tile_to_points(s, first, tile, in);
    for (size_t panel = 0; panel < panels_of(s->g->out); panel++) {
        for (size_t weights = 0; weights < WEIGHTS; weights++)
            all_products_at(s, count, weights, panel, in, out);
        for (size_t tile = 0; tile < count; tile++)
            tile_from_points(s, first, tile, panel, out);
    }
}

/* A block by all threads. */
static void shared_block(const struct pass *s, size_t first, float *in)
{
    const size_t count = nn_least(s->plan->block, s->plan->tiles - first);
    const size_t panels = panels_of(s->g->out);
    float *out = in + points_of(s->g) * s->plan->in_step;
#pragma omp parallel
    {
#pragma omp for schedule(static)
        for (size_t tile = 0; tile < count; tile++)
            tile_to_points(s, first, tile, in);
#pragma omp for schedule(dynamic)
        for (size_t job = WEIGHTS * panels; job > 0; job--) /* what takes longest first */
            all_products_at(s, count, (job - 1) / panels, (job - 1) % panels, in, out);
#pragma omp for schedule(static)
        for (size_t job = 0; job < count * panels; job++)
            tile_from_points(s, first, job / panels, job % panels, out);
    }
}

/* All tiles' results for a panel; its weights pass through the thread's cache. */
static void passing_panel(const struct pass *s, size_t panel, const float *in, float *out)
{
    const size_t step = point_step(GROUP, PANEL);
    float *points = out + points_of(s->g) * s->plan->out_step;
    for (size_t from = 0; from < s->g->in; from += GROUP) {
        group_to_points(s->g, s->kernels, s->weights, panel, from, points, step);
        for (size_t weights = 0; weights < WEIGHTS; weights++)
            products_at(s, s->plan->tiles, weights, panel, points + weights * step, from,
                        group_at(s->g, from), in, out);
    }
    for (size_t tile = 0; tile < s->plan->tiles; tile++)
        tile_from_points(s, 0, tile, panel, out);
}

static void passing_block(const struct pass *s, float *in)
{
    const size_t panels = panels_of(s->g->out), each = panel_floats(s->g, s->plan);
    float *out = in + points_of(s->g) * s->plan->in_step;
#pragma omp parallel
    {
#pragma omp for schedule(static)
        for (size_t tile = 0; tile < s->plan->tiles; tile++)
            tile_to_points(s, 0, tile, in);
#pragma omp for schedule(dynamic)
        for (size_t panel = 0; panel < panels; panel++)
            passing_panel(s, panel, in, out + (size_t)omp_get_thread_num() * each);
    }
}

void nn_winograd(const struct nn_winograd *g, const float *x, const float *weights,
                 const float *points, const float *bias, enum nn_activation activation, bool add,
                 float *y, void *work)
{
    const struct plan plan = plan_forward(g, points != NULL);
    struct pass pass = {g, &plan, best(), x, weights, {bias, activation, add}, y};
    float *own = work;
    if (plan.passing) {
        passing_block(&pass, work);
        return;
    }
    if (points == NULL) {
        nn_winograd_weights(g, weights, work);
        points = work;
        own += nn_winograd_points(g);
    }
    pass.weights = points;
    for (size_t first = 0; first < plan.tiles && plan.shared; first += plan.block)
        shared_block(&pass, first, own);
    NN_PARALLEL_FOR(
        plan.threads > 1, first, plan.shared ? 0 : plan.tiles, plan.block,
        own_block(&pass, first, own + (size_t)omp_get_thread_num() * plan_floats(g, &plan)));
}

/* -- the gradient by weights ------------------------------------------------------------------ */

static void tile_across_points(const struct pass *s, size_t first, size_t tile, const float *dy,
                               float *out)
{
    for (size_t panel = 0; panel < panels_of(s->g->out); panel++) {
        struct window w = window_of_y(s->g, dy, first + tile);
        w.image += panel * PANEL;
        s->kernels->across_points(&w, nn_least(PANEL, s->g->out - panel * PANEL),
                                  out + panel * s->plan->panel_step + tile * PANEL,
                                  s->plan->out_step);
    }
}

/* Of a block, the gradient of some inputs' weights to a panel: in^T out at each point,
 * and from there to the taps. */
static void add_group(const struct pass *s, size_t count, size_t panel, size_t from, size_t some,
                      const float *in, const float *out, float *points, bool add, float *dweights)
{
    const size_t step = point_step(GROUP, PANEL);
    struct nn_small_product product = {.m = some,
                                       .n = nn_least(PANEL, s->g->out - panel * PANEL),
                                       .k = count,
                                       .a_row = 1,
                                       .a_column = s->g->in,
                                       .b_row = PANEL,
                                       .c_row = PANEL};
    for (size_t point = 0; point < WEIGHTS; point++) {
        product.a = in + point * s->plan->in_step + from;
        product.b = out + panel * s->plan->panel_step + point * s->plan->out_step;
        product.c = points + point * step;
        nn_small_product(&product);
    }
    group_from_points(s->g, s->kernels, points, step, panel, from, some, add, dweights);
}

void nn_winograd_gradient(const struct nn_winograd *g, const float *x, const float *dy, bool add,
                          float *dweights, void *work)
{
    const struct plan plan = plan_gradient(g);
    const struct pass pass = {.g = g, .plan = &plan, .kernels = best(), .x = x};
    const size_t panels = panels_of(g->out), each = panel_floats(g, &plan);
    size_t group = GROUP; /* smaller ones where threads are many */
    while (group > 8 && panels * parts_of(g->in, group) < 2 * plan.threads)
        group /= 2;
    const size_t groups = parts_of(g->in, group);
    float *in = work, *out = in + points_of(g) * plan.in_step, *own = in + plan_floats(g, &plan);
    for (size_t first = 0; first < plan.tiles; first += plan.block) {
        const size_t count = nn_least(plan.block, plan.tiles - first);
#pragma omp parallel
        {
#pragma omp for schedule(static)
            for (size_t tile = 0; tile < count; tile++) {
                tile_to_points(&pass, first, tile, in);
                tile_across_points(&pass, first, tile, dy, out);
            }
#pragma omp for schedule(dynamic)
            for (size_t job = 0; job < panels * groups; job++)
                add_group(&pass, count, job / groups, job % groups * group,
                          nn_least(group, g->in - job % groups * group), in, out,
                          own + (size_t)omp_get_thread_num() * each, add || first > 0, dweights);
        }
    }
}

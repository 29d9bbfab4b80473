/* Targets of several pixels: how much of the area they cover, where, their sizes and shapes by the
 * moments of their fill, and how well RX finds them. */
#include "models/metrics/metrics.h"
#include "models/rx/methods/image.h"
#include "suites/scene_tiles.h"
#include "suites/worst.h"

#include <math.h>
#include <string.h>

enum { SIDE = 128, PIXELS = SIDE * SIDE, THREADS = 2 };

static enum synth_shape shape_of(struct yp_case *t)
{
    const char *name = yp_string(t, "shape");
    return strcmp(name, "disc") == 0        ? SYNTH_DISC
           : strcmp(name, "rectangle") == 0 ? SYNTH_RECTANGLE
                                            : SYNTH_MIXED;
}

/* Area of a disc or rectangle of `size` pixels. */
static double area_of(enum synth_shape shape, double size)
{
    double disc = acos(-1.0) / 4 * size * size, rectangle = size * size / 2;
    return shape == SYNTH_DISC        ? disc
           : shape == SYNTH_RECTANGLE ? rectangle
                                      : (disc + rectangle) / 2;
}

/* A scene of which the truth alone is wanted. */
static struct synth_scene *shapes(struct yp_case *t, double size, double fraction, double low,
                                  double high)
{
    struct synth_spec spec = {.height = SIDE,
                              .width = SIDE,
                              .channels = 1,
                              .seed = yp_seed(t),
                              .target_shape = shape_of(t),
                              .target_px = size,
                              .target_fraction = fraction,
                              .fill_low = low,
                              .fill_high = high};
    return open_scene(t, yp_device_cpu(), &spec);
}

struct truth {
    float *values, *fill;
    uint8_t *labels;
};

static struct truth truth_new(struct yp_case *t)
{
    return (struct truth){yp_alloc(t, PIXELS * sizeof(float)), yp_alloc(t, PIXELS * sizeof(float)),
                          yp_alloc(t, PIXELS)};
}

static void truth_of(struct yp_case *t, const struct synth_scene *scene, uint64_t cube,
                     const struct truth *truth)
{
    yp_ok(t, synth_scene_tile(scene, cube, 0, PIXELS, truth->values,
                              &(struct synth_truth){.labels = truth->labels, .fill = truth->fill}));
}

/* -- how much is covered ---------------------------------------------------------------------- */

/* Fill over its mean level, as a part of the area, beside target_fraction: of all pixels, of the
 * border's, and of the rows and columns of one place in cells of the width that scene.h tells,
 * whose corner is at the image's in no two cubes. Deviations in units of what chance makes of the
 * number of targets and their levels; a line has targets by chords, the longest of `size`. Within a
 * cell a row is covered between not at all and twice the mean, 0.6 of its square is the variance:
 * 200 corners leave that much. */
YP_TEST(synth, covered, .tags = "stress small", .timeout = 120, .parallel = true,
        .axes = YP_AXES(yp_axis_string("shape", "disc", "rectangle", "mixed"),
                        yp_axis_double("px", 1, 3, 8.5, 20)),
        .budgets = YP_BUDGETS(yp_max_value("covered, sigma off", 3),
                              yp_max_value("border, sigma off", 3),
                              yp_max_value("by place, sigma off", 3.5)))
{
    enum { CUBES = 200, MAX_CELL = 64 };
    const double fraction = 0.015, level = 0.625, spread = 1 + 0.75 * 0.75 / 12 / (level * level);
    enum synth_shape shape = shape_of(t);
    double size = yp_double(t, "px"), all = 0, border = 0, by_place[2][MAX_CELL] = {{0}};
    size_t cell = 2 * (size_t)ceil(shape == SYNTH_DISC ? size : size * sqrt(1.25)) + 1;
    struct synth_scene *scene = shapes(t, size, fraction, 0.25, 1);
    struct truth truth = truth_new(t);
    yp_require(t, cell <= MAX_CELL, "a cell is %zu pixels wide", cell);
    for (uint64_t cube = 0; cube < CUBES; cube++) {
        truth_of(t, scene, cube, &truth);
        for (size_t p = 0; p < PIXELS; p++) {
            size_t y = p / SIDE, x = p % SIDE;
            double f = (double)truth.fill[p] / level;
            all += f;
            border += y == 0 || x == 0 || y == SIDE - 1 || x == SIDE - 1 ? f : 0;
            by_place[0][x % cell] += f;
            by_place[1][y % cell] += f;
        }
    }
    yp_data_hash(t, yp_hash_f32(0, truth.fill, PIXELS));
    synth_scene_destroy(scene);
    double lines = SIDE * CUBES * fraction, whole = SIDE * lines; /* area of a line, of all */
    double edge = 4.0 * (SIDE - 1) / SIDE * lines, off = 0, chance = spread * fmax(size, 1);
    for (int axis = 0; axis < 2; axis++)
        for (size_t i = 0; i < cell; i++) {
            size_t times = (SIDE - 1 - i) / cell + 1;
            double own = lines * (double)times, deviation = sqrt(chance / own + 0.6 / CUBES);
            off = worse(off, fabs(by_place[axis][i] / own - 1) / deviation);
        }
    yp_value(t, "covered, sigma off",
             fabs(all / whole - 1) / sqrt(spread * area_of(shape, size) / whole));
    yp_value(t, "border, sigma off", fabs(border / edge - 1) / sqrt(chance / edge));
    yp_value(t, "by place, sigma off", off);
}

/* -- sizes and shapes ------------------------------------------------------------------------- */

enum { MOMENT_CUBES = 60 };

/* A connected set of pixels with fill; all sums are of the fill. */
struct component {
    double sum, y, x, yy, xx, xy, most;
    bool mixed, cut; /* several labels; at the border */
};

/* Takes the pixels of a component, of eight neighbours each, out of the labels. */
static struct component take(const struct truth *truth, size_t first, size_t *stack)
{
    struct component c = {0};
    uint8_t label = truth->labels[first];
    size_t count = 1;
    stack[0] = first;
    truth->labels[first] = 0;
    while (count > 0) {
        size_t p = stack[--count], py = p / SIDE, px = p % SIDE;
        double f = (double)truth->fill[p], y = (double)py, x = (double)px;
        c.sum += f, c.y += f * y, c.x += f * x;
        c.yy += f * y * y, c.xx += f * x * x, c.xy += f * x * y;
        c.most = fmax(c.most, f);
        c.cut = c.cut || py == 0 || px == 0 || py == SIDE - 1 || px == SIDE - 1;
        for (size_t near = 0; near < 9; near++) {
            size_t ny = py + near / 3 - 1, nx = px + near % 3 - 1, next = ny * SIDE + nx;
            if (ny >= SIDE || nx >= SIDE || truth->labels[next] == 0)
                continue;
            c.mixed = c.mixed || truth->labels[next] != label;
            truth->labels[next] = 0;
            stack[count++] = next;
        }
    }
    return c;
}

/* What all whole targets of some cubes have in common. */
struct found {
    double targets, kinds[SYNTH_TARGETS + 1];
    double area_off, discs;     /* the worst area; those with that of a disc */
    double large, small;        /* mean moments along and across */
    double turned[4], place[4]; /* sums of cos and sin: of 2 and 4 times the angle; of the place */
    double level, low, high;    /* its sum, least and greatest */
};

/* The area is known, so the sum of the fill tells the level. */
static void judge(struct found *f, const struct component *c, double disc, double rectangle)
{
    const double turn = 2 * acos(-1.0);
    double own = fabs(c->sum / disc - 1) < fabs(c->sum / rectangle - 1) ? disc : rectangle;
    double y = c->y / c->sum, x = c->x / c->sum;
    double yy = c->yy / c->sum - y * y - 1.0 / 12, xx = c->xx / c->sum - x * x - 1.0 / 12;
    double xy = c->xy / c->sum - x * y, half = (yy + xx) / 2;
    double apart = hypot((xx - yy) / 2, xy), angle = atan2(xy, (xx - yy) / 2);
    f->targets++;
    f->area_off = worse(f->area_off, fabs(c->sum / own - 1));
    f->discs += own == disc;
    f->large += half + apart;
    f->small += half - apart;
    f->turned[0] += cos(angle), f->turned[1] += sin(angle);
    f->turned[2] += cos(2 * angle), f->turned[3] += sin(2 * angle);
    f->place[0] += cos(turn * y), f->place[1] += sin(turn * y);
    f->place[2] += cos(turn * x), f->place[3] += sin(turn * x);
}

/* The level of a target that fills a pixel is the fill of that. */
static void judge_level(struct found *f, const struct component *c, double area)
{
    double level = c->sum / area;
    f->low = f->targets == 0 ? level : fmin(f->low, level);
    f->high = fmax(f->high, level);
    f->level += level;
    f->targets++;
    f->area_off = worse(f->area_off, fabs(c->most / level - 1));
}

static void look(struct yp_case *t, double low, double high, struct found *f)
{
    enum synth_shape shape = shape_of(t);
    double size = yp_double(t, "px"), disc = area_of(SYNTH_DISC, size);
    double rectangle = area_of(SYNTH_RECTANGLE, size);
    disc = shape == SYNTH_RECTANGLE ? rectangle : disc;
    rectangle = shape == SYNTH_DISC ? disc : rectangle;
    struct synth_scene *scene = shapes(t, size,
                                       size < 3   ? 0.015
                                       : size < 8 ? 0.05
                                                  : 0.08,
                                       low, high);
    struct truth truth = truth_new(t);
    size_t *stack = yp_alloc(t, PIXELS * sizeof *stack);
    for (uint64_t cube = 0; cube < MOMENT_CUBES; cube++) {
        truth_of(t, scene, cube, &truth);
        for (size_t p = 0; p < PIXELS; p++) {
            uint8_t label = truth.labels[p];
            if (label == 0)
                continue;
            struct component c = take(&truth, p, stack);
            yp_require(t, !c.mixed, "a target is of several materials");
            if (c.cut)
                continue;
            f->kinds[label]++;
            if (low == high) {
                c.sum /= low, c.y /= low, c.x /= low, c.yy /= low, c.xx /= low, c.xy /= low;
                judge(f, &c, disc, rectangle);
            } else {
                judge_level(f, &c, disc);
            }
        }
    }
    yp_data_hash(t, yp_hash_f32(0, truth.fill, PIXELS));
    synth_scene_destroy(scene);
}

/* How long four sums of n unit vectors are, the longest, over what chance makes of it. */
static double longest(const double sums[4], double n)
{
    return fmax(hypot(sums[0], sums[1]), hypot(sums[2], sums[3])) / sqrt(n);
}

/* Each connected set of pixels with fill is a target of the size and shape asked for: the sum of
 * its fill is its area, its second moments are those of a disc or a rectangle and, since pixels are
 * squares, 1/12. Materials, directions and places between pixels are uniform; the pixels show in
 * the aspect of targets of few of them, and in their directions and places. */
YP_TEST(synth, shapes, .tags = "stress small", .timeout = 120, .parallel = true,
        .axes = YP_AXES(yp_axis_string("shape", "disc", "rectangle", "mixed"),
                        yp_axis_double("px", 1, 3, 8.5, 20)),
        .budgets = YP_BUDGETS(yp_budget_file("budgets.ini")))
{
    double size = yp_double(t, "px");
    enum synth_shape shape = shape_of(t);
    struct found f = {0};
    look(t, 0.5, 0.5, &f);
    double n = f.targets, large = f.large / n, small = f.small / n;
    double side = sqrt((large + small) * (shape == SYNTH_DISC ? 8 : 9.6));
    double aspect = sqrt(large / small) / (shape == SYNTH_DISC ? 1 : 2);
    yp_expect(t, n >= 100, "%g targets", n);
    yp_value(t, "area off", f.area_off);
    if (shape != SYNTH_MIXED) {
        yp_value(t, "size off", fabs(side / size - 1));
        if (size >= 3)
            yp_value(t, "aspect off", fabs(aspect - 1));
    } else {
        yp_expect(t, fabs(f.discs - n / 2) < 2 * sqrt(n), "%g of %g targets are discs", f.discs, n);
    }
    if (size >= 3 && shape == SYNTH_RECTANGLE)
        yp_expect(t, longest(f.turned, n) < 3, "directions are not uniform: %g sigma",
                  longest(f.turned, n));
    if (size >= 8)
        yp_expect(t, longest(f.place, n) < 3, "places between pixels are not uniform: %g sigma",
                  longest(f.place, n));
    for (int k = 1; k <= SYNTH_TARGETS; k++)
        yp_expect(t, fabs(f.kinds[k] - n / 4) < 3 * sqrt(3 * n / 16),
                  "%g of %g targets are of material %d", f.kinds[k], n, k);
}

/* A level for each target, uniform from fill_low to fill_high. */
YP_TEST(synth, levels, .tags = "stress small", .timeout = 120, .parallel = true,
        .axes = YP_AXES(yp_axis_string("shape", "disc", "rectangle"), yp_axis_double("px", 5)),
        .budgets = YP_BUDGETS(yp_max_value("most off", 0.0007)))
{
    struct found f = {0};
    look(t, 0.25, 0.75, &f);
    double error = 0.5 / sqrt(12 * f.targets);
    yp_value(t, "most off", f.area_off);
    yp_expect(t, fabs(f.level / f.targets - 0.5) < 3 * error, "the mean of %g levels is %g",
              f.targets, f.level / f.targets);
    yp_expect(t, f.low > 0.249 && f.low < 0.26 && f.high < 0.751 && f.high > 0.74,
              "levels are %g to %g", f.low, f.high);
}

/* -- detection -------------------------------------------------------------------------------- */

enum { WIDE = 256, CHANNELS = 60, SEEDS = 6 };

struct detection {
    double all,
        full; /* AUC of all pixels of targets, of those that one fills by a tenth and more */
};

/* RX on a cube of the default scene with targets of this shape. */
static struct detection detect(struct yp_case *t, enum synth_shape shape, uint64_t seed)
{
    const struct scale s = {.cubes = 1, .height = WIDE, .width = WIDE, .channels = CHANNELS};
    size_t pixels = (size_t)WIDE * WIDE, skipped;
    struct synth_spec spec = scale_spec(&s, seed);
    spec.target_shape = shape;
    float *values = yp_alloc(t, pixels * CHANNELS * sizeof *values);
    float *fill = yp_alloc(t, pixels * sizeof *fill), *scores = yp_alloc(t, pixels * sizeof(float));
    uint8_t *labels = yp_alloc(t, pixels);
    make_cube(t, yp_device_cpu(), &spec, 0, values,
              &(struct synth_truth){.labels = labels, .fill = fill});
    yp_data_hash(t, yp_hash_f32(0, values, pixels * CHANNELS));
    struct rx_image_tiles tiles;
    yp_ok(t, rx_image_pixels(&(struct rx_image){values, WIDE, WIDE, CHANNELS}, &tiles));
    struct rx *rx = open_rx(t, CHANNELS, tiles.source.tile_pixels, THREADS);
    yp_ok(t, rx_fit(rx, &tiles.source));
    yp_ok(t, rx_finish(rx, 0));
    float *places = yp_alloc(t, tiles.source.tiles * tiles.source.tile_pixels * sizeof *places);
    yp_ok(t, rx_score(rx, &tiles.source, places));
    memcpy(scores, places, pixels * sizeof *scores); /* tiles are whole rows, the last no longer */
    rx_destroy(rx);
    struct detection d;
    yp_ok(t, metrics_auc(yp_device_cpu(), scores, labels, pixels, &d.all, &skipped));
    for (size_t p = 0; p < pixels; p++)
        scores[p] = labels[p] > 0 && fill[p] < 0.1F ? NAN : scores[p];
    yp_ok(t, metrics_auc(yp_device_cpu(), scores, labels, pixels, &d.full, &skipped));
    return d;
}

/* Discs of 3 pixels beside single pixels, means over seeds. Most of the pixels of a disc lie at its
 * border, and some are hardly filled, where single pixels are by fill_low at least: so fewer of the
 * former are found. Of pixels that are filled by a tenth and more as many are. */
YP_TEST(rx, discs, .tags = "stress small", .timeout = 120,
        .budgets = YP_BUDGETS(yp_budget_file("budgets.ini")))
{
    struct detection pixel = {0}, disc = {0};
    for (uint64_t seed = yp_seed(t); seed < yp_seed(t) + SEEDS; seed++) {
        struct detection p = detect(t, SYNTH_PIXEL, seed), d = detect(t, SYNTH_DISC, seed);
        pixel.all += p.all / SEEDS, pixel.full += p.full / SEEDS;
        disc.all += d.all / SEEDS, disc.full += d.full / SEEDS;
    }
    yp_value(t, "pixels, auc", pixel.all);
    yp_value(t, "pixels of a tenth, auc", pixel.full);
    yp_value(t, "discs, auc", disc.all);
    yp_value(t, "discs of a tenth, auc", disc.full);
}

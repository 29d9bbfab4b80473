/* The nodes and the pipeline of models/rx: gradients, precision, parity with numpy and PyTorch,
 * the statistical phase, and what data can do to it. With RX_NODES_ON_GPU pipelines are those of a
 * made-up GPU, which the host's tiles are copied to; all else is the same. */
#include "tests/unit/rx/rx_fixture.h"

#include "models/metrics/metrics.h"
#include "models/rx/pipeline/internal.h"
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "tests/unit/rx/reference_rx.h"

#ifdef RX_NODES_ON_GPU
#include "tests/unit/rx/rx_gpu.h"
#define TILES RX_TILES_COPIED
#define PIPELINE_BYTES bytes_here
static size_t bytes_here(const struct rx_pipeline_options *o)
{
    return rx_pipeline_host_bytes(o) + rx_pipeline_pinned_bytes(o);
}
static struct yp_device *device_of_pipelines(void)
{
    return gpu_open();
}
#else
#define TILES RX_TILES_THERE
#define PIPELINE_BYTES rx_pipeline_bytes
static struct yp_device *device_of_pipelines(void)
{
    return yp_device_cpu();
}
#endif

/* -- data ---------------------------------------------------------------------------------- */

/* Pixels around a sloping spectrum of level 3 whose covariance has eigenvalues from 1 down to
 * 1 / condition, turned by a reflection; one in `rarity` is a target, `far` sigma along the
 * quietest direction. Between the pixels are strangers, `gap` floats of them. */
static struct scene scene_with(size_t pixels, size_t channels, double condition, size_t gap,
                               uint64_t rarity, double far)
{
    uint64_t state = 17 * channels + pixels;
    struct scene s = {.pixels = pixels, .channels = channels, .tile_pixels = 1000};
    s.stride = channels + gap;
    s.values = block(pixels * s.stride, sizeof *s.values);
    s.labels = block(pixels, 1);
    double *mirror = block(channels, sizeof *mirror), *x = block(channels, sizeof *x), length = 0;
    for (size_t i = 0; i < channels; i++) {
        mirror[i] = normal(&state);
        length += mirror[i] * mirror[i];
    }
    for (size_t i = 0; i < pixels * s.stride; i++)
        s.values[i] = i % 3 == 0 ? NAN : 1e30f;
    for (size_t p = 0; p < pixels; p++) {
        double along = 0;
        s.labels[p] = words(&state) % rarity == 0;
        for (size_t c = 0; c < channels; c++) {
            double rank = channels > 1 ? (double)c / (double)(channels - 1) : 0;
            x[c] = normal(&state) * pow(condition, -0.5 * rank);
            x[c] += s.labels[p] != 0 && c == channels - 1 ? far * pow(condition, -0.5) : 0;
            along += mirror[c] * x[c];
        }
        for (size_t c = 0; c < channels; c++)
            s.values[p * s.stride + c] =
                (float)(x[c] - 2 * along / length * mirror[c] + 3 + (double)c / 16);
    }
    free(mirror);
    free(x);
    return s;
}

static struct scene scene_make(size_t pixels, size_t channels, double condition, size_t gap)
{
    return scene_with(pixels, channels, condition, gap, 16, 3);
}

/* -- gradients that are wrong on purpose ----------------------------------------------------- */

enum mutant { RIGHT, ZERO, SCALED, TURNED, MUTANTS };
static const char *const mutant_names[] = {"right", "zeroed", "scaled by 1.001", "transposed"};

struct mutated {
    yp_function *f;
    yp_vjp *vjp;
    void *arg;
    struct yp_tensor tensor;
    enum mutant mutant;
};

static void mutated_f(void *arg, const double *x, double *y)
{
    const struct mutated *m = arg;
    m->f(m->arg, x, y);
}

static void mutated_vjp(void *arg, const double *x, const double *cotangent, double *g)
{
    const struct mutated *m = arg;
    m->vjp(m->arg, x, cotangent, g);
    double *part = g + m->tensor.offset;
    for (size_t i = 0; i < m->tensor.count; i++)
        part[i] *= m->mutant == ZERO ? 0 : m->mutant == SCALED ? 1.001 : 1;
    for (size_t i = 0; m->mutant == TURNED && i < m->tensor.count / 2; i++) {
        /* Read backwards: a turned spectrum or matrix, and unlike the transpose of a symmetric
         * gradient, as that of A is, never the same. */
        double swapped = part[i];
        part[i] = part[m->tensor.count - 1 - i];
        part[m->tensor.count - 1 - i] = swapped;
    }
}

/* The vjp passes, and every mutant of every tensor is found; returns the error of the right one. */
static double check_vjp(const char *name, struct yp_gradient check)
{
    struct yp_gradient_result result;
    struct mutated m = {check.f, check.vjp, check.arg, {"", 0, 0}, RIGHT};
    check.name = name;
    check.f = mutated_f;
    check.vjp = mutated_vjp;
    check.arg = &m;
    OK(yp_gradient_error(&check, 1, &result));
    double right = result.error;
    cr_expect_leq(right, 1e-7, "%s: %g at %s (expected %g, got %g)", name, right, result.tensor,
                  result.expected, result.got);
    cr_expect_leq(result.resolution, 1e-4, "%s: %s is hardly seen: %g", name, result.coarsest,
                  result.resolution);
    for (size_t i = 0; i < check.n_tensors; i++)
        for (m.mutant = ZERO; m.mutant < MUTANTS; m.mutant++) {
            m.tensor = check.tensors[i];
            if (m.mutant == TURNED && m.tensor.count == 1)
                continue;
            OK(yp_gradient_error(&check, 1, &result));
            cr_expect_gt(result.error, 1e-6, "%s: %s %s is not found (%g)", name, m.tensor.name,
                         mutant_names[m.mutant], result.error);
            cr_expect_str_eq(result.tensor, m.tensor.name, "%s: %s %s is found in %s", name,
                             m.tensor.name, mutant_names[m.mutant], result.tensor);
        }
    m.mutant = RIGHT;
    return right;
}

/* -- single nodes ---------------------------------------------------------------------------- */

static const char *const node_names[RX_NODE_KINDS] = {
    [RX_NODE_MINMAX] = "minmax",
    [RX_NODE_SELECTOR] = "selector",
    [RX_NODE_PCA] = "pca",
    [RX_NODE_QUADRATIC] = "quadratic",
    [RX_NODE_IMAGE] = "image",
    [RX_NODE_AUTOENCODER] = "autoencoder",
    [RX_NODE_LOGIT] = "logit",
    [RX_NODE_LOSS] = "loss",
    [RX_NODE_ORTHOGONAL] = "orthogonal",
};

/* A node of that kind, and a point for it: 9 pixels of 6 channels. */
static struct rx_node node_make(enum rx_node_kind kind, double **x, size_t *inputs)
{
    static const uint8_t labels[9] = {0, 1, 0, 0, 1, 0, 0, 0, 1};
    bool single = kind == RX_NODE_LOGIT || kind == RX_NODE_LOSS;
    struct rx_node node = {.kind = kind, .pixels = 9, .channels = single ? 1 : 6, .width = 3};
    node.keep = 4;
    node.eps = 0.1;
    node.labels = labels;
    node.work = block(rx_node_work(&node), sizeof *node.work);
    *inputs = rx_node_inputs(&node) + rx_node_parameters(&node);
    *x = block(*inputs, sizeof **x);
    uint64_t state = 7;
    for (size_t i = 0; i < *inputs; i++)
        (*x)[i] = normal(&state);
    double *p = *x + rx_node_inputs(&node);
    if (kind == RX_NODE_MINMAX)
        p[1] = p[0] + 2.5;
    if (kind == RX_NODE_SELECTOR)
        p[6] = 0.7;
    return node;
}

Test(rx_nodes, every_node_has_the_gradient_of_its_formula)
{
    for (int kind = 0; kind < RX_NODE_KINDS; kind++) {
        double *x;
        size_t inputs;
        struct rx_node node = node_make((enum rx_node_kind)kind, &x, &inputs);
        struct yp_gradient check = {.inputs = inputs,
                                    .outputs = rx_node_outputs(&node),
                                    .f = rx_node_plain,
                                    .vjp = rx_node_plain_vjp,
                                    .arg = &node,
                                    .x = x};
        struct yp_tensor tensors[RX_NODE_TENSORS];
        check.tensors = tensors;
        check.n_tensors = rx_node_tensors(&node, tensors);
        check_vjp(node_names[kind], check);
        free(node.work);
        free(x);
    }
}

/* A range below 1e-6 is held at 1e-6, and then max has no gradient. */
Test(rx_nodes, minmax_of_a_constant)
{
    double x[5] = {1, 1 + 1e-7, 1 - 1e-7, 1, 1 + 1e-9}, y[3], c[3] = {1, 2, 5}, g[5];
    struct rx_node node = {.kind = RX_NODE_MINMAX, .pixels = 3, .channels = 1};
    rx_node_plain(&node, x, y);
    rx_node_plain_vjp(&node, x, c, g);
    cr_expect_float_eq(y[1], 0.1, 1e-9);
    cr_expect_float_eq(g[1], 2e6, 1e-6);
    cr_expect_float_eq(g[3], -8e6, 1e-6);
    cr_expect_eq(g[4], 0);
}

/* In float the loops are the same: what rounding may do, and not more. */
Test(rx_nodes, float_nodes_are_the_same_formulas)
{
    for (int kind = 0; kind < RX_NODE_KINDS; kind++) {
        double *x, y[64], c[64], y32d[64];
        size_t inputs;
        struct rx_node node = node_make((enum rx_node_kind)kind, &x, &inputs);
        size_t outputs = rx_node_outputs(&node);
        float *x32 = block(inputs, sizeof *x32), y32[64], c32[64];
        double *g = block(inputs, sizeof *g);
        float *g32 = block(inputs, sizeof *g32);
        uint64_t state = 3;
        for (size_t i = 0; i < inputs; i++)
            x[i] = (double)(x32[i] = (float)x[i]);
        for (size_t i = 0; i < outputs; i++)
            c[i] = (double)(c32[i] = (float)normal(&state));
        rx_node_plain(&node, x, y);
        rx_node_plain_f32(&node, x32, y32);
        rx_node_plain_vjp(&node, x, c, g);
        rx_node_plain_vjp_f32(&node, x32, c32, g32);
        struct yp_precision_result result;
        struct yp_precision forward = {.name = node_names[kind],
                                       .count = outputs,
                                       .oracle = y,
                                       .plain = y32,
                                       .got = y32,
                                       .multiple = 0};
        struct yp_precision backward = {.name = node_names[kind],
                                        .count = inputs,
                                        .oracle = g,
                                        .plain = g32,
                                        .got = g32,
                                        .multiple = 0};
        OK(yp_precision_error(&forward, &result));
        cr_expect_leq(result.error, 1e-5, "%s: %g", node_names[kind], result.error);
        OK(yp_precision_error(&backward, &result));
        cr_expect_leq(result.error, 1e-5, "%s backward: %g", node_names[kind], result.error);
        (void)y32d;
        free(node.work);
        free(x);
        free(x32);
        free(g);
        free(g32);
    }
}

/* -- pipelines ------------------------------------------------------------------------------- */

struct shape {
    const char *name;
    struct rx_pipeline_options options;
};

#define FRONT .normalise = true, .select = true, .keep = 9, .temperature = 0.8
static const struct shape shapes[] = {
    {"RX", {.eps = RX_EPS}},
    {"MinMax RX", {.normalise = true, .eps = RX_EPS}},
    {"selector RX", {.select = true, .eps = RX_EPS}},
    {"MinMax selector RX", {FRONT, .train_temperature = true, .eps = RX_EPS}},
    {"MinMax PCA RX", {.normalise = true, .components = 4, .orthogonality = 0.5, .eps = RX_EPS}},
    {"MinMax selector PCA RX",
     {FRONT, .train_temperature = true, .components = 5, .orthogonality = 2, .eps = RX_EPS}},
    {"MinMax LAD", {.normalise = true, .detector = RX_LAD}},
    {"MinMax selector LAD", {FRONT, .train_temperature = true, .detector = RX_LAD}},
    {"image RX", {.detector = RX_IMAGE, .eps = 1e-3}},
    {"MinMax selector image RX",
     {FRONT, .train_temperature = true, .detector = RX_IMAGE, .eps = 1e-3}},
    {"autoencoder", {.detector = RX_AUTOENCODER, .hidden = 3}},
    {"MinMax autoencoder", {.normalise = true, .detector = RX_AUTOENCODER}},
    {"MinMax selector autoencoder", {FRONT, .train_temperature = true, .detector = RX_AUTOENCODER}},
};
#define SHAPES (sizeof shapes / sizeof *shapes)

static struct rx_pipeline_options options_for(const struct shape *shape, const struct scene *s,
                                              int threads)
{
    struct rx_pipeline_options o = shape->options;
    o.channels = s->channels;
    o.tile_pixels = s->tile_pixels;
    o.threads = threads;
    o.tiles = TILES;
    return o;
}

static struct rx_pipeline *pipeline_for(const struct rx_pipeline_options *options)
{
    struct rx_pipeline *p = rx_pipeline_create(device_of_pipelines(), options);
    cr_assert_not_null(p, "%s", yp_last_error());
    return p;
}

static float *fit(struct rx_pipeline *p, struct scene *s, int threads)
{
    struct rx *rx = detector_for(s, threads);
    struct rx_source source = source_of(s);
    float *parameters = block(rx_pipeline_parameters(p), sizeof *parameters);
    s->copy = true;
    OK(rx_pipeline_fit(p, rx, &source, parameters, NULL));
    s->copy = false;
    rx_destroy(rx);
    return parameters;
}

/* Away from where statistics put it: A is not symmetric there, nor W orthogonal. */
static void move(float *parameters, size_t n, double by)
{
    uint64_t state = 19;
    for (size_t i = 0; i < n; i++)
        parameters[i] *= (float)(1 + by * normal(&state));
}

/* A gentle logit, so that no pixel drowns in its sigmoid. */
static void settle(const struct rx_pipeline *p, float *parameters)
{
    for (size_t k = 0; k < p->options.components;
         k++) /* of PCA's scores it is 0 but for rounding */
        parameters[p->places.mu + k] += 0.05f;
    if (p->places.scale != YPI_RX_NOWHERE)
        parameters[p->places.scale] = 2 / parameters[p->places.bias];
}

Test(rx_nodes, every_pipeline_has_the_gradient_of_its_formula)
{
    struct scene s = scene_make(40, 6, 20, 2);
    s.values[7 * s.stride + 2] = NAN; /* must not count on either side */
    s.values[39 * s.stride] = INFINITY;
    s.tile_pixels = 40;
    struct rx_tile tile = tile_of(&s);
    for (size_t k = 0; k < SHAPES; k++) {
        struct rx_pipeline_options o = options_for(&shapes[k], &s, 1);
        struct rx_pipeline *p = pipeline_for(&o);
        float *parameters = fit(p, &s, 1);
        size_t n = rx_pipeline_parameters(p);
        settle(p, parameters);
        move(parameters, n, 0.02);
        double *x = block(n, sizeof *x);
        for (size_t i = 0; i < n; i++)
            x[i] = (double)parameters[i];
        struct rx_plain *plain = rx_plain_create(yp_device_cpu(), &o, &tile);
        struct yp_gradient check = {.inputs = n,
                                    .outputs = rx_plain_outputs(plain),
                                    .f = rx_plain_losses,
                                    .vjp = rx_plain_vjp,
                                    .arg = plain,
                                    .x = x};
        struct yp_tensor tensors[RX_PIPELINE_TENSORS];
        check.tensors = tensors;
        check.n_tensors = rx_pipeline_tensors(p, tensors);
        check_vjp(shapes[k].name, check);
        rx_plain_destroy(plain);
        rx_pipeline_destroy(p);
        free(parameters);
        free(x);
    }
    scene_free(&s);
}

/* ||got - oracle|| / ||oracle|| */
static double off(const float *got, const double *oracle, size_t n)
{
    double difference = 0, norm = 0;
    for (size_t i = 0; i < n; i++) {
        difference += pow((double)got[i] - oracle[i], 2);
        norm += oracle[i] * oracle[i];
    }
    return sqrt(difference / norm);
}

/* The oracle's and plain float's mean gradient over tiles of the scene. */
static double plain_mean(struct scene *s, const struct rx_pipeline_options *o, const float *x32,
                         const double *x, size_t n, double *wanted, float *plain32)
{
    double mean = 0, kept = 0, penalty = 0;
    double *sum32 = block(n, sizeof *sum32), *g = block(n, sizeof *g);
    float *g32 = block(n, sizeof *g32);
    memset(wanted, 0, n * sizeof *wanted);
    for (size_t p = 0; p < s->pixels; p++) {
        bool finite = true;
        for (size_t c = 0; c < s->channels; c++)
            finite = finite && isfinite(s->values[p * s->stride + c]);
        kept += finite;
    }
    for (size_t first = 0; first < s->pixels; first += s->tile_pixels) {
        struct rx_tile tile = tile_of(s);
        tile.values += first * s->stride;
        tile.labels += first;
        tile.pixels = s->pixels - first < s->tile_pixels ? s->pixels - first : s->tile_pixels;
        struct rx_plain *plain = rx_plain_create(yp_device_cpu(), o, &tile);
        size_t outputs = rx_plain_outputs(plain);
        double *losses = block(outputs, sizeof *losses), *c = block(outputs, sizeof *c);
        float *c32 = block(outputs, sizeof *c32);
        for (size_t i = 0; i < outputs; i++)
            c32[i] = (float)(c[i] = i < tile.pixels ? 1 / kept : first == 0);
        rx_plain_losses(plain, x, losses);
        rx_plain_vjp(plain, x, c, g);
        rx_plain_vjp_f32(plain, x32, c32, g32);
        for (size_t i = 0; i < tile.pixels; i++)
            mean += losses[i] / kept;
        penalty = outputs > tile.pixels ? losses[tile.pixels] : 0;
        for (size_t i = 0; i < n; i++) {
            wanted[i] += g[i];
            sum32[i] += (double)g32[i];
        }
        rx_plain_destroy(plain);
        free(losses);
        free(c);
        free(c32);
    }
    for (size_t i = 0; i < n; i++)
        plain32[i] = (float)sum32[i];
    free(sum32);
    free(g);
    free(g32);
    return mean + penalty;
}

/* Each tensor's gradient by fast float against the oracle, as a multiple of plain float's error;
 * single numbers against the worst tensor, since theirs may be right by luck. */
static void check_fast(struct scene *s, const struct shape *shape, double limit)
{
    struct rx_pipeline_options o = options_for(shape, s, 2);
    struct rx_pipeline *p = pipeline_for(&o);
    struct rx_source source = source_of(s);
    size_t n = rx_pipeline_parameters(p);
    float *parameters = fit(p, s, 2), *fast = block(n, sizeof *fast),
          *plain = block(n, sizeof *fast);
    double *x = block(n, sizeof *x), *wanted = block(n, sizeof *wanted), mean, alone;
    struct yp_tensor tensors[RX_PIPELINE_TENSORS];
    settle(p, parameters);
    move(parameters, n, 1e-3);
    for (size_t i = 0; i < n; i++)
        x[i] = (double)parameters[i];
    double exact = plain_mean(s, &o, parameters, x, n, wanted, plain);
    OK(rx_pipeline_gradient(p, &source, parameters, &mean, fast));
    OK(rx_pipeline_gradient(p, &source, parameters, &alone, NULL));
    cr_expect_eq(mean, alone);
    size_t count = rx_pipeline_tensors(p, tensors);
    double worst = 0x1p-24;
    for (size_t i = 0; i < count; i++)
        worst = fmax(worst,
                     off(plain + tensors[i].offset, wanted + tensors[i].offset, tensors[i].count));
    cr_expect_leq(fabs(mean - exact), limit * worst * exact, "%s: %.9g instead of %.9g",
                  shape->name, mean, exact);
    for (size_t i = 0; i < count; i++) {
        size_t at = tensors[i].offset;
        struct yp_precision check = {.name = tensors[i].name,
                                     .count = tensors[i].count,
                                     .oracle = wanted + at,
                                     .plain = plain + at,
                                     .got = fast + at,
                                     .multiple = limit};
        struct yp_precision_result result;
        OK(yp_precision_error(&check, &result));
        double allowed = limit * (tensors[i].count == 1 ? worst : result.plain_error);
        if (getenv("RX_NODES_FIGURES") != NULL)
            fprintf(stderr, "%-28s %-12s fast %8.2e plain %8.2e ratio %6.2f\n", shape->name,
                    tensors[i].name, result.error, result.plain_error, result.ratio);
        cr_expect_leq(result.error, allowed, "%s: %s is off by %g, plain float by %g", shape->name,
                      tensors[i].name, result.error, result.plain_error);
        /* Where plain float loses digits to cancellation, that allows too much: sums that never go
         * through it are good to a few units of 2^-24 whatever the condition. */
        cr_expect_leq(result.error, 4e-6, "%s: %s is off by %g", shape->name, tensors[i].name,
                      result.error);
    }
    rx_pipeline_destroy(p);
    free(parameters);
    free(fast);
    free(plain);
    free(x);
    free(wanted);
}

/* As many channels as real data have, and as much correlation between them. */
Test(rx_nodes, fast_gradients_of_many_channels)
{
    struct scene s = scene_make(700, 100, 1e5, 0);
    s.tile_pixels = 700;
    check_fast(&s, &shapes[3], 3);
    check_fast(&s, &shapes[5], 3);
    check_fast(&s, &shapes[9], 3);
    scene_free(&s);
}

Test(rx_nodes, fast_gradients_are_as_good_as_plain_float, .timeout = 120)
{
    const double conditions[] = {1, 1e2, 1e4};
    for (size_t k = 0; k < sizeof conditions / sizeof *conditions; k++) {
        struct scene s = scene_make(2300, 23, conditions[k], k);
        s.values[1200 * s.stride] = NAN;
        for (size_t i = 0; i < SHAPES; i++)
            check_fast(&s, &shapes[i], 3);
        s.tile_pixels = 177;
        for (size_t i = 0; i < SHAPES; i++)
            check_fast(&s, &shapes[i], 3);
        scene_free(&s);
    }
}

/* -- parity with numpy and PyTorch ------------------------------------------------------------- */

static uint64_t below(uint64_t *state, uint64_t n) /* as rx_reference.py has it */
{
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (*state >> 40) % n;
}

static struct scene reference_scene(void)
{
    uint64_t state = 2;
    int loads[3][R_CHANNELS], cause[3];
    struct scene s = {.pixels = R_PIXELS, .channels = R_CHANNELS, .tile_pixels = R_PIXELS};
    s.stride = R_CHANNELS;
    s.values = block(R_PIXELS * R_CHANNELS, sizeof *s.values);
    s.labels = block(R_PIXELS, 1);
    for (int k = 0; k < 3; k++)
        for (int c = 0; c < R_CHANNELS; c++)
            loads[k][c] = (int)below(&state, 33) - 16;
    for (int p = 0; p < R_PIXELS; p++) {
        for (int k = 0; k < 3; k++)
            cause[k] = (int)below(&state, 65) - 32;
        s.labels[p] = below(&state, 16) == 0;
        for (int c = 0; c < R_CHANNELS; c++) {
            int value = 4096 + 256 * c + (int)below(&state, 129) - 64;
            for (int k = 0; k < 3; k++)
                value += loads[k][c] * cause[k];
            value += s.labels[p] != 0 && c % 3 == 0 ? 96 : 0;
            s.values[p * R_CHANNELS + c] = (float)value / 1024;
        }
    }
    return s;
}

/* All are finite; returns smallest and largest value as well. */
static void statistics(const struct scene *s, double *mean, double *covariance, double range[2])
{
    two_passes(s, mean, covariance);
    range[0] = INFINITY;
    range[1] = -INFINITY;
    for (size_t i = 0; i < s->pixels * s->channels; i++) {
        range[0] = fmin(range[0], (double)s->values[i]);
        range[1] = fmax(range[1], (double)s->values[i]);
    }
}

#define PARITY \
    .channels = R_CHANNELS, .tile_pixels = R_PIXELS, .threads = 1, .normalise = true, .tiles = TILES
#define SELECT .select = true, .keep = 7, .temperature = 0.75

static const struct {
    const char *name;
    struct rx_pipeline_options options;
    const double *point, *gradient, *loss;
    size_t count;
} parities[] = {
    {"RX",
     {PARITY, SELECT, .train_temperature = true},
     rx_point,
     rx_gradient,
     rx_loss,
     sizeof rx_point / sizeof(double)},
    {"image",
     {PARITY, SELECT, .train_temperature = true, .detector = RX_IMAGE, .eps = 1e-6},
     image_point,
     image_gradient,
     image_loss,
     sizeof image_point / sizeof(double)},
    {"LAD",
     {PARITY, .detector = RX_LAD},
     lad_point,
     lad_gradient,
     lad_loss,
     sizeof lad_point / sizeof(double)},
    {"PCA",
     {PARITY, .components = R_COMPONENTS, .orthogonality = 0.3},
     pca_point,
     pca_gradient,
     pca_loss,
     sizeof pca_point / sizeof(double)},
    {"autoencoder",
     {PARITY, .detector = RX_AUTOENCODER, .hidden = R_HIDDEN},
     autoencoder_point,
     autoencoder_gradient,
     autoencoder_loss,
     sizeof autoencoder_point / sizeof(double)},
};

Test(rx_nodes, losses_and_gradients_are_those_of_autograd)
{
    struct scene s = reference_scene();
    struct rx_tile tile = tile_of(&s);
    struct rx_source source = source_of(&s);
    double sums[3] = {0, 0, 0};
    for (size_t i = 0; i < R_PIXELS * R_CHANNELS; i++) {
        sums[0] += (double)s.values[i];
        sums[1] += (double)s.values[i] * (double)s.values[i];
    }
    for (size_t p = 0; p < R_PIXELS; p++)
        sums[2] += s.labels[p];
    cr_assert_leq(distance(sums, rx_sums, 3), 1e-14, "the data are not the script's");
    for (size_t k = 0; k < sizeof parities / sizeof *parities; k++) {
        const char *name = parities[k].name;
        size_t n = parities[k].count;
        struct rx_plain *plain = rx_plain_create(yp_device_cpu(), &parities[k].options, &tile);
        struct rx_pipeline *p = pipeline_for(&parities[k].options);
        cr_assert_eq(rx_pipeline_parameters(p), n, "%s", name);
        double losses[R_PIXELS + 1] = {0}, c[R_PIXELS + 1], mean = 0, fast_mean;
        double *g = block(n, sizeof *g);
        float *point = block(n, sizeof *point), *fast = block(n, sizeof *fast);
        for (size_t i = 0; i <= R_PIXELS; i++)
            c[i] = i < R_PIXELS ? 1.0 / R_PIXELS : 1;
        for (size_t i = 0; i < n; i++)
            point[i] = (float)parities[k].point[i];
        rx_plain_losses(plain, parities[k].point, losses);
        rx_plain_vjp(plain, parities[k].point, c, g);
        OK(rx_pipeline_gradient(p, &source, point, &fast_mean, fast));
        for (size_t i = 0; i < rx_plain_outputs(plain); i++)
            mean += c[i] * losses[i];
        cr_expect_leq(fabs(mean / *parities[k].loss - 1), 1e-11, "%s: %.15g", name, mean);
        cr_expect_leq(fabs(fast_mean / *parities[k].loss - 1), 1e-4, "%s: %.9g", name, fast_mean);
        struct yp_tensor tensors[RX_PIPELINE_TENSORS];
        size_t count = rx_pipeline_tensors(p, tensors);
        for (size_t i = 0; i < count; i++) {
            size_t at = tensors[i].offset, size = tensors[i].count;
            double exact = distance(g + at, parities[k].gradient + at, size);
            double rough = off(fast + at, parities[k].gradient + at, size);
            if (getenv("RX_NODES_FIGURES") != NULL)
                fprintf(stderr, "parity %-12s %-12s double %8.2e float %8.2e\n", name,
                        tensors[i].name, exact, rough);
            cr_expect_leq(exact, 1e-10, "%s: %s is off by %g", name, tensors[i].name, exact);
            /* The point itself is rounded for float, before A multiplies what that moves. */
            cr_expect_leq(rough, 1e-4, "%s: %s in float is off by %g", name, tensors[i].name,
                          rough);
        }
        rx_plain_destroy(plain);
        rx_pipeline_destroy(p);
        free(g);
        free(point);
        free(fast);
    }
    scene_free(&s);
}

Test(rx_nodes, the_statistical_phase_is_that_of_numpy)
{
    struct scene s = reference_scene();
    struct rx_tile tile = tile_of(&s);
    double mean[R_CHANNELS], covariance[R_CHANNELS * R_CHANNELS], range[2], scores[R_PIXELS];
    statistics(&s, mean, covariance, range);

    struct rx_pipeline_options o = {PARITY, SELECT, .eps = 1e-6};
    struct rx_pipeline *p = pipeline_for(&o);
    struct rx_plain *plain = rx_plain_create(yp_device_cpu(), &o, &tile);
    double start[172], got = 0, m = 0, sampled[20];
    OK(rx_pipeline_start_plain(p, mean, covariance, range[0], range[1], start, NULL));
    size_t parts[] = {0, 2, 2 + R_CHANNELS, 2 + 2 * R_CHANNELS, 170};
    for (int i = 0; i < 4; i++)
        cr_expect_leq(distance(start + parts[i], rx_start + parts[i], parts[i + 1] - parts[i]),
                      1e-10, "part %d: %g", i,
                      distance(start + parts[i], rx_start + parts[i], parts[i + 1] - parts[i]));
    rx_plain_scores(plain, start, scores);
    for (size_t i = 0; i < 20; i++)
        sampled[i] = scores[15 * i];
    cr_expect_leq(distance(sampled, rx_scores, 20), 1e-10, "%g", distance(sampled, rx_scores, 20));
    for (size_t i = 0; i < R_PIXELS; i++)
        m += scores[i] / R_PIXELS;
    for (size_t i = 0; i < R_PIXELS; i++)
        got += (scores[i] - m) * (scores[i] - m) / (R_PIXELS - 1);
    cr_expect_leq(fabs((m + 2 * sqrt(got)) / rx_bias[0] - 1), 1e-10);

    /* Streamed, in float: what statistics of 2e-7 and the covariance's condition leave. */
    s.tile_pixels = 70;
    float *streamed = fit(p, &s, 1);
    for (int i = 0; i < 4; i++)
        cr_expect_leq(off(streamed + parts[i], rx_start + parts[i], parts[i + 1] - parts[i]), 1e-5,
                      "part %d: %g", i,
                      off(streamed + parts[i], rx_start + parts[i], parts[i + 1] - parts[i]));
    cr_expect_eq(streamed[170], 1);
    cr_expect_leq(fabs((double)streamed[171] / rx_bias[0] - 1), 1e-5);
    rx_plain_destroy(plain);
    rx_pipeline_destroy(p);
    free(streamed);

    o.detector = RX_IMAGE;
    s.tile_pixels = R_PIXELS;
    p = pipeline_for(&o);
    plain = rx_plain_create(yp_device_cpu(), &o, &tile);
    OK(rx_pipeline_start_plain(p, mean, covariance, range[0], range[1], start, NULL));
    rx_plain_scores(plain, start, scores);
    for (size_t i = 0; i < 20; i++)
        sampled[i] = scores[15 * i];
    cr_expect_leq(distance(sampled, image_scores, 20), 1e-10);
    rx_plain_destroy(plain);
    rx_pipeline_destroy(p);
    scene_free(&s);
}

Test(rx_nodes, laplacian_and_components_are_those_of_numpy)
{
    struct scene s = reference_scene();
    double mean[R_CHANNELS], covariance[R_CHANNELS * R_CHANNELS], range[2];
    double l[R_CHANNELS * R_CHANNELS], w[R_COMPONENTS * R_CHANNELS], values[R_COMPONENTS];
    statistics(&s, mean, covariance, range);
    double r = range[1] - range[0], start[2 + R_CHANNELS + sizeof w / 8 + 4 + 16 + 2];
    struct rx_pipeline_options o = {PARITY, .components = R_COMPONENTS, .eps = 1e-6};
    struct rx_pipeline *p = pipeline_for(&o);
    OK(rx_pipeline_start_plain(p, mean, covariance, range[0], range[1], start, NULL));
    cr_expect_leq(distance(start + 2 + R_CHANNELS, pca_w, sizeof w / 8), 1e-10);
    cr_expect_leq(distance(start + 2 + R_CHANNELS + sizeof w / 8 + 4, pca_a, 16), 1e-10);
    rx_pipeline_destroy(p);

    for (size_t i = 0; i < R_CHANNELS; i++)
        mean[i] = (mean[i] - range[0]) / r;
    OK(rx_lad_laplacian(mean, R_CHANNELS, l));
    cr_expect_leq(distance(l, lad_laplacian, R_CHANNELS * R_CHANNELS), 1e-12);
    for (size_t i = 0; i < R_CHANNELS * R_CHANNELS; i++)
        covariance[i] /= r * r;
    OK(rx_pca(yp_device_cpu(), covariance, R_CHANNELS, R_COMPONENTS, w, values));
    cr_expect_leq(distance(w, pca_w, sizeof w / 8), 1e-10);
    cr_expect_leq(distance(values, pca_eigenvalues, R_COMPONENTS), 1e-12);

    mean[0] = NAN;
    FAILS(rx_lad_laplacian(mean, R_CHANNELS, l), YP_INVALID, "mean nan");
    double opposite[2] = {1, -1}, one[1] = {5};
    FAILS(rx_lad_laplacian(opposite, 2, l), YP_INVALID, "mean 0");
    OK(rx_lad_laplacian(one, 1, l));
    cr_expect_eq(l[0], 0);
    covariance[5] = NAN;
    FAILS(rx_pca(yp_device_cpu(), covariance, R_CHANNELS, 2, w, values), YP_INVALID, "0 and 5");
    FAILS(rx_pca(yp_device_cpu(), covariance, 3, 4, w, values), YP_INVALID, "4 components");
    scene_free(&s);
}

/* -- scores ------------------------------------------------------------------------------------ */

static void scores_of(struct rx_pipeline *p, struct scene *s, const float *parameters,
                      float *scores)
{
    struct rx_source source = source_of(s);
    OK(rx_pipeline_score(p, &source, parameters, scores, NULL));
}

Test(rx_nodes, scores_and_logits_match_the_plain_chain)
{
    struct scene s = scene_make(700, 11, 100, 3);
    s.values[450 * s.stride + 10] = NAN;
    s.tile_pixels = 700;
    struct rx_tile tile = tile_of(&s);
    struct rx_source source = source_of(&s);
    float scores[800], logits[800], plain32[700];
    double exact[700], kept64[700];
    source.tile_pixels = 800; /* room for more than comes */
    for (size_t k = 0; k < SHAPES; k++) {
        struct rx_pipeline_options o = options_for(&shapes[k], &s, 2);
        o.tile_pixels = 800;
        struct rx_pipeline *p = pipeline_for(&o);
        float *parameters = fit(p, &s, 2), kept32[700], got[700];
        double *x = block(rx_pipeline_parameters(p), sizeof *x);
        for (size_t i = 0; i < rx_pipeline_parameters(p); i++)
            x[i] = (double)parameters[i];
        struct rx_plain *plain = rx_plain_create(yp_device_cpu(), &o, &tile);
        bool coder = o.detector == RX_AUTOENCODER;
        OK(rx_pipeline_score(p, &source, parameters, scores, coder ? NULL : logits));
        rx_plain_scores(plain, x, exact);
        rx_plain_scores_f32(plain, parameters, plain32);
        size_t n = 0;
        for (size_t i = 0; i < 800; i++) {
            cr_assert_eq(i == 450 || i >= 700, isnan(scores[i]) != 0, "%s: pixel %zu is %g",
                         shapes[k].name, i, (double)scores[i]);
            if (!coder && isfinite(scores[i])) {
                float l = parameters[p->places.scale] * (scores[i] - parameters[p->places.bias]);
                cr_assert_float_eq(logits[i], l, 1e-5f * fabsf(l));
            } else if (!coder) {
                cr_assert(isnan(logits[i]));
            }
            if (isnan(scores[i]))
                continue;
            kept64[n] = exact[i];
            kept32[n] = plain32[i];
            got[n++] = scores[i];
        }
        struct yp_precision check = {.name = shapes[k].name,
                                     .count = n,
                                     .oracle = kept64,
                                     .plain = kept32,
                                     .got = got,
                                     .multiple = 2};
        struct yp_precision_result result;
        OK(yp_precision_error(&check, &result));
        cr_expect_leq(result.ratio, 2, "%s: %g, plain float %g", shapes[k].name, result.error,
                      result.plain_error);
        rx_plain_destroy(plain);
        rx_pipeline_destroy(p);
        free(parameters);
        free(x);
    }
    scene_free(&s);
}

Test(rx_nodes, the_pipeline_scores_as_the_detector_does)
{
    struct scene s = scene_make(3000, 16, 1e3, 0);
    struct rx_source source = source_of(&s);
    struct rx *rx = detector_for(&s, 2);
    float wanted[3000], scores[3000];
    double both = 0, norm = 0;
    OK(rx_fit(rx, &source));
    OK(rx_finish(rx, 0));
    OK(rx_score(rx, &source, wanted));
    const struct rx_pipeline_options ways[] = {
        {.eps = 0},
        {.normalise = true, .eps = 0},
        {.normalise = true, .select = true, .eps = 0}, /* RX does not see a channel's scale */
        {.normalise = true, .components = 16, .eps = 0},
    };
    for (size_t k = 0; k < 4; k++) {
        struct shape shape = {"", ways[k]};
        struct rx_pipeline_options o = options_for(&shape, &s, 2);
        struct rx_pipeline *p = pipeline_for(&o);
        float *parameters = fit(p, &s, 2);
        scores_of(p, &s, parameters, scores);
        both = norm = 0;
        for (size_t i = 0; i < 3000; i++) {
            both += pow((double)scores[i] - (double)wanted[i], 2);
            norm += pow((double)wanted[i], 2);
        }
        cr_expect_leq(sqrt(both / norm), 1e-4, "way %zu: %g", k, sqrt(both / norm));
        rx_pipeline_destroy(p);
        free(parameters);
    }
    rx_destroy(rx);
    scene_free(&s);
}

/* All components together are RX, down to the quietest. */
Test(rx_nodes, quiet_components_score_as_the_detector_does)
{
    struct scene s = scene_make(3000, 24, 1e5, 0);
    struct rx_source source = source_of(&s);
    struct rx *rx = detector_for(&s, 2);
    struct shape shape = {"", {.normalise = true, .components = 24}};
    struct rx_pipeline_options o = options_for(&shape, &s, 2);
    struct rx_pipeline *p = pipeline_for(&o);
    float wanted[3000], scores[3000], *parameters = fit(p, &s, 2);
    double apart2 = 0, norm = 0;
    OK(rx_fit(rx, &source));
    OK(rx_finish(rx, 0));
    OK(rx_score(rx, &source, wanted));
    scores_of(p, &s, parameters, scores);
    for (size_t i = 0; i < 3000; i++) {
        apart2 += pow((double)scores[i] - (double)wanted[i], 2);
        norm += pow((double)wanted[i], 2);
    }
    cr_expect_leq(sqrt(apart2 / norm), 4e-6, "%g", sqrt(apart2 / norm));
    rx_pipeline_destroy(p);
    rx_destroy(rx);
    free(parameters);
    scene_free(&s);
}

static double auc_of(const struct rx_pipeline_options *options, struct scene *s,
                     struct rx_start *start)
{
    struct rx_pipeline *p = pipeline_for(options);
    struct rx *rx = detector_for(s, 2);
    struct rx_source source = source_of(s);
    float *parameters = block(rx_pipeline_parameters(p), sizeof *parameters);
    float *scores = block(s->pixels, sizeof *scores);
    double auc;
    OK(rx_pipeline_fit(p, rx, &source, parameters, start));
    scores_of(p, s, parameters, scores);
    OK(metrics_auc(yp_device_cpu(), scores, s->labels, s->pixels, &auc, NULL));
    rx_pipeline_destroy(p);
    rx_destroy(rx);
    free(parameters);
    free(scores);
    return auc;
}

/* The target lies in the quietest direction, which pinv's cut-off takes for nothing: the cut is at
 * 64 2^-23 = 7.6e-6 of the largest eigenvalue, and 9 of 64 between 1 and 1e-6 lie below. */
Test(rx_nodes, the_float_pseudo_inverse_loses_what_cholesky_keeps)
{
    struct scene s = scene_with(8000, 64, 1e6, 0, 100, 10);
    struct shape shape = {"", {.eps = 1e-12}};
    struct rx_pipeline_options o = options_for(&shape, &s, 2);
    struct rx_start start;
    double cholesky = auc_of(&o, &s, &start);
    cr_expect_eq(start.dropped, 0);
    o.inverse = RX_PINV_F32;
    double pinv = auc_of(&o, &s, &start);
    cr_expect(start.dropped >= 8 && start.dropped <= 12, "%zu dropped", start.dropped);
    cr_expect_gt(cholesky, 0.95, "%g", cholesky);
    cr_expect_lt(fabs(pinv - 0.5), 0.05, "%g", pinv);
    scene_free(&s);

    s = scene_make(8000, 64, 10, 0); /* where nothing is dropped both are the same */
    o.inverse = RX_CHOLESKY;
    cholesky = auc_of(&o, &s, &start);
    o.inverse = RX_PINV_F32;
    pinv = auc_of(&o, &s, &start);
    cr_expect_eq(start.dropped, 0);
    cr_expect_leq(fabs(cholesky - pinv), 1e-4);
    scene_free(&s);
}

/* -- for a trainer ---------------------------------------------------------------------------- */

struct taken {
    float logits[700];
    uint8_t labels[700];
    size_t pixels;
};

static void take(void *arg, const float *logits, const uint8_t *labels, size_t pixels)
{
    struct taken *taken = arg;
    cr_assert_leq(taken->pixels + pixels, 700);
    memcpy(taken->logits + taken->pixels, logits, pixels * sizeof *logits);
    memcpy(taken->labels + taken->pixels, labels, pixels);
    taken->pixels += pixels;
}

Test(rx_nodes, a_trainer_is_told_weights_and_logits)
{
    struct scene s = scene_make(700, 7, 30, 0);
    s.tile_pixels = 130;
    s.values[650 * 7] = NAN;
    for (size_t k = 0; k < SHAPES; k++)
        for (int copied = 0; copied < 2; copied++) {
            struct rx_pipeline_options o = options_for(&shapes[k], &s, 3);
            struct rx_pipeline *p = pipeline_for(&o);
            struct rx_source source = source_of(&s);
            struct taken *taken = block(1, sizeof *taken);
            bool coder = o.detector == RX_AUTOENCODER;
            size_t n = rx_pipeline_parameters(p), bytes = n * sizeof(float);
            float *parameters = fit(p, &s, 2), *gradient = block(2 * n, sizeof *gradient);
            float *logits = block(source.tiles * source.tile_pixels, sizeof *logits);
            double mean, again, weight = 0;
            s.copy = copied != 0;
            OK(rx_pipeline_gradient(p, &source, parameters, &mean, gradient));
            OK(rx_pipeline_train_gradient(p, &source, parameters, &again, &weight, gradient + n));
            cr_expect_eq(again, mean);
            cr_expect_eq(weight, 699);
            cr_expect_eq(memcmp(gradient, gradient + n, bytes), 0);
            again = weight = 0;
            OK(rx_pipeline_train_evaluate(p, &source, parameters, &again, &weight, take, taken));
            cr_expect_eq(again, mean);
            cr_expect_eq(weight, 699);
            cr_expect_eq(taken->pixels, coder ? 0 : 700);
            if (!coder) {
                OK(rx_pipeline_score(p, &source, parameters, NULL, logits));
                cr_expect_eq(memcmp(logits, taken->logits, 700 * sizeof *logits), 0);
                cr_expect_eq(memcmp(s.labels, taken->labels, 700), 0);
                taken->pixels = 0;
                OK(rx_pipeline_train_evaluate(p, &source, parameters, NULL, NULL, take, taken));
                cr_expect_eq(memcmp(logits, taken->logits, 700 * sizeof *logits), 0);
            }
            source.tiles = 0;
            gradient[0] = 5;
            OK(rx_pipeline_train_gradient(p, &source, parameters, &again, &weight, gradient));
            cr_expect(weight == 0 && again == 0 && gradient[0] == 0);
            FAILS(rx_pipeline_train_evaluate(p, &source, parameters, &mean, NULL, take, taken),
                  YP_INVALID, "weight is NULL");
            FAILS(rx_pipeline_train_gradient(p, &source, parameters, &mean, NULL, gradient),
                  YP_INVALID, "weight is NULL");
            s.copy = false;
            rx_pipeline_destroy(p);
            free(taken);
            free(parameters);
            free(gradient);
            free(logits);
        }
    scene_free(&s);
}

/* -- bits ------------------------------------------------------------------------------------- */

Test(rx_nodes, bits_do_not_depend_on_threads_or_on_where_pixels_lie)
{
    for (size_t k = 0; k < SHAPES; k++) {
        float *first = NULL;
        size_t bytes = 0;
        for (int threads = 1; threads <= 4; threads++) {
            struct scene s = scene_make(1900, 13, 50, 2);
            s.tile_pixels = 150;
            s.copy = threads == 3;
            s.values[90 * s.stride + 1] = NAN;
            struct rx_pipeline_options o = options_for(&shapes[k], &s, threads);
            struct rx_pipeline *p = pipeline_for(&o);
            struct rx_source source = source_of(&s);
            size_t n = rx_pipeline_parameters(p), places = source.tiles * source.tile_pixels;
            float *said = block(2 * n + 2 + places, sizeof *said),
                  *parameters = fit(p, &s, threads);
            double mean;
            s.copy = threads == 3;
            memcpy(said, parameters, n * sizeof *said);
            settle(p, parameters);
            OK(rx_pipeline_gradient(p, &source, parameters, &mean, said + n));
            memcpy(said + 2 * n, &mean, sizeof mean);
            scores_of(p, &s, parameters, said + 2 * n + 2);
            bytes = (2 * n + 2 + places) * sizeof *said;
            if (first == NULL)
                first = said;
            else {
                cr_expect_eq(memcmp(first, said, bytes), 0, "%s: %d threads", shapes[k].name,
                             threads);
                free(said);
            }
            rx_pipeline_destroy(p);
            free(parameters);
            scene_free(&s);
        }
        free(first);
    }
}

Test(rx_nodes, instruction_sets_agree)
{
    struct scene s = scene_make(200, 37, 100, 5);
    s.values[40 * s.stride + 36] = NAN;
    float base[37], gain[37], rest[37], *out[2];
    uint8_t keep[2][200];
    double sums[2][37], products[2][37];
    for (int c = 0; c < 37; c++) {
        base[c] = (float)c / 16;
        gain[c] = 1 + (float)c / 7;
        rest[c] = (float)c / 3;
    }
    for (int rank = 0; rank <= 2; rank++) {
        const struct ypi_pixel_kernels *sets[2] = {ypi_pixel_kernels_at(0),
                                                   ypi_pixel_kernels_at(rank)};
        if (sets[1] == NULL)
            continue;
        for (int i = 0; i < 2; i++) {
            out[i] = block(200 * 37, sizeof **out);
            memset(sums[i], 0, sizeof sums[i]);
            memset(products[i], 0, sizeof products[i]);
            cr_assert_eq(
                sets[i]->gather(s.values, s.stride, 200, 37, base, gain, rest, out[i], keep[i]),
                199);
            cr_assert_eq(keep[i][40], 0);
            sets[i]->columns(out[i], out[i], 199, 37, sums[i], products[i]);
        }
        for (int i = 0; i < 199 * 37; i++) /* with and without a fused product */
            cr_assert_float_eq(out[0][i], out[1][i], 0x1p-22f * (fabsf(out[0][i]) + 13));
        for (int c = 0; c < 37; c++) {
            cr_expect_float_eq(sums[0][c], sums[1][c], 1e-5 * fabs(sums[0][c]) + 1e-3);
            cr_expect_float_eq(products[0][c], products[1][c], 1e-5 * products[0][c]);
        }
        free(out[0]);
        free(out[1]);
    }
    cr_assert_null(ypi_pixel_kernels_at(3));
    scene_free(&s);
}

/* -- what data can do ------------------------------------------------------------------------- */

Test(rx_nodes, finishing_with_shrinkage_and_without_dead_channels)
{
    struct scene s = scene_make(500, 6, 20, 0);
    struct rx_tile all = tile_of(&s);
    struct rx_source source = source_of(&s);
    double exact[500], one[36], shrunk[500];
    uint8_t mask[6];
    float parameters[6 + 36 + 2];
    struct rx *rx = detector_for(&s, 2);
    OK(rx_fit(rx, &source));
    FAILS(rx_finish_with(rx, &(struct rx_finish_options){.shrink = 1.5}), YP_INVALID,
          "shrink is 1.5");
    FAILS(rx_finish_with(rx, &(struct rx_finish_options){.shrink = NAN}), YP_INVALID, "shrink is");
    FAILS(rx_finish_with(rx, NULL), YP_INVALID, "options is NULL");
    cr_expect_eq(rx_masked(rx, mask), 0);
    OK(rx_finish_with(rx, &(struct rx_finish_options){.shrink = 1}));
    OK(rx_score_plain(rx, &all, shrunk));
    OK(rx_covariance(rx, one));
    for (size_t p = 0; p < 500; p++) { /* with the diagonal alone a score is a sum by channel */
        double sum = 0;
        for (size_t c = 0; c < 6; c++)
            sum += pow((double)s.values[p * 6 + c] - rx_mean(rx)[c], 2) / one[7 * c];
        cr_assert_float_eq(shrunk[p], sum, 1e-12 * sum);
    }
    rx_destroy(rx);

    for (size_t p = 0; p < 500; p++)
        s.values[p * 6 + 2] = s.values[p * 6 + 4] = 0.1f;
    rx = detector_for(&s, 2);
    OK(rx_fit(rx, &source));
    FAILS(rx_finish(rx, 0), YP_INVALID, "channel 2 is dead");
    OK(rx_finish_with(rx, &(struct rx_finish_options){.mask_dead = true}));
    cr_expect_eq(rx_masked(rx, mask), 2);
    cr_expect_eq(memcmp(mask, (uint8_t[]){0, 0, 1, 0, 1, 0}, 6), 0);
    OK(rx_score_plain(rx, &all, exact));
    OK(rx_loss_start(rx, 1, 6, parameters));
    for (size_t i = 0; i < 36; i++)
        cr_expect((parameters[6 + i] == 0) == (mask[i / 6] != 0 || mask[i % 6] != 0) ||
                  parameters[6 + i] == 0);
    cr_expect_gt(parameters[6], 0);
    float fast[1000];
    OK(rx_score(rx, &source, fast));

    struct rx_channel channels[6]; /* the same by leaving them out beforehand */
    size_t list[6];
    OK(rx_survey(yp_device_cpu(), &source, 2, channels));
    cr_assert_eq(rx_usable(channels, 6, 0, list), 4);
    cr_expect_eq(memcmp(list, (size_t[]){0, 1, 3, 5}, 4 * sizeof *list), 0);
    struct rx_subset *subset = rx_subset_create(yp_device_cpu(), &source, list, 4, 2);
    struct rx *four = rx_create(yp_device_cpu(), 4, s.tile_pixels, 2);
    float by_four[1000];
    OK(rx_fit(four, rx_subset_source(subset)));
    OK(rx_finish(four, 0));
    OK(rx_score(four, rx_subset_source(subset), by_four));
    for (size_t p = 0; p < 500; p++) {
        cr_assert_float_eq(exact[p], (double)by_four[p], 1e-5 * exact[p]);
        cr_assert_float_eq(fast[p], by_four[p], 1e-5f * fast[p]);
    }
    rx_destroy(four);
    rx_subset_destroy(subset);
    rx_destroy(rx);

    struct shape shape = {"", {.normalise = true, .mask_dead = true}};
    struct rx_pipeline_options o = options_for(&shape, &s, 2);
    struct rx_pipeline *p = pipeline_for(&o);
    struct rx_start start;
    float pipe[1000], *fitted = block(rx_pipeline_parameters(p), sizeof *fitted);
    rx = detector_for(&s, 2);
    OK(rx_pipeline_fit(p, rx, &source, fitted, &start));
    cr_expect_eq(start.masked, 2);
    scores_of(p, &s, fitted, pipe);
    for (size_t i = 0; i < 500; i++)
        cr_assert_float_eq(pipe[i], by_four[i], 1e-5f * by_four[i]);
    rx_destroy(rx);
    rx_pipeline_destroy(p);
    free(fitted);
    scene_free(&s);
}

/* By hand: A of variances 4, 0 and 2, where 0 is left out, and eps 1. */
Test(rx_nodes, a_dead_channel_has_no_part_in_the_inverse)
{
    const double mean[3] = {1, 2, 3}, covariance[9] = {4, 0, 1, 0, 0, 0, 1, 0, 2};
    const struct rx_pipeline_options o = {
        .channels = 3, .tile_pixels = 10, .threads = 1, .eps = 1, .mask_dead = true};
    struct rx_pipeline *p = pipeline_for(&o);
    struct rx_start start;
    double parameters[3 + 9 + 2];
    OK(rx_pipeline_start_plain(p, mean, covariance, 0, 5, parameters, &start));
    const double wanted[9] = {3.0 / 14, 0, -1.0 / 14, 0, 0, 0, -1.0 / 14, 0, 5.0 / 14};
    for (int i = 0; i < 9; i++)
        cr_expect(wanted[i] == 0 ? parameters[3 + i] == 0
                                 : fabs(parameters[3 + i] - wanted[i]) < 1e-15,
                  "%d: %g", i, parameters[3 + i]);
    cr_expect_eq(start.masked, 1);
    rx_pipeline_destroy(p);
}

Test(rx_nodes, a_channel_that_is_never_finite)
{
    struct scene s = scene_make(900, 8, 50, 3);
    s.tile_pixels = 200;
    struct rx_source source = source_of(&s);
    struct rx_channel channels[8];
    size_t list[8];
    for (size_t p = 0; p < 900; p++)
        s.values[p * s.stride + 3] = p % 2 ? NAN : INFINITY;
    s.values[5] = NAN; /* and one that is so once */
    OK(rx_survey(yp_device_cpu(), &source, 2, channels));
    cr_expect_eq(channels[3].finite, 0);
    cr_expect_eq(channels[5].finite, 899);
    cr_expect_eq(channels[6].finite, 900);
    double mean = 0, variance = 0;
    for (size_t p = 0; p < 900; p++)
        mean += (double)s.values[p * s.stride + 6] / 900;
    for (size_t p = 0; p < 900; p++)
        variance += pow((double)s.values[p * s.stride + 6] - mean, 2) / 899;
    cr_expect_float_eq(channels[6].mean, mean, 1e-12);
    cr_expect_float_eq(channels[6].variance, variance, 1e-12);
    cr_assert_eq(rx_usable(channels, 8, 0, list), 7);

    struct rx_subset *subset = rx_subset_create(yp_device_cpu(), &source, list, 7, 2);
    struct rx *rx = rx_create(yp_device_cpu(), 7, 200, 2);
    struct rx_summary summary;
    OK(rx_fit(rx, rx_subset_source(subset)));
    rx_summary(rx, &summary);
    cr_expect_eq(summary.pixels, 899);
    OK(rx_finish(rx, 0));
    rx_destroy(rx);
    rx_subset_destroy(subset);

    /* The two of largest variance, in ascending order. */
    size_t two[2];
    cr_assert_eq(rx_usable(channels, 8, 2, two), 2);
    for (size_t c = 0; c < 8; c++)
        if (c != two[0] && c != two[1] && c != 3)
            cr_expect(channels[c].variance <= channels[two[0]].variance &&
                      channels[c].variance <= channels[two[1]].variance);
    REFUSED(rx_subset_create(yp_device_cpu(), &source, (size_t[]){8}, 1, 2), "list[0] is 8");
    REFUSED(rx_subset_create(yp_device_cpu(), &source, list, 0, 2), "count is 0");
    scene_free(&s);
}

/* Everything a pipeline does on this scene, or the first failure. */
static enum yp_status whole(const struct rx_pipeline_options *o, struct scene *s, double *mean,
                            float *scores)
{
    struct rx_source source = source_of(s);
    source.tiles += 2; /* two empty tiles at the end */
    struct rx_pipeline *p = pipeline_for(o);
    struct rx *rx = detector_for(s, 2);
    size_t n = rx_pipeline_parameters(p);
    float *parameters = block(n, sizeof *parameters), *gradient = block(n, sizeof *gradient);
    float *all = block(source.tiles * source.tile_pixels, sizeof *all);
    enum yp_status status = rx_pipeline_fit(p, rx, &source, parameters, NULL);
    if (status == YP_OK)
        status = rx_pipeline_gradient(p, &source, parameters, mean, gradient);
    if (status == YP_OK)
        status = rx_pipeline_score(p, &source, parameters, all, NULL);
    for (size_t i = 0; i < n && status == YP_OK && isfinite(*mean); i++)
        cr_assert(isfinite(parameters[i]) && isfinite(gradient[i]), "%zu: %g, %g", i,
                  (double)parameters[i], (double)gradient[i]);
    memcpy(scores, all, s->pixels * sizeof *scores);
    rx_pipeline_destroy(p);
    rx_destroy(rx);
    free(parameters);
    free(gradient);
    free(all);
    return status;
}

Test(rx_nodes, constant_images_and_single_pixels)
{
    float scores[60];
    double mean;
    for (size_t k = 0; k < SHAPES; k++) {
        struct scene s = scene_make(60, 8, 10, 0);
        s.tile_pixels = 25;
        bool global = shapes[k].options.detector == RX_GLOBAL;
        bool own = shapes[k].options.detector == RX_IMAGE;
        struct rx_pipeline_options o = options_for(&shapes[k], &s, 2);
        for (size_t i = 0; i < 60 * 8; i++)
            s.values[i] = 0.1f;
        if (o.detector == RX_LAD && o.normalise) { /* all 0 after MinMax, which LAD cannot take */
            FAILS(whole(&o, &s, &mean, scores), YP_INVALID, "mean 0");
        } else {
            OK(whole(&o, &s, &mean, scores));
            for (size_t i = 0; i < 60 && (global || own); i++)
                cr_assert_eq(scores[i], 0, "%s: %g", shapes[k].name, (double)scores[i]);
        }
        s.pixels = 1;
        for (size_t i = 0; i < 8; i++)
            s.values[i] = (float)(i + 1);
        if (global) {
            FAILS(whole(&o, &s, &mean, scores), YP_INVALID, "takes 2 at least");
        } else {
            OK(whole(&o, &s, &mean, scores));
            cr_expect(o.detector == RX_AUTOENCODER || fabsf(scores[0]) < 1e-9f, "%s: %g",
                      shapes[k].name, (double)scores[0]);
        }
        s.values[3] = NAN;
        FAILS(whole(&o, &s, &mean, scores), YP_INVALID, "finite pixel");
        s.pixels = 0;
        FAILS(whole(&o, &s, &mean, scores), YP_INVALID, "finite pixel");
        scene_free(&s);
    }

    /* Without MinMax and eps, a constant image has all channels masked. */
    struct scene s = scene_make(60, 8, 10, 0);
    struct shape shape = {"", {.mask_dead = true}};
    struct rx_pipeline_options o = options_for(&shape, &s, 2);
    for (size_t i = 0; i < 60 * 8; i++)
        s.values[i] = 7;
    OK(whole(&o, &s, &mean, scores));
    cr_expect_eq(scores[59], 0);
    o.mask_dead = false;
    FAILS(whole(&o, &s, &mean, scores), YP_INVALID, "channel 0 is dead");
    scene_free(&s);
}

Test(rx_nodes, fewer_pixels_than_channels)
{
    struct scene s = scene_make(5, 8, 10, 0);
    float scores[5];
    double mean;
    struct shape shape = {"", {.normalise = true}};
    struct rx_pipeline_options o = options_for(&shape, &s, 2);
    FAILS(whole(&o, &s, &mean, scores), YP_INVALID, "full rank");
    o.shrink = 0.1;
    OK(whole(&o, &s, &mean, scores));
    o.shrink = 0;
    o.eps = 1e-6;
    OK(whole(&o, &s, &mean, scores));
    o.eps = 0;
    o.components = 3;
    OK(whole(&o, &s, &mean, scores));
    o.components = 5; /* 5 pixels span 4 directions */
    FAILS(whole(&o, &s, &mean, scores), YP_INVALID, "component 4");
    o.components = 0;
    o.inverse = RX_PINV_F32;
    OK(whole(&o, &s, &mean, scores));
    o.inverse = RX_CHOLESKY;
    o.detector = RX_IMAGE;
    o.eps = 1e-6;
    OK(whole(&o, &s, &mean, scores));
    scene_free(&s);
}

Test(rx_nodes, huge_values)
{
    struct scene s = scene_make(300, 5, 10, 0);
    float scores[300];
    double mean;
    for (size_t k = 0; k < SHAPES; k++) {
        struct rx_pipeline_options o = options_for(&shapes[k], &s, 2);
        for (size_t i = 0; i < 1500; i++)
            s.values[i] = ldexpf(s.values[i], 40); /* scaled exactly: nothing else changes */
        OK(whole(&o, &s, &mean, scores));
        for (size_t i = 0; i < 1500; i++)
            s.values[i] = ldexpf(s.values[i], -40);
    }
    s.values[7] = 3e38f; /* its square is beyond float */
    s.values[8] = -3e38f;
    for (size_t k = 0; k < SHAPES; k++) {
        struct rx_pipeline_options o = options_for(&shapes[k], &s, 2);
        enum yp_status status = whole(&o, &s, &mean, scores);
        if (status == YP_OK) /* nothing squares the data */
            cr_expect(!o.normalise && !o.select && o.detector != RX_GLOBAL, "%s", shapes[k].name);
        else
            cr_expect(strstr(yp_last_error(), "beyond") != NULL ||
                          strstr(yp_last_error(), "overflow") != NULL ||
                          strstr(yp_last_error(), "allowed are finite") != NULL ||
                          strstr(yp_last_error(), "eps") != NULL,
                      "%s: %s", shapes[k].name, yp_last_error());
    }
    scene_free(&s);
}

/* RX by image would have no factor, which ends a run; a step that is lost is to be skipped. */
Test(rx_nodes, gains_that_run_away)
{
    struct scene s = scene_make(200, 5, 10, 0);
    struct rx_source source = source_of(&s);
    for (size_t i = 0; i < SHAPES; i++) {
        struct rx_pipeline_options o = options_for(&shapes[i], &s, 2);
        if (!o.select)
            continue;
        struct rx_pipeline *p = pipeline_for(&o);
        size_t n = rx_pipeline_parameters(p);
        float *parameters = fit(p, &s, 2), *gradient = block(n, sizeof(float));
        double mean = 0, weight = 0;
        float saved = parameters[p->places.logits + 2];
        OK(rx_pipeline_train_gradient(p, &source, parameters, &mean, &weight, gradient));
        double before = mean;
        for (int j = 0; j < 2; j++) {
            parameters[p->places.logits + 2] = j == 0 ? NAN : INFINITY;
            OK(rx_pipeline_train_gradient(p, &source, parameters, &mean, &weight, gradient));
            cr_expect(isnan(mean) && weight == 200, "%s: %g", shapes[i].name, mean);
        }
        parameters[p->places.logits + 2] = saved;
        OK(rx_pipeline_train_gradient(p, &source, parameters, &mean, &weight, gradient));
        cr_expect_eq(mean, before, "%s", shapes[i].name);
        rx_pipeline_destroy(p);
        free(parameters);
        free(gradient);
    }
    scene_free(&s);
}

/* A stride that the yielder got wrong is told, not read past. */
static enum yp_status narrow_yield(void *arg, size_t index, float *values, uint8_t *labels,
                                   struct rx_tile *tile)
{
    enum yp_status status = scene_yield(arg, index, values, labels, tile);
    tile->stride = 4;
    return status;
}

Test(rx_nodes, a_stride_below_channels_is_refused)
{
    struct scene s = scene_make(200, 5, 10, 0);
    struct rx_source source = source_of(&s);
    struct rx_pipeline_options o = options_for(&shapes[0], &s, 2);
    struct rx_tile tile = tile_of(&s);
    struct rx_channel channels[2];
    source.yield = narrow_yield;
    struct rx_subset *subset = rx_subset_create(yp_device_cpu(), &source, (size_t[]){1, 0}, 2, 2);
    cr_assert_not_null(subset, "%s", yp_last_error());
    FAILS(rx_survey(yp_device_cpu(), rx_subset_source(subset), 2, channels), YP_INVALID,
          "tile 0 has stride 4, allowed are 0 and 5 or more");
    rx_subset_destroy(subset);
    tile.stride = 4;
    FAILS(rx_plain_create(yp_device_cpu(), &o, &tile) == NULL ? YP_INVALID : YP_OK, YP_INVALID,
          "stride 4, allowed are 0 and 5 or more");
    scene_free(&s);
}

/* What changes a parameter beyond sense gives a loss that tells, or a message. */
Test(rx_nodes, parameters_that_run_away)
{
    struct scene s = scene_make(200, 5, 10, 0);
    struct rx_source source = source_of(&s);
    struct rx_pipeline_options o = options_for(&shapes[3], &s, 2);
    struct rx_pipeline *p = pipeline_for(&o);
    float *parameters = fit(p, &s, 2), *gradient = block(rx_pipeline_parameters(p), sizeof(float));
    double mean;
    parameters[p->places.a] = INFINITY;
    OK(rx_pipeline_gradient(p, &source, parameters, &mean, gradient));
    cr_expect(!isfinite(mean));
    parameters[p->places.max] = NAN;
    FAILS(rx_pipeline_gradient(p, &source, parameters, &mean, gradient), YP_INVALID, "max nan");
    parameters[p->places.max] = 3e38f;
    FAILS(rx_pipeline_score(p, &source, parameters, NULL, NULL), YP_INVALID, "1e+37 apart");
    s.unlabelled = true;
    parameters[p->places.max] = 9;
    FAILS(rx_pipeline_gradient(p, &source, parameters, &mean, gradient), YP_INVALID, "no labels");
    OK(rx_pipeline_score(p, &source, parameters, NULL, NULL));
    FAILS(rx_pipeline_gradient(p, NULL, parameters, &mean, gradient), YP_INVALID, "source is NULL");
    FAILS(rx_pipeline_gradient(p, &source, NULL, &mean, gradient), YP_INVALID, "parameters is");
    FAILS(rx_pipeline_calibrate(p, &source, NULL), YP_INVALID, "parameters is NULL");
    FAILS(rx_pipeline_fit(p, NULL, &source, parameters, NULL), YP_INVALID, "rx is NULL");
    rx_pipeline_destroy(p);
    free(parameters);
    free(gradient);
    scene_free(&s);
}

Test(rx_nodes, options_that_make_no_sense_are_refused_by_name)
{
    const struct {
        struct rx_pipeline_options options;
        const char *words;
    } wrong[] = {
        {{.channels = 0, .tile_pixels = 9}, "channels is 0"},
        {{.channels = 4, .tile_pixels = 0}, "tile_pixels is 0"},
        {{.channels = 4, .tile_pixels = 9, .eps = -1}, "eps is -1"},
        {{.channels = 4, .tile_pixels = 9, .keep = NAN}, "keep is nan"},
        {{.channels = 4, .tile_pixels = 9, .shrink = 2}, "shrink is 2"},
        {{.channels = 4, .tile_pixels = 9, .components = 5}, "components is 5"},
        {{.channels = 4, .tile_pixels = 9, .components = 2, .detector = RX_LAD}, "RX_GLOBAL only"},
        {{.channels = 4, .tile_pixels = 9, .orthogonality = 1}, "no components"},
        {{.channels = 4, .tile_pixels = 9, .hidden = 5}, "hidden is 5"},
        {{.channels = 4, .tile_pixels = 9, .detector = RX_IMAGE}, "eps is 0"},
        {{.channels = 4, .tile_pixels = 9, .detector = RX_LAD, .mask_dead = true},
         "RX_GLOBAL only"},
        {{.channels = 4, .tile_pixels = 9, .detector = (enum rx_detector)9}, "detector is 9"},
        {{.channels = 4, .tile_pixels = 9, .inverse = (enum rx_inverse)9}, "inverse is 9"},
        {{.channels = 4, .tile_pixels = 9, .tiles = (enum rx_tiles)9}, "tiles is 9"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        REFUSED(rx_pipeline_create(device_of_pipelines(), &wrong[i].options), wrong[i].words);
        cr_expect_eq(PIPELINE_BYTES(&wrong[i].options), 0);
    }
    REFUSED(rx_pipeline_create(device_of_pipelines(), NULL), "options is NULL");
    REFUSED(rx_pipeline_create(NULL, &shapes[0].options), "device is NULL");
}

/* -- memory ---------------------------------------------------------------------------------- */

Test(rx_nodes, bytes_are_what_is_taken)
{
    struct yp_device *cpu = yp_device_cpu();
    struct scene s = scene_make(300, 7, 10, 0);
    struct rx_source source = source_of(&s);
    struct rx_tile tile = tile_of(&s);
    s.tile_pixels = source.tile_pixels = 90;
    source.tiles = 4;
    for (size_t i = 0; i < SHAPES; i++)
        for (int threads = 1; threads <= 2; threads++) {
            struct rx_pipeline_options o = options_for(&shapes[i], &s, threads);
            struct rx *rx = detector_for(&s, threads);
            double mean;
            uint64_t before = memory().allocated;
            yp_device_reset_peak(cpu);
            struct rx_pipeline *p = pipeline_for(&o);
            float *parameters = block(2 * rx_pipeline_parameters(p), sizeof *parameters);
            OK(rx_pipeline_fit(p, rx, &source, parameters, NULL));
            OK(rx_pipeline_gradient(p, &source, parameters, &mean,
                                    parameters + rx_pipeline_parameters(p)));
            cr_expect_eq(memory().allocated_peak - before, PIPELINE_BYTES(&o), "%s: %zu, not %zu",
                         shapes[i].name, (size_t)(memory().allocated_peak - before),
                         PIPELINE_BYTES(&o));
            rx_pipeline_destroy(p);
            before = memory().allocated;
            yp_device_reset_peak(cpu);
            FAILS(rx_plain_create(cpu, &o, &tile) == NULL ? YP_INVALID : YP_OK, YP_INVALID,
                  "the tile has 300 pixels, allowed are 0 to 90");
            o.tile_pixels = 300;
            struct rx_plain *plain = rx_plain_create(cpu, &o, &tile);
            cr_assert_not_null(plain, "%s", yp_last_error());
            cr_expect_eq(memory().allocated_peak - before, rx_plain_bytes(&o, &tile), "%s",
                         shapes[i].name);
            rx_plain_destroy(plain);
            rx_destroy(rx);
            free(parameters);
        }
    cr_expect_eq(memory().allocated, 0);
    scene_free(&s);
}

/* Everything that takes memory; YP_OK when all of it went through. */
static enum yp_status all_memory(struct scene *s, const struct rx_pipeline_options *o)
{
    struct yp_device *cpu = yp_device_cpu();
    struct rx_source source = source_of(s);
    struct rx_tile tile = tile_of(s);
    struct rx_channel channels[5];
    double covariance[25] = {1, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 3}, w[25], values[5];
    enum yp_status status = rx_survey(cpu, &source, 2, channels);
    if (status == YP_OK)
        status = rx_pca(cpu, covariance, 5, 2, w, values);
    struct rx_subset *subset =
        status == YP_OK ? rx_subset_create(cpu, &source, (size_t[]){1, 0}, 2, 2) : NULL;
    struct rx_pipeline *p = subset != NULL ? rx_pipeline_create(device_of_pipelines(), o) : NULL;
    struct rx_plain *plain = p != NULL ? rx_plain_create(cpu, o, &tile) : NULL;
    if (status == YP_OK && plain == NULL)
        status = YP_OUT_OF_MEMORY;
    rx_plain_destroy(plain);
    rx_pipeline_destroy(p);
    rx_subset_destroy(subset);
    return status;
}

Test(rx_nodes, every_refusal_is_told_and_nothing_leaks)
{
    struct scene s = scene_make(100, 5, 10, 0);
    struct rx_pipeline_options o = options_for(&shapes[5], &s, 2);
    for (uint64_t nth = 1; nth <= 5; nth++) {
        yp_device_fail_allocation(yp_device_cpu(), nth);
        cr_assert_eq(all_memory(&s, &o), YP_OUT_OF_MEMORY, "request %" PRIu64, nth);
        cr_assert_not_null(strstr(yp_last_error(), "out of memory"), "%s", yp_last_error());
        cr_assert_eq(memory().allocated, 0);
    }
    yp_device_fail_allocation(yp_device_cpu(), 0);
    OK(all_memory(&s, &o));
    cr_assert_eq(memory().allocated, 0);
    scene_free(&s);
}

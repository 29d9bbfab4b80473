/* Nodes and pipelines: gradients of the plain formulas, and of the fast ones against them. */
#include "models/nn/point.h"
#include "tests/unit/rx/rx_nodes.h"

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

/* The operators that pipelines are made of, with 9 pixels of 6 channels. */
static const struct node {
    const struct nn_operator *op;
    struct nn_shape shape;
} nodes[] = {{&nn_minmax, {.size = {54}, .setting = {1e-6}}},
             {&nn_selector, {.size = {9, 6}, .setting = {4}}},
             {&nn_pca, {.size = {9, 3, 6}}},
             {&nn_quadratic, {.size = {9, 6}}},
             {&ypi_rx_image, {.size = {9, 6}, .setting = {0.1}}},
             {&nn_linear, {.size = {9, 3, 6}}},
             {&nn_mse, {.size = {9, 6}}},
             {&nn_logit, {.size = {9}}},
             {&nn_bce, {.size = {9}, .setting = {10, 3}}},
             {&nn_orthogonality, {.size = {3, 6}}},
             {&ypi_rx_whitening, {.size = {9, 3}, .setting = {0.1}}},
             {&ypi_rx_residual, {.size = {9, 3, 6}}},
             {&ypi_rx_choice_terms, {.size = {6}, .setting = {0.3, -0.2, 4}}}};

static struct nn_point *point_of(const struct node *node)
{
    struct nn_point *point = nn_point_create(yp_device_cpu(), node->op, &node->shape, NULL, 7);
    cr_assert_not_null(point, "%s", yp_last_error());
    return point;
}

Test(rx_nodes, every_node_has_the_gradient_of_its_formula)
{
    for (size_t i = 0; i < LENGTH(nodes); i++) {
        struct nn_point *point = point_of(&nodes[i]);
        struct yp_gradient check;
        nn_point_gradient(point, &check);
        check_vjp(nodes[i].op->name, check);
        nn_point_destroy(point);
    }
}

/* Without a range r is 1e-6, and then max has no gradient. */
Test(rx_nodes, minmax_of_a_constant)
{
    double x[3] = {1, 1 + 1e-7, 1 - 1e-7}, min = 1, max = 1, y[3], c[3] = {1, 2, 5};
    double dx[3], dmin, dmax;
    const struct nn_shape shape = {.size = {3}, .setting = {YPI_RX_FLAT}};
    struct nn_call call = {
        .shape = &shape, .value = {x, &min, &max, y}, .gradient = {dx, &dmin, &dmax, c}};
    nn_minmax.oracle(&call);
    nn_minmax.oracle_vjp(&call);
    cr_expect_float_eq(y[1], 0.1, 1e-9);
    cr_expect_float_eq(dx[1], 2e6, 1e-6);
    cr_expect_float_eq(dmin, -8e6, 1e-6);
    cr_expect_eq(dmax, 0);
}

/* In float the loops are the same: what rounding may do, and not more. */
Test(rx_nodes, float_nodes_are_the_same_formulas)
{
    for (size_t i = 0; i < LENGTH(nodes); i++) {
        const struct nn_operator *op = nodes[i].op;
        struct nn_point *point = point_of(&nodes[i]);
        for (int pass = NN_FORWARD; pass <= NN_VJP; pass++) {
            nn_point_plain(point, (enum nn_pass)pass);
            for (int k = 0; k < nn_tensors(op); k++) {
                if (!nn_point_written(point, (enum nn_pass)pass, k))
                    continue;
                bool back = pass == NN_VJP;
                const float *plain = back ? point->plain.gradient[k] : point->plain.value[k];
                struct yp_precision_result result;
                struct yp_precision check = {
                    .name = op->name,
                    .count = nn_count(op, &op->tensors[k], &nodes[i].shape),
                    .oracle = back ? point->oracle.gradient[k] : point->oracle.value[k],
                    .plain = plain,
                    .got = plain};
                OK(yp_precision_error(&check, &result));
                cr_expect_leq(result.error, 1e-5, "%s, %s: %g", op->name, op->tensors[k].name,
                              result.error);
            }
        }
        nn_point_destroy(point);
    }
}

/* Away from where statistics put it: A is not symmetric there, nor W orthogonal. */
static void move(float *parameters, size_t n, double by)
{
    uint64_t state = 19;
    for (size_t i = 0; i < n; i++)
        parameters[i] *= (float)(1 + by * normal(&state));
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
        penalty = 0;
        for (size_t i = tile.pixels; i < outputs; i++)
            penalty += losses[i];
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

/* models/train/optimiser.h and schedule.h against PyTorch or its formulas, and models/data/order.h.
 */
#include "tests/unit/rx/rx_fixture.h"
#include "tests/unit/train/optimiser_reference.h"
#include "tests/unit/train/sgd_reference.h"

#include "models/data/order.h"
#include "models/train/internal.h"
#include "models/train/optimiser.h"
#include "models/train/schedule.h"
#include <math.h>

#define N REFERENCE_COUNT

/* -- AdamW ---------------------------------------------------------------------------------- */

struct adamw_state {
    double p[N], m[N], v[N];
    float p32[N], m32[N], v32[N];
};

/* What float may be off by: p is rounded at the start and twice a step; an update of about lr, by
 * some ten roundings of its own. */
static double rounding(int steps, double p, double lr)
{
    return 0x1p-24 * ((1 + 2 * steps) * fabs(p) + 10 * steps * lr);
}

static void given_gradient(uint64_t *random, int t, double *g, float *g32)
{
    static const double sizes[N] = {1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3,
                                    1e-2, 1e-1, 1e0,  1e1,  1e2,  1e3};
    for (int i = 0; i < N; i++)
        g32[i] = (float)((script_uniform(random) - 0.5) * sizes[i]);
    if (t % 7 == 0)
        g32[t % N] = 0;
    for (int i = 0; i < N; i++)
        g[i] = (double)g32[i];
}

/* train_adamw_step() in double. */
static void adamw_step_f64(const struct train_adamw *how, uint64_t t, size_t count,
                           const double *gradient, double *m, double *v, double *parameters)
{
    double correction = sqrt(1 - pow(how->beta2, (double)t));
    double step = how->lr / (1 - pow(how->beta1, (double)t));
    for (size_t i = 0; i < count; i++) {
        double g = gradient[i];
        m[i] = m[i] + (1 - how->beta1) * (g - m[i]);
        v[i] = how->beta2 * v[i] + (1 - how->beta2) * g * g;
        double scale = sqrt(v[i]) / correction + how->eps;
        parameters[i] = (1 - how->lr * how->weight_decay) * parameters[i] - step * (m[i] / scale);
    }
}

Test(optimiser, adamw_is_pytorchs)
{
    const struct train_adamw how = train_adamw_defaults();
    struct adamw_state s = {0};
    uint64_t random = 1;
    size_t at = 0;
    for (int i = 0; i < N; i++) {
        s.p[i] = script_uniform(&random) * 4 - 2;
        s.p32[i] = (float)s.p[i];
    }
    for (int t = 1; t <= 100; t++) {
        double g[N];
        float g32[N];
        given_gradient(&random, t, g, g32);
        adamw_step_f64(&how, (uint64_t)t, N, g, s.m, s.v, s.p);
        train_adamw_step(&how, (uint64_t)t, N, g32, s.m32, s.v32, s.p32);
        if (at == LENGTH(reference_given) || reference_given[at].step != t)
            continue;
        for (int i = 0; i < N; i++) {
            double p = reference_given[at].f64[i], p32 = reference_given[at].f32[i];
            cr_expect(fabs(s.p[i] - p) <= 1e-14, "step %d, %d: %.17g, not %.17g", t, i, s.p[i], p);
            cr_expect(fabs((double)s.p32[i] - p32) <= rounding(t, p, how.lr),
                      "float, step %d, %d: %g", t, i, (double)s.p32[i] - p32);
            cr_expect(fabs((double)s.p32[i] - s.p[i]) <= rounding(t, p, how.lr),
                      "oracle, step %d, %d", t, i);
        }
        at++;
    }
    cr_assert_eq(at, LENGTH(reference_given));
}

/* Both precisions of the bowl of optimiser_reference.py. */
struct bowl {
    double a[N], c[N], lr, lr32, norm, norm32;
    struct train_plateau_state plateau, plateau32;
    struct adamw_state s;
};

static void bowl_gradients(struct bowl *b, double *g, float *g32)
{
    double sum = 0;
    for (int i = 0; i < N; i++) {
        g[i] = b->a[i] * (b->s.p[i] - b->c[i]);
        g32[i] = (float)b->a[i] * (b->s.p32[i] - (float)b->c[i]);
        sum += g[i] * g[i];
    }
    b->norm = sqrt(sum);
    b->norm32 = sqrt(train_sum_squares(N, g32));
    for (int i = 0; i < N; i++)
        g[i] *= train_clip_factor(b->norm, 1);
    train_scale_gradient(N, train_clip_factor(b->norm32, 1), g32);
}

static void bowl_step(struct bowl *b, uint64_t t)
{
    double g[N];
    float g32[N];
    bowl_gradients(b, g, g32);
    for (int part = 0; part < 2; part++) {
        size_t first = part == 0 ? 0 : 5, count = part == 0 ? 5 : N - 5;
        struct train_adamw how = {b->lr, 0.8, 0.99, 1e-6, part == 0 ? 0.1 : 0};
        adamw_step_f64(&how, t, count, g + first, b->s.m + first, b->s.v + first, b->s.p + first);
        how.lr = b->lr32;
        train_adamw_step(&how, t, count, g32 + first, b->s.m32 + first, b->s.v32 + first,
                         b->s.p32 + first);
    }
}

static void bowl_schedule(struct bowl *b)
{
    const struct train_plateau how = {.factor = 0.3,
                                      .patience = 1,
                                      .threshold = 0.02,
                                      .cooldown = 1,
                                      .min_lr = 1e-4,
                                      .eps = 1e-8};
    double loss = 0, loss32 = 0;
    for (int i = 0; i < N; i++) {
        double away = b->s.p[i] - b->c[i], away32 = (double)b->s.p32[i] - b->c[i];
        loss += b->a[i] * away * away / 2;
        loss32 += b->a[i] * away32 * away32 / 2;
    }
    b->lr = train_plateau_step(&how, &b->plateau, loss, b->lr);
    b->lr32 = train_plateau_step(&how, &b->plateau32, loss32, b->lr32);
}

Test(optimiser, clipping_decay_masks_and_schedule_go_together_as_in_pytorch)
{
    struct bowl b = {.lr = 0.05, .lr32 = 0.05};
    uint64_t random = 2;
    size_t at = 0;
    train_plateau_start(&b.plateau);
    train_plateau_start(&b.plateau32);
    for (int i = 0; i < N; i++)
        b.a[i] = 0.5 + 8 * script_uniform(&random);
    for (int i = 0; i < N; i++)
        b.c[i] = script_uniform(&random) * 2 - 1;
    for (int t = 1; t <= 200; t++) {
        bowl_step(&b, (uint64_t)t);
        if (t % 5 == 0)
            bowl_schedule(&b);
        if (at == LENGTH(reference_bowl) || reference_bowl[at].step != t)
            continue;
        __typeof__(reference_bowl[0]) r = reference_bowl[at++];
        cr_expect(fabs(b.norm - r.norm) <= 1e-13 && b.lr == r.lr, "step %d: norm %.17g, lr %g", t,
                  b.norm, b.lr);
        cr_expect(b.lr32 == r.lr32, "step %d: lr %g", t, b.lr32);
        for (int i = 0; i < N; i++) {
            cr_expect(fabs(b.s.p[i] - r.f64[i]) <= 1e-13, "step %d, %d: %.17g", t, i, b.s.p[i]);
            cr_expect(fabs((double)b.s.p32[i] - r.f32[i]) <= rounding(t, r.f64[i], 0.05),
                      "step %d, %d: %.9g", t, i, (double)b.s.p32[i] - r.f32[i]);
        }
    }
    cr_assert_eq(at, LENGTH(reference_bowl));
    cr_assert(b.lr < 0.05, "the schedule did nothing");
}

/* A loss may lie below 0, as with a weight of entropy; better is lower there, too. */
Test(optimiser, plateau_of_negative_losses)
{
    const struct train_plateau how = {.factor = 0.5, .patience = 1, .threshold = 0.01};
    const struct {
        double loss, lr;
    } steps[] = {{-5, 1},     {-5.1, 1},   {-5.1, 1},  {-5.14, 0.5}, /* by less than 1 % */
                 {-5.2, 0.5}, {-5.2, 0.5}, {-5, 0.25}, {0.5, 0.25},  {0.5, 0.125}, {-5.26, 0.125}};
    struct train_plateau_state state;
    double lr = 1;
    train_plateau_start(&state);
    for (size_t i = 0; i < LENGTH(steps); i++) {
        lr = train_plateau_step(&how, &state, steps[i].loss, lr);
        cr_expect_eq(lr, steps[i].lr, "step %zu: %g", i, lr);
    }
    cr_expect_eq(state.best, -5.26);
}

Test(optimiser, plateau_is_pytorchs)
{
    int reduced = 0;
    for (size_t i = 0; i < LENGTH(reference_plateau); i++) {
        __typeof__(reference_plateau[0]) r = reference_plateau[i];
        const struct train_plateau how = {r.factor,   r.patience, r.threshold, r.absolute != 0,
                                          r.cooldown, r.min_lr,   r.eps};
        struct train_plateau_state state;
        double lr = 0.5;
        train_plateau_start(&state);
        for (int t = 0; t < REFERENCE_LOSSES; t++) {
            double before = lr;
            lr = train_plateau_step(&how, &state, r.losses[t], lr);
            cr_expect(lr == r.lr[t], "%zu, call %d: %.17g, not %.17g", i, t, lr, r.lr[t]);
            reduced += lr != before;
        }
    }
    cr_expect_gt(reduced, 20);
}

/* -- SGD, cosine, loss scaling ---------------------------------------------------------------- */

/* train_sgd_step() in double. */
static void sgd_step_f64(const struct train_sgd *how, uint64_t t, size_t count,
                         const double *gradient, double *b, double *parameters)
{
    const struct ypi_sgd_factors f = ypi_sgd_factors(how, t);
    for (size_t i = 0; i < count; i++) {
        double g = gradient[i] + f.decay * parameters[i], way = g;
        if (b != NULL) {
            b[i] = f.keep * b[i] + f.gain * g;
            way = how->nesterov ? g + f.ahead * b[i] : b[i];
        }
        parameters[i] = parameters[i] - f.step * way;
    }
}

Test(optimiser, sgd_is_the_published_formula)
{
    for (size_t c = 0; c < LENGTH(reference_sgd); c++) {
        __typeof__(reference_sgd[0]) r = reference_sgd[c];
        const struct train_sgd how = {SGD_RATE, r.momentum, r.dampening, r.weight_decay,
                                      r.nesterov != 0};
        double p[SGD_COUNT], b[SGD_COUNT] = {0}, g[SGD_COUNT];
        float p32[SGD_COUNT], b32[SGD_COUNT] = {0}, g32[SGD_COUNT];
        uint64_t random = 3;
        for (int i = 0; i < SGD_COUNT; i++)
            p32[i] = (float)(p[i] = script_uniform(&random) * 4 - 2);
        for (uint64_t t = 1; t <= SGD_STEPS; t++) {
            for (int i = 0; i < SGD_COUNT; i++)
                g32[i] = (float)(g[i] = script_uniform(&random) - 0.5);
            sgd_step_f64(&how, t, SGD_COUNT, g, r.momentum > 0 ? b : NULL, p);
            train_sgd_step(&how, t, SGD_COUNT, g32, r.momentum > 0 ? b32 : NULL, p32);
        }
        for (int i = 0; i < SGD_COUNT; i++) {
            cr_expect(fabs(p[i] - r.end[i]) <= 1e-14, "%zu, %d: %.17g, not %.17g", c, i, p[i],
                      r.end[i]);
            cr_expect(fabs((double)p32[i] - r.end[i]) <= rounding(SGD_STEPS, r.end[i], SGD_RATE),
                      "float, %zu, %d: %g", c, i, (double)p32[i] - r.end[i]);
        }
    }
}

Test(optimiser, a_cosine_is_the_published_formula)
{
    for (size_t c = 0; c < LENGTH(reference_cosine); c++) {
        __typeof__(reference_cosine[0]) r = reference_cosine[c];
        const struct train_cosine how = {r.warmup, r.steps, r.least};
        for (uint64_t t = 1; t <= COSINE_STEPS; t++) {
            double rate = train_cosine_rate(&how, t, SGD_RATE);
            cr_expect(fabs(rate - r.rates[t - 1]) <= 1e-16, "%zu, step %d: %.17g, not %.17g", c,
                      (int)t, rate, r.rates[t - 1]);
        }
    }
}

Test(optimiser, the_scale_of_a_loss_is_gradscalers)
{
    for (size_t c = 0; c < LENGTH(reference_scaling); c++) {
        __typeof__(reference_scaling[0]) r = reference_scaling[c];
        const struct train_scaling how = {r.initial, r.growth, r.backoff, r.interval};
        struct train_scaling_state state;
        train_scaling_start(&how, &state);
        cr_expect(state.scale == r.initial);
        for (int t = 0; t < SCALE_STEPS; t++) {
            train_scaling_update(&how, &state, reference_finite[t] == '1');
            cr_expect(state.scale == r.scales[t], "%zu, step %d: %g, not %g", c, t, state.scale,
                      r.scales[t]);
        }
    }
    struct train_scaling_state none;
    train_scaling_start(&(struct train_scaling){.initial = 0}, &none);
    cr_expect(none.scale == 1);
}

/* -- clipping ------------------------------------------------------------------------------- */

Test(optimiser, norms_are_of_double_and_see_every_value)
{
    for (size_t n = 0; n < 70; n++) {
        float *x = calloc(n + 1, sizeof *x);
        long double wanted = 0;
        uint64_t random = n;
        for (size_t i = 0; i < n; i++) {
            x[i] = (float)((script_uniform(&random) - 0.5) * (i % 3 == 0 ? 1e30 : 1));
            wanted += (long double)x[i] * (long double)x[i];
        }
        cr_expect(fabsl(train_sum_squares(n, x) - wanted) <= wanted * 1e-15L, "%zu values", n);
        for (size_t i = 0; i < n; i++) {
            float kept = x[i];
            x[i] = NAN;
            cr_expect(!isfinite(train_sum_squares(n, x)), "NaN at %zu of %zu", i, n);
            x[i] = -INFINITY;
            cr_expect(!isfinite(train_sum_squares(n, x)), "infinity at %zu of %zu", i, n);
            x[i] = kept;
        }
        free(x);
    }
    const float large[] = {3.4e38F, -3.4e38F, 3.4e38F};
    cr_expect(isfinite(train_sum_squares(3, large)));
}

Test(optimiser, clipping_bounds_the_norm_and_leaves_small_ones)
{
    cr_expect(train_clip_factor(0.5, 1) == 1 && train_clip_factor(0, 1) == 1);
    cr_expect(train_clip_factor(4, 1) == 1 / (4 + 1e-6) && train_clip_factor(1, 1) < 1);
    cr_expect(train_clip_factor(1e30, 0) == 1);
    float x[] = {3e20F, 4e20F, 0};
    train_scale_gradient(3, train_clip_factor(sqrt(train_sum_squares(3, x)), 1), x);
    cr_expect_float_eq(sqrt(train_sum_squares(3, x)), 1, 1e-6);
}

/* -- cubes ---------------------------------------------------------------------------------- */

Test(optimiser, keys_are_the_documented_numbers)
{
    /* By the formula in order.h, computed apart. */
    cr_expect_eq(data_order_key(0, 0, 0), UINT64_C(0xa706dd2f4d197e6f));
    cr_expect_eq(data_order_key(42, 0, 7), UINT64_C(0xbc16a3d4cc48678e));
    cr_expect_eq(data_order_key(UINT64_MAX, 9, UINT64_C(1) << 40), UINT64_C(0xbf4ab7bfb9ad5fa1));
}

static size_t rank_of(const uint32_t *order, size_t n, uint32_t cube)
{
    size_t i = 0;
    while (i < n && order[i] != cube)
        i++;
    cr_assert_lt(i, n, "cube %u is not there", cube);
    return i;
}

Test(optimiser, an_order_is_a_permutation_whatever_came_in)
{
    uint32_t order[1000], again[1000];
    for (uint32_t i = 0; i < 1000; i++)
        order[i] = i, again[i] = 999 - i;
    data_order(5, 3, order, 1000);
    data_order(5, 3, again, 1000);
    cr_expect(memcmp(order, again, sizeof order) == 0);
    for (size_t i = 1; i < 1000; i++)
        cr_expect_lt(data_order_key(5, 3, order[i - 1]), data_order_key(5, 3, order[i]));
    bool seen[1000] = {false};
    for (size_t i = 0; i < 1000; i++)
        seen[order[i]] = true;
    for (size_t i = 0; i < 1000; i++)
        cr_expect(seen[i]);
    data_order(5, 3, order, 0);
}

/* All 120 orders of five cubes, over seeds and over streams: chi-square with 119 degrees of freedom
 * is below 190 in all but 4e-5 of cases. */
Test(optimiser, orders_are_equally_likely)
{
    for (int by_stream = 0; by_stream < 2; by_stream++) {
        int counts[3125] = {0}, orders = 0;
        double chi = 0;
        for (uint64_t i = 0; i < 24000; i++) {
            uint32_t order[] = {0, 1, 2, 3, 4};
            data_order(by_stream ? 1 : i, by_stream ? i : 0, order, 5);
            counts[(((order[0] * 5 + order[1]) * 5 + order[2]) * 5 + order[3]) * 5 + order[4]]++;
        }
        for (int i = 0; i < 3125; i++) {
            orders += counts[i] > 0;
            chi += counts[i] > 0 ? (counts[i] - 200.0) * (counts[i] - 200.0) / 200 : 0;
        }
        cr_expect_eq(orders, 120);
        cr_expect_lt(chi, 190);
        cr_expect_gt(chi, 65);
    }
}

Test(optimiser, a_fifth_is_for_validation)
{
    const struct {
        size_t cubes;
        double part;
        size_t wanted;
    } cases[] = {{0, 0.2, 0},   {1, 0.2, 0},      {2, 0.2, 1},  {3, 0.2, 1},
                 {5, 0.2, 1},   {8, 0.2, 2},      {7, 0.2, 1},  {12, 0.2, 2},
                 {13, 0.2, 3},  {1000, 0.2, 200}, {10, 0.0, 0}, {2, 0.9, 1},
                 {10, 0.99, 9}, {5, 0.5, 3},      {3, 0.5, 2},  {10, (double)NAN, 0}};
    for (size_t i = 0; i < LENGTH(cases); i++)
        cr_expect_eq(data_validation_count(cases[i].cubes, cases[i].part), cases[i].wanted,
                     "%zu cubes, %g", cases[i].cubes, cases[i].part);
    uint32_t order[50], ranks[50];
    data_split(3, 50, 10, order);
    for (uint32_t i = 0; i < 50; i++)
        ranks[i] = i;
    data_order(3, 0, ranks, 50);
    for (size_t i = 0; i < 50; i++)
        cr_expect_eq(rank_of(order, 50, ranks[i]) >= 40, i >= 40, "rank %zu", i);
    for (size_t i = 1; i < 50; i++)
        cr_expect(i == 40 || order[i - 1] < order[i], "at %zu", i);
}

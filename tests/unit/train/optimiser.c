/* models/train/optimiser.h, schedule.h and models/data/order.h: what runs of suites do not come to.
 */
#include "tests/unit/rx/rx_fixture.h"

#include "models/data/order.h"
#include "models/train/internal.h"
#include "models/train/schedule.h"
#include <math.h>

/* A run by hand: values and the rates behind them, by PyTorch's ReduceLROnPlateau. */
struct plateau_run {
    struct train_plateau how;
    double values[10], rates[10];
};

Test(optimiser, the_rate_falls_where_a_value_stays)
{
    static const struct plateau_run runs[] = {
        /* less than 1 % better is no better, of values below 0 too */
        {{.factor = 0.5, .patience = 1, .threshold = 0.01},
         {-5, -5.1, -5.1, -5.14, -5.2, -5.2, -5, 0.5, 0.5, -5.26},
         {1, 1, 1, 0.5, 0.5, 0.5, 0.25, 0.25, 0.125, 0.125}},
        {{.factor = 0.5, .patience = 1, .threshold = 0.01},
         {5, 4.9, 4.9, 4.86, 4.8, 4.8, 4.9, NAN, INFINITY, 4.7},
         {1, 1, 1, 0.5, 0.5, 0.5, 0.25, 0.25, 0.125, 0.125}},
        /* an absolute threshold */
        {{.factor = 0.5, .threshold = 0.5, .absolute = true},
         {5, 4.6, 4.4, -1, -1.4, -1.6, -1.6, -3, -4, -4},
         {1, 0.5, 0.5, 0.5, 0.25, 0.25, 0.125, 0.125, 0.125, 0.0625}},
        /* two calls of cooling bear everything */
        {{.factor = 0.5, .patience = 1, .cooldown = 2},
         {1, 2, 2, 2, 2, 2, 2, 2, 2, 2},
         {1, 1, 0.5, 0.5, 0.5, 0.5, 0.25, 0.25, 0.25, 0.25}},
        /* no lower than the least, and no step of less than eps */
        {{.factor = 0.5, .min_lr = 0.2, .eps = 0.01},
         {1, 2, 2, 2, 2, 2, 2, 2, 2, 2},
         {1, 0.5, 0.25, 0.2, 0.2, 0.2, 0.2, 0.2, 0.2, 0.2}},
        {{.factor = 0.5, .min_lr = 0.2, .eps = 0.06},
         {1, 2, 2, 2, 2, 2, 2, 2, 2, 2},
         {1, 0.5, 0.25, 0.25, 0.25, 0.25, 0.25, 0.25, 0.25, 0.25}},
    };
    for (size_t i = 0; i < LENGTH(runs); i++) {
        struct train_plateau_state state;
        double lr = 1;
        train_plateau_start(&state);
        for (int t = 0; t < 10; t++) {
            lr = train_plateau_step(&runs[i].how, &state, runs[i].values[t], lr);
            cr_expect_eq(lr, runs[i].rates[t], "run %zu, call %d: %g", i, t, lr);
        }
    }
}

/* PyTorch's SGD, with the variants that exclude each other. */
Test(optimiser, sgd_is_the_published_formula)
{
    for (int variant = 0; variant < 8; variant++) {
        const struct train_sgd how = {.lr = 0.05,
                                      .momentum = variant > 1 ? 0.9 : 0,
                                      .dampening = variant / 2 == 2 ? 0.3 : 0,
                                      .weight_decay = variant % 2 != 0 ? 0.1 : 0,
                                      .nesterov = variant / 2 == 3};
        double p = 1.5, b = 0;
        float p32 = 1.5F, b32 = 0;
        uint64_t random = 3;
        for (uint64_t t = 1; t <= 12; t++) {
            const float g32 = (float)(script_uniform(&random) - 0.5);
            double g = (double)g32 + how.weight_decay * p;
            b = t == 1 ? g : how.momentum * b + (1 - how.dampening) * g;
            p -= how.lr * (how.nesterov ? g + how.momentum * b : how.momentum > 0 ? b : g);
            train_sgd_step(&how, t, 1, &g32, how.momentum > 0 ? &b32 : NULL, &p32);
            cr_expect_float_eq((double)p32, p, 1e-6, "variant %d, step %d", variant, (int)t);
        }
    }
}

/* '1': a step whose gradient is finite. */
Test(optimiser, the_scale_of_a_loss_grows_and_falls)
{
    const struct train_scaling how = {.initial = 8, .growth = 4, .backoff = 0.5, .interval = 3};
    const char steps[] = "1110110111111";
    const double scales[] = {8, 8, 32, 16, 16, 16, 8, 8, 8, 32, 32, 32, 128};
    struct train_scaling_state state;
    train_scaling_start(&how, &state);
    for (size_t t = 0; t < LENGTH(scales); t++) {
        train_scaling_update(&how, &state, steps[t] == '1');
        cr_expect_eq(state.scale, scales[t], "step %zu: %g", t, state.scale);
    }
    state.scale = 3e38; /* beyond float it does not grow */
    for (int t = 0; t < 3; t++)
        train_scaling_update(&how, &state, true);
    cr_expect_eq(state.scale, 3e38);
    train_scaling_start(&(struct train_scaling){.initial = 0}, &state);
    cr_expect_eq(state.scale, 1);
}

Test(optimiser, norms_see_every_value_and_clipping_bounds_them)
{
    for (size_t n = 1; n < 70; n++) {
        float x[70];
        size_t large = (n + 2) / 3;
        for (size_t i = 0; i < n; i++)
            x[i] = i % 3 == 0 ? 1e30F : 1;
        cr_expect_float_eq(train_sum_squares(n, x) / 1e60, (double)large, 1e-4, "%zu", n);
        for (size_t i = 0; i < n; i++) {
            float kept = x[i];
            x[i] = i % 2 == 0 ? NAN : -INFINITY;
            cr_expect(!isfinite(train_sum_squares(n, x)), "%g at %zu of %zu", (double)x[i], i, n);
            x[i] = kept;
        }
    }
    cr_expect(train_clip_factor(0.5, 1) == 1 && train_clip_factor(0, 1) == 1);
    cr_expect(train_clip_factor(4, 1) == 1 / (4 + 1e-6) && train_clip_factor(1, 1) < 1);
    cr_expect(train_clip_factor(1e30, 0) == 1);
}

Test(optimiser, a_part_is_for_validation)
{
    const struct {
        size_t items;
        double part;
        size_t wanted;
    } cases[] = {{0, 0.2, 0},   {1, 0.2, 0},      {2, 0.2, 1},  {3, 0.2, 1},
                 {5, 0.2, 1},   {8, 0.2, 2},      {7, 0.2, 1},  {12, 0.2, 2},
                 {13, 0.2, 3},  {1000, 0.2, 200}, {10, 0.0, 0}, {2, 0.9, 1},
                 {10, 0.99, 9}, {5, 0.5, 3},      {3, 0.5, 2},  {10, (double)NAN, 0}};
    for (size_t i = 0; i < LENGTH(cases); i++)
        cr_expect_eq(data_validation_count(cases[i].items, cases[i].part), cases[i].wanted,
                     "%zu items, %g", cases[i].items, cases[i].part);
    uint32_t order[3] = {7};
    data_order(5, 3, order, 0);
    cr_expect_eq(order[0], 7);
}

/* A number of validation items that whole groups have and that is nearest, with what is wanted. */
static size_t nearest(const uint32_t *ranked, const size_t *sizes, size_t groups, size_t wanted)
{
    size_t sum = 0, best = 0;
    for (size_t k = groups; k-- > 1 && wanted > 0;) {
        sum += sizes[ranked[k]];
        double off = fabs((double)sum - (double)wanted);
        if (best == 0 || off <= fabs((double)best - (double)wanted))
            best = sum;
    }
    return best;
}

Test(optimiser, a_group_is_for_training_or_for_validation)
{
    enum { MOST = 60, GROUPS = 7 };
    for (uint64_t seed = 0; seed < 400; seed++) {
        uint32_t group[MOST], order[MOST], ranked[GROUPS];
        size_t items = 1 + seed % MOST, groups = 1 + seed % GROUPS, sizes[GROUPS] = {0};
        size_t wanted = data_validation_count(items, (double)(seed % 11) / 11), there = 0;
        bool judged[GROUPS] = {false}, trained[GROUPS] = {false};
        for (size_t i = 0; i < items; i++) {
            group[i] = (uint32_t)(data_order_key(seed, 9, i) % groups);
            sizes[group[i]]++;
        }
        for (uint32_t k = 0; k < groups; k++)
            if (sizes[k] > 0)
                ranked[there++] = k;
        data_order(seed, 0, ranked, there);
        const size_t got = data_split(seed, items, wanted, group, order);
        cr_expect_eq(got, nearest(ranked, sizes, there, wanted), "seed %d: %zu for %zu", (int)seed,
                     got, wanted);
        for (size_t i = 0; i < items; i++) {
            bool begins = i == 0 || i == items - got;
            *(i < items - got ? &trained[group[order[i]]] : &judged[group[order[i]]]) = true;
            cr_expect(order[i] < items && (begins || order[i] > order[i - 1]), "place %zu", i);
        }
        for (size_t k = 0; k < groups; k++)
            cr_expect(!(trained[k] && judged[k]), "seed %d: group %zu is in both", (int)seed, k);
        cr_expect(got < items && (got > 0 || wanted == 0 || there == 1), "%zu of %zu", got, items);
        for (uint32_t i = 0; i < items; i++) /* each alone: as without groups */
            group[i] = i;
        uint32_t alone[MOST];
        cr_expect_eq(data_split(seed, items, wanted, group, order), wanted);
        cr_expect_eq(data_split(seed, items, wanted, NULL, alone), wanted);
        cr_expect_eq(memcmp(order, alone, items * sizeof *order), 0, "seed %d", (int)seed);
    }
}

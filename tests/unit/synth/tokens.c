/* synth/tokens: the chain is the one that tokens.h describes. */
#include "synth/tokens/tokens.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { V = 5, LENGTH = 200, SEQUENCES = 4000 };

static int by_size(const void *a, const void *b)
{
    unsigned x = *(const unsigned *)a, y = *(const unsigned *)b;
    return (x < y) - (x > y);
}

/* How often each token follows each state. */
static void count(const struct synth_tokens *spec, unsigned *table)
{
    int32_t tokens[LENGTH];
    memset(table, 0, sizeof *table * V * V * V);
    for (uint64_t s = 0; s < SEQUENCES; s++) {
        synth_tokens_sequence(spec, s, LENGTH, tokens);
        for (int i = spec->order; i < LENGTH; i++) {
            int state = spec->order == 2 ? tokens[i - 2] * V + tokens[i - 1] : tokens[i - 1];
            table[state * V + tokens[i]]++;
        }
    }
}

/* Each state has four successors, with the probabilities said: within 5 deviations. */
static void check_chain(int order)
{
    static const double p[V] = {0.5, 0.25, 0.125, 0.125, 0};
    const struct synth_tokens spec = {.seed = 7, .vocabulary = V, .order = order};
    unsigned table[V * V * V];
    count(&spec, table);
    int states = order == 2 ? V * V : V, seen = 0;
    for (int s = 0; s < states; s++) {
        unsigned *row = table + s * V, all = 0;
        for (int k = 0; k < V; k++)
            all += row[k];
        if (all < 500)
            continue;
        seen++;
        qsort(row, V, sizeof *row, by_size);
        for (int k = 0; k < V; k++)
            cr_expect_leq(fabs((double)row[k] - p[k] * all), 5 * sqrt(p[k] * (1 - p[k]) * all),
                          "order %d, state %d: successor %d came %u times of %u", order, s, k,
                          row[k], all);
    }
    cr_expect_geq(seen, states / 2, "order %d: %d states", order, seen);
}

Test(tokens, states_have_four_successors_with_their_probabilities)
{
    check_chain(1);
    check_chain(2);
}

/* Of order 2, the last token alone does not tell the state. */
Test(tokens, order_two_depends_on_two_tokens)
{
    const struct synth_tokens spec = {.seed = 7, .vocabulary = V, .order = 2};
    unsigned table[V * V * V];
    int differ = 0;
    count(&spec, table);
    for (int last = 0; last < V; last++)
        for (int before = 1; before < V; before++) {
            const unsigned *a = table + last * V, *b = table + (before * V + last) * V;
            double of_a = 0, of_b = 0, off = 0;
            for (int k = 0; k < V; k++) {
                of_a += a[k];
                of_b += b[k];
            }
            for (int k = 0; k < V; k++)
                off += fabs(a[k] / fmax(of_a, 1) - b[k] / fmax(of_b, 1));
            differ += off > 0.3;
        }
    cr_expect_geq(differ, V * (V - 1) / 2, "%d", differ);
}

Test(tokens, a_sequence_depends_on_seed_and_number_alone)
{
    struct synth_tokens spec = {.seed = 1, .vocabulary = 1000, .order = 2};
    int32_t a[64], b[64];
    synth_tokens_sequence(&spec, 3, 64, a);
    synth_tokens_sequence(&spec, 3, 40, b);
    cr_expect_eq(memcmp(a, b, 40 * sizeof *a), 0);
    for (int i = 0; i < 64; i++)
        cr_expect(a[i] >= 0 && a[i] < 1000);
    synth_tokens_sequence(&spec, 4, 64, b);
    cr_expect_neq(memcmp(a, b, sizeof a), 0);
    spec.seed = 2;
    synth_tokens_sequence(&spec, 3, 64, b);
    cr_expect_neq(memcmp(a, b, sizeof a), 0);
}

Test(tokens, the_least_loss_is_the_entropy)
{
    const struct synth_tokens one = {.vocabulary = 16, .order = 1};
    const struct synth_tokens two = {.vocabulary = 16, .order = 2};
    cr_expect_float_eq(synth_tokens_loss(&one, 10), 1.75 * log(2), 1e-15);
    cr_expect_float_eq(synth_tokens_loss(&two, 4), (log(16) + 3 * 1.75 * log(2)) / 4, 1e-15);
}

Test(tokens, what_is_not_allowed_is_named)
{
    cr_expect_eq(synth_tokens_check(&(struct synth_tokens){.vocabulary = 4, .order = 1}), YP_OK);
    cr_expect_eq(synth_tokens_check(&(struct synth_tokens){.vocabulary = 3, .order = 1}),
                 YP_INVALID);
    cr_expect_str_eq(yp_last_error(), "synth_tokens.vocabulary is 3: must be 4 to 16777216");
    cr_expect_eq(synth_tokens_check(&(struct synth_tokens){.vocabulary = 9, .order = 3}),
                 YP_INVALID);
    cr_expect_str_eq(yp_last_error(), "synth_tokens.order is 3: must be 1 or 2");
}

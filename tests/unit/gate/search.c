/* The order in which commits are tried: every first bad one is found, in as few steps as there can
 * be, in lines and in histories with merges, whatever is skipped. */
#include "gate/bisect/search.h"
#include "base/numbers/splitmix.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>

TestSuite(gate_search, .timeout = 60);

static void make_line(struct ypi_search *s, int count)
{
    *s = (struct ypi_search){0};
    for (int i = 0; i < count; i++)
        ypi_search_add(s, &(int){i - 1}, i > 0 ? 1 : 0);
    ypi_search_begin(s);
}

/* Answers as a history does in which commits from `culprit` on are bad; returns the steps. */
static int search_line(struct ypi_search *s, int culprit, const bool *skipped)
{
    int steps = 0;
    for (int next; (next = ypi_search_next(s)) >= 0; steps++) {
        cr_assert_eq(s->judged[next], YPI_JUDGED_UNKNOWN, "%d is tried a second time", next);
        ypi_search_judge(s, next,
                         skipped != NULL && skipped[next] ? YPI_JUDGED_SKIPPED
                         : next >= culprit                ? YPI_JUDGED_BAD
                                                          : YPI_JUDGED_GOOD);
        cr_assert_leq(steps, s->count);
    }
    return steps;
}

Test(gate_search, finds_each_commit_of_a_line)
{
    for (int count = 1; count <= 40; count++)
        for (int culprit = 0; culprit < count; culprit++) {
            struct ypi_search s;
            bool left[40];
            make_line(&s, count);
            int steps = search_line(&s, culprit, NULL);
            cr_expect_leq(steps, ypi_search_steps(count), "%d steps, %d of %d", steps, culprit,
                          count);
            cr_expect_eq(ypi_search_left(&s, left), 1);
            cr_expect(left[culprit], "%d of %d", culprit, count);
            ypi_search_clear(&s);
        }
}

/* What is left is the culprit and the skipped ones right before it, no more and no less. */
Test(gate_search, leaves_what_skipped_ones_hide)
{
    enum { COUNT = 16 };
    for (uint64_t trial = 0; trial < 300; trial++) {
        struct ypi_seed seed = ypi_seed_of(1, trial, 0);
        struct ypi_search s;
        bool skipped[COUNT];
        bool left[COUNT];
        for (int i = 0; i < COUNT; i++)
            skipped[i] = i < COUNT - 1 && ypi_seed_uniform(&seed) < 0.4;
        int culprit = (int)(ypi_seed_uniform(&seed) * COUNT);
        int first = culprit;
        int last = culprit;
        while (first > 0 && skipped[first - 1])
            first--;
        while (skipped[last])
            last++;
        make_line(&s, COUNT);
        search_line(&s, culprit, skipped);
        cr_expect_eq(ypi_search_left(&s, left), last - first + 1);
        for (int i = 0; i < COUNT; i++)
            cr_expect_eq(left[i], i >= first && i <= last, "%d of %d to %d, culprit %d", i, first,
                         last, culprit);
        ypi_search_clear(&s);
    }
}

/* -- merges -------------------------------------------------------------------------------- */

enum { MOST = 24 };

struct history {
    struct ypi_search s;
    bool behind[MOST][MOST]; /* [a][b]: b is a or behind it */
};

static void add_random(struct history *h, struct ypi_seed *seed, int at, int count)
{
    int parents[2];
    int own = at == 0 ? 0 : 1 + (ypi_seed_uniform(seed) < 0.3 && at > 1);
    for (int p = 0; p < own; p++)
        parents[p] = (int)(ypi_seed_uniform(seed) * at);
    if (at == count - 1 && at > 0) /* the last has all behind it, as git tells it */
        parents[0] = at - 1;
    if (own == 2 && parents[0] == parents[1])
        own = 1;
    ypi_search_add(&h->s, parents, own);
    h->behind[at][at] = true;
    for (int p = 0; p < own; p++)
        for (int i = 0; i < at; i++)
            h->behind[at][i] = h->behind[at][i] || h->behind[parents[p]][i];
}

/* Only a commit that the last has behind it can have made it bad. */
Test(gate_search, finds_each_commit_behind_merges)
{
    for (uint64_t trial = 0; trial < 300; trial++) {
        struct ypi_seed seed = ypi_seed_of(2, trial, 0);
        int count = 2 + (int)(ypi_seed_uniform(&seed) * (MOST - 2));
        for (int culprit = 0; culprit < count; culprit++) {
            struct ypi_seed same = ypi_seed_of(3, trial, 0);
            struct history *h = calloc(1, sizeof *h);
            bool left[MOST];
            for (int i = 0; i < count; i++)
                add_random(h, &same, i, count);
            ypi_search_begin(&h->s);
            int steps = 0;
            for (int next; h->behind[count - 1][culprit] && (next = ypi_search_next(&h->s)) >= 0;
                 steps++)
                ypi_search_judge(&h->s, next,
                                 h->behind[next][culprit] ? YPI_JUDGED_BAD : YPI_JUDGED_GOOD);
            if (h->behind[count - 1][culprit]) {
                cr_expect_eq(ypi_search_left(&h->s, left), 1);
                cr_expect(left[culprit]);
                cr_expect_eq(h->s.bad, culprit);
                cr_expect_lt(steps, count);
            }
            ypi_search_clear(&h->s);
            free(h);
        }
    }
}

/* -- error rates --------------------------------------------------------------------------- */

Test(gate_search, never_spends_more_than_there_is)
{
    double left = 0.01;
    double spent = 0;
    for (int looks = 6; looks >= 1; looks--) {
        double share = ypi_search_spend(&left, looks);
        cr_expect_lt(fabs(share - 0.01 / 6), 1e-12, "equal parts, as planned");
        spent += share;
    }
    cr_expect_lt(fabs(spent - 0.01), 1e-12);
    left = 0.01;
    spent = 0;
    for (int i = 0; i < 100; i++) /* skipped ones take more steps than were planned */
        spent += ypi_search_spend(&left, 3);
    cr_expect_lt(spent, 0.01);
    cr_expect_gt(left, 0);
}

Test(gate_search, steps_are_logarithmic)
{
    static const int known[][2] = {{1, 0}, {2, 1}, {3, 2}, {4, 2},
                                   {5, 3}, {8, 3}, {9, 4}, {1024, 10}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        cr_expect_eq(ypi_search_steps(known[i][0]), known[i][1], "%d", known[i][0]);
}

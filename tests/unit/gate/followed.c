/* What a bisection follows, and how it judges: simulated bisections of planted slowdowns, counted.
 */
#include "gate/bisect/followed.h"

#include "base/numbers/sequential.h"
#include "base/numbers/splitmix.h"
#include "base/numbers/stats.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

TestSuite(gate_followed, .timeout = 120);

static const struct ypi_follow_wish anything = {.any = true};

static struct ypi_comparison *add(struct ypi_comparisons *all, enum ypi_quantity quantity,
                                  const char *name, enum ypi_compared verdict)
{
    struct ypi_comparison *c = ypi_comparison_add(all, "a.c::a", quantity, name);
    c->verdict = verdict;
    return c;
}

static void add_time(struct ypi_comparisons *all, const char *name, double ratio)
{
    bool slower = ratio > 1;
    struct ypi_comparison *c =
        add(all, YPI_QUANTITY_TIME, name, slower ? YPI_COMPARED_WORSE : YPI_COMPARED_BETTER);
    c->ratio = ratio;
    c->low = ratio * 0.98;
    c->high = ratio * 1.02;
}

/* -- the choice ---------------------------------------------------------------------------- */

Test(gate_followed, what_repeats_exactly_comes_before_time)
{
    struct ypi_comparisons all = {0};
    add_time(&all, "a", 1.2);
    add_time(&all, "b", 1.5);
    add_time(&all, "c", 0.4);
    cr_expect_str_eq(ypi_followed_choose(&all, "a.c::a", &anything)->name, "b");
    add(&all, YPI_QUANTITY_HASH, NULL, YPI_COMPARED_CHANGED);
    cr_expect_eq(ypi_followed_choose(&all, "a.c::a", &anything)->quantity, YPI_QUANTITY_TIME);
    add(&all, YPI_QUANTITY_RESIDENT, NULL, YPI_COMPARED_WORSE);
    add(&all, YPI_QUANTITY_ALLOCATIONS, NULL, YPI_COMPARED_WORSE);
    cr_expect_eq(ypi_followed_choose(&all, "a.c::a", &anything)->quantity,
                 YPI_QUANTITY_ALLOCATIONS);
    add(&all, YPI_QUANTITY_OUTCOME, NULL, YPI_COMPARED_WORSE);
    cr_expect_eq(ypi_followed_choose(&all, "a.c::a", &anything)->quantity, YPI_QUANTITY_OUTCOME);
    cr_expect_null(ypi_followed_choose(&all, "a.c::b", &anything));
    const struct ypi_follow_wish time = {.quantity = YPI_QUANTITY_TIME};
    cr_expect_str_eq(ypi_followed_choose(&all, "a.c::a", &time)->name, "b");
    const struct ypi_follow_wish named = {.quantity = YPI_QUANTITY_TIME, .name = "a"};
    cr_expect_str_eq(ypi_followed_choose(&all, "a.c::a", &named)->name, "a");
    const struct ypi_follow_wish faster = {.any = true, .faster = true};
    cr_expect_str_eq(ypi_followed_choose(&all, "a.c::a", &faster)->name, "c");
    ypi_comparisons_clear(&all);
}

Test(gate_followed, wishes_are_read_or_refused)
{
    struct ypi_follow_wish w = {.any = true};
    cr_expect_null(ypi_follow_wish_read(&w, "value of the sum"));
    cr_expect(!w.any && w.quantity == YPI_QUANTITY_VALUE && strcmp(w.name, "the sum") == 0);
    cr_expect_null(ypi_follow_wish_read(&w, "time"));
    cr_expect(w.quantity == YPI_QUANTITY_TIME && w.name == NULL);
    cr_expect_null(ypi_follow_wish_read(&w, "peak memory"));
    cr_expect_eq(w.quantity, YPI_QUANTITY_PEAK);
    static const char *const wrong[] = {"", "times", "value of ", "speed", "case"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        char *why = ypi_follow_wish_read(&w, wrong[i]);
        cr_assert_not_null(why, "%s", wrong[i]);
        cr_expect(strstr(why, "one of outcome, time, ") == why, "%s", why);
        free(why);
    }
    ypi_follow_wish_clear(&w);
    cr_expect(w.any && w.name == NULL);
}

/* -- exact figures ------------------------------------------------------------------------- */

/* A value that is followed by its name is bad where it is nearer to bad's; one that is not, where
 * it is another one than good's. */
Test(gate_followed, a_followed_value_is_judged_by_the_middle)
{
    struct ypi_comparisons all = {0};
    struct ypi_comparison *c = add(&all, YPI_QUANTITY_VALUE, "size", YPI_COMPARED_CHANGED);
    c->base = 100;
    c->head = 80;
    const struct ypi_follow_wish size = {.quantity = YPI_QUANTITY_VALUE, .name = "size"};
    struct ypi_followed own = ypi_followed_of(ypi_followed_choose(&all, "a.c::a", &size), &size);
    struct ypi_followed any = ypi_followed_of(c, &anything);
    static const double heads[] = {99, 91, 89, 80};
    for (int i = 0; i < 4; i++) {
        char *reason = NULL;
        c->head = heads[i];
        cr_expect_eq(ypi_followed_judge(&own, &all, "a.c::a", &reason),
                     heads[i] < 90 ? YPI_JUDGED_BAD : YPI_JUDGED_GOOD, "%g", heads[i]);
        cr_expect_eq(ypi_followed_judge(&any, &all, "a.c::a", &reason), YPI_JUDGED_BAD);
    }
    c->base = 100;
    c->head = 95;
    cr_expect_eq(ypi_followed_judge_own(&own, c), YPI_JUDGED_GOOD, "a part");
    cr_expect_eq(ypi_followed_judge_own(&own, NULL), YPI_JUDGED_SKIPPED, "no step");
    c->head = 80;
    cr_expect_eq(ypi_followed_judge_own(&own, c), YPI_JUDGED_BAD);
    ypi_comparisons_clear(&all);
}

/* -- times --------------------------------------------------------------------------------- */

static struct ypi_comparison time_of(double low, double ratio, double high)
{
    return (struct ypi_comparison){
        .quantity = YPI_QUANTITY_TIME, .low = low, .ratio = ratio, .high = high};
}

/* "A part of it" is said where the intervals of both exclude the whole, and not before. */
Test(gate_followed, a_part_is_said_only_where_intervals_exclude_the_whole)
{
    for (int faster = 0; faster < 2; faster++) {
        const struct ypi_follow_wish wish = {.any = true, .faster = faster};
        struct ypi_comparison ends =
            faster ? time_of(1 / 1.15, 1 / 1.1, 1 / 1.06) : time_of(1.06, 1.1, 1.15);
        struct ypi_followed f = ypi_followed_of(&ends, &wish);
        static const struct {
            double low, ratio, high;
            enum ypi_judged judged;
        } known[] = {{1.05, 1.07, 1.09, YPI_JUDGED_BAD},
                     {1.03, 1.05, 1.07, YPI_JUDGED_UNKNOWN},
                     {1.03, 1.04, 1.055, YPI_JUDGED_GOOD},
                     {0.99, 1.02, 1.05, YPI_JUDGED_SKIPPED},
                     {0.96, 0.97, 0.98, YPI_JUDGED_SKIPPED}};
        for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
            struct ypi_comparison own =
                faster ? time_of(1 / known[i].high, 1 / known[i].ratio, 1 / known[i].low)
                       : time_of(known[i].low, known[i].ratio, known[i].high);
            cr_expect_eq(ypi_followed_judge_own(&f, &own), known[i].judged, "%g, faster %d",
                         known[i].ratio, faster);
        }
        double cut = 1 + ypi_followed_threshold(&f, 0.5);
        cr_expect_float_eq(cut, faster ? 1 / sqrt(1.06) : sqrt(1.06), 1e-12);
    }
}

enum { COMMITS = 20, PAIRS = 400 };

/* Pairs are drawn as in gate-pairs until the interval excludes the limits, as in duel.c. */
static struct ypi_comparison measure(struct ypi_seed *seed, double truth, double sd, double error,
                                     double threshold, double also, double sharp)
{
    double x[PAIRS];
    struct ypi_span span = {-INFINITY, INFINITY};
    size_t n = 0;
    for (size_t next = 10; n < PAIRS;) {
        double width = ypi_seed_uniform(seed) < 0.05 ? 4 : 1;
        x[n++] = truth + width * sd * ypi_seed_normal(seed);
        if (n < next)
            continue;
        next = n + 1 + n / 10;
        span = ypi_sequential_span(x, n, 2 * error);
        double limit = log1p(threshold);
        bool above = span.low > limit;
        if ((above || span.high < limit) &&
            (also == 0 || span.low > log1p(also) || span.high < log1p(also)) &&
            (sharp == 0 || !above || span.low >= sharp * ypi_quantile(x, n, 0.5)))
            break;
    }
    struct ypi_comparison c = time_of(exp(span.low), exp(ypi_quantile(x, n, 0.5)), exp(span.high));
    c.verdict = span.low > log1p(threshold)    ? YPI_COMPARED_WORSE
                : span.high < log1p(threshold) ? YPI_COMPARED_SAME
                                               : YPI_COMPARED_UNSURE;
    return c;
}

struct counts {
    int right, wrong, unsure, false_part;
};

static void bisect(struct ypi_seed *seed, double effect, double sd, bool by_estimate,
                   struct counts *n)
{
    int culprit = (int)(ypi_seed_uniform(seed) * COMMITS);
    double error = 0.01;
    int low = -1;
    int high = COMMITS - 1;
    struct ypi_comparison ends =
        measure(seed, log1p(effect), sd, ypi_search_spend(&error, ypi_search_steps(COMMITS) + 2),
                0.03, 0, by_estimate ? 0 : 2.0 / 3);
    if (ends.verdict != YPI_COMPARED_WORSE) {
        n->unsure++;
        return;
    }
    struct ypi_followed f = ypi_followed_of(&ends, &anything);
    if (by_estimate)
        f.near = f.bad;
    while (high - low > 1) {
        int middle = (low + high) / 2;
        struct ypi_comparison c =
            measure(seed, middle >= culprit ? log1p(effect) : 0, sd,
                    ypi_search_spend(&error, ypi_search_steps(high - low) + 1),
                    ypi_followed_threshold(&f, 0.5), 0, 0);
        if (c.verdict == YPI_COMPARED_UNSURE) {
            n->unsure++;
            return;
        }
        *(c.verdict == YPI_COMPARED_WORSE ? &high : &low) = middle;
    }
    struct ypi_comparison own = measure(seed, high == culprit ? log1p(effect) : 0, sd, error,
                                        ypi_followed_threshold(&f, YPI_FOLLOWED_MOST),
                                        ypi_followed_threshold(&f, YPI_FOLLOWED_STEP), 0);
    enum ypi_judged judged = ypi_followed_judge_own(&f, &own);
    if (judged == YPI_JUDGED_SKIPPED && !by_estimate)
        n->unsure++;
    else if (high == culprit)
        n->right++;
    else
        n->wrong++;
    n->false_part += high == culprit && judged == YPI_JUDGED_GOOD;
}

/* The check below can fail: a middle between estimates says "a part of it" of what did it all. */
Test(gate_followed, a_middle_between_estimates_is_not_enough)
{
    struct counts n = {0};
    for (uint64_t t = 0; t < 100; t++) {
        struct ypi_seed seed = ypi_seed_of(21, 1, t);
        bisect(&seed, 0.05, 0.02, true, &n);
    }
    cr_expect_gt(n.false_part, 3, "%d right, %d wrong, %d false parts", n.right, n.wrong,
                 n.false_part);
}

/* +5 % and +10 % among 20 commits. At an error of 1 % more than 5 wrong ones of 100 come with a
 * probability of 6e-4. */
Test(gate_followed, planted_slowdowns_are_found_or_it_is_said_that_they_are_not)
{
    static const double effects[] = {0.05, 0.1};
    static const double scatters[] = {0.01, 0.02, 0.04};
    for (int e = 0; e < 2; e++)
        for (int s = 0; s < 3; s++) {
            struct counts n = {0};
            for (uint64_t t = 0; t < 100; t++) {
                struct ypi_seed seed = ypi_seed_of(21, 10 * (uint64_t)e + (uint64_t)s, t);
                bisect(&seed, effects[e], scatters[s], false, &n);
            }
            cr_expect_leq(n.wrong + n.false_part, 5,
                          "+%g, scatter %g: %d right, %d wrong, %d unsure, %d false parts",
                          effects[e], scatters[s], n.right, n.wrong, n.unsure, n.false_part);
            if (scatters[s] < 0.03)
                cr_expect_geq(n.right, 90, "+%g, scatter %g: %d right, %d wrong, %d unsure",
                              effects[e], scatters[s], n.right, n.wrong, n.unsure);
        }
}

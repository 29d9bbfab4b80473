/* Who gets the time when there is too little of it for all. */
#include "gate/pair/schedule.h"

#include "base/text/text.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

TestSuite(gate_schedule, .timeout = 60);

static const struct ypi_prospect far = {.seconds = INFINITY};
static const struct ypi_prospect over = {.seconds = -1};

static struct ypi_prospect same_in(double seconds)
{
    return (struct ypi_prospect){.seconds = seconds};
}

static struct ypi_prospect slower_in(double seconds)
{
    return (struct ypi_prospect){.seconds = seconds, .slower = true};
}

Test(gate_schedule, who_looks_slower_comes_first)
{
    const struct ypi_prospect list[] = {same_in(1), slower_in(20), far, slower_in(10), over};
    const double spent[] = {5, 5, 5, 5, 5};
    cr_expect_eq(ypi_schedule_next(list, spent, 5, 60), 3);
    cr_expect_eq(ypi_schedule_next(list, spent, 3, 60), 1);
}

/* It is no use to begin what will not be known by the end. */
Test(gate_schedule, a_suspect_that_time_does_not_allow_waits)
{
    const struct ypi_prospect list[] = {slower_in(90), same_in(4), same_in(3), far};
    const double spent[] = {5, 5, 5, 1};
    cr_expect_eq(ypi_schedule_next(list, spent, 4, 60), 2);
    cr_expect_eq(ypi_schedule_next(list, spent, 4, 100), 0);
}

/* What comes no nearer must not keep the others waiting, and takes turns with its like. */
Test(gate_schedule, the_undecidable_share_what_is_left)
{
    const struct ypi_prospect list[] = {far, far, over, far};
    const double spent[] = {7, 6, 1, 8};
    cr_expect_eq(ypi_schedule_next(list, spent, 4, 60), 1);
    cr_expect_eq(ypi_schedule_next(&list[2], &spent[2], 1, 60), -1);
    cr_expect_eq(ypi_schedule_next(list, spent, 0, 60), -1);
}

/* -- fake suites --------------------------------------------------------------------------- */

static const char *const names[] = {"work"};

struct fake {
    char work[32];
    const char *options[5];
    struct ypi_pairing pairing;
    struct ypi_duel *duel;
};

/* Of which the head takes `ratio` times what the base does, whatever else is. */
static void open_fake(struct fake *f, const char *ratio, double error)
{
    *f = (struct fake){.work = "/tmp/gate-schedule-XXXXXX", .options = {"--ratio", ratio}};
    cr_assert_not_null(mkdtemp(f->work));
    const struct ypi_contestant side = {
        .program = getenv("FAKE_TURNS"), .directory = f->work, .options = f->options};
    f->pairing =
        (struct ypi_pairing){.base = side, .head = side, .id = "fake.c::case", .work = f->work};
    f->duel = ypi_duel_open(&f->pairing, names, 1,
                            (struct ypi_duel_rule){.threshold = 0.03, .error = error}, false);
}

static void close_fake(struct fake *f)
{
    char *words = ypi_format("rm -r %s", f->work);
    ypi_duel_close(f->duel);
    cr_expect_eq(system(words), 0);
    free(words);
}

static struct ypi_prospect prospect_of(const char *ratio, double *spent)
{
    struct fake f;
    struct ypi_seed coin = ypi_seed_of(1, 0, 0);
    open_fake(&f, ratio, 1e-100); /* some 360 pairs */
    cr_expect_eq(ypi_duel_prospect(f.duel).seconds, INFINITY, "before the first pair");
    cr_expect_eq(ypi_duel_run(f.duel, &coin, 0.5), YPI_PAIR_DONE);
    cr_assert_not(ypi_duel_is_over(f.duel));
    *spent = ypi_duel_seconds(f.duel);
    struct ypi_prospect p = ypi_duel_prospect(f.duel);
    close_fake(&f);
    return p;
}

Test(gate_schedule, pairs_tell_which_answer_is_near)
{
    double spent = 0;
    struct ypi_prospect p = prospect_of("1.3", &spent);
    cr_expect(p.slower && p.seconds > spent && isfinite(p.seconds), "%g after %g s", p.seconds,
              spent);
    p = prospect_of("0.8", &spent);
    cr_expect(!p.slower && p.seconds > spent && isfinite(p.seconds), "%g after %g s", p.seconds,
              spent);
    /* Not for ever: 1.03 is rounded. */
    cr_expect_gt(prospect_of("1.03", &spent).seconds, 1e6);
}

static void tell(void *arg, int at, int decided, double left)
{
    (void)at;
    (void)left;
    *(int *)arg = decided;
}

/* A head that is slower by exactly the threshold, of which no pair tells anything, and one that is
 * slower by 10 %: that is decided, and the rest of the time is the first one's. */
Test(gate_schedule, what_the_decided_leave_goes_to_the_others)
{
    struct fake hard;
    struct fake easy;
    int decided = -1;
    struct ypi_seed coin = ypi_seed_of(1, 0, 0);
    open_fake(&hard, "1.03", 0.001);
    open_fake(&easy, "1.1", 0.001);
    const struct ypi_schedule s = {.duels = (struct ypi_duel *const[]){hard.duel, easy.duel},
                                   .count = 2,
                                   .seconds = 6,
                                   .case_seconds = 60,
                                   .progress = tell,
                                   .arg = &decided};
    cr_expect(ypi_schedule_run(&s, &coin));
    cr_expect_eq(decided, 1);
    cr_expect(ypi_duel_is_over(easy.duel) && !ypi_duel_is_over(hard.duel));
    double used = ypi_duel_seconds(hard.duel) + ypi_duel_seconds(easy.duel);
    cr_expect_gt(used, 5.9, "of 6 s %g were used", used);
    close_fake(&hard);
    close_fake(&easy);
}

/* -- a machine with two states ------------------------------------------------------------- */

/* Runs a duel on a machine that `option` with `value` makes, and concludes it. */
static const struct ypi_comparison *judged(struct fake *f, const char *option, const char *value,
                                           double seconds, struct ypi_comparisons *all)
{
    struct ypi_seed coin = ypi_seed_of(1, 0, 0);
    f->options[2] = option;
    f->options[3] = value;
    cr_expect_eq(ypi_duel_run(f->duel, &coin, seconds), YPI_PAIR_DONE);
    ypi_duel_conclude(f->duel, all);
    cr_assert_eq(all->count, 1);
    return &all->list[0];
}

/* The head is 6 % slower on a quiet machine and as fast as the base on a busy one, which two of
 * three pairs meet. */
Test(gate_schedule, pairs_that_a_busy_machine_disturbed_do_not_count)
{
    struct fake f;
    struct ypi_comparisons all = {0};
    open_fake(&f, "1.06", 0.001);
    const struct ypi_comparison *c = judged(&f, "--busy", "1", 30, &all);
    cr_expect_eq(c->verdict, YPI_COMPARED_WORSE, "%g [%g, %g]", c->ratio, c->low, c->high);
    cr_expect_float_eq(c->ratio, 1.06, 1e-9);
    cr_expect_float_eq(c->head / c->base, 1.06, 0.02, "the times are of the same pairs");
    int without = 0;
    int of = 0;
    cr_assert_not_null(c->note);
    cr_expect_eq(sscanf(c->note, "the machine was disturbed in %d of %d pairs", &without, &of), 2,
                 "%s", c->note);
    cr_expect(of == c->pairs + without && without > c->pairs, "%d of %d, %d count", without, of,
              c->pairs);
    ypi_comparisons_clear(&all);
    close_fake(&f);
}

/* Where too few pairs were undisturbed by the end, that is the reason. */
Test(gate_schedule, too_few_undisturbed_pairs_are_a_reason)
{
    struct fake f;
    struct ypi_comparisons all = {0};
    open_fake(&f, "1.06", 1e-100);
    const struct ypi_comparison *c = judged(&f, "--busy", "1", 3, &all);
    cr_expect_eq(c->verdict, YPI_COMPARED_UNSURE);
    cr_expect(c->note != NULL && strstr(c->note, "the others are too few") != NULL, "%s", c->note);
    ypi_comparisons_clear(&all);
    close_fake(&f);
}

/* The head has two speeds: the fast pairs alone would say that nothing became slower. */
Test(gate_schedule, pairs_that_one_side_alone_slowed_down_are_not_left_out)
{
    struct fake f;
    struct ypi_comparisons all = {0};
    open_fake(&f, "1", 0.001);
    const struct ypi_comparison *c = judged(&f, "--alone", "1.5", 5, &all);
    cr_expect_eq(ypi_duel_prospect(f.duel).seconds, INFINITY);
    cr_expect_eq(c->verdict, YPI_COMPARED_UNSURE);
    cr_expect_gt(c->pairs, 20, "more than a verdict needs");
    cr_expect(c->note != NULL && strstr(c->note, "one side alone has two speeds") != NULL &&
                  strstr(c->note, "and mostly head alone") != NULL,
              "%s", c->note);
    ypi_comparisons_clear(&all);
    close_fake(&f);
}

/* That it is not slower is certain before that it is faster: it is not called the same. */
Test(gate_schedule, a_head_that_looks_faster_gets_the_pairs_to_show_it)
{
    for (int faster = 0; faster < 2; faster++) {
        struct fake f;
        struct ypi_comparisons all = {0};
        struct ypi_seed coin = ypi_seed_of(1, 0, 0);
        open_fake(&f, "0.96", 0.001);
        ypi_duel_close(f.duel);
        const struct ypi_duel_rule rule = {
            .threshold = 0.03, .error = 0.001, .faster = faster != 0};
        f.duel = ypi_duel_open(&f.pairing, names, 1, rule, false);
        cr_expect_eq(ypi_duel_run(f.duel, &coin, 30), YPI_PAIR_DONE);
        ypi_duel_conclude(f.duel, &all);
        cr_assert_eq(all.count, 1);
        const struct ypi_comparison *c = &all.list[0];
        cr_expect_eq(c->verdict, faster ? YPI_COMPARED_BETTER : YPI_COMPARED_SAME,
                     "%d: %g [%g, %g] in %d", faster, c->ratio, c->low, c->high, c->pairs);
        ypi_comparisons_clear(&all);
        close_fake(&f);
    }
}

/* One that is not, by the threshold, is not measured for ever. */
Test(gate_schedule, a_head_that_is_hardly_faster_ends_as_the_same)
{
    struct fake f;
    struct ypi_comparisons all = {0};
    struct ypi_seed coin = ypi_seed_of(1, 0, 0);
    open_fake(&f, "0.97", 0.001);
    ypi_duel_close(f.duel);
    f.duel = ypi_duel_open(
        &f.pairing, names, 1,
        (struct ypi_duel_rule){.threshold = 0.03, .error = 0.001, .faster = true}, false);
    cr_expect_eq(ypi_duel_run(f.duel, &coin, 30), YPI_PAIR_DONE);
    cr_expect(ypi_duel_is_over(f.duel));
    ypi_duel_conclude(f.duel, &all);
    cr_expect_leq(all.list[0].pairs, 60, "%d pairs", all.list[0].pairs);
    ypi_comparisons_clear(&all);
    close_fake(&f);
}

/* Both of its speeds are slower than the base. */
Test(gate_schedule, a_side_that_is_slower_at_both_speeds_is_slower)
{
    struct fake f;
    struct ypi_comparisons all = {0};
    open_fake(&f, "4", 0.001);
    const struct ypi_comparison *c = judged(&f, "--alone", "1.5", 30, &all);
    cr_expect_eq(c->verdict, YPI_COMPARED_WORSE, "%g [%g, %g]: %s", c->ratio, c->low, c->high,
                 c->note != NULL ? c->note : "");
    ypi_comparisons_clear(&all);
    close_fake(&f);
}

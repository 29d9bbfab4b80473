#include "gate/stored/stored_compare.h"

#include "base/numbers/ratio.h"
#include "base/system/clock.h"
#include "base/text/text.h"
#include "gate/exact.h"
#include "gate/stored/times.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Where fewer degrees of freedom are known, the scatter between runs is taken for the largest that
 * was met (docs/gate.md). */
#define FREEDOM_LEAST 3.0
#define SCATTER_MOST 0.12
#define TAKEN ", too few to know how far they scatter: 12 % is taken"
/* How far shares of the same work differ from one kind of processor to another: a standard
 * deviation of their logarithms (docs/gate.md). */
#define SCATTER_OF_MACHINES 0.15

struct side {
    struct ypi_stored *runs;
    struct ypi_exact *exact;
    struct ypi_timed times;
    struct ypi_earlier earlier; /* what tells how far its times scatter */
};

struct comparing {
    struct side sides[2]; /* base, head */
    bool by_share;        /* they are of two machines */
    const char **ids;
    int id_count;
    int measurements; /* that both sides timed */
    struct ypi_comparisons *found;
};

/* -- both sides ---------------------------------------------------------------------------- */

static bool read(struct side *s)
{
    char *runs = ypi_stored_ids(s->runs);
    s->exact = ypi_exact_read_runs(s->runs->db, runs);
    free(runs);
    if (s->runs->run_count > 0)
        ypi_earlier_open(&s->earlier, s->runs->db, s->runs->runs[0].machine,
                         s->runs->runs[0].options);
    return s->exact != NULL && ypi_times_read(s->runs, &s->times);
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Adds those of a side that are chosen and not there yet; false after telling stderr what is wrong
 * in the choice. */
static bool choose(struct comparing *c, const struct side *s, const struct ypi_selection *choice)
{
    bool right = false;
    cJSON *rows = ypi_cases_load(s->runs->db, choice, &right);
    const size_t before = (size_t)c->id_count;
    const char **there = ypi_calloc(before + 1, sizeof *there);
    if (before > 0)
        memcpy((void *)there, (const void *)c->ids, before * sizeof *there);
    qsort((void *)there, before, sizeof *there, by_text);
    const cJSON *row;
    cJSON_ArrayForEach(row, rows)
    {
        const char *id = ypi_text_of(row, "id");
        if (ypi_exact_has(s->exact, id) &&
            bsearch(&id, (const void *)there, before, sizeof *there, by_text) == NULL)
            c->ids = (const char **)ypi_list_add((char **)c->ids, c->id_count++, ypi_strdup(id));
    }
    free((void *)there);
    cJSON_Delete(rows);
    return right;
}

static void describe_side(struct comparing *c, int i)
{
    struct ypi_side *to = i == 0 ? &c->found->base : &c->found->head;
    const struct ypi_stored *s = c->sides[i].runs;
    bool one = true;
    for (int k = 1; k < s->run_count; k++)
        one = one && strcmp(s->runs[k].machine, s->runs[0].machine) == 0;
    to->commit = ypi_strdup(s->commit);
    to->dirty = to->dirty || s->dirty;
    to->machine = ypi_strdup(one && s->run_count > 0 ? s->runs[0].machine : "");
    if (s->run_count != 1)
        ypi_comparisons_note(c->found, "%s is %d runs%s", i == 0 ? "base" : "head", s->run_count,
                             *s->commit != '\0' ? "" : ", not all of one commit");
}

/* Whether a run of one side has options that none of the other has: other work, perhaps. */
static void note_options(struct comparing *c)
{
    for (int i = 0; i < 2; i++) {
        const struct ypi_stored *mine = c->sides[i].runs;
        const struct ypi_stored *other = c->sides[!i].runs;
        bool one_sided = false;
        for (int k = 0; k < mine->run_count && !one_sided; k++) {
            bool both = *mine->runs[k].options == '\0';
            for (int j = 0; j < other->run_count; j++)
                both = both || strcmp(mine->runs[k].options, other->runs[j].options) == 0;
            one_sided = !both;
            if (one_sided)
                ypi_comparisons_note(c->found, "only %s was run with %s",
                                     i == 0 ? "the base" : "the head", mine->runs[k].options);
        }
    }
}

static void describe(struct comparing *c)
{
    c->found->whole = true;
    for (int i = 0; i < 2; i++)
        describe_side(c, i);
    if (c->by_share)
        ypi_comparisons_note(
            c->found,
            "two machines: times are compared as shares of what bounds them, and a "
            "scatter of %.0f %% between machines is added",
            100 * SCATTER_OF_MACHINES);
    note_options(c);
}

/* -- times --------------------------------------------------------------------------------- */

/* What is known of the scatter on both sides' machines. */
static struct ypi_scatter scatter_of(const struct comparing *c, const struct ypi_times *const of[2])
{
    struct ypi_scatter all = {0};
    for (int i = 0; i < (c->by_share ? 2 : 1); i++) {
        struct ypi_scatter one = ypi_times_scatter(&c->sides[i].earlier, of[i], c->by_share);
        double freedom = all.freedom + one.freedom;
        if (freedom > 0)
            all.sd =
                sqrt((all.sd * all.sd * all.freedom + one.sd * one.sd * one.freedom) / freedom);
        all.freedom = freedom;
    }
    return all;
}

static bool all_known(const double *figures, int count)
{
    for (int i = 0; i < count; i++)
        if (isnan(figures[i]))
            return false;
    return true;
}

static double middle(const double *logarithms, int count)
{
    double sum = 0;
    for (int i = 0; i < count; i++)
        sum += logarithms[i];
    return exp(sum / count);
}

/* What the samples of a side leave open of its figure; NaN without an interval. */
static double inside(const struct ypi_times *t)
{
    double sum = 0;
    for (int i = 0; i < t->count; i++)
        sum += t->inside[i] * t->inside[i];
    return sqrt(sum) / t->count;
}

/* A share is the better the larger it is: the sides change places. */
static struct ypi_ratio ratio_of(const struct comparing *c, const struct ypi_times *const of[2],
                                 struct ypi_scatter known, double more)
{
    const double *figures[2];
    int first = c->by_share ? 1 : 0;
    for (int i = 0; i < 2; i++)
        figures[i] = c->by_share ? of[i]->shares : of[i]->seconds;
    return ypi_ratio(figures[first], (size_t)of[first]->count, figures[!first],
                     (size_t)of[!first]->count, known, more, c->found->error / c->measurements);
}

static enum ypi_compared judge(struct ypi_ratio ratio, double threshold)
{
    if (ratio.low > 1 + threshold)
        return YPI_COMPARED_WORSE;
    if (ratio.high < 1 / (1 + threshold))
        return YPI_COMPARED_BETTER;
    return ratio.high <= 1 + threshold ? YPI_COMPARED_SAME : YPI_COMPARED_UNSURE;
}

/* More runs than that are no advice. */
enum { RUNS_MOST = 200 };

/* What would make the verdict sure, if the ratio and the scatter stay as they are; "": nothing to
 * say. The caller frees. */
static char *advice(const struct comparing *c, const struct ypi_times *const of[2],
                    struct ypi_ratio ratio, double known, bool few)
{
    int runs = 2; /* of each, until the scatter is known */
    while (known + 2 * runs - 2 < FREEDOM_LEAST)
        runs++;
    if (c->by_share)
        return ypi_strdup("; times of both sides on one machine can tell more");
    if (few)
        return ypi_format("; %d runs of each would show the scatter", runs);
    /* The interval's half, in logarithms, shrinks with the root of the numbers of runs. */
    double half = log(ratio.high / ratio.ratio);
    double away = fabs(log(ratio.ratio) - log1p(c->found->threshold));
    double parts = 1.0 / of[0]->count + 1.0 / of[1]->count;
    double needed = ceil(2 / parts * (half / away) * (half / away));
    if (isfinite(needed) && needed <= RUNS_MOST)
        return ypi_format("; some %.0f runs of each would be sure, if the ratio stays", needed);
    return ypi_strdup("; so near to the threshold, only pairs can be sure: yieldpoint gate, or "
                      "another --threshold");
}

static void compare_time(struct comparing *c, const struct ypi_times *const of[2])
{
    struct ypi_comparison *to =
        ypi_comparison_add(c->found, of[0]->id, YPI_QUANTITY_TIME, of[0]->name);
    bool no_time[2];
    to->by_share = c->by_share;
    for (int i = 0; i < 2; i++)
        no_time[i] = middle(of[i]->seconds, of[i]->count) < YPI_IMPOSSIBLE_SECONDS;
    if (no_time[0] || no_time[1]) {
        to->verdict = YPI_COMPARED_UNSURE;
        to->note = ypi_comparison_no_time(no_time[0], no_time[1]);
        return;
    }
    if (c->by_share &&
        (!all_known(of[0]->shares, of[0]->count) || !all_known(of[1]->shares, of[1]->count))) {
        to->verdict = YPI_COMPARED_UNSURE;
        to->note =
            ypi_strdup("a side has no share of a bound; runs of both sides on one machine can be "
                       "compared without");
        return;
    }
    struct ypi_scatter known = scatter_of(c, of);
    const double freedom = known.freedom;
    double more = c->by_share ? SCATTER_OF_MACHINES : 0;
    bool few = known.freedom + of[0]->count + of[1]->count - 2 < FREEDOM_LEAST;
    if (few) {
        known = (struct ypi_scatter){SCATTER_MOST, INFINITY};
        more = hypot(more, hypot(inside(of[0]), inside(of[1])));
    }
    struct ypi_ratio ratio = ratio_of(c, of, known, more);
    to->verdict = judge(ratio, c->found->threshold);
    to->base = middle(c->by_share ? of[0]->shares : of[0]->seconds, of[0]->count);
    to->head = middle(c->by_share ? of[1]->shares : of[1]->seconds, of[1]->count);
    to->ratio = ratio.ratio;
    to->low = ratio.low;
    to->high = ratio.high;
    char *more_runs =
        to->verdict == YPI_COMPARED_UNSURE ? advice(c, of, ratio, freedom, few) : ypi_strdup("");
    const char *taken = few ? TAKEN : "";
    to->note = of[0]->count + of[1]->count == 2
                   ? ypi_format("one run of each%s%s", taken, more_runs)
                   : ypi_format("%d and %d runs%s%s", of[0]->count, of[1]->count, taken, more_runs);
    free(more_runs);
}

static bool measures(const struct side *s, const char *id, const char *name)
{
    int count = 0;
    const char **names = ypi_exact_measurements(s->exact, id, &count);
    bool found = ypi_list_has(names, count, name);
    free((void *)names);
    return found;
}

/* A measurement that only one side has timed. */
static void add_missing(struct comparing *c, const char *id, const char *name, int side)
{
    bool there = measures(&c->sides[!side], id, name);
    bool failed = ypi_exact_failed(c->sides[!side].exact, id);
    if (failed)
        return; /* which is reported already */
    struct ypi_comparison *to = ypi_comparison_add(c->found, id, YPI_QUANTITY_TIME, name);
    to->verdict = there ? YPI_COMPARED_UNSURE : side == 0 ? YPI_COMPARED_GONE : YPI_COMPARED_NEW;
    if (there)
        to->note = ypi_format("not timed in the %s", side == 0 ? "head" : "base");
}

/* Calls back for each measurement of the case that a side has timed. */
static void each_time(struct comparing *c, const char *id,
                      void (*take)(struct comparing *c, const struct ypi_times *mine,
                                   const struct ypi_times *other, int side))
{
    for (int side = 0; side < 2; side++) {
        const struct ypi_timed *timed = &c->sides[side].times;
        for (const struct ypi_times *t = ypi_times_of_case(timed, id);
             t != NULL && t < timed->list + timed->count && strcmp(t->id, id) == 0; t++)
            take(c, t, ypi_times_of(&c->sides[!side].times, id, t->name), side);
    }
}

static void count_time(struct comparing *c, const struct ypi_times *mine,
                       const struct ypi_times *other, int side)
{
    (void)mine;
    c->measurements += side == 0 && other != NULL;
}

static void take_time(struct comparing *c, const struct ypi_times *mine,
                      const struct ypi_times *other, int side)
{
    if (other == NULL)
        add_missing(c, mine->id, mine->name, side);
    else if (side == 0)
        compare_time(c, (const struct ypi_times *const[]){mine, other});
}

/* -- the whole ----------------------------------------------------------------------------- */

static void compare_case(struct comparing *c, const char *id)
{
    bool base = ypi_exact_has(c->sides[0].exact, id);
    bool head = ypi_exact_has(c->sides[1].exact, id);
    if (base && head) {
        ypi_exact_compare(c->sides[0].exact, c->sides[1].exact, id, c->found);
        each_time(c, id, take_time);
    } else {
        ypi_comparison_add(c->found, id, YPI_QUANTITY_CASE, NULL)->verdict =
            base ? YPI_COMPARED_GONE : YPI_COMPARED_NEW;
    }
}

static void clear(struct comparing *c)
{
    ypi_list_free((char **)c->ids, c->id_count);
    for (int i = 0; i < 2; i++) {
        ypi_exact_close(c->sides[i].exact);
        ypi_times_clear(&c->sides[i].times);
        ypi_earlier_close(&c->sides[i].earlier);
    }
}

enum yp_status ypi_stored_compare(struct ypi_stored *base, struct ypi_stored *head,
                                  const struct ypi_selection *choice, bool *right,
                                  struct ypi_comparisons *found)
{
    struct comparing c = {.sides = {{.runs = base}, {.runs = head}}, .found = found};
    c.by_share = !ypi_stored_keep_common(base, head);
    *right = true;
    enum yp_status status = read(&c.sides[0]) && read(&c.sides[1]) ? YP_OK : yp_last_status();
    for (int i = 0; i < 2 && status == YP_OK && *right; i++)
        *right = choose(&c, &c.sides[i], choice);
    if (status == YP_OK && *right) {
        describe(&c);
        for (int i = 0; i < c.id_count; i++)
            each_time(&c, c.ids[i], count_time);
        for (int i = 0; i < c.id_count; i++)
            compare_case(&c, c.ids[i]);
    }
    clear(&c);
    return status;
}

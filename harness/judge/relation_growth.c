/* The growth of a time with an axis: the slope of a line on logarithmic scales, or which order it
 * follows. */
#include "harness/judge/relation_internal.h"

#include "base/numbers/order.h"
#include "base/numbers/stats.h"
#include "base/text/text.h"
#include "harness/judge/budget.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define MIN_POINTS 3 /* with two, a line has no scatter to be unsure by */
/* Of times about the line, relative: what cases of one test come to on a machine that is not idle.
 * What was measured then decides; this one says beforehand whether it ever can. */
#define ASSUMED_SCATTER 0.05

/* The cases that differ in the axis alone, on logarithmic scales. */
struct series {
    double *x, *y;     /* owned */
    double *down, *up; /* owned: how far the median's interval reaches from y */
    int *cases;        /* owned: indices into the input */
    int count;
    int skipped;   /* cases without a result because they were skipped */
    char *absence; /* owned: of the first case without a result; NULL: all have one */
    int others;    /* how many more have none */
};

static void close_series(struct series *s)
{
    free(s->x);
    free(s->y);
    free(s->down);
    free(s->up);
    free(s->cases);
    free(s->absence);
}

static bool add_point(struct ypi_relation_work *w, struct series *s, int i)
{
    char *reason = ypi_relation_absence(w, i);
    if (reason != NULL) {
        s->skipped += ypi_relation_was_skipped(w, i);
        s->others += s->absence != NULL;
        if (s->absence == NULL)
            s->absence = reason;
        else
            free(reason);
        return true;
    }
    const struct yp_case *c = ypi_relation_case(w, i);
    const struct ypi_setting *setting = ypi_relation_setting(c, w->relation->axis);
    double x = setting->kind == YP_AXIS_INT ? (double)setting->i : setting->d;
    const bool order = w->relation->kind == YP_RELATION_ORDER;
    if (!(x > order) || !isfinite(x))
        return ypi_relation_misuse(w, "'%s' stands at %s=%g: allowed for %s is above %d", c->id,
                                   setting->axis, x, order ? "an order" : "a growth", order);
    const struct ypi_estimate *time = ypi_relation_time(w, i);
    if (time == NULL)
        return false;
    int at = s->count++;
    s->cases[at] = i;
    s->x[at] = log(x);
    s->y[at] = log(time->median);
    s->down[at] = s->y[at] - log(time->low);
    s->up[at] = log(time->high) - s->y[at];
    return true;
}

static int distinct(const double *x, int count)
{
    int found = 0;
    for (int i = 0; i < count; i++) {
        bool seen = false;
        for (int k = 0; k < i; k++)
            seen = seen || x[k] == x[i];
        found += !seen;
    }
    return found;
}

/* The slope is a weighted sum of the y, so it is farthest off when each median lies at that end of
 * its interval where the weight's sign has it; the scatter about the line may be wider still. */
static struct ypi_spread exponent_of(const struct series *s)
{
    struct ypi_line line = ypi_line(s->x, s->y, (size_t)s->count);
    double mean = 0;
    double square = 0;
    for (int i = 0; i < s->count; i++)
        mean += s->x[i] / s->count;
    for (int i = 0; i < s->count; i++)
        square += (s->x[i] - mean) * (s->x[i] - mean);
    double low = line.slope;
    double high = line.slope;
    for (int i = 0; i < s->count; i++) {
        double weight = (s->x[i] - mean) / square;
        if (weight > 0) {
            low -= weight * s->down[i];
            high += weight * s->up[i];
        } else if (weight < 0) {
            low += weight * s->up[i];
            high -= weight * s->down[i];
        }
    }
    return ypi_spread_of(line.slope, fmin(low, line.low), fmax(high, line.high));
}

/* The orders that are not refuted, and the best of them. */
static struct ypi_spread order_of(struct ypi_relation_work *w, const struct series *s)
{
    const struct ypi_growth_points points = {s->x, s->y, s->down, s->up, (size_t)s->count};
    if (!ypi_orders_fit(&points, &w->orders))
        return ypi_spread_of(NAN, NAN, NAN);
    struct ypi_spread found = ypi_spread_of(w->orders.best, w->orders.first, w->orders.last);
    if (w->orders.first < 0)
        found.low = found.high = NAN;
    return found;
}

static char *series_note(const struct series *s, const char *first)
{
    char more[64] = "";
    if (s->others > 0)
        snprintf(more, sizeof more, ", and %d more", s->others);
    return ypi_format("%d cases like '%s'%s%s%s%s", s->count, first,
                      s->absence != NULL ? " (without others: " : "",
                      s->absence != NULL ? s->absence : "", more, s->absence != NULL ? ")" : "");
}

/* -- what its points can decide ----------------------------------------------------------- */

/* How wide a range the budgets leave the exponent. A largest one alone leaves it from 0 on, which
 * is no growth, one power at least; a least one alone one power. Infinite without any. */
static double allowed_width(const struct yp_case *relation)
{
    double low = -INFINITY;
    double high = INFINITY;
    const struct yp_budget *b = NULL;
    for (int next = 0; (b = ypi_next_budget(relation, &next)) != NULL;)
        if (b->kind == YP_BUDGET_MIN_VALUE)
            low = fmax(low, b->limit);
        else if (b->kind == YP_BUDGET_MAX_VALUE)
            high = fmin(high, b->limit);
    if (isinf(low) && isinf(high))
        return INFINITY;
    if (isinf(low))
        low = fmin(0, high - 1);
    return isinf(high) ? 1 : high - low;
}

/* How many values evenly spread over the span of these are enough; 0: none. */
static int enough_values(const double *x, int count, double width)
{
    enum { MAX_VALUES = 100 };
    double even[MAX_VALUES];
    double low = x[0];
    double high = x[0];
    for (int i = 1; i < count; i++) {
        low = fmin(low, x[i]);
        high = fmax(high, x[i]);
    }
    for (int n = MIN_POINTS; n <= MAX_VALUES; n++) {
        for (int i = 0; i < n; i++)
            even[i] = low + (high - low) * i / (n - 1);
        if (2 * ypi_line_reach(even, (size_t)n, ASSUMED_SCATTER) < width)
            return n;
    }
    return 0;
}

/* The order that a budget asks for; -1: none does. */
static int asked_order(const struct yp_case *relation)
{
    const struct yp_budget *b = NULL;
    for (int next = 0; (b = ypi_next_budget(relation, &next)) != NULL;)
        if (b->kind == YP_BUDGET_ORDER)
            return (int)b->limit;
    return -1;
}

/* How far the interval reaches that has to tell the order from the one that is nearest to it. */
static double order_reach(const double *x, int count, int order, int *nearest)
{
    double most = 0;
    for (int other = 0; other < YPI_ORDERS; other++) {
        double reach =
            order == other ? 0 : ypi_order_reach(x, (size_t)count, other, order, ASSUMED_SCATTER);
        if (reach > most) {
            most = reach;
            *nearest = other;
        }
    }
    return most;
}

/* How many values evenly spread on a logarithmic scale are enough; 0: none. */
static int enough_for_order(const double *x, int count, int order)
{
    enum { MAX_VALUES = 100 };
    double even[MAX_VALUES];
    double low = x[0];
    double high = x[0];
    int nearest = 0;
    for (int i = 1; i < count; i++) {
        low = fmin(low, x[i]);
        high = fmax(high, x[i]);
    }
    for (int n = MIN_POINTS; n <= MAX_VALUES; n++) {
        for (int i = 0; i < n; i++)
            even[i] = low + (high - low) * i / (n - 1);
        if (2 * order_reach(even, n, order, &nearest) < 1)
            return n;
    }
    return 0;
}

static char *order_undecidable(const struct yp_case *relation, const double *x, int count)
{
    int order = asked_order(relation);
    int nearest = 0;
    if (count == 0 || order < 0 || 2 * order_reach(x, count, order, &nearest) < 1)
        return NULL;
    int enough = enough_for_order(x, count, order);
    char number[32];
    snprintf(number, sizeof number, "%d values", enough);
    return ypi_format("cannot tell %s from %s where times scatter by %g %%; needed are %s over %s",
                      ypi_order_name(order), ypi_order_name(nearest), 100 * ASSUMED_SCATTER,
                      enough > 0 ? number : "values",
                      enough > 0 ? "the same span, or a wider one" : "a wider span");
}

/* Why points at `x`, logarithms of values of the axis, cannot decide the relation's budgets; NULL:
 * they can, or there is none. The caller frees. */
static char *undecidable(const struct yp_case *relation, const double *x, int count)
{
    if (relation->test->relation.kind == YP_RELATION_ORDER)
        return order_undecidable(relation, x, count);
    double width = allowed_width(relation);
    double reach = ypi_line_reach(x, (size_t)count, ASSUMED_SCATTER);
    if (count == 0 || isinf(width) || 2 * reach < width)
        return NULL;
    int enough = enough_values(x, count, width);
    struct ypi_text why = {0};
    ypi_text_add(&why,
                 "cannot decide the budgets: where times scatter by %g %% the exponent is known "
                 "to +-%.2g, and the budgets leave it a range of %.2g; needed are ",
                 100 * ASSUMED_SCATTER, reach, width);
    if (enough > 0)
        ypi_text_add(&why, "%d values over the same span, or a wider one", enough);
    else
        ypi_text_add(&why, "values over a wider span");
    return ypi_text_take(&why);
}

static double position(const struct ypi_setting *s)
{
    return s->kind == YP_AXIS_INT ? (double)s->i : s->kind == YP_AXIS_DOUBLE ? s->d : NAN;
}

/* The series of the case at `first`; NULL: nothing is wrong with it. */
static char *series_problem(const struct yp_case *relation, const struct yp_case *const *cases,
                            int count, int first)
{
    const char *axis = relation->test->relation.axis;
    double *x = ypi_calloc((size_t)count, sizeof *x);
    int points = 0;
    for (int i = first; i < count; i++) {
        const struct ypi_setting *s = ypi_relation_setting(cases[i], axis);
        const bool order = relation->test->relation.kind == YP_RELATION_ORDER;
        if (s != NULL && position(s) > order && ypi_relation_reads(relation, cases[i]) &&
            ypi_relation_differ_only_in(cases[first], cases[i], axis))
            x[points++] = log(position(s));
    }
    char *why = undecidable(relation, x, points);
    char *problem = why == NULL
                        ? NULL
                        : ypi_format("its %d value%s of '%s' in the cases like '%s' %s", points,
                                     points == 1 ? "" : "s", axis, cases[first]->id, why);
    free(why);
    free(x);
    return problem;
}

char *ypi_relation_undecidable(const struct yp_case *relation, const struct yp_case *const *cases,
                               int count)
{
    char *problem = NULL;
    const enum yp_relation_kind kind = relation->test->relation.kind;
    if (kind != YP_RELATION_GROWTH && kind != YP_RELATION_ORDER)
        return NULL;
    for (int i = 0; i < count && problem == NULL; i++) {
        bool taken = !ypi_relation_reads(relation, cases[i]);
        for (int k = 0; k < i && !taken; k++)
            taken = ypi_relation_reads(relation, cases[k]) &&
                    ypi_relation_differ_only_in(cases[k], cases[i], relation->test->relation.axis);
        if (!taken)
            problem = series_problem(relation, cases, count, i);
    }
    return problem;
}

/* -- its series --------------------------------------------------------------------------- */

/* A series that was skipped as a whole, as on a device that is not there, says nothing about the
 * others; one of which too little is there leaves the relation unknown. */
static bool fit_series(struct ypi_relation_work *w, const struct series *s, int first,
                       struct ypi_relation_worst *worst)
{
    const char *id = ypi_relation_case(w, first)->id;
    int points = distinct(s->x, s->count);
    char *why = points >= MIN_POINTS ? undecidable(w->r->c, s->x, s->count) : NULL;
    if (why != NULL) {
        ypi_relation_missing(w, ypi_format("%d values of '%s' among the cases like '%s' %s%s%s",
                                           points, w->relation->axis, id, why,
                                           s->absence != NULL ? ": " : "",
                                           s->absence != NULL ? s->absence : ""));
        free(why);
        return false;
    }
    if (points >= MIN_POINTS) {
        const bool order = w->relation->kind == YP_RELATION_ORDER;
        ypi_relation_consider(w, worst, order ? order_of(w, s) : exponent_of(s), s->cases, s->count,
                              series_note(s, id));
        worst->partial = s->absence != NULL;
        return true;
    }
    if (s->count == 0 && s->skipped == s->others + 1) {
        if (worst->left == NULL)
            worst->left = ypi_strdup(s->absence);
        return true;
    }
    return ypi_relation_missing(
        w, ypi_format("%d value%s of '%s' among the cases like '%s', %d are needed%s%s", points,
                      points == 1 ? "" : "s", w->relation->axis, id, MIN_POINTS,
                      s->absence != NULL ? ": " : "", s->absence != NULL ? s->absence : ""));
}

/* Whether a case before the k-th of the list is of the same series. */
static bool is_taken(const struct ypi_relation_work *w, const struct ypi_relation_cases *list,
                     int k)
{
    for (int i = 0; i < k; i++)
        if (ypi_relation_differ_only_in(ypi_relation_case(w, list->at[i]),
                                        ypi_relation_case(w, list->at[k]), w->relation->axis))
            return true;
    return false;
}

static bool work_out_series(struct ypi_relation_work *w, const struct ypi_relation_cases *list,
                            int first, struct ypi_relation_worst *worst)
{
    size_t capacity = (size_t)list->count;
    struct series s = {.x = ypi_calloc(capacity, sizeof *s.x),
                       .y = ypi_calloc(capacity, sizeof *s.y),
                       .down = ypi_calloc(capacity, sizeof *s.down),
                       .up = ypi_calloc(capacity, sizeof *s.up),
                       .cases = ypi_calloc(capacity, sizeof *s.cases)};
    bool fine = true;
    for (int k = first; k < list->count && fine; k++)
        if (ypi_relation_differ_only_in(ypi_relation_case(w, list->at[first]),
                                        ypi_relation_case(w, list->at[k]), w->relation->axis))
            fine = add_point(w, &s, list->at[k]);
    fine = fine && fit_series(w, &s, list->at[first], worst);
    close_series(&s);
    return fine;
}

static bool check_numbers(struct ypi_relation_work *w, const struct ypi_relation_cases *list)
{
    for (int k = 0; k < list->count; k++) {
        const struct yp_case *c = ypi_relation_case(w, list->at[k]);
        if (!ypi_relation_has_axis(w, c, false))
            return false;
        if (ypi_relation_setting(c, w->relation->axis)->kind == YP_AXIS_STRING)
            return ypi_relation_misuse(
                w, "the axis '%s' of '%s' is one of texts: allowed for a growth are numbers",
                w->relation->axis, w->relation->of);
    }
    return true;
}

static bool work_out_all_series(struct ypi_relation_work *w, const struct ypi_relation_cases *list,
                                struct ypi_relation_worst *worst)
{
    for (int k = 0; k < list->count; k++)
        if (!is_taken(w, list, k) && !work_out_series(w, list, k, worst))
            return false;
    return worst->candidates > 0 || ypi_relation_missing(w, ypi_relation_absence(w, list->at[0]));
}

void ypi_relation_growth(struct ypi_relation_work *w)
{
    struct ypi_relation_cases list = {0};
    struct ypi_relation_worst worst = {0};
    if (ypi_relation_find(w, w->relation->of, &list) && check_numbers(w, &list) &&
        work_out_all_series(w, &list, &worst))
        ypi_relation_add_worst(w, &worst, "series");
    free(worst.left);
    free(worst.note);
    free(list.at);
}

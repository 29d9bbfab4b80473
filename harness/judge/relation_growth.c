/* The growth of a time with an axis: the slope of a line on logarithmic scales, or which order it
 * follows. */
#include "harness/judge/relation_internal.h"

#include "base/numbers/order.h"
#include "base/numbers/stats.h"
#include "base/text/text.h"
#include "harness/vocabulary/budget.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

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

static struct ypi_spread exponent_of(const struct series *s)
{
    const struct ypi_growth_points points = {s->x, s->y, s->down, s->up, (size_t)s->count};
    struct ypi_exponent found = ypi_exponent_fit(&points);
    return ypi_spread_of(found.value, found.low, found.high);
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

static bool fit_series(struct ypi_relation_work *w, const struct series *s, int first,
                       struct ypi_relation_worst *worst)
{
    const char *id = ypi_relation_case(w, first)->id;
    int points = distinct(s->x, s->count);
    char *why =
        points >= YPI_RELATION_POINTS ? ypi_relation_undecidable_by(w->r->c, s->x, s->count) : NULL;
    if (why != NULL) {
        ypi_relation_missing(w, ypi_format("%d values of '%s' among the cases like '%s' %s%s%s",
                                           points, w->relation->axis, id, why,
                                           s->absence != NULL ? ": " : "",
                                           s->absence != NULL ? s->absence : ""));
        free(why);
        return false;
    }
    if (points >= YPI_RELATION_POINTS) {
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
                      points == 1 ? "" : "s", w->relation->axis, id, YPI_RELATION_POINTS,
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
    for (int k = 0; k < list->count; k++)
        if (!ypi_relation_has_numbers(w, ypi_relation_case(w, list->at[k]), "growth"))
            return false;
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

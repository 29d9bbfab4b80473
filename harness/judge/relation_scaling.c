/* Strong and weak scaling: how near the times along an axis come to what they should be, from the
 * time of its smallest value. */
#include "harness/judge/relation_internal.h"

#include "base/text/text.h"

#include <math.h>
#include <stdlib.h>

static double position(const struct ypi_relation_work *w, int i)
{
    const struct ypi_setting *s = ypi_relation_setting(ypi_relation_case(w, i), w->relation->axis);
    return s->kind == YP_AXIS_INT ? (double)s->i : s->d;
}

/* The case of the smallest value that differs from this one in nothing else; it may be itself. */
static int smallest(const struct ypi_relation_work *w, const struct ypi_relation_cases *list, int i)
{
    int first = i;
    for (int k = 0; k < list->count; k++)
        if (position(w, list->at[k]) < position(w, first) &&
            ypi_relation_differ_only_in(ypi_relation_case(w, i), ypi_relation_case(w, list->at[k]),
                                        w->relation->axis))
            first = list->at[k];
    return first;
}

/* False when a time is missing, which is then reported. */
static bool compare(struct ypi_relation_work *w, int first, int i, struct ypi_relation_worst *worst)
{
    const struct ypi_estimate *one = ypi_relation_time(w, first);
    const struct ypi_estimate *more = one != NULL ? ypi_relation_time(w, i) : NULL;
    const int cases[] = {i, first};
    const bool strong = w->relation->kind == YP_RELATION_STRONG_SCALING;
    const double law = strong ? position(w, first) / position(w, i) : 1;
    if (more == NULL)
        return false;
    ypi_relation_consider(w, worst,
                          ypi_spread_of(law * one->median / more->median,
                                        law * one->low / more->high, law * one->high / more->low),
                          cases, 2,
                          ypi_format("'%s' beside '%s'", ypi_relation_case(w, i)->id,
                                     ypi_relation_case(w, first)->id));
    return true;
}

/* `all`: also ranks that share processors. */
static bool compare_all(struct ypi_relation_work *w, const struct ypi_relation_cases *list,
                        bool all, struct ypi_relation_worst *worst)
{
    for (int k = 0; k < list->count; k++) {
        const int i = list->at[k];
        const int first = smallest(w, list, i);
        if (first == i)
            continue;
        if (!all && ypi_relation_is_oversubscribed(w, i)) {
            if (worst->left == NULL)
                worst->left =
                    ypi_format("'%s': more ranks than processors", ypi_relation_case(w, i)->id);
            continue;
        }
        if (!compare(w, first, i, worst))
            return false;
    }
    return true;
}

static bool check_axis(struct ypi_relation_work *w, const struct ypi_relation_cases *list)
{
    for (int k = 0; k < list->count; k++) {
        const struct yp_case *c = ypi_relation_case(w, list->at[k]);
        if (!ypi_relation_has_numbers(w, c, "scaling"))
            return false;
        const double x = position(w, list->at[k]);
        if (!(x > 0) || !isfinite(x))
            return ypi_relation_misuse(w, "'%s' stands at %s=%g: allowed for a scaling is above 0",
                                       c->id, w->relation->axis, x);
    }
    return true;
}

static bool work_out(struct ypi_relation_work *w, const struct ypi_relation_cases *list,
                     struct ypi_relation_worst *worst)
{
    if (!compare_all(w, list, false, worst))
        return false;
    if (worst->candidates > 0)
        return true;
    /* Recorded, as the speed of each of them is. */
    free(worst->left);
    worst->left = NULL;
    return compare_all(w, list, true, worst) &&
           (worst->candidates > 0 ||
            ypi_relation_missing(
                w, ypi_format("one value of '%s' among the cases like '%s', 2 are needed",
                              w->relation->axis, ypi_relation_case(w, list->at[0])->id)));
}

void ypi_relation_scaling(struct ypi_relation_work *w)
{
    struct ypi_relation_cases list = {0};
    struct ypi_relation_worst worst = {0};
    if (ypi_relation_find(w, w->relation->of, &list) && check_axis(w, &list) &&
        work_out(w, &list, &worst))
        ypi_relation_add_worst(w, &worst, "pairs");
    free(worst.left);
    free(worst.note);
    free(list.at);
}

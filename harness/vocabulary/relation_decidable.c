/* Whether the values of an axis can decide the budgets of a growth. */
#include "base/numbers/order.h"
#include "base/numbers/stats.h"
#include "base/text/text.h"
#include "harness/vocabulary/budget.h"
#include "harness/vocabulary/relation.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* Of times about the line, relative: what cases of one test come to on a machine that is not idle.
 * What was measured then decides; this one says beforehand whether it ever can. */
#define ASSUMED_SCATTER 0.05

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

/* How many values evenly spread over the span of these are enough for an interval that is narrower
 * than `width`, of the slope or, from 0 on, of an order; 0: none. */
static int enough_values(const double *x, int count, int order, double width)
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
    for (int n = YPI_RELATION_POINTS; n <= MAX_VALUES; n++) {
        for (int i = 0; i < n; i++)
            even[i] = low + (high - low) * i / (n - 1);
        double reach = order < 0 ? ypi_line_reach(even, (size_t)n, ASSUMED_SCATTER)
                                 : order_reach(even, n, order, &nearest);
        if (2 * reach < width)
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
    int enough = enough_values(x, count, order, 1);
    char number[32];
    snprintf(number, sizeof number, "%d values", enough);
    return ypi_format("cannot tell %s from %s where times scatter by %g %%; needed are %s over %s",
                      ypi_order_name(order), ypi_order_name(nearest), 100 * ASSUMED_SCATTER,
                      enough > 0 ? number : "values",
                      enough > 0 ? "the same span, or a wider one" : "a wider span");
}

char *ypi_relation_undecidable_by(const struct yp_case *relation, const double *x, int count)
{
    if (relation->test->relation.kind == YP_RELATION_ORDER)
        return order_undecidable(relation, x, count);
    double width = allowed_width(relation);
    double reach = ypi_line_reach(x, (size_t)count, ASSUMED_SCATTER);
    if (count == 0 || isinf(width) || 2 * reach < width)
        return NULL;
    int enough = enough_values(x, count, -1, width);
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
    char *why = ypi_relation_undecidable_by(relation, x, points);
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

/* Relations: what they find, and which one is worked out. */
#include "harness/judge/relation_internal.h"

#include "base/text/text.h"
#include "harness/vocabulary/budget.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* -- what is found ------------------------------------------------------------------------ */

static struct ypi_value *add_value(struct ypi_relation_work *w, const char *name,
                                   struct ypi_spread s)
{
    struct ypi_result *r = w->r;
    r->values = ypi_realloc(r->values, (size_t)r->value_count + 1, sizeof *r->values);
    struct ypi_value *v = &r->values[r->value_count++];
    *v = (struct ypi_value){.value = s.value,
                            .low = s.low,
                            .high = s.high,
                            .of_speed = w->kind->of_speed,
                            .crowded = s.crowded};
    snprintf(v->name, sizeof v->name, "%s", name);
    return v;
}

void ypi_relation_add_value(struct ypi_relation_work *w, struct ypi_spread s)
{
    add_value(w, w->kind->value, s);
}

static void add_orders(struct ypi_relation_work *w, const struct ypi_orders *orders)
{
    const struct ypi_order *best = &orders->of[orders->best];
    struct ypi_value *v =
        add_value(w, "coefficient", ypi_spread_of(best->coefficient, best->low, best->high));
    snprintf(v->unit, sizeof v->unit, "s");
    for (int f = 0; f < YPI_ORDERS; f++) {
        char name[YPI_NAME_MAX];
        double rms = orders->of[f].rms;
        snprintf(name, sizeof name, "rms %s", ypi_order_name(f));
        add_value(w, name, ypi_spread_of(rms, rms, rms));
    }
}

/* "O(N): 2.98e-09 s [2.9e-09 s, 3.1e-09 s] of f(N); rms O(1) 2.1, ..." */
static void note_orders(struct ypi_relation_work *w, const struct ypi_orders *orders)
{
    const struct ypi_order *best = &orders->of[orders->best];
    struct ypi_text standing = {0};
    struct ypi_text rms = {0};
    for (int f = 0; f < YPI_ORDERS; f++) {
        ypi_text_add(&rms, "%s%s %.2g", f > 0 ? ", " : "", ypi_order_name(f), orders->of[f].rms);
        if (!orders->of[f].refuted)
            ypi_text_add(&standing, "%s%s", standing.length > 0 ? " or " : "", ypi_order_name(f));
    }
    char *left = ypi_text_take(&standing);
    char *all = ypi_text_take(&rms);
    ypi_result_note(w->r, "%s%s%s, the best %s with %.3g s [%.3g s, %.3g s]; rms: %s",
                    orders->first < 0              ? "none of the orders"
                    : orders->first < orders->last ? "cannot say: "
                                                   : "",
                    left, orders->first == orders->last && orders->first >= 0 ? " alone" : "",
                    ypi_order_name(orders->best), best->coefficient, best->low, best->high, all);
    free(left);
    free(all);
}

static struct ypi_rank rank_of(const struct ypi_relation_work *w, struct ypi_spread s)
{
    enum { INSIDE, UNDECIDED, OUTSIDE };
    const struct yp_budget *b = NULL;
    int next = 0;
    bool any = false;
    struct ypi_rank out = {.margin = INFINITY};
    for (; (b = ypi_next_budget(w->r->c, &next)) != NULL; any = true) {
        double limit = b->limit;
        if (b->kind == YP_BUDGET_ORDER) {
            bool stands = s.low <= limit && limit <= s.high;
            out.level = !stands                                   ? OUTSIDE
                        : s.low < s.high && out.level < UNDECIDED ? UNDECIDED
                                                                  : out.level;
            out.margin = fmin(out.margin, -fabs(s.value - limit));
            continue;
        }
        bool at_least = b->kind == YP_BUDGET_MIN_VALUE;
        bool inside = at_least ? s.low >= limit : s.high <= limit;
        bool outside = at_least ? s.high < limit : s.low > limit;
        int level = outside ? OUTSIDE : inside ? INSIDE : UNDECIDED;
        out.level = level > out.level ? level : out.level;
        out.margin = fmin(out.margin, at_least ? s.value - limit : limit - s.value);
    }
    bool growth = w->relation->kind == YP_RELATION_GROWTH || w->relation->kind == YP_RELATION_ORDER;
    if (s.crowded && out.level == OUTSIDE)
        out.level = UNDECIDED;
    if (!any)
        out.margin = growth ? -s.value : s.value;
    return out;
}

static void keep_finding(struct ypi_relation_findings *f, int number, const int *cases, int count)
{
    f->of = ypi_realloc(f->of, (size_t)f->count + 1, sizeof *f->of);
    struct ypi_relation_finding *finding = &f->of[f->count++];
    *finding = (struct ypi_relation_finding){.number = number, .count = count};
    finding->cases = ypi_calloc((size_t)count, sizeof *finding->cases);
    memcpy(finding->cases, cases, (size_t)count * sizeof *finding->cases);
}

void ypi_relation_findings_clear(struct ypi_relation_findings *findings)
{
    for (int i = 0; i < findings->count; i++)
        free(findings->of[i].cases);
    free(findings->of);
    *findings = (struct ypi_relation_findings){0};
}

static bool is_worse(const struct ypi_rank *a, const struct ypi_rank *b)
{
    return a->level != b->level ? a->level > b->level : a->margin < b->margin;
}

void ypi_relation_consider(const struct ypi_relation_work *w, struct ypi_relation_worst *worst,
                           struct ypi_spread s, const int *cases, int count, char *note)
{
    for (int i = 0; i < count && !s.crowded; i++)
        s.crowded = ypi_relation_was_crowded(w, cases[i]);
    for (int i = 0; i < count; i++)
        w->r->crowded = w->r->crowded || ypi_relation_is_oversubscribed(w, cases[i]);
    struct ypi_rank rank = rank_of(w, s);
    int number = ++worst->candidates;
    bool worse = w->input->report > 0 ? number == w->input->report : is_worse(&rank, &worst->rank);
    if (w->findings != NULL)
        keep_finding(w->findings, number, cases, count);
    if (number > 1 && !worse) {
        free(note);
        return;
    }
    free(worst->note);
    worst->spread = s;
    worst->rank = rank;
    worst->orders = w->orders;
    worst->note = note;
    if (w->findings != NULL)
        w->findings->worst = number;
}

void ypi_relation_add_worst(struct ypi_relation_work *w, const struct ypi_relation_worst *worst,
                            const char *of)
{
    ypi_relation_add_value(w, worst->spread);
    if (w->r->crowded)
        ypi_result_note(w->r, "more ranks than processors: speed is recorded, and not judged");
    if (w->relation->kind == YP_RELATION_ORDER) {
        add_orders(w, &worst->orders);
        if (worst->orders.first != worst->orders.last || worst->orders.first < 0 ||
            worst->rank.level > 0)
            note_orders(w, &worst->orders);
    }
    if (worst->spread.crowded && worst->rank.level > 0)
        ypi_result_note(w->r,
                        "some of its times were taken while others used the processors or a quota "
                        "held it back");
    if (worst->candidates > 1)
        ypi_result_note(w->r, "the worst of %d %s: %s", worst->candidates, of, worst->note);
    else if (worst->partial)
        ypi_result_note(w->r, "%s", worst->note);
    if (worst->left != NULL)
        ypi_result_note(w->r, "left out: %s", worst->left);
}

/* -- all of it ---------------------------------------------------------------------------- */

bool ypi_relation_evaluate(const struct ypi_relation_input *input, struct ypi_result *r,
                           struct ypi_relation_findings *findings)
{
    static void (*const work_out[])(struct ypi_relation_work *) = {
        [YP_RELATION_RATIO] = ypi_relation_ratio,
        [YP_RELATION_RATIO_OVER] = ypi_relation_ratio_over,
        [YP_RELATION_VALUE_RATIO] = ypi_relation_value_ratio,
        [YP_RELATION_GROWTH] = ypi_relation_growth,
        [YP_RELATION_SAME_HASH] = ypi_relation_same_hash,
        [YP_RELATION_ORDER] = ypi_relation_growth,
        [YP_RELATION_SHARE_RATIO_OVER] = ypi_relation_ratio_over,
        [YP_RELATION_STRONG_SCALING] = ypi_relation_scaling,
        [YP_RELATION_WEAK_SCALING] = ypi_relation_scaling,
    };
    const struct yp_relation *relation = &r->c->test->relation;
    struct ypi_relation_work w = {.input = input,
                                  .r = r,
                                  .relation = relation,
                                  .kind = ypi_relation_kind(relation),
                                  .findings = findings};
    free(r->reason);
    r->reason = NULL;
    work_out[relation->kind](&w);
    return r->reason == NULL;
}

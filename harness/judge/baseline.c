#include "harness/judge/baseline.h"

#include "harness/vocabulary/baseline.h"
#include "harness/vocabulary/budget.h"
#include "harness/vocabulary/kinds/kind.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static bool is_regression(const struct ypi_verdict *v)
{
    return ypi_budget_kind(v->budget->kind)->relative;
}

void ypi_judge_baseline(struct ypi_verdict *v, const struct ypi_judging *how)
{
    if (!is_regression(v))
        return;
    if (v->met == YPI_UNMEASURED)
        v->met = YPI_NOT_JUDGED;
    else if (how->baseline != YPI_BASELINE_JUDGE && v->met != YPI_NOT_JUDGED)
        v->met = YPI_RECORDED;
}

/* -- words --------------------------------------------------------------------------------- */

/* "0.21 of its ceiling now, 0.31 of its ceiling at 3f0a12c4e5 on 2026-11-28 (6 processes, 2
 * runs)". The caller frees. */
static char *both(const struct ypi_result *r, const struct ypi_verdict *v)
{
    const struct ypi_baseline *b = v->baseline;
    char now[128] = "-";
    for (int i = 0; i < r->measured_count; i++)
        if (strcmp(r->measured[i].name, b->name) == 0)
            ypi_baseline_figure(now, b,
                                b->of == YPI_BASELINE_SHARE ? r->measured[i].share_estimate.median
                                                            : r->measured[i].estimate.median);
    char *before = ypi_baseline_text(b);
    char *text = ypi_format("%s now, %s", now, before);
    free(before);
    return text;
}

void ypi_add_baseline(struct ypi_text *message, const struct ypi_result *r,
                      const struct ypi_verdict *v)
{
    if (!is_regression(v) || v->baseline == NULL)
        return;
    char *figures = both(r, v);
    char *id = ypi_shell_quote(r->c->id);
    ypi_text_add(message, "; %s", figures);
    if (*v->baseline->commit)
        ypi_text_add(message, "; make sure: yieldpoint gate --base %.10s %s", v->baseline->commit,
                     id);
    free(id);
    free(figures);
}

bool ypi_fails_already(const struct ypi_result *r, const struct ypi_verdict *regression)
{
    if (!is_regression(regression))
        return false;
    for (int i = 0; i < r->verdict_count; i++) {
        const struct ypi_verdict *v = &r->verdicts[i];
        if (v != regression && v->met == YPI_NOT_MET && ypi_budget_is_speed(v->budget->kind) &&
            strcmp(v->budget->name, regression->budget->name) == 0)
            return true;
    }
    return false;
}

static void note_verdict(struct ypi_result *r, const struct ypi_verdict *v)
{
    const double limit = v->budget->limit;
    char figure[128];
    char *figures = both(r, v);
    ypi_budget_figure(figure, v->budget, v->measured, "");
    if (v->met == YPI_UNDECIDED && isfinite(v->baseline->slower))
        ypi_result_note(r,
                        "'%s' is %s than its baseline, as this machine was before in the slower of "
                        "two states: %s",
                        v->budget->name, figure, figures);
    else if (v->met == YPI_RECORDED && v->low > limit)
        ypi_result_note(r, "'%s' is %s than its baseline: %s", v->budget->name, figure, figures);
    else if (v->met == YPI_MET && v->high < 1 / (1 + limit) - 1)
        ypi_result_note(
            r, "'%s' is %s than its baseline: %s; 'yieldpoint baseline --update' takes it over",
            v->budget->name, figure, figures);
    free(figures);
}

void ypi_note_baselines(struct ypi_result *r)
{
    for (int i = 0; i < r->verdict_count; i++)
        if (is_regression(&r->verdicts[i]) && r->verdicts[i].baseline != NULL)
            note_verdict(r, &r->verdicts[i]);
}

/* -- exact figures ------------------------------------------------------------------------- */

/* Callgrind counts the same program a little differently under another environment. */
#define SAME_COUNT 1e-3

static bool same_figure(const char *name, const char *a, const char *b)
{
    double x = 0;
    double y = 0;
    if (strcmp(a, b) == 0)
        return true;
    return strncmp(name, "instructions ", 13) == 0 && ypi_parse_double(a, &x) &&
           ypi_parse_double(b, &y) && fabs(x - y) <= SAME_COUNT * fabs(x);
}

static void compare_one(struct ypi_result *r, const struct ypi_judging *how,
                        const struct ypi_baseline *b)
{
    char *now = ypi_baseline_exact_text(r, b->name);
    if (now != NULL && !same_figure(b->name, b->exact, now)) {
        char *before = ypi_baseline_text(b);
        if (how->exact_fails && how->baseline == YPI_BASELINE_JUDGE)
            ypi_result_fail(r, YPI_CAUSE_BUDGET, NULL, 0, "%s changed: %s now, %s", b->name, now,
                            before);
        else
            ypi_result_note(r, "%s changed: %s now, %s", b->name, now, before);
        free(before);
    }
    free(now);
}

void ypi_compare_exact(struct ypi_result *r, const struct ypi_judging *how)
{
    const struct ypi_baselines *all = r->c->baselines;
    if (all == NULL || r->skipped || !r->ended || r->failure_count > 0 || r->fail_allocation != 0)
        return;
    for (int i = 0; i < all->count; i++)
        if (all->list[i].of == YPI_BASELINE_EXACT && all->list[i].seed == r->c->seed)
            compare_one(r, how, &all->list[i]);
}

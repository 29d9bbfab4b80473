#include "budget.h"

#include "figures.h"
#include "text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct kind {
    const char *name;
    bool at_least; /* else at most */
    bool speed;
} kinds[] = {
    [YP_BUDGET_NONE] = {"none", false, false},
    [YP_BUDGET_MIN_RATE] = {"min rate", true, true},
    [YP_BUDGET_MIN_FLOPS] = {"min flops", true, true},
    [YP_BUDGET_MIN_BANDWIDTH] = {"min bandwidth", true, true},
    [YP_BUDGET_MAX_LATENCY] = {"max latency", false, true},
    [YP_BUDGET_MAX_PEAK] = {"max peak", false, false},
    [YP_BUDGET_MAX_RESIDENT] = {"max resident", false, false},
    [YP_BUDGET_MAX_LEAK] = {"max leak", false, false},
    [YP_BUDGET_MAX_ALLOCATIONS] = {"max allocations", false, false},
    [YP_BUDGET_MIN_VALUE] = {"min value", true, false},
    [YP_BUDGET_MAX_VALUE] = {"max value", false, false},
    [YP_BUDGET_MAX_GRADIENT_ERROR] = {"max gradient error", false, false},
};

const char *ypi_budget_kind_name(enum yp_budget_kind kind)
{
    return kinds[kind].name;
}

bool ypi_budget_is_speed(enum yp_budget_kind kind)
{
    return kinds[kind].speed;
}

/* -- words -------------------------------------------------------------------------------- */

void ypi_budget_figure(char out[128], const struct yp_budget *budget, double value,
                       const char *unit)
{
    switch (budget->kind) {
    case YP_BUDGET_MIN_RATE:
        ypi_format_rate(out, value, unit);
        break;
    case YP_BUDGET_MIN_FLOPS:
        ypi_format_rate(out, value, "FLOP");
        break;
    case YP_BUDGET_MIN_BANDWIDTH:
        ypi_format_rate(out, value, "B");
        break;
    case YP_BUDGET_MAX_LATENCY:
        ypi_format_seconds(out, value);
        break;
    case YP_BUDGET_MAX_PEAK:
    case YP_BUDGET_MAX_RESIDENT:
    case YP_BUDGET_MAX_LEAK:
        ypi_format_bytes(out, value);
        break;
    case YP_BUDGET_MAX_ALLOCATIONS:
        snprintf(out, 128, "%.0f", value);
        break;
    default:
        ypi_format_value(out, value, unit);
    }
}

void ypi_budget_text(char out[256], const struct yp_budget *budget, const char *unit)
{
    static const char *const what[] = {
        [YP_BUDGET_MAX_PEAK] = "accounted at once",
        [YP_BUDGET_MAX_RESIDENT] = "resident growth",
        [YP_BUDGET_MAX_LEAK] = "left behind",
        [YP_BUDGET_MAX_ALLOCATIONS] = "allocations",
        [YP_BUDGET_MAX_GRADIENT_ERROR] = "gradient error of ",
    };
    char figure[128];
    ypi_budget_figure(figure, budget, budget->limit, unit);
    const char *side = kinds[budget->kind].at_least ? "at least" : "at most";
    if (budget->name != NULL)
        snprintf(out, 256, "%s%.64s %s %s",
                 budget->kind == YP_BUDGET_MAX_GRADIENT_ERROR ? what[budget->kind] : "",
                 budget->name, side, figure);
    else
        snprintf(out, 256, "%s memory: %s %s %s", budget->memory == YP_HOST ? "host" : "device",
                 side, figure, what[budget->kind]);
}

const char *ypi_budget_unit(const struct ypi_result *r, const struct yp_budget *budget)
{
    for (int i = 0; budget->name != NULL && i < r->measured_count; i++)
        if (strcmp(r->measured[i].name, budget->name) == 0)
            return r->measured[i].unit;
    for (int i = 0; budget->name != NULL && i < r->value_count; i++)
        if (strcmp(r->values[i].name, budget->name) == 0)
            return r->values[i].unit;
    return "";
}

/* -- verdicts ----------------------------------------------------------------------------- */

static void exact(struct ypi_verdict *v, double measured)
{
    v->measured = v->low = v->high = measured;
    bool good = kinds[v->budget->kind].at_least ? measured >= v->budget->limit
                                                : measured <= v->budget->limit;
    /* No figure at all is never good enough, not even an infinite one. */
    v->met = good && isfinite(measured) ? YPI_MET : YPI_NOT_MET;
}

/* The work of one iteration that a speed budget counts; 0: not declared. */
static double work_of(const struct ypi_measured *m, enum yp_budget_kind kind)
{
    return kind == YP_BUDGET_MIN_RATE    ? m->items
           : kind == YP_BUDGET_MIN_FLOPS ? m->flops
                                         : m->bytes;
}

static void speed(struct ypi_verdict *v, const struct ypi_measured *m, bool judged)
{
    const struct ypi_estimate *e = &m->estimate;
    if (m->count == 0)
        return;
    if (v->budget->kind == YP_BUDGET_MAX_LATENCY) {
        v->measured = e->median;
        v->low = e->low;
        v->high = e->high;
    } else {
        double work = work_of(m, v->budget->kind);
        if (work <= 0)
            return;
        v->measured = work / e->median;
        v->low = work / e->high;
        v->high = work / e->low;
    }
    bool at_least = kinds[v->budget->kind].at_least;
    bool inside = at_least ? v->low >= v->budget->limit : v->high <= v->budget->limit;
    bool outside = at_least ? v->high < v->budget->limit : v->low > v->budget->limit;
    if (!judged)
        v->met = YPI_RECORDED;
    else if (outside || !isfinite(v->measured))
        v->met = YPI_NOT_MET;
    else
        v->met = inside ? YPI_MET : YPI_UNDECIDED;
}

static void judge_one(struct ypi_result *r, struct ypi_verdict *v, bool speed_judged)
{
    const struct yp_budget *b = v->budget;
    const struct ypi_memory *m = &r->memory;
    if (kinds[b->kind].speed) {
        for (int i = 0; i < r->measured_count; i++)
            if (strcmp(r->measured[i].name, b->name) == 0)
                speed(v, &r->measured[i], speed_judged);
    } else if (b->kind == YP_BUDGET_MIN_VALUE || b->kind == YP_BUDGET_MAX_VALUE) {
        for (int i = 0; i < r->value_count; i++)
            if (strcmp(r->values[i].name, b->name) == 0)
                exact(v, r->values[i].value);
    } else if (b->kind == YP_BUDGET_MAX_GRADIENT_ERROR) {
        for (int i = 0; i < r->gradient_count; i++)
            if (!r->gradients[i].precision && strcmp(r->gradients[i].name, b->name) == 0)
                exact(v, r->gradients[i].error);
    } else if (r->has_memory && b->memory == YP_DEVICE && strncmp(r->c->device, "cuda", 4) != 0) {
        exact(v, 0); /* on the CPU there is no other memory to use */
    } else if (r->has_memory && b->memory == YP_HOST) {
        double used[] = {[YP_BUDGET_MAX_PEAK] = (double)m->host.allocated_peak,
                         [YP_BUDGET_MAX_RESIDENT] =
                             (double)m->resident_peak - (double)m->resident_before,
                         [YP_BUDGET_MAX_LEAK] = (double)m->leaked_bytes,
                         [YP_BUDGET_MAX_ALLOCATIONS] = (double)m->host.allocations};
        exact(v, used[b->kind]);
    }
    double beyond = (v->measured - b->limit) / fabs(b->limit);
    v->distance = b->limit == 0 ? NAN : kinds[b->kind].at_least ? beyond : -beyond;
}

static void fail_verdict(struct ypi_result *r, const struct ypi_verdict *v)
{
    char text[256];
    char measured[128];
    char low[128];
    char high[128];
    const char *unit = ypi_budget_unit(r, v->budget);
    ypi_budget_text(text, v->budget, unit);
    if (v->met == YPI_UNMEASURED) {
        ypi_result_fail(r, YPI_CAUSE_BUDGET, NULL, 0, "budget %s: the body never %s it%s", text,
                        kinds[v->budget->kind].speed ? "measured" : "told",
                        kinds[v->budget->kind].speed ? ", or declared no work for it" : "");
        return;
    }
    ypi_budget_figure(measured, v->budget, v->measured, unit);
    ypi_budget_figure(low, v->budget, v->low, unit);
    ypi_budget_figure(high, v->budget, v->high, unit);
    struct ypi_text message = {0};
    ypi_text_add(&message, "budget %s: %s%s", text, v->met == YPI_UNDECIDED ? "too noisy, " : "",
                 measured);
    if (kinds[v->budget->kind].speed)
        ypi_text_add(&message, " [%s, %s]", low, high);
    if (isfinite(v->distance))
        ypi_text_add(&message, ", %.3g %% %s the limit", fabs(v->distance) * 100,
                     (v->measured > v->budget->limit) ? "above" : "below");
    enum ypi_cause cause = v->budget->kind == YP_BUDGET_MAX_GRADIENT_ERROR ? YPI_CAUSE_GRADIENT
                           : v->budget->kind == YP_BUDGET_MAX_LEAK         ? YPI_CAUSE_LEAK
                                                                           : YPI_CAUSE_BUDGET;
    char *finished = ypi_text_take(&message);
    ypi_result_fail(r, cause, NULL, 0, "%s", finished);
    free(finished);
}

static bool has_leak_budget(const struct ypi_result *r)
{
    for (int i = 0; i < r->verdict_count; i++)
        if (r->verdicts[i].budget->kind == YP_BUDGET_MAX_LEAK &&
            r->verdicts[i].budget->memory == YP_HOST)
            return true;
    return false;
}

/* Checks and leaks are judged without a budget too. */
static void judge_undeclared(struct ypi_result *r)
{
    for (int i = 0; i < r->gradient_count; i++) {
        const struct ypi_gradient *g = &r->gradients[i];
        if (g->error <= g->limit)
            continue;
        if (g->precision)
            ypi_result_fail(r, YPI_CAUSE_GRADIENT, NULL, 0,
                            "precision of '%s': the error %.3g is %.3g times that of the plain "
                            "implementation (%.3g), at most %.3g times is allowed; worst at %s",
                            g->name, g->got, g->error, g->expected, g->limit, g->tensor);
        else
            ypi_result_fail(r, YPI_CAUSE_GRADIENT, NULL, 0,
                            "gradient '%s': relative error %.3g in tensor '%s', at most %.3g is "
                            "allowed: by differences %.9g, by the gradient %.9g (slope of the "
                            "remainder %.2f, 2 when right)",
                            g->name, g->error, g->tensor, g->limit, g->expected, g->got, g->slope);
    }
    if (r->has_memory && r->memory.leaked_bytes > 0 && !has_leak_budget(r)) {
        char bytes[YPI_FIGURE_MAX];
        ypi_format_bytes(bytes, (double)r->memory.leaked_bytes);
        ypi_result_fail(r, YPI_CAUSE_LEAK, NULL, 0,
                        "leaked %s of accounted memory in %llu allocation%s (yp_max_leak allows "
                        "some)",
                        bytes, (unsigned long long)r->memory.leaked_blocks,
                        r->memory.leaked_blocks > 1 ? "s" : "");
    }
}

static enum ypi_outcome outcome_of(struct ypi_result *r, const struct ypi_judging *how, bool noisy)
{
    const struct yp_case *c = r->c;
    if (c->xfail != NULL && !how->skipped) {
        free(r->reason);
        r->reason = ypi_strdup(c->xfail);
        if (r->failure_count > 0)
            return YPI_XFAILED;
        if (!c->test->xfail_strict)
            return YPI_XPASSED;
        ypi_result_fail(r, YPI_CAUSE_XPASS, c->test->file, c->test->line,
                        "passed, but is declared to fail (strict): %s", c->xfail);
        return YPI_FAILED;
    }
    if (r->failure_count > 0)
        return c->test->setup != NULL && r->body == 0 && r->ended ? YPI_ERROR : YPI_FAILED;
    if (how->skipped)
        return YPI_SKIPPED;
    return noisy ? YPI_NOISY : YPI_PASSED;
}

void ypi_judge(struct ypi_result *r, const struct ypi_judging *how)
{
    for (int i = 0; i < r->measured_count; i++)
        r->measured[i].estimate = ypi_estimate(r->measured[i].samples, r->measured[i].count);
    const struct yp_budget *budgets = r->c->test->budgets;
    while (r->verdict_count < YP_MAX_BUDGETS && budgets[r->verdict_count].kind != YP_BUDGET_NONE)
        r->verdict_count++;
    r->verdicts = ypi_calloc((size_t)r->verdict_count, sizeof *r->verdicts);
    bool noisy = false;
    for (int i = 0; i < r->verdict_count; i++) {
        struct ypi_verdict *v = &r->verdicts[i];
        *v = (struct ypi_verdict){.budget = &budgets[i],
                                  .met = YPI_UNMEASURED,
                                  .measured = NAN,
                                  .low = NAN,
                                  .high = NAN,
                                  .distance = NAN};
        judge_one(r, v, how->speed_judged);
        noisy = noisy || v->met == YPI_UNDECIDED;
    }
    /* A case that never came to its end has said why; its budgets are listed as not measured. */
    bool whole = !how->skipped && r->ended && r->failure_count == 0;
    for (int i = 0; i < r->verdict_count; i++) {
        enum ypi_met met = r->verdicts[i].met;
        if (met == YPI_NOT_MET && budgets[i].kind == YP_BUDGET_MAX_GRADIENT_ERROR)
            continue; /* told with its tensor and direction, below */
        if (met == YPI_NOT_MET || (met == YPI_UNMEASURED && whole) ||
            (met == YPI_UNDECIDED && how->noisy_fails))
            fail_verdict(r, &r->verdicts[i]);
    }
    judge_undeclared(r);
    r->outcome = outcome_of(r, how, noisy);
}

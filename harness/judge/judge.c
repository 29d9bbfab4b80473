/* Verdicts of all budgets together: what they mean for the case. */
#include "harness/judge/judge.h"

#include "base/system/clock.h"
#include "base/text/figures.h"
#include "base/text/text.h"
#include "harness/judge/baseline.h"
#include "harness/measure/count/counters.h"
#include "harness/measure/noise.h"
#include "harness/vocabulary/audit.h"
#include "harness/vocabulary/budget.h"
#include "harness/vocabulary/kinds/kind.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Nobody who shares processors makes work so many times slower, sample after sample; unless a
 * sample is shorter than what another gets at a time: a few slices of the scheduler, for threads
 * that wait for each other. */
#define MAX_CROWDED 100
#define TURN_SECONDS 25e-3

/* `stretch`: what a hypervisor or a quota took comes on top; a quota may leave a thousandth. */
static bool beyond_crowding(const struct ypi_verdict *v, double stretch)
{
    double ratio = v->measured / v->budget->limit;
    return fmax(ratio, 1 / ratio) > MAX_CROWDED * stretch;
}

static bool outlasts_turns(const struct ypi_measured *m)
{
    return m->estimate.median * (double)m->batch > TURN_SECONDS;
}

/* Others slow down what runs by sharing its caches, memory and cores: at most so many times. */
#define MAX_CONTENDED 4

/* Whether the processor time that the work itself used is too long for the budget. Others can take
 * processors away, which adds none to it. Work of several threads or ranks may use processors while
 * it waits for a part of it that has none. */
static bool is_slow_by_itself(const struct ypi_result *r, const struct ypi_verdict *v,
                              const struct ypi_measured *m)
{
    const struct ypi_budget_kind *k = ypi_budget_kind(v->budget->kind);
    const double limit = v->budget->limit;
    const double own = m->cpu_estimate.count > 0 ? m->cpu_estimate.low : 0;
    const double allowed = k->at_least ? m->estimate.median * v->measured / limit : limit;
    return m->threads == 1 && ypi_ranks(r->c) == 1 && !ypi_on_accelerator(r->c) && !k->relative &&
           own > MAX_CONTENDED * ypi_noise_stretch(&m->noise) * allowed;
}

/* Too fast for any processor, however busy the machine was that its ceiling was probed on. */
static bool is_too_fast(const struct ypi_verdict *v, const struct ypi_measured *m)
{
    return ypi_speed_is_impossible(m, v->budget->kind) &&
           (m->estimate.median < YPI_IMPOSSIBLE_SECONDS ||
            beyond_crowding(v, ypi_noise_stretch(&m->noise)));
}

/* Of what a relation finds: an exponent or an order is no multiple of its limit. */
static bool is_multiple(const char *value)
{
    return strcmp(value, "ratio") == 0 || strcmp(value, "efficiency") == 0;
}

/* Work that had to share its processors or was held back may pass; that it is slow proves nothing,
 * unless it is so beyond all sharing. */
static void excuse_crowded(const struct ypi_result *r, struct ypi_verdict *v)
{
    if (v->met != YPI_NOT_MET)
        return;
    for (int i = 0; i < r->measured_count && ypi_budget_is_speed(v->budget->kind); i++) {
        const struct ypi_measured *m = &r->measured[i];
        if (strcmp(m->name, v->budget->name) == 0 && ypi_noise_crowded(&m->noise, m->threads) &&
            !(beyond_crowding(v, ypi_noise_stretch(&m->noise)) && outlasts_turns(m)) &&
            !is_slow_by_itself(r, v, m) && !is_too_fast(v, m))
            v->met = YPI_UNDECIDED;
    }
    /* Of a relation. */
    for (int i = 0; i < r->value_count; i++)
        if (r->values[i].crowded && !(is_multiple(r->values[i].name) && beyond_crowding(v, 1)))
            v->met = YPI_UNDECIDED;
}

static bool not_judged(const struct yp_case *c, enum yp_budget_kind kind,
                       const struct ypi_judging *how)
{
    const int unjudged = ypi_budget_kind(kind)->unjudged;
    return (how->instructions && (unjudged & YPI_WHEN_COUNTING) != 0) ||
           (how->sanitized && (unjudged & YPI_WHEN_SANITIZED) != 0 && c->test->command == NULL) ||
           (how->once && (unjudged & YPI_WHEN_ONCE) != 0);
}

void ypi_judge_budgets(struct ypi_result *r, const struct ypi_judging *how)
{
    for (int i = 0; i < r->measured_count; i++) {
        struct ypi_measured *m = &r->measured[i];
        m->estimate = ypi_estimate(m->samples, m->count);
        m->cpu_estimate = ypi_estimate(m->cpu, m->cpu != NULL ? m->count : 0);
        m->share_estimate = ypi_estimate(m->shares, m->share_count);
    }
    const struct yp_budget *b = NULL;
    r->verdict_count = 0;
    r->verdicts = ypi_calloc(YPI_MAX_BUDGETS, sizeof *r->verdicts);
    for (int next = 0; (b = ypi_next_budget(r->c, &next)) != NULL;) {
        struct ypi_verdict *v = &r->verdicts[r->verdict_count++];
        *v = ypi_budget_judge(r, b, how->speed_judged && !r->crowded);
        excuse_crowded(r, v);
        ypi_judge_baseline(v, how);
        if (not_judged(r->c, b->kind, how))
            v->met = isnan(v->measured) ? YPI_NOT_JUDGED : YPI_RECORDED;
    }
}

/* -- confirmation by fresh processes -------------------------------------------------------- */

/* Made of times, as what a relation finds may be. */
static bool is_of_speed(const struct ypi_result *r, const struct yp_budget *b)
{
    const struct ypi_budget_kind *k = ypi_budget_kind(b->kind);
    for (int i = 0; k->value != NULL && i < r->value_count; i++)
        if (strcmp(r->values[i].name, b->name) == 0)
            return r->values[i].of_speed;
    return k->speed;
}

/* Whether another process could say otherwise: of the machine's state as much as of the case. */
static bool in_question(const struct ypi_result *r, const struct ypi_verdict *v)
{
    if (ypi_budget_kind(v->budget->kind)->confirmed)
        return v->met == YPI_NOT_MET;
    return is_of_speed(r, v->budget) && (v->met == YPI_NOT_MET || v->met == YPI_UNDECIDED);
}

/* The verdict of all of them on one budget; undecided when they differ. */
static enum ypi_met common_verdict(const struct ypi_result *others, int count, int budget)
{
    enum ypi_met all = YPI_UNDECIDED;
    for (int i = 0; i < count; i++) {
        enum ypi_met met = others[i].verdicts[budget].met;
        if (i > 0 && met != all)
            return YPI_UNDECIDED;
        all = met;
    }
    return all == YPI_MET || all == YPI_NOT_MET ? all : YPI_UNDECIDED;
}

bool ypi_needs_confirmation(const struct ypi_result *r, const struct ypi_judging *how,
                            const struct ypi_result *others, int count)
{
    if (!r->ended || r->failure_count > 0 || r->skipped || count >= how->confirmations)
        return false;
    for (int i = 0; i < r->verdict_count; i++) {
        const struct ypi_verdict *v = &r->verdicts[i];
        if (!in_question(r, v))
            continue;
        enum ypi_met all = common_verdict(others, count, i);
        if (count == 0 || all == YPI_NOT_MET || (all == YPI_MET && v->met == YPI_UNDECIDED))
            return true;
    }
    return false;
}

/* A budget is not met when this process and all the fresh ones say so; an undecided one is what all
 * the fresh ones say. */
static void merge(struct ypi_result *r, const struct ypi_judging *how,
                  const struct ypi_result *others, int count)
{
    for (int i = 0; i < r->verdict_count; i++) {
        struct ypi_verdict *v = &r->verdicts[i];
        if (!in_question(r, v) || how->confirmations == 0)
            continue;
        enum ypi_met all =
            count == how->confirmations ? common_verdict(others, count, i) : YPI_UNDECIDED;
        v->asked = count;
        for (int k = 0; k < count; k++)
            v->confirmed += others[k].verdicts[i].met == YPI_NOT_MET;
        v->met = all == YPI_NOT_MET || v->met == YPI_UNDECIDED ? all : YPI_UNDECIDED;
    }
}

/* What else befell a fresh process is not lost; nor that one gave no answer. */
static void take_failures(struct ypi_result *r, const struct ypi_result *others, int count)
{
    const char *what = ypi_is_relation(r->c) ? "round" : "process";
    for (int k = 0; k < count; k++) {
        if (others[k].skipped)
            ypi_result_note(r, "a fresh %s skipped: %s", what,
                            others[k].reason != NULL ? others[k].reason : "");
        for (int i = 0; i < others[k].failure_count; i++)
            if (others[k].failures[i].cause != YPI_CAUSE_BUDGET)
                ypi_result_fail(r, others[k].failures[i].cause, others[k].failures[i].file,
                                others[k].failures[i].line, "in fresh %s %d: %s", what,
                                others[k].attempt, others[k].failures[i].message);
    }
}

/* -- what it means ------------------------------------------------------------------------- */

static bool is_impossible(const struct ypi_result *r, const struct yp_budget *budget)
{
    for (int i = 0; i < r->measured_count && ypi_budget_is_speed(budget->kind); i++)
        if (strcmp(r->measured[i].name, budget->name) == 0)
            return ypi_speed_is_impossible(&r->measured[i], budget->kind);
    return false;
}

static void fail_verdict(struct ypi_result *r, const struct ypi_verdict *v)
{
    char text[256];
    char measured[128];
    char low[128];
    char high[128];
    const char *unit = ypi_budget_unit(r, v->budget);
    const struct ypi_budget_kind *k = ypi_budget_kind(v->budget->kind);
    ypi_budget_text(text, v->budget, unit);
    if (v->met == YPI_UNMEASURED) {
        ypi_result_fail(r, YPI_CAUSE_BUDGET, NULL, 0, "budget %s: the body never %s it%s", text,
                        k->speed ? "measured" : "told",
                        k->speed ? ", or declared no work for it" : "");
        return;
    }
    ypi_budget_figure(measured, v->budget, v->measured, unit);
    ypi_budget_figure(low, v->budget, v->low, unit);
    ypi_budget_figure(high, v->budget, v->high, unit);
    struct ypi_text message = {0};
    const char *why = v->met != YPI_UNDECIDED ? ""
                      : k->undecided != NULL  ? k->undecided
                                              : "too noisy, ";
    ypi_text_add(&message, "budget %s: %s%s", text, why, measured);
    if (v->low < v->high || (isnan(v->low) && k->speed))
        ypi_text_add(&message, " [%s, %s]", low, high);
    if (is_impossible(r, v->budget))
        ypi_text_add(&message, ", more than there is: the declared work was not done");
    else if (isfinite(v->distance)) {
        char percent[YPI_FIGURE_MAX];
        ypi_format_percent(percent, fabs(v->distance), 3);
        ypi_text_add(&message, ", %s %s the limit", percent,
                     (v->measured > v->budget->limit) ? "above" : "below");
    }
    if (v->asked > 0)
        ypi_text_add(&message, "; %d of %d fresh %s say so too", v->confirmed, v->asked,
                     ypi_is_relation(r->c) ? "rounds" : "processes");
    if (v->budget->kind == YP_BUDGET_MAX_LEAK && v->budget->memory == YP_HEAP)
        ypi_text_add(&message, "; %llu block%s, the first of %llu bytes",
                     (unsigned long long)r->memory.heap_leaked_blocks,
                     r->memory.heap_leaked_blocks > 1 ? "s" : "",
                     (unsigned long long)r->memory.heap_leak_bytes);
    ypi_add_baseline(&message, r, v);
    char *finished = ypi_text_take(&message);
    ypi_result_fail(r, k->cause != 0 ? k->cause : YPI_CAUSE_BUDGET, NULL, 0, "%s", finished);
    if (v->budget->kind == YP_BUDGET_MAX_LEAK && v->budget->memory == YP_HEAP) {
        r->failures[r->failure_count - 1].stack = r->leak_stack;
        r->leak_stack = NULL;
    }
    free(finished);
}

static bool has_leak_budget(const struct ypi_result *r, enum yp_memory_kind memory)
{
    for (int i = 0; i < r->verdict_count; i++)
        if (r->verdicts[i].budget->kind == YP_BUDGET_MAX_LEAK &&
            r->verdicts[i].budget->memory == memory)
            return true;
    return false;
}

static void judge_leak(struct ypi_result *r, enum yp_memory_kind memory, uint64_t leaked,
                       uint64_t blocks)
{
    if (leaked == 0 || has_leak_budget(r, memory))
        return;
    char bytes[YPI_FIGURE_MAX];
    ypi_format_bytes(bytes, (double)leaked);
    ypi_result_fail(r, YPI_CAUSE_LEAK, NULL, 0,
                    "leaked %s of accounted %smemory in %llu allocation%s (yp_max_leak allows "
                    "some)",
                    bytes, memory == YP_DEVICE ? "device " : "", (unsigned long long)blocks,
                    blocks > 1 ? "s" : "");
}

/* "; f leaves y[3] unwritten": why a gradient's error is what it is. */
static void finding_text(char out[160], const struct ypi_gradient *g)
{
    static const struct {
        const char *array; /* that the index is of; NULL: there is none */
        const char *text;
    } findings[] = {
        [YP_GRADIENT_NOTHING] = {NULL, ""},
        [YP_GRADIENT_X_NOT_FINITE] = {"x", " is not finite"},
        [YP_GRADIENT_F_NOT_FINITE] = {"y", " of f is not finite"},
        [YP_GRADIENT_F_UNWRITTEN] = {"y", " is left unwritten by f, or added to what was there"},
        [YP_GRADIENT_F_OUTSIDE] = {NULL, "f writes outside of its outputs"},
        [YP_GRADIENT_VJP_NOT_FINITE] = {"g", " of the vector-Jacobian product is not finite"},
        [YP_GRADIENT_VJP_UNWRITTEN] = {"g", " is left unwritten by the vector-Jacobian product, or "
                                            "added to what was there"},
        [YP_GRADIENT_VJP_OUTSIDE] = {NULL, "the vector-Jacobian product writes outside of g"},
        [YP_GRADIENT_KINK] = {NULL, "f has a kink at x: its slopes on both sides differ, however "
                                    "small the step"},
        [YP_GRADIENT_IN_FLOAT] = {NULL, "f computes in float, and the differences show its "
                                        "rounding: the check needs double"},
    };
    out[0] = '\0';
    if (g->finding <= YP_GRADIENT_NOTHING || g->finding > YP_GRADIENT_IN_FLOAT)
        return;
    const char *array = findings[g->finding].array;
    if (array != NULL)
        snprintf(out, 160, "; %s[%zu]%s", array, g->index, findings[g->finding].text);
    else
        snprintf(out, 160, "; %s", findings[g->finding].text);
}

/* Checks and leaks are judged without a budget too. `left`: see ypi_conclude(). */
static void judge_undeclared(struct ypi_result *r, bool left)
{
    for (int i = 0; i < r->gradient_count; i++) {
        const struct ypi_gradient *g = &r->gradients[i];
        if (g->error <= g->limit)
            continue;
        char finding[160];
        finding_text(finding, g);
        if (g->precision)
            ypi_result_fail(r, YPI_CAUSE_GRADIENT, NULL, 0,
                            "precision of '%s': the error %.3g is %.3g times that of the plain "
                            "implementation (%.3g), at most %.3g times is allowed; worst at %s",
                            g->name, g->got, g->error, g->expected, g->limit, g->tensor);
        else
            ypi_result_fail(r, YPI_CAUSE_GRADIENT, NULL, 0,
                            "gradient '%s': relative error %.3g in tensor '%s', at most %.3g is "
                            "allowed: by differences %.9g, by the gradient %.9g (slope of the "
                            "remainder %.2f, 2 when right)%s",
                            g->name, g->error, g->tensor, g->limit, g->expected, g->got, g->slope,
                            finding);
    }
    const struct ypi_memory *m = &r->memory;
    if (r->has_memory && !left)
        judge_leak(r, YP_HOST, m->leaked_bytes, m->leaked_blocks);
    if (r->has_memory && !left && m->has_device)
        judge_leak(r, YP_DEVICE, m->device.allocated, m->device.allocations - m->device.frees);
}

static bool audited(const struct ypi_result *r)
{
    for (int i = 0; i < r->measured_count; i++)
        if (ypi_audited(&r->measured[i]))
            return true;
    return false;
}

/* The caller frees it. */
static char *why_absent(const struct ypi_result *r, const struct yp_budget *b)
{
    const struct ypi_budget_kind *k = ypi_budget_kind(b->kind);
    bool count = k->detail == YPI_COUNTER;
    if (k->of_ceiling)
        return ypi_strdup("no ceiling of it could be probed on the device");
    if (count && b->counter >= YP_GPU_FP64)
        return ypi_strdup(audited(r) ? "this device has no metric of it"
                                     : "it is counted under --audit, by CUPTI");
    if (audited(r))
        return ypi_strdup("under --audit only the device counts");
    const char *why = ypi_counters_absent();
    return ypi_format(
        "%s%s", why[0] != '\0' ? why : "Callgrind does not count it",
        count && b->counter == YP_INSTRUCTIONS ? "; --instructions counts them by Callgrind" : "");
}

/* Whether a budget is on a counter that is not there: the case has then not shown what it promised,
 * and says which. */
static bool absent(struct ypi_result *r)
{
    for (int i = 0; i < r->verdict_count; i++) {
        if (r->verdicts[i].met != YPI_ABSENT)
            continue;
        char text[256];
        ypi_budget_text(text, r->verdicts[i].budget, "");
        free(r->reason);
        char *why = why_absent(r, r->verdicts[i].budget);
        r->reason = ypi_format("budget %s cannot be judged: %s", text, why);
        free(why);
        return true;
    }
    return false;
}

static enum ypi_outcome outcome_of(struct ypi_result *r, bool noisy)
{
    const struct yp_case *c = r->c;
    bool open = r->failure_count == 0 && !r->skipped;
    if (open && absent(r))
        return YPI_SKIPPED;
    if (open && noisy)
        return YPI_NOISY;
    if (c->xfail != NULL && !r->skipped) {
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
    if (r->failure_count > 0 && r->failures[0].cause == YPI_CAUSE_FIXTURE)
        return YPI_ERROR;
    if (r->failure_count > 0)
        return c->test->setup != NULL && r->body == 0 && r->ended ? YPI_ERROR : YPI_FAILED;
    return r->skipped ? YPI_SKIPPED : YPI_PASSED;
}

/* What explains a verdict, or contradicts a declaration. */
static void add_notes(struct ypi_result *r, bool noisy)
{
    char sentence[256];
    for (int i = 0; i < r->verdict_count; i++)
        if (r->verdicts[i].met == YPI_UNDECIDED && r->verdicts[i].asked == 0 &&
            (r->verdicts[i].budget->kind == YP_BUDGET_MAX_RESIDENT ||
             r->verdicts[i].budget->kind == YP_BUDGET_MAX_RESIDENT_TREE)) {
            ypi_format_bytes(sentence, (double)r->memory.resident_huge);
            ypi_result_note(r,
                            "%s of what is resident may be unused: this kernel gives huge pages "
                            "unasked (transparent_hugepage/enabled: always)",
                            sentence);
        }
    for (int i = 0; i < r->measured_count; i++) {
        const struct ypi_measured *m = &r->measured[i];
        /* What is counted is done by the processor; an accelerator's work is not. */
        if (!ypi_on_accelerator(r->c) && ypi_counts_contradict(m, sentence, sizeof sentence))
            ypi_result_note(r, "'%s' %s", m->name, sentence);
        if (ypi_audited(m) && ypi_audit_contradicts(m, sentence, sizeof sentence))
            ypi_result_note(r, "'%s' %s", m->name, sentence);
        if (ypi_audited(m) && ypi_audit_missing(m, sentence, sizeof sentence))
            ypi_result_note(r, "'%s': this device has no metric of %s", m->name, sentence);
        if (m->count > 0 && m->estimate.median < YPI_IMPOSSIBLE_SECONDS)
            ypi_result_note(r,
                            "'%s' takes no time: the compiler has removed the work; yp_keep() what "
                            "it computes",
                            m->name);
        double half = (m->estimate.high - m->estimate.low) / 2 / m->estimate.median;
        bool wide = noisy || r->failure_count > 0 || half > 0.05;
        if (m->count > 1 && wide &&
            ypi_noise_cause(&m->noise, m->threads, sentence, sizeof sentence))
            ypi_result_note(r, "'%s' was disturbed: %s", m->name, sentence);
    }
}

/* A body that failed or skipped may have left before it freed: that is no second fault. What is
 * found once a body is over says nothing of where it left. */
static bool body_failed(const struct ypi_result *r)
{
    for (int i = 0; i < r->failure_count; i++) {
        const enum ypi_cause cause = r->failures[i].cause;
        if (cause != YPI_CAUSE_LEAK && cause != YPI_CAUSE_DESCRIPTORS && cause != YPI_CAUSE_ORPHANS)
            return true;
    }
    return false;
}

void ypi_conclude(struct ypi_result *r, const struct ypi_judging *how,
                  const struct ypi_result *others, int count)
{
    bool noisy = false;
    const bool left = r->skipped || body_failed(r);
    take_failures(r, others, count);
    merge(r, how, others, count);
    /* A case that never came to its end has said why; its budgets are listed as not measured. */
    bool whole = !r->skipped && r->ended && r->failure_count == 0;
    for (int i = 0; i < r->verdict_count; i++) {
        struct ypi_verdict *v = &r->verdicts[i];
        const enum ypi_cause cause = ypi_budget_kind(v->budget->kind)->cause;
        if (left && v->met == YPI_NOT_MET && cause == YPI_CAUSE_LEAK)
            v->met = YPI_UNMEASURED;
        noisy = noisy || v->met == YPI_UNDECIDED;
        if (v->met == YPI_NOT_MET && cause == YPI_CAUSE_GRADIENT)
            continue; /* reported with its tensor and direction, below */
        if (v->met == YPI_NOT_MET && ypi_fails_already(r, v))
            continue;
        if (v->met == YPI_NOT_MET || (v->met == YPI_UNMEASURED && whole) ||
            (v->met == YPI_UNDECIDED && how->noisy_fails))
            fail_verdict(r, v);
    }
    judge_undeclared(r, left);
    ypi_compare_exact(r, how);
    add_notes(r, noisy);
    ypi_note_baselines(r);
    r->outcome = outcome_of(r, noisy);
}

void ypi_judge(struct ypi_result *r, const struct ypi_judging *how)
{
    struct ypi_judging once = *how;
    once.confirmations = 0;
    ypi_judge_budgets(r, &once);
    ypi_conclude(r, &once, NULL, 0);
}

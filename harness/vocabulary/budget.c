#include "harness/vocabulary/budget.h"

#include "base/numbers/slack.h"
#include "base/system/clock.h"
#include "base/text/figures.h"
#include "device/ceiling/ceiling.h"
#include "harness/vocabulary/kinds/kind.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define ENTRY(name) name,
static const struct ypi_budget_kind *const families[] = {YPI_BUDGET_FAMILIES(ENTRY)};

static const struct ypi_budget_kind none = {.name = "none"};

const struct ypi_budget_kind *ypi_budget_kind(enum yp_budget_kind kind)
{
    for (size_t i = 0; i < sizeof families / sizeof *families; i++)
        for (const struct ypi_budget_kind *k = families[i]; k->name != NULL; k++)
            if (k->kind == kind)
                return k;
    return &none;
}

const struct ypi_budget_kind *ypi_budget_kind_at(const char *text)
{
    const struct ypi_budget_kind *found = &none;
    size_t longest = 0;
    for (int kind = YP_BUDGET_NONE + 1; kind < YP_BUDGET_FOR_DEVICE; kind++) {
        const struct ypi_budget_kind *k = ypi_budget_kind((enum yp_budget_kind)kind);
        const size_t length = strlen(k->name);
        if (length > longest && strncmp(text, k->name, length) == 0 &&
            strchr(" ", text[length]) != NULL) {
            found = k;
            longest = length;
        }
    }
    return found;
}

const struct yp_budget *ypi_next_budget(const struct yp_case *c, int *next)
{
    const struct yp_budget *b = c->budgets != NULL ? &c->budgets[*next] : NULL;
    if (b == NULL || b->kind == YP_BUDGET_NONE)
        return NULL;
    ++*next;
    return b;
}

const struct yp_budget *ypi_budget_of(const struct yp_case *c, enum yp_budget_kind kind,
                                      const char *name)
{
    const struct yp_budget *b = NULL;
    for (int next = 0; (b = ypi_next_budget(c, &next)) != NULL;)
        if (b->kind == kind && strcmp(b->name, name) == 0)
            break;
    return b;
}

const char *ypi_budget_kind_name(enum yp_budget_kind kind)
{
    return ypi_budget_kind(kind)->name;
}

bool ypi_budget_is_mark(enum yp_budget_kind kind)
{
    return kind >= YP_BUDGET_FOR_DEVICE;
}

static bool same_text(const char *a, const char *b)
{
    return a == NULL || b == NULL ? a == b : strcmp(a, b) == 0;
}

bool ypi_budget_same(const struct yp_budget *a, const struct yp_budget *b)
{
    return a->kind == b->kind && a->memory == b->memory && a->counter == b->counter &&
           a->quantile == b->quantile && same_text(a->name, b->name);
}

static const char *const memories[] = {
    [YP_HOST] = "host", [YP_DEVICE] = "device", [YP_HEAP] = "heap"};

const char *ypi_memory_name(enum yp_memory_kind memory)
{
    return memories[memory];
}

bool ypi_memory_of_name(enum yp_memory_kind *out, const char *name)
{
    for (int i = YP_HOST; i <= YP_HEAP; i++)
        if (strcmp(name, memories[i]) == 0) {
            *out = (enum yp_memory_kind)i;
            return true;
        }
    return false;
}

bool ypi_budget_is_speed(enum yp_budget_kind kind)
{
    return ypi_budget_kind(kind)->speed;
}

/* -- words -------------------------------------------------------------------------------- */

void ypi_budget_figure(char out[128], const struct yp_budget *budget, double value,
                       const char *unit)
{
    const struct ypi_budget_kind *k = ypi_budget_kind(budget->kind);
    const char *of = k->unit != NULL ? k->unit : unit;
    if (k->figure != NULL)
        k->figure(out, value);
    else if (k->rate)
        ypi_format_rate(out, value, of);
    else if (strcmp(of, "B") == 0)
        ypi_format_bytes(out, value);
    else
        ypi_format_value(out, value, of);
}

bool ypi_budget_detail(char out[YPI_DETAIL_MAX], const struct yp_budget *budget)
{
    const enum ypi_budget_detail detail = ypi_budget_kind(budget->kind)->detail;
    *out = '\0';
    if (detail == YPI_COUNTER)
        snprintf(out, YPI_DETAIL_MAX, "%s", ypi_counter_name(budget->counter));
    else if (detail == YPI_QUANTILE)
        snprintf(out, YPI_DETAIL_MAX, "p%g", 100 * budget->quantile);
    return *out != '\0';
}

void ypi_budget_text(char out[256], const struct yp_budget *budget, const char *unit)
{
    const struct ypi_budget_kind *k = ypi_budget_kind(budget->kind);
    const char *side = k->at_least ? "at least" : "at most";
    char figure[128] = "";
    char detail[YPI_DETAIL_MAX];
    const bool more = ypi_budget_detail(detail, budget);
    ypi_budget_figure(figure, budget, budget->limit, unit);
    if (k->phrase != NULL)
        snprintf(out, 256, "%s %s", k->phrase, figure);
    else if (budget->name != NULL)
        snprintf(out, 256, "%s%.64s%s%s%s %s %s", k->before != NULL ? k->before : "", budget->name,
                 more ? " " : "", detail, k->of != NULL ? k->of : "", side, figure);
    else
        snprintf(out, 256, "%s memory: %s %s %s", ypi_memory_name(budget->memory), side, figure,
                 budget->memory == YP_HEAP && k->of_heap != NULL ? k->of_heap : k->of);
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

/* -- slack -------------------------------------------------------------------------------- */

/* A slowdown that every suite should see; of other things, between machines and instruction sets
 * errors differ by less. */
#define LOOSE_SPEED 3
#define LOOSE 10

double ypi_budget_slack(const struct yp_budget *budget, double measured)
{
    const struct ypi_budget_kind *k = ypi_budget_kind(budget->kind);
    double slack = ypi_slack(budget->limit, measured, k->at_least);
    bool ratio = measured > 0 && budget->limit > 0 && !k->ordinal && !k->relative;
    return ratio && isfinite(slack) ? slack : NAN;
}

bool ypi_slack_is_loose(const struct yp_budget *budget, double slack)
{
    return budget->required == NULL &&
           slack > (ypi_budget_is_speed(budget->kind) ? LOOSE_SPEED : LOOSE);
}

/* -- verdicts ----------------------------------------------------------------------------- */

void ypi_verdict_exact(struct ypi_verdict *v, double measured)
{
    v->measured = v->low = v->high = measured;
    bool good = ypi_budget_kind(v->budget->kind)->at_least ? measured >= v->budget->limit
                                                           : measured <= v->budget->limit;
    v->met = good ? YPI_MET : YPI_NOT_MET;
}

void ypi_verdict_between(struct ypi_verdict *v, double measured, double low, double high)
{
    v->measured = measured;
    v->low = low;
    v->high = high;
    bool at_least = ypi_budget_kind(v->budget->kind)->at_least;
    bool inside = at_least ? low >= v->budget->limit : high <= v->budget->limit;
    bool outside = at_least ? high < v->budget->limit : low > v->budget->limit;
    v->met = outside || !isfinite(measured) ? YPI_NOT_MET : inside ? YPI_MET : YPI_UNDECIDED;
}

/* Above it a share is of work that was not done. Below, honest work may be above its ceiling: bytes
 * of which a part is in a nearer cache than the footprint says, or an algorithm with fewer
 * operations than the declared one (Winograd's has a quarter of a convolution's). */
#define IMPOSSIBLE_SHARE 4

bool ypi_speed_is_impossible(const struct ypi_measured *m, enum yp_budget_kind kind)
{
    return (m->count > 0 && m->estimate.median < YPI_IMPOSSIBLE_SECONDS) ||
           (ypi_budget_kind(kind)->of_ceiling && m->share_estimate.count > 0 &&
            m->share_estimate.low > IMPOSSIBLE_SHARE);
}

void ypi_budget_judge_speed(struct ypi_verdict *v, const struct ypi_measured *m)
{
    if (!ypi_is_timed(m->kind)) {
        v->met = YPI_NOT_JUDGED;
        return;
    }
    const struct ypi_budget_kind *k = ypi_budget_kind(v->budget->kind);
    if (m->count == 0 || k->measured == NULL)
        return;
    k->measured(v, m);
    if (v->met == YPI_MET && ypi_speed_is_impossible(m, v->budget->kind))
        v->met = YPI_NOT_MET;
}

/* One rank, with no other work than an exchange, has nothing that bounds it. */
static bool exchanges_alone(const struct ypi_measured *m)
{
    bool alone = false;
    for (int i = 0; i < YPI_BOUNDS; i++) {
        const struct ypi_ceiling *b = &m->bounds[i];
        if (b->work > 0)
            return false;
        alone = alone || (ypi_is_exchange(b->ceiling) && b->footprint > 0);
    }
    return alone;
}

static void judge_measured(const struct ypi_budget_kind *k, const struct ypi_result *r,
                           struct ypi_verdict *v, bool judged)
{
    for (int i = 0; i < r->measured_count; i++) {
        const struct ypi_measured *m = &r->measured[i];
        if (strcmp(m->name, v->budget->name) != 0)
            continue;
        if (!k->speed) {
            k->measured(v, m);
            continue;
        }
        if (k->of_ceiling && ypi_is_timed(m->kind) && exchanges_alone(m)) {
            v->met = YPI_NOT_JUDGED;
            continue;
        }
        if (k->of_ceiling && ypi_is_timed(m->kind) && ypi_on_accelerator(r->c) && m->bound < 0) {
            v->met = YPI_ABSENT;
            continue;
        }
        ypi_budget_judge_speed(v, m);
        if (!judged && v->met != YPI_UNMEASURED && v->met != YPI_NOT_JUDGED)
            v->met = YPI_RECORDED;
    }
}

static void judge_value(const struct ypi_budget_kind *k, const struct ypi_result *r,
                        struct ypi_verdict *v, bool judged)
{
    for (int i = 0; i < r->value_count; i++) {
        const struct ypi_value *value = &r->values[i];
        if (strcmp(value->name, v->budget->name) != 0)
            continue;
        if (!value->of_speed) {
            ypi_verdict_exact(v, value->value);
            continue;
        }
        k->value(v, value);
        if (!judged)
            v->met = YPI_RECORDED;
    }
}

static void judge_gradient(const struct ypi_result *r, struct ypi_verdict *v)
{
    for (int i = 0; i < r->gradient_count; i++)
        if (!r->gradients[i].precision && strcmp(r->gradients[i].name, v->budget->name) == 0)
            ypi_verdict_exact(v, r->gradients[i].error);
}

static void judge_memory(const struct ypi_budget_kind *k, const struct ypi_result *r,
                         struct ypi_verdict *v)
{
    const struct ypi_memory *m = &r->memory;
    bool device = v->budget->memory == YP_DEVICE;
    if (v->budget->memory == YP_HEAP) {
        if (r->has_memory && m->has_heap)
            k->memory(v, m, &m->heap);
        else if (r->has_memory)
            v->met = YPI_NOT_JUDGED;
        return;
    }
    if (r->has_memory && (!device || m->has_device))
        k->memory(v, m, device ? &m->device : &m->host);
    else if (r->has_memory && !ypi_on_accelerator(r->c))
        ypi_verdict_exact(v, 0); /* on the CPU there is no other memory to use */
}

static void judge_one(const struct ypi_result *r, struct ypi_verdict *v, bool speed_judged)
{
    const struct yp_budget *b = v->budget;
    const struct ypi_budget_kind *k = ypi_budget_kind(b->kind);
    if (k->measured != NULL)
        judge_measured(k, r, v, speed_judged);
    else if (k->value != NULL)
        judge_value(k, r, v, speed_judged);
    else if (k->gradient)
        judge_gradient(r, v);
    else if (k->memory != NULL)
        judge_memory(k, r, v);
    double beyond = (v->measured - b->limit) / fabs(b->limit);
    v->distance = b->limit == 0 || k->ordinal || k->relative ? NAN : k->at_least ? beyond : -beyond;
}

struct ypi_verdict ypi_budget_judge(const struct ypi_result *r, const struct yp_budget *budget,
                                    bool speed_judged)
{
    struct ypi_verdict v = {.budget = budget,
                            .met = YPI_UNMEASURED,
                            .measured = NAN,
                            .low = NAN,
                            .high = NAN,
                            .distance = NAN};
    if (ypi_budget_kind(budget->kind)->relative)
        v.baseline = ypi_baseline_of(r->c, budget->name);
    judge_one(r, &v, speed_judged);
    return v;
}

#include "harness/vocabulary/budget.h"

#include "base/numbers/order.h"
#include "base/numbers/slack.h"
#include "base/system/clock.h"
#include "base/text/figures.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const struct kind {
    const char *name;
    bool at_least; /* else at most */
    bool speed;
    const char *part; /* of memory */
} kinds[] = {
    [YP_BUDGET_NONE] = {"none", false, false, NULL},
    [YP_BUDGET_MIN_SHARE] = {"min share", true, true, NULL},
    [YP_BUDGET_MIN_RATE] = {"min rate", true, true, NULL},
    [YP_BUDGET_MIN_FLOPS] = {"min flops", true, true, NULL},
    [YP_BUDGET_MIN_BANDWIDTH] = {"min bandwidth", true, true, NULL},
    [YP_BUDGET_MAX_LATENCY] = {"max latency", false, true, NULL},
    [YP_BUDGET_MAX_PERCENTILE] = {"max percentile", false, true, NULL},
    [YP_BUDGET_MAX_CPU_TIME] = {"max cpu time", false, true, NULL},
    [YP_BUDGET_MAX_PEAK] = {"max peak", false, false, "accounted at once"},
    [YP_BUDGET_MAX_RESIDENT] = {"max resident", false, false, "resident growth"},
    [YP_BUDGET_MAX_LEAK] = {"max leak", false, false, "left behind"},
    [YP_BUDGET_MAX_ALLOCATIONS] = {"max allocations", false, false, "allocations"},
    [YP_BUDGET_MAX_GROWTH] = {"max growth", false, false, NULL},
    [YP_BUDGET_MAX_COUNT] = {"max count", false, false, NULL},
    [YP_BUDGET_MIN_VALUE] = {"min value", true, false, NULL},
    [YP_BUDGET_MAX_VALUE] = {"max value", false, false, NULL},
    [YP_BUDGET_MAX_GRADIENT_ERROR] = {"max gradient error", false, false, NULL},
    [YP_BUDGET_ORDER] = {"order", false, false, NULL},
    [YP_BUDGET_FOR_DEVICE] = {"for device", false, false, NULL},
    [YP_BUDGET_REQUIRED] = {"required", false, false, NULL},
    [YP_BUDGET_FILE] = {"file", false, false, NULL},
};

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
    return kinds[kind].name;
}

bool ypi_budget_is_named(enum yp_budget_kind kind)
{
    return kinds[kind].speed || kind >= YP_BUDGET_MAX_GROWTH;
}

bool ypi_budget_is_of_value(enum yp_budget_kind kind)
{
    return kind == YP_BUDGET_MIN_VALUE || kind == YP_BUDGET_MAX_VALUE || kind == YP_BUDGET_ORDER;
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
    case YP_BUDGET_MIN_SHARE:
        snprintf(out, 128, "%.3g of what bounds it", value);
        break;
    case YP_BUDGET_MAX_LATENCY:
    case YP_BUDGET_MAX_PERCENTILE:
    case YP_BUDGET_MAX_CPU_TIME:
        ypi_format_seconds(out, value);
        break;
    case YP_BUDGET_MAX_COUNT:
        ypi_format_value(out, value, "");
        break;
    case YP_BUDGET_MAX_PEAK:
    case YP_BUDGET_MAX_RESIDENT:
    case YP_BUDGET_MAX_LEAK:
    case YP_BUDGET_MAX_GROWTH:
        ypi_format_bytes(out, value);
        break;
    case YP_BUDGET_MAX_ALLOCATIONS:
        snprintf(out, 128, "%.0f", value);
        break;
    case YP_BUDGET_ORDER:
        snprintf(out, 128, "%s", isnan(value) ? "none of the orders" : ypi_order_name((int)value));
        break;
    default:
        ypi_format_value(out, value, unit);
    }
}

/* What of the measurement a budget is about: " p99", " instructions an iteration", ... */
static void aspect(char out[64], const struct yp_budget *budget)
{
    out[0] = '\0';
    if (budget->kind == YP_BUDGET_MAX_PERCENTILE)
        snprintf(out, 64, " p%g", budget->quantile * 100);
    else if (budget->kind == YP_BUDGET_MAX_COUNT)
        snprintf(out, 64, " %s an iteration", ypi_counter_name(budget->counter));
    else if (budget->kind == YP_BUDGET_MAX_CPU_TIME)
        snprintf(out, 64, " processor time");
    else if (budget->kind == YP_BUDGET_MAX_GROWTH)
        snprintf(out, 64, " resident growth an iteration");
}

void ypi_budget_text(char out[256], const struct yp_budget *budget, const char *unit)
{
    char figure[128] = "";
    char of[64] = "";
    ypi_budget_figure(figure, budget, budget->limit, unit);
    aspect(of, budget);
    const char *side = kinds[budget->kind].at_least ? "at least" : "at most";
    if (budget->kind == YP_BUDGET_ORDER)
        snprintf(out, 256, "grows as %s", figure);
    else if (budget->name != NULL)
        snprintf(out, 256, "%s%.64s%s %s %s",
                 budget->kind == YP_BUDGET_MAX_GRADIENT_ERROR ? "gradient error of " : "",
                 budget->name, of, side, figure);
    else
        snprintf(out, 256, "%s memory: %s %s %s", budget->memory == YP_HOST ? "host" : "device",
                 side, figure, kinds[budget->kind].part);
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
    double slack = ypi_slack(budget->limit, measured, kinds[budget->kind].at_least);
    bool ratio = measured > 0 && budget->limit > 0 && budget->kind != YP_BUDGET_ORDER;
    return ratio && isfinite(slack) ? slack : NAN;
}

bool ypi_slack_is_loose(const struct yp_budget *budget, double slack)
{
    return budget->required == NULL && slack > (kinds[budget->kind].speed ? LOOSE_SPEED : LOOSE);
}

/* -- verdicts ----------------------------------------------------------------------------- */

static void exact(struct ypi_verdict *v, double measured)
{
    v->measured = v->low = v->high = measured;
    /* NaN is never good enough. */
    bool good = kinds[v->budget->kind].at_least ? measured >= v->budget->limit
                                                : measured <= v->budget->limit;
    v->met = good ? YPI_MET : YPI_NOT_MET;
}

/* The work of one iteration that a speed budget counts; 0: not declared. */
static double work_of(const struct ypi_measured *m, enum yp_budget_kind kind)
{
    return kind == YP_BUDGET_MIN_RATE    ? m->items
           : kind == YP_BUDGET_MIN_FLOPS ? m->flops
                                         : m->bytes;
}

static void between(struct ypi_verdict *v, double measured, double low, double high)
{
    v->measured = measured;
    v->low = low;
    v->high = high;
    bool at_least = kinds[v->budget->kind].at_least;
    bool inside = at_least ? low >= v->budget->limit : high <= v->budget->limit;
    bool outside = at_least ? high < v->budget->limit : low > v->budget->limit;
    v->met = outside || !isfinite(measured) ? YPI_NOT_MET : inside ? YPI_MET : YPI_UNDECIDED;
}

/* With t of n samples beyond the limit: met when so few would hardly be seen if more than 1 - q
 * were beyond it in the long run, not met when so many would hardly be seen otherwise. */
static void percentile(struct ypi_verdict *v, const struct ypi_measured *m)
{
    const double sure = 0.01;
    double q = v->budget->quantile;
    size_t beyond = 0;
    for (size_t i = 0; i < m->count; i++)
        beyond += !(m->samples[i] <= v->budget->limit);
    v->measured = v->low = v->high = ypi_quantile(m->samples, m->count, q);
    v->met = YPI_UNDECIDED;
    if (ypi_binomial_cdf(beyond, m->count, 1 - q) <= sure)
        v->met = YPI_MET;
    else if (ypi_binomial_tail(beyond, m->count, 1 - q) <= sure)
        v->met = YPI_NOT_MET;
}

static void rate(struct ypi_verdict *v, const struct ypi_measured *m)
{
    double work = work_of(m, v->budget->kind);
    if (work > 0)
        between(v, work / m->estimate.median, work / m->estimate.high, work / m->estimate.low);
}

static void of_estimate(struct ypi_verdict *v, const struct ypi_estimate *e)
{
    if (e->count > 0)
        between(v, e->median, e->low, e->high);
}

/* Above it a share is of work that was not done. Below, honest work may be above its ceiling: bytes
 * of which a part is in a nearer cache than the footprint says, or an algorithm with fewer
 * operations than the declared one (Winograd's has a quarter of a convolution's). */
#define IMPOSSIBLE_SHARE 4

bool ypi_speed_is_impossible(const struct ypi_measured *m, enum yp_budget_kind kind)
{
    return (m->count > 0 && m->estimate.median < YPI_IMPOSSIBLE_SECONDS) ||
           (kind == YP_BUDGET_MIN_SHARE && m->share_estimate.count > 0 &&
            m->share_estimate.low > IMPOSSIBLE_SHARE);
}

void ypi_budget_judge_speed(struct ypi_verdict *v, const struct ypi_measured *m)
{
    if (!ypi_is_timed(m->kind)) {
        v->met = YPI_NOT_JUDGED;
        return;
    }
    if (m->count == 0)
        return;
    switch (v->budget->kind) {
    case YP_BUDGET_MIN_SHARE:
        of_estimate(v, &m->share_estimate);
        break;
    case YP_BUDGET_MAX_LATENCY:
        of_estimate(v, &m->estimate);
        break;
    case YP_BUDGET_MAX_CPU_TIME:
        of_estimate(v, &m->cpu_estimate);
        break;
    case YP_BUDGET_MAX_PERCENTILE:
        percentile(v, m);
        break;
    default:
        rate(v, m);
    }
    if (v->met == YPI_MET && ypi_speed_is_impossible(m, v->budget->kind))
        v->met = YPI_NOT_MET;
}

/* Of a measurement, but exact. */
static void judge_figure(struct ypi_verdict *v, const struct ypi_measured *m)
{
    if (v->budget->kind == YP_BUDGET_MAX_GROWTH) {
        if (!isnan(m->growth_resident))
            exact(v, m->growth_resident);
    } else if (m->kind == YPI_MEASURED_RUN) {
        v->met = YPI_NOT_JUDGED;
    } else if (m->counts[v->budget->counter].source == YPI_NOT_COUNTED) {
        v->met = YPI_ABSENT;
    } else {
        exact(v, m->counts[v->budget->counter].count);
    }
}

static void judge_measured(const struct ypi_result *r, struct ypi_verdict *v, bool judged)
{
    for (int i = 0; i < r->measured_count; i++) {
        const struct ypi_measured *m = &r->measured[i];
        if (strcmp(m->name, v->budget->name) != 0)
            continue;
        if (!kinds[v->budget->kind].speed) {
            judge_figure(v, m);
            continue;
        }
        if (v->budget->kind == YP_BUDGET_MIN_SHARE && ypi_is_timed(m->kind) &&
            ypi_on_accelerator(r->c) && m->bound < 0) {
            v->met = YPI_ABSENT;
            continue;
        }
        ypi_budget_judge_speed(v, m);
        if (!judged && v->met != YPI_UNMEASURED && v->met != YPI_NOT_JUDGED)
            v->met = YPI_RECORDED;
    }
}

/* The interval is that of the orders that are not refuted; without one, all are. */
static void of_order(struct ypi_verdict *v, const struct ypi_value *value)
{
    const double asked = v->budget->limit;
    v->measured = isnan(value->low) ? NAN : value->value;
    v->low = value->low;
    v->high = value->high;
    v->met = !(value->low <= asked && asked <= value->high) ? YPI_NOT_MET
             : value->low == value->high                    ? YPI_MET
                                                            : YPI_UNDECIDED;
}

static void judge_value(const struct ypi_result *r, struct ypi_verdict *v, bool judged)
{
    for (int i = 0; i < r->value_count; i++) {
        const struct ypi_value *value = &r->values[i];
        if (strcmp(value->name, v->budget->name) != 0)
            continue;
        if (!value->of_speed) {
            exact(v, value->value);
            continue;
        }
        if (v->budget->kind == YP_BUDGET_ORDER)
            of_order(v, value);
        else
            between(v, value->value, value->low, value->high);
        if (!judged)
            v->met = YPI_RECORDED;
    }
}

static void judge_gradient(const struct ypi_result *r, struct ypi_verdict *v)
{
    for (int i = 0; i < r->gradient_count; i++)
        if (!r->gradients[i].precision && strcmp(r->gradients[i].name, v->budget->name) == 0)
            exact(v, r->gradients[i].error);
}

/* The first touch of a huge page makes all of it resident, be a page or the whole of it used. Where
 * the kernel hands them out unasked, what is beyond the limit may be its doing alone. */
static void judge_resident(const struct ypi_memory *m, struct ypi_verdict *v)
{
    const double unused = 511.0 / 512; /* of a huge page, at most */
    exact(v, (double)m->resident_peak - (double)m->resident_before);
    double low = v->measured - unused * (double)m->resident_huge;
    if (v->met == YPI_NOT_MET && low <= v->budget->limit) {
        v->low = low;
        v->met = YPI_UNDECIDED;
    }
}

static void judge_memory(const struct ypi_result *r, struct ypi_verdict *v)
{
    const struct yp_budget *b = v->budget;
    const struct ypi_memory *m = &r->memory;
    if (!r->has_memory)
        return;
    if (b->memory == YP_DEVICE) {
        double device[] = {[YP_BUDGET_MAX_PEAK] = (double)m->device.allocated_peak,
                           [YP_BUDGET_MAX_LEAK] = (double)m->device.allocated,
                           [YP_BUDGET_MAX_ALLOCATIONS] = (double)m->device.allocations};
        if (m->has_device)
            exact(v, device[b->kind]);
        else if (!ypi_on_accelerator(r->c))
            exact(v, 0); /* on the CPU there is no other memory to use */
        return;
    }
    if (b->kind == YP_BUDGET_MAX_RESIDENT) {
        judge_resident(m, v);
        return;
    }
    double used[] = {[YP_BUDGET_MAX_PEAK] = (double)m->host.allocated_peak,
                     [YP_BUDGET_MAX_LEAK] = (double)m->leaked_bytes,
                     [YP_BUDGET_MAX_ALLOCATIONS] = (double)m->host.allocations};
    exact(v, used[b->kind]);
}

static void judge_one(const struct ypi_result *r, struct ypi_verdict *v, bool speed_judged)
{
    const struct yp_budget *b = v->budget;
    if (kinds[b->kind].speed || b->kind == YP_BUDGET_MAX_GROWTH || b->kind == YP_BUDGET_MAX_COUNT)
        judge_measured(r, v, speed_judged);
    else if (ypi_budget_is_of_value(b->kind))
        judge_value(r, v, speed_judged);
    else if (b->kind == YP_BUDGET_MAX_GRADIENT_ERROR)
        judge_gradient(r, v);
    else
        judge_memory(r, v);
    double beyond = (v->measured - b->limit) / fabs(b->limit);
    v->distance = b->limit == 0 || b->kind == YP_BUDGET_ORDER ? NAN
                  : kinds[b->kind].at_least                   ? beyond
                                                              : -beyond;
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
    judge_one(r, &v, speed_judged);
    return v;
}

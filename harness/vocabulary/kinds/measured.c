/* Budgets of a measurement: of its speed, and of what is counted. */
#include "base/text/figures.h"
#include "harness/vocabulary/baseline.h"
#include "harness/vocabulary/kinds/kind.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>

/* -- speed --------------------------------------------------------------------------------- */

static void format_share(char out[128], double value)
{
    snprintf(out, 128, "%.3g of what bounds it", value);
}

/* Of a rate: work that is not declared, which is 0, gives no figure. */
static void speed(struct ypi_verdict *v, const struct ypi_measured *m)
{
    const struct ypi_budget_kind *k = ypi_budget_kind(v->budget->kind);
    const struct ypi_estimate *e = (const void *)((const char *)m + k->estimate);
    const double work = k->rate ? *(const double *)(const void *)((const char *)m + k->work) : 0;
    if (work > 0)
        ypi_verdict_between(v, work / e->median, work / e->high, work / e->low);
    else if (!k->rate && e->count > 0)
        ypi_verdict_between(v, e->median, e->low, e->high);
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

/* -- beside the baseline ------------------------------------------------------------------- */

static void format_worse(char out[128], double value)
{
    char percent[YPI_FIGURE_MAX];
    ypi_format_percent(percent, fabs(value), 3);
    snprintf(out, 128, "%.100s %s", percent, value < 0 ? "better" : "worse");
}

/* A machine in its slower state is that much slower, and a little more. */
#define WITHIN_SLOWER 1.1

/* Not met where the whole interval is beyond the limit. An interval that holds it shows no
 * regression. */
static void regression(struct ypi_verdict *v, const struct ypi_measured *m)
{
    const struct ypi_baseline *b = v->baseline;
    const struct ypi_estimate *e = NULL;
    if (b == NULL)
        return;
    e = b->of == YPI_BASELINE_SHARE ? &m->share_estimate : &m->estimate;
    if (e->count == 0)
        return;
    const double low = ypi_baseline_worse(b, b->typical, e->low);
    const double high = ypi_baseline_worse(b, b->typical, e->high);
    ypi_verdict_between(v, ypi_baseline_worse(b, b->typical, e->median), fmin(low, high),
                        fmax(low, high));
    if (v->met == YPI_UNDECIDED)
        v->met = YPI_MET;
    const double best = b->of == YPI_BASELINE_SHARE ? e->high : e->low;
    if (v->met == YPI_NOT_MET && ypi_baseline_worse(b, b->slower, best) < WITHIN_SLOWER - 1)
        v->met = YPI_UNDECIDED;
}

/* -- counts -------------------------------------------------------------------------------- */

static void count(struct ypi_verdict *v, const struct ypi_measured *m)
{
    if (m->kind == YPI_MEASURED_RUN)
        v->met = YPI_NOT_JUDGED;
    else if (m->counts[v->budget->counter].source == YPI_NOT_COUNTED)
        v->met = YPI_ABSENT;
    else
        ypi_verdict_exact(v, m->counts[v->budget->counter].count);
}

/* clang-format off */
#define SPEED .speed = true, .unjudged = YPI_WHEN_ONCE
#define OF(member) .measured = speed, .estimate = offsetof(struct ypi_measured, member)
#define RATE(member) OF(estimate), .rate = true, .at_least = true, .work = offsetof(struct ypi_measured, member)

const struct ypi_budget_kind ypi_measured_kinds[] = {
    {YP_BUDGET_MIN_SHARE, "min share", SPEED, OF(share_estimate), .at_least = true, .of_ceiling = true,
     .inside = true, .figure = format_share},
    {YP_BUDGET_MIN_RATE, "min rate", SPEED, RATE(items)},
    {YP_BUDGET_MIN_FLOPS, "min flops", SPEED, RATE(flops), .unit = "FLOP"},
    {YP_BUDGET_MIN_BANDWIDTH, "min bandwidth", SPEED, RATE(bytes), .unit = "B"},
    {YP_BUDGET_MAX_LATENCY, "max latency", SPEED, OF(estimate), .figure = ypi_format_seconds},
    {YP_BUDGET_MAX_PERCENTILE, "max percentile", SPEED, .measured = percentile, .detail = YPI_QUANTILE,
     .figure = ypi_format_seconds},
    {YP_BUDGET_MAX_CPU_TIME, "max cpu time", SPEED, OF(cpu_estimate), .of = " processor time", .inside = true,
     .figure = ypi_format_seconds},
    {YP_BUDGET_MAX_REGRESSION, "max regression", SPEED, .measured = regression, .relative = true,
     .of = " beside its baseline", .figure = format_worse},
    {YP_BUDGET_MAX_COUNT, "max count", .measured = count, .detail = YPI_COUNTER, .of = " an iteration",
     .inside = true, .unit = ""},
    {.name = NULL}};
/* clang-format on */

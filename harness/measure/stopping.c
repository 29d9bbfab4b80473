/* When a measurement stops, and why. */
#include "base/system/clock.h"
#include "harness/measure/measurement.h"
#include "harness/vocabulary/budget.h"

#include <math.h>
#include <string.h>

/* No verdict on less than this: what disturbs a processor lasts some milliseconds each time. */
#define DECISION_SECONDS 0.1
/* The noise has settled when twice the samples leave this much of the interval's width (where they
 * are independent, 0.71 of it), and not before so many seconds. */
#define SETTLED_PART 0.9
#define SETTLED_SECONDS 0.5
/* Half of the interval's width from which on a regression of a quarter can be seen. The baseline
 * itself is known to the runner alone. */
#define BASELINE_PRECISION 0.05
/* Fewer shares than this have no interval of 99 %. */
enum { SHARES_LEAST = 8 };

enum decision { NO_BUDGET, UNDECIDED, DECIDED };

static double relative_half(const struct ypi_estimate *e)
{
    return (e->high - e->low) / 2 / e->median;
}

static bool is_narrow(const struct ypi_measured *m)
{
    return relative_half(&m->estimate) <= BASELINE_PRECISION &&
           (m->share_count == 0 || (m->share_count >= SHARES_LEAST &&
                                    relative_half(&m->share_estimate) <= BASELINE_PRECISION));
}

/* `still`: the interval will not become narrower. */
static enum decision decision(struct yp_measurement *m, bool still)
{
    const struct yp_budget *b = NULL;
    enum decision all = NO_BUDGET;
    for (int next = 0; (b = ypi_next_budget(m->t, &next)) != NULL;) {
        if (!ypi_budget_is_speed(b->kind) || strcmp(b->name, m->measured.name) != 0)
            continue;
        struct ypi_verdict v = {.budget = b, .met = YPI_UNMEASURED};
        ypi_budget_judge_speed(&v, &m->measured);
        bool sure = b->kind == YP_BUDGET_MAX_REGRESSION
                        ? still || is_narrow(&m->measured)
                        : v.met != YPI_UNDECIDED && (b->kind != YP_BUDGET_MIN_SHARE ||
                                                     m->measured.share_count >= SHARES_LEAST);
        all = sure && all != UNDECIDED ? DECIDED : UNDECIDED;
    }
    return all;
}

static bool settled(struct yp_measurement *m, double elapsed)
{
    double half = relative_half(&m->measured.estimate);
    double before = m->stopping.half;
    if (m->measured.count < 2 * m->stopping.count)
        return false;
    bool first = m->stopping.count == 0;
    m->stopping.half = half;
    m->stopping.count = m->measured.count;
    return !first && half > SETTLED_PART * before && elapsed >= SETTLED_SECONDS;
}

/* What the samples themselves say, looked at after every quarter more of them. */
static bool looked_at(struct yp_measurement *m, double elapsed, enum ypi_stop *why)
{
    struct ypi_measured *measured = &m->measured;
    measured->estimate = ypi_estimate(measured->samples, measured->count);
    measured->cpu_estimate =
        ypi_estimate(measured->cpu, measured->cpu != NULL ? measured->count : 0);
    measured->share_estimate = ypi_estimate(measured->shares, measured->share_count);
    const bool is_settled = settled(m, elapsed);
    enum decision decided = m->judged ? decision(m, is_settled) : NO_BUDGET;
    *why = YPI_STOP_DECIDED;
    if (decided != NO_BUDGET)
        return decided == DECIDED && elapsed >= fmin(DECISION_SECONDS, m->options.max_seconds / 4);
    if (m->each && measured->share_count < SHARES_LEAST)
        return false;
    *why = YPI_STOP_PRECISION;
    if (relative_half(&measured->estimate) <= m->options.precision)
        return true;
    *why = YPI_STOP_SETTLED;
    return is_settled;
}

bool ypi_stop_now(struct yp_measurement *m, enum ypi_stop *why)
{
    const struct yp_measure_options *o = &m->options;
    size_t count = m->measured.count;
    *why = YPI_STOP_FIXED;
    if (o->samples > 0)
        return count >= (size_t)o->samples;
    if (count < (size_t)o->min_samples)
        return false;
    *why = YPI_STOP_SAMPLES;
    if (count >= (size_t)o->max_samples)
        return true;
    *why = YPI_STOP_TIME;
    double elapsed = ypi_now() - m->started;
    if (elapsed >= o->max_seconds)
        return true;
    if (count < m->next_check)
        return false;
    m->next_check = count + count / 4 + 1;
    ypi_counting_pause(m); /* sorting takes memory and time of its own */
    ypi_child_framework_begins(m->t);
    bool stop = looked_at(m, elapsed, why);
    ypi_child_framework_ends(m->t);
    return stop;
}

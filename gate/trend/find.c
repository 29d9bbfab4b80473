/* The changes of series: those of times by statistics, those of exact figures by looking. */
#include "gate/trend/trend.h"

#include "base/numbers/stats.h"
#include "base/text/text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *ypi_trend_name(enum ypi_trend_quantity quantity)
{
    return quantity == YPI_TREND_TIME   ? "time"
           : quantity == YPI_TREND_PEAK ? "peak memory"
                                        : "allocations";
}

bool ypi_trend_is_short(const struct ypi_trend_series *s)
{
    return s->quantity == YPI_TREND_TIME && s->count < YPI_TREND_POINTS;
}

struct ypi_trend_counts ypi_trend_count(const struct ypi_trend *t)
{
    struct ypi_trend_counts c = {0};
    for (size_t i = 0; i < t->series_count; i++) {
        const struct ypi_trend_series *s = &t->series[i];
        bool changed = s->change_count > 0 || s->drifts;
        c.changed += changed;
        c.too_short += !changed && ypi_trend_is_short(s);
        c.varying += !changed && s->varies;
        c.unchanged += !changed && !ypi_trend_is_short(s) && !s->varies;
        c.small += (int)s->small;
    }
    return c;
}

static struct ypi_trend_change *add_change(struct ypi_trend_series *s, size_t place)
{
    s->changes = ypi_realloc(s->changes, s->change_count + 1, sizeof *s->changes);
    struct ypi_trend_change *c = &s->changes[s->change_count++];
    *c = (struct ypi_trend_change){.place = place,
                                   .before = NAN,
                                   .after = NAN,
                                   .ratio = {NAN, NAN, NAN},
                                   .share = {NAN, NAN, NAN}};
    return c;
}

/* -- times --------------------------------------------------------------------------------- */

/* How far a ratio is from 1, the same for its reverse. */
static double size_of(double logarithm)
{
    return expm1(fabs(logarithm));
}

static struct ypi_shift ratio_of(struct ypi_shift s)
{
    return (struct ypi_shift){exp(s.middle), exp(s.low), exp(s.high)};
}

/* The two segments beside a change: [from, place) and [place, to). */
struct sides {
    size_t from, place, to;
};

/* The shares of a segment, as far as they are known. The caller frees. */
static double *shares_of(const struct ypi_trend_series *s, size_t from, size_t to, size_t *count)
{
    double *shares = ypi_calloc(to - from + 1, sizeof *shares);
    *count = 0;
    for (size_t i = from; i < to; i++)
        if (!isnan(s->points[i].share))
            shares[(*count)++] = s->points[i].share;
    return shares;
}

static struct ypi_shift shift_of_shares(const struct ypi_trend_series *s, struct sides at,
                                        double correlation)
{
    struct ypi_shift shift = {NAN, NAN, NAN};
    size_t count[2];
    double *shares[2] = {shares_of(s, at.from, at.place, &count[0]),
                         shares_of(s, at.place, at.to, &count[1])};
    if (count[0] >= YPI_TREND_LEAST && count[1] >= YPI_TREND_LEAST)
        shift = ypi_shift(shares[0], count[0], shares[1], count[1], correlation);
    free(shares[0]);
    free(shares[1]);
    return shift;
}

/* Work that takes longer below the same ceilings has a share that falls by as much; where the
 * ceilings moved as the time did, the share stays. Each is said when the other is refuted. */
static enum ypi_trend_cause cause_of(double time, struct ypi_shift share)
{
    bool may_stay = share.low <= 0 && 0 <= share.high;
    bool may_follow = share.low <= -time && -time <= share.high;
    if (isnan(share.middle))
        return YPI_TREND_UNKNOWN;
    bool is_nearer_to_staying = fabs(share.middle) < fabs(share.middle + time);
    if (!may_follow && is_nearer_to_staying)
        return YPI_TREND_MACHINE;
    return !may_stay && !is_nearer_to_staying ? YPI_TREND_WORK : YPI_TREND_UNKNOWN;
}

static void take_change(struct ypi_trend_series *s, const double *values, struct sides at,
                        double correlation, double least)
{
    struct ypi_shift shift = ypi_shift(values + at.from, at.place - at.from, values + at.place,
                                       at.to - at.place, correlation);
    if (!(size_of(shift.middle) >= least)) {
        s->small++;
        return;
    }
    struct ypi_trend_change *c = add_change(s, at.place);
    struct ypi_shift share = shift_of_shares(s, at, correlation);
    c->before = exp(ypi_quantile(values + at.from, at.place - at.from, 0.5));
    c->after = exp(ypi_quantile(values + at.place, at.to - at.place, 0.5));
    c->ratio = ratio_of(shift);
    c->share = ratio_of(share);
    c->cause = cause_of(shift.middle, share);
}

static void find_drift(struct ypi_trend_series *s, const double *values, double error, double least)
{
    size_t count = s->count - s->steady;
    if (count < YPI_TREND_POINTS)
        return;
    struct ypi_drift d = ypi_drift(values + s->steady, count);
    double steps = (double)(count - 1);
    bool is_sure = d.probability <= error && (d.slope.low > 0 || d.slope.high < 0);
    s->drifts = is_sure && size_of(steps * d.slope.middle) >= least;
    s->drift = ratio_of(
        (struct ypi_shift){steps * d.slope.middle, steps * d.slope.low, steps * d.slope.high});
}

/* Half of the error is that of the changes, half that of the drift. */
static void find_in_times(struct ypi_trend_series *s, double error, double least)
{
    double *values = ypi_calloc(s->count + 1, sizeof *values);
    size_t *places = ypi_calloc(s->count / YPI_TREND_LEAST + 1, sizeof *places);
    for (size_t i = 0; i < s->count; i++)
        values[i] = s->points[i].value;
    double correlation = ypi_neighbour_correlation(values, s->count);
    size_t found = ypi_change_points(values, s->count,
                                     &(struct ypi_change_search){.least = YPI_TREND_LEAST,
                                                                 .error = error / 2,
                                                                 .correlation = correlation,
                                                                 .estimated_from = s->count},
                                     places);
    found = ypi_changes_before_line(values, s->count, places, found);
    for (size_t i = 0; i < found; i++) {
        struct sides at = {i > 0 ? places[i - 1] : 0, places[i],
                           i + 1 < found ? places[i + 1] : s->count};
        take_change(s, values, at, correlation, least);
        s->steady = places[i];
    }
    find_drift(s, values, error / 2, least);
    free(places);
    free(values);
}

/* -- exact figures ------------------------------------------------------------------------- */

static bool is_committed(const struct ypi_trend_point *p)
{
    return *p->run->commit != '\0' && !p->run->dirty;
}

/* Whether it differs, not for now and then, between results of one commit; where there are none of
 * one commit, whether every third one differs from the one before. */
static bool does_vary(const struct ypi_trend_series *s)
{
    size_t same_code = 0;
    size_t varied = 0;
    size_t changed = 0;
    for (size_t i = 1; i < s->count; i++) {
        const struct ypi_trend_point *a = &s->points[i - 1];
        const struct ypi_trend_point *b = &s->points[i];
        bool same =
            is_committed(a) && is_committed(b) && strcmp(a->run->commit, b->run->commit) == 0;
        same_code += same;
        varied += same && a->value != b->value;
        changed += a->value != b->value;
    }
    if (same_code >= 4)
        return 10 * varied > same_code;
    return s->count >= YPI_TREND_POINTS && 3 * changed > s->count;
}

static void find_in_exact(struct ypi_trend_series *s)
{
    s->varies = does_vary(s);
    for (size_t i = 1; i < s->count && !s->varies; i++) {
        double before = s->points[i - 1].value;
        double after = s->points[i].value;
        if (before == after)
            continue;
        struct ypi_trend_change *c = add_change(s, i);
        c->before = before;
        c->after = after;
        if (before > 0 && after > 0)
            c->ratio.middle = after / before;
    }
}

void ypi_trend_find(struct ypi_trend *t, const struct ypi_trend_request *r)
{
    size_t tested = 0;
    for (size_t i = 0; i < t->series_count; i++)
        tested += t->series[i].quantity == YPI_TREND_TIME && !ypi_trend_is_short(&t->series[i]);
    for (size_t i = 0; i < t->series_count; i++) {
        struct ypi_trend_series *s = &t->series[i];
        if (s->quantity != YPI_TREND_TIME)
            find_in_exact(s);
        else if (!ypi_trend_is_short(s))
            find_in_times(s, r->error / (double)tested, r->change);
    }
}

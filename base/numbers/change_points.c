/* Change points by ranks. What a series without a change shows is seen from permutations, or, where
 * neighbours are alike, from random series with the same correlation. */
#include "base/numbers/change_points.h"

#include "base/numbers/sort.h"
#include "base/numbers/splitmix.h"
#include "base/text/text.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

/* -- ranks --------------------------------------------------------------------------------- */

/* Equal values in the order of their places, so that the order is total. */
static bool is_before(const void *values, uint32_t a, uint32_t b)
{
    const double *v = values;
    return v[a] < v[b] || (v[a] == v[b] && a < b);
}

/* Ranks less their mean; equal values share theirs. The caller frees. */
static double *centred_ranks(const double *values, size_t count)
{
    uint32_t *order = ypi_calloc(count + 1, sizeof *order);
    double *ranks = ypi_calloc(count + 1, sizeof *ranks);
    double mean = ((double)count - 1) / 2;
    for (size_t i = 0; i < count; i++)
        order[i] = (uint32_t)i;
    ypi_sort_items(order, count, is_before, values);
    for (size_t first = 0, last; first < count; first = last + 1) {
        last = first;
        while (last + 1 < count && values[order[last + 1]] == values[order[first]])
            last++;
        for (size_t i = first; i <= last; i++)
            ranks[order[i]] = (double)(first + last) / 2 - mean;
    }
    free(order);
    return ranks;
}

/* -- the best split ------------------------------------------------------------------------ */

struct split {
    size_t place;  /* the first point of the second part */
    double square; /* of the rank sum statistic: 1 on average for independent points */
};

/* Of the scores from `from` to `to`, whose sums stand in `sums`. */
static struct split best_between(const double *sums, size_t from, size_t to, size_t least,
                                 double variance)
{
    struct split best = {.place = from + least, .square = 0};
    double count = (double)(to - from);
    double slope = (sums[to] - sums[from]) / count;
    for (size_t k = from + least; k + least <= to; k++) {
        double before = (double)(k - from);
        double sum = sums[k] - sums[from] - slope * before;
        double square = sum * sum / (before * (count - before));
        if (square > best.square)
            best = (struct split){k, square};
    }
    best.square *= variance > 0 ? count / variance : 0;
    return best;
}

static double add_up(const double *scores, size_t count, double *sums)
{
    double squares = 0;
    sums[0] = 0;
    for (size_t i = 0; i < count; i++) {
        sums[i + 1] = sums[i] + scores[i];
        squares += scores[i] * scores[i];
    }
    return squares / ((double)count - 1);
}

/* The stretches in which a split is looked for: all points, and parts of a half, a quarter and an
 * eighth that overlap by half, for a level that comes back hides from the whole (Kovacs et al.,
 * "Seeded binary segmentation", Biometrika 110, 2023). */
struct stretches {
    struct {
        size_t from, to;
    } list[1 + 3 + 7 + 15];
    size_t count;
};

static struct stretches stretches_of(size_t count, size_t least)
{
    struct stretches s = {.list = {{0, count}}, .count = 1};
    for (size_t parts = 2; parts <= 8 && count / parts >= 4 * least; parts *= 2) {
        size_t length = count / parts;
        size_t last = 2 * (parts - 1);
        for (size_t i = 0; i <= last; i++) {
            size_t from = i * (count - length) / last;
            s.list[s.count].from = from;
            s.list[s.count++].to = from + length;
        }
    }
    return s;
}

/* Of scores whose mean is 0. `sums` has room for one more than `count`. */
static struct split best_split(const double *scores, size_t count, size_t least, double *sums)
{
    const struct stretches s = stretches_of(count, least);
    struct split best = {.place = least};
    double variance = add_up(scores, count, sums);
    for (size_t i = 0; i < s.count; i++) {
        struct split here = best_between(sums, s.list[i].from, s.list[i].to, least, variance);
        if (here.square > best.square)
            best = here;
    }
    return best;
}

/* -- how alike neighbours are -------------------------------------------------------------- */

#define STRONGEST 0.95 /* stronger correlation cannot be told from a change */
#define MOST_SPLITS 4
#define FEWEST 10       /* points that have one */
#define MOST_DRAWN 0.98 /* when the estimate is doubted */
#define DOUBT 2         /* how many deviations are one: an estimate about levels scatters more */
#define MOST_DOUBT 0.36
#define FARTHEST 2 /* deviations; at more, small errors would leave no power */

/* The segments that are left when the split that explains most is taken again and again. */
struct levels {
    size_t first[MOST_SPLITS + 2]; /* the last is the count */
    size_t count;
};

static void split_level(struct levels *l, const double *sums, size_t least)
{
    struct split best = {0};
    size_t at = 0;
    for (size_t i = 0; i < l->count; i++) {
        struct split here = {0};
        if (l->first[i + 1] - l->first[i] >= 2 * least)
            here = best_between(sums, l->first[i], l->first[i + 1], least, 1);
        if (here.square > best.square) {
            best = here;
            at = i;
        }
    }
    if (!(best.square > 0))
        return;
    for (size_t i = ++l->count; i > at + 1; i--)
        l->first[i] = l->first[i - 1];
    l->first[at + 1] = best.place;
}

/* NaN where the levels leave nothing. */
static double correlation_about(const struct levels *l, const double *ranks, const double *sums)
{
    double products = 0;
    double squares = 0;
    for (size_t s = 0; s < l->count; s++) {
        size_t from = l->first[s];
        size_t to = l->first[s + 1];
        double level = (sums[to] - sums[from]) / (double)(to - from);
        for (size_t i = from; i < to; i++) {
            double residual = ranks[i] - level;
            squares += residual * residual;
            products += i > from ? residual * (ranks[i - 1] - level) : 0;
        }
    }
    return squares > 0 ? products / squares : NAN;
}

static double splits_of(size_t count)
{
    return fmin(MOST_SPLITS, fmax(1, floor(sqrt((double)count) / 3)));
}

/* The lag-1 correlation about a few levels, which take some changes away, and a part of the
 * correlation too: (2 + 1.9 k + (4.5 + 5.3 k) r) / count of it for k splits, by simulation of 20 to
 * 1000 points. `scores` are ranks less their mean or in proportion to them, `sums` their sums. */
static double correlation_of(const double *scores, const double *sums, size_t count)
{
    const double pi = 3.14159265358979323846;
    double n = (double)count;
    double splits = splits_of(count);
    size_t least = count < 50 ? 5 : count / 10;
    struct levels levels = {.first = {0, count}, .count = 1};
    for (double i = 0; i < splits; i++)
        split_level(&levels, sums, least);
    double r = correlation_about(&levels, scores, sums);
    r = (r + (2 + 1.9 * splits) / n) / (1 - fmin(0.5, (4.5 + 5.3 * splits) / n));
    if (isnan(r))
        return 0;
    /* Of normal variables whose ranks have this correlation (Pearson, 1907). */
    return fmin(STRONGEST, fmax(0, 2 * sin(pi / 6 * fmin(1, r))));
}

double ypi_neighbour_correlation(const double *values, size_t count)
{
    if (count < FEWEST)
        return 0;
    double *ranks = centred_ranks(values, count);
    double *sums = ypi_calloc(count + 1, sizeof *sums);
    (void)add_up(ranks, count, sums);
    double r = correlation_of(ranks, sums, count);
    free(sums);
    free(ranks);
    return r;
}

/* 1 / sqrt(n - 3) is Fisher's, for pairs; the levels take two points a split. */
double ypi_correlation_deviation(size_t count)
{
    if (count < FEWEST)
        return 0;
    return 1 / sqrt(fmax(3, (double)count - 3 - 2 * splits_of(count)));
}

/* -- what a series without a change shows -------------------------------------------------- */

struct null_series {
    struct ypi_seed seed;
    double *scores, *sums;
    size_t count, least;
    double correlation; /* of the whole series, as it was estimated or is known */
    double deviation;   /* of its inverse hyperbolic tangent; 0: it is known */
    double spread; /* the variance over the square of the range: 1/12 unless values are equal */
    struct stretches stretches;
};

static size_t below(struct ypi_seed *seed, size_t bound)
{
    return (size_t)(ypi_seed_uniform(seed) * (double)bound);
}

static void permute(struct null_series *s)
{
    for (size_t i = s->count; i-- > 1;) {
        size_t other = below(&s->seed, i + 1);
        double kept = s->scores[i];
        s->scores[i] = s->scores[other];
        s->scores[other] = kept;
    }
}

/* Ranks over the count, as they are for many points, less 1/2. */
static void draw(struct null_series *s, double correlation)
{
    double innovation = sqrt(1 - correlation * correlation);
    double value = ypi_seed_normal(&s->seed);
    double mean = 0;
    for (size_t i = 0; i < s->count; i++) {
        s->scores[i] = 0.5 * erf(value * 0.70710678118654752);
        mean += s->scores[i] / (double)s->count;
        value = correlation * value + innovation * ypi_seed_normal(&s->seed);
    }
    for (size_t i = 0; i < s->count; i++)
        s->scores[i] -= mean;
}

/* Whether a split between two places has at least that square; a loop without a division. */
static bool reaches(const double *sums, size_t from, size_t to, size_t least, double of_sum)
{
    double count = (double)(to - from);
    double slope = (sums[to] - sums[from]) / count;
    double limit = of_sum / count;
    int reached = 0;
    for (size_t k = from + least; k <= to - least; k++) {
        double before = (double)(k - from);
        double sum = sums[k] - sums[from] - slope * before;
        reached |= sum * sum >= limit * (before * (count - before));
    }
    return reached != 0;
}

/* How many times the variance of a sum of independent points (Bartlett, 1946). */
static double alike(double correlation)
{
    return (1 + correlation) / (1 - correlation);
}

/* A correlation that is estimated may be another one: as many deviations away in Fisher's scale. */
static double correlation_at(const struct null_series *s, double deviations)
{
    double z = atanh(s->correlation) + fmin(FARTHEST, deviations) * s->deviation;
    return fmin(MOST_DRAWN, tanh(fmax(0, z)));
}

/* What a square is divided by before squares are compared, if the correlation is an estimate: a
 * series that wanders shows it in its neighbours. The whole inflation would undo errors of the
 * estimate best but costs power, for a change too looks like correlation; the third root and the
 * deviation below keep the error in simulations (tests/bench/trend_errors.c). */
static double scale_of(const struct null_series *s)
{
    return s->deviation > 0 ? cbrt(alike(correlation_of(s->scores, s->sums, s->count))) : 1;
}

static bool is_reached(struct null_series *s, double square)
{
    double correlation =
        s->deviation > 0 ? correlation_at(s, ypi_seed_normal(&s->seed)) : s->correlation;
    if (correlation > 0)
        draw(s, correlation);
    else
        permute(s);
    double of_sum = add_up(s->scores, s->count, s->sums) * square * (1 - 1e-12);
    of_sum *= scale_of(s);
    for (size_t i = 0; i < s->stretches.count; i++)
        if (reaches(s->sums, s->stretches.list[i].from, s->stretches.list[i].to, s->least, of_sum))
            return true;
    return false;
}

/* More than the probability that any of the splits, up to 7 a point, has at least that square. For
 * permuted ranks by Serfling's inequality (Annals of Statistics 2, 1974); for functions of normal
 * variables with a correlation the exponent is nearly twice as large, over what neighbours that are
 * alike take from it. */
static double bound_of(const struct null_series *s, double square)
{
    double part = (double)s->least / (double)(s->least + 1);
    double most = s->deviation > 0 ? alike(correlation_at(s, FARTHEST)) : alike(s->correlation);
    return 14 * (double)s->count * exp(-2 * square * s->spread * part / most);
}

/* Whether `square` is reached at a rate of `error` at most. Where that is not plain, by so many
 * series that two would reach it at that rate; it is over as soon as more do than the rate allows.
 * The probability of a true answer by chance is `error` at most, however few series there are: the
 * one that is asked about counts among them. */
static bool is_rare(struct null_series *s, double square, double error)
{
    double series = ceil(2 / error);
    double allowed = floor(error * (series + 1)) - 1; /* (reached + 1) / (series + 1) <= error */
    double reached = 0;
    if (bound_of(s, square) <= error)
        return true;
    for (double i = 0; i < series && reached <= allowed; i++)
        reached += is_reached(s, square);
    return reached <= allowed;
}

static double spread_of(const double *ranks, size_t count)
{
    double most = 0;
    double squares = 0;
    for (size_t i = 0; i < count; i++) {
        most = fmax(most, fabs(ranks[i]));
        squares += ranks[i] * ranks[i];
    }
    return most > 0 ? squares / ((double)count - 1) / (4 * most * most) : 0;
}

/* -- segmentation -------------------------------------------------------------------------- */

struct segmentation {
    const double *values;
    size_t count;
    const struct ypi_change_search *how;
    size_t *places; /* ascending */
    size_t found;
};

static double doubt_of(const struct ypi_change_search *how)
{
    if (how->estimated_from == 0)
        return 0;
    return fmin(MOST_DOUBT, DOUBT * ypi_correlation_deviation(how->estimated_from));
}

/* The change between two places; 0: there is none. */
static size_t change_between(const struct segmentation *s, size_t from, size_t to)
{
    size_t count = to - from;
    if (count < 2 * s->how->least)
        return 0;
    double *ranks = centred_ranks(s->values + from, count);
    double *sums = ypi_calloc(count + 1, sizeof *sums);
    struct split best = best_split(ranks, count, s->how->least, sums);
    struct null_series null = {.seed = ypi_seed_of(s->how->seed, from, to),
                               .scores = ranks,
                               .sums = sums,
                               .count = count,
                               .least = s->how->least,
                               .correlation = s->how->correlation,
                               .deviation = doubt_of(s->how),
                               .spread = spread_of(ranks, count),
                               .stretches = stretches_of(count, s->how->least)};
    double error = s->how->error * (double)count / (double)s->count;
    bool is_change = best.square > 0 && is_rare(&null, best.square / scale_of(&null), error);
    free(sums);
    free(ranks);
    return is_change ? from + best.place : 0;
}

static size_t first_of(const struct segmentation *s, size_t segment)
{
    return segment == 0 ? 0 : s->places[segment - 1];
}

static size_t end_of(const struct segmentation *s, size_t segment)
{
    return segment == s->found ? s->count : s->places[segment];
}

static void insert(struct segmentation *s, size_t at, size_t place)
{
    for (size_t i = s->found++; i > at; i--)
        s->places[i] = s->places[i - 1];
    s->places[at] = place;
}

static void discard(struct segmentation *s, size_t at)
{
    s->found--;
    for (size_t i = at; i < s->found; i++)
        s->places[i] = s->places[i + 1];
}

/* Splits each segment until none has a change. */
static void split_all(struct segmentation *s)
{
    for (size_t segment = 0; segment <= s->found;) {
        size_t place = change_between(s, first_of(s, segment), end_of(s, segment));
        if (place > 0)
            insert(s, segment, place);
        else
            segment++;
    }
}

/* Each change once more, between its neighbours alone: where it was found there may have been
 * others that moved it, or that it was made of. */
static void refine(struct segmentation *s)
{
    for (size_t i = 0; i < s->found;) {
        size_t place = change_between(s, first_of(s, i), end_of(s, i + 1));
        if (place > 0)
            s->places[i++] = place;
        else
            discard(s, i);
    }
}

size_t ypi_change_points(const double *values, size_t count, const struct ypi_change_search *how,
                         size_t *places)
{
    struct segmentation s = {.values = values, .count = count, .how = how, .places = places};
    split_all(&s);
    refine(&s);
    return s.found;
}

#include "gate/pair/duel.h"

#include "base/numbers/sequential.h"
#include "base/numbers/stats.h"
#include "base/numbers/undisturbed.h"
#include "base/system/clock.h"
#include "base/text/text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A pair that fails may have had bad luck, as a machine without memory for a moment. */
enum { FAILURES_MOST = 3 };
/* Times as many pairs as were left out: then it is not these that are missing for a verdict. */
enum { MANY = 10 };

struct contest {
    /* One a pair, and in `kept`, `base`, `head` one a pair that was undisturbed. */
    double *ratios, *levels, *bases, *heads;
    bool *keep;
    size_t count;
    double *kept, *base, *head;
    size_t kept_count;
    double share; /* of the error, for a verdict by the undisturbed pairs now */
    struct ypi_undisturbed_alone alone; /* pairs that were left out as one side alone was slow */
    bool one_sided;                     /* so many that no verdict is given */
    bool whole;                         /* all pairs are judged by, else the undisturbed ones */
    double ratio;                       /* ln of the median of those */
    struct ypi_span span;
    size_t settled; /* pairs that the first answer took; 0: there is none yet */
    bool decided;
    bool no_time[2]; /* base, head: the work was removed, so there is nothing to compare */
    bool in_whole;   /* it cannot wait in between */
};

struct ypi_duel {
    const struct ypi_pairing *pairing;
    struct ypi_duel_rule rule;
    struct ypi_paired *paired;
    struct contest *contests;
    int count;
    int pairs, failures;
    bool in_whole;
    double seconds;
    char *failure; /* owned */
};

struct ypi_duel *ypi_duel_open(const struct ypi_pairing *pairing, const char *const *names,
                               int count, struct ypi_duel_rule rule, bool in_whole)
{
    struct ypi_duel *d = ypi_calloc(1, sizeof *d);
    d->pairing = pairing;
    d->rule = rule;
    d->count = count;
    d->in_whole = in_whole;
    d->paired = ypi_calloc((size_t)count + 1, sizeof *d->paired);
    d->contests = ypi_calloc((size_t)count + 1, sizeof *d->contests);
    for (int i = 0; i < count; i++) {
        d->paired[i].name = names[i];
        d->contests[i].in_whole = in_whole;
        d->contests[i].span = (struct ypi_span){-INFINITY, INFINITY};
    }
    return d;
}

static double median(const double *x, size_t count)
{
    return ypi_quantile(x, count, 0.5);
}

static void grow(struct contest *c)
{
    double **const lists[] = {&c->ratios, &c->levels, &c->bases, &c->heads,
                              &c->kept,   &c->base,   &c->head};
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
        *lists[i] = ypi_realloc(*lists[i], c->count + 1, sizeof **lists[i]);
    c->keep = ypi_realloc(c->keep, c->count + 1, sizeof *c->keep);
}

static bool excludes(struct ypi_span span, double limit)
{
    return span.low > limit || span.high < limit;
}

/* Whether the end of the interval nearest to "equal" is `rule.sharp` of the way to the ratio. */
static bool is_sharp(const struct contest *c, struct ypi_duel_rule rule)
{
    double limit = log1p(rule.threshold);
    double ratio = fabs(c->ratio);
    if (limit > 0 ? c->span.low > limit : c->span.high < limit)
        return fmin(fabs(c->span.low), fabs(c->span.high)) >= rule.sharp * ratio;
    return true; /* no difference of which the size is wanted */
}

static bool is_decided(const struct contest *c, struct ypi_duel_rule rule)
{
    return excludes(c->span, log1p(rule.threshold)) &&
           (rule.also == 0 || excludes(c->span, log1p(rule.also))) &&
           (rule.sharp == 0 || is_sharp(c, rule));
}

/* Whether the pairs that count and all pairs together are beyond the threshold on one side: then it
 * does not matter why others were left out. */
static bool is_beyond_in_all(const struct contest *c, double threshold)
{
    const double limit = log1p(threshold);
    const double kept = median(c->kept, c->kept_count);
    const double all = median(c->ratios, c->count);
    if (limit < 0)
        return kept < limit && all < limit;
    return (kept > limit && all > limit) || (kept < -limit && all < -limit);
}

/* By the undisturbed pairs if these decide, else by all, and undecided by those that tell more. */
static void judge(struct contest *c, struct ypi_duel_rule rule, struct ypi_undisturbed found)
{
    /* Twice: a span has both sides, and only one of the two verdicts can be wrong. */
    struct ypi_undisturbed_spans spans =
        ypi_undisturbed_spans(c->kept, found, c->ratios, c->count, 2 * rule.error);
    bool narrower = spans.all.high - spans.all.low < spans.kept.high - spans.kept.low;
    for (int i = 0; i < 3; i++) {
        c->whole = i == 2 ? narrower : i == 1;
        c->span = c->whole ? spans.all : spans.kept;
        c->ratio = c->whole ? median(c->ratios, c->count) : median(c->kept, c->kept_count);
        if (is_decided(c, rule))
            break;
    }
}

/* Not slower is certain before faster is: the interval does not say yet what the ratio does. */
static bool may_be_faster(const struct contest *c, struct ypi_duel_rule rule)
{
    const double limit = -log1p(rule.threshold);
    return rule.faster && limit < 0 && c->ratio < limit && c->span.high >= limit;
}

static void add(struct contest *c, const struct ypi_paired *p, struct ypi_duel_rule rule)
{
    if (p->no_time[0] || p->no_time[1]) {
        c->no_time[0] = p->no_time[0];
        c->no_time[1] = p->no_time[1];
        c->decided = true;
        return;
    }
    grow(c);
    c->ratios[c->count] = p->log_ratio;
    c->bases[c->count] = p->base;
    c->heads[c->count] = p->head;
    c->levels[c->count] = (log(p->base) + log(p->head)) / 2;
    c->count++;
    struct ypi_undisturbed found = ypi_undisturbed_mark(c->levels, c->count, c->keep);
    c->kept_count = 0;
    for (size_t i = 0; i < c->count; i++)
        if (c->keep[i]) {
            c->kept[c->kept_count] = c->ratios[i];
            c->base[c->kept_count] = c->bases[i];
            c->head[c->kept_count++] = c->heads[i];
        }
    c->share = found.share;
    judge(c, rule, found);
    c->alone = ypi_undisturbed_alone(c->bases, c->heads, c->keep, c->count);
    c->one_sided =
        !is_beyond_in_all(c, rule.threshold) && ypi_undisturbed_is_one_sided(c->alone, c->count);
    bool settled = is_decided(c, rule) && !c->one_sided;
    if (settled && c->settled == 0)
        c->settled = c->count;
    c->decided = settled && !(may_be_faster(c, rule) && c->count < 2 * c->settled);
}

/* One kind of pair at a time: turns for those that can wait, whole processes for the others. */
static bool want(struct ypi_duel *d, bool in_whole)
{
    bool any = false;
    for (int i = 0; i < d->count; i++) {
        d->paired[i].wanted = !d->contests[i].decided && d->contests[i].in_whole == in_whole;
        any = any || d->paired[i].wanted;
    }
    return any;
}

static enum ypi_pair_end run_pair(struct ypi_duel *d, struct ypi_seed *coin, bool in_whole)
{
    enum ypi_pair_end how = in_whole ? ypi_pair_in_whole(d->pairing, coin, d->paired, d->count)
                                     : ypi_pair_in_turns(d->pairing, coin, d->paired, d->count);
    if (how == YPI_PAIR_FAILED) {
        free(d->failure);
        d->failure = ypi_strdup(yp_last_error());
        d->failures++;
    }
    if (how != YPI_PAIR_DONE)
        return how;
    for (int i = 0; i < d->count; i++) {
        if (d->paired[i].there)
            add(&d->contests[i], &d->paired[i], d->rule);
        else if (d->paired[i].wanted && !in_whole)
            d->contests[i].in_whole = true;
    }
    return how;
}

bool ypi_duel_is_over(const struct ypi_duel *d)
{
    if (d->failures >= FAILURES_MOST)
        return true;
    for (int i = 0; i < d->count; i++)
        if (!d->contests[i].decided)
            return false;
    return true;
}

enum ypi_pair_end ypi_duel_run(struct ypi_duel *d, struct ypi_seed *coin, double seconds)
{
    double began = ypi_now();
    enum ypi_pair_end how = YPI_PAIR_DONE;
    while (!ypi_duel_is_over(d) && ypi_now() - began < seconds && how != YPI_PAIR_STOPPED) {
        bool turns = want(d, false);
        if (turns)
            how = run_pair(d, coin, false);
        if (how != YPI_PAIR_STOPPED && want(d, true))
            how = run_pair(d, coin, true);
        d->pairs++;
    }
    d->seconds += ypi_now() - began;
    return how;
}

double ypi_duel_seconds(const struct ypi_duel *d)
{
    return d->seconds;
}

/* Evidence grows about as fast as it has grown. */
static double seconds_left(const struct ypi_duel *d, const double *x, size_t count, double error,
                           int side)
{
    double evidence = ypi_evidence(x, count, log1p(d->rule.threshold), side);
    return evidence > 0 ? d->seconds * fmax(0, -log(error) / evidence - 1) : INFINITY;
}

struct ypi_prospect ypi_duel_prospect(const struct ypi_duel *d)
{
    struct ypi_prospect best = {.seconds = INFINITY};
    for (int i = 0; i < d->count; i++) {
        const struct contest *c = &d->contests[i];
        for (int side = -1; side <= 1 && !c->decided && !c->one_sided; side += 2) {
            double error = d->rule.error;
            double seconds =
                fmin(seconds_left(d, c->kept, c->kept_count, error * c->share, side),
                     seconds_left(d, c->ratios, c->count, error * YPI_ALL_PAIRS_SHARE, side));
            if (seconds < best.seconds)
                best = (struct ypi_prospect){.seconds = seconds, .slower = side > 0};
        }
    }
    return best;
}

void ypi_duel_words(const struct ypi_duel *d, char out[64])
{
    *out = '\0';
    for (int i = 0; i < d->count; i++) {
        const struct contest *c = &d->contests[i];
        if (c->count == 0 || (c->decided && i + 1 < d->count))
            continue;
        int length = snprintf(out, 64, "%.3f", exp(c->ratio));
        if (isfinite(c->span.low) && isfinite(c->span.high))
            snprintf(out + length, 64 - (size_t)length, " [%.3f, %.3f]", exp(c->span.low),
                     exp(c->span.high));
        return;
    }
}

static enum ypi_compared verdict_of(const struct contest *c, double threshold)
{
    double limit = log1p(threshold);
    if (!excludes(c->span, limit) || c->one_sided || c->no_time[0] || c->no_time[1])
        return YPI_COMPARED_UNSURE;
    if (limit < 0)
        return c->span.high < limit ? YPI_COMPARED_BETTER : YPI_COMPARED_SAME;
    if (c->span.low > limit)
        return YPI_COMPARED_WORSE;
    return c->span.high < -limit ? YPI_COMPARED_BETTER : YPI_COMPARED_SAME;
}

/* What slow pairs meant for the verdict; NULL: there were none. The caller frees. */
static char *disturbed(const struct contest *c, bool sure)
{
    size_t without = c->count - c->kept_count;
    const char *side = c->alone.head > c->alone.base ? "head" : "base";
    if (without == 0)
        return NULL;
    if (!sure && c->one_sided)
        return ypi_format("one side alone has two speeds: in %zu of %zu pairs both together were "
                          "slower by 15 %% or more than in the fastest ones, and mostly %s alone",
                          without, c->count, side);
    const char *what = "the machine was disturbed in %zu of %zu pairs (slower by 15 %% or more "
                       "than in the fastest ones): judged by the others";
    if (sure && c->whole)
        what = "%zu of %zu pairs were slower by 15 %% or more than the fastest ones: judged by "
               "all, as the others agree";
    else if (sure && ypi_undisturbed_leans(c->alone))
        what = "%zu of %zu pairs were slower by 15 %% or more than the fastest ones, mostly as %s "
               "alone was slow: judged by the others";
    else if (!sure && c->kept_count < MANY * without)
        what = "the machine was disturbed in %zu of %zu pairs (slower by 15 %% or more than in "
               "the fastest ones), and the others are too few";
    else if (!sure)
        return NULL;
    return ypi_format(what, without, c->count, side);
}

/* Why there is no verdict, or what else is to be known of it; the caller frees, NULL: nothing. */
static char *note_of(const struct ypi_duel *d, const struct contest *c, bool sure)
{
    if (c->no_time[0] || c->no_time[1])
        return ypi_comparison_no_time(c->no_time[0], c->no_time[1]);
    if (!sure && d->failures >= FAILURES_MOST)
        return ypi_format("%s (in %d pairs)", d->failure, d->failures);
    if (!sure && c->count == 0)
        return ypi_strdup("the time was over before its first pair");
    char *busy = disturbed(c, sure);
    if (busy == NULL && c->in_whole)
        return ypi_strdup("by whole processes, one after the other: it cannot wait in between");
    if (busy == NULL && !sure)
        return ypi_strdup("undecided when the time was over");
    return busy;
}

void ypi_duel_conclude(const struct ypi_duel *d, struct ypi_comparisons *all)
{
    for (int i = 0; i < d->count; i++) {
        const struct contest *c = &d->contests[i];
        struct ypi_comparison *found =
            ypi_comparison_add(all, d->pairing->id, YPI_QUANTITY_TIME, d->paired[i].name);
        found->verdict = verdict_of(c, d->rule.threshold);
        found->pairs = (int)(c->whole ? c->count : c->kept_count);
        found->seconds = d->seconds;
        if (c->count > 0) {
            found->base = c->whole ? median(c->bases, c->count) : median(c->base, c->kept_count);
            found->head = c->whole ? median(c->heads, c->count) : median(c->head, c->kept_count);
            found->ratio = exp(c->ratio);
            found->low = exp(c->span.low);
            found->high = exp(c->span.high);
        }
        found->note = note_of(d, c, found->verdict != YPI_COMPARED_UNSURE);
    }
}

static void clear(struct contest *c)
{
    double *const lists[] = {c->ratios, c->levels, c->bases, c->heads, c->kept, c->base, c->head};
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
        free(lists[i]);
    free(c->keep);
}

void ypi_duel_close(struct ypi_duel *d)
{
    if (d == NULL)
        return;
    for (int i = 0; i < d->count; i++) {
        clear(&d->contests[i]);
    }
    free(d->contests);
    free(d->paired);
    free(d->failure);
    free(d);
}

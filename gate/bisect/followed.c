#include "gate/bisect/followed.h"

#include "base/text/text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* -- what is followed ---------------------------------------------------------------------- */

char *ypi_follow_wish_read(struct ypi_follow_wish *wish, const char *text)
{
    for (int q = YPI_QUANTITY_OUTCOME; q < YPI_QUANTITIES; q++) {
        const char *word = ypi_quantity_name((enum ypi_quantity)q);
        size_t length = strlen(word);
        if (strncmp(text, word, length) != 0)
            continue;
        const char *rest = text + length;
        bool named = strncmp(rest, " of ", 4) == 0 && rest[4] != '\0';
        if (*rest != '\0' && !named)
            continue;
        free(wish->name);
        wish->any = false;
        wish->quantity = (enum ypi_quantity)q;
        wish->name = named ? ypi_strdup(rest + 4) : NULL;
        return NULL;
    }
    struct ypi_text allowed = {0};
    for (int q = YPI_QUANTITY_OUTCOME; q < YPI_QUANTITIES; q++)
        ypi_text_add(&allowed, "%s%s", q == YPI_QUANTITY_OUTCOME ? "one of " : ", ",
                     ypi_quantity_name((enum ypi_quantity)q));
    ypi_text_add(&allowed, ", or \"... of NAME\"");
    return ypi_text_take(&allowed);
}

void ypi_follow_wish_clear(struct ypi_follow_wish *wish)
{
    free(wish->name);
    *wish = (struct ypi_follow_wish){.any = true};
}

static bool is_worse(const struct ypi_comparison *c, bool faster)
{
    return c->verdict == YPI_COMPARED_CHANGED ||
           c->verdict == (faster ? YPI_COMPARED_BETTER : YPI_COMPARED_WORSE);
}

static bool is_wished(const struct ypi_comparison *c, const struct ypi_follow_wish *wish)
{
    if (wish->any)
        return is_worse(c, wish->faster) && (!wish->faster || c->verdict != YPI_COMPARED_CHANGED);
    return c->quantity == wish->quantity &&
           (wish->name == NULL || (c->name != NULL && strcmp(c->name, wish->name) == 0)) &&
           is_worse(c, wish->faster);
}

/* A case that fails has no times. What repeats exactly separates commits without error; the
 * resident set is the least exact. */
static int rank(enum ypi_quantity quantity)
{
    static const int ranks[YPI_QUANTITIES] = {
        [YPI_QUANTITY_CASE] = 0,        [YPI_QUANTITY_OUTCOME] = 1,      [YPI_QUANTITY_PEAK] = 2,
        [YPI_QUANTITY_ALLOCATIONS] = 3, [YPI_QUANTITY_INSTRUCTIONS] = 4, [YPI_QUANTITY_TIME] = 5,
        [YPI_QUANTITY_VALUE] = 6,       [YPI_QUANTITY_ERROR] = 7,        [YPI_QUANTITY_HASH] = 8,
        [YPI_QUANTITY_RESIDENT] = 9};
    return ranks[quantity];
}

static bool is_before(const struct ypi_comparison *a, const struct ypi_comparison *b)
{
    if (a->quantity == YPI_QUANTITY_TIME && b->quantity == YPI_QUANTITY_TIME)
        return fabs(log(a->ratio)) > fabs(log(b->ratio));
    return rank(a->quantity) < rank(b->quantity);
}

const struct ypi_comparison *ypi_followed_choose(const struct ypi_comparisons *all, const char *id,
                                                 const struct ypi_follow_wish *wish)
{
    const struct ypi_comparison *worst = NULL;
    for (int i = 0; i < all->count; i++) {
        const struct ypi_comparison *c = &all->list[i];
        if (is_wished(c, wish) && strcmp(c->id, id) == 0 && (worst == NULL || is_before(c, worst)))
            worst = c;
    }
    return worst;
}

struct ypi_followed ypi_followed_of(const struct ypi_comparison *worst,
                                    const struct ypi_follow_wish *wish)
{
    struct ypi_followed f = {.quantity = worst->quantity,
                             .name = worst->name,
                             .good = worst->base,
                             .bad = worst->head,
                             .near = NAN,
                             .far = NAN,
                             .faster = wish->faster,
                             .middle = !wish->any && worst->quantity == YPI_QUANTITY_VALUE &&
                                       isfinite(worst->base) && isfinite(worst->head)};
    if (f.quantity == YPI_QUANTITY_TIME) {
        f.good = 1;
        f.near = f.faster ? worst->high : worst->low;
        f.far = f.faster ? worst->low : worst->high;
        /* The middle of the pairs can lie outside of their interval, which does not hold 1. */
        f.bad = f.faster ? fmin(worst->ratio, f.near) : fmax(worst->ratio, f.near);
    }
    return f;
}

double ypi_followed_threshold(const struct ypi_followed *f, double part)
{
    return expm1(part * log(f->near));
}

/* -- a commit beside the good one ---------------------------------------------------------- */

static bool is_text(const char *a, const char *b)
{
    return a == NULL || b == NULL ? a == b : strcmp(a, b) == 0;
}

static const struct ypi_comparison *find(const struct ypi_comparisons *all, const char *id,
                                         enum ypi_quantity quantity, const char *name)
{
    for (int i = 0; i < all->count; i++) {
        const struct ypi_comparison *c = &all->list[i];
        if (c->quantity == quantity && strcmp(c->id, id) == 0 && is_text(c->name, name))
            return c;
    }
    return NULL;
}

const struct ypi_comparison *ypi_followed_find(const struct ypi_followed *f,
                                               const struct ypi_comparisons *all, const char *id)
{
    return find(all, id, f->quantity, f->name);
}

static bool is_amount(enum ypi_quantity quantity)
{
    return quantity == YPI_QUANTITY_PEAK || quantity == YPI_QUANTITY_RESIDENT ||
           quantity == YPI_QUANTITY_ALLOCATIONS || quantity == YPI_QUANTITY_INSTRUCTIONS;
}

/* Of amounts the nearer one counts; what else is another one than in good is not good. */
static enum ypi_judged judge_exact(const struct ypi_followed *f, const struct ypi_comparison *c)
{
    if (c == NULL)
        return YPI_JUDGED_GOOD;
    if (is_amount(f->quantity) || f->middle) {
        double part = (c->head - f->good) / (f->bad - f->good);
        return part > 0.5 ? YPI_JUDGED_BAD : YPI_JUDGED_GOOD;
    }
    return is_worse(c, f->faster) ? YPI_JUDGED_BAD : YPI_JUDGED_GOOD;
}

static char *why_no_figure(const struct ypi_followed *f, const struct ypi_comparison *c,
                           const struct ypi_comparison *outcome)
{
    if (c != NULL && c->verdict == YPI_COMPARED_UNSURE)
        return c->note != NULL ? ypi_strdup(c->note) : ypi_strdup("cannot say within the time");
    if (outcome != NULL && outcome->verdict != YPI_COMPARED_SAME)
        return ypi_format("the case does not pass there: %s",
                          outcome->head_text != NULL ? outcome->head_text : "it fails at times");
    if (f->name != NULL)
        return ypi_format("it has no %s of %s", ypi_quantity_name(f->quantity), f->name);
    return ypi_format("it has no %s", ypi_quantity_name(f->quantity));
}

enum ypi_judged ypi_followed_judge(const struct ypi_followed *f, const struct ypi_comparisons *all,
                                   const char *id, char **reason)
{
    const struct ypi_comparison *c = ypi_followed_find(f, all, id);
    const struct ypi_comparison *outcome = find(all, id, YPI_QUANTITY_OUTCOME, NULL);
    bool time = f->quantity == YPI_QUANTITY_TIME;
    /* What a case that ended otherwise did not come to is not reported at all. */
    bool ended = f->quantity == YPI_QUANTITY_OUTCOME || outcome == NULL ||
                 outcome->verdict == YPI_COMPARED_SAME;
    bool there = c == NULL || (c->verdict != YPI_COMPARED_GONE && c->verdict != YPI_COMPARED_NEW &&
                               c->verdict != YPI_COMPARED_UNSURE);
    *reason = NULL;
    if (!there || !ended || (time && c == NULL)) {
        *reason = why_no_figure(f, c, outcome);
        return YPI_JUDGED_SKIPPED;
    }
    if (!time)
        return judge_exact(f, c);
    return is_worse(c, f->faster) ? YPI_JUDGED_BAD : YPI_JUDGED_GOOD;
}

struct ypi_followed_part ypi_followed_part(const struct ypi_followed *f,
                                           const struct ypi_comparison *own)
{
    struct ypi_followed_part p = {NAN, NAN, NAN};
    if (f->quantity == YPI_QUANTITY_TIME) {
        if (own == NULL || !(own->ratio > 0) || !(own->low > 0))
            return p;
        double low = log(f->faster ? own->high : own->low);
        double high = log(f->faster ? own->low : own->high);
        p.part = log(own->ratio) / log(f->bad);
        p.low = low / log(f->far);
        p.high = high / log(f->near);
        return p;
    }
    if (is_amount(f->quantity) || f->middle)
        p.part = own != NULL ? (own->head - own->base) / (f->bad - f->good) : 0;
    p.low = p.high = p.part;
    return p;
}

static enum ypi_judged judge_own_time(const struct ypi_followed *f,
                                      const struct ypi_comparison *own)
{
    if (own == NULL || !(own->low > 0))
        return YPI_JUDGED_SKIPPED;
    double whole = log(f->near);
    double low = log(f->faster ? own->high : own->low) / whole;
    double high = log(f->faster ? own->low : own->high) / whole;
    if (low <= YPI_FOLLOWED_STEP)
        return YPI_JUDGED_SKIPPED;
    if (low > YPI_FOLLOWED_MOST)
        return YPI_JUDGED_BAD;
    return high < 1 ? YPI_JUDGED_GOOD : YPI_JUDGED_UNKNOWN;
}

enum ypi_judged ypi_followed_judge_own(const struct ypi_followed *f,
                                       const struct ypi_comparison *own)
{
    if (f->quantity == YPI_QUANTITY_TIME)
        return judge_own_time(f, own);
    if (is_amount(f->quantity) || f->middle) {
        double part = ypi_followed_part(f, own).part;
        return !(part > 0)                ? YPI_JUDGED_SKIPPED
               : part < YPI_FOLLOWED_MOST ? YPI_JUDGED_GOOD
                                          : YPI_JUDGED_BAD;
    }
    return own != NULL && is_worse(own, f->faster) ? YPI_JUDGED_BAD : YPI_JUDGED_SKIPPED;
}

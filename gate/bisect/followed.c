#include "gate/bisect/followed.h"

#include "base/text/text.h"

#include <math.h>
#include <string.h>

/* -- what is followed ---------------------------------------------------------------------- */

static bool is_worse(const struct ypi_comparison *c)
{
    return c->verdict == YPI_COMPARED_WORSE || c->verdict == YPI_COMPARED_CHANGED;
}

/* A case that fails has no times; the resident set is the least exact. */
static int rank(enum ypi_quantity quantity)
{
    return quantity == YPI_QUANTITY_RESIDENT ? YPI_QUANTITIES : (int)quantity;
}

static bool is_before(const struct ypi_comparison *a, const struct ypi_comparison *b)
{
    if (a->quantity == YPI_QUANTITY_TIME && b->quantity == YPI_QUANTITY_TIME)
        return a->ratio > b->ratio;
    return rank(a->quantity) < rank(b->quantity);
}

const struct ypi_comparison *ypi_followed_choose(const struct ypi_comparisons *all, const char *id)
{
    const struct ypi_comparison *worst = NULL;
    for (int i = 0; i < all->count; i++) {
        const struct ypi_comparison *c = &all->list[i];
        if (is_worse(c) && strcmp(c->id, id) == 0 && (worst == NULL || is_before(c, worst)))
            worst = c;
    }
    return worst;
}

struct ypi_followed ypi_followed_of(const struct ypi_comparison *worst)
{
    struct ypi_followed f = {worst->quantity, worst->name, worst->base, worst->head};
    if (f.quantity == YPI_QUANTITY_TIME) {
        f.good = 1;
        f.bad = fmax(worst->ratio, worst->low); /* the interval is above 1 */
    }
    return f;
}

double ypi_followed_threshold(const struct ypi_followed *f, double part)
{
    return expm1(part * log(f->bad));
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
    if (c == NULL || !is_worse(c))
        return YPI_JUDGED_GOOD;
    if (!is_amount(f->quantity))
        return YPI_JUDGED_BAD;
    return c->head > (f->good + f->bad) / 2 ? YPI_JUDGED_BAD : YPI_JUDGED_GOOD;
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
    return c->verdict == YPI_COMPARED_WORSE ? YPI_JUDGED_BAD : YPI_JUDGED_GOOD;
}

double ypi_followed_part(const struct ypi_followed *f, const struct ypi_comparison *own)
{
    if (f->quantity == YPI_QUANTITY_TIME)
        return own != NULL && own->ratio > 0 ? log(own->ratio) / log(f->bad) : NAN;
    if (!is_amount(f->quantity))
        return NAN;
    return own != NULL ? (own->head - own->base) / (f->bad - f->good) : 0;
}

/* What is worse in the bad revision, and whether another one is nearer to the good or to the bad
 * one. */
#pragma once

#include "gate/bisect/search.h"
#include "gate/comparison.h"

/* What the user asks to be followed. */
struct ypi_follow_wish {
    bool faster;                /* what became better is looked for */
    bool any;                   /* no quantity is named; else: */
    enum ypi_quantity quantity; /* this one */
    char *name;                 /* of that measurement or value, owned; NULL: any */
};

/* Reads "time", "time of NAME", "instructions", "value of NAME", ... NULL, or what is allowed,
 * which the caller frees. */
char *ypi_follow_wish_read(struct ypi_follow_wish *wish, const char *text);
void ypi_follow_wish_clear(struct ypi_follow_wish *wish);

struct ypi_followed {
    enum ypi_quantity quantity;
    const char *name; /* of the measurement, value or memory; NULL: none; the comparison's */
    double good, bad; /* figures; of a time 1 and how many times as long it takes */
    double near, far; /* of a time: the ends of the interval of `bad`, near the one nearest to 1 */
    bool faster;      /* bad is better */
    bool middle;      /* a value: the nearer one of both counts, not whether it is good's */
};

/* The worst of the case `id` that `all` finds, good beside bad: a failure, else the first of peak
 * memory, allocations and instructions, which repeat exactly, else the time that grew most, else
 * the first other figure, the resident set last; of what is wished for alone. NULL: nothing is
 * worse. */
const struct ypi_comparison *ypi_followed_choose(const struct ypi_comparisons *all, const char *id,
                                                 const struct ypi_follow_wish *wish);
struct ypi_followed ypi_followed_of(const struct ypi_comparison *worst,
                                    const struct ypi_follow_wish *wish);

/* The threshold of a duel (duel.h) that asks whether a time is beyond `part` of the way from good
 * to the nearest that bad can be, measured in logarithms. A part between 0 and 1 lies between good
 * and bad as surely as the interval holds the ratio. */
double ypi_followed_threshold(const struct ypi_followed *f, double part);

/* What `all`, good beside a commit, says of the case's followed quantity; of a time, with the
 * threshold of a half. What became of it that was the reason to skip it is *reason, else NULL: the
 * caller frees. */
enum ypi_judged ypi_followed_judge(const struct ypi_followed *f, const struct ypi_comparisons *all,
                                   const char *id, char **reason);

/* The followed quantity in `all`; NULL: it says nothing of it, which for an exact figure means that
 * it is the same. */
const struct ypi_comparison *ypi_followed_find(const struct ypi_followed *f,
                                               const struct ypi_comparisons *all, const char *id);

/* How much of the way from good to bad the step between two commits goes: 1 is all. NaN where that
 * has no meaning, as between two hashes. */
struct ypi_followed_part {
    double part, low, high; /* low and high are `part` where the figures are exact */
};
struct ypi_followed_part ypi_followed_part(const struct ypi_followed *f,
                                           const struct ypi_comparison *own);

/* What the step between a commit and its parent says, `own` being the followed quantity between the
 * two (NULL: the same). BAD: it goes most of the way; GOOD: it goes a part for certain, and not the
 * whole; UNKNOWN: the one or the other; SKIPPED: it is not certain that there is a step at all. */
enum ypi_judged ypi_followed_judge_own(const struct ypi_followed *f,
                                       const struct ypi_comparison *own);

/* Parts of the way, for the duel between both: beyond the first it is most of it, beyond the second
 * there is a step. */
#define YPI_FOLLOWED_MOST 0.75
#define YPI_FOLLOWED_STEP 0.25

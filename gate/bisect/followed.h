/* What is worse in the bad revision, and whether another one is nearer to the good or to the bad
 * one. */
#pragma once

#include "gate/bisect/search.h"
#include "gate/comparison.h"

struct ypi_followed {
    enum ypi_quantity quantity;
    const char *name; /* of the measurement, value or memory; NULL: none; the comparison's */
    double good, bad; /* figures; of a time 1 and how many times as long it takes */
};

/* The worst of the case `id` that `all` finds, good beside bad: a failure, else the time that grew
 * most, else the first exact figure, the resident set last. NULL: nothing is worse. */
const struct ypi_comparison *ypi_followed_choose(const struct ypi_comparisons *all, const char *id);
struct ypi_followed ypi_followed_of(const struct ypi_comparison *worst);

/* Of a time: slower than good by more than this is beyond `part` of the way to bad, measured in
 * logarithms: a half is the square root of the ratio. */
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
double ypi_followed_part(const struct ypi_followed *f, const struct ypi_comparison *own);

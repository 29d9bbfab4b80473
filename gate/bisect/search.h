/* Which commit to try next, so that the first bad one is found in few steps. Commits are numbers;
 * nothing here knows of git. */
#pragma once

#include <stdbool.h>

enum ypi_judged {
    YPI_JUDGED_UNKNOWN = 0,
    YPI_JUDGED_GOOD,
    YPI_JUDGED_BAD,
    YPI_JUDGED_SKIPPED, /* nothing can be said of it */
};

/* The commits behind the good one, each behind its parents; the last one is bad. */
struct ypi_search {
    int count;
    int *first;   /* count + 1: where the parents of each begin in `parents` */
    int *parents; /* those that are behind the good one too */
    enum ypi_judged *judged;
    int bad; /* the bad one before which the search goes on */
};

/* No commit yet; all fields are owned. */
void ypi_search_add(struct ypi_search *s, const int *parents, int count);
/* The last one that was added is the bad one. */
void ypi_search_begin(struct ypi_search *s);
void ypi_search_clear(struct ypi_search *s);

/* Which may be the first bad one: the bad one and what it has behind it, without the good ones and
 * what those have behind them. `which` has room for all; NULL: their number alone. */
int ypi_search_left(const struct ypi_search *s, bool *which);

/* The one whose verdict halves what is left, a merge counted with all that it brings; where some
 * are skipped one that is also far from those, as what is near them is likely to be the same. -1:
 * nothing is left to be tried. */
int ypi_search_next(const struct ypi_search *s);
void ypi_search_judge(struct ypi_search *s, int commit, enum ypi_judged judged);

/* Steps until one of `left` commits is left, if each halves them. */
int ypi_search_steps(int left);

/* Takes from what is left (of an error rate) the part for one of `looks`. As each takes from what
 * those before it have left, all of them together never take more than there was, however many they
 * become. */
double ypi_search_spend(double *left, int looks);

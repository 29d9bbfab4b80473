#include "gate/bisect/search.h"

#include "base/text/text.h"

#include <stdlib.h>

void ypi_search_add(struct ypi_search *s, const int *parents, int count)
{
    int at = s->count > 0 ? s->first[s->count] : 0;
    s->first = ypi_realloc(s->first, (size_t)s->count + 2, sizeof *s->first);
    s->parents = ypi_realloc(s->parents, (size_t)at + (size_t)count + 1, sizeof *s->parents);
    for (int i = 0; i < count; i++)
        s->parents[at + i] = parents[i];
    s->first[s->count++] = at;
    s->first[s->count] = at + count;
}

void ypi_search_begin(struct ypi_search *s)
{
    s->judged = ypi_calloc((size_t)s->count + 1, sizeof *s->judged);
    s->bad = s->count - 1;
    s->judged[s->bad] = YPI_JUDGED_BAD;
}

void ypi_search_clear(struct ypi_search *s)
{
    free(s->first);
    free(s->parents);
    free(s->judged);
    *s = (struct ypi_search){0};
}

/* What is marked up to `from` marks its parents: it and all that is behind it, one look at each. */
static void mark_behind(const struct ypi_search *s, bool *marked, int from)
{
    for (int i = from; i >= 0; i--)
        for (int p = s->first[i]; marked[i] && p < s->first[i + 1]; p++)
            marked[s->parents[p]] = true;
}

static int keep_left(const struct ypi_search *s, bool *which)
{
    bool *good = ypi_calloc((size_t)s->count, sizeof *good);
    int count = 0;
    which[s->bad] = true;
    mark_behind(s, which, s->bad);
    for (int i = 0; i < s->count; i++)
        good[i] = s->judged[i] == YPI_JUDGED_GOOD;
    mark_behind(s, good, s->count - 1);
    for (int i = 0; i < s->count; i++) {
        which[i] = which[i] && !good[i];
        count += which[i];
    }
    free(good);
    return count;
}

int ypi_search_left(const struct ypi_search *s, bool *which)
{
    bool *own = ypi_calloc((size_t)s->count, sizeof *own);
    int count = keep_left(s, own);
    for (int i = 0; i < s->count && which != NULL; i++)
        which[i] = own[i];
    free(own);
    return count;
}

static int count_behind(const struct ypi_search *s, const bool *left, int commit)
{
    bool *behind = ypi_calloc((size_t)s->count, sizeof *behind);
    int count = 0;
    behind[commit] = true;
    mark_behind(s, behind, commit);
    for (int i = 0; i <= commit; i++)
        count += behind[i] && left[i];
    free(behind);
    return count;
}

/* How many are left if this one is bad. Only behind a merge they have to be counted one by one. */
static int weigh(const struct ypi_search *s, const bool *left, const int *weights, int commit)
{
    int parent = -1;
    int count = 0;
    for (int p = s->first[commit]; p < s->first[commit + 1]; p++)
        if (left[s->parents[p]]) {
            parent = s->parents[p];
            count++;
        }
    if (count > 1)
        return count_behind(s, left, commit);
    return parent >= 0 ? weights[parent] + 1 : 1;
}

static int smaller(int a, int b)
{
    return a < b ? a : b;
}

/* What the verdict takes away at least, but no more than twice how far off the nearest skipped one
 * is: that is the larger, the more of those there are. */
static int score(const struct ypi_search *s, const bool *left, const int *weights, int count, int i)
{
    int best = smaller(weights[i], count - weights[i]);
    for (int k = 0; k < s->count; k++)
        if (left[k] && s->judged[k] == YPI_JUDGED_SKIPPED)
            best = smaller(best, 2 * abs(weights[i] - weights[k]));
    return best;
}

static int best_of(const struct ypi_search *s, const bool *left, const int *weights, int count)
{
    int best = -1;
    int most = -1;
    for (int i = 0; i < s->bad; i++) {
        if (!left[i] || s->judged[i] != YPI_JUDGED_UNKNOWN)
            continue;
        int own = score(s, left, weights, count, i);
        if (own > most) {
            best = i;
            most = own;
        }
    }
    return best;
}

int ypi_search_next(const struct ypi_search *s)
{
    bool *left = ypi_calloc((size_t)s->count, sizeof *left);
    int *weights = ypi_calloc((size_t)s->count, sizeof *weights);
    int count = keep_left(s, left);
    for (int i = 0; i <= s->bad; i++)
        if (left[i])
            weights[i] = weigh(s, left, weights, i);
    int best = best_of(s, left, weights, count);
    free(weights);
    free(left);
    return best;
}

void ypi_search_judge(struct ypi_search *s, int commit, enum ypi_judged judged)
{
    s->judged[commit] = judged;
    if (judged == YPI_JUDGED_BAD)
        s->bad = commit;
}

int ypi_search_steps(int left)
{
    int steps = 0;
    for (long long reached = 1; reached < left; reached *= 2)
        steps++;
    return steps;
}

double ypi_search_spend(double *left, int looks)
{
    double share = *left / looks;
    *left -= share;
    return share;
}

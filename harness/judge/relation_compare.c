/* The kinds of relations: ratios and hashes. */
#include "harness/judge/relation_internal.h"

#include "base/text/text.h"

#include <stdlib.h>

/* -- ratios ------------------------------------------------------------------------------- */

/* False when a time, or share, is missing, which is then reported. */
static bool compare(struct ypi_relation_work *w, int of, int to, struct ypi_relation_worst *worst)
{
    bool shares = w->relation->kind == YP_RELATION_SHARE_RATIO_OVER;
    const struct ypi_estimate *(*read)(struct ypi_relation_work *, int) =
        shares ? ypi_relation_share : ypi_relation_time;
    const struct ypi_estimate *x = read(w, of);
    const struct ypi_estimate *y = x != NULL ? read(w, to) : NULL;
    const int cases[] = {of, to};
    if (y == NULL)
        return false;
    /* The larger a share, but the smaller a time, the faster is what took it. */
    const struct ypi_estimate *above = shares ? x : y;
    const struct ypi_estimate *below = shares ? y : x;
    struct ypi_spread ratio = ypi_spread_of(above->median / below->median, above->low / below->high,
                                            above->high / below->low);
    ypi_relation_consider(w, worst, ratio, cases, 2,
                          ypi_format("'%s' against '%s'", ypi_relation_case(w, of)->id,
                                     ypi_relation_case(w, to)->id));
    return true;
}

static bool find_one(struct ypi_relation_work *w, const char *node, int *out)
{
    struct ypi_relation_cases list = {0};
    bool found = ypi_relation_find(w, node, &list);
    if (found && list.count > 1)
        found = ypi_relation_misuse(
            w, "'%s' names %d cases, '%s' and '%s' among them: allowed is one", node, list.count,
            ypi_relation_case(w, list.at[0])->id, ypi_relation_case(w, list.at[1])->id);
    if (found)
        *out = list.at[0];
    free(list.at);
    return found;
}

static bool find_both(struct ypi_relation_work *w, int *of, int *to)
{
    if (!find_one(w, w->relation->of, of) || !find_one(w, w->relation->to, to))
        return false;
    return *of != *to ||
           ypi_relation_misuse(w, "'%s' and '%s' are both '%s': allowed are two cases",
                               w->relation->of, w->relation->to, ypi_relation_case(w, *of)->id);
}

void ypi_relation_ratio(struct ypi_relation_work *w)
{
    int of = 0;
    int to = 0;
    struct ypi_relation_worst worst = {0};
    if (find_both(w, &of, &to) && compare(w, of, to, &worst))
        ypi_relation_add_worst(w, &worst, "pairs");
    free(worst.note);
}

void ypi_relation_value_ratio(struct ypi_relation_work *w)
{
    int of = 0;
    int to = 0;
    double x = 0;
    double y = 0;
    if (find_both(w, &of, &to) && ypi_relation_value(w, of, &x) && ypi_relation_value(w, to, &y))
        ypi_relation_add_value(w, ypi_spread_of(x / y, x / y, x / y));
}

/* The case that is like the one at `i` but stands at b. */
static bool find_partner(struct ypi_relation_work *w, const struct ypi_relation_cases *list, int i,
                         int *out)
{
    const struct yp_relation *relation = w->relation;
    for (int k = 0; k < list->count; k++) {
        *out = list->at[k];
        const struct yp_case *other = ypi_relation_case(w, *out);
        if (*out != i && ypi_relation_stands_at(other, relation->axis, relation->b) &&
            ypi_relation_differ_only_in(ypi_relation_case(w, i), other, relation->axis))
            return true;
    }
    return ypi_relation_missing(
        w, ypi_format("not selected or not declared: the case like '%s' with %s=%s",
                      ypi_relation_case(w, i)->id, relation->axis, relation->b));
}

static bool compare_pairs(struct ypi_relation_work *w, const struct ypi_relation_cases *list,
                          struct ypi_relation_worst *worst)
{
    const struct yp_relation *relation = w->relation;
    for (int k = 0; k < list->count; k++) {
        int of = list->at[k];
        int to = 0;
        if (!ypi_relation_stands_at(ypi_relation_case(w, of), relation->axis, relation->a))
            continue;
        if (!find_partner(w, list, of, &to) || !compare(w, of, to, worst))
            return false;
    }
    return worst->candidates > 0 ||
           ypi_relation_missing(
               w, ypi_format("not selected or not declared: a case of '%s' with %s=%s",
                             relation->of, relation->axis, relation->a));
}

static bool check_ends(struct ypi_relation_work *w, const struct ypi_relation_cases *list)
{
    for (int k = 0; k < list->count; k++) {
        const struct yp_case *c = ypi_relation_case(w, list->at[k]);
        if (!ypi_relation_has_axis(w, c, true) || !ypi_relation_has_end(w, c, w->relation->a) ||
            !ypi_relation_has_end(w, c, w->relation->b))
            return false;
    }
    return true;
}

void ypi_relation_ratio_over(struct ypi_relation_work *w)
{
    struct ypi_relation_cases list = {0};
    struct ypi_relation_worst worst = {0};
    if (ypi_relation_find(w, w->relation->of, &list) && check_ends(w, &list) &&
        compare_pairs(w, &list, &worst))
        ypi_relation_add_worst(w, &worst, "pairs");
    free(worst.note);
    free(list.at);
}

/* -- hashes ------------------------------------------------------------------------------- */

static bool has_hash(struct ypi_relation_work *w, int i)
{
    if (!ypi_relation_has_result(w, i))
        return false;
    const struct ypi_result *r = w->input->results[i];
    if (r->has_hash)
        return true;
    if (r->outcome == YPI_XFAILED)
        return ypi_relation_missing(w, ypi_format("'%s' has no result: xfailed before yp_data_hash",
                                                  ypi_relation_case(w, i)->id));
    return ypi_relation_misuse(w, "'%s' has no data hash: allowed are cases that call yp_data_hash",
                               ypi_relation_case(w, i)->id);
}

static bool all_have_hashes(struct ypi_relation_work *w, const struct ypi_relation_cases *list)
{
    for (int k = 0; k < list->count; k++)
        if (!has_hash(w, list->at[k]))
            return false;
    return list->count > 1 ||
           ypi_relation_missing(w, ypi_format("no case to compare '%s' with",
                                              ypi_relation_case(w, list->at[0])->id));
}

static void compare_hashes(struct ypi_relation_work *w, const struct ypi_relation_cases *list)
{
    uint64_t *seen = ypi_calloc((size_t)list->count, sizeof *seen);
    int count = 0;
    int second = 0; /* the first case whose hash is another than that of the first of all */
    for (int k = 0; k < list->count; k++) {
        uint64_t hash = w->input->results[list->at[k]]->hash;
        int known = 0;
        while (known < count && seen[known] != hash)
            known++;
        if (known < count)
            continue;
        seen[count++] = hash;
        if (count == 2)
            second = k;
    }
    const struct yp_test *test = w->r->c->test;
    if (count > 1)
        ypi_result_fail(w->r, YPI_CAUSE_EXPECTATION, test->file, test->line,
                        "the data of '%s' and of '%s' differ: %016llx and %016llx (%d hashes in "
                        "%d cases)",
                        ypi_relation_case(w, list->at[0])->id,
                        ypi_relation_case(w, list->at[second])->id, (unsigned long long)seen[0],
                        (unsigned long long)seen[1], count, list->count);
    free(seen);
    ypi_relation_add_value(w, ypi_spread_of(count, count, count));
}

void ypi_relation_same_hash(struct ypi_relation_work *w)
{
    struct ypi_relation_cases list = {0};
    if (ypi_relation_find(w, w->relation->of, &list) &&
        ypi_relation_find(w, w->relation->to, &list) && all_have_hashes(w, &list))
        compare_hashes(w, &list);
    free(list.at);
}

/* What each case is held to: the budgets of its test, of its name, of the test's function and of a
 * file. */
#include "harness/collect/internal.h"

#include "base/text/text.h"
#include "harness/vocabulary/budget.h"
#include "harness/vocabulary/relation.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

struct yp_budgets {
    struct yp_budget *of; /* owned, with their texts */
    int count;
};

/* -- declared lists ------------------------------------------------------------------------ */

int ypi_budget_count(const struct yp_budget *list, int max)
{
    int count = 0;
    while (count < max && list[count].kind != YP_BUDGET_NONE)
        count++;
    return count;
}

const char *ypi_budget_device(const struct yp_budget *list, int i)
{
    while (i >= 0 && list[i].kind != YP_BUDGET_FOR_DEVICE)
        i--;
    return i >= 0 ? list[i].name : NULL;
}

bool ypi_budget_is_for(const struct yp_budget *list, int i, const struct yp_case *c)
{
    const char *device = c->device[0] != '\0' ? c->device : "cpu";
    const char *of = ypi_budget_device(list, i);
    return of == NULL || strncmp(device, of, strlen(of)) == 0;
}

/* -- lists of a case ----------------------------------------------------------------------- */

static char *copy(const char *text)
{
    return text != NULL ? ypi_strdup(text) : NULL;
}

static void clear(struct yp_budget *b)
{
    free((char *)(uintptr_t)b->name);
    free((char *)(uintptr_t)b->required);
}

void ypi_budgets_free(const struct yp_budget *budgets)
{
    struct yp_budget *own = (struct yp_budget *)(uintptr_t)budgets;
    for (struct yp_budget *b = own; b != NULL && b->kind != YP_BUDGET_NONE; b++)
        clear(b);
    free(own);
}

/* With one of YP_BUDGET_NONE behind them. */
static void append(struct yp_budgets *out, const struct yp_budget *b)
{
    out->of = ypi_realloc(out->of, (size_t)out->count + 2, sizeof *out->of);
    struct yp_budget *own = &out->of[out->count++];
    *own = *b;
    own->name = copy(b->name);
    own->required = copy(b->required);
    out->of[out->count] = (struct yp_budget){0};
}

static struct yp_budget *find(struct yp_budgets *all, const struct yp_budget *like)
{
    for (int i = 0; i < all->count; i++)
        if (ypi_budget_same(&all->of[i], like))
            return &all->of[i];
    return NULL;
}

/* In the place of the one that is of the same thing, else behind all. */
void ypi_budgets_put(struct yp_budgets *all, const struct yp_budget *b)
{
    struct yp_budget *before = find(all, b);
    if (before == NULL) {
        append(all, b);
        return;
    }
    free((char *)(uintptr_t)before->required);
    before->limit = b->limit;
    before->required = copy(b->required);
}

void ypi_budgets_add_learned(struct yp_case *c, const struct yp_budget *b)
{
    struct yp_budgets all = {.of = (struct yp_budget *)(uintptr_t)c->budgets};
    while (all.of != NULL && all.of[all.count].kind != YP_BUDGET_NONE)
        all.count++;
    if (all.count < YPI_MAX_BUDGETS && find(&all, b) == NULL)
        append(&all, b);
    c->budgets = all.of;
}

/* The budget at `i` of a declared list, with the requirement behind it. */
static struct yp_budget whole(const struct yp_budget *list, int count, int i)
{
    struct yp_budget b = list[i];
    if (i + 1 < count && list[i + 1].kind == YP_BUDGET_REQUIRED)
        b.required = list[i + 1].name;
    return b;
}

static void put_declared(struct yp_budgets *all, const struct yp_case *c,
                         const struct yp_budget *list, int max)
{
    int count = ypi_budget_count(list, max);
    for (int i = 0; i < count; i++) {
        const struct yp_budget b = whole(list, count, i);
        if (!ypi_budget_is_mark(b.kind) && ypi_budget_is_for(list, i, c))
            ypi_budgets_put(all, &b);
    }
}

/* -- by the test's function ---------------------------------------------------------------- */

void ypi_budgets_add(struct yp_budgets *out, const struct yp_budget *list, int count)
{
    for (int i = 0; i < count; i++) {
        const struct yp_budget b = whole(list, count, i);
        if (b.kind != YP_BUDGET_REQUIRED)
            append(out, &b);
    }
}

/* The caller frees; NULL: nothing. */
static char *problem_of(const struct yp_case *c, struct yp_budgets *given, int i)
{
    const struct yp_budget *b = &given->of[i];
    bool none = isnan(b->limit);
    const struct yp_budget tried = {.kind = b->kind,
                                    .name = b->name,
                                    .memory = b->memory,
                                    .counter = b->counter,
                                    .quantile = b->quantile,
                                    .limit = none ? 0 : b->limit};
    if (b->kind == YP_BUDGET_NONE || ypi_budget_is_mark(b->kind))
        return ypi_strdup(
            "is none of a case: yp_for_device and yp_budget_file stand in YP_BUDGETS alone");
    if (find(given, b) != b)
        return ypi_strdup("is of a thing that one before it is of");
    char *problem = ypi_budget_problem(c->test, &tried);
    if (problem == NULL && c->test->relation.kind != YP_RELATION_NONE)
        problem = ypi_relation_budget_problem(c->test, b);
    return problem;
}

static bool check_given(struct ypi_collecting *g, const struct yp_case *c, struct yp_budgets *given)
{
    bool right = true;
    for (int i = 0; i < given->count; i++) {
        char *problem = problem_of(c, given, i);
        if (problem != NULL)
            ypi_declaration_error(g, ".budgets_of, for %s: budget %d %s", c->id, i + 1, problem);
        right = right && problem == NULL;
        free(problem);
    }
    return right;
}

static void take_away_none(struct yp_budgets *all)
{
    int left = 0;
    for (int i = 0; i < all->count; i++) {
        if (isnan(all->of[i].limit))
            clear(&all->of[i]);
        else
            all->of[left++] = all->of[i];
    }
    all->count = left;
    if (all->of != NULL)
        all->of[left] = (struct yp_budget){0};
}

static bool put_given(struct ypi_collecting *g, struct yp_case *c, struct yp_budgets *all)
{
    struct yp_budgets given = {0};
    int errors = ypi_filter_errors();
    if (g->test->budgets_of != NULL)
        g->test->budgets_of(c, &given);
    bool right = ypi_filter_errors() == errors && check_given(g, c, &given);
    for (int i = 0; right && i < given.count; i++)
        ypi_budgets_put(all, &given.of[i]);
    take_away_none(all);
    ypi_budgets_free(given.of);
    return right;
}

/* -- all of them --------------------------------------------------------------------------- */

bool ypi_resolve_budgets(struct ypi_collecting *g, struct yp_case *c)
{
    struct yp_budgets all = {0};
    put_declared(&all, c, g->test->budgets, YP_MAX_BUDGETS);
    if (c->decl != NULL)
        put_declared(&all, c, c->decl->budgets, YP_MAX_CASE_BUDGETS);
    bool right = put_given(g, c, &all);
    ypi_budgets_put_file(g, c, &all);
    if (right && all.count > YP_MAX_BUDGETS) {
        ypi_declaration_error(g, "%s has %d budgets: allowed are %d", c->id, all.count,
                              YP_MAX_BUDGETS);
        right = false;
    }
    g->misfiltered = !right;
    c->budgets = all.of;
    if (!right) {
        ypi_budgets_free(c->budgets);
        c->budgets = NULL;
    }
    return right;
}

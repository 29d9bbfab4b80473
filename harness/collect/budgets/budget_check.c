/* What is allowed among the budgets of a declaration. */
#include "harness/collect/internal.h"

#include "base/text/text.h"
#include "harness/vocabulary/budget.h"
#include "harness/vocabulary/kinds/kind.h"
#include "harness/vocabulary/relation.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* -- one budget ---------------------------------------------------------------------------- */

static char *limit_problem(const struct yp_budget *b)
{
    bool any_sign = ypi_budget_kind(b->kind)->any_sign;
    if (isfinite(b->limit) && (any_sign || b->limit >= 0))
        return NULL;
    return ypi_format("has the limit %g: allowed is any finite number%s", b->limit,
                      any_sign ? "" : " from 0");
}

char *ypi_budget_problem(const struct yp_test *test, const struct yp_budget *b)
{
    const struct ypi_budget_kind *k = ypi_budget_kind(b->kind);
    if (k->memory == NULL && (b->name == NULL || b->name[0] == '\0'))
        return ypi_strdup(b->kind == YP_BUDGET_REQUIRED ? "is required for no reason"
                          : b->kind == YP_BUDGET_FILE   ? "names no file"
                                                        : "names no measurement, value or check");
    char *problem = limit_problem(b);
    if (problem != NULL)
        return problem;
    if (k->alone != NULL && test->relation.kind == YP_RELATION_NONE)
        return ypi_strdup(k->alone);
    if (k->detail == YPI_QUANTILE && !(b->quantile > 0 && b->quantile < 1))
        return ypi_format("is of the percentile %g: allowed is more than 0 and less than 100",
                          b->quantile * 100);
    if (k->detail == YPI_COUNTER && b->counter >= YP_COUNTERS)
        return ypi_format("is of counter %d: allowed are those of enum yp_counter",
                          (int)b->counter);
    if (test->command != NULL && k->inside)
        return ypi_format("(%s) is of what goes on inside a process: a command's cannot be seen",
                          k->name);
    if (k->memory != NULL && ((int)b->memory < YP_HOST || b->memory > YP_HEAP))
        return ypi_format("is of memory %d: allowed are those of enum yp_memory_kind",
                          (int)b->memory);
    if (k->memory != NULL && b->memory == YP_HEAP && k->host_only)
        return ypi_format("(%s) is of the heap: allowed is YP_HOST", k->name);
    if (k->memory != NULL && b->memory == YP_HEAP && !test->heap)
        return ypi_format("(%s) is of the heap: the test needs .heap = true", k->name);
    if (k->speed && test->parallel)
        return ypi_strdup("is one of speed, but .parallel says that nothing is timed");
    return NULL;
}

/* -- a declared list ----------------------------------------------------------------------- */

/* Of the test, or of a named case: `of` is then "case 'small': ", else "". */
struct list {
    const char *of;
    const struct yp_budget *budgets;
    int count;
};

/* As a reader counts them: a requirement is none of its own. */
static int number(const struct list *l, int at)
{
    int count = 0;
    for (int i = 0; i <= at; i++)
        count += l->budgets[i].kind != YP_BUDGET_REQUIRED;
    return count;
}

/* Two limits of one thing: only one of them would be heard of. */
static void check_alone(struct ypi_collecting *g, const struct list *l, int i)
{
    const char *of = ypi_budget_device(l->budgets, i);
    for (int k = 0; k < i; k++) {
        const char *to = ypi_budget_device(l->budgets, k);
        bool together = of == NULL || to == NULL || strcmp(of, to) == 0;
        if (together && ypi_budget_same(&l->budgets[k], &l->budgets[i]))
            ypi_declaration_error(g, "%sbudgets %d and %d are of one thing", l->of, number(l, k),
                                  number(l, i));
    }
}

static void check_device(struct ypi_collecting *g, const struct list *l, int i)
{
    const char *device = l->budgets[i].name != NULL ? l->budgets[i].name : "";
    const char *all = g->test->devices != NULL ? g->test->devices : "cpu";
    if (strchr(device, ' ') != NULL || !ypi_has_word(all, device, strlen(device)))
        ypi_declaration_error(g, "%sbudget %d and those behind it are for device '%s': it has %s",
                              l->of, number(l, i), device, all);
}

static void check_required(struct ypi_collecting *g, const struct list *l, int i)
{
    if (i == 0 || ypi_budget_is_mark(l->budgets[i - 1].kind))
        ypi_declaration_error(g, "%sthe reason '%s' of yp_required is of no budget", l->of,
                              l->budgets[i].name != NULL ? l->budgets[i].name : "");
}

static void check_file(struct ypi_collecting *g, const struct list *l, int i)
{
    bool first = l->of[0] == '\0';
    for (int k = 0; k < i; k++)
        first = first && l->budgets[k].kind != YP_BUDGET_FILE;
    if (!first)
        ypi_declaration_error(g, "%sbudget %d is a file: allowed is one, in .budgets of the test",
                              l->of, number(l, i));
}

static void check_list(struct ypi_collecting *g, const struct list *l)
{
    for (int i = 0; i < l->count; i++) {
        char *problem = ypi_budget_problem(g->test, &l->budgets[i]);
        if (problem != NULL)
            ypi_declaration_error(g, "%sbudget %d %s", l->of, number(l, i), problem);
        free(problem);
        if (l->budgets[i].kind == YP_BUDGET_FOR_DEVICE)
            check_device(g, l, i);
        else if (l->budgets[i].kind == YP_BUDGET_REQUIRED)
            check_required(g, l, i);
        else if (l->budgets[i].kind == YP_BUDGET_FILE)
            check_file(g, l, i);
        else
            check_alone(g, l, i);
    }
}

/* C says more than fit in a warning only, and drops them. */
static void check_fit(struct ypi_collecting *g, const struct yp_case_decl *c)
{
    if (c->budgets_fit_ > YP_MAX_CASE_BUDGETS)
        ypi_declaration_error(g, "case '%s' has %d budgets: allowed are %d", c->name,
                              c->budgets_fit_, YP_MAX_CASE_BUDGETS);
}

void ypi_check_budgets(struct ypi_collecting *g)
{
    const struct list all = {"", g->test->budgets,
                             ypi_budget_count(g->test->budgets, YP_MAX_BUDGETS)};
    int cases = ypi_case_count(g->test);
    check_list(g, &all);
    for (int i = 0; i < cases; i++) {
        const struct yp_case_decl *c = &g->test->cases[i];
        char *of = ypi_format("case '%s': ", c->name);
        const struct list own = {of, c->budgets, ypi_budget_count(c->budgets, YP_MAX_CASE_BUDGETS)};
        check_list(g, &own);
        check_fit(g, c);
        free(of);
    }
}

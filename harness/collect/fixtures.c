#include "harness/collect/fixtures.h"

#include "base/text/text.h"
#include "harness/collect/internal.h"
#include "harness/vocabulary/node.h"
#include "harness/vocabulary/substitute.h"

#include <stdlib.h>
#include <string.h>
#include <yieldpoint/fixture.h>

/* -- the declaration ---------------------------------------------------------------------- */

static int word_count(const char *text)
{
    const char *word = NULL;
    size_t length = 0;
    int count = 0;
    while (text != NULL && ypi_next_word(&text, &word, &length))
        count++;
    return count;
}

/* Of a fixture that is made by its users there is no case that could be judged. */
static char *each_rank_problem(const struct yp_test *test)
{
    bool budgets = test->budgets[0].kind != YP_BUDGET_NONE || test->budgets_of != NULL;
    bool timeout = test->timeout > 0;
    for (int i = 0; i < ypi_case_count(test); i++) {
        budgets = budgets || test->cases[i].budgets[0].kind != YP_BUDGET_NONE;
        timeout = timeout || test->cases[i].timeout > 0;
    }
    if (!test->fixture)
        return ypi_strdup(".each_rank is of fixtures: allowed in YP_FIXTURE only");
    if (budgets || timeout || test->fixtures != NULL || test->devices != NULL)
        return ypi_format("a fixture with .each_rank has %s: it is a part of the cases that use it",
                          budgets                  ? "budgets"
                          : timeout                ? "a .timeout"
                          : test->fixtures != NULL ? ".fixtures"
                                                   : ".devices");
    return NULL;
}

char *ypi_fixture_problem(const struct yp_test *test)
{
    char *of_ranks = test->each_rank ? each_rank_problem(test) : NULL;
    if (of_ranks != NULL)
        return of_ranks;
    if (test->fixture && (test->xfail != NULL || test->command != NULL))
        return ypi_format("a fixture has %s: allowed in YP_TEST only",
                          test->xfail != NULL ? ".xfail" : ".command");
    for (int i = 0; test->fixture && i < ypi_case_count(test); i++)
        if (test->cases[i].xfail != NULL)
            return ypi_format("case '%s' of a fixture has .xfail: allowed in YP_TEST only",
                              test->cases[i].name);
    if (test->fixtures == NULL)
        return NULL;
    if (test->command != NULL)
        return ypi_strdup(".fixtures is given to a command, which has no way to their memory");
    const int count = word_count(test->fixtures);
    if (count == 0 || count > YP_MAX_FIXTURES)
        return ypi_format(".fixtures names %d: allowed are 1 to %d", count, YP_MAX_FIXTURES);
    char *problem = ypi_substitute_hidden(test);
    return problem != NULL ? problem : ypi_substitute_problem(test, ".fixtures", test->fixtures);
}

/* -- which cases it names ----------------------------------------------------------------- */

struct fixtures {
    struct yp_case **of; /* by id */
    int count;
};

static int by_id(const void *a, const void *b)
{
    return strcmp((*(struct yp_case *const *)a)->id, (*(struct yp_case *const *)b)->id);
}

static struct fixtures all_fixtures(const struct ypi_collection *c)
{
    struct fixtures all = {0};
    for (int i = 0; i < c->count; i++)
        if (c->cases[i]->test->fixture) {
            all.of = ypi_realloc(all.of, (size_t)all.count + 1, sizeof(*all.of));
            all.of[all.count++] = c->cases[i];
        }
    if (all.count > 0)
        qsort(all.of, (size_t)all.count, sizeof(*all.of), by_id);
    return all;
}

/* Of a node: the id that it asks for. */
static char *wanted_id(const struct yp_case *c, const char *word, size_t length)
{
    char *text = ypi_format("%.*s", (int)length, word);
    char *node = ypi_substitute(c, text, ypi_id_escape);
    free(text);
    if (strstr(node, "::") != NULL)
        return node;
    char *id = ypi_format("%s::%s", ypi_test_path(c->test->file), node);
    free(node);
    return id;
}

static struct yp_case *find(const struct fixtures *all, const char *id)
{
    struct yp_case key = {.id = (char *)(uintptr_t)id};
    struct yp_case *at = &key;
    struct yp_case **found =
        all->count > 0 ? bsearch(&at, all->of, (size_t)all->count, sizeof(*all->of), by_id) : NULL;
    return found != NULL ? *found : NULL;
}

static const struct yp_case *other_case(const struct ypi_collection *c, const char *id)
{
    for (int i = 0; i < c->count; i++)
        if (ypi_node_names(id, c->cases[i]->id))
            return c->cases[i];
    return NULL;
}

static void report_missing(struct ypi_collecting *g, const struct yp_case *c, const char *id,
                           const struct fixtures *all)
{
    const struct yp_case *other = other_case(g->out, id);
    if (other != NULL && !other->test->fixture) {
        ypi_declaration_error(g, "its fixture '%s' is a test: allowed are those of YP_FIXTURE", id);
    } else if (other != NULL) {
        ypi_declaration_error(g, "its fixture '%s' has several cases: name one, as '%s'", id,
                              other->id);
    } else {
        const char **ids = ypi_calloc((size_t)all->count + 1, sizeof *ids);
        for (int i = 0; i < all->count; i++)
            ids[i] = all->of[i]->id;
        char *near = ypi_did_you_mean(id, ids, all->count);
        ypi_declaration_error(g, "'%s' has no fixture '%s'%s; --co -q lists all ids", c->id, id,
                              near);
        free(near);
        free(ids);
    }
}

/* False when one is missing, which is reported. */
static bool resolve(struct ypi_collecting *g, struct yp_case *c, const struct fixtures *all)
{
    const char *cursor = c->test->fixtures;
    const char *word = NULL;
    size_t length = 0;
    c->fixtures = ypi_calloc(YP_MAX_FIXTURES, sizeof(*c->fixtures));
    while (ypi_next_word(&cursor, &word, &length)) {
        char *id = wanted_id(c, word, length);
        struct yp_case *fixture = find(all, id);
        /* With --set and --device there are other fixtures than those that were declared. */
        const bool changed = g->o->set_count > 0 || strcmp(g->o->device, "auto") != 0;
        if (fixture == NULL && changed && c->missing == NULL)
            c->missing = ypi_format("there is no fixture '%s' with --set or --device as given", id);
        else if (fixture == NULL && !changed)
            report_missing(g, c, id, all);
        const bool nested = fixture != NULL && fixture->test->each_rank && c->test->fixture;
        if (nested)
            ypi_declaration_error(g, "its fixture '%s' has .each_rank: allowed for tests only", id);
        free(id);
        if (nested || (fixture == NULL && !changed))
            return false;
        if (fixture == NULL)
            continue;
        c->fixtures[c->fixture_count++] = fixture;
    }
    if (c->missing != NULL && c->skip == NULL)
        c->skip = c->missing;
    if (c->missing != NULL)
        c->fixture_count = 0;
    return true;
}

/* -- how deep they are -------------------------------------------------------------------- */

/* False while one of its fixtures has no depth yet. */
static bool set_depth(struct yp_case *c)
{
    int depth = 1;
    for (int i = 0; i < c->fixture_count; i++) {
        if (c->fixtures[i]->depth == 0)
            return false;
        if (c->fixtures[i]->depth >= depth)
            depth = c->fixtures[i]->depth + 1;
    }
    c->depth = depth;
    return true;
}

static void set_depths(struct ypi_collection *out, struct ypi_options *o,
                       const struct fixtures *all)
{
    int left = all->count;
    for (bool any = true; left > 0 && any;) {
        any = false;
        for (int i = 0; i < all->count; i++)
            if (all->of[i]->depth == 0 && set_depth(all->of[i])) {
                left--;
                any = true;
            }
    }
    for (int i = 0; left > 0 && i < all->count; i++) {
        struct ypi_collecting g = {.out = out, .o = o, .test = all->of[i]->test};
        if (all->of[i]->depth > 0)
            continue;
        ypi_declaration_error(&g, "the fixture '%s' needs itself, by '%s'", all->of[i]->id,
                              g.test->fixtures);
        return;
    }
}

void ypi_resolve_fixtures(struct ypi_collection *out, struct ypi_options *o)
{
    struct fixtures all = all_fixtures(out);
    const struct yp_test *wrong = NULL; /* reported once a test */
    bool right = true;
    for (int i = 0; i < out->count; i++) {
        struct ypi_collecting g = {.out = out, .o = o, .test = out->cases[i]->test};
        if (g.test->fixtures == NULL || g.test == wrong || resolve(&g, out->cases[i], &all))
            continue;
        wrong = g.test;
        right = false;
    }
    if (right)
        set_depths(out, o, &all);
    free(all.of);
}

/* -- what runs ---------------------------------------------------------------------------- */

static int need(struct yp_case *c)
{
    int deepest = c->depth;
    for (int i = 0; i < c->fixture_count; i++) {
        if (c->fixtures[i]->test->each_rank)
            continue; /* its users make it */
        const int depth = need(c->fixtures[i]);
        c->fixtures[i]->needed = true;
        deepest = depth > deepest ? depth : deepest;
    }
    return deepest;
}

void ypi_bring_fixtures(struct ypi_collection *c, int *selected)
{
    int deepest = 0;
    for (int i = 0; i < *selected; i++) {
        const int depth = need(c->cases[i]);
        deepest = depth > deepest ? depth : deepest;
    }
    if (deepest == 0)
        return;
    struct yp_case **order = ypi_calloc((size_t)c->count, sizeof(*order));
    int placed = 0;
    for (int depth = 1; depth <= deepest; depth++)
        for (int i = 0; i < c->count; i++)
            if (c->cases[i]->depth == depth && (i < *selected || c->cases[i]->needed)) {
                c->meant += i >= *selected;
                order[placed++] = c->cases[i];
            }
    int all = placed;
    for (int i = 0; i < c->count; i++) {
        const bool tests = c->cases[i]->depth == 0;
        if (tests || (i >= *selected && !c->cases[i]->needed))
            order[placed++] = c->cases[i];
        all += tests && i < *selected;
    }
    memcpy(c->cases, order, (size_t)c->count * sizeof(*order));
    *selected = all;
    free(order);
}

#include "harness/vocabulary/relation.h"

#include "base/text/text.h"
#include "harness/vocabulary/axis.h"
#include "harness/vocabulary/budget.h"
#include "harness/vocabulary/node.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const struct ypi_relation_kind kinds[] = {
    [YP_RELATION_RATIO] = {"ratio", .of_speed = true, .to = true, .name = true},
    [YP_RELATION_RATIO_OVER] = {"ratio", .of_speed = true, .name = true, .axis = true,
                                .ends = true},
    [YP_RELATION_VALUE_RATIO] = {"ratio", .to = true, .name = true},
    [YP_RELATION_GROWTH] = {"exponent", .of_speed = true, .name = true, .axis = true},
    [YP_RELATION_SAME_HASH] = {"distinct hashes", .to = true},
    [YP_RELATION_ORDER] = {"order", .of_speed = true, .name = true, .axis = true},
    [YP_RELATION_SHARE_RATIO_OVER] = {"ratio", .of_speed = true, .name = true, .axis = true,
                                      .ends = true},
    [YP_RELATION_STRONG_SCALING] = {"efficiency", .of_speed = true, .name = true, .axis = true},
    [YP_RELATION_WEAK_SCALING] = {"efficiency", .of_speed = true, .name = true, .axis = true},
};
#define KINDS (sizeof kinds / sizeof *kinds)

const struct ypi_relation_kind *ypi_relation_kind(const struct yp_relation *relation)
{
    return &kinds[relation->kind];
}

bool ypi_relation_is_of_speed(const struct yp_test *test)
{
    unsigned kind = (unsigned)test->relation.kind;
    return kind < KINDS && kinds[kind].of_speed;
}

/* -- the declaration ---------------------------------------------------------------------- */

static bool empty(const char *text)
{
    return text == NULL || text[0] == '\0';
}

/* The first option given that means nothing without a process; NULL: none. */
static const char *needless_option(const struct yp_test *t)
{
    const struct {
        const char *name;
        bool given;
    } options[] = {
        {".cases", t->cases[0].name != NULL},     {".axes", t->axes[0].kind != YP_AXIS_NONE},
        {".filter", t->filter != NULL},           {".timeout", t->timeout != 0},
        {".fixtures", t->fixtures != NULL},       {".setup", t->setup != NULL},
        {".teardown", t->teardown != NULL},       {".parallel", t->parallel},
        {".command", t->command != NULL},         {".input", t->input != NULL},
        {".environment", t->environment != NULL}, {".heap", t->heap}};
    for (size_t i = 0; i < sizeof options / sizeof *options; i++)
        if (options[i].given)
            return options[i].name;
    return NULL;
}

static char *node_problem(const char *which, const char *node, bool of_test)
{
    if (empty(node))
        return ypi_format("'%s' is missing: allowed is a test, 'FILE::TEST', or one case of it%s",
                          which, of_test ? ", but here the test" : "");
    const char *test = strstr(node, "::");
    const char *bracket = strchr(node, '[');
    if (test == NULL || test == node || test[2] == '\0')
        return ypi_format("'%s' is '%s': allowed is 'FILE::TEST' or 'FILE::TEST[...]'", which,
                          node);
    if (of_test && bracket != NULL)
        return ypi_format("'%s' is '%s', one case: allowed is a test with all its cases, '%.*s'",
                          which, node, (int)(bracket - node), node);
    if (bracket != NULL && node[strlen(node) - 1] != ']')
        return ypi_format("'%s' is '%s': allowed is an id to its closing bracket", which, node);
    return NULL;
}

static char *field_problem(const struct yp_relation *r)
{
    const struct ypi_relation_kind *kind = &kinds[r->kind];
    char *problem = node_problem("of", r->of, kind->axis);
    if (problem == NULL && kind->to)
        problem = node_problem("to", r->to, false);
    if (problem != NULL)
        return problem;
    if (kind->to && r->kind != YP_RELATION_SAME_HASH && strcmp(r->of, r->to) == 0)
        return ypi_format("'of' and 'to' are both '%s': allowed are two cases", r->of);
    if (kind->name && empty(r->name))
        return ypi_format("the name of a %s is missing: allowed is one that the body gives",
                          r->kind == YP_RELATION_VALUE_RATIO ? "value" : "measurement");
    if (kind->axis && empty(r->axis))
        return ypi_format("the axis is missing: allowed is one of '%s'", r->of);
    if (kind->ends && (empty(r->a) || empty(r->b) || strcmp(r->a, r->b) == 0))
        return ypi_format("'a' is '%s' and 'b' is '%s': allowed are two values of the axis '%s'",
                          r->a != NULL ? r->a : "", r->b != NULL ? r->b : "", r->axis);
    return NULL;
}

char *ypi_relation_budget_problem(const struct yp_test *test, const struct yp_budget *b)
{
    const char *value = kinds[test->relation.kind].value;
    bool of_order = test->relation.kind == YP_RELATION_ORDER;
    bool of_value = of_order ? b->kind == YP_BUDGET_ORDER
                             : b->kind == YP_BUDGET_MIN_VALUE || b->kind == YP_BUDGET_MAX_VALUE;
    if (b->kind == YP_BUDGET_ORDER && of_order &&
        !(b->limit >= YP_CONSTANT && b->limit <= YP_N_CUBED && b->limit == floor(b->limit)))
        return ypi_format("is of order %g: allowed are those of enum yp_order", b->limit);
    if (ypi_budget_is_mark(b->kind) || (of_value && b->name != NULL && strcmp(b->name, value) == 0))
        return NULL;
    if (of_order)
        return ypi_strdup("is not one of this relation: allowed is yp_grows_as(...)");
    return ypi_format("is not one of this relation: allowed are yp_min_value(\"%s\", ...) and "
                      "yp_max_value(\"%s\", ...)",
                      value, value);
}

static char *budget_problem(const struct yp_test *test)
{
    char *message = NULL;
    for (int i = 0;
         message == NULL && i < YP_MAX_BUDGETS && test->budgets[i].kind != YP_BUDGET_NONE; i++) {
        char *problem = ypi_relation_budget_problem(test, &test->budgets[i]);
        if (problem != NULL)
            message = ypi_format("budget %d %s", i + 1, problem);
        free(problem);
    }
    return message;
}

char *ypi_relation_problem(const struct yp_test *test)
{
    static const char makers[] =
        "yp_ratio, yp_ratio_over, yp_share_ratio_over, yp_value_ratio, yp_growth, yp_order, "
        "yp_strong_scaling, yp_weak_scaling and yp_same_hash";
    unsigned kind = (unsigned)test->relation.kind;
    if (kind == YP_RELATION_NONE && test->body != NULL)
        return NULL;
    if (kind == YP_RELATION_NONE || kind >= KINDS)
        return ypi_format(".relation is %s: allowed are %s",
                          kind == YP_RELATION_NONE ? "missing" : "of no known kind", makers);
    if (test->body != NULL && test->command == NULL)
        return ypi_strdup(".relation is given to a test with a body: allowed in YP_RELATION only");
    const char *needless = needless_option(test);
    if (needless != NULL)
        return ypi_format("%s is given beside .relation, which takes no process: allowed are "
                          ".tags, .devices, .skip, .xfail, .xfail_strict and .budgets",
                          needless);
    const char *axis = test->relation.axis;
    if (test->devices != NULL && axis != NULL && strcmp(axis, "device") == 0)
        return ypi_strdup(
            ".devices is given to a relation between devices: allowed is one of them");
    char *problem = field_problem(&test->relation);
    return problem != NULL ? problem : budget_problem(test);
}

const char *ypi_relation_unmatched_node(const struct yp_test *test,
                                        const struct yp_case *const *cases, int count)
{
    const char *nodes[] = {test->relation.of, test->relation.to};
    for (size_t n = 0; n < 2; n++) {
        bool named = nodes[n] == NULL;
        for (int i = 0; i < count && !named; i++)
            named = ypi_node_names(nodes[n], cases[i]->id);
        if (!named)
            return nodes[n];
    }
    return NULL;
}

/* -- the cases that it reads ---------------------------------------------------------------- */

const struct ypi_setting *ypi_relation_setting(const struct yp_case *c, const char *axis)
{
    for (int i = 0; i < c->setting_count; i++)
        if (!c->settings[i].parameter && strcmp(c->settings[i].axis, axis) == 0)
            return &c->settings[i];
    return NULL;
}

bool ypi_relation_equals(const struct ypi_setting *s, const char *text)
{
    long long i = 0;
    double d = 0;
    if (s->kind == YP_AXIS_INT)
        return ypi_parse_i64(text, &i) && i == s->i;
    if (s->kind == YP_AXIS_DOUBLE)
        return ypi_parse_double(text, &d) && d == s->d;
    return strcmp(s->s, text) == 0;
}

bool ypi_relation_is_device(const char *device, const char *name, size_t length)
{
    return strncmp(device, name, length) == 0 && (device[length] == '\0' || device[length] == ':');
}

bool ypi_relation_stands_at(const struct yp_case *c, const char *axis, const char *text)
{
    const struct ypi_setting *s = ypi_relation_setting(c, axis);
    return s != NULL ? ypi_relation_equals(s, text)
                     : ypi_relation_is_device(c->device, text, strlen(text));
}

bool ypi_relation_differ_only_in(const struct yp_case *x, const struct yp_case *y, const char *axis)
{
    bool over_device = ypi_relation_setting(x, axis) == NULL;
    if (x->test != y->test || x->decl != y->decl ||
        (!over_device && strcmp(x->device, y->device) != 0))
        return false;
    for (int i = 0; i < x->setting_count; i++)
        if (strcmp(x->settings[i].axis, axis) != 0 &&
            !ypi_setting_equal(&x->settings[i], &y->settings[i]))
            return false;
    return true;
}

bool ypi_relation_is_of_device(const struct yp_case *relation, const struct yp_case *c)
{
    return relation->device[0] == '\0' || c->device[0] == '\0' ||
           strcmp(relation->device, c->device) == 0;
}

bool ypi_relation_reads(const struct yp_case *relation, const struct yp_case *c)
{
    const struct yp_relation *r = &relation->test->relation;
    bool named = ypi_node_names(r->of, c->id) || (r->to != NULL && ypi_node_names(r->to, c->id));
    bool at_end = !kinds[r->kind].ends || ypi_relation_stands_at(c, r->axis, r->a) ||
                  ypi_relation_stands_at(c, r->axis, r->b);
    return named && at_end && ypi_relation_is_of_device(relation, c) && !ypi_is_relation(c);
}

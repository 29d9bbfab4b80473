/* Relations: their declaration, what they find, and which one is worked out. */
#include "harness/judge/relation_internal.h"

#include "base/text/text.h"
#include "harness/judge/budget.h"

#include <math.h>
#include <stdio.h>
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
};
#define KINDS (sizeof kinds / sizeof *kinds)

bool ypi_relation_has_ends(const struct yp_relation *relation)
{
    return kinds[relation->kind].ends;
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
        {".cases", t->cases[0].name != NULL},    {".axes", t->axes[0].kind != YP_AXIS_NONE},
        {".filter", t->filter != NULL},          {".timeout", t->timeout != 0},
        {".fixtures", t->fixtures != NULL},      {".setup", t->setup != NULL},
        {".teardown", t->teardown != NULL},      {".parallel", t->parallel},
        {".command", t->command != NULL},        {".input", t->input != NULL},
        {".environment", t->environment != NULL}};
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
        "yp_ratio, yp_ratio_over, yp_share_ratio_over, yp_value_ratio, yp_growth, yp_order and "
        "yp_same_hash";
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

/* -- what is found ------------------------------------------------------------------------ */

static struct ypi_value *add_value(struct ypi_relation_work *w, const char *name,
                                   struct ypi_spread s)
{
    struct ypi_result *r = w->r;
    r->values = ypi_realloc(r->values, (size_t)r->value_count + 1, sizeof *r->values);
    struct ypi_value *v = &r->values[r->value_count++];
    *v = (struct ypi_value){.value = s.value,
                            .low = s.low,
                            .high = s.high,
                            .of_speed = w->kind->of_speed,
                            .crowded = s.crowded};
    snprintf(v->name, sizeof v->name, "%s", name);
    return v;
}

void ypi_relation_add_value(struct ypi_relation_work *w, struct ypi_spread s)
{
    add_value(w, w->kind->value, s);
}

static void add_orders(struct ypi_relation_work *w, const struct ypi_orders *orders)
{
    const struct ypi_order *best = &orders->of[orders->best];
    struct ypi_value *v =
        add_value(w, "coefficient", ypi_spread_of(best->coefficient, best->low, best->high));
    snprintf(v->unit, sizeof v->unit, "s");
    for (int f = 0; f < YPI_ORDERS; f++) {
        char name[YPI_NAME_MAX];
        double rms = orders->of[f].rms;
        snprintf(name, sizeof name, "rms %s", ypi_order_name(f));
        add_value(w, name, ypi_spread_of(rms, rms, rms));
    }
}

/* "O(N): 2.98e-09 s [2.9e-09 s, 3.1e-09 s] of f(N); rms O(1) 2.1, ..." */
static void note_orders(struct ypi_relation_work *w, const struct ypi_orders *orders)
{
    const struct ypi_order *best = &orders->of[orders->best];
    struct ypi_text standing = {0};
    struct ypi_text rms = {0};
    for (int f = 0; f < YPI_ORDERS; f++) {
        ypi_text_add(&rms, "%s%s %.2g", f > 0 ? ", " : "", ypi_order_name(f), orders->of[f].rms);
        if (!orders->of[f].refuted)
            ypi_text_add(&standing, "%s%s", standing.length > 0 ? " or " : "", ypi_order_name(f));
    }
    char *left = ypi_text_take(&standing);
    char *all = ypi_text_take(&rms);
    ypi_result_note(w->r, "%s%s%s, the best %s with %.3g s [%.3g s, %.3g s]; rms: %s",
                    orders->first < 0              ? "none of the orders"
                    : orders->first < orders->last ? "cannot say: "
                                                   : "",
                    left, orders->first == orders->last && orders->first >= 0 ? " alone" : "",
                    ypi_order_name(orders->best), best->coefficient, best->low, best->high, all);
    free(left);
    free(all);
}

static struct ypi_rank rank_of(const struct ypi_relation_work *w, struct ypi_spread s)
{
    enum { INSIDE, UNDECIDED, OUTSIDE };
    const struct yp_budget *b = NULL;
    int next = 0;
    bool any = false;
    struct ypi_rank out = {.margin = INFINITY};
    for (; (b = ypi_next_budget(w->r->c, &next)) != NULL; any = true) {
        double limit = b->limit;
        if (b->kind == YP_BUDGET_ORDER) {
            bool stands = s.low <= limit && limit <= s.high;
            out.level = !stands                                   ? OUTSIDE
                        : s.low < s.high && out.level < UNDECIDED ? UNDECIDED
                                                                  : out.level;
            out.margin = fmin(out.margin, -fabs(s.value - limit));
            continue;
        }
        bool at_least = b->kind == YP_BUDGET_MIN_VALUE;
        bool inside = at_least ? s.low >= limit : s.high <= limit;
        bool outside = at_least ? s.high < limit : s.low > limit;
        int level = outside ? OUTSIDE : inside ? INSIDE : UNDECIDED;
        out.level = level > out.level ? level : out.level;
        out.margin = fmin(out.margin, at_least ? s.value - limit : limit - s.value);
    }
    bool growth = w->relation->kind == YP_RELATION_GROWTH || w->relation->kind == YP_RELATION_ORDER;
    if (s.crowded && out.level == OUTSIDE)
        out.level = UNDECIDED;
    if (!any)
        out.margin = growth ? -s.value : s.value;
    return out;
}

static void keep_finding(struct ypi_relation_findings *f, int number, const int *cases, int count)
{
    f->of = ypi_realloc(f->of, (size_t)f->count + 1, sizeof *f->of);
    struct ypi_relation_finding *finding = &f->of[f->count++];
    *finding = (struct ypi_relation_finding){.number = number, .count = count};
    finding->cases = ypi_calloc((size_t)count, sizeof *finding->cases);
    memcpy(finding->cases, cases, (size_t)count * sizeof *finding->cases);
}

void ypi_relation_findings_clear(struct ypi_relation_findings *findings)
{
    for (int i = 0; i < findings->count; i++)
        free(findings->of[i].cases);
    free(findings->of);
    *findings = (struct ypi_relation_findings){0};
}

static bool is_worse(const struct ypi_rank *a, const struct ypi_rank *b)
{
    return a->level != b->level ? a->level > b->level : a->margin < b->margin;
}

void ypi_relation_consider(const struct ypi_relation_work *w, struct ypi_relation_worst *worst,
                           struct ypi_spread s, const int *cases, int count, char *note)
{
    for (int i = 0; i < count && !s.crowded; i++)
        s.crowded = ypi_relation_was_crowded(w, cases[i]);
    struct ypi_rank rank = rank_of(w, s);
    int number = ++worst->candidates;
    bool worse = w->input->report > 0 ? number == w->input->report : is_worse(&rank, &worst->rank);
    if (w->findings != NULL)
        keep_finding(w->findings, number, cases, count);
    if (number > 1 && !worse) {
        free(note);
        return;
    }
    free(worst->note);
    worst->spread = s;
    worst->rank = rank;
    worst->orders = w->orders;
    worst->note = note;
    if (w->findings != NULL)
        w->findings->worst = number;
}

void ypi_relation_add_worst(struct ypi_relation_work *w, const struct ypi_relation_worst *worst,
                            const char *of)
{
    ypi_relation_add_value(w, worst->spread);
    if (w->relation->kind == YP_RELATION_ORDER) {
        add_orders(w, &worst->orders);
        if (worst->orders.first != worst->orders.last || worst->orders.first < 0 ||
            worst->rank.level > 0)
            note_orders(w, &worst->orders);
    }
    if (worst->spread.crowded && worst->rank.level > 0)
        ypi_result_note(w->r,
                        "some of its times were taken while others used the processors or a quota "
                        "held it back");
    if (worst->candidates > 1)
        ypi_result_note(w->r, "the worst of %d %s: %s", worst->candidates, of, worst->note);
    else if (worst->partial)
        ypi_result_note(w->r, "%s", worst->note);
    if (worst->left != NULL)
        ypi_result_note(w->r, "left out: %s", worst->left);
}

/* -- all of it ---------------------------------------------------------------------------- */

bool ypi_relation_evaluate(const struct ypi_relation_input *input, struct ypi_result *r,
                           struct ypi_relation_findings *findings)
{
    static void (*const work_out[])(struct ypi_relation_work *) = {
        [YP_RELATION_RATIO] = ypi_relation_ratio,
        [YP_RELATION_RATIO_OVER] = ypi_relation_ratio_over,
        [YP_RELATION_VALUE_RATIO] = ypi_relation_value_ratio,
        [YP_RELATION_GROWTH] = ypi_relation_growth,
        [YP_RELATION_SAME_HASH] = ypi_relation_same_hash,
        [YP_RELATION_ORDER] = ypi_relation_growth,
        [YP_RELATION_SHARE_RATIO_OVER] = ypi_relation_ratio_over,
    };
    const struct yp_relation *relation = &r->c->test->relation;
    struct ypi_relation_work w = {.input = input,
                                  .r = r,
                                  .relation = relation,
                                  .kind = &kinds[relation->kind],
                                  .findings = findings};
    free(r->reason);
    r->reason = NULL;
    work_out[relation->kind](&w);
    return r->reason == NULL;
}

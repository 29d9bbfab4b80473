#include "relation.h"

#include "text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LEAST_POINTS 3 /* of a growth: with two, a line has no scatter to be unsure by */

static const struct kind {
    const char *value; /* that it finds */
    bool of_speed;
    bool to, name, axis, ends; /* the fields that it takes beside `of` */
} kinds[] = {
    [YP_RELATION_RATIO] = {"ratio", .of_speed = true, .to = true, .name = true},
    [YP_RELATION_RATIO_OVER] = {"ratio", .of_speed = true, .name = true, .axis = true,
                                .ends = true},
    [YP_RELATION_VALUE_RATIO] = {"ratio", .to = true, .name = true},
    [YP_RELATION_GROWTH] = {"exponent", .of_speed = true, .name = true, .axis = true},
    [YP_RELATION_SAME_HASH] = {"distinct hashes", .to = true},
};
#define KINDS (sizeof kinds / sizeof *kinds)

bool ypi_node_names(const char *node, const char *id)
{
    size_t length = strlen(node);
    bool at_test = memchr(node, ':', length) != NULL;
    if (length > 0 && node[length - 1] == '/' && !at_test)
        length--;
    if (length == 0 || strncmp(id, node, length) != 0)
        return false;
    const char *rest = id + length;
    return *rest == '\0' || (at_test ? *rest == '[' : *rest == '/' || strncmp(rest, "::", 2) == 0);
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
        {".filter", t->filter != NULL},          {".devices", t->devices != NULL},
        {".timeout", t->timeout != 0},           {".setup", t->setup != NULL},
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
    const struct kind *kind = &kinds[r->kind];
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

static char *budget_problem(const struct yp_test *test)
{
    const char *value = kinds[test->relation.kind].value;
    for (int i = 0; i < YP_MAX_BUDGETS && test->budgets[i].kind != YP_BUDGET_NONE; i++) {
        const struct yp_budget *b = &test->budgets[i];
        bool of_value = b->kind == YP_BUDGET_MIN_VALUE || b->kind == YP_BUDGET_MAX_VALUE;
        if (!of_value || b->name == NULL || strcmp(b->name, value) != 0)
            return ypi_format("budget %d is not one of this relation: allowed are "
                              "yp_min_value(\"%s\", ...) and yp_max_value(\"%s\", ...)",
                              i + 1, value, value);
    }
    return NULL;
}

char *ypi_relation_problem(const struct yp_test *test)
{
    static const char makers[] =
        "yp_ratio, yp_ratio_over, yp_value_ratio, yp_growth and yp_same_hash";
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
                          ".tags, .skip, .xfail, .xfail_strict and .budgets",
                          needless);
    char *problem = field_problem(&test->relation);
    return problem != NULL ? problem : budget_problem(test);
}

const char *ypi_relation_stray(const struct yp_test *test, const struct yp_case *const *cases,
                               int count)
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

/* -- what there is to read ---------------------------------------------------------------- */

struct working {
    const struct ypi_relation_input *input;
    struct ypi_result *r;
    const struct yp_relation *relation;
    const struct kind *kind;
};

struct list { /* of indices into the input */
    int *at;  /* owned */
    int count;
};

/* Both end the working out: false. */
static bool missing(struct working *w, char *reason)
{
    free(w->r->reason);
    w->r->reason = reason;
    return false;
}

static bool misuse(struct working *w, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static bool misuse(struct working *w, const char *format, ...)
{
    struct ypi_text text = {0};
    va_list arguments;
    va_start(arguments, format);
    ypi_text_vadd(&text, format, arguments);
    va_end(arguments);
    char *message = ypi_text_take(&text);
    const struct yp_test *test = w->r->c->test;
    ypi_result_fail(w->r, YPI_CAUSE_USAGE, test->file, test->line, "%s", message);
    free(message);
    return false;
}

static const struct yp_case *case_at(const struct working *w, int i)
{
    return w->input->cases[i];
}

static bool holds(const struct list *list, int index)
{
    for (int i = 0; i < list->count; i++)
        if (list->at[i] == index)
            return true;
    return false;
}

/* Adds the cases that a node names, each once. */
static bool find(struct working *w, const char *node, struct list *list)
{
    bool any = false;
    list->at = ypi_realloc(list->at, (size_t)w->input->count, sizeof *list->at);
    for (int i = 0; i < w->input->count; i++) {
        const struct yp_case *c = case_at(w, i);
        if (c->repeat != w->r->c->repeat || !ypi_node_names(node, c->id))
            continue;
        if (c->test->relation.kind != YP_RELATION_NONE)
            return misuse(w, "'%s' is a relation itself: allowed are tests that measure", c->id);
        any = true;
        if (!holds(list, i))
            list->at[list->count++] = i;
    }
    return any || missing(w, ypi_format("not selected or not declared: '%s'", node));
}

static bool was_skipped(const struct working *w, int i)
{
    const struct ypi_result *r = w->input->results[i];
    return r != NULL ? r->outcome == YPI_SKIPPED : case_at(w, i)->skip != NULL;
}

/* Why a case has nothing to read; NULL when it has. The caller frees. */
static char *absence(const struct working *w, int i)
{
    const struct ypi_result *r = w->input->results[i];
    const struct yp_case *c = case_at(w, i);
    if (r == NULL && c->skip == NULL)
        return ypi_format("'%s' has no result: it did not run", c->id);
    enum ypi_outcome outcome = r != NULL ? r->outcome : YPI_SKIPPED;
    if (outcome != YPI_FAILED && outcome != YPI_ERROR && outcome != YPI_SKIPPED)
        return NULL;
    const char *reason = r != NULL ? r->reason : c->skip;
    return ypi_format("'%s' has no result: %s%s%s", c->id, ypi_outcome_name(outcome),
                      reason != NULL ? ": " : "", reason != NULL ? reason : "");
}

static bool has_result(struct working *w, int i)
{
    char *reason = absence(w, i);
    return reason == NULL || missing(w, reason);
}

/* A case that failed as declared may have done so before it came to what is looked for. */
static bool lacks(struct working *w, int i, const char *what, struct ypi_text *there)
{
    char *names = ypi_text_take(there);
    const char *id = case_at(w, i)->id;
    if (w->input->results[i]->outcome == YPI_XFAILED)
        missing(w, ypi_format("'%s' has no result: xfailed before '%s'", id, w->relation->name));
    else
        misuse(w, "'%s' has no %s '%s': it has %s", id, what, w->relation->name,
               names[0] != '\0' ? names : "none");
    free(names);
    return false;
}

/* NULL when there is none, which has then been told. */
static const struct ypi_estimate *find_time(struct working *w, int i)
{
    if (!has_result(w, i))
        return NULL;
    const char *id = case_at(w, i)->id;
    const char *name = w->relation->name;
    const struct ypi_result *r = w->input->results[i];
    struct ypi_text there = {0};
    for (int k = 0; k < r->measured_count; k++) {
        const struct ypi_measured *m = &r->measured[k];
        ypi_text_add(&there, "%s'%s'", k > 0 ? ", " : "", m->name);
        if (strcmp(m->name, name) != 0)
            continue;
        free(ypi_text_take(&there));
        if (m->kind == YPI_MEASURED_COUNT)
            missing(w, ypi_format("'%s' counted '%s' and did not time it", id, name));
        else if (m->count == 0 || !(m->estimate.median > 0) || !isfinite(m->estimate.median))
            misuse(w, "'%s': the median of '%s' is %g s over %zu samples: allowed is above 0", id,
                   name, m->estimate.median, m->count);
        else
            return &m->estimate;
        return NULL;
    }
    lacks(w, i, "measurement", &there);
    return NULL;
}

static bool find_value(struct working *w, int i, double *out)
{
    if (!has_result(w, i))
        return false;
    const struct ypi_result *r = w->input->results[i];
    struct ypi_text there = {0};
    for (int k = 0; k < r->value_count; k++) {
        ypi_text_add(&there, "%s'%s'", k > 0 ? ", " : "", r->values[k].name);
        if (strcmp(r->values[k].name, w->relation->name) != 0)
            continue;
        free(ypi_text_take(&there));
        *out = r->values[k].value;
        return true;
    }
    return lacks(w, i, "value", &there);
}

/* -- what is found ------------------------------------------------------------------------ */

struct spread {
    double value, low, high;
};

static void tell_value(struct working *w, struct spread s)
{
    struct ypi_result *r = w->r;
    r->values = ypi_realloc(r->values, (size_t)r->value_count + 1, sizeof *r->values);
    struct ypi_value *v = &r->values[r->value_count++];
    *v = (struct ypi_value){
        .value = s.value, .low = s.low, .high = s.high, .of_speed = w->kind->of_speed};
    snprintf(v->name, sizeof v->name, "%s", w->kind->value);
}

/* Of several spreads one is told: the worst in the eyes of the budgets, so that all are inside when
 * it is. One that is certainly outside is worse than an undecided one, that than one inside, and
 * among equals the one that has least room to a limit. */
struct standing {
    int rank;
    double room;
};

static struct standing standing_of(const struct working *w, struct spread s)
{
    const struct yp_budget *budgets = w->r->c->test->budgets;
    struct standing out = {.room = INFINITY};
    for (int i = 0; i < YP_MAX_BUDGETS && budgets[i].kind != YP_BUDGET_NONE; i++) {
        double limit = budgets[i].limit;
        bool at_least = budgets[i].kind == YP_BUDGET_MIN_VALUE;
        bool inside = at_least ? s.low >= limit : s.high <= limit;
        bool outside = at_least ? s.high < limit : s.low > limit;
        int rank = outside ? 2 : inside ? 0 : 1;
        out.rank = rank > out.rank ? rank : out.rank;
        out.room = fmin(out.room, at_least ? s.value - limit : limit - s.value);
    }
    if (budgets[0].kind == YP_BUDGET_NONE)
        out.room = w->relation->kind == YP_RELATION_GROWTH ? -s.value : s.value;
    return out;
}

struct worst {
    struct spread spread;
    struct standing standing;
    int candidates;
    char *note;   /* owned: which one */
    bool partial; /* it lacks cases, so the note is worth telling of a single one too */
    char *left;   /* owned: why others were left out; NULL: none were */
};

/* Takes the note. */
static void consider(const struct working *w, struct worst *worst, struct spread s, char *note)
{
    struct standing standing = standing_of(w, s);
    bool worse = standing.rank != worst->standing.rank ? standing.rank > worst->standing.rank
                                                       : standing.room < worst->standing.room;
    if (worst->candidates++ > 0 && !worse) {
        free(note);
        return;
    }
    free(worst->note);
    worst->spread = s;
    worst->standing = standing;
    worst->note = note;
}

static void tell_worst(struct working *w, const struct worst *worst, const char *of)
{
    tell_value(w, worst->spread);
    if (worst->candidates > 1)
        ypi_result_note(w->r, "the worst of %d %s: %s", worst->candidates, of, worst->note);
    else if (worst->partial)
        ypi_result_note(w->r, "%s", worst->note);
    if (worst->left != NULL)
        ypi_result_note(w->r, "left out: %s", worst->left);
}

/* -- axes --------------------------------------------------------------------------------- */

static const struct ypi_setting *setting_of(const struct yp_case *c, const char *axis)
{
    for (int i = 0; i < c->setting_count; i++)
        if (strcmp(c->settings[i].axis, axis) == 0)
            return &c->settings[i];
    return NULL;
}

static bool equals_text(const struct ypi_setting *s, const char *text)
{
    long long i = 0;
    double d = 0;
    if (s->kind == YP_AXIS_INT)
        return ypi_parse_i64(text, &i) && i == s->i;
    if (s->kind == YP_AXIS_DOUBLE)
        return ypi_parse_double(text, &d) && d == s->d;
    return strcmp(s->s, text) == 0;
}

static bool equal(const struct ypi_setting *x, const struct ypi_setting *y)
{
    return x->kind == YP_AXIS_INT      ? x->i == y->i
           : x->kind == YP_AXIS_DOUBLE ? x->d == y->d
                                       : strcmp(x->s, y->s) == 0;
}

/* "cuda" names any of them, "cuda:1" that one. */
static bool is_device(const char *device, const char *name, size_t length)
{
    return strncmp(device, name, length) == 0 && (device[length] == '\0' || device[length] == ':');
}

static bool stands_at(const struct yp_case *c, const char *axis, const char *text)
{
    const struct ypi_setting *s = setting_of(c, axis);
    return s != NULL ? equals_text(s, text) : is_device(c->device, text, strlen(text));
}

static bool same_but_for(const struct yp_case *x, const struct yp_case *y, const char *axis)
{
    bool over_device = setting_of(x, axis) == NULL;
    if (x->test != y->test || x->decl != y->decl ||
        (!over_device && strcmp(x->device, y->device) != 0))
        return false;
    for (int i = 0; i < x->setting_count; i++)
        if (strcmp(x->settings[i].axis, axis) != 0 && !equal(&x->settings[i], &y->settings[i]))
            return false;
    return true;
}

/* The axes of a case's test; the device is one where the test names devices. */
static bool has_axis(struct working *w, const struct yp_case *c, bool devices)
{
    const char *axis = w->relation->axis;
    devices = devices && c->device[0] != '\0';
    if (setting_of(c, axis) != NULL || (devices && strcmp(axis, "device") == 0))
        return true;
    struct ypi_text there = {0};
    for (int i = 0; i < c->setting_count; i++)
        ypi_text_add(&there, "%s'%s'", i > 0 ? ", " : "", c->settings[i].axis);
    if (devices)
        ypi_text_add(&there, "%s'device'", c->setting_count > 0 ? ", " : "");
    char *axes = ypi_text_take(&there);
    misuse(w, "'%s' has no axis '%s': it has %s", w->relation->of, axis,
           axes[0] != '\0' ? axes : "none");
    free(axes);
    return false;
}

/* Whether a test declares the value, so that a case of it may stand there; lists those it does. */
static bool declares(const struct yp_test *test, const char *axis, const char *text,
                     struct ypi_text *values)
{
    for (int i = 0; i < YP_MAX_AXES && test->axes[i].kind != YP_AXIS_NONE; i++) {
        const struct yp_axis *a = &test->axes[i];
        for (unsigned k = 0; k < a->count && strcmp(a->name, axis) == 0; k++) {
            struct ypi_setting s = {.kind = a->kind};
            char number[32];
            const char *shown = number;
            if (a->kind == YP_AXIS_INT)
                snprintf(number, sizeof number, "%lld", s.i = a->values.i[k]);
            else if (a->kind == YP_AXIS_DOUBLE)
                ypi_print_double(number, s.d = a->values.d[k]);
            else
                shown = s.s = a->values.s[k];
            ypi_text_add(values, "%s%s", values->length > 0 ? ", " : "", shown);
            if (equals_text(&s, text))
                return true;
        }
    }
    return false;
}

static bool declares_device(const struct yp_test *test, const char *text)
{
    const char *cursor = test->devices != NULL ? test->devices : "";
    const char *word = NULL;
    size_t length = 0;
    bool found = false;
    while (!found && ypi_next_word(&cursor, &word, &length))
        found = is_device(text, word, length);
    return found;
}

static bool check_end(struct working *w, const struct yp_case *c, const char *text)
{
    const char *axis = w->relation->axis;
    struct ypi_text values = {0};
    bool over_device = setting_of(c, axis) == NULL;
    bool known =
        over_device ? declares_device(c->test, text) : declares(c->test, axis, text, &values);
    char *there = ypi_text_take(&values);
    if (!known)
        misuse(w, "the axis '%s' of '%s' has no value '%s': allowed are %s", axis, w->relation->of,
               text, over_device ? c->test->devices : there);
    free(there);
    return known;
}

/* -- ratios ------------------------------------------------------------------------------- */

static struct spread ratio_of(const struct ypi_estimate *of, const struct ypi_estimate *to)
{
    return (struct spread){to->median / of->median, to->low / of->high, to->high / of->low};
}

static bool find_one(struct working *w, const char *node, int *out)
{
    struct list list = {0};
    bool found = find(w, node, &list);
    if (found && list.count > 1)
        found = misuse(w, "'%s' names %d cases, '%s' and '%s' among them: allowed is one", node,
                       list.count, case_at(w, list.at[0])->id, case_at(w, list.at[1])->id);
    if (found)
        *out = list.at[0];
    free(list.at);
    return found;
}

static bool find_both(struct working *w, int *of, int *to)
{
    if (!find_one(w, w->relation->of, of) || !find_one(w, w->relation->to, to))
        return false;
    return *of != *to || misuse(w, "'%s' and '%s' are both '%s': allowed are two cases",
                                w->relation->of, w->relation->to, case_at(w, *of)->id);
}

static void work_out_ratio(struct working *w)
{
    int of = 0;
    int to = 0;
    if (!find_both(w, &of, &to))
        return;
    const struct ypi_estimate *x = find_time(w, of);
    const struct ypi_estimate *y = x != NULL ? find_time(w, to) : NULL;
    if (y != NULL)
        tell_value(w, ratio_of(x, y));
}

static void work_out_value_ratio(struct working *w)
{
    int of = 0;
    int to = 0;
    double x = 0;
    double y = 0;
    if (find_both(w, &of, &to) && find_value(w, of, &x) && find_value(w, to, &y))
        tell_value(w, (struct spread){x / y, x / y, x / y});
}

/* The case that is like the one at `i` but stands at b. */
static bool find_partner(struct working *w, const struct list *list, int i, int *out)
{
    const struct yp_relation *relation = w->relation;
    for (int k = 0; k < list->count; k++) {
        *out = list->at[k];
        const struct yp_case *other = case_at(w, *out);
        if (*out != i && stands_at(other, relation->axis, relation->b) &&
            same_but_for(case_at(w, i), other, relation->axis))
            return true;
    }
    return missing(w, ypi_format("not selected or not declared: the case like '%s' with %s=%s",
                                 case_at(w, i)->id, relation->axis, relation->b));
}

static bool compare_pairs(struct working *w, const struct list *list, struct worst *worst)
{
    const struct yp_relation *relation = w->relation;
    for (int k = 0; k < list->count; k++) {
        int of = list->at[k];
        int to = 0;
        if (!stands_at(case_at(w, of), relation->axis, relation->a))
            continue;
        if (!find_partner(w, list, of, &to))
            return false;
        const struct ypi_estimate *x = find_time(w, of);
        const struct ypi_estimate *y = x != NULL ? find_time(w, to) : NULL;
        if (y == NULL)
            return false;
        consider(w, worst, ratio_of(x, y),
                 ypi_format("'%s' against '%s'", case_at(w, of)->id, case_at(w, to)->id));
    }
    return worst->candidates > 0 ||
           missing(w, ypi_format("not selected or not declared: a case of '%s' with %s=%s",
                                 relation->of, relation->axis, relation->a));
}

static bool check_ends(struct working *w, const struct list *list)
{
    for (int k = 0; k < list->count; k++) {
        const struct yp_case *c = case_at(w, list->at[k]);
        if (!has_axis(w, c, true) || !check_end(w, c, w->relation->a) ||
            !check_end(w, c, w->relation->b))
            return false;
    }
    return true;
}

static void work_out_ratio_over(struct working *w)
{
    struct list list = {0};
    struct worst worst = {0};
    if (find(w, w->relation->of, &list) && check_ends(w, &list) && compare_pairs(w, &list, &worst))
        tell_worst(w, &worst, "pairs");
    free(worst.note);
    free(list.at);
}

/* -- growth ------------------------------------------------------------------------------- */

/* The cases that differ in the axis alone, on logarithmic scales. */
struct series {
    double *x, *y;     /* owned */
    double *down, *up; /* owned: how far the median's interval reaches from y */
    int count;
    int skipped;   /* cases without a result because they were skipped */
    char *absence; /* owned: of the first case without a result; NULL: all have one */
    int others;    /* how many more have none */
};

static void close_series(struct series *s)
{
    free(s->x);
    free(s->y);
    free(s->down);
    free(s->up);
    free(s->absence);
}

static bool add_point(struct working *w, struct series *s, int i)
{
    char *reason = absence(w, i);
    if (reason != NULL) {
        s->skipped += was_skipped(w, i);
        s->others += s->absence != NULL;
        if (s->absence == NULL)
            s->absence = reason;
        else
            free(reason);
        return true;
    }
    const struct yp_case *c = case_at(w, i);
    const struct ypi_setting *setting = setting_of(c, w->relation->axis);
    double x = setting->kind == YP_AXIS_INT ? (double)setting->i : setting->d;
    if (!(x > 0) || !isfinite(x))
        return misuse(w, "'%s' stands at %s=%g: allowed for a growth is above 0", c->id,
                      setting->axis, x);
    const struct ypi_estimate *time = find_time(w, i);
    if (time == NULL)
        return false;
    int at = s->count++;
    s->x[at] = log(x);
    s->y[at] = log(time->median);
    s->down[at] = s->y[at] - log(time->low);
    s->up[at] = log(time->high) - s->y[at];
    return true;
}

static int distinct(const double *x, int count)
{
    int found = 0;
    for (int i = 0; i < count; i++) {
        bool seen = false;
        for (int k = 0; k < i; k++)
            seen = seen || x[k] == x[i];
        found += !seen;
    }
    return found;
}

/* The slope is a weighted sum of the y, so it is farthest off when each median lies at that end of
 * its interval where the weight's sign has it; the scatter about the line may be wider still. */
static struct spread exponent_of(const struct series *s)
{
    struct ypi_line line = ypi_line(s->x, s->y, (size_t)s->count);
    double mean = 0;
    double square = 0;
    for (int i = 0; i < s->count; i++)
        mean += s->x[i] / s->count;
    for (int i = 0; i < s->count; i++)
        square += (s->x[i] - mean) * (s->x[i] - mean);
    double low = line.slope;
    double high = line.slope;
    for (int i = 0; i < s->count; i++) {
        double weight = (s->x[i] - mean) / square;
        if (weight > 0) {
            low -= weight * s->down[i];
            high += weight * s->up[i];
        } else if (weight < 0) {
            low += weight * s->up[i];
            high -= weight * s->down[i];
        }
    }
    return (struct spread){line.slope, fmin(low, line.low), fmax(high, line.high)};
}

static char *series_note(const struct series *s, const char *first)
{
    char more[64] = "";
    if (s->others > 0)
        snprintf(more, sizeof more, ", and %d more", s->others);
    return ypi_format("%d cases like '%s'%s%s%s%s", s->count, first,
                      s->absence != NULL ? " (without others: " : "",
                      s->absence != NULL ? s->absence : "", more, s->absence != NULL ? ")" : "");
}

/* A series that was skipped as a whole, as on a device that is not there, says nothing about the
 * others; one of which too little is there leaves the relation unknown. */
static bool fit_series(struct working *w, const struct series *s, int first, struct worst *worst)
{
    const char *id = case_at(w, first)->id;
    int points = distinct(s->x, s->count);
    if (points >= LEAST_POINTS) {
        consider(w, worst, exponent_of(s), series_note(s, id));
        worst->partial = s->absence != NULL;
        return true;
    }
    if (s->count == 0 && s->skipped == s->others + 1) {
        if (worst->left == NULL)
            worst->left = ypi_strdup(s->absence);
        return true;
    }
    return missing(w, ypi_format("%d value%s of '%s' among the cases like '%s', %d are needed%s%s",
                                 points, points == 1 ? "" : "s", w->relation->axis, id,
                                 LEAST_POINTS, s->absence != NULL ? ": " : "",
                                 s->absence != NULL ? s->absence : ""));
}

/* Whether a case before the k-th of the list is of the same series. */
static bool is_taken(const struct working *w, const struct list *list, int k)
{
    for (int i = 0; i < k; i++)
        if (same_but_for(case_at(w, list->at[i]), case_at(w, list->at[k]), w->relation->axis))
            return true;
    return false;
}

static bool work_out_series(struct working *w, const struct list *list, int first,
                            struct worst *worst)
{
    size_t room = (size_t)list->count;
    struct series s = {.x = ypi_calloc(room, sizeof *s.x),
                       .y = ypi_calloc(room, sizeof *s.y),
                       .down = ypi_calloc(room, sizeof *s.down),
                       .up = ypi_calloc(room, sizeof *s.up)};
    bool fine = true;
    for (int k = first; k < list->count && fine; k++)
        if (same_but_for(case_at(w, list->at[first]), case_at(w, list->at[k]), w->relation->axis))
            fine = add_point(w, &s, list->at[k]);
    fine = fine && fit_series(w, &s, list->at[first], worst);
    close_series(&s);
    return fine;
}

static bool check_numbers(struct working *w, const struct list *list)
{
    for (int k = 0; k < list->count; k++) {
        const struct yp_case *c = case_at(w, list->at[k]);
        if (!has_axis(w, c, false))
            return false;
        if (setting_of(c, w->relation->axis)->kind == YP_AXIS_STRING)
            return misuse(w,
                          "the axis '%s' of '%s' is one of texts: allowed for a growth are numbers",
                          w->relation->axis, w->relation->of);
    }
    return true;
}

static bool work_out_all_series(struct working *w, const struct list *list, struct worst *worst)
{
    for (int k = 0; k < list->count; k++)
        if (!is_taken(w, list, k) && !work_out_series(w, list, k, worst))
            return false;
    return worst->candidates > 0 || missing(w, absence(w, list->at[0]));
}

static void work_out_growth(struct working *w)
{
    struct list list = {0};
    struct worst worst = {0};
    if (find(w, w->relation->of, &list) && check_numbers(w, &list) &&
        work_out_all_series(w, &list, &worst))
        tell_worst(w, &worst, "series");
    free(worst.left);
    free(worst.note);
    free(list.at);
}

/* -- hashes ------------------------------------------------------------------------------- */

static bool has_hash(struct working *w, int i)
{
    if (!has_result(w, i))
        return false;
    const struct ypi_result *r = w->input->results[i];
    if (r->has_hash)
        return true;
    if (r->outcome == YPI_XFAILED)
        return missing(
            w, ypi_format("'%s' has no result: xfailed before yp_data_hash", case_at(w, i)->id));
    return misuse(w, "'%s' has no data hash: allowed are cases that call yp_data_hash",
                  case_at(w, i)->id);
}

static bool all_have_hashes(struct working *w, const struct list *list)
{
    for (int k = 0; k < list->count; k++)
        if (!has_hash(w, list->at[k]))
            return false;
    return list->count > 1 ||
           missing(w, ypi_format("no case to compare '%s' with", case_at(w, list->at[0])->id));
}

static void compare_hashes(struct working *w, const struct list *list)
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
                        case_at(w, list->at[0])->id, case_at(w, list->at[second])->id,
                        (unsigned long long)seen[0], (unsigned long long)seen[1], count,
                        list->count);
    free(seen);
    tell_value(w, (struct spread){count, count, count});
}

static void work_out_same_hash(struct working *w)
{
    struct list list = {0};
    if (find(w, w->relation->of, &list) && find(w, w->relation->to, &list) &&
        all_have_hashes(w, &list))
        compare_hashes(w, &list);
    free(list.at);
}

bool ypi_relation_work_out(const struct ypi_relation_input *input, struct ypi_result *r)
{
    static void (*const work_out[])(struct working *) = {
        [YP_RELATION_RATIO] = work_out_ratio,
        [YP_RELATION_RATIO_OVER] = work_out_ratio_over,
        [YP_RELATION_VALUE_RATIO] = work_out_value_ratio,
        [YP_RELATION_GROWTH] = work_out_growth,
        [YP_RELATION_SAME_HASH] = work_out_same_hash,
    };
    const struct yp_relation *relation = &r->c->test->relation;
    struct working w = {
        .input = input, .r = r, .relation = relation, .kind = &kinds[relation->kind]};
    free(r->reason);
    r->reason = NULL;
    work_out[relation->kind](&w);
    return r->reason == NULL;
}

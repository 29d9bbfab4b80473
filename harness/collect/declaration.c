/* What is allowed in a declaration. */
#include "harness/collect/internal.h"

#include "base/heap/heap.h"
#include "base/text/text.h"
#include "device/cpu/binding.h"
#include "harness/collect/tags.h"
#include "harness/vocabulary/command_declaration.h"
#include "harness/vocabulary/placement.h"
#include "harness/vocabulary/relation.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

int ypi_case_count(const struct yp_test *test)
{
    int count = 0;
    while (count < YP_MAX_CASES && test->cases[count].name != NULL)
        count++;
    return count;
}

int ypi_axis_count(const struct yp_test *test)
{
    int count = 0;
    while (ypi_axis_at(test, count) != NULL)
        count++;
    return count;
}

int ypi_parameter_count(const struct yp_case_decl *c)
{
    int count = 0;
    while (count < YP_MAX_PARAMETERS && c->set[count].kind != YP_AXIS_NONE)
        count++;
    return count;
}

static void check_tags(struct ypi_collecting *g, const char *tags)
{
    const char *cursor = tags != NULL ? tags : "";
    const char *word = NULL;
    size_t length = 0;
    while (ypi_next_word(&cursor, &word, &length)) {
        if (ypi_is_tag(g->o, word, length))
            continue;
        struct ypi_text known = {0};
        for (int i = 0; i < g->o->tag_count; i++)
            ypi_text_add(&known, "%s%s", i > 0 ? ", " : "", g->o->tags[i]);
        ypi_declaration_error(
            g,
            "tag '%.*s' is not registered: known are %s; a project adds its own under "
            "[tags] in yieldpoint.ini",
            (int)length, word, known.data);
        free(ypi_text_take(&known));
    }
}

static void check_timeout(struct ypi_collecting *g, double timeout)
{
    if (!(timeout >= 0) || !isfinite(timeout))
        ypi_declaration_error(g,
                              ".timeout is %g: allowed is 0 (the default of %g s) or more seconds",
                              timeout, YPI_DEFAULT_TIMEOUT);
}

static void check_cases(struct ypi_collecting *g)
{
    int count = ypi_case_count(g->test);
    for (int i = 0; i < count; i++) {
        const struct yp_case_decl *c = &g->test->cases[i];
        check_tags(g, c->tags);
        check_timeout(g, c->timeout);
        if (c->name[0] == '\0')
            ypi_declaration_error(g, "case %d has an empty name", i + 1);
        for (int k = 0; k < i; k++)
            if (strcmp(g->test->cases[k].name, c->name) == 0)
                ypi_declaration_error(g, "case '%s' is declared twice", c->name);
    }
    /* The first without a name ends the list: none may stand behind it. */
    for (int i = count + 1; i < YP_MAX_CASES; i++)
        if (g->test->cases[i].name != NULL) {
            ypi_declaration_error(g, "case %d has no name", count + 1);
            break;
        }
}

static bool has_axis(const struct yp_test *test, const char *name)
{
    const struct yp_axis *axis = NULL;
    for (int i = 0; (axis = ypi_axis_at(test, i)) != NULL; i++)
        if (axis->name != NULL && strcmp(axis->name, name) == 0)
            return true;
    return false;
}

static void check_parameter(struct ypi_collecting *g, const struct yp_case_decl *c, int i)
{
    const struct yp_parameter *p = &c->set[i];
    if (p->name == NULL || p->name[0] == '\0') {
        ypi_declaration_error(g, "parameter %d of case '%s' has no name", i + 1, c->name);
        return;
    }
    if (p->kind == YP_AXIS_STRING && p->value.s == NULL)
        ypi_declaration_error(g, "parameter '%s' of case '%s' is NULL", p->name, c->name);
    if (has_axis(g->test, p->name))
        ypi_declaration_error(g, "parameter '%s' of case '%s' is an axis as well", p->name,
                              c->name);
    for (int k = 0; k < i; k++)
        if (c->set[k].name != NULL && strcmp(c->set[k].name, p->name) == 0)
            ypi_declaration_error(g, "parameter '%s' of case '%s' is declared twice", p->name,
                                  c->name);
}

/* A body asks for each by name, whichever case runs. */
static void check_alike(struct ypi_collecting *g, const struct yp_case_decl *c)
{
    const struct yp_case_decl *first = &g->test->cases[0];
    int count = ypi_parameter_count(c);
    bool alike = count == ypi_parameter_count(first);
    for (int i = 0; i < count && alike; i++) {
        alike = false;
        for (int k = 0; k < count && !alike; k++)
            alike = c->set[i].kind == first->set[k].kind && c->set[i].name != NULL &&
                    first->set[k].name != NULL && strcmp(c->set[i].name, first->set[k].name) == 0;
    }
    if (!alike)
        ypi_declaration_error(g,
                              "case '%s' has other parameters than case '%s': names and kinds "
                              "must be the same",
                              c->name, first->name);
}

static void check_parameters(struct ypi_collecting *g)
{
    int count = ypi_case_count(g->test);
    for (int i = 0; i < count; i++) {
        const struct yp_case_decl *c = &g->test->cases[i];
        int before = g->out->errors, parameters = ypi_parameter_count(c);
        for (int k = 0; k < parameters; k++)
            check_parameter(g, c, k);
        if (parameters < YP_MAX_PARAMETERS && c->set[parameters].name != NULL)
            ypi_declaration_error(g, "parameter %d of case '%s' is of no kind", parameters + 1,
                                  c->name);
        if (g->out->errors == before)
            check_alike(g, c);
    }
}

static void check_axes(struct ypi_collecting *g)
{
    const struct yp_test *test = g->test;
    const struct yp_axis *axis = NULL;
    const struct yp_axis *other = NULL;
    for (int i = 0; (axis = ypi_axis_at(test, i)) != NULL; i++) {
        const unsigned most = axis->list.i != NULL ? YPI_AXIS_VALUES_MOST : YP_MAX_AXIS_VALUES;
        if (axis->name == NULL || axis->name[0] == '\0')
            ypi_declaration_error(g, "axis %d has no name", i + 1);
        else if (axis->kind == YP_AXIS_FROM && axis->from == NULL)
            ypi_declaration_error(g, "axis '%s' has no function", axis->name);
        else if (axis->kind != YP_AXIS_FROM && (axis->count == 0 || axis->count > most))
            ypi_declaration_error(g, "axis '%s' has %u values: allowed are 1 to %u", axis->name,
                                  axis->count, most);
        for (unsigned k = 0; axis->kind == YP_AXIS_STRING && k < axis->count && k < most; k++)
            if ((axis->list.s != NULL ? axis->list.s[k] : axis->values.s[k]) == NULL)
                ypi_declaration_error(g, "value %u of axis %d is NULL", k + 1, i + 1);
        for (int k = 0; k < i; k++) {
            other = ypi_axis_at(test, k);
            if (axis->name != NULL && other->name != NULL && strcmp(other->name, axis->name) == 0)
                ypi_declaration_error(g, "axis '%s' is declared twice", axis->name);
        }
    }
    int count = ypi_axis_count(test);
    if (count > YP_MAX_AXES)
        ypi_declaration_error(g, "it has %d axes with that of its %s: allowed are %d", count,
                              test->ranks == NULL                ? "types"
                              : test->types.kind != YP_AXIS_NONE ? "types and of its ranks"
                                                                 : "ranks",
                              YP_MAX_AXES);
    int declared = count - (test->types.kind != YP_AXIS_NONE) - (test->ranks != NULL);
    if (declared < YP_MAX_AXES && test->axes[declared].name != NULL)
        ypi_declaration_error(g, "axis %d is of no kind", count + 1);
}

static void check_devices(struct ypi_collecting *g)
{
    const char *cursor = g->test->devices != NULL ? g->test->devices : "";
    const char *word = NULL;
    size_t length = 0;
    int count = 0;
    char *names = ypi_device_names(false);
    char *allowed = ypi_join_words(names, "and");
    while (ypi_next_word(&cursor, &word, &length)) {
        count++;
        if (!ypi_has_word(names, word, length))
            ypi_declaration_error(g, "device '%.*s' is not known: allowed are %s", (int)length,
                                  word, allowed);
    }
    if (g->test->devices != NULL && count == 0)
        ypi_declaration_error(g, ".devices is empty: allowed are %s", allowed);
    free(allowed);
    free(names);
}

/* Takes the problem over; NULL: there is none. */
static void check_problem(struct ypi_collecting *g, char *problem)
{
    if (problem != NULL)
        ypi_declaration_error(g, "%s", problem);
    free(problem);
}

static void check_heap(struct ypi_collecting *g)
{
    const struct yp_test *test = g->test;
    if (!test->heap || test->relation.kind != YP_RELATION_NONE)
        return;
    if (test->fixture || test->command != NULL)
        ypi_declaration_error(g, "%s has .heap: allowed in YP_TEST only",
                              test->fixture ? "a fixture" : "a command");
    else if (&ypi_heap == NULL)
        ypi_declaration_error(g, ".heap needs the library yieldpoint-heap: link the program to it "
                                 "(pkg-config --libs yieldpoint-heap)");
}

static void check_ranks(struct ypi_collecting *g)
{
    const struct yp_test *test = g->test;
    if (test->ranks != NULL && (test->fixture || test->command != NULL))
        ypi_declaration_error(g, "%s has .ranks: allowed in YP_TEST only",
                              test->fixture ? "a fixture" : "a command");
    struct ypi_placement unused;
    if (test->placement != NULL && test->ranks == NULL)
        ypi_declaration_error(g, ".placement is of ranks, and it has no .ranks");
    check_problem(g, ypi_placement_read(test->placement, &unused));
}

/* Of the run, which confines itself only when it begins. */
static int processors(const struct ypi_options *o)
{
    unsigned char named[YPI_CPUS_MAX];
    int count = 0;
    if (o->cpus == NULL || !ypi_cpus_parse(o->cpus, named, YPI_CPUS_MAX))
        return ypi_processors();
    for (int i = 0; i < YPI_CPUS_MAX; i++)
        count += named[i] && ypi_cpus_allowed()[i];
    return count > 0 ? count : 1;
}

/* Last, so that no function is asked for a declaration that is wrong anyway. */
static void read_axes(struct ypi_collecting *g)
{
    struct ypi_axes *axes = ypi_calloc(1, sizeof *axes);
    axes->next = g->out->axes;
    g->out->axes = g->axes = axes;
    axes->count = ypi_axis_count(g->test);
    for (int i = 0; i < axes->count; i++) {
        const struct yp_axis *axis = ypi_axis_at(g->test, i);
        const int threads = axis->kind == YP_AXIS_THREADS ? processors(g->o) : 0;
        if (!ypi_axis_read(g->test, axis, threads, &axes->of[i]))
            ypi_declaration_error(g, "axis '%s': %s", axis->name, axes->of[i].problem);
    }
}

bool ypi_declaration_is_right(struct ypi_collecting *g)
{
    int before = g->out->errors;
    check_tags(g, g->test->tags);
    check_timeout(g, g->test->timeout);
    check_cases(g);
    check_axes(g);
    check_parameters(g);
    ypi_check_budgets(g);
    check_devices(g);
    check_heap(g);
    check_ranks(g);
    check_problem(g, ypi_relation_problem(g->test));
    check_problem(g, ypi_command_problem(g->test));
    check_problem(g, ypi_fixture_problem(g->test));
    if (g->out->errors == before)
        read_axes(g);
    return g->out->errors == before;
}

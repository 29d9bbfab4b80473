#include "harness/collect/select.h"

#include "base/text/text.h"
#include "harness/collect/expression.h"
#include "harness/collect/tags.h"
#include "harness/vocabulary/node.h"
#include "harness/vocabulary/relation.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* -- expressions -------------------------------------------------------------------------- */

static bool refuse(const char *option, const char *expression, size_t offset, size_t length,
                   const char *message)
{
    fprintf(stderr, "error: %s\n  %s %s\n", message, option, expression);
    ypi_underline(2 + strlen(option) + 1 + ypi_columns(expression, offset),
                  ypi_columns(expression + offset, length));
    return false;
}

static bool has_tag(void *arg, const char *word, size_t length)
{
    return ypi_has_word(((const struct yp_case *)arg)->tags, word, length);
}

/* The id without the names of axes: -k speaks of what a case is, and `cube` is no case that runs
 * over some number of cubes. */
static char *without_axes(const char *id)
{
    char *out = ypi_calloc(strlen(id) + 1, 1), *to = out;
    const char *open = strchr(id, '[');
    for (const char *at = id; *at != '\0'; at++) {
        bool begins = open != NULL && at > open && (at[-1] == '[' || at[-1] == '-');
        size_t name = begins ? strspn(at, "abcdefghijklmnopqrstuvwxyz_0123456789") : 0;
        if (name > 0 && at[name] == '=')
            at += name + 1;
        if (*at == '\0')
            break;
        *to++ = *at;
    }
    return out;
}

/* As pytest's -k knows a test's marks. */
static bool any_tag_holds(const struct yp_case *c, const char *needle)
{
    return strcasestr(c->tags, needle) != NULL && strchr(needle, ' ') == NULL;
}

/* A word with `=` says which value of which axis. */
static bool id_holds(void *arg, const char *word, size_t length)
{
    const struct yp_case *c = arg;
    char *needle = ypi_format("%.*s", (int)length, word);
    char *id = strchr(needle, '=') != NULL ? ypi_format("%s", c->id) : without_axes(c->id);
    bool found = strcasestr(id, needle) != NULL || strcasestr(c->test->group, needle) != NULL ||
                 any_tag_holds(c, needle);
    free(id);
    free(needle);
    return found;
}

struct unknown {
    const struct ypi_options *o;
    const char *expression;
    bool found;
};

static bool note_unknown(void *arg, const char *word, size_t length)
{
    struct unknown *u = arg;
    if (u->found || ypi_is_tag(u->o, word, length))
        return false;
    u->found = true;
    char *given = ypi_format("%.*s", (int)length, word);
    char *near = ypi_did_you_mean(given, (const char *const *)u->o->tags, u->o->tag_count);
    char *message = ypi_format("'%s' is not a registered tag%s; --markers lists them", given, near);
    free(near);
    refuse("-m", u->expression, (size_t)(word - u->expression), length, message);
    free(message);
    free(given);
    return false;
}

static bool ignore(void *arg, const char *word, size_t length)
{
    (void)arg, (void)word, (void)length;
    return false;
}

/* Malformed or not is the same for every case, so it is reported once, before any case is asked. */
static bool check_expression(const char *option, const char *expression,
                             const struct ypi_options *o)
{
    bool valid = true;
    struct ypi_expression_error error;
    ypi_expression(expression, ignore, NULL, &valid, &error);
    if (!valid)
        return refuse(option, expression, error.offset, error.length, error.message);
    struct unknown unknown = {.o = o, .expression = expression};
    if (strcmp(option, "-m") == 0 && o->tag_count > 0)
        ypi_expression(expression, note_unknown, &unknown, &valid, &error);
    return !unknown.found;
}

static bool fulfils(const char *expression, ypi_matches *matches, struct yp_case *c)
{
    bool valid = true;
    struct ypi_expression_error error;
    return expression == NULL || ypi_expression(expression, matches, c, &valid, &error);
}

/* -- ids ---------------------------------------------------------------------------------- */

static void print_missing(const char *wanted, const struct ypi_collection *c)
{
    enum { FILE_NODE, TEST_NODE, CASE_NODE, NODES };
    int count = c->count * NODES;
    char **nodes = ypi_calloc((size_t)count, sizeof *nodes);
    for (int i = 0; i < c->count; i++) {
        const char *id = c->cases[i]->id;
        const char *test = strstr(id, "::");
        int file_end = (int)(test - id);
        nodes[i * NODES + FILE_NODE] = ypi_format("%.*s", file_end, id);
        nodes[i * NODES + TEST_NODE] = ypi_format("%.*s", file_end + (int)strcspn(test, "["), id);
        nodes[i * NODES + CASE_NODE] = ypi_strdup(id);
    }
    char *near = ypi_did_you_mean(wanted, (const char *const *)nodes, count);
    fprintf(stderr, "error: not found: '%s'%s; --co -q lists all ids\n", wanted, near);
    free(near);
    ypi_list_free(nodes, count);
}

/* A path as a shell completes it, suites/stress/rx.c, is that of the id. */
bool ypi_is_meant(const char *wanted, const struct yp_case *c)
{
    return ypi_node_names(wanted, c->id) || ypi_node_names(ypi_test_path(wanted), c->id);
}

static bool id_means(const struct ypi_options *o, int id, const struct yp_case *c)
{
    return ypi_is_meant(o->ids[id], c) ||
           (o->places != NULL && o->places[id] != NULL && ypi_node_names(o->places[id], c->id));
}

static bool check_id(const struct ypi_options *o, int id, const struct ypi_collection *c)
{
    for (int i = 0; i < c->count; i++)
        if (id_means(o, id, c->cases[i]))
            return true;
    print_missing(o->ids[id], c);
    return false;
}

/* The place of the first id that means the case; id_count: none does. */
static int place_among_ids(const struct yp_case *c, const struct ypi_options *o)
{
    int i = 0;
    while (i < o->id_count && !id_means(o, i, c))
        i++;
    return i;
}

static bool is_named(const struct yp_case *c, const struct ypi_options *o)
{
    return o->id_count == 0 || place_among_ids(c, o) < o->id_count;
}

/* By an id of its test or its own, and not only by a file or a directory. */
static bool is_named_itself(const struct yp_case *c, const struct ypi_options *o)
{
    for (int i = 0; i < o->id_count; i++)
        if (strstr(o->ids[i], "::") != NULL && id_means(o, i, c))
            return true;
    return false;
}

/* The begin of an id, as in pytest: a file, a test, some of its cases. */
static bool is_deselected(const struct yp_case *c, const struct ypi_options *o)
{
    for (int i = 0; i < o->deselected_count; i++) {
        const char *begin = o->deselected[i];
        if (ypi_node_begins(begin, c->id) || ypi_node_begins(ypi_test_path(begin), c->id))
            return true;
    }
    for (int i = 0; i < o->ignored_count; i++)
        if (ypi_is_meant(o->ignored[i], c))
            return true;
    return false;
}

static bool check_set(const struct ypi_set *set, const struct ypi_collection *c)
{
    if (set->used)
        return true;
    if (set->not_made) {
        fprintf(stderr,
                "error: --set %s=%s: no test is made for this type; --co -q lists all ids\n",
                set->axis, set->value);
        return false;
    }
    struct ypi_text known = {0};
    for (int i = 0; i < c->count; i++)
        for (int k = 0; k < c->cases[i]->setting_count; k++) {
            const char *axis = c->cases[i]->settings[k].axis;
            if (known.data == NULL || !ypi_has_word(known.data, axis, strlen(axis)))
                ypi_text_add(&known, "%s%s", known.length > 0 ? ", " : "", axis);
        }
    char *axes = ypi_text_take(&known);
    fprintf(stderr, "error: --set %s=%s: no test has the axis '%s'; there %s: %s\n", set->axis,
            set->value, set->axis, axes[0] != '\0' ? "are" : "is", axes[0] != '\0' ? axes : "none");
    free(axes);
    return false;
}

static bool fulfils_all(struct yp_case *c, const struct ypi_options *o)
{
    return fulfils(o->mark, has_tag, c) && fulfils(o->keyword, id_holds, c);
}

/* Relations that are selected by an id of theirs: the cases that they read are then meant too. Of
 * those that a file or a directory names this is not so. The array is the caller's. */
static const struct yp_case **named_relations(const struct ypi_collection *c,
                                              const struct ypi_options *o, int *count)
{
    const struct yp_case **found = ypi_calloc((size_t)c->count, sizeof(*found));
    *count = 0;
    for (int i = 0; i < c->count; i++) {
        struct yp_case *one = c->cases[i];
        if (ypi_is_relation(one) && is_named_itself(one, o) && fulfils_all(one, o))
            found[(*count)++] = one;
    }
    return found;
}

static bool is_read(const struct yp_case *c, const struct yp_case *const *relations, int count)
{
    for (int i = 0; i < count; i++)
        if (ypi_relation_reads(relations[i], c))
            return true;
    return false;
}

bool ypi_selection_is_right(const struct ypi_options *o)
{
    return (o->mark == NULL || check_expression("-m", o->mark, o)) &&
           (o->keyword == NULL || check_expression("-k", o->keyword, o));
}

bool ypi_is_selected(struct yp_case *c, const struct ypi_options *o)
{
    return is_named(c, o) && fulfils_all(c, o);
}

struct placed {
    struct yp_case *c;
    int place, number;
};

static int by_place(const void *a, const void *b)
{
    const struct placed *x = a;
    const struct placed *y = b;
    return x->place != y->place ? x->place - y->place : x->number - y->number;
}

/* In the order of the ids on the command line. What a relation reads comes behind them. */
static void order_as_named(struct yp_case **cases, int count, const struct ypi_options *o)
{
    if (o->id_count < 2)
        return;
    struct placed *placed = ypi_calloc((size_t)count + 1, sizeof *placed);
    for (int i = 0; i < count; i++)
        placed[i] = (struct placed){cases[i], place_among_ids(cases[i], o), i};
    qsort(placed, (size_t)count, sizeof *placed, by_place);
    for (int i = 0; i < count; i++)
        cases[i] = placed[i].c;
    free(placed);
}

enum ypi_exit ypi_select(struct ypi_collection *c, const struct ypi_options *o, int *selected)
{
    bool ok = ypi_selection_is_right(o);
    for (int i = 0; i < o->id_count; i++)
        ok = check_id(o, i, c) && ok;
    for (int i = 0; i < o->set_count; i++)
        ok = check_set(&o->sets[i], c) && ok;
    *selected = 0;
    c->meant = 0;
    if (!ok)
        return YPI_EXIT_USAGE;

    struct yp_case **rest = ypi_calloc((size_t)c->count, sizeof(*rest));
    int left = 0;
    int relation_count = 0;
    const struct yp_case **relations = named_relations(c, o, &relation_count);
    for (int i = 0; i < c->count; i++) {
        struct yp_case *one = c->cases[i];
        /* Whatever else needs a fixture brings it. */
        bool meant = one->test->fixture
                         ? is_named_itself(one, o)
                         : is_named(one, o) || is_read(one, relations, relation_count);
        c->meant += meant;
        if (meant && fulfils_all(one, o) && !is_deselected(one, o))
            c->cases[(*selected)++] = one;
        else
            rest[left++] = one;
    }
    for (int i = 0; i < left; i++)
        c->cases[*selected + i] = rest[i];
    order_as_named(c->cases, *selected, o);
    free(rest);
    free(relations);
    return YPI_EXIT_OK;
}

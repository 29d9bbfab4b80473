/* A declaration times its named cases, axes and devices. */
#include "harness/collect/internal.h"

#include "base/text/text.h"
#include "device/registry.h"
#include "harness/collect/counted.h"
#include "harness/collect/launcher.h"
#include "harness/vocabulary/relation.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static double first_above_zero(double a, double b, double c, double d)
{
    return a > 0 ? a : b > 0 ? b : c > 0 ? c : d;
}

static void add_case(struct ypi_collecting *g, const struct yp_case *like)
{
    if (g->misfiltered)
        return;
    struct yp_case *c = ypi_calloc(1, sizeof *c);
    *c = *like;
    const struct yp_test *test = g->test;
    c->id = ypi_make_id(c);
    int errors = ypi_filter_errors();
    bool wanted = test->filter == NULL || test->filter(c);
    g->misfiltered = ypi_filter_errors() > errors;
    if (g->misfiltered || !wanted || !ypi_resolve_budgets(g, c)) {
        free(c->id);
        free(c);
        return;
    }
    c->tags = ypi_make_tags(c, g->o);
    c->seed = g->o->seed;
    c->timeout = first_above_zero(g->o->timeout, c->decl != NULL ? c->decl->timeout : 0,
                                  test->timeout, YPI_DEFAULT_TIMEOUT);
    c->skip = c->decl != NULL && c->decl->skip != NULL ? c->decl->skip : test->skip;
    if (c->skip == NULL && c->device[0] != '\0')
        c->skip = ypi_device_absent(c->device);
    if (c->skip == NULL && g->o->instructions)
        c->skip = ypi_callgrind_refuses(c);
    if (c->skip == NULL)
        c->skip = ypi_ranks_refused(c, g->o);
    if (c->skip == NULL && g->o->speed == YPI_SPEED_OFF && ypi_relation_is_of_speed(test))
        c->skip = "a relation of speed, and nothing is timed (--speed=off)";
    if (c->skip == NULL && g->o->audit)
        c->skip = ypi_audit_refuses(c);
    c->xfail = c->decl != NULL && c->decl->xfail != NULL ? c->decl->xfail : test->xfail;
    g->out->cases = ypi_realloc(g->out->cases, (size_t)g->out->count + 1, sizeof(*g->out->cases));
    g->out->cases[g->out->count++] = c;
}

/* `auto` keeps the declared names; a name given on the command line replaces them. */
static void expand_devices(struct ypi_collecting *g, struct yp_case *c)
{
    const char *wanted = g->o->device;
    const char *cursor = g->test->devices != NULL ? g->test->devices : "";
    const char *word = NULL;
    size_t length = 0;
    bool any = ypi_has_word("auto all", wanted, strlen(wanted));
    if (g->test->devices == NULL && (any || g->test->fixture || strcmp(wanted, "cpu") == 0))
        add_case(g, c);
    while (ypi_next_word(&cursor, &word, &length)) {
        if (!any && strncmp(wanted, word, length) != 0)
            continue;
        if (any)
            snprintf(c->device, sizeof c->device, "%.*s", (int)length, word);
        else
            snprintf(c->device, sizeof c->device, "%s", wanted);
        add_case(g, c);
    }
    c->device[0] = '\0';
}

/* Of types there are no others than those that the test is made for. */
static bool is_made(struct ypi_collecting *g, const struct ypi_setting *s)
{
    const struct yp_axis *types = &g->test->types;
    if (types->kind == YP_AXIS_NONE || s->parameter || strcmp(s->axis, types->name) != 0)
        return true;
    for (size_t i = 0; i < g->axes->of[0].count; i++)
        if (ypi_setting_equal(&g->axes->of[0].of[i], s))
            return true;
    return false;
}

/* The value of --set for the axis or parameter `out`; false when it is not of its kind. */
static bool read_setting(struct ypi_setting *out, const char *text, bool of_ranks)
{
    out->s = text;
    out->given = true;
    if (out->kind == YP_AXIS_INT)
        return ypi_parse_i64(text, &out->i) &&
               (!of_ranks || (out->i >= 1 && out->i <= YPI_RANKS_MOST));
    return out->kind != YP_AXIS_DOUBLE || ypi_parse_double(text, &out->d);
}

static bool is_of_ranks(const struct ypi_collecting *g, const struct ypi_setting *s)
{
    return g->test->ranks != NULL && !s->parameter && strcmp(s->axis, "ranks") == 0;
}

static void refuse_set(struct ypi_collecting *g, const struct ypi_setting *s,
                       const struct ypi_set *set)
{
    char range[64];
    snprintf(range, sizeof range, "numbers of processes, 1 to %d", YPI_RANKS_MOST);
    fprintf(stderr, "error: --set %s=%s: %s '%s' of %s.%s (%s:%d) takes %s\n", set->axis,
            set->value, s->parameter ? "parameter" : "axis", s->axis, g->test->group, g->test->name,
            g->test->file, g->test->line,
            is_of_ranks(g, s)        ? range
            : s->kind == YP_AXIS_INT ? "whole numbers"
                                     : "numbers");
    g->out->usage_errors++;
}

static void expand_settings(struct ypi_collecting *g, struct yp_case *c, int depth);

/* With each value that --set gives to setting `at`; false when it gives none. */
static bool expand_given(struct ypi_collecting *g, struct yp_case *c, int at, int depth)
{
    const struct ypi_setting declared = c->settings[at];
    bool given = false;
    for (int i = 0; i < g->o->set_count; i++) {
        struct ypi_set *set = &g->o->sets[i];
        if (strcmp(set->axis, declared.axis) != 0)
            continue;
        given = true;
        c->settings[at] = declared;
        if (!read_setting(&c->settings[at], set->value, is_of_ranks(g, &declared))) {
            refuse_set(g, &declared, set);
        } else if (!is_made(g, &c->settings[at])) {
            set->not_made = true;
            continue;
        } else {
            expand_settings(g, c, depth + 1);
        }
        set->used = true;
    }
    c->settings[at] = declared;
    return given;
}

/* Parameters change slowest, then axes as declared, then the device. */
static void expand_settings(struct ypi_collecting *g, struct yp_case *c, int depth)
{
    int axes = g->axes->count, parameters = c->setting_count - axes;
    if (depth == c->setting_count) {
        expand_devices(g, c);
    } else if (depth < parameters) {
        if (!expand_given(g, c, axes + depth, depth))
            expand_settings(g, c, depth + 1);
    } else {
        const struct yp_axis_values *axis = &g->axes->of[depth - parameters];
        struct ypi_setting *setting = &c->settings[depth - parameters];
        *setting = (struct ypi_setting){.axis = axis->name, .kind = axis->kind};
        bool given = expand_given(g, c, depth - parameters, depth);
        for (size_t i = 0; i < axis->count && !given; i++) {
            *setting = axis->of[i];
            expand_settings(g, c, depth + 1);
        }
    }
}

/* The named case's parameters, behind the axes. */
static void put_parameters(struct yp_case *c)
{
    int count = c->decl != NULL ? ypi_parameter_count(c->decl) : 0;
    for (int i = 0; i < count; i++) {
        const struct yp_parameter *p = &c->decl->set[i];
        struct ypi_setting *s = &c->settings[c->setting_count++];
        *s = (struct ypi_setting){.axis = p->name, .kind = p->kind, .parameter = true};
        if (p->kind == YP_AXIS_INT)
            s->i = p->value.i;
        else if (p->kind == YP_AXIS_DOUBLE)
            s->d = p->value.d;
        else
            s->s = p->value.s;
    }
}

void ypi_expand(struct ypi_collecting *g)
{
    int count = ypi_case_count(g->test);
    for (int i = 0; i < (count > 0 ? count : 1); i++) {
        struct yp_case c = {.test = g->test, .setting_count = g->axes->count};
        c.decl = count > 0 ? &g->test->cases[i] : NULL;
        put_parameters(&c);
        expand_settings(g, &c, 0);
    }
}

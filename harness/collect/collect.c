#include "harness/collect/collect.h"

#include "base/text.h"
#include "device/registry.h"
#include "harness/case/command.h"
#include "harness/judge/audit.h"
#include "harness/judge/budget.h"
#include "harness/judge/relation.h"
#include "harness/measure/callgrind.h"

#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEFAULT_TIMEOUT 60.0

extern const struct yp_test *const __start_yp_tests[] __attribute__((weak));
extern const struct yp_test *const __stop_yp_tests[] __attribute__((weak));

struct ypi_tests ypi_all_tests(void)
{
    return (struct ypi_tests){__start_yp_tests, __stop_yp_tests};
}

struct collecting {
    struct ypi_collection *out;
    struct ypi_options *o;
    const struct yp_test *test;
    bool misfiltered; /* its filter asked in vain: once told is enough */
};

static void error_at(struct collecting *g, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void tell_error(const struct yp_test *test, const char *message)
{
    fprintf(stderr, "error: %s:%d: test %s.%s: %s\n", test->file, test->line, test->group,
            test->name, message);
}

static void error_at(struct collecting *g, const char *format, ...)
{
    struct ypi_text message = {0};
    va_list arguments;
    va_start(arguments, format);
    ypi_text_vadd(&message, format, arguments);
    va_end(arguments);
    tell_error(g->test, message.data);
    free(ypi_text_take(&message));
    g->out->errors++;
}

/* Errors told by filters while a collection is going on: they have no way to carry it along. */
static int filter_errors;

void ypi_collect_error(const struct yp_test *test, const char *message)
{
    tell_error(test, message);
    filter_errors++;
}

/* Behind the last `directory` of the path; NULL when it goes through none. */
static const char *behind(const char *file, const char *directory)
{
    const char *found = NULL;
    for (const char *at = file; (at = strstr(at, directory)) != NULL; at++)
        if (at == file || at[-1] == '/')
            found = at + strlen(directory);
    return found;
}

const char *ypi_test_path(const char *file)
{
    const char *suite = behind(file, "suites/");
    if (suite != NULL)
        return suite;
    const char *tests = behind(file, "tests/");
    if (tests != NULL)
        return tests - strlen("tests/");
    while (strncmp(file, "./", 2) == 0 || strncmp(file, "../", 3) == 0)
        file = strchr(file, '/') + 1;
    return file;
}

/* -- checks of a declaration -------------------------------------------------------------- */

static void check_tags(struct collecting *g, const char *tags)
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
        error_at(g,
                 "tag '%.*s' is not registered: known are %s; a project adds its own under "
                 "[tags] in yieldpoint.ini",
                 (int)length, word, known.data);
        free(ypi_text_take(&known));
    }
}

static void check_timeout(struct collecting *g, double timeout)
{
    if (!(timeout >= 0) || !isfinite(timeout))
        error_at(g, ".timeout is %g: allowed is 0 (the default of %g s) or more seconds", timeout,
                 DEFAULT_TIMEOUT);
}

static int case_count(const struct yp_test *test)
{
    int count = 0;
    while (count < YP_MAX_CASES && test->cases[count].name != NULL)
        count++;
    return count;
}

static int axis_count(const struct yp_test *test)
{
    int count = 0;
    while (count < YP_MAX_AXES && test->axes[count].kind != YP_AXIS_NONE)
        count++;
    return count;
}

static void check_cases(struct collecting *g)
{
    int count = case_count(g->test);
    for (int i = 0; i < count; i++) {
        const struct yp_case_decl *c = &g->test->cases[i];
        check_tags(g, c->tags);
        check_timeout(g, c->timeout);
        if (c->name[0] == '\0')
            error_at(g, "case %d has an empty name", i + 1);
        for (int k = 0; k < i; k++)
            if (strcmp(g->test->cases[k].name, c->name) == 0)
                error_at(g, "case '%s' is declared twice", c->name);
    }
    /* The first without a name ends the list: none may stand behind it. */
    for (int i = count + 1; i < YP_MAX_CASES; i++)
        if (g->test->cases[i].name != NULL) {
            error_at(g, "case %d has no name", count + 1);
            break;
        }
}

static void check_axes(struct collecting *g)
{
    int count = axis_count(g->test);
    for (int i = 0; i < count; i++) {
        const struct yp_axis *axis = &g->test->axes[i];
        if (axis->name == NULL || axis->name[0] == '\0')
            error_at(g, "axis %d has no name", i + 1);
        else if (axis->count == 0 || axis->count > YP_MAX_AXIS_VALUES)
            error_at(g, "axis '%s' has %u values: allowed are 1 to %d", axis->name, axis->count,
                     YP_MAX_AXIS_VALUES);
        for (unsigned k = 0; axis->kind == YP_AXIS_STRING && k < axis->count; k++)
            if (k < YP_MAX_AXIS_VALUES && axis->values.s[k] == NULL)
                error_at(g, "value %u of axis %d is NULL", k + 1, i + 1);
        for (int k = 0; k < i; k++)
            if (axis->name != NULL && g->test->axes[k].name != NULL &&
                strcmp(g->test->axes[k].name, axis->name) == 0)
                error_at(g, "axis '%s' is declared twice", axis->name);
    }
    if (count < YP_MAX_AXES && g->test->axes[count].name != NULL)
        error_at(g, "axis %d is of no kind", count + 1);
}

/* Two limits of one thing: only one of them would be heard of. */
static void check_budget_alone(struct collecting *g, int i)
{
    const struct yp_budget *b = &g->test->budgets[i];
    for (int k = 0; k < i; k++) {
        const struct yp_budget *other = &g->test->budgets[k];
        bool same_part = other->counter == b->counter && other->quantile == b->quantile;
        bool same_name = b->name == NULL || other->name == NULL ? b->name == other->name
                                                                : strcmp(b->name, other->name) == 0;
        const char *of = ypi_budget_device(g->test, i), *to = ypi_budget_device(g->test, k);
        bool together = of == NULL || to == NULL || strcmp(of, to) == 0;
        if (other->kind == b->kind && other->memory == b->memory && same_part && same_name &&
            together)
            error_at(g, "budgets %d and %d are of one thing", k + 1, i + 1);
    }
}

static void check_budget_device(struct collecting *g, int i)
{
    const char *device = g->test->budgets[i].name != NULL ? g->test->budgets[i].name : "";
    const char *all = g->test->devices != NULL ? g->test->devices : "cpu";
    if (strchr(device, ' ') != NULL || !ypi_has_word(all, device, strlen(device)))
        error_at(g, "budget %d and those behind it are for device '%s': it has %s", i + 1, device,
                 all);
}

static void check_budget_kind(struct collecting *g, int i)
{
    const struct yp_budget *b = &g->test->budgets[i];
    if (b->kind == YP_BUDGET_MAX_PERCENTILE && !(b->quantile > 0 && b->quantile < 1))
        error_at(g, "budget %d is of the percentile %g: allowed is more than 0 and less than 100",
                 i + 1, b->quantile * 100);
    if (b->kind == YP_BUDGET_MAX_COUNT && b->counter >= YP_COUNTERS)
        error_at(g, "budget %d is of counter %d: allowed are those of enum yp_counter", i + 1,
                 (int)b->counter);
    bool inside = b->kind == YP_BUDGET_MIN_SHARE || b->kind == YP_BUDGET_MAX_CPU_TIME ||
                  b->kind == YP_BUDGET_MAX_GROWTH || b->kind == YP_BUDGET_MAX_COUNT;
    if (g->test->command != NULL && inside)
        error_at(g,
                 "budget %d (%s) is of what goes on inside a process: a command's cannot be "
                 "seen",
                 i + 1, ypi_budget_kind_name(b->kind));
}

static void check_budgets(struct collecting *g)
{
    for (int i = 0; i < YP_MAX_BUDGETS && g->test->budgets[i].kind != YP_BUDGET_NONE; i++) {
        const struct yp_budget *b = &g->test->budgets[i];
        bool any_sign = b->kind == YP_BUDGET_MIN_VALUE || b->kind == YP_BUDGET_MAX_VALUE;
        bool named = ypi_budget_is_named(b->kind);
        if (named && (b->name == NULL || b->name[0] == '\0'))
            error_at(g, "budget %d names no measurement, value or check", i + 1);
        if (!isfinite(b->limit) || (!any_sign && b->limit < 0))
            error_at(g, "budget %d has the limit %g: allowed is any finite number%s", i + 1,
                     b->limit, any_sign ? "" : " from 0");
        check_budget_kind(g, i);
        if (ypi_budget_is_speed(b->kind) && g->test->parallel)
            error_at(g, "budget %d is one of speed, but .parallel says that nothing is timed",
                     i + 1);
        if (b->kind == YP_BUDGET_FOR_DEVICE)
            check_budget_device(g, i);
        else
            check_budget_alone(g, i);
    }
}

static void check_devices(struct collecting *g)
{
    const char *cursor = g->test->devices != NULL ? g->test->devices : "";
    const char *word = NULL;
    size_t length = 0;
    int count = 0;
    while (ypi_next_word(&cursor, &word, &length)) {
        count++;
        if (!ypi_has_word("cpu cuda", word, length))
            error_at(g, "device '%.*s' is not known: allowed are cpu and cuda", (int)length, word);
    }
    if (g->test->devices != NULL && count == 0)
        error_at(g, ".devices is empty: allowed are cpu and cuda");
}

static void check_relation(struct collecting *g)
{
    char *problem = ypi_relation_problem(g->test);
    if (problem != NULL)
        error_at(g, "%s", problem);
    free(problem);
}

static void check_command(struct collecting *g)
{
    char *problem = ypi_command_problem(g->test);
    if (problem != NULL)
        error_at(g, "%s", problem);
    free(problem);
}

static bool check_test(struct collecting *g)
{
    int before = g->out->errors;
    check_tags(g, g->test->tags);
    check_timeout(g, g->test->timeout);
    check_cases(g);
    check_axes(g);
    check_budgets(g);
    check_devices(g);
    check_relation(g);
    check_command(g);
    return g->out->errors == before;
}

/* -- building cases ----------------------------------------------------------------------- */

/* Everything with a meaning in an id is written as %xx inside a value. */
static void add_escaped(struct ypi_text *id, const char *value)
{
    for (const char *c = value; *c != '\0'; c++) {
        unsigned char byte = (unsigned char)*c;
        if (strchr("-[]%:=", *c) != NULL || byte <= ' ' || byte == 127)
            ypi_text_add(id, "%%%02x", byte);
        else
            ypi_text_bytes(id, c, 1);
    }
}

static void add_setting(struct ypi_text *id, const struct ypi_setting *s)
{
    char number[32];
    add_escaped(id, s->axis);
    ypi_text_add(id, "=");
    switch (s->kind) {
    case YP_AXIS_INT:
        snprintf(number, sizeof number, "%lld", s->i);
        add_escaped(id, number);
        break;
    case YP_AXIS_DOUBLE:
        ypi_print_double(number, s->d);
        add_escaped(id, number);
        break;
    default:
        add_escaped(id, s->s);
    }
}

static char *make_id(const struct yp_case *c)
{
    struct ypi_text id = {0};
    ypi_text_add(&id, "%s::%s", ypi_test_path(c->test->file), c->test->name);
    const char *before = "[";
    if (c->decl != NULL) {
        ypi_text_add(&id, "%s", before);
        add_escaped(&id, c->decl->name);
        before = "-";
    }
    for (int i = 0; i < c->setting_count; i++) {
        ypi_text_add(&id, "%s", before);
        add_setting(&id, &c->settings[i]);
        before = "-";
    }
    if (c->device[0] != '\0') {
        ypi_text_add(&id, "%s%s", before, c->device);
        before = "-";
    }
    if (before[0] == '-')
        ypi_text_add(&id, "]");
    return ypi_text_take(&id);
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static char *make_tags(const struct yp_case *c, const struct ypi_options *o)
{
    bool named = c->decl != NULL && ypi_is_tag(o, c->decl->name, strlen(c->decl->name));
    char *all =
        ypi_format("%s %s %s %s", c->test->tags != NULL ? c->test->tags : "",
                   c->decl != NULL && c->decl->tags != NULL ? c->decl->tags : "",
                   named ? c->decl->name : "", strncmp(c->device, "cuda", 4) == 0 ? "gpu" : "");
    char **words = NULL;
    size_t count = 0;
    const char *cursor = all;
    const char *word = NULL;
    size_t length = 0;
    while (ypi_next_word(&cursor, &word, &length)) {
        words = ypi_realloc(words, count + 1, sizeof *words);
        words[count++] = ypi_format("%.*s", (int)length, word);
    }
    if (count > 0)
        qsort(words, count, sizeof *words, by_text);
    struct ypi_text tags = {0};
    for (size_t i = 0; i < count; i++) {
        if (i == 0 || strcmp(words[i], words[i - 1]) != 0)
            ypi_text_add(&tags, "%s%s", tags.length > 0 ? " " : "", words[i]);
    }
    for (size_t i = 0; i < count; i++)
        free(words[i]);
    free(words);
    free(all);
    return ypi_text_take(&tags);
}

static double first_above_zero(double a, double b, double c, double d)
{
    return a > 0 ? a : b > 0 ? b : c > 0 ? c : d;
}

static void add_case(struct collecting *g, const struct yp_case *like)
{
    if (g->misfiltered)
        return;
    struct yp_case *c = ypi_calloc(1, sizeof *c);
    *c = *like;
    const struct yp_test *test = g->test;
    c->id = make_id(c);
    int errors = filter_errors;
    bool wanted = test->filter == NULL || test->filter(c);
    g->misfiltered = filter_errors > errors;
    if (!wanted) {
        free(c->id);
        free(c);
        return;
    }
    c->tags = make_tags(c, g->o);
    c->seed = g->o->seed;
    c->timeout = first_above_zero(g->o->timeout, c->decl != NULL ? c->decl->timeout : 0,
                                  test->timeout, DEFAULT_TIMEOUT);
    c->skip = c->decl != NULL && c->decl->skip != NULL ? c->decl->skip : test->skip;
    if (c->skip == NULL && c->device[0] != '\0')
        c->skip = ypi_device_absent(c->device);
    if (c->skip == NULL && g->o->instructions)
        c->skip = ypi_callgrind_refuses(c);
    if (c->skip == NULL && g->o->speed == YPI_SPEED_OFF && ypi_relation_is_of_speed(test))
        c->skip = "a relation of speed, and nothing is timed (--speed=off)";
    if (c->skip == NULL && g->o->audit)
        c->skip = ypi_audit_refuses(c);
    c->xfail = c->decl != NULL && c->decl->xfail != NULL ? c->decl->xfail : test->xfail;
    g->out->cases = ypi_realloc(g->out->cases, (size_t)g->out->count + 1, sizeof(*g->out->cases));
    g->out->cases[g->out->count++] = c;
}

/* `auto` keeps the declared names; a name given on the command line replaces them. */
static void expand_devices(struct collecting *g, struct yp_case *c)
{
    const char *wanted = g->o->device;
    const char *cursor = g->test->devices != NULL ? g->test->devices : "";
    const char *word = NULL;
    size_t length = 0;
    bool any = ypi_has_word("auto all", wanted, strlen(wanted));
    if (g->test->devices == NULL && (any || strcmp(wanted, "cpu") == 0))
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

/* One value of an axis, as text from --set; false when it is not of the axis's kind. */
static bool read_setting(const struct yp_axis *axis, const char *text, struct ypi_setting *out)
{
    *out = (struct ypi_setting){.axis = axis->name, .kind = axis->kind, .s = text};
    if (axis->kind == YP_AXIS_INT)
        return ypi_parse_i64(text, &out->i);
    return axis->kind != YP_AXIS_DOUBLE || ypi_parse_double(text, &out->d);
}

static void refuse_set(struct collecting *g, const struct yp_axis *axis, const struct ypi_set *set)
{
    fprintf(stderr, "error: --set %s=%s: axis '%s' of %s.%s (%s:%d) takes %s\n", set->axis,
            set->value, axis->name, g->test->group, g->test->name, g->test->file, g->test->line,
            axis->kind == YP_AXIS_INT ? "whole numbers" : "numbers");
    g->out->usage_errors++;
}

static void expand_axes(struct collecting *g, struct yp_case *c, int depth)
{
    if (depth == axis_count(g->test)) {
        expand_devices(g, c);
        return;
    }
    const struct yp_axis *axis = &g->test->axes[depth];
    struct ypi_setting *setting = &c->settings[depth];
    c->setting_count = depth + 1;
    bool given = false;
    for (int i = 0; i < g->o->set_count; i++) {
        struct ypi_set *set = &g->o->sets[i];
        if (strcmp(set->axis, axis->name) != 0)
            continue;
        set->used = given = true;
        if (read_setting(axis, set->value, setting))
            expand_axes(g, c, depth + 1);
        else
            refuse_set(g, axis, set);
    }
    for (unsigned i = 0; i < axis->count && !given; i++) {
        *setting = (struct ypi_setting){.axis = axis->name, .kind = axis->kind};
        if (axis->kind == YP_AXIS_INT)
            setting->i = axis->values.i[i];
        else if (axis->kind == YP_AXIS_DOUBLE)
            setting->d = axis->values.d[i];
        else
            setting->s = axis->values.s[i];
        expand_axes(g, c, depth + 1);
    }
    c->setting_count = depth;
}

static void expand_test(struct collecting *g)
{
    struct yp_case c = {.test = g->test};
    int count = case_count(g->test);
    if (count == 0)
        expand_axes(g, &c, 0);
    for (int i = 0; i < count; i++) {
        c.decl = &g->test->cases[i];
        expand_axes(g, &c, 0);
    }
}

/* -- the whole ---------------------------------------------------------------------------- */

static int by_id(const void *a, const void *b)
{
    const struct yp_case *x = *(struct yp_case *const *)a;
    const struct yp_case *y = *(struct yp_case *const *)b;
    return strcmp(x->id, y->id);
}

static void refuse_duplicates(struct ypi_collection *out)
{
    if (out->count == 0)
        return;
    struct yp_case **sorted = ypi_calloc((size_t)out->count, sizeof(*sorted));
    memcpy(sorted, out->cases, (size_t)out->count * sizeof(*sorted));
    qsort(sorted, (size_t)out->count, sizeof(*sorted), by_id);
    for (int i = 1; i < out->count; i++) {
        const struct yp_test *a = sorted[i - 1]->test;
        const struct yp_test *b = sorted[i]->test;
        if (strcmp(sorted[i - 1]->id, sorted[i]->id) != 0)
            continue;
        bool swap = a->line > b->line;
        fprintf(stderr, "error: duplicate id '%s': declared at %s:%d and at %s:%d\n", sorted[i]->id,
                swap ? b->file : a->file, swap ? b->line : a->line, swap ? a->file : b->file,
                swap ? a->line : b->line);
        out->errors++;
    }
    free(sorted);
}

static int by_place(const void *a, const void *b)
{
    const struct yp_test *x = *(const struct yp_test *const *)a;
    const struct yp_test *y = *(const struct yp_test *const *)b;
    int files = strcmp(ypi_test_path(x->file), ypi_test_path(y->file));
    return files != 0 ? files : (x->line > y->line) - (x->line < y->line);
}

/* A node that is mistyped would skip its relation for ever. With --set and --device cases have
 * other ids, or none. */
static void check_nodes(struct ypi_collection *out, struct ypi_options *o)
{
    if (o->set_count > 0 || strcmp(o->device, "auto") != 0)
        return;
    for (int i = 0; i < out->count; i++) {
        struct collecting g = {.out = out, .o = o, .test = out->cases[i]->test};
        const char *stray =
            ypi_relation_stray(g.test, (const struct yp_case *const *)out->cases, out->count);
        if (stray != NULL)
            error_at(&g, "its relation reads '%s', which names no case; --co -q lists all ids",
                     stray);
    }
}

void ypi_collect(struct ypi_collection *out, struct ypi_options *o, struct ypi_tests tests)
{
    *out = (struct ypi_collection){0};
    filter_errors = 0;
    size_t count = (size_t)(tests.end - tests.begin);
    if (count == 0)
        return;
    /* The linker's order is not the reader's: by file, then by line. */
    const struct yp_test **sorted = ypi_calloc(count, sizeof(*sorted));
    memcpy(sorted, tests.begin, count * sizeof(*sorted));
    qsort(sorted, count, sizeof(*sorted), by_place);
    for (size_t i = 0; i < count; i++) {
        struct collecting g = {.out = out, .o = o, .test = sorted[i]};
        if (check_test(&g))
            expand_test(&g);
    }
    free(sorted);
    out->errors += filter_errors;
    refuse_duplicates(out);
    check_nodes(out, o);
}

void ypi_collection_clear(struct ypi_collection *c)
{
    for (int i = 0; i < c->count; i++) {
        free(c->cases[i]->id);
        free(c->cases[i]->tags);
        free(c->cases[i]);
    }
    free(c->cases);
    *c = (struct ypi_collection){0};
}

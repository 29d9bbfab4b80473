#include "harness/collect/internal.h"

#include "base/text/text.h"
#include "harness/vocabulary/linked.h"
#include "harness/vocabulary/relation.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct ypi_tests ypi_all_tests(void)
{
    struct ypi_linked all = ypi_linked_all(YPI_LINKED_TESTS);
    return (struct ypi_tests){(const struct yp_test *const *)all.begin,
                              (const struct yp_test *const *)all.end};
}

static void print_error(const struct yp_test *test, const char *message)
{
    fprintf(stderr, "error: %s:%d: test %s.%s: %s\n", test->file, test->line, test->group,
            test->name, message);
}

void ypi_declaration_error(struct ypi_collecting *g, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    char *message = ypi_vformat(format, arguments);
    va_end(arguments);
    print_error(g->test, message);
    free(message);
    g->out->errors++;
}

/* Errors of filters while a collection is going on: they have no way to carry it along. */
static int filter_errors;

void ypi_collect_error(const struct yp_test *test, const char *message)
{
    print_error(test, message);
    filter_errors++;
}

int ypi_filter_errors(void)
{
    return filter_errors;
}

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
        struct ypi_collecting g = {.out = out, .o = o, .test = out->cases[i]->test};
        const char *unmatched = ypi_relation_unmatched_node(
            g.test, (const struct yp_case *const *)out->cases, out->count);
        if (unmatched != NULL)
            ypi_declaration_error(
                &g, "its relation reads '%s', which names no case; --co -q lists all ids",
                unmatched);
    }
}

/* A growth over too few values would be noisy for ever. --set takes values away. */
static void check_growths(struct ypi_collection *out, struct ypi_options *o)
{
    for (int i = 0; i < out->count && o->set_count == 0; i++) {
        struct ypi_collecting g = {.out = out, .o = o, .test = out->cases[i]->test};
        char *problem = ypi_relation_undecidable(
            out->cases[i], (const struct yp_case *const *)out->cases, out->count);
        if (problem != NULL)
            ypi_declaration_error(&g, "%s", problem);
        free(problem);
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
        struct ypi_collecting g = {.out = out, .o = o, .test = sorted[i]};
        if (ypi_declaration_is_right(&g))
            ypi_expand(&g);
    }
    free(sorted);
    out->errors += filter_errors;
    refuse_duplicates(out);
    check_nodes(out, o);
    check_growths(out, o);
    ypi_resolve_fixtures(out, o);
    ypi_budget_files_check(out, o);
}

void ypi_collection_clear(struct ypi_collection *c)
{
    for (int i = 0; i < c->count; i++) {
        free(c->cases[i]->id);
        free(c->cases[i]->tags);
        free(c->cases[i]->fixtures);
        free(c->cases[i]->missing);
        ypi_budgets_free(c->cases[i]->budgets);
        free(c->cases[i]);
    }
    free(c->cases);
    ypi_budget_files_free(c->budget_files);
    while (c->axes != NULL) {
        struct ypi_axes *axes = c->axes;
        c->axes = axes->next;
        for (int i = 0; i < axes->count; i++)
            ypi_axis_clear(&axes->of[i]);
        free(axes);
    }
    *c = (struct ypi_collection){0};
}

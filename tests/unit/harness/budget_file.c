/* Files of budgets: keys, what may stand in one, where it is found, and what it says of which case.
 */
#include "harness/vocabulary/budget_file.h"

#include "base/text/text.h"
#include "harness/vocabulary/budget.h"
#include "tests/unit/harness/collecting.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <yieldpoint/yieldpoint.h>

static char path[128];

static void begin(void)
{
    enter_directory();
    snprintf(path, sizeof path, "%s/budgets.ini", directory);
}

static void end(void)
{
    let_go();
    remove_directory();
}

TestSuite(budget_file, .init = begin, .fini = end, .timeout = 60);

/* -- keys ---------------------------------------------------------------------------------- */

Test(budget_file, keys_there_and_back)
{
    static const struct yp_budget budgets[] = {yp_min_share("make", 0.5),
                                               yp_max_peak(YP_HOST, 1),
                                               yp_max_peak(YP_DEVICE, 1),
                                               yp_max_resident(1),
                                               yp_max_resident_tree(1),
                                               yp_max_leak(YP_HOST, 1),
                                               yp_max_allocations(YP_DEVICE, 3),
                                               yp_max_growth("a b", 1),
                                               yp_max_count("a b", YP_PAGE_FAULTS, 1),
                                               yp_max_count("x", YP_GPU_READ, 1),
                                               yp_min_value("f(x) = 50 %; a: # b", 1),
                                               yp_max_value("loss", 1),
                                               yp_max_gradient_error("fit", 1)};
    static const char *const keys[] = {"min share make",
                                       "max peak host",
                                       "max peak device",
                                       "max resident host",
                                       "max resident tree host",
                                       "max leak host",
                                       "max allocations device",
                                       "max growth a b",
                                       "max count a b page faults",
                                       NULL,
                                       "min value f(x) %3d 50 %25%3b a%3a %23 b",
                                       "max value loss",
                                       "max gradient error fit"};
    for (size_t i = 0; i < sizeof budgets / sizeof *budgets; i++) {
        struct yp_budget back = {.limit = 7};
        char *key = ypi_budget_key(&budgets[i]);
        cr_assert_not_null(key);
        if (keys[i] != NULL)
            cr_expect_str_eq(key, keys[i]);
        char *problem = ypi_budget_of_key(&back, key);
        cr_expect_null(problem, "%s", problem);
        cr_expect(ypi_budget_same(&back, &budgets[i]) && back.limit == 7, "%s", key);
        free((char *)(uintptr_t)back.name);
        free(key);
    }
    static const struct yp_budget others[] = {
        yp_min_rate("a", 1),     yp_min_flops("a", 1),    yp_min_bandwidth("a", 1),
        yp_max_latency("a", 1),  yp_max_cpu_time("a", 1), yp_max_percentile("a", 99, 1),
        yp_for_device("cpu"),    yp_budget_file("a"),     yp_max_count("a", YP_CYCLES, 1),
        {.kind = YP_BUDGET_NONE}};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        cr_expect_null(ypi_budget_key(&others[i]), "%zu", i);
}

static void expect_no_key(const char *key, const char *start)
{
    struct yp_budget b = {.limit = 7};
    char *problem = ypi_budget_of_key(&b, key);
    cr_assert_not_null(problem, "%s", key);
    cr_expect_eq(strncmp(problem, start, strlen(start)), 0, "%s", problem);
    cr_expect_not_null(strstr(problem, "; allowed are min share, max regression, ") != NULL
                           ? problem
                           : strstr(problem, ": allowed are min share, max regression, "),
                       "%s", problem);
    cr_expect(b.kind == YP_BUDGET_NONE && b.name == NULL);
    free(problem);
}

Test(budget_file, keys_that_are_none)
{
    expect_no_key("", "'' is no budget: ");
    expect_no_key("min shar make", "'min shar make' is no budget: ");
    expect_no_key("min share", "'min share' is no budget: ");
    expect_no_key("min shares make", "'min shares make' is no budget: ");
    expect_no_key("max peak gpu", "'max peak gpu' is no budget: ");
    expect_no_key("max resident device", "'max resident device' is no budget: ");
    expect_no_key("max resident tree", "'max resident tree' is no budget: ");
    expect_no_key("max count work", "'max count work' is no budget: ");
    expect_no_key("max count instructions", "'max count instructions' is no budget: ");
    expect_no_key("for device cpu", "'for device cpu' is no budget: ");
    expect_no_key("min rate make", "'min rate make': rates and times hold on one machine only; ");
    expect_no_key("max latency make", "'max latency make': rates and times hold on one machine ");
    expect_no_key("max percentile", "'max percentile': rates and times hold on one machine only; ");
    expect_no_key("max count work cycles",
                  "'max count work cycles': this count is the processor's own; ");
}

/* -- files --------------------------------------------------------------------------------- */

Test(budget_file, sections_and_limits)
{
    write_text(path,
               "; a comment\n# another\n[a.c::b[n=1]]   # of n\nmin share make = 0.5\n\n"
               "max peak host = 16384 ; bytes\nmax value loss = -3e-1 # why\n[a.c::b[n=2]]\n");
    struct ypi_budget_file *file = ypi_budget_file_read(path);
    cr_assert(!file->wrong && file->count == 2);
    const struct ypi_budget_section *s = ypi_budget_file_find(file, "a.c::b[n=1]");
    cr_assert_not_null(s);
    cr_assert(s->line == 3 && s->count == 3);
    cr_expect(s->budgets[0].line == 4 && s->budgets[0].budget.limit == 0.5);
    cr_expect(s->budgets[1].line == 6 && s->budgets[1].budget.limit == 16384);
    cr_expect(s->budgets[2].line == 7 && s->budgets[2].budget.limit == -0.3);
    cr_expect_eq(ypi_budget_file_find(file, "a.c::b[n=2]")->count, 0);
    cr_expect_null(ypi_budget_file_find(file, "a.c::b"));
    ypi_budget_file_free(file);
    ypi_budget_file_free(NULL);
}

/* -- collections --------------------------------------------------------------------------- */

static struct yp_test test, other;

/* Of two tests that stand in `file`, the second with `devices`. */
static const char *collect(const char *file, const char *option)
{
    static const struct yp_axis axis = yp_axis_int("n", 1, 2);
    static const struct yp_budget budgets[] = {yp_max_value("x", 1), yp_min_share("work", 0.1),
                                               yp_budget_file("budgets.ini")};
    test = (struct yp_test){.group = "g", .name = "one", .body = nothing, .file = file, .line = 1};
    test.axes[0] = axis;
    memcpy(test.budgets, budgets, sizeof budgets);
    other = test;
    other.name = "two";
    other.line = 2;
    const struct yp_test *const tests[] = {&test, &other};
    return collect_all(tests, 2, option);
}

static double limit_of(int i, enum yp_budget_kind kind, const char *name)
{
    const struct yp_budget *b = ypi_budget_of(found.cases[i], kind, name);
    cr_assert_not_null(b);
    return b->limit;
}

Test(budget_file, what_is_wrong_is_told_once_for_all_tests)
{
    write_text(path, "[a.c::one[n=1]]\nmin share = 2\n");
    cr_expect_not_null(
        strstr(collect("suites/a.c", "--budgets=budgets.ini"), ":2: 'min share' is no budget: "));
    cr_expect_eq(found.errors, 1);
}

Test(budget_file, a_section_for_at_most_some_instructions)
{
    write_text(path, "[a.c::one[n=1]]\nmin share work = 0.5\nmax value x = 2\n"
                     "[a.c::one[n=1] baseline]\nmin share work = 0.2\n"
                     "[a.c::one[n=1] avx2]\nmin share work = 0.3\n"
                     "[a.c::one[n=2] avx512]\nmin share work = 0.4\n"
                     "[a.c::two[n=1] amx]\nmin share work = 0.7\n"
                     "[a.c::two[n=1] baseline]\nmin share work = 0.6\n");
    setenv("YIELDPOINT_ISA", "avx2", 1); /* no test has asked in this process yet */
    bool baseline = yp_isa() == YP_ISA_BASELINE;
    cr_expect_str_eq(collect("suites/a.c", "--budgets=budgets.ini"), "");
    cr_expect_eq(limit_of(0, YP_BUDGET_MIN_SHARE, "work"), baseline ? 0.2 : 0.3);
    cr_expect_eq(limit_of(0, YP_BUDGET_MAX_VALUE, "x"), 2);
    cr_expect_eq(limit_of(1, YP_BUDGET_MIN_SHARE, "work"), 0.4);
    cr_expect_eq(limit_of(2, YP_BUDGET_MIN_SHARE, "work"), baseline ? 0.6 : 0.1);
    write_text(path, "[a.c::one[n=1] baseline]\nmax count work instructions = 1\nmin share = 1\n");
    cr_expect_not_null(
        strstr(collect("suites/a.c", "--budgets=budgets.ini"), ":3: 'min share' is no budget"));
    write_text(path, "[a.c::one[n=1] sse9]\nmin share work = 0.5\n");
    cr_expect_not_null(strstr(collect("suites/a.c", "--budgets=budgets.ini"),
                              ":1: [a.c::one[n=1] sse9] is no case of the tests"));
}

Test(budget_file, a_section_of_the_highest_is_for_those_that_have_it)
{
    write_text(path, "[a.c::one[n=1]]\nmin share work = 0.5\n"
                     "[a.c::one[n=1] amx]\nmin share work = 0.2\n"
                     "[a.c::one[n=2]]\nmin share work = 0.5\n"
                     "[a.c::one[n=2] avx512]\nmin share work = 0.4\n"
                     "[a.c::one[n=2] amx]\nmin share work = 0.3\n");
    bool has = yp_isa() == YP_ISA_AMX;
    cr_expect_str_eq(collect("suites/a.c", "--budgets=budgets.ini"), "");
    cr_expect_eq(limit_of(0, YP_BUDGET_MIN_SHARE, "work"), has ? 0.2 : 0.5);
    cr_expect_eq(limit_of(1, YP_BUDGET_MIN_SHARE, "work"), has ? 0.3 : 0.4);
}

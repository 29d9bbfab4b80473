/* Collection: ids, tags, devices, values of axes, --set, and errors of declarations;
 * tests/usage/options.py has those that a person makes most. tests/lang/check.py has what reaches a
 * case in all languages, select.c the order of cases. */
#include "base/text/text.h"
#include "device/cpu/binding.h"
#include "harness/vocabulary/budget.h"
#include "tests/unit/harness/collecting.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <float.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <yieldpoint/yieldpoint.h>

#define HERE .group = "g", .body = nothing, .file = "../suites/a/b.c"

TestSuite(collect, .init = enter_directory, .fini = end_collecting, .timeout = 60);
TestSuite(declarations, .init = enter_directory, .fini = end_collecting, .timeout = 60);

static const char *collect_one(const struct yp_test *test, const char *words)
{
    const struct yp_test *const tests[] = {test};
    return collect_all(tests, 1, words);
}

/* The ids without what they all begin with, separated by blanks; "" when something was printed. */
static const char *ids_of(const struct yp_test *test, const char *words)
{
    static char all[1 << 16];
    const char *output = collect_one(test, words);
    cr_expect(output[0] == '\0' && found.errors == 0 && found.usage_errors == 0, "%s", output);
    struct ypi_text text = {0};
    for (int i = 0; i < found.count; i++) {
        const char *bracket = strchr(found.cases[i]->id, '[');
        ypi_text_add(&text, "%s%s", i > 0 ? " " : "", bracket != NULL ? bracket : "-");
    }
    char *taken = ypi_text_take(&text);
    snprintf(all, sizeof all, "%s", taken);
    free(taken);
    return all;
}

/* -- ids ----------------------------------------------------------------------------------- */

Test(collect, what_means_something_in_an_id_is_escaped)
{
    static const struct yp_test test = {
        HERE, .name = "escapes", .cases = YP_CASES(yp_case_of("a-b[c]")),
        .axes = YP_AXES(
            yp_axis_string("x y", "100%", "p:q=r", "tab\there", "\x7f", "", "gr\xc3\xbcn/1,2#3"),
            yp_axis_int("n", -5, LLONG_MIN))};
    cr_expect_str_eq(ids_of(&test, "--set=n=-5"),
                     "[a-b%5bc%5d-x%20y=100%25-n=-5] [a-b%5bc%5d-x%20y=p:q%3dr-n=-5] "
                     "[a-b%5bc%5d-x%20y=tab%09here-n=-5] [a-b%5bc%5d-x%20y=%7f-n=-5] "
                     "[a-b%5bc%5d-x%20y=-n=-5] "
                     "[a-b%5bc%5d-x%20y=gr\xc3\xbcn/1,2#3-n=-5]");
    static const struct yp_test longest = {HERE, .name = "l",
                                           .axes = YP_AXES(yp_axis_int("n", LLONG_MIN))};
    cr_expect_str_eq(ids_of(&longest, ""), "[n=-9223372036854775808]");
}

/* Different values, different ids: what an unescaped join would run together. */
Test(collect, escaping_keeps_ids_apart)
{
    static const struct yp_test test = {
        HERE, .name = "apart",
        .cases = YP_CASES(yp_case_of("a"), yp_case_of("a-s=b"), yp_case_of("a%2ds=b")),
        .axes = YP_AXES(yp_axis_string("s", "b", "b-s=b", "%62", "", "-"))};
    cr_expect_str_eq(collect_one(&test, ""), "");
    cr_expect_eq(found.count, 15);
}

Test(collect, doubles_come_back_from_their_id)
{
    static const struct yp_test test = {
        HERE, .name = "doubles",
        .axes = YP_AXES(yp_axis_double("d", 0.1, 100, 1.0 / 3, 5e-324, DBL_MAX, -1e-9,
                                       0.30000000000000004, 0.3, -0.0, 0.0))};
    cr_expect_str_eq(ids_of(&test, ""),
                     "[d=0.1] [d=100] [d=0.3333333333333333] [d=5e-324] "
                     "[d=1.7976931348623157e+308] [d=-1e-09] [d=0.30000000000000004] [d=0.3] "
                     "[d=-0] [d=0]");
    /* The same value given by hand has the same id. */
    cr_expect_str_eq(ids_of(&test, "--set=d=.1|--set=d=1e2|--set=d=5e-324|--set=d=-0"),
                     "[d=0.1] [d=100] [d=5e-324] [d=-0]");
}

Test(collect, as_many_named_cases_as_there_may_be)
{
    static struct yp_test test = {HERE, .name = "large"};
    static char names[YP_MAX_CASES][8];
    for (int i = 0; i < YP_MAX_CASES; i++) {
        snprintf(names[i], sizeof names[i], "c%02d", i);
        test.cases[i] = (struct yp_case_decl){.name = names[i]};
    }
    cr_expect_str_eq(collect_one(&test, ""), "");
    cr_assert_eq(found.count, YP_MAX_CASES);
    cr_expect_str_eq(found.cases[YP_MAX_CASES - 1]->id, "a/b.c::large[c31]");
}

Test(collect, paths_begin_behind_suites_or_at_tests)
{
    static const struct {
        const char *file, *wanted;
    } table[] = {
        {"../suites/stress/rx.c", "stress/rx.c"},
        {"/home/x/suites/stress/rx.c", "stress/rx.c"},
        {"suites/rx.c", "rx.c"},
        {"suites/a/suites/rx.c", "rx.c"},
        {"mysuites/rx.c", "mysuites/rx.c"},
        {"../../tests/zoo.c", "tests/zoo.c"},
        {"../../home/x/tests/a/zoo.c", "tests/a/zoo.c"},
        {"/x/tests/unit/tests/zoo.c", "tests/zoo.c"},
        {"../contests/zoo.c", "contests/zoo.c"},
        {"/home/x/tests/zoo/zoo.c", "tests/zoo/zoo.c"},
        {"tests/a/tests/zoo.c", "tests/zoo.c"},
        {"mytests/zoo.c", "mytests/zoo.c"},
        {"tests/suites/zoo.c", "zoo.c"},
        {"./../a/../zoo.c", "a/../zoo.c"},
        {"zoo.c", "zoo.c"},
        {"/abs/zoo.c", "/abs/zoo.c"},
        {".hidden/zoo.c", ".hidden/zoo.c"},
        {"..x/zoo.c", "..x/zoo.c"},
    };
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++)
        cr_expect_str_eq(ypi_test_path(table[i].file), table[i].wanted, "%s: %s", table[i].file,
                         ypi_test_path(table[i].file));
}

/* -- what a case takes from its declaration ------------------------------------------------ */

Test(collect, a_case_is_skipped_or_known_to_fail_as_its_test_is_unless_it_says_why)
{
    static const struct yp_test test = {
        HERE, .name = "s", .skip = "not yet", .xfail = "all of it",
        .cases = YP_CASES(yp_case_of("a"), yp_case_of("b", .skip = "never", .xfail = "known"))};
    collect_one(&test, "");
    cr_assert_eq(found.count, 2);
    cr_expect_str_eq(found.cases[0]->skip, "not yet");
    cr_expect_str_eq(found.cases[1]->skip, "never");
    cr_expect_str_eq(found.cases[0]->xfail, "all of it");
    cr_expect_str_eq(found.cases[1]->xfail, "known");
}

/* -- devices ------------------------------------------------------------------------------- */

Test(collect, devices_by_the_option)
{
    static const struct yp_test both = {HERE, .name = "both", .devices = "cpu cuda"};
    static const struct yp_test cuda = {HERE, .name = "cuda", .devices = "cuda"};
    static const struct yp_test cpu = {HERE, .name = "cpu", .devices = "cpu"};
    static const struct yp_test none = {HERE, .name = "none"};
    static const struct {
        const char *option, *both, *cuda, *cpu, *none;
    } table[] = {
        {"--device=auto", "[cpu] [cuda]", "[cuda]", "[cpu]", "-"},
        {"--device=all", "[cpu] [cuda]", "[cuda]", "[cpu]", "-"},
        {"--device=cpu", "[cpu]", "", "[cpu]", "-"},
        {"--device=cuda", "[cuda]", "[cuda]", "", ""},
        {"--device=cuda:1", "[cuda:1]", "[cuda:1]", "", ""},
    };
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        const char *option = table[i].option;
        cr_expect_str_eq(ids_of(&both, option), table[i].both, "%s", option);
        cr_expect_str_eq(ids_of(&cuda, option), table[i].cuda, "%s", option);
        cr_expect_str_eq(ids_of(&cpu, option), table[i].cpu, "%s", option);
        cr_expect_str_eq(ids_of(&none, option), table[i].none, "%s", option);
    }
}

Test(collect, a_gpu_case_says_so)
{
    static const struct yp_test test = {HERE, .name = "d", .tags = "slow,perf",
                                        .devices = "cpu cuda"};
    collect_one(&test, "--device=auto");
    cr_assert_eq(found.count, 2);
    cr_expect_str_eq(found.cases[0]->tags, "perf slow");
    cr_expect_str_eq(found.cases[1]->tags, "gpu perf slow");
    cr_expect_str_eq(yp_device_of(found.cases[1]), "cuda");
    cr_expect_null(found.cases[0]->skip);
}

/* -- axes by a function -------------------------------------------------------------------- */

static enum yp_status powers(struct yp_axis_values *values, const void *arg)
{
    for (long long n = 1; n <= *(const long long *)arg; n *= 2)
        yp_axis_add_int(values, n);
    return YP_OK;
}

static enum yp_status many(struct yp_axis_values *values, const void *arg)
{
    (void)arg;
    enum yp_status status = YP_OK;
    for (int n = 0; n < 1000 && status == YP_OK; n++)
        status = yp_axis_add_double(values, 0.5 * n);
    return status;
}

static enum yp_status words(struct yp_axis_values *values, const void *arg)
{
    char word[] = "a-x"; /* it is copied: the next one is written over it */
    for (const char *c = arg; *c != '\0'; c++) {
        word[2] = *c;
        yp_axis_add_string(values, word);
    }
    return YP_OK;
}

static const long long four = 4;

Test(collect, a_function_gives_an_axis_its_values)
{
    static const struct yp_test test = {
        HERE, .name = "from",
        .axes = YP_AXES(yp_axis_from("n", powers, &four), yp_axis_from("word", words, "pq"))};
    cr_expect_str_eq(ids_of(&test, ""),
                     "[n=1-word=a-p] [n=1-word=a-q] [n=2-word=a-p] [n=2-word=a-q] "
                     "[n=4-word=a-p] [n=4-word=a-q]");
    cr_expect_str_eq(ids_of(&test, "--set=n=3|--set=word=z"), "[n=3-word=z]");
    cr_expect_str_eq(collect_one(&test, ""), "");
    cr_expect_eq(yp_int(found.cases[5], "n"), 4);
    cr_expect_str_eq(yp_string(found.cases[5], "word"), "a-q");
    cr_expect_not_null(strstr(collect_one(&test, "--set=n=wide"), "takes whole numbers"));
    static const struct yp_test large = {HERE, .name = "many",
                                         .axes = YP_AXES(yp_axis_from("d", many, NULL))};
    cr_expect_str_eq(collect_one(&large, ""), "");
    cr_expect_eq(found.count, 1000);
    cr_expect_str_eq(found.cases[999]->id, "a/b.c::many[d=499.5]");
}

static long long squares[1000];
static double halves[33];

Test(collect, arrays_have_any_number_of_values)
{
    static const char *const words_of[] = {"x", "y"};
    static const struct yp_test test = {HERE, .name = "arrays",
                                        .axes = YP_AXES(yp_axis_int_of("n", squares),
                                                        yp_axis_double_of("d", halves),
                                                        yp_axis_string_of("s", words_of))};
    for (int i = 0; i < 1000; i++)
        squares[i] = (long long)i * i;
    for (int i = 0; i < 33; i++)
        halves[i] = i + 0.5;
    cr_expect_str_eq(collect_one(&test, ""), "");
    cr_assert_eq(found.count, 1000 * 33 * 2);
    cr_expect_str_eq(found.cases[found.count - 1]->id, "a/b.c::arrays[n=998001-d=32.5-s=y]");
}

/* The ids of a test with this axis alone. */
static const char *ids_along(struct yp_axis axis, const char *words)
{
    static struct yp_test test;
    test = (struct yp_test){HERE, .name = "r", .axes = {axis}};
    return ids_of(&test, words);
}

Test(collect, ranges_give_their_values)
{
    static const struct {
        struct yp_axis axis;
        const char *words, *ids;
    } table[] = {
        {yp_axis_range("n", -3, 5, 4), "", "[n=-3] [n=1] [n=5]"},
        {yp_axis_range("n", -3, 5, 4), "--set=n=2", "[n=2]"},
        {yp_axis_range("n", 7, 0, -3), "", "[n=7] [n=4] [n=1]"},
        {yp_axis_range("n", 7, 7, 1), "", "[n=7]"},
        {yp_axis_range("n", LLONG_MIN, LLONG_MAX, LLONG_MAX), "",
         "[n=-9223372036854775808] [n=-1] [n=9223372036854775806]"},
        {yp_axis_range("n", LLONG_MIN, LLONG_MIN, 5), "", "[n=-9223372036854775808]"},
        /* geometric ones end with their last */
        {yp_axis_geometric("n", 8, 1000, 4), "", "[n=8] [n=32] [n=128] [n=512] [n=1000]"},
        {yp_axis_geometric("n", 1, 1000, 10), "", "[n=1] [n=10] [n=100] [n=1000]"},
        {yp_axis_geometric("n", 1, LLONG_MAX, LLONG_MAX), "", "[n=1] [n=9223372036854775807]"},
        {yp_axis_geometric("n", 4, LLONG_MAX, LLONG_MAX / 2), "", "[n=4] [n=9223372036854775807]"},
        {yp_axis_threads("n", 1, 12), "", "[n=1] [n=2] [n=4] [n=8] [n=12]"},
    };
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++)
        cr_expect_str_eq(ids_along(table[i].axis, table[i].words), table[i].ids, "range %zu", i);
    static const struct yp_test many_of_them = {HERE, .name = "r",
                                                .axes = YP_AXES(yp_axis_range("n", 1, 5000, 1))};
    cr_expect_str_eq(collect_one(&many_of_them, ""), "");
    cr_expect_eq(found.count, 5000);
}

Test(collect, threads_go_up_to_the_processors_of_the_run)
{
    const struct yp_axis all = yp_axis_threads("threads", 1, 0);
    char last[32], one[32];
    snprintf(last, sizeof last, "[threads=%d]", ypi_processors());
    const char *ids = ids_along(all, "");
    size_t length = strlen(ids);
    cr_expect(length >= strlen(last) && strcmp(ids + length - strlen(last), last) == 0, "%s", ids);
    int first = 0;
    while (!ypi_cpus_allowed()[first])
        first++;
    snprintf(one, sizeof one, "--cpus=%d", first);
    cr_expect_str_eq(ids_along(all, one), "[threads=1]");
    cr_expect_str_eq(ids_along((struct yp_axis)yp_axis_threads("threads", 64, 0), one),
                     "[threads=1]");
}

/* -- parameters of named cases ------------------------------------------------------------- */

static bool is_tall(const struct yp_case *t)
{
    return yp_int(t, "cubes") >= 2 && yp_double(t, "noise") < 10;
}

static const struct yp_test scaled = {
    HERE, .name = "scaled", .line = 2,
    .cases = YP_CASES(
        yp_case_of("small", .set = YP_SET(yp_set_int("cubes", 2), yp_set_double("noise", 0.5),
                                          yp_set_string("kind", "flat"))),
        yp_case_of("large", .timeout = 600,
                   .set = YP_SET(yp_set_string("kind", "rough"), yp_set_int("cubes", -30),
                                 yp_set_double("noise", 1e-3)))),
    .axes = YP_AXES(yp_axis_int("n", 7, 8))};

Test(collect, set_replaces_a_parameter_and_shows_it)
{
    cr_expect_str_eq(ids_of(&scaled, "--set=cubes=5"),
                     "[small-cubes=5-n=7] [small-cubes=5-n=8] [large-cubes=5-n=7] "
                     "[large-cubes=5-n=8]");
    cr_expect_str_eq(ids_of(&scaled, "--set=kind=a-b|--set=n=1|--set=cubes=2|--set=cubes=3"),
                     "[small-cubes=2-kind=a-b-n=1] [small-cubes=3-kind=a-b-n=1] "
                     "[large-kind=a-b-cubes=2-n=1] [large-kind=a-b-cubes=3-n=1]",
                     "even where it is what was declared");
    cr_expect_str_eq(collect_one(&scaled, "--set=cubes=5"), "");
    cr_expect_eq(yp_int(found.cases[0], "cubes"), 5);
    cr_expect_eq(yp_double(found.cases[0], "noise"), 0.5);
    cr_expect_str_eq(collect_one(&scaled, "--set=cubes=many|--set=n=1"),
                     "error: --set cubes=many: parameter 'cubes' of g.scaled (../suites/a/b.c:2) "
                     "takes whole numbers\n"
                     "error: --set cubes=many: parameter 'cubes' of g.scaled (../suites/a/b.c:2) "
                     "takes whole numbers\n");
    cr_expect_eq(found.usage_errors, 2);
}

Test(collect, a_filter_sees_parameters)
{
    struct yp_test test = scaled;
    test.filter = is_tall;
    cr_expect_str_eq(ids_of(&test, ""), "[small-n=7] [small-n=8]");
    cr_expect_str_eq(ids_of(&test, "--set=cubes=9|--set=n=1"),
                     "[small-cubes=9-n=1] [large-cubes=9-n=1]");
}

/* -- filters ------------------------------------------------------------------------------- */

static bool small_products(const struct yp_case *t)
{
    return yp_int(t, "a") * yp_int(t, "b") <= 4 && strcmp(yp_case_name(t), "none") != 0 &&
           strcmp(yp_device_of(t), "cpu") == 0;
}

Test(collect, a_filter_leaves_out)
{
    static const struct yp_test test = {
        HERE,
        .name = "filtered",
        .cases = YP_CASES(yp_case_of("some"), yp_case_of("none")),
        .axes = YP_AXES(yp_axis_int("a", 1, 2, 3), yp_axis_int("b", 1, 2, 3)),
        .devices = "cpu cuda",
        .filter = small_products};
    cr_expect_str_eq(ids_of(&test, ""),
                     "[some-a=1-b=1-cpu] [some-a=1-b=2-cpu] [some-a=1-b=3-cpu] [some-a=2-b=1-cpu] "
                     "[some-a=2-b=2-cpu] [some-a=3-b=1-cpu]");
    cr_expect_str_eq(ids_of(&test, "--set=a=9"), "", "and may leave out all");
}

static bool asks_in_vain(const struct yp_case *t)
{
    return yp_int(t, "chanels") > 0 && yp_double(t, "n") > 0;
}

Test(collect, a_filter_that_asks_in_vain_is_an_error_once)
{
    static const struct yp_test test = {
        HERE, .name = "vain", .line = 5, .filter = asks_in_vain,
        .axes = YP_AXES(yp_axis_int("channels", 1, 2, 3), yp_axis_int("n", 1, 2, 3))};
    static const struct yp_test plain = {HERE, .name = "plain", .line = 9};
    const struct yp_test *const tests[] = {&test, &plain};
    cr_expect_str_eq(collect_all(tests, 2, ""),
                     "error: ../suites/a/b.c:5: test g.vain: no axis 'chanels' of kind int; this "
                     "test has: channels (int), n (int); did you mean 'channels'?\n");
    cr_expect_eq(found.errors, 1);
    cr_expect_str_eq(ids_of(&plain, ""), "-", "and the next collection starts afresh");
}

/* -- errors of declarations ---------------------------------------------------------------- */

static void expect_error(const struct yp_test *test, const char *message)
{
    const char *output = collect_one(test, "");
    char *wanted = ypi_format("error: %s:%d: test %s.%s: %s\n", test->file, test->line, test->group,
                              test->name, message);
    cr_expect_str_eq(output, wanted, "%s, wanted %s", output, wanted);
    cr_expect_eq(found.errors, 1, "%s", output);
    cr_expect_eq(found.count, 0, "nothing is made of a wrong declaration");
    free(wanted);
}

#define WRONG(message, ...) \
    do { \
        static const struct yp_test wrong = {HERE, .name = "w", .line = 1, __VA_ARGS__}; \
        expect_error(&wrong, message); \
    } while (0)

Test(declarations, cases)
{
    WRONG("case 2 has no name",
          .cases = YP_CASES(yp_case_of("a"), {.tags = "slow"}, yp_case_of("c")));
}

Test(declarations, axes)
{
    WRONG("axis 'n' has 0 values: allowed are 1 to 32",
          .axes = YP_AXES({.name = "n", .kind = YP_AXIS_INT}));
    WRONG("axis 'n' has 33 values: allowed are 1 to 32",
          .axes = YP_AXES(
              {.name = "n",
               .kind = YP_AXIS_STRING,
               .count = 33,
               .values = {.s = {"", "", "", "", "", "", "", "", "", "", "", "", "", "", "", "",
                                "", "", "", "", "", "", "", "", "", "", "", "", "", "", "", ""}}}));
    WRONG("axis 1 is of no kind", .axes = YP_AXES({.name = "n", .count = 1}, yp_axis_int("k", 1)));
    static const long long none[1];
    WRONG("axis 'n' has 1000001 values: allowed are 1 to 1000000",
          .axes =
              YP_AXES({.name = "n", .kind = YP_AXIS_INT, .count = 1000001, .list = {.i = none}}));
    static const char *const gap[] = {"a", NULL};
    WRONG("value 2 of axis 1 is NULL", .axes = YP_AXES(yp_axis_string_of("s", gap)));
}

Test(declarations, ranges)
{
    WRONG("axis 'n': it goes from 1 to 5 by 0, which never arrives: allowed is a step above 0",
          .axes = YP_AXES(yp_axis_range("n", 1, 5, 0)));
    WRONG("axis 'n': it goes from 1 to 5 by -1, which never arrives: allowed is a step above 0",
          .axes = YP_AXES(yp_axis_range("n", 1, 5, -1)));
    WRONG("axis 'n': it goes from 5 to 1 by 1, which never arrives: allowed is a step below 0",
          .axes = YP_AXES(yp_axis_range("n", 5, 1, 1)));
    WRONG("axis 'n': it goes from 1 to 1000001 by 1 in more than 1000000 values",
          .axes = YP_AXES(yp_axis_range("n", 1, 1000001, 1)));
#define FROM "axis 'n': it goes from "
#define ALLOWED ": allowed are a first value from 1, a last one from there and a factor from 2"
    WRONG(FROM "0 to 8 by the factor 2" ALLOWED, .axes = YP_AXES(yp_axis_geometric("n", 0, 8, 2)));
    WRONG(FROM "9 to 8 by the factor 2" ALLOWED, .axes = YP_AXES(yp_axis_geometric("n", 9, 8, 2)));
    WRONG(FROM "1 to 8 by the factor 1" ALLOWED, .axes = YP_AXES(yp_axis_geometric("n", 1, 8, 1)));
    WRONG(FROM "4 to 2 by the factor 2" ALLOWED, .axes = YP_AXES(yp_axis_threads("n", 4, 2)));
    WRONG(FROM "0 to -1 by the factor 2" ALLOWED, .axes = YP_AXES(yp_axis_threads("n", 0, -1)));
}

Test(declarations, types)
{
    WRONG("axis 'type' is declared twice", .types = yp_axis_from("type", words, "pq"),
          .axes = YP_AXES(yp_axis_int("type", 1)));
    WRONG("it has 9 axes with that of its types: allowed are 8",
          .types = yp_axis_from("type", words, "pq"),
          .axes = YP_AXES(yp_axis_int("a", 1), yp_axis_int("b", 1), yp_axis_int("c", 1),
                          yp_axis_int("d", 1), yp_axis_int("e", 1), yp_axis_int("f", 1),
                          yp_axis_int("g", 1), yp_axis_int("h", 1)));
}

static enum yp_status gives(struct yp_axis_values *values, const void *arg)
{
    static int calls;
    const char *what = arg;
    enum yp_status status = YP_OK;
    if (strcmp(what, "failure") == 0)
        return yp_set_error(YP_IO, "shapes.txt: it is not there");
    if (strcmp(what, "nothing") != 0)
        status = yp_axis_add_int(values, strcmp(what, "chance") == 0 ? ++calls : 3);
    if (strcmp(what, "kinds") == 0)
        status = yp_axis_add_double(values, 0.5);
    if (strcmp(what, "kinds") == 0)
        yp_axis_add_string(values, NULL); /* the first problem is reported */
    if (strcmp(what, "twice") == 0) {
        yp_axis_add_int(values, 4);
        yp_axis_add_int(values, 3);
    }
    return strcmp(what, "kinds") == 0 ? YP_OK : status;
}

static enum yp_status gives_null(struct yp_axis_values *values, const void *arg)
{
    (void)arg;
    yp_axis_add_string(values, "a");
    cr_expect_eq(yp_axis_add_string(values, NULL), YP_INVALID);
    cr_expect_str_eq(yp_last_error(), "axis 'n': value 2 is NULL");
    return YP_OK;
}

Test(declarations, axes_by_a_function)
{
    WRONG("axis 'n' has no function", .axes = YP_AXES(yp_axis_from("n", NULL, NULL)));
    WRONG("axis 1 has no name", .axes = YP_AXES(yp_axis_from("", gives, "one")));
    WRONG("axis 'n': its function failed: shapes.txt: it is not there",
          .axes = YP_AXES(yp_axis_from("n", gives, "failure")));
    WRONG("axis 'n': its function gives no values",
          .axes = YP_AXES(yp_axis_from("n", gives, "nothing")));
    WRONG("axis 'n': value 2 is of kind double, those before it are of kind int",
          .axes = YP_AXES(yp_axis_from("n", gives, "kinds")));
    WRONG("axis 'n': its function gives '3' twice",
          .axes = YP_AXES(yp_axis_from("n", gives, "twice")));
    WRONG("axis 'n': its function gives other values when it is asked again",
          .axes = YP_AXES(yp_axis_from("n", gives, "chance")));
    WRONG("axis 'n': value 2 is NULL", .axes = YP_AXES(yp_axis_from("n", gives_null, NULL)));
}

#define OTHER "case 'b' has other parameters than case 'a': names and kinds must be the same"

Test(declarations, parameters)
{
    WRONG("parameter 1 of case 'a' has no name",
          .cases = YP_CASES(yp_case_of("a", .set = YP_SET(yp_set_int("", 1)))));
    WRONG("parameter 's' of case 'a' is NULL",
          .cases = YP_CASES(yp_case_of("a", .set = YP_SET(yp_set_string("s", NULL)))));
    WRONG("parameter 'n' of case 'a' is an axis as well",
          .axes = YP_AXES(yp_axis_int("k", 1), yp_axis_int("n", 1)),
          .cases = YP_CASES(yp_case_of("a", .set = YP_SET(yp_set_int("n", 1)))));
    WRONG("parameter 'n' of case 'a' is declared twice",
          .cases =
              YP_CASES(yp_case_of("a", .set = YP_SET(yp_set_int("n", 1), yp_set_double("n", 1)))));
    WRONG("parameter 1 of case 'a' is of no kind",
          .cases = YP_CASES(yp_case_of("a", .set = YP_SET({.name = "n"}, yp_set_int("m", 1)))));
    WRONG(OTHER,
          .cases = YP_CASES(yp_case_of("a", .set = YP_SET(yp_set_int("n", 1))), yp_case_of("b")));
    WRONG(OTHER, .cases = YP_CASES(yp_case_of("a", .set = YP_SET(yp_set_int("n", 1))),
                                   yp_case_of("b", .set = YP_SET(yp_set_double("n", 1)))));
    WRONG(OTHER, .cases = YP_CASES(yp_case_of("a", .set = YP_SET(yp_set_int("n", 1))),
                                   yp_case_of("b", .set = YP_SET(yp_set_int("m", 1)))));
    WRONG(OTHER,
          .cases = YP_CASES(yp_case_of("a"), yp_case_of("b", .set = YP_SET(yp_set_int("n", 1)))));
}

Test(declarations, budgets)
{
    WRONG("budget 2 names no measurement, value or check",
          .budgets = YP_BUDGETS(yp_max_leak(YP_HOST, 0), yp_max_value("", 1)));
    WRONG("budget 1 has the limit inf: allowed is any finite number",
          .budgets = YP_BUDGETS(yp_min_value("x", INFINITY)));
    WRONG("budgets 1 and 3 are of one thing",
          .budgets = YP_BUDGETS(yp_min_value("x", 1), yp_max_value("x", 2), yp_min_value("x", 3)));
    WRONG("budgets 1 and 2 are of one thing",
          .budgets = YP_BUDGETS(yp_max_peak(YP_HOST, 1), yp_max_peak(YP_HOST, 2)));
    WRONG("budgets 1 and 3 are of one thing", .devices = "cpu cuda",
          .budgets = YP_BUDGETS(yp_max_value("x", 1), yp_for_device("cuda"), yp_max_value("x", 2)));
    WRONG("budgets 2 and 4 are of one thing", .devices = "cpu cuda",
          .budgets = YP_BUDGETS(yp_for_device("cuda"), yp_max_value("x", 2), yp_for_device("cuda"),
                                yp_max_value("x", 2)));
    WRONG("budget 1 and those behind it are for device 'cuda': it has cpu",
          .budgets = YP_BUDGETS(yp_for_device("cuda"), yp_max_value("x", 2)));
    WRONG("budget 1 and those behind it are for device 'cpu cuda': it has cpu cuda",
          .devices = "cpu cuda",
          .budgets = YP_BUDGETS(yp_for_device("cpu cuda"), yp_max_value("x", 2)));
}

Test(declarations, budgets_of_named_cases)
{
    WRONG("case 'a': budgets 1 and 2 are of one thing",
          .cases = YP_CASES(
              yp_case_of("a", .budgets = YP_BUDGETS(yp_max_value("x", 1), yp_max_value("x", 2)))));
    WRONG("case 'a': budget 1 and those behind it are for device 'cuda': it has cpu",
          .cases = YP_CASES(
              yp_case_of("a", .budgets = YP_BUDGETS(yp_for_device("cuda"), yp_max_value("x", 2)))));
    WRONG("case 'a' has 9 budgets: allowed are 8", .cases = {{.name = "a", .budgets_fit_ = 9}});
}

Test(declarations, files_of_budgets)
{
    WRONG("budget 1 names no file", .budgets = YP_BUDGETS(yp_budget_file("")));
    WRONG("budget 2 is a file: allowed is one, in .budgets of the test",
          .budgets = YP_BUDGETS(yp_budget_file("a.ini"), yp_budget_file("b.ini")));
    WRONG("case 'a': budget 1 is a file: allowed is one, in .budgets of the test",
          .cases = YP_CASES(yp_case_of("a", .budgets = YP_BUDGETS(yp_budget_file("a.ini")))));
}

Test(declarations, required_budgets)
{
    WRONG("budget 1 is required for no reason",
          .budgets = YP_BUDGETS(yp_required(yp_max_latency("x", 1), "")));
    WRONG("the reason 'why' of yp_required is of no budget", .devices = "cpu",
          .budgets = YP_BUDGETS(yp_required(yp_for_device("cpu"), "why"), yp_max_value("x", 1)));
    WRONG("budgets 1 and 2 are of one thing",
          .budgets =
              YP_BUDGETS(yp_required(yp_max_latency("x", 1), "why"), yp_max_latency("x", 2)));
}

/* The budgets of case `i`, as "kind name=limit(required)", separated by blanks. */
static const char *held(int i)
{
    static char all[1024];
    struct ypi_text text = {0};
    const struct yp_budget *b = NULL;
    for (int next = 0; (b = ypi_next_budget(found.cases[i], &next)) != NULL;)
        ypi_text_add(&text, "%s%s %s=%g%s%s", next > 1 ? ", " : "", ypi_budget_kind_name(b->kind),
                     b->name != NULL ? b->name : "host", b->limit, b->required != NULL ? " " : "",
                     b->required != NULL ? b->required : "");
    snprintf(all, sizeof all, "%s", text.data != NULL ? text.data : "");
    free(ypi_text_take(&text));
    return all;
}

static void by_case(const struct yp_case *c, struct yp_budgets *out)
{
    char name[16] = "work";
    if (strcmp(yp_case_name(c), "bare") == 0) {
        yp_budget_add(out, yp_min_share("work", (double)NAN), yp_max_peak(YP_HOST, (double)NAN),
                      yp_max_value("error", (double)NAN));
        return;
    }
    if (strcmp(yp_device_of(c), "cuda") == 0)
        yp_budget_add(out, yp_required(yp_max_latency(name, 0.5), "the frame rate"));
    yp_budget_add(out, yp_max_peak(YP_HOST, 8 * yp_int(c, "n")));
    memset(name, 'x', sizeof name - 1); /* texts are copied */
}

static const struct yp_test held_test = {
    HERE,
    .name = "held",
    .line = 4,
    .devices = "cpu cuda",
    .budgets_of = by_case,
    .cases = YP_CASES(
        yp_case_of("bare"),
        yp_case_of("own", .budgets = YP_BUDGETS(yp_max_value("error", 3), yp_for_device("cpu"),
                                                yp_required(yp_min_share("work", 0.5), "for all"),
                                                yp_max_leak(YP_HOST, 2)))),
    .axes = YP_AXES(yp_axis_int("n", 16, 32)),
    .budgets = YP_BUDGETS(yp_min_share("work", 0.25), yp_max_value("error", 1),
                          yp_for_device("cuda"), yp_max_peak(YP_HOST, 5))};

Test(collect, a_case_has_budgets_of_its_own)
{
    cr_expect_str_eq(collect_one(&held_test, "--set=n=16"), "");
    cr_assert_eq(found.count, 4);
    cr_expect_str_eq(held(0), "");
    cr_expect_str_eq(held(1), "", "nothing is left");
    cr_expect_str_eq(held(2), "min share work=0.5 for all, max value error=3, max leak host=2, "
                              "max peak host=128");
    cr_expect_str_eq(held(3), "min share work=0.25, max value error=3, max peak host=128, "
                              "max latency work=0.5 the frame rate");
    cr_expect_str_eq(collect_one(&held_test, ""), "");
    cr_assert_eq(found.count, 8);
    cr_expect_str_eq(held(6), "min share work=0.5 for all, max value error=3, max leak host=2, "
                              "max peak host=256");
}

static const char *wrong_budget;

static void wrongly(const struct yp_case *c, struct yp_budgets *out)
{
    if (yp_int(c, "n") < 2)
        return;
    yp_budget_add(out, yp_max_value("y", 1));
    if (strcmp(wrong_budget, "limit") == 0)
        yp_budget_add(out, yp_max_value("x", INFINITY));
    else if (strcmp(wrong_budget, "sign") == 0)
        yp_budget_add(out, yp_min_share("x", -0.5), yp_max_value("", NAN));
    else if (strcmp(wrong_budget, "twice") == 0)
        yp_budget_add(out, yp_max_value("y", NAN));
    else if (strcmp(wrong_budget, "device") == 0)
        yp_budget_add(out, yp_for_device("cpu"));
    else if (strcmp(wrong_budget, "in vain") == 0)
        yp_budget_add(out, yp_max_value("z", yp_double(c, "noise")));
    else
        for (int i = 0; i < 32; i++)
            yp_budget_add(out, {.kind = YP_BUDGET_MAX_COUNT,
                                .name = "z",
                                .limit = 1,
                                .counter = (enum yp_counter)(i % YP_COUNTERS),
                                .quantile = i < YP_COUNTERS ? 0 : 1});
}

static void expect_wrong(const char *what, const char *message)
{
    static const struct yp_test test = {HERE, .name = "w", .line = 6, .budgets_of = wrongly,
                                        .axes = YP_AXES(yp_axis_int("n", 1, 2, 3))};
    wrong_budget = what;
    cr_expect_str_eq(collect_one(&test, ""), message);
    cr_expect_gt(found.errors, 0);
}

#define AT "error: ../suites/a/b.c:6: test g.w: "
#define OF AT ".budgets_of, for a/b.c::w[n=2]: "

Test(declarations, budgets_by_a_function)
{
    expect_wrong("limit", OF "budget 2 has the limit inf: allowed is any finite number\n");
    expect_wrong("sign", OF "budget 2 has the limit -0.5: allowed is any finite number from 0\n" OF
                            "budget 3 names no measurement, value or check\n");
    expect_wrong("twice", OF "budget 2 is of a thing that one before it is of\n");
    expect_wrong("device", OF "budget 2 is none of a case: yp_for_device and yp_budget_file "
                              "stand in YP_BUDGETS alone\n");
    expect_wrong("in vain", AT "no axis 'noise' of kind double; this test has: n (int)\n");
    expect_wrong("many", AT "a/b.c::w[n=2] has 33 budgets: allowed are 32\n");
}

Test(declarations, budgets_of_one_device)
{
    static const struct yp_test test = {
        HERE, .name = "both", .devices = "cpu cuda",
        .budgets = YP_BUDGETS(yp_max_value("both", 1), yp_for_device("cuda"), yp_max_value("x", 2),
                              yp_for_device("cpu"), yp_max_value("x", 3), yp_max_value("y", 4),
                              yp_for_device("cuda"))};
    static const char on_cuda[] = "max value both=1, max value x=2";
    cr_expect_str_eq(collect_one(&test, ""), "");
    cr_assert_eq(found.count, 2);
    cr_expect_str_eq(held(0), "max value both=1, max value x=3, max value y=4");
    cr_expect_str_eq(held(1), on_cuda);
    cr_expect_str_eq(collect_one(&test, "--device=cuda:1"), "");
    cr_expect_str_eq(held(0), on_cuda);
    static const struct yp_test none = {
        HERE, .name = "none", .budgets = YP_BUDGETS(yp_for_device("cpu"), yp_max_value("x", 3))};
    cr_expect_str_eq(collect_one(&none, ""), "");
    cr_expect_str_eq(held(0), "max value x=3");
}

Test(declarations, budgets_that_are_right)
{
    static const struct yp_test test = {
        HERE, .name = "right", .parallel = true,
        .budgets = YP_BUDGETS(yp_min_value("x", -5), yp_max_value("x", 0), yp_min_value("y", 1),
                              yp_max_peak(YP_HOST, 0), yp_max_peak(YP_DEVICE, 0),
                              yp_max_leak(YP_HOST, 0), yp_max_allocations(YP_HOST, 0),
                              yp_max_resident(0), yp_max_gradient_error("x", 0))};
    cr_expect_str_eq(ids_of(&test, ""), "-");
}

Test(declarations, ranks)
{
    WRONG("axis 'ranks': '0' is no number of processes: allowed are 1 to 4096", .ranks = "1 0");
    WRONG("axis 'ranks': 'two' is no number of processes: allowed are 1 to 4096", .ranks = "two");
    WRONG("axis 'ranks': '2' stands there twice", .ranks = "2 1 2");
    WRONG("axis 'ranks': .ranks is empty: allowed are numbers such as \"1 2 4\"", .ranks = " ");
    WRONG("axis 'ranks' is declared twice", .ranks = "2", .axes = YP_AXES(yp_axis_int("ranks", 1)));
    WRONG("it has 9 axes with that of its ranks: allowed are 8", .ranks = "2",
          .axes = YP_AXES(yp_axis_int("a", 1), yp_axis_int("b", 1), yp_axis_int("c", 1),
                          yp_axis_int("d", 1), yp_axis_int("e", 1), yp_axis_int("f", 1),
                          yp_axis_int("g", 1), yp_axis_int("h", 1)));
    WRONG("a fixture has .ranks: allowed in YP_TEST only", .ranks = "2", .fixture = true);
}

Test(declarations, devices)
{
    WRONG("device 'cuda:1' is not known: allowed are cpu and cuda", .devices = "cuda:1");
}

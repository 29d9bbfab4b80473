/* Selection: node ids, -k, -m and --set, alone and together. */
#include "harness/collect/select.h"

#include "base/text/text.h"
#include "harness/driver/arrange.h"
#include "tests/unit/harness/capture.h"
#include "tests/unit/harness/collecting.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <yieldpoint/relation.h>

TestSuite(select, .init = enter_directory, .fini = end_collecting, .timeout = 60);

/* a: stress/rx.c::fit[small], [large]; b: stress/rx.c::fitting; c: stress/rx.cu::fit;
 * d: perf/gemm.c::Gemm[n=1-cpu], [n=1-cuda], [n=2-cpu], [n=2-cuda]; e: stress_more/x.c::run */
static const struct yp_test fit = {
    .group = "detector",
    .body = nothing,
    .name = "fit",
    .file = "suites/stress/rx.c",
    .line = 1,
    .tags = "stress",
    .cases = YP_CASES(yp_case_of("small"), yp_case_of("large", .tags = "slow"))};
static const struct yp_test fitting = {.group = "detector",
                                       .body = nothing,
                                       .name = "fitting",
                                       .file = "suites/stress/rx.c",
                                       .line = 2,
                                       .tags = "stress slow"};
static const struct yp_test fit_cuda = {.group = "rx",
                                        .body = nothing,
                                        .name = "fit",
                                        .file = "suites/stress/rx.cu",
                                        .line = 1,
                                        .tags = "stress"};
static const struct yp_test gemm = {.group = "matrix",
                                    .body = nothing,
                                    .name = "Gemm",
                                    .file = "suites/perf/gemm.c",
                                    .line = 1,
                                    .tags = "perf",
                                    .axes = YP_AXES(yp_axis_int("n", 1, 2)),
                                    .devices = "cpu cuda"};
static const struct yp_test run = {
    .group = "more", .body = nothing, .name = "run", .file = "suites/stress_more/x.c", .line = 1};

static const char *const ids[] = {
    "perf/gemm.c::Gemm[n=1-cpu]",  "perf/gemm.c::Gemm[n=1-cuda]", "perf/gemm.c::Gemm[n=2-cpu]",
    "perf/gemm.c::Gemm[n=2-cuda]", "stress/rx.c::fit[small]",     "stress/rx.c::fit[large]",
    "stress/rx.c::fitting",        "stress/rx.cu::fit",           "stress_more/x.c::run"};
enum { IDS = sizeof ids / sizeof ids[0] };

static enum ypi_exit choose(const char *words, int *selected)
{
    static const struct yp_test *const tests[] = {&run, &fit_cuda, &fitting, &fit, &gemm};
    cr_assert_eq(read_words(words), YPI_EXIT_OK, "%s", words);
    ypi_collect(&found, &options, (struct ypi_tests){tests, tests + 5});
    cr_assert(found.errors == 0 && found.usage_errors == 0);
    enum ypi_exit code = ypi_select(&found, &options, selected);
    char *told = NULL;
    if (code == YPI_EXIT_OK)
        cr_expect_eq(ypi_arrange(&found, &options, selected, &told), YP_OK);
    free(told);
    return code;
}

/* Digits of what is selected, as it stands: "45" are both cases of the first fit. What is left out
 * must follow, in the collection's order unless it is another part's. */
static const char *selected_by(const char *words)
{
    static char digits[2 * IDS + 1];
    int selected = 0;
    capture_begin(STDERR_FILENO);
    enum ypi_exit code = choose(words, &selected);
    const char *output = capture_end();
    cr_assert_eq(code, YPI_EXIT_OK, "%s: %s", words, output);
    cr_expect_str_eq(output, "");
    cr_assert_eq(found.count, IDS);
    digits[0] = '\0';
    int last = -1;
    for (int i = 0; i < IDS; i++) {
        int k = 0;
        while (k < IDS && strcmp(ids[k], found.cases[i]->id) != 0)
            k++;
        cr_assert(k < IDS, "%s", found.cases[i]->id);
        cr_expect(i < selected || k > last || options.shard > 0, "%s: the order is not kept at %s",
                  words, ids[k]);
        last = i < selected ? -1 : k;
        if (i < selected)
            snprintf(digits + i, sizeof digits - (size_t)i, "%d", k);
    }
    return digits;
}

static const char *refused_by(const char *words)
{
    int selected = 77;
    capture_begin(STDERR_FILENO);
    enum ypi_exit code = choose(words, &selected);
    const char *output = capture_end();
    cr_expect_eq(code, YPI_EXIT_USAGE, "%s", words);
    cr_expect_eq(selected, 0);
    return output;
}

struct row {
    const char *words, *wanted;
};

static void expect_selected(const struct row *table, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const char *got = selected_by(table[i].words);
        cr_expect_str_eq(got, table[i].wanted, "%s: %s, wanted %s", table[i].words, got,
                         table[i].wanted);
    }
}
#define EXPECT_SELECTED(table) expect_selected(table, sizeof(table) / sizeof *(table))

Test(select, ids)
{
    static const struct row table[] = {
        {"", "012345678"},
        {"stress", "4567"},
        {"stress/", "4567"},
        {"stress/rx.c", "456"},
        {"stress/rx.cu", "7"},
        {"stress/rx.c::fit", "45"},
        {"stress/rx.c::fit[large]", "5"},
        {"stress/rx.c::fitting", "6"},
        {"stress_more", "8"},
        {"suites/stress/rx.c", "456"}, /* as a shell completes it */
        {"./suites/stress", "4567"},
        {"perf/gemm.c::Gemm[n=2-cuda]", "3"},
        /* Several add up, each case once, in the order of the ids. */
        {"stress/rx.c::fitting|perf/gemm.c::Gemm[n=1-cpu]", "60"},
        {"stress/rx.c::fitting|stress|stress_more|stress/rx.c", "64578"},
        {"stress_more|stress/rx.c::fit|-k|fit or o", "845"},
        {"stress/rx.c|stress|stress/rx.c::fit[small]", "4567"},
    };
    EXPECT_SELECTED(table);
}

Test(select, left_out_by_name)
{
    static const struct row table[] = {
        {"--deselect|stress/rx.c::fit", "012378"}, /* a begin, so fitting as well */
        {"--deselect=suites/stress/rx.c::fit[small]|stress/rx.c", "56"},
        {"--deselect=stress/rx.c::fit[|--deselect=perf/gemm.c::Gemm[n=2-cuda]", "012678"},
        {"--ignore=stress|--ignore|perf", "8"},
        {"--ignore=suites/stress/rx.c", "012378"},
        {"--ignore=nowhere|--deselect=nowhere", "012345678"},
    };
    EXPECT_SELECTED(table);
}

Test(select, parts_and_what_has_failed)
{
    static const struct row table[] = {
        {"--lf", "012345678"}, /* nothing was run */
        {"--ff", "012345678"},
        {"--sw", "012345678"},
        {"--shard=1/1", "012345678"},
        {"--shard=1/2", "02468"},
        {"--shard=2/2", "1357"},
        {"--shard=2/3", "147"},
        {"--shard=10/10", ""},
        {"--shard=2/2|-k|fit", "57"},
        {"--shard=1/2|stress_more|stress/rx.c::fit", "85"},
    };
    EXPECT_SELECTED(table);
}

/* Those of `all` that are among `some`. */
static void expect_same_order(const char *some, const char *all)
{
    for (; *all != '\0'; all++)
        if (*some == *all)
            some++;
    cr_expect_str_empty(some, "%s is left of them in %s", some, all);
}

Test(select, another_order)
{
    char first[IDS + 1];
    char second[IDS + 1];
    snprintf(first, sizeof first, "%s", selected_by("--shuffle=1"));
    snprintf(second, sizeof second, "%s", selected_by("--shuffle=2"));
    cr_expect_str_neq(first, second);
    cr_expect_str_neq(first, "012345678");
    cr_expect_str_eq(selected_by("--shuffle=1"), first);
    for (const char *digit = "012345678"; *digit != '\0'; digit++)
        cr_expect(strchr(first, *digit) != NULL && strchr(second, *digit) != NULL);
    const char *some = selected_by("--shuffle|1|-kfit");
    cr_expect_eq(strlen(some), 4);
    expect_same_order(some, first);
}

/* Those that name the relation name the cases that it reads, too, and no other relation. */
Test(select, relations_by_id_bring_their_cases)
{
    static const struct yp_test faster = {
        .group = "matrix",
        .name = "faster",
        .file = "suites/perf/gemm.c",
        .line = 2,
        .tags = "perf",
        .relation = yp_ratio_over("perf/gemm.c::Gemm", "gemm", "n", "1", "2")};
    static const struct yp_test same = {
        .group = "matrix",
        .name = "same",
        .file = "suites/perf/gemm.c",
        .line = 3,
        .tags = "perf",
        .devices = "cpu cuda",
        .relation = yp_same_hash("perf/gemm.c::Gemm[n=1-cpu]", "perf/gemm.c::Gemm[n=1-cuda]")};
    static const struct yp_test *const tests[] = {&run, &gemm, &faster, &same};
    const struct {
        const char *words;
        int selected, reads;
    } table[] = {
        {"perf/gemm.c::faster", 5, 4},
        {"perf/gemm.c::same", 4, 2},
        {"perf/gemm.c::same[cuda]", 2, 1},
        {"perf/gemm.c::faster|stress_more", 6, 4},
        {"perf/gemm.c::faster|-kfaster or cuda", 3, 2},
        {"perf/gemm.c::faster|-kn=1", 0, 0}, /* it is deselected itself */
        {"perf/gemm.c::faster|-mnot gpu", 3, 2},
        {"perf/gemm.c", 7, 4},
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        int selected = 0;
        int reads = 0;
        cr_assert_eq(read_words(table[i].words), YPI_EXIT_OK);
        ypi_collect(&found, &options, (struct ypi_tests){tests, tests + 4});
        cr_assert_eq(found.errors, 0);
        cr_expect_eq(ypi_select(&found, &options, &selected), YPI_EXIT_OK);
        for (int k = 0; k < selected; k++)
            reads += found.cases[k]->test == &gemm;
        cr_expect(selected == table[i].selected && reads == table[i].reads, "%zu: %d, %d", i,
                  selected, reads);
    }
}

Test(select, near_misses_are_no_hits)
{
    static const char *const words[] = {"stres",
                                        "stress/rx",
                                        "stress/rx.",
                                        "stress/rx.c::fi",
                                        "stress/rx.c::",
                                        "stress/rx.c:",
                                        "rx.c",
                                        "stress/rx.c::fit[",
                                        "stress/rx.c::fit[small",
                                        "fit",
                                        "Stress",
                                        "stress//",
                                        "stress/rx.c::fit/",
                                        "stress/rx.c::fit::small",
                                        "/"};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        char *start = ypi_format("error: not found: '%s'", words[i]);
        const char *output = refused_by(words[i]);
        cr_expect(strncmp(output, start, strlen(start)) == 0, "%s: %s", words[i], output);
        cr_expect_not_null(strstr(output, "; --co -q lists all ids\n"));
        free(start);
    }
    cr_expect_str_eq(refused_by("--|"), "error: not found: ''; --co -q lists all ids\n");
}

Test(select, keywords)
{
    static const struct row table[] = {
        {"-kfit", "4567"},
        {"-kFIT", "4567"},
        {"-kgemm", "0123"},
        {"-kGEMM and not cuda", "02"},
        {"-kfit and not fitting", "457"},
        {"-kn=2 or large", "235"},
        {"-k[n=1", "01"},
        {"-k[1", "01"}, /* the value, not the name of its axis */
        {"-kfit[s", "4"},
        {"-kmatrix", "0123"}, /* the group */
        {"-kdetector and large", "5"},
        {"-kcu", "137"},
        {"-kbanana", ""}, /* any word, where a tag has to be registered */
        {"-knot (fit or gemm)", "8"},
        {"-kslow", "56"}, /* a tag */
        {"-kstress and not slow", "478"},
        {"-k|", "012345678"},
        {"-m|", "012345678"},
    };
    EXPECT_SELECTED(table);
}

Test(select, tags)
{
    static const struct row table[] = {
        {"-mstress", "4567"},
        {"-mstress and not slow", "47"},
        {"-mslow", "56"},
        {"-msmall or large", "45"},
        {"-mgpu", "13"},
        {"-mnot stress", "01238"},
        {"-mnot stress and not perf", "8"},
        {"-mxl", ""},
        {"-mperf and (gpu or slow)", "13"},
    };
    EXPECT_SELECTED(table);
}

Test(select, together)
{
    static const struct row table[] = {
        {"-mstress|-kfit|stress/rx.c", "456"},
        {"-mslow|-kfitting", "6"},
        {"-mslow|perf", ""},
        {"-knot cuda|-mnot slow|perf|stress/rx.c::fit", "024"},
    };
    EXPECT_SELECTED(table);
}

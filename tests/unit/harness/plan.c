/* The plan: which runs, in which order, and whose directories are cleared away. */
#include "harness/run/plan.h"

#include "base/text/text.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define OWN "11111111-2222-4333-8444-555555555555"
#define OTHER "aaaaaaaa-bbbb-4ccc-8ddd-eeeeeeeeeeee"

static char directory[64];

static void make_directory(void)
{
    snprintf(directory, sizeof directory, "/tmp/yp-plan-XXXXXX");
    cr_assert_not_null(mkdtemp(directory));
}

static void remove_directory(void)
{
    char command[128];
    snprintf(command, sizeof command, "rm -rf '%s'", directory);
    cr_assert_eq(system(command), 0);
}

TestSuite(plan, .init = make_directory, .fini = remove_directory, .timeout = 60);

/* A directory beside the history with one file in it. */
static void add_directory(const char *name, const char *file)
{
    char *path = ypi_format("%s/%s", directory, name);
    cr_assert_eq(mkdir(path, 0755), 0);
    free(path);
    path = ypi_format("%s/%s/%s", directory, name, file);
    int fd = open(path, O_WRONLY | O_CREAT, 0644);
    cr_assert_geq(fd, 0);
    close(fd);
    free(path);
}

static bool is_there(const char *name)
{
    char *path = ypi_format("%s/%s", directory, name);
    bool there = access(path, F_OK) == 0;
    free(path);
    return there;
}

static enum yp_status make(struct ypi_plan *plan, struct ypi_collection *c, int selected,
                           int repeat)
{
    static char history[96];
    snprintf(history, sizeof history, "%s/history.db", directory);
    struct ypi_options o = {.repeat = repeat, .history = history};
    return ypi_plan_make(plan, c, selected, &o, OWN);
}

Test(plan, leaves_alone_what_is_not_a_run_s)
{
    static const char *const names[] = {"run-",
                                        "run-2024",
                                        "run-all-the-things",
                                        "run-aaaaaaaa-bbbb-4ccc-8ddd-eeeeeeeeeeee0",
                                        "run-aaaaaaaa-bbbb-4ccc-8ddd-eeeeeeeeeee",
                                        "run-aaaaaaaa-bbbb-4ccc-8ddd-eeeeeeeeeeeg",
                                        "run-aaaaaaaabbbbb-4ccc-8ddd-eeeeeeeeeeee",
                                        "Run-aaaaaaaa-bbbb-4ccc-8ddd-eeeeeeeeeeee",
                                        OTHER};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        add_directory(names[i], "thesis.txt");
    struct ypi_collection none = {0};
    struct ypi_plan plan;
    cr_assert_eq(make(&plan, &none, 0, 1), YP_OK);
    ypi_plan_clear(&plan);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        char *file = ypi_format("%s/thesis.txt", names[i]);
        cr_expect(is_there(file), "%s is gone", file);
        free(file);
    }
}

Test(plan, clears_away_what_a_dead_run_left)
{
    add_directory("run-" OTHER, "1.output");
    struct ypi_collection none = {0};
    struct ypi_plan plan;
    cr_assert_eq(make(&plan, &none, 0, 1), YP_OK);
    cr_expect_not(is_there("run-" OTHER));
    cr_expect(is_there("run-" OWN));
    ypi_plan_clear(&plan);
    cr_expect_not(is_there("run-" OWN), "and what it has made itself");
}

Test(plan, leaves_a_living_run_alone)
{
    add_directory("run-" OTHER, "1.output");
    char *path = ypi_format("%s/run-" OTHER, directory);
    int fd = open(path, O_RDONLY | O_DIRECTORY);
    cr_assert(fd >= 0 && flock(fd, LOCK_EX) == 0);
    struct ypi_collection none = {0};
    struct ypi_plan plan;
    cr_assert_eq(make(&plan, &none, 0, 1), YP_OK);
    cr_expect(is_there("run-" OTHER "/1.output"));
    ypi_plan_clear(&plan);
    close(fd);
    free(path);
}

Test(plan, holds_its_directory_as_long_as_it_lives)
{
    struct ypi_collection none = {0};
    struct ypi_plan plan;
    cr_assert_eq(make(&plan, &none, 0, 1), YP_OK);
    int fd = open(plan.directory, O_RDONLY | O_DIRECTORY);
    cr_assert_geq(fd, 0);
    cr_expect_neq(flock(fd, LOCK_EX | LOCK_NB), 0);
    ypi_plan_clear(&plan);
    cr_expect_eq(flock(fd, LOCK_EX | LOCK_NB), 0);
    close(fd);
}

Test(plan, repeats_each_case_in_order)
{
    static const struct yp_test test = {.name = "t", .file = "a.c", .line = 3};
    struct yp_case one = {.test = &test, .id = (char *)(uintptr_t) "a.c::t[1]"};
    struct yp_case two = {.test = &test, .id = (char *)(uintptr_t) "a.c::t[2]"};
    struct yp_case *cases[] = {&one, &two};
    struct ypi_collection c = {.cases = cases, .count = 2};
    struct ypi_plan plan;
    cr_assert_eq(make(&plan, &c, 2, 6), YP_OK);
    cr_assert_eq(plan.count, 12);
    for (int i = 0; i < 12; i++) {
        const struct ypi_item *item = &plan.items[i];
        cr_expect_eq(item->number, i + 1);
        cr_expect_eq(item->c.repeat, i % 6);
        cr_expect_str_eq(item->c.id, i < 6 ? "a.c::t[1]" : "a.c::t[2]");
        cr_expect_eq(item->state, YPI_WAITING);
        if (i > 0) {
            cr_expect_gt(strcmp(item->criterion_name, plan.items[i - 1].criterion_name), 0,
                         "Criterion sorts them by name");
            cr_expect_str_neq(item->channel, plan.items[i - 1].channel);
            cr_expect_str_neq(item->output, plan.items[i - 1].output);
        }
    }
    ypi_plan_clear(&plan);
}

Test(plan, a_place_that_is_not_there_is_named)
{
    struct ypi_options o = {.repeat = 1, .history = (char *)(uintptr_t) "/nowhere/at/all.db"};
    struct ypi_collection none = {0};
    struct ypi_plan plan;
    cr_expect_eq(ypi_plan_make(&plan, &none, 0, &o, OWN), YP_IO);
    cr_expect_not_null(strstr(yp_last_error(), "/nowhere/at"), "%s", yp_last_error());
    ypi_plan_clear(&plan);
}

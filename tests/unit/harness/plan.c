/* The plan: directories that are not cleared away; tests/usage kills runs and starts them side by
 * side. */
#include "harness/run/plan.h"

#include "base/text/text.h"
#include "tests/unit/harness/folder.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define OWN "11111111-2222-4333-8444-555555555555"
#define OTHER "aaaaaaaa-bbbb-4ccc-8ddd-eeeeeeeeeeee"

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
    char history[96];
    snprintf(history, sizeof history, "%s/history.db", directory);
    struct ypi_options o = {.repeat = 1, .history = history};
    struct ypi_collection none = {0};
    struct ypi_plan plan;
    cr_assert_eq(ypi_plan_make(&plan, &none, 0, &o, OWN), YP_OK);
    ypi_plan_clear(&plan);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        char *file = ypi_format("%s/thesis.txt", names[i]);
        cr_expect(is_there(file), "%s is gone", file);
        free(file);
    }
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

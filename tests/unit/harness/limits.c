/* Limits into a file of budgets: what changes, what stays, and who comes at the same time. */
#include "harness/history/history.h"

#include "base/system/file.h"
#include "base/text/text.h"
#include "harness/vocabulary/budget_file.h"
#include "tests/unit/harness/capture.h"
#include "tests/unit/harness/folder.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

TestSuite(limits, .init = enter_directory, .fini = remove_directory, .timeout = 60);

static void expect_file(const char *path, const char *wanted)
{
    char text[4096];
    ypi_read_file(path, text, sizeof text);
    cr_expect_str_eq(text, wanted);
    struct ypi_budget_file *read = ypi_budget_file_read(path);
    cr_expect(!read->wrong, "what was written cannot be read");
    ypi_budget_file_free(read);
}

static cJSON *budget(const char *kind, const char *name, const char *memory, const char *detail)
{
    cJSON *b = cJSON_CreateObject();
    cJSON_AddStringToObject(b, "kind", kind);
    cJSON_AddItemToObject(b, "name", name ? cJSON_CreateString(name) : cJSON_CreateNull());
    cJSON_AddItemToObject(b, "memory", memory ? cJSON_CreateString(memory) : cJSON_CreateNull());
    cJSON_AddItemToObject(b, "detail", detail ? cJSON_CreateString(detail) : cJSON_CreateNull());
    return b;
}

static enum ypi_limit_done write_one(const char *path, const char *id, cJSON *b, double limit,
                                     bool add)
{
    struct ypi_limit l = {.title = id, .budget = b, .limit = limit};
    cr_assert_eq(ypi_limits_write(path, &l, 1, add), YP_OK, "%s", yp_last_error());
    cJSON_Delete(b);
    return l.done;
}

#define SHARE(name_) budget("min share", name_, NULL, NULL)
#define PEAK budget("max peak", NULL, "host", NULL)

Test(limits, only_numbers_change)
{
    write_text("b.ini", "\xef\xbb\xbf; kept\r\n"
                        "\n"
                        "[b.c::two[n=1]] # why\n"
                        "  min share make=0.5 ; measured in spring\n"
                        "# between\n"
                        "max peak   host : 1e6\t# bytes\n"
                        "max peak device = 7\n"
                        "\n"
                        "[a.c::gone]\n"
                        "max value loss = 3");
    cr_expect_eq(write_one("b.ini", "b.c::two[n=1]", SHARE("make"), 0.525, false),
                 YPI_LIMIT_CHANGED);
    cr_expect_eq(write_one("b.ini", "b.c::two[n=1]", PEAK, 16777216, false), YPI_LIMIT_CHANGED);
    cr_expect_eq(write_one("b.ini", "b.c::two[n=1]", SHARE("other"), 1, false), YPI_LIMIT_ABSENT);
    cr_expect_eq(write_one("b.ini", "b.c::new", SHARE("make"), 1, false), YPI_LIMIT_ABSENT);
    cr_expect_eq(
        write_one("b.ini", "b.c::two[n=1]", budget("min rate", "make", NULL, NULL), 1, true),
        YPI_LIMIT_UNFIT);
    expect_file("b.ini", "\xef\xbb\xbf; kept\r\n"
                         "\n"
                         "[b.c::two[n=1]] # why\n"
                         "  min share make=0.525 ; measured in spring\n"
                         "# between\n"
                         "max peak   host : 16777216\t# bytes\n"
                         "max peak device = 7\n"
                         "\n"
                         "[a.c::gone]\n"
                         "max value loss = 3\n");
}

Test(limits, every_blank_of_the_reader_is_one)
{
    write_text("b.ini", "[a]\nmin share make=\r5\n\r\nmin share other = \v\f2\f; why\n");
    cr_expect_eq(write_one("b.ini", "a", SHARE("make"), 0.25, false), YPI_LIMIT_CHANGED);
    cr_expect_eq(write_one("b.ini", "a", SHARE("other"), 0.5, false), YPI_LIMIT_CHANGED);
    expect_file("b.ini", "[a]\nmin share make=\r0.25\n\r\nmin share other = \v\f0.5\f; why\n");
}

Test(limits, what_is_new_stands_behind_the_mark)
{
    write_text("b.ini", "\xef\xbb\xbf[b]\nmin share make = 0.5\n");
    cr_expect_eq(write_one("b.ini", "a", SHARE("make"), 1, true), YPI_LIMIT_ADDED);
    expect_file("b.ini", "\xef\xbb\xbf[a]\nmin share make = 1\n\n[b]\nmin share make = 0.5\n");
}

Test(limits, what_would_belong_to_a_new_line_is_refused)
{
    static const char *const files[] = {"[a]\nmax value loss =\n\n 3\n",
                                        "  [b]\nmin share make = 0.5\n"};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        cJSON *b = SHARE("make");
        struct ypi_limit l = {.title = "a", .budget = b, .limit = 1};
        write_text("b.ini", files[i]);
        cr_expect_eq(ypi_limits_write("b.ini", &l, 1, true), YP_INVALID);
        cr_expect_not_null(strstr(yp_last_error(), "is indented"), "%s", yp_last_error());
        expect_file("b.ini", files[i]);
        cJSON_Delete(b);
    }
}

/* An id with a code, as a history of Yieldpoint 0.1 has it. */
Test(limits, an_old_id_is_found_again)
{
    cr_expect_eq(write_one("b.ini", "a.c::b[n=%2d3]", SHARE("make"), 1, true), YPI_LIMIT_ADDED);
    cr_expect_eq(write_one("b.ini", "a.c::b[n=%2d3]", SHARE("make"), 2, true), YPI_LIMIT_CHANGED);
    expect_file("b.ini", "[a.c::b[n=%2d3]]\nmin share make = 2\n");
}

Test(limits, without_a_change_nothing_is_written)
{
    struct stat before;
    struct stat after;
    write_text("b.ini", "[a]\nmin share make = 0.50");
    cr_assert_eq(stat("b.ini", &before), 0);
    cr_expect_eq(write_one("b.ini", "a", SHARE("make"), 0.5, true), YPI_LIMIT_SAME);
    cr_assert_eq(stat("b.ini", &after), 0);
    cr_expect(before.st_ino == after.st_ino && before.st_size == after.st_size);
}

Test(limits, what_is_new_goes_to_its_place)
{
    write_text("b.ini", "# all of them\n\n[b]\nmin share make = 0.5\n# at the end of b\n\n"
                        "# of d\n[d]\nmin share make = 0.5\n");
    cr_expect_eq(write_one("b.ini", "c", SHARE("a=b;%"), 0.25, true), YPI_LIMIT_ADDED);
    cr_expect_eq(write_one("b.ini", "c", PEAK, 0, true), YPI_LIMIT_ADDED);
    cr_expect_eq(write_one("b.ini", "b", PEAK, 1e17, true), YPI_LIMIT_ADDED);
    cr_expect_eq(write_one("b.ini", "a", PEAK, 2, true), YPI_LIMIT_ADDED);
    cr_expect_eq(write_one("b.ini", "e", PEAK, 3, true), YPI_LIMIT_ADDED);
    cr_expect_eq(write_one("b.ini", "c", SHARE("a=b;%"), 0.26, true), YPI_LIMIT_CHANGED);
    expect_file("b.ini", "# all of them\n\n[a]\nmax peak host = 2\n\n"
                         "[b]\nmin share make = 0.5\nmax peak host = 1e+17\n# at the end of b\n\n"
                         "[c]\nmin share a%3db%3b%25 = 0.26\nmax peak host = 0\n\n"
                         "# of d\n[d]\nmin share make = 0.5\n\n[e]\nmax peak host = 3\n");
}

Test(limits, in_a_file_without_order_it_goes_to_the_end)
{
    write_text("b.ini", "[d]\n[a]\nmax peak host = 1\n");
    cr_expect_eq(write_one("b.ini", "b", PEAK, 2, true), YPI_LIMIT_ADDED);
    cr_expect_eq(write_one("b.ini", "d", PEAK, 3, true), YPI_LIMIT_ADDED);
    expect_file("b.ini",
                "[d]\nmax peak host = 3\n[a]\nmax peak host = 1\n\n[b]\nmax peak host = 2\n");
}

Test(limits, a_new_file_takes_all)
{
    cJSON *count = budget("max count", "make", NULL, "page faults");
    cJSON *peak = PEAK;
    struct ypi_limit list[] = {{"z", peak, 7, false, YPI_LIMIT_SAME},
                               {"a", count, 2.5, false, YPI_LIMIT_SAME},
                               {"a", peak, 8, false, YPI_LIMIT_SAME}};
    cr_assert_eq(ypi_limits_write("new.ini", list, 3, false), YP_OK, "%s", yp_last_error());
    for (int i = 0; i < 3; i++)
        cr_expect_eq(list[i].done, YPI_LIMIT_ADDED);
    expect_file("new.ini", "[a]\nmax count make page faults = 2.5\nmax peak host = 8\n\n"
                           "[z]\nmax peak host = 7\n");
    cJSON_Delete(count);
    cJSON_Delete(peak);
}

Test(limits, a_link_and_permissions_stay)
{
    struct stat status;
    write_text("real.ini", "[a]\nmax peak host = 1\n");
    cr_assert_eq(chmod("real.ini", 0640), 0);
    cr_assert_eq(symlink("real.ini", "link.ini"), 0);
    write_one("link.ini", "a", PEAK, 2, false);
    expect_file("real.ini", "[a]\nmax peak host = 2\n");
    cr_assert_eq(lstat("link.ini", &status), 0);
    cr_expect(S_ISLNK(status.st_mode));
    cr_assert_eq(stat("real.ini", &status), 0);
    cr_expect_eq(status.st_mode & 07777, 0640);
}

Test(limits, what_is_wrong_stays_as_it_is)
{
    static const char *const wrong[] = {"[a]\nmax peak host = much\n", "[a]\n[a]\n",
                                        "max peak host = 1\n", "[a]\nmin rate make = 1\n",
                                        "[a]\nmax peak host = 1\nmax peak host = 2\n"};
    cJSON *peak = PEAK;
    struct ypi_limit l = {.title = "a", .budget = peak, .limit = 3};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        char text[256];
        write_text("b.ini", wrong[i]);
        capture_begin(STDERR_FILENO);
        enum yp_status status = ypi_limits_write("b.ini", &l, 1, true);
        const char *told = capture_end();
        cr_expect_eq(status, YP_INVALID, "%s", wrong[i]);
        cr_expect_not_null(strstr(told, "b.ini:"), "%s", told);
        ypi_read_file("b.ini", text, sizeof text);
        cr_expect_str_eq(text, wrong[i]);
    }
    cr_assert_eq(mkdir("folder", 0755), 0);
    cr_expect_eq(ypi_limits_write("folder", &l, 1, true), YP_IO);
    cr_expect_eq(ypi_limits_write("nowhere/b.ini", &l, 1, true), YP_IO);
    cr_expect_eq(ypi_limits_write("", &l, 1, true), YP_IO);
    cJSON_Delete(peak);
}

Test(limits, those_who_write_at_once_lose_nothing)
{
    enum { WRITERS = 8, EACH = 10 };
    for (int w = 0; w < WRITERS; w++)
        if (fork() == 0) {
            int wrong = 0;
            for (int i = 0; i < EACH; i++) {
                cJSON *peak = PEAK;
                char *id = ypi_format("case%d[n=%d]", w, i);
                struct ypi_limit l = {.title = id, .budget = peak, .limit = w};
                wrong += ypi_limits_write("b.ini", &l, 1, true) != YP_OK;
                cJSON_Delete(peak);
                free(id);
            }
            _exit(wrong);
        }
    for (int w = 0, status = 0; w < WRITERS; w++)
        cr_expect(wait(&status) > 0 && status == 0);
    struct ypi_budget_file *f = ypi_budget_file_read("b.ini");
    cr_expect(!f->wrong && f->count == WRITERS * EACH, "%d", f->count);
    for (int i = 1; i < f->count; i++)
        cr_expect(strcmp(f->sections[i - 1].id, f->sections[i].id) < 0, "in order");
    ypi_budget_file_free(f);
}

/* What an onlooker sees of a run's directory: planted directories, whole, torn and hostile. */
#include "harness/history/history.h"
#include "harness/message/case_list.h"
#include "harness/message/channel.h"

#include "base/system/clock.h"
#include "tests/unit/harness/folder.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define RUN "11111111-2222-4333-8444-555555555555"
#define PLACE "run-" RUN

static void enter(void)
{
    enter_directory();
    cr_assert_eq(mkdir(PLACE, 0700), 0);
}

TestSuite(going, .init = enter, .fini = remove_directory);

/* -- the list of cases ---------------------------------------------------------------------------
 */

static struct ypi_text list_of(const char *const *ids, size_t count)
{
    struct ypi_text list = {0};
    for (size_t i = 0; i < count; i++)
        ypi_case_list_add(&list, i % 2 == 0 ? "cpu" : "", ids[i]);
    return list;
}

Test(going, ids_are_read_back_as_they_are)
{
    static char long_id[4097];
    memset(long_id, 'x', sizeof long_id - 1);
    const char *const ids[] = {"a.c::x[n=1]", "two\nlines", "\xff\xfe", "", long_id};
    const size_t count = sizeof ids / sizeof *ids;
    struct ypi_text list = list_of(ids, count);
    struct ypi_case_list read;
    cr_assert_eq(ypi_case_list_write(&list, PLACE), YP_OK, "%s", yp_last_error());
    cr_assert(ypi_case_list_read(&read, PLACE));
    cr_assert_eq(read.count, (int)count);
    for (size_t i = 0; i < count; i++) {
        cr_expect_str_eq(read.list[i].id, ids[i]);
        cr_expect_str_eq(read.list[i].device, i % 2 == 0 ? "cpu" : "");
    }
    ypi_case_list_clear(&read);
    free(ypi_text_take(&list));
    cJSON *plan = ypi_run_plan("history.db", RUN);
    cr_expect_eq(cJSON_GetArraySize(plan), (int)count);
    cr_expect_str_eq(ypi_text_of(cJSON_GetArrayItem(plan, 2), "id"), "\xef\xbf\xbd\xef\xbf\xbd");
    cJSON_Delete(plan);
}

/* Of a torn file the cases that are whole. */
Test(going, a_torn_list_is_read_as_far_as_it_goes)
{
    const char *const ids[] = {"first", "second", "third"};
    struct ypi_text list = list_of(ids, 3);
    int before = -1;
    for (size_t length = 0; length <= list.length; length++) {
        const struct ypi_text part = {.data = list.data, .length = length};
        struct ypi_case_list read;
        cr_assert_eq(ypi_case_list_write(&part, PLACE), YP_OK);
        int count = ypi_case_list_read(&read, PLACE) ? read.count : -1;
        cr_expect(count >= before && count <= 3, "%zu bytes: %d", length, count);
        for (int i = 0; i < count && i < 3; i++)
            cr_expect_eq(strncmp(read.list[i].id, ids[i], strlen(read.list[i].id)), 0);
        before = count;
        ypi_case_list_clear(&read);
    }
    cr_expect_eq(before, 3);
    free(ypi_text_take(&list));
}

Test(going, what_is_no_list_is_none, .timeout = 10)
{
    struct ypi_case_list read;
    cr_expect_not(ypi_case_list_read(&read, "absent"));
    cr_expect_not(ypi_case_list_read(&read, PLACE));
    write_text(PLACE "/cases", "yieldpoint cases 2 and more text than the head has");
    cr_expect_not(ypi_case_list_read(&read, PLACE));
    unlink(PLACE "/cases");
    cr_assert_eq(mkfifo(PLACE "/cases", 0600), 0); /* nobody writes to it */
    cr_expect_not(ypi_case_list_read(&read, PLACE));
    unlink(PLACE "/cases");
    cr_assert_eq(mkdir(PLACE "/cases", 0700), 0);
    cr_expect_not(ypi_case_list_read(&read, PLACE));
    cr_expect_null(ypi_run_plan("history.db", RUN));
    rmdir(PLACE "/cases");
}

/* -- the run -------------------------------------------------------------------------------------
 */

Test(going, a_run_lives_as_long_as_its_directory_is_held)
{
    cr_expect_eq(ypi_run_life("history.db", "another"), YPI_RUN_WITHOUT);
    int fd = open(PLACE, O_RDONLY | O_DIRECTORY);
    cr_assert_eq(flock(fd, LOCK_EX | LOCK_NB), 0);
    cr_expect_eq(ypi_run_life("history.db", RUN), YPI_RUN_ALIVE);
    cr_expect_eq(ypi_run_life("./history.db", RUN), YPI_RUN_ALIVE);
    close(fd);
    cr_expect_eq(ypi_run_life("history.db", RUN), YPI_RUN_DEAD);
    /* Looking has left no lock. */
    fd = open(PLACE, O_RDONLY | O_DIRECTORY);
    cr_expect_eq(flock(fd, LOCK_EX | LOCK_NB), 0);
    close(fd);
}

/* -- its cases -----------------------------------------------------------------------------------
 */

static void send_stage(const char *path, enum ypi_stage_name name, double at)
{
    struct ypi_stage stage;
    memset(&stage, 0, sizeof stage);
    stage.stage = name;
    stage.at = at;
    cr_assert(ypi_channel_send(path, YPI_MESSAGE_STAGE, &stage, sizeof stage, NULL, (size_t)0));
}

Test(going, cases_are_those_with_messages)
{
    const struct ypi_hello hello = {.pid = 4711};
    const double now = ypi_now();
    for (int i = 0; i < 2; i++) {
        const char *path = i == 0 ? PLACE "/12.channel" : PLACE "/3.channel";
        cr_assert(ypi_channel_create(path));
        cr_assert(ypi_channel_send(path, YPI_MESSAGE_HELLO, &hello, sizeof hello, NULL, (size_t)0));
    }
    send_stage(PLACE "/12.channel", YPI_STAGE_SETUP, now - 5);
    send_stage(PLACE "/12.channel", YPI_STAGE_BODY, now - 2);
    write_text(PLACE "/7.channel", "no message at all");
    write_text(PLACE "/7.output", "");
    write_text(PLACE "/x8.channel", "");
    write_text(PLACE "/8x.channel", "");
    write_text(PLACE "/-1.channel", "");
    write_text(PLACE "/99999999999999999999.channel", "");
    cJSON *list = ypi_run_now("history.db", RUN, NULL);
    static const int numbers[] = {3, 7, 12};
    cr_assert_eq(cJSON_GetArraySize(list), 3);
    for (int i = 0; i < 3; i++)
        cr_expect_eq(ypi_whole(cJSON_GetArrayItem(list, i), "number"), numbers[i]);
    const cJSON *last = cJSON_GetArrayItem(list, 2);
    cr_expect_eq(ypi_whole(last, "pid"), 4711);
    cr_expect_str_eq(ypi_text_of(last, "stage"), "body");
    cr_expect_float_eq(ypi_real(last, "seconds"), 5 + ypi_now() - now, 1, "since its setup");
    cr_expect_str_eq(ypi_text_of(cJSON_GetArrayItem(list, 0), "stage"), "");
    cr_expect_eq(ypi_whole(cJSON_GetArrayItem(list, 1), "pid"), 0);
    cJSON_Delete(list);
    list = ypi_run_now("history.db", "absent", NULL);
    cr_expect(cJSON_IsArray(list) && list->child == NULL);
    cJSON_Delete(list);
}

/* -- what has not changed ------------------------------------------------------------------------
 */

/* Another process in the same file, which then looks as before. */
static void replace_hello(const char *path, pid_t pid)
{
    const struct ypi_hello hello = {.pid = pid};
    struct stat there;
    cr_assert_eq(stat(path, &there), 0);
    cr_assert_eq(unlink(path), 0);
    cr_assert(ypi_channel_create(path));
    cr_assert(ypi_channel_send(path, YPI_MESSAGE_HELLO, &hello, sizeof hello, NULL, (size_t)0));
    const struct timespec times[2] = {there.st_atim, there.st_mtim};
    cr_assert_eq(utimensat(AT_FDCWD, path, times, 0), 0);
}

Test(going, only_what_has_changed_is_read_again)
{
    static const char path[] = PLACE "/5.channel";
    const struct ypi_hello hello = {.pid = 4711};
    cr_assert(ypi_channel_create(path));
    cr_assert(ypi_channel_send(path, YPI_MESSAGE_HELLO, &hello, sizeof hello, NULL, (size_t)0));
    cJSON *first = ypi_run_now("history.db", RUN, NULL);
    replace_hello(path, 4712);
    cJSON *again = ypi_run_now("history.db", RUN, first);
    cr_expect_eq(ypi_whole(again->child, "pid"), 4711, "not read");
    send_stage(path, YPI_STAGE_SETUP, ypi_now() - 5);
    cJSON *later = ypi_run_now("history.db", RUN, again);
    cr_expect_eq(ypi_whole(later->child, "pid"), 4712, "read");
    cr_expect_float_eq(ypi_real(later->child, "seconds"), 5, 1);
    const struct timespec rest = {.tv_nsec = 50000000};
    nanosleep(&rest, NULL);
    cJSON *last = ypi_run_now("history.db", RUN, later);
    cr_expect_gt(ypi_real(last->child, "seconds"), ypi_real(later->child, "seconds") + 0.04,
                 "its time goes on");
    cJSON_Delete(first);
    cJSON_Delete(again);
    cJSON_Delete(later);
    cJSON_Delete(last);
}

Test(going, a_history_behind_a_symbolic_link_has_its_own_runs)
{
    write_text("history.db", "");
    cr_assert_eq(mkdir("elsewhere", 0700), 0);
    cr_assert_eq(symlink("../history.db", "elsewhere/link.db"), 0);
    int fd = open(PLACE, O_RDONLY | O_DIRECTORY);
    cr_assert_eq(flock(fd, LOCK_EX | LOCK_NB), 0);
    cr_expect_eq(ypi_run_life("elsewhere/link.db", RUN), YPI_RUN_ALIVE);
    close(fd);
}

#include "base/system/program.h"

#include "base/system/clock.h"

#include <criterion/criterion.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <yieldpoint/device.h>

TestSuite(program, .timeout = 60);

static struct ypi_program_status shell(const char *script, double seconds,
                                       const volatile bool *stop, char **text)
{
    const char *const words[] = {"sh", "-c", script, NULL};
    return ypi_program_run(&(struct ypi_program){.words = words, .log = "/dev/null"}, seconds, stop,
                           text);
}

Test(program, tells_how_it_ended)
{
    char told[64];
    struct ypi_program_status s = shell("exit 7", 0, NULL, NULL);
    cr_expect(s.end == YPI_PROGRAM_EXITED && s.code == 7);
    ypi_program_ending(told, s);
    cr_expect_str_eq(told, "ended with 7");
    s = shell("kill -9 $$", 0, NULL, NULL);
    cr_expect(s.end == YPI_PROGRAM_KILLED && s.code == SIGKILL);
    ypi_program_ending(told, s);
    cr_expect_str_eq(told, "was ended by signal 9 (Killed)");
}

Test(program, one_that_is_not_there_is_told)
{
    const char *const words[] = {"/no/such/program", NULL};
    struct ypi_program_status s =
        ypi_program_run(&(struct ypi_program){.words = words}, 0, NULL, NULL);
    cr_expect_eq(s.end, YPI_PROGRAM_NOT_STARTED);
    cr_expect_str_eq(yp_last_error(),
                     "/no/such/program: cannot be started: No such file or directory");
    const char *const there[] = {"true", NULL};
    s = ypi_program_run(&(struct ypi_program){.words = there, .directory = "/no/such"}, 0, NULL,
                        NULL);
    cr_expect_eq(s.end, YPI_PROGRAM_NOT_STARTED);
    cr_expect_not_null(strstr(yp_last_error(), "in /no/such"));
}

Test(program, its_output_is_read_whole)
{
    char *text = NULL;
    (void)shell("i=0; while [ $i -lt 5000 ]; do echo 0123456789012345678; i=$((i+1)); done", 0,
                NULL, &text);
    cr_assert_not_null(text);
    cr_expect_eq(strlen(text), 100000);
    free(text);
    (void)shell("echo no >&2", 0, NULL, &text);
    cr_expect_str_eq(text, "", "the standard error stream is another one");
    free(text);
}

Test(program, variables_and_directory_are_its_own)
{
    const char *const words[] = {"sh", "-c", "echo $ONE-$TWO-$PWD", NULL};
    const char *const variables[] = {"ONE=a=b", "TWO", NULL};
    char *text = NULL;
    setenv("TWO", "2", 1);
    (void)ypi_program_run(
        &(struct ypi_program){.words = words, .directory = "/", .variables = variables}, 0, NULL,
        &text);
    cr_expect_str_eq(text, "a=b--/\n");
    cr_expect_str_eq(getenv("TWO"), "2");
    free(text);
}

Test(program, its_input_is_a_file_or_nothing)
{
    static const char *const words[] = {"cat", NULL};
    const struct ypi_program nothing = {.words = words};
    char path[] = "/tmp/program-XXXXXX";
    char *text = NULL;
    int file = mkstemp(path);
    cr_assert(file >= 0 && write(file, "in it", 5) == 5);
    const struct ypi_program given = {.words = words, .input = path};
    (void)ypi_program_run(&given, 0, NULL, &text);
    cr_expect_str_eq(text, "in it");
    free(text);
    (void)ypi_program_run(&nothing, 0, NULL, &text);
    cr_expect_str_eq(text, "");
    free(text);
    close(file);
    unlink(path);
    (void)ypi_program_run(&given, 0, NULL, &text);
    cr_expect_null(text);
    cr_expect_not_null(strstr(yp_last_error(), "No such file"), "%s", yp_last_error());
}

Test(program, a_late_one_is_ended_with_all_that_it_started)
{
    double began = ypi_now();
    struct ypi_program_status s = shell("sleep 50 & sleep 50", 0.2, NULL, NULL);
    cr_expect_eq(s.end, YPI_PROGRAM_LATE);
    cr_expect_lt(ypi_now() - began, 4);
    char *text = NULL;
    began = ypi_now();
    s = shell("echo begun; sleep 50", 0.2, NULL, &text);
    cr_expect_eq(s.end, YPI_PROGRAM_LATE);
    cr_expect_str_eq(text, "begun\n");
    cr_expect_lt(ypi_now() - began, 4);
    free(text);
}

Test(program, one_that_ignores_to_be_ended_is_killed)
{
    double began = ypi_now();
    struct ypi_program_status s = shell("trap '' TERM; sleep 50; sleep 50", 0.3, NULL, NULL);
    cr_expect_eq(s.end, YPI_PROGRAM_LATE);
    cr_expect_lt(ypi_now() - began, 15);
}

Test(program, stops_when_told_to)
{
    volatile bool stop = true;
    char told[64];
    struct ypi_program_status s = shell("sleep 50", 0, &stop, NULL);
    cr_expect_eq(s.end, YPI_PROGRAM_STOPPED);
    ypi_program_ending(told, s);
    cr_expect_str_eq(told, "was interrupted");
}

Test(program, signals_that_are_ignored_here_are_not_there)
{
    signal(SIGINT, SIG_IGN);
    struct ypi_program_status s = shell("kill -INT $$; exit 3", 0, NULL, NULL);
    cr_expect(s.end == YPI_PROGRAM_KILLED && s.code == SIGINT);
}

/* Options and the three places they come from; tests/usage/options.py has what is
 * refused, golden transcripts what reproduces a case. */

#include "base/text/text.h"
#include "harness/collect/tags.h"
#include "tests/unit/harness/capture.h"
#include "tests/unit/harness/collecting.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <yieldpoint/option.h>

/* An option of this program's own. */
YP_OPTION(cube, .value = "FILE", .help = "a cube", .axis = "cube", .path = true);

static void enter(void)
{
    enter_directory();
    /* Errors begin with the program's name. */
    static char name[] = "suite";
    program_invocation_short_name = name;
}

static void end(void)
{
    let_go();
    remove_directory();
}

TestSuite(options, .init = enter, .fini = end, .timeout = 60);
TestSuite(config, .init = enter, .fini = end, .timeout = 60);

static const struct ypi_options *const o = &options; /* as read last */

static void read_good(const char *words)
{
    capture_begin(STDERR_FILENO);
    enum ypi_exit code = read_words(words);
    const char *output = capture_end();
    cr_assert_eq(code, YPI_EXIT_OK, "%s: %s", words, output);
    cr_expect_str_eq(output, "", "%s: %s", words, output);
}

/* What is printed of words that are not allowed; valid until the next call. */
static const char *read_bad(const char *words)
{
    capture_begin(STDERR_FILENO);
    enum ypi_exit code = read_words(words);
    const char *output = capture_end();
    cr_expect_eq(code, YPI_EXIT_USAGE, "%s", words);
    return output;
}

/* The value of an option that a reporter brings. */
static bool has(const char *name, const char *value)
{
    int errors = 0;
    const struct ypi_option *option =
        ypi_option_find(ypi_options_table(&errors), name, strlen(name));
    char *text = ypi_option_text(&options, option);
    bool same = strcmp(text, value) == 0;
    free(text);
    return same;
}

/* -- the command line ---------------------------------------------------------------------- */

Test(options, without_any)
{
    read_good("");
    cr_expect(o->mark == NULL && o->keyword == NULL && o->id_count == 0 && has("csv", ""));
    cr_expect(!o->collect_only && o->verbose == 0 && !o->no_capture && o->max_failures == 0);
    cr_expect(o->seed == 0 && o->set_count == 0 && o->repeat == 1 && o->timeout == 0);
    cr_expect_str_eq(o->device, "auto");
    cr_expect(o->speed == YPI_SPEED_JUDGE && !o->noisy_fails && o->memory_limit == 0 &&
              o->jobs == 1);
    cr_expect(o->output_limit == 64 << 20 && o->process_limit == 512 && has("tap", "no"));
    cr_expect(o->durations == -1 && !o->help && !o->version && !o->markers);
    cr_expect_str_eq(o->root, directory);
    char *history = ypi_format("%s/.yieldpoint/history.db", directory);
    cr_expect_str_eq(o->history, history);
    free(history);
}

Test(options, long_ones_with_both_forms_of_value)
{
    const char *const forms[] = {
        "--maxfail=3|--seed=18446744073709551615|--device=cuda:7|--set=n=1|--set=s=a=b|--repeat=2|"
        "--timeout=0.5|--history=h.db|--csv=c.csv|--speed=record|--noisy=fail|--tap",
        "--maxfail|3|--seed|18446744073709551615|--device|cuda:7|--set|n=1|--set|s=a=b|--tap"};
    for (int i = 0; i < 2; i++) {
        read_good(forms[i]);
        cr_expect_eq(o->max_failures, 3);
        cr_expect_eq(o->seed, UINT64_MAX);
        cr_expect_str_eq(o->device, "cuda:7");
        cr_assert_eq(o->set_count, 2);
        cr_expect_str_eq(o->sets[0].axis, "n");
        cr_expect_str_eq(o->sets[0].value, "1");
        cr_expect_str_eq(o->sets[1].axis, "s");
        cr_expect_str_eq(o->sets[1].value, "a=b", "only the first = divides");
        cr_expect(has("tap", "yes"));
        if (i == 0) {
            cr_expect(o->repeat == 2 && o->timeout == 0.5 && o->noisy_fails);
            cr_expect_eq(o->speed, YPI_SPEED_RECORD);
            cr_expect_str_eq(o->history, "h.db");
            cr_expect(has("csv", "c.csv"));
        }
    }
}

Test(options, letters)
{
    static const struct {
        const char *words;
        const char *mark, *keyword;
        int verbose, max_failures, jobs;
        bool no_capture;
    } table[] = {
        {"-m|a and b", "a and b", NULL, 0, 0, 1, false},
        {"-ma and b", "a and b", NULL, 0, 0, 1, false},
        {"-k|fit", NULL, "fit", 0, 0, 1, false},
        {"-kfit|-mslow", "slow", "fit", 0, 0, 1, false},
        {"-qv", NULL, NULL, 0, 0, 1, false},
        {"-vvq", NULL, NULL, 1, 0, 1, false},
        {"-xsv", NULL, NULL, 1, 1, 1, true},
        {"-vj3", NULL, NULL, 1, 0, 3, false},
        {"-vj|3", NULL, NULL, 1, 0, 3, false},
        {"-vm|a|-s", "a", NULL, 1, 0, 1, true},
        {"-m|a|-m|b", "b", NULL, 0, 0, 1, false},
        {"-m|-k", "-k", NULL, 0, 0, 1, false}, /* as getopt has it */
    };
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        read_good(table[i].words);
        const char *mark = o->mark != NULL ? o->mark : "none";
        const char *keyword = o->keyword != NULL ? o->keyword : "none";
        cr_expect_str_eq(mark, table[i].mark != NULL ? table[i].mark : "none", "%s",
                         table[i].words);
        cr_expect_str_eq(keyword, table[i].keyword != NULL ? table[i].keyword : "none", "%s",
                         table[i].words);
        cr_expect(o->verbose == table[i].verbose && o->max_failures == table[i].max_failures &&
                      o->jobs == table[i].jobs && o->no_capture == table[i].no_capture,
                  "%s", table[i].words);
    }
    read_good("-h");
    cr_expect(o->help);
}

Test(options, ids_and_the_double_dash)
{
    read_good("a.c|-v|-|b.c::t[x]|--|--seed|-q|--|-");
    const char *wanted[] = {"a.c", "-", "b.c::t[x]", "--seed", "-q", "--", "-"};
    cr_assert_eq(o->id_count, 7);
    for (int i = 0; i < 7; i++)
        cr_expect_str_eq(o->ids[i], wanted[i]);
    cr_expect(o->verbose == 1 && o->seed == 0);
}

Test(options, values_as_they_are_understood)
{
    static const struct {
        const char *words, *option, *value;
    } table[] = {{"--seed=0", "seed", "0"},
                 {"--seed=010", "seed", "10"},
                 {"--seed=0x10", "seed", "16"},
                 {"--device=auto", "device", "auto"},
                 {"--device=cpu", "device", "cpu"},
                 {"--device=cuda", "device", "cuda"},
                 {"--device=all", "device", "all"},
                 {"--device=cuda:0", "device", "cuda:0"},
                 {"--no-fork", "speed", "record"},
                 {"--device=cuda:1023", "device", "cuda:1023"},
                 {"--no-fork|--speed=off", "speed", "off"}};
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        read_good(table[i].words);
        cr_expect_eq(o->no_fork, o->no_capture, "%s", table[i].words);
        cr_expect(has(table[i].option, table[i].value), "%s", table[i].words);
    }
}

Test(options, the_same_setting_twice_counts_once)
{
    read_good("--set=nn=1|--set=n=1|--set=n=2|--set=n=1|--set=k=1");
    cr_expect_eq(o->set_count, 4);
}

/* A data set of links: what they lead to has other names. */
Test(options, a_cube_has_its_whole_path_and_its_name)
{
    cr_assert_eq(chdir(directory), 0);
    cr_assert_eq(symlink("/proc/version", "cube.hdr"), 0);
    read_good("--cube=cube.hdr|--cube=cube");
    char *path = ypi_format("%s/cube.hdr", directory);
    cr_assert_eq(o->set_count, 2);
    cr_expect_str_eq(o->sets[0].value, path);
    path[strlen(path) - 4] = '\0';
    cr_expect_str_eq(o->sets[1].value, path, "an ending is none of this");
    free(path);
    cr_assert_eq(chdir("/"), 0);
    read_good("--cube=proc/version");
    cr_expect_str_eq(o->sets[0].value, "/proc/version");
}

/* -- the environment ----------------------------------------------------------------------- */

Test(options, the_environment_is_split_like_a_shell_would)
{
    setenv("YIELDPOINT_OPTIONS", "  -m \"a and b\"\t--csv='x y'.csv\n-v ''  k\"it\"e\\ ", 1);
    read_good("");
    cr_expect_str_eq(o->mark, "a and b");
    cr_expect(has("csv", "x y.csv"));
    cr_expect_eq(o->verbose, 1);
    cr_assert_eq(o->id_count, 2);
    cr_expect_str_eq(o->ids[0], "");
    cr_expect_str_eq(o->ids[1], "kite\\", "a backslash is itself");
    setenv("YIELDPOINT_OPTIONS", "-m \"it's\" -k 'say \"x\"'", 1);
    read_good("");
    cr_expect_str_eq(o->mark, "it's");
    cr_expect_str_eq(o->keyword, "say \"x\"");
    setenv("YIELDPOINT_OPTIONS", " \n ", 1);
    read_good("-v");
    cr_expect_eq(o->verbose, 1);
}

Test(options, a_value_stands_beside_its_option)
{
    setenv("YIELDPOINT_OPTIONS", "--seed", 1);
    cr_expect_not_null(strstr(read_bad("7"), "--seed needs a value"));
}

/* -- yieldpoint.ini ------------------------------------------------------------------------ */

Test(config, an_absolute_history_stays)
{
    write_text("yieldpoint.ini", "[yieldpoint]\nhistory = /var/tmp/h.db\n");
    read_good("");
    cr_expect_str_eq(o->history, "/var/tmp/h.db");
}

Test(config, a_directory_is_no_file)
{
    cr_assert_eq(mkdir("yieldpoint.ini", 0755), 0);
    cr_expect_not_null(strstr(read_bad(""), "yieldpoint.ini: Is a directory"));
}

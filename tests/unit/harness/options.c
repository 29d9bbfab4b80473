/* Options: every one's good and bad values, and the three places they come from. */
#include "harness/collect/options.h"

#include "base/text/text.h"
#include "harness/collect/tags.h"
#include "tests/unit/harness/capture.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <yieldpoint/option.h>

/* Options of this program's own. */
YP_OPTION(cube, .value = "FILE", .help = "a cube", .axis = "cube", .path = true);
YP_OPTION(first_only, .help = "the first alone");
YP_OPTION(limit, .value = "N", .help = "at most N");

static char directory[64];

static void enter_directory(void)
{
    snprintf(directory, sizeof directory, "/tmp/yp-options-XXXXXX");
    cr_assert_not_null(mkdtemp(directory));
    cr_assert_eq(chdir(directory), 0);
    unsetenv("YIELDPOINT_OPTIONS");
    /* Errors begin with the program's name. */
    static char name[] = "suite";
    program_invocation_short_name = name;
}

static void leave_directory(void)
{
    char command[128];
    snprintf(command, sizeof command, "rm -rf '%s'", directory);
    cr_assert_eq(system(command), 0);
}

TestSuite(options, .init = enter_directory, .fini = leave_directory, .timeout = 60);
TestSuite(config, .init = enter_directory, .fini = leave_directory, .timeout = 60);

enum { WORDS_MAX = 16 };

/* Splits at '|': a word may hold blanks. */
static enum ypi_exit read_words(struct ypi_options *o, const char *words)
{
    static char copy[4096];
    char *argv[WORDS_MAX] = {(char *)(uintptr_t) "/some/where/suite"};
    int argc = 1;
    snprintf(copy, sizeof copy, "%s", words);
    char *at = copy;
    while (words[0] != '\0' && at != NULL && argc < WORDS_MAX)
        argv[argc++] = strsep(&at, "|");
    return ypi_options_read(o, argc, argv);
}

static struct ypi_options read_good(const char *words)
{
    struct ypi_options o;
    capture_begin(STDERR_FILENO);
    enum ypi_exit code = read_words(&o, words);
    const char *output = capture_end();
    cr_assert_eq(code, YPI_EXIT_OK, "%s: %s", words, output);
    cr_expect_str_eq(output, "", "%s: %s", words, output);
    return o;
}

/* What is printed of words that are not allowed; valid until the next call. */
static const char *read_bad(const char *words)
{
    struct ypi_options o;
    capture_begin(STDERR_FILENO);
    enum ypi_exit code = read_words(&o, words);
    const char *output = capture_end();
    cr_expect_eq(code, YPI_EXIT_USAGE, "%s", words);
    ypi_options_clear(&o);
    return output;
}

/* Line `number` of a text, from 0; valid until the next call. */
static const char *line_of(const char *text, int number)
{
    static char line[4096];
    for (int i = 0; i < number; i++)
        text += strcspn(text, "\n") + (text[strcspn(text, "\n")] == '\n');
    snprintf(line, sizeof line, "%.*s", (int)strcspn(text, "\n"), text);
    return line;
}

/* What of the second line the ^~~~ of the third stands under. ASCII only. */
static const char *marked(const char *output)
{
    static char under[4096];
    char mark[4096];
    snprintf(mark, sizeof mark, "%s", line_of(output, 2));
    size_t column = strspn(mark, " ");
    size_t length = strspn(mark + column, "^~");
    cr_assert(mark[column] == '^' && mark[column + length] == '\0', "%s", output);
    const char *line = line_of(output, 1);
    if (column >= strlen(line))
        return "(behind the end)";
    snprintf(under, sizeof under, "%.*s", (int)length, line + column);
    return under;
}

static void expect_refused(const char *words, const char *place, const char *message)
{
    const char *output = read_bad(words);
    char *first = ypi_format("error: %s", message);
    cr_expect_str_eq(line_of(output, 0), first, "%s: %s, wanted %s", words, output, first);
    cr_expect_str_eq(marked(output), place, "%s: '%s' is marked in\n%s", words, marked(output),
                     output);
    cr_expect_str_eq(line_of(output, 3), "", "%s: %s", words, output);
    free(first);
}

/* The value of an option that a reporter brings. */
static bool has(const struct ypi_options *o, const char *name, const char *value)
{
    int errors = 0;
    const struct ypi_option *option =
        ypi_option_find(ypi_options_table(&errors), name, strlen(name));
    char *text = ypi_option_text(o, option);
    bool same = strcmp(text, value) == 0;
    free(text);
    return same;
}

/* -- the command line ---------------------------------------------------------------------- */

Test(options, without_any)
{
    struct ypi_options o = read_good("");
    cr_expect(o.mark == NULL && o.keyword == NULL && o.id_count == 0 && has(&o, "csv", ""));
    cr_expect(!o.collect_only && o.verbose == 0 && !o.no_capture && o.max_failures == 0);
    cr_expect(o.seed == 0 && o.set_count == 0 && o.repeat == 1 && o.timeout == 0);
    cr_expect_str_eq(o.device, "auto");
    cr_expect(o.speed == YPI_SPEED_JUDGE && !o.noisy_fails && o.memory_limit == 0 && o.jobs == 1);
    cr_expect(o.output_limit == 64 << 20 && o.process_limit == 512 && has(&o, "tap", "no"));
    cr_expect(o.durations == -1 && !o.help && !o.version && !o.markers);
    cr_expect_str_eq(o.root, directory);
    char *history = ypi_format("%s/.yieldpoint/history.db", directory);
    cr_expect_str_eq(o.history, history);
    free(history);
    ypi_options_clear(&o);
}

Test(options, long_ones_with_both_forms_of_value)
{
    const char *const forms[] = {
        "--maxfail=3|--seed=18446744073709551615|--device=cuda:7|--set=n=1|--set=s=a=b|--repeat=2|"
        "--timeout=0.5|--history=h.db|--csv=c.csv|--speed=record|--noisy=fail|--tap",
        "--maxfail|3|--seed|18446744073709551615|--device|cuda:7|--set|n=1|--set|s=a=b|--tap"};
    for (int i = 0; i < 2; i++) {
        struct ypi_options o = read_good(forms[i]);
        cr_expect_eq(o.max_failures, 3);
        cr_expect_eq(o.seed, UINT64_MAX);
        cr_expect_str_eq(o.device, "cuda:7");
        cr_assert_eq(o.set_count, 2);
        cr_expect_str_eq(o.sets[0].axis, "n");
        cr_expect_str_eq(o.sets[0].value, "1");
        cr_expect_str_eq(o.sets[1].axis, "s");
        cr_expect_str_eq(o.sets[1].value, "a=b", "only the first = divides");
        cr_expect(has(&o, "tap", "yes"));
        if (i == 0) {
            cr_expect(o.repeat == 2 && o.timeout == 0.5 && o.noisy_fails);
            cr_expect_eq(o.speed, YPI_SPEED_RECORD);
            cr_expect_str_eq(o.history, "h.db");
            cr_expect(has(&o, "csv", "c.csv"));
        }
        ypi_options_clear(&o);
    }
}

Test(options, the_rest_of_the_long_ones)
{
    struct ypi_options o =
        read_good("--collect-only|--memory-limit|2GiB|--device-memory-limit|4G|--output-limit=1.5K|"
                  "--process-limit=8|--jobs|4|--durations=0|--markers|"
                  "--version|--help|--exitfirst|--verbose|--speed|judge");
    cr_expect_eq(o.device_memory_limit, UINT64_C(4) << 30);
    cr_expect(o.collect_only && o.memory_limit == UINT64_C(2) << 30 && o.output_limit == 1536);
    cr_expect(o.process_limit == 8 && o.jobs == 4 && o.durations == 0 && o.markers);
    cr_expect(o.version && o.help && o.max_failures == 1 && o.verbose == 1);
    cr_expect_eq(o.speed, YPI_SPEED_JUDGE);
    ypi_options_clear(&o);
    o = read_good("--speed=judge|--speed|off");
    cr_expect_eq(o.speed, YPI_SPEED_OFF);
    ypi_options_clear(&o);
    o = read_good("--quiet|--co|--noisy|report");
    cr_expect(o.verbose == -1 && o.collect_only && !o.noisy_fails);
    ypi_options_clear(&o);
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
        struct ypi_options o = read_good(table[i].words);
        const char *mark = o.mark != NULL ? o.mark : "none";
        const char *keyword = o.keyword != NULL ? o.keyword : "none";
        cr_expect_str_eq(mark, table[i].mark != NULL ? table[i].mark : "none", "%s",
                         table[i].words);
        cr_expect_str_eq(keyword, table[i].keyword != NULL ? table[i].keyword : "none", "%s",
                         table[i].words);
        cr_expect(o.verbose == table[i].verbose && o.max_failures == table[i].max_failures &&
                      o.jobs == table[i].jobs && o.no_capture == table[i].no_capture,
                  "%s", table[i].words);
        ypi_options_clear(&o);
    }
    struct ypi_options o = read_good("-h");
    cr_expect(o.help);
    ypi_options_clear(&o);
}

Test(options, ids_and_the_double_dash)
{
    struct ypi_options o = read_good("a.c|-v|-|b.c::t[x]|--|--seed|-q|--|-");
    const char *wanted[] = {"a.c", "-", "b.c::t[x]", "--seed", "-q", "--", "-"};
    cr_assert_eq(o.id_count, 7);
    for (int i = 0; i < 7; i++)
        cr_expect_str_eq(o.ids[i], wanted[i]);
    cr_expect(o.verbose == 1 && o.seed == 0);
    ypi_options_clear(&o);
}

Test(options, seeds)
{
    static const struct {
        const char *words;
        uint64_t seed;
    } table[] = {{"--seed=0", 0}, {"--seed=010", 10}, {"--seed=0x10", 16}, {"--seed=7", 7}};
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        struct ypi_options o = read_good(table[i].words);
        cr_expect_eq(o.seed, table[i].seed, "%s", table[i].words);
        ypi_options_clear(&o);
    }
}

Test(options, devices)
{
    const char *const good[] = {"auto", "cpu", "cuda", "cuda:0", "cuda:1023", "all"};
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        char *words = ypi_format("--device=%s", good[i]);
        struct ypi_options o = read_good(words);
        cr_expect_str_eq(o.device, good[i]);
        ypi_options_clear(&o);
        free(words);
    }
    /* One name for one device: it stands in ids. */
    const char *const bad[] = {"",
                               "gpu",
                               "CPU",
                               "cuda:",
                               "cuda:x",
                               "cuda:-1",
                               "cuda:1024",
                               "cuda:0x1",
                               "cuda:01",
                               "cuda:1 ",
                               "cpu:0",
                               "auto cpu",
                               "cuda:18446744073709551616"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        char *words = ypi_format("--device=%s", bad[i]);
        char *message =
            ypi_format("--device is '%s': allowed is auto, cpu, cuda, cuda:N or all", bad[i]);
        expect_refused(words, bad[i][0] != '\0' ? bad[i] : "(behind the end)", message);
        free(message);
        free(words);
    }
}

#define COUNT(least) "allowed is a whole number from " #least " to 1000000"
#define SIZE "allowed is a size above 0 such as 64K, 2G (of 1024^3) or 80GB (of 1000^3)"
#define SECONDS "allowed is seconds above 0 and up to 1e7"

Test(options, bad_values_are_marked)
{
    static const struct {
        const char *words, *place, *message;
    } table[] = {
        {"--seed=-1", "-1", "--seed is '-1': allowed is a whole number from 0 to 2^64-1"},
        {"-v|--seed|1e3|-q", "1e3", "--seed is '1e3': allowed is a whole number from 0 to 2^64-1"},
        {"--maxfail=-1", "-1", "--maxfail is '-1': " COUNT(0)},
        {"--maxfail=1000001", "1000001", "--maxfail is '1000001': " COUNT(0)},
        {"--repeat|two", "two", "--repeat is 'two': " COUNT(1)},
        {"--repeat=0", "0", "--repeat is '0': " COUNT(1)},
        {"--jobs=99999999999999999999", "99999999999999999999",
         "--jobs is '99999999999999999999': " COUNT(1)},
        {"-j0", "0", "-j is '0': " COUNT(1)},
        {"-j|0", "0", "-j is '0': " COUNT(1)},
        {"-vj|1.5", "1.5", "-j is '1.5': " COUNT(1)},
        {"--durations=-1", "-1", "--durations is '-1': " COUNT(0)},
        {"--process-limit=7", "7", "--process-limit is '7': " COUNT(8)},
        {"--memory-limit=-1", "-1", "--memory-limit is '-1': " SIZE},
        {"--device-memory-limit=0", "0", "--device-memory-limit is '0': " SIZE},
        {"--memory-limit=0", "0", "--memory-limit is '0': " SIZE},
        {"--memory-limit|64Q", "64Q", "--memory-limit is '64Q': " SIZE},
        {"--output-limit=9e99", "9e99", "--output-limit is '9e99': " SIZE},
        {"--timeout=0", "0", "--timeout is '0': " SECONDS},
        {"--timeout|-1", "-1", "--timeout is '-1': " SECONDS},
        {"--timeout=nan", "nan", "--timeout is 'nan': " SECONDS},
        {"--timeout=inf", "inf", "--timeout is 'inf': " SECONDS},
        {"--timeout=1e8", "1e8", "--timeout is '1e8': " SECONDS},
        {"--timeout=1s", "1s", "--timeout is '1s': " SECONDS},
        {"--speed=Judge", "Judge", "--speed is 'Judge': allowed is judge, record or off"},
        {"--noisy=", "(behind the end)", "--noisy is '': allowed is report or fail"},
        {"--noisy=|x", " ", "--noisy is '': allowed is report or fail"},
        {"--set=n", "n", "--set is 'n': allowed is AXIS=VALUE"},
        {"--set|=1", "=1", "--set is '=1': allowed is AXIS=VALUE"},
        {"--set|n=", "n=", "--set is 'n=': allowed is AXIS=VALUE"},
        {"--cube=", "(behind the end)", "--cube is '': allowed is the path of a file"},
        /* An empty name would be a file that nobody finds again. */
        {"--history=", "(behind the end)", "--history is '': allowed is the path of a file"},
        {"--csv=", "(behind the end)", "--csv is '': allowed is the path of a file"},
    };
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++)
        expect_refused(table[i].words, table[i].place, table[i].message);
}

Test(options, misuse_is_marked)
{
    static const struct {
        const char *words, *place, *message;
    } table[] = {
        {"--seed", "--seed", "--seed needs a value"},
        {"-v|--csv", "--csv", "--csv needs a value"},
        {"-vk", "-vk", "-k needs a value"},
        {"--co=1", "=1", "--co takes no value"},
        {"a|--sede=1|b", "--sede",
         "unknown option '--sede', did you mean '--seed'?; --help lists them all"},
        {"--colect-only", "--colect-only",
         "unknown option '--colect-only', did you mean '--collect-only'?; --help lists them all"},
        {"--banana", "--banana", "unknown option '--banana'; --help lists them all"},
        {"--=1", "--", "unknown option '--'; --help lists them all"},
        {"-vz", "z", "unknown option '-z'; --help lists them all"},
        {"-x=1", "=", "unknown option '-='; --help lists them all"},
    };
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++)
        expect_refused(table[i].words, table[i].place, table[i].message);
}

Test(options, a_refusal_looks_like_this)
{
    cr_expect_str_eq(read_bad("-v|--seed|-1|a.c"),
                     "error: --seed is '-1': allowed is a whole number from 0 to 2^64-1\n"
                     "  suite: -v --seed -1 a.c\n"
                     "                   ^~\n");
    /* Columns, not bytes. */
    cr_expect_str_eq(read_bad("-k|gr\xc3\xb6\xc3\x9f"
                              "e|--seed=x"),
                     "error: --seed is 'x': allowed is a whole number from 0 to 2^64-1\n"
                     "  suite: -k gr\xc3\xb6\xc3\x9f"
                     "e --seed=x\n"
                     "                         ^\n");
}

Test(options, the_same_setting_twice_counts_once)
{
    struct ypi_options o = read_good("--set=nn=1|--set=n=1|--set=n=2|--set=n=1|--set=k=1");
    cr_expect_eq(o.set_count, 4);
    ypi_options_clear(&o);
}

Test(options, a_cube_is_an_axis_with_its_whole_path)
{
    cr_assert_eq(chdir("/proc"), 0);
    struct ypi_options o = read_good("--cube=version|--set=cube=/proc/version");
    cr_assert_eq(o.set_count, 1);
    cr_expect_str_eq(o.sets[0].axis, "cube");
    cr_expect_str_eq(o.sets[0].value, "/proc/version");
    ypi_options_clear(&o);
    cr_assert_eq(chdir("/"), 0);
    o = read_good("--cube=proc/version");
    cr_expect_str_eq(o.sets[0].value, "/proc/version");
    ypi_options_clear(&o);
    o = read_good("--cube=/no/such/file");
    cr_expect_str_eq(o.sets[0].value, "/no/such/file", "its reader says that it is not there");
    ypi_options_clear(&o);
}

Test(options, of_the_program)
{
    struct ypi_options o = read_good("--limit|3|--first-only");
    cr_expect_str_eq(yp_option(limit), "3");
    cr_expect_str_eq(yp_option(first_only), "yes");
    cr_expect_eq(o.set_count, 0);
    int count = 0;
    char **words = ypi_options_reproduce(&o, false, &count);
    cr_assert_eq(count, 2);
    cr_expect_str_eq(words[0], "--first-only");
    cr_expect_str_eq(words[1], "--limit=3");
    for (int i = 0; i < count; i++)
        free(words[i]);
    free(words);
    ypi_options_clear(&o);
    o = read_good("");
    cr_expect(yp_option(limit) == NULL && yp_option(first_only) == NULL);
    ypi_options_clear(&o);
    expect_refused("--first-only=no", "=no", "--first-only takes no value");
    expect_refused("--limit=", "(behind the end)", "--limit is '': allowed is N");
    expect_refused("--first_only", "--first_only",
                   "unknown option '--first_only', did you mean '--first-only'?; --help lists "
                   "them all");
}

/* A data set of links: what they lead to has other names. */
Test(options, a_cube_that_is_a_link_keeps_its_name)
{
    cr_assert_eq(chdir(directory), 0);
    cr_assert_eq(symlink("/proc/version", "cube.hdr"), 0);
    struct ypi_options o = read_good("--cube=cube.hdr|--cube=cube");
    char *path = ypi_format("%s/cube.hdr", directory);
    cr_assert_eq(o.set_count, 2);
    cr_expect_str_eq(o.sets[0].value, path);
    path[strlen(path) - 4] = '\0';
    cr_expect_str_eq(o.sets[1].value, path, "an ending is none of this");
    free(path);
    ypi_options_clear(&o);
}

Test(options, a_run_counts_one_thing)
{
    struct ypi_options o = read_good("--audit");
    cr_expect(o.audit && !o.instructions);
    int count = 0;
    char **words = ypi_options_reproduce(&o, false, &count);
    cr_expect(count == 1 && strcmp(words[0], "--audit") == 0);
    for (int i = 0; i < count; i++)
        free(words[i]);
    free(words);
    ypi_options_clear(&o);
    cr_expect_not_null(strstr(read_bad("--instructions|--audit"), "--audit and --instructions"));
}

Test(options, slowdown)
{
    static const struct {
        const char *word;
        double factor;
        const char *again; /* NULL: none */
    } good[] = {{"--slowdown=2x", 2, "--slowdown=2x"},
                {"--slowdown=1.5", 1.5, "--slowdown=1.5x"},
                {"--slowdown=1", 1, NULL},
                {"", 1, NULL}};
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        struct ypi_options o = read_good(good[i].word);
        int count = 0;
        char **words = ypi_options_reproduce(&o, false, &count);
        cr_expect_eq(o.slowdown, good[i].factor);
        cr_assert_eq(count, good[i].again != NULL);
        for (int k = 0; k < count; k++) {
            cr_expect_str_eq(words[k], good[i].again);
            free(words[k]);
        }
        free(words);
        ypi_options_clear(&o);
    }
    static const char *const bad[] = {"", "0.9x", "-2x", "inf", "nanx", "x", "2y", "1e999", " 2x"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        char *word = ypi_format("--slowdown=%s", bad[i]);
        cr_expect_not_null(strstr(read_bad(word), "allowed is a finite factor from 1"));
        free(word);
    }
    static const char *const untimed[] = {"--speed=off", "--instructions", "--audit",
                                          "--fail-allocation=each"};
    for (size_t i = 0; i < sizeof untimed / sizeof untimed[0]; i++) {
        char *words = ypi_format("--slowdown=2x|%s", untimed[i]);
        char *wanted = ypi_format("--slowdown and %s: nothing is timed", untimed[i]);
        cr_expect_not_null(strstr(read_bad(words), wanted), "%s", words);
        free(wanted);
        free(words);
    }
}

Test(options, no_fork_judges_no_speed)
{
    struct ypi_options o = read_good("--no-fork");
    cr_expect(o.no_fork && o.no_capture && o.speed == YPI_SPEED_RECORD);
    int count = 0;
    char **words = ypi_options_reproduce(&o, false, &count);
    cr_assert_eq(count, 2);
    cr_expect_str_eq(words[0], "--speed=record");
    cr_expect_str_eq(words[1], "--no-fork");
    ypi_list_free(words, count);
    ypi_options_clear(&o);
    o = read_good("--no-fork|--speed=off");
    cr_expect_eq(o.speed, YPI_SPEED_OFF);
    ypi_options_clear(&o);
}

Test(options, what_reproduces_a_case)
{
    struct ypi_options o =
        read_good("--set=n=1|--set=s=x y|--device=cuda:1|--memory-limit=64M|--timeout=0.1|"
                  "--output-limit=1K|--process-limit=100|--speed=record|-m|slow|--repeat=3|--tap");
    const char *const wanted[] = {
        "--set=n=1",     "--set=s=x y",         "--device=cuda:1",     "--memory-limit=67108864",
        "--timeout=0.1", "--output-limit=1024", "--process-limit=100", "--speed=record"};
    int count = 0;
    char **words = ypi_options_reproduce(&o, false, &count);
    cr_assert_eq(count, 8);
    struct ypi_text line = {0};
    for (int i = 0; i < count; i++) {
        cr_expect_str_eq(words[i], wanted[i]);
        ypi_text_add(&line, "%s%s", i > 0 ? "|" : "", words[i]);
        free(words[i]);
    }
    free(words);
    words = ypi_options_reproduce(&o, true, &count);
    cr_assert_eq(count, 10);
    cr_expect_str_eq(words[8], "-m");
    cr_expect_str_eq(words[9], "slow");
    for (int i = 0; i < count; i++)
        free(words[i]);
    free(words);
    struct ypi_options again = read_good(line.data);
    cr_expect(again.memory_limit == o.memory_limit && again.timeout == o.timeout &&
              again.output_limit == o.output_limit && again.process_limit == o.process_limit &&
              again.speed == o.speed && again.set_count == o.set_count);
    ypi_options_clear(&again);
    ypi_options_clear(&o);
    free(ypi_text_take(&line));
    o = read_good("-v");
    free(ypi_options_reproduce(&o, false, &count));
    cr_expect_eq(count, 0);
    ypi_options_clear(&o);
}

Test(options, help_names_every_option)
{
    capture_begin(STDOUT_FILENO);
    ypi_options_help("suite");
    const char *output = capture_end();
    const char *const names[] = {"-m EXPR",
                                 "-k EXPR",
                                 "--co",
                                 "-v,",
                                 "-q,",
                                 "-s ",
                                 "-x,",
                                 "--maxfail N",
                                 "--seed N",
                                 "--device NAME",
                                 "--set AXIS=VALUE",
                                 "--cube FILE                a cube\n",
                                 "of this program:\n",
                                 "--first-only               the first alone\n",
                                 "--repeat N",
                                 "--timeout SECONDS",
                                 "--history FILE",
                                 "--csv FILE",
                                 "--speed judge|record",
                                 "--noisy fail|report",
                                 "--memory-limit SIZE",
                                 "--output-limit SIZE",
                                 "--process-limit N",
                                 "-j, --jobs N",
                                 "--tap",
                                 "--durations N",
                                 "--markers",
                                 "--version",
                                 "-h, --help"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        cr_expect_not_null(strstr(output, names[i]), "%s is missing in %s", names[i], output);
    for (const char *line = output; *line != '\0'; line += strcspn(line, "\n") + 1)
        cr_expect(strcspn(line, "\n") <= 100, "%.*s", (int)strcspn(line, "\n"), line);
}

/* -- the environment ----------------------------------------------------------------------- */

Test(options, the_environment_is_split_like_a_shell_would)
{
    setenv("YIELDPOINT_OPTIONS", "  -m \"a and b\"\t--csv='x y'.csv\n-v ''  k\"it\"e\\ ", 1);
    struct ypi_options o = read_good("");
    cr_expect_str_eq(o.mark, "a and b");
    cr_expect(has(&o, "csv", "x y.csv"));
    cr_expect_eq(o.verbose, 1);
    cr_assert_eq(o.id_count, 2);
    cr_expect_str_eq(o.ids[0], "");
    cr_expect_str_eq(o.ids[1], "kite\\", "a backslash is itself");
    ypi_options_clear(&o);
    setenv("YIELDPOINT_OPTIONS", "-m \"it's\" -k 'say \"x\"'", 1);
    o = read_good("");
    cr_expect_str_eq(o.mark, "it's");
    cr_expect_str_eq(o.keyword, "say \"x\"");
    ypi_options_clear(&o);
    setenv("YIELDPOINT_OPTIONS", " \n ", 1);
    o = read_good("-v");
    cr_expect_eq(o.verbose, 1);
    ypi_options_clear(&o);
}

Test(options, an_unclosed_quote_is_marked)
{
    const char *const texts[] = {"-v -m \"a and b", "-v -m 'a and b"};
    for (int i = 0; i < 2; i++) {
        setenv("YIELDPOINT_OPTIONS", texts[i], 1);
        cr_expect_str_eq(read_bad(""), "error: a quote is not closed\n"
                                       "  YIELDPOINT_OPTIONS: -v -m a and b\n"
                                       "                            ^~~~~~~\n");
    }
}

Test(options, errors_name_the_environment)
{
    setenv("YIELDPOINT_OPTIONS", "-v --seed x", 1);
    cr_expect_str_eq(read_bad("--seed=1"),
                     "error: --seed is 'x': allowed is a whole number from 0 to 2^64-1\n"
                     "  YIELDPOINT_OPTIONS: -v --seed x\n"
                     "                                ^\n");
    setenv("YIELDPOINT_OPTIONS", "--seed", 1);
    expect_refused("7", "--seed", "--seed needs a value");
}

/* -- yieldpoint.ini ------------------------------------------------------------------------ */

static void write_ini(const char *text)
{
    char path[128];
    snprintf(path, sizeof path, "%s/yieldpoint.ini", directory);
    FILE *file = fopen(path, "w");
    cr_assert(file != NULL && fputs(text, file) >= 0 && fclose(file) == 0);
}

static void make_directory(const char *name)
{
    char path[128];
    snprintf(path, sizeof path, "%s/%s", directory, name);
    cr_assert_eq(mkdir(path, 0755), 0);
}

static bool has_tag(const struct ypi_options *o, const char *tag)
{
    return ypi_is_tag(o, tag, strlen(tag));
}

Test(config, tags_built_in)
{
    struct ypi_options o = read_good("");
    const char *const tags[] = {"stress", "perf", "small", "medium", "large", "xl", "slow", "gpu"};
    cr_expect_eq(o.tag_count, 8);
    for (int i = 0; i < 8; i++) {
        cr_expect(has_tag(&o, tags[i]), "%s", tags[i]);
        cr_expect(o.tag_help[i][0] != '\0');
    }
    cr_expect_not(has_tag(&o, "smal"));
    cr_expect_not(has_tag(&o, "smaller"));
    cr_expect_not(has_tag(&o, ""));
    ypi_options_clear(&o);
}

Test(config, is_found_above)
{
    write_ini("; of the project\n[yieldpoint]\noptions = --seed 5 -k \"x y\"\n"
              "history = results/all.db\n\n[tags]\nnightly = at night\nsmall = already there\n");
    make_directory("a");
    make_directory("a/b");
    make_directory("a/.git");
    cr_assert_eq(chdir("a/b"), 0);
    struct ypi_options o = read_good("");
    cr_expect_str_eq(o.root, directory, "the ini's directory, not the nearer .git's");
    cr_expect_eq(o.seed, 5);
    cr_expect_str_eq(o.keyword, "x y");
    char *history = ypi_format("%s/results/all.db", directory);
    cr_expect_str_eq(o.history, history);
    free(history);
    cr_expect(has_tag(&o, "nightly"));
    cr_expect_eq(o.tag_count, 9, "a tag is registered once");
    cr_expect_str_eq(o.tag_help[8], "at night");
    ypi_options_clear(&o);
}

Test(config, git_marks_the_root_where_there_is_no_ini)
{
    make_directory("a");
    make_directory("a/.git");
    make_directory("a/b");
    cr_assert_eq(chdir("a/b"), 0);
    struct ypi_options o = read_good("");
    char *root = ypi_format("%s/a", directory);
    cr_expect_str_eq(o.root, root);
    free(root);
    ypi_options_clear(&o);
}

Test(config, an_absolute_history_stays)
{
    write_ini("[yieldpoint]\nhistory = /var/tmp/h.db\n");
    struct ypi_options o = read_good("");
    cr_expect_str_eq(o.history, "/var/tmp/h.db");
    ypi_options_clear(&o);
}

Test(config, the_nearer_word_wins)
{
    write_ini("[yieldpoint]\noptions = --seed 1 --repeat 2 --jobs 3 -v\nhistory = ini.db\n");
    setenv("YIELDPOINT_OPTIONS", "--seed 10 --repeat 20 -v", 1);
    struct ypi_options o = read_good("--seed=100|-v");
    cr_expect_eq(o.seed, 100);
    cr_expect_eq(o.repeat, 20);
    cr_expect_eq(o.jobs, 3);
    cr_expect_eq(o.verbose, 3, "what counts, counts on");
    ypi_options_clear(&o);
    o = read_good("--history=here.db");
    cr_expect_str_eq(o.history, "here.db");
    cr_expect_eq(o.seed, 10);
    ypi_options_clear(&o);
}

Test(config, a_value_goes_on_in_the_next_line)
{
    write_ini("[yieldpoint]\noptions = --seed 5\n    --repeat 2\n    -k \"x y\"\n");
    struct ypi_options o = read_good("");
    cr_expect_eq(o.seed, 5);
    cr_expect_eq(o.repeat, 2);
    cr_expect_str_eq(o.keyword, "x y");
    ypi_options_clear(&o);
}

/* The library's buffer has 200 bytes: what is longer must not be taken for two lines. */
Test(config, a_line_may_be_long)
{
    struct ypi_text text = {0};
    ypi_text_add(&text, "[yieldpoint]\noptions =");
    while (text.length < 50000)
        ypi_text_add(&text, " --deselect 'a.c::long[of=%d]'", (int)text.length);
    ypi_text_add(&text, " --seed=5\n[tags]\nnightly = %0*d", 9000, 1);
    write_ini(text.data);
    struct ypi_options o = read_good("");
    cr_expect_eq(o.seed, 5);
    cr_expect(has_tag(&o, "nightly"));
    cr_expect_eq(strlen(o.tag_help[8]), 9000);
    ypi_options_clear(&o);
    free(ypi_text_take(&text));
}

Test(config, a_directory_is_no_file)
{
    make_directory("yieldpoint.ini");
    cr_expect_not_null(strstr(read_bad(""), "yieldpoint.ini: Is a directory"));
}

Test(config, many_lines_are_read)
{
    struct ypi_text text = {0};
    ypi_text_add(&text, "[yieldpoint]\noptions =");
    for (int i = 0; i < 60; i++)
        ypi_text_add(&text, " --set=n=%d%s", i, i % 5 == 0 ? "\n  " : "");
    ypi_text_add(&text, " --seed=5\n");
    write_ini(text.data);
    struct ypi_options o = read_good("");
    cr_expect_eq(o.set_count, 60);
    cr_expect_eq(o.seed, 5);
    ypi_options_clear(&o);
    free(ypi_text_take(&text));
}

Test(config, errors_say_what_and_where)
{
    static const struct {
        const char *text, *wanted;
    } table[] = {
        {"[yieldpoint]\noption = -v\n",
         ":2: known are options and history in [yieldpoint] and in [machine NAME], and any name in "
         "[tags], at 'option' in [yieldpoint]"},
        {"[machine a]\nseed = 1\n", "and any name in [tags], at 'seed' in [machine a]"},
        {"[tag]\nx = y\n", ":2: known are options and history in [yieldpoint] and in "
                           "[machine NAME], and any name in [tags], at 'x' in [tag]"},
        {"x = y\n", "at 'x' in []"},
        {"[tag]\noptions = -v\n", "at 'options' in [tag]"},
        {"[tag]\nhistory = x\n", "at 'history' in [tag]"},
        {"[tags]\na-b = y\n", "a tag is letters, digits and _, and not 'and', 'or' or 'not', at "
                              "'a-b' in [tags]"},
        {"[tags]\nand = y\n", "at 'and' in [tags]"},
        {"[tags]\nor = y\n", "at 'or' in [tags]"},
        {"[tags]\nnot = y\n", "at 'not' in [tags]"},
        {"[tags]\nok = y\nnonsense\n", ":3: not a [section], a name = value or a comment"},
        {"[tags\nok = y\n", ":1: not a [section], a name = value or a comment"},
        {"[yieldpoint]\nhistory =\n", "history is empty: allowed is the path of a file"},
    };
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        write_ini(table[i].text);
        const char *output = read_bad("");
        char *start = ypi_format("error: %s/yieldpoint.ini", directory);
        cr_expect(strncmp(output, start, strlen(start)) == 0, "%s: %s", table[i].text, output);
        cr_expect_not_null(strstr(output, table[i].wanted), "%s: %s", table[i].text, output);
        free(start);
    }
}

Test(config, all_errors_are_told)
{
    write_ini("[tags]\na-b = x\nc-d = y\n[yieldpoint]\ne = f\n");
    const char *output = read_bad("");
    cr_expect(strstr(output, "'a-b'") != NULL && strstr(output, "'c-d'") != NULL &&
                  strstr(output, "'e'") != NULL,
              "%s", output);
}

Test(config, options_of_the_file_are_named_in_errors)
{
    write_ini("[yieldpoint]\noptions = --seed x\n");
    cr_expect_str_eq(read_bad(""),
                     "error: --seed is 'x': allowed is a whole number from 0 to 2^64-1\n"
                     "  yieldpoint.ini, [yieldpoint] options: --seed x\n"
                     "                                               ^\n");
}

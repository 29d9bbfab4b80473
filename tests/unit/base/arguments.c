/* The words of a subcommand: every kind of option, what is refused and where it is marked. */
#include "base/options/arguments.h"

#include "base/text/text.h"
#include "tests/unit/harness/capture.h"

#include <criterion/criterion.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct values {
    bool flag, toggle;
    int count, choice;
    size_t size;
    uint64_t word64, bytes;
    double real;
    char *text, *path;
    const char *word;
    int numbers; /* digits, in their order */
};

static char *add_digit(void *values, const struct ypi_option *option, const char *text)
{
    int *numbers = (void *)((char *)values + option->offset);
    if (text[0] < '0' || text[0] > '9' || text[1] != '\0')
        return ypi_strdup("a digit");
    *numbers = 10 * *numbers + text[0] - '0';
    return NULL;
}

#define AT(kind_, field) .kind = YPI_OPTION_##kind_, .offset = offsetof(struct values, field)

static const struct ypi_option options[] = {
    {"flag", 'f', NULL, "a flag", AT(FLAG, flag)},
    {"toggle", .help = "yes or no", AT(SWITCH, toggle), .group = 1},
    {"count", 'c', "N", "from 2 to 9", AT(INT, count), .min = 2, .max = 9, .group = 1},
    {"choice", .choices = "red green blue", AT(CHOICE, choice)},
    {"size", AT(SIZE, size)},
    {"word64", AT(WORD64, word64)},
    {"bytes", AT(BYTES, bytes)},
    {"real-one", AT(REAL, real), .off = -1},
    {"text", AT(TEXT, text)},
    {"path", AT(PATH, path)},
    {"word", AT(WORD, word)},
    {"digits", .value = "N", AT(OWN, numbers), .read = add_digit, .several = true},
    YPI_OPTIONS_END,
};

enum { WORDS_MAX = 24 };

/* Splits at '|'. Returns what was printed, until the next call. */
static const char *read_words(const char *words, struct values *v, const char **other, bool *ok)
{
    static char copy[1024];
    char *argv[WORDS_MAX] = {(char *)(uintptr_t) "cmd"};
    int argc = 1;
    snprintf(copy, sizeof copy, "%s", words);
    for (char *at = copy; at != NULL && words[0] != '\0' && argc < WORDS_MAX;)
        argv[argc++] = strsep(&at, "|");
    *v = (struct values){.count = 5};
    const struct ypi_arguments a = {.options = options, .values = v, .word = other};
    capture_begin(STDERR_FILENO);
    *ok = ypi_arguments_read(&a, argc, argv);
    return capture_end();
}

Test(arguments, all_kinds)
{
    struct values v;
    const char *other = NULL;
    bool ok = false;
    const char *output =
        read_words("-f|--toggle|-c7|--choice=blue|--size|3|--word64=0x10|--bytes=2K|"
                   "--real_one=0.5|--text=|--path=/x|--word|-w|other",
                   &v, &other, &ok);
    cr_assert(ok, "%s", output);
    cr_expect(v.flag && v.toggle && v.count == 7 && v.choice == 2 && v.size == 3);
    cr_expect(v.word64 == 16 && v.bytes == 2048 && v.real == 0.5);
    cr_expect_str_eq(v.text, "");
    cr_expect_str_eq(v.path, "/x");
    cr_expect_str_eq(v.word, "-w");
    cr_expect_str_eq(other, "other");
    static const char *const texts[] = {"yes",  "yes", "7", "blue", "3", "16",
                                        "2048", "0.5", "",  "/x",   "-w"};
    for (int i = 0; i < 11; i++) {
        char *text = ypi_option_text(&v, &options[i]);
        cr_expect_str_eq(text, texts[i], "%s", options[i].name);
        free(text);
    }
    ypi_options_free(&v, options);
    cr_expect(v.text == NULL && v.path == NULL);
    other = NULL;
    read_words("--toggle=off|--real-one=off|--|-f", &v, &other, &ok);
    cr_expect(ok && !v.toggle && v.real == -1);
    cr_expect_str_eq(other, "-f", "behind -- all are words");
}

Test(arguments, several_values_of_one_option)
{
    static const struct {
        const char *words;
        int numbers;
        const char *other;
    } table[] = {{"--digits|1|2|3|-f", 123, NULL},
                 {"--digits=4|5", 45, NULL},
                 {"--digits|6|--digits|7|8", 678, NULL},
                 {"-f|--digits|9|--|5", 9, "5"}};
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        struct values v;
        const char *other = NULL;
        bool ok = false;
        const char *output = read_words(table[i].words, &v, &other, &ok);
        cr_expect(ok, "%s: %s", table[i].words, output);
        cr_expect_eq(v.numbers, table[i].numbers, "%s: %d", table[i].words, v.numbers);
        cr_expect((other == NULL) == (table[i].other == NULL) &&
                      (other == NULL || strcmp(other, table[i].other) == 0),
                  "%s", table[i].words);
    }
}

Test(arguments, many_words_are_kept_in_their_order)
{
    struct values v = {0};
    const char *words[4] = {NULL};
    int count = 0;
    char *argv[] = {(char *)(uintptr_t) "cmd", (char *)(uintptr_t) "a", (char *)(uintptr_t) "-f",
                    (char *)(uintptr_t) "b"};
    const struct ypi_arguments a = {
        .options = options, .values = &v, .words = words, .word_count = &count};
    cr_assert(ypi_arguments_read(&a, 4, argv));
    cr_expect(count == 2 && v.flag);
    cr_expect_str_eq(words[0], "a");
    cr_expect_str_eq(words[1], "b");
}

Test(arguments, what_is_refused)
{
    static const struct {
        const char *words, *message;
        int column; /* of the mark */
    } table[] = {
        {"--flag=1", "--flag takes no value", 17},
        {"-fx", "-fx: there is no such option", 17},
        {"--nope", "--nope: there is no such option", 17},
        {"--", NULL, 0},
        {"-f|-c", "--count needs a value", 23},
        {"--count=1", "--count is '1': must be a whole number from 2 to 9", 17},
        {"-c|10", "--count is '10': must be a whole number from 2 to 9", 20},
        {"--toggle=maybe", "--toggle is 'maybe': must be yes or no", 17},
        {"--choice=pink", "--choice is 'pink': must be red, green or blue", 17},
        {"--size=0", "--size is '0': must be a whole number of 1 at least", 17},
        {"--word64=-1", "--word64 is '-1': must be a whole number from 0 to 2^64-1", 17},
        {"--bytes=0",
         "--bytes is '0': must be a size above 0 such as 64K, 2G (of 1024^3) or 80GB (of 1000^3)",
         17},
        {"--real-one=0", "--real-one is '0': must be a number above 0, or off", 17},
        {"--real-one=inf", "--real-one is 'inf': must be a number above 0, or off", 17},
        {"--path=", "--path is '': must be the path of a file", 17},
        {"--digits", "--digits needs a value", 26},
        {"--digits|1|x|2", "--digits is 'x': must be a digit", 28},
        {"a|b", "b: one word too many", 19},
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        struct values v;
        const char *other = NULL;
        bool ok = true;
        const char *output = read_words(table[i].words, &v, &other, &ok);
        ypi_options_free(&v, options);
        cr_expect_eq(ok, table[i].message == NULL, "%s", table[i].words);
        if (table[i].message == NULL)
            continue;
        char *first = ypi_format("yieldpoint: %s\n", table[i].message);
        cr_expect(strncmp(output, first, strlen(first)) == 0, "%s: %s", table[i].words, output);
        free(first);
        const char *line = strchr(strchr(output, '\n') + 1, '\n') + 1;
        cr_expect_eq(strspn(line, " "), (size_t)table[i].column, "%s: %s", table[i].words, output);
    }
}

Test(arguments, help)
{
    static const char *const titles[] = {"first\n", "second\n"};
    capture_begin(STDOUT_FILENO);
    ypi_options_print(options, titles);
    fflush(stdout);
    cr_expect_str_eq(capture_end(), "first\n"
                                    "  -f, --flag                 a flag\n"
                                    "second\n"
                                    "  --toggle                   yes or no\n"
                                    "  -c, --count N              from 2 to 9\n");
}

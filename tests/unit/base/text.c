/* Growing text, words, numbers in and out, and figures for a person's eyes. */
#include "base/text/text.h"
#include "base/text/figures.h"

#include "base/numbers/splitmix.h"
#include "tests/unit/harness/sanitizer.h"

#include <criterion/criterion.h>
#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A sanitizer would end the process before the answer is looked at. */
SANITIZER_OPTIONS("allocator_may_return_null=1")

TestSuite(text, .timeout = 60);
TestSuite(figures, .timeout = 60);

/* -- growing text -------------------------------------------------------------------------- */

Test(text, grows_and_is_taken)
{
    struct ypi_text text = {0};
    for (int i = 0; i < 20000; i++)
        ypi_text_add(&text, "%d,", i % 10);
    cr_assert_eq(text.length, 40000);
    for (int i = 0; i < 20000; i++)
        cr_assert(text.data[2 * i] == '0' + i % 10 && text.data[2 * i + 1] == ',', "at %d", i);
    char *taken = ypi_text_take(&text);
    cr_expect_eq(strlen(taken), 40000);
    cr_expect(text.data == NULL && text.length == 0 && text.capacity == 0);
    free(taken);
}

Test(text, of_nothing_is_empty_and_not_null)
{
    struct ypi_text text = {0};
    char *taken = ypi_text_take(&text);
    cr_assert_not_null(taken);
    cr_expect_str_eq(taken, "");
    free(taken);
    char *formatted = ypi_format("%s", "");
    cr_expect_str_eq(formatted, "");
    free(formatted);
}

Test(text, what_is_no_utf8_is_replaced)
{
    static const char *const pairs[][2] = {{"", ""},
                                           {"gr\303\274n", "gr\303\274n"},
                                           {"gr\374n", "gr\xef\xbf\xbdn"},
                                           {"\303", "\xef\xbf\xbd"},
                                           {"\300\200a", "\xef\xbf\xbd\xef\xbf\xbd"
                                                         "a"}};
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        char *valid = ypi_utf8(pairs[i][0]);
        cr_expect_str_eq(valid, pairs[i][1], "pair %zu: %s", i, valid);
        free(valid);
    }
}

Test(text, bytes_keep_nul)
{
    struct ypi_text text = {0};
    ypi_text_bytes(&text, "a\0b", 3);
    ypi_text_add(&text, "%c", 'c');
    cr_expect_eq(text.length, 4);
    cr_expect_eq(memcmp(text.data, "a\0bc", 5), 0);
    free(ypi_text_take(&text));
}

Test(text, an_impossible_size_aborts_with_a_message, .signal = SIGABRT)
{
    ypi_realloc(NULL, SIZE_MAX / 2, 4);
}

/* -- words --------------------------------------------------------------------------------- */

Test(words, are_separated_by_blanks)
{
    const char *cursor = "  one\ttwo\n three,four ";
    const char *wanted[] = {"one", "two", "three", "four"};
    const char *word = NULL;
    size_t length = 0;
    for (int i = 0; i < 4; i++) {
        cr_assert(ypi_next_word(&cursor, &word, &length));
        cr_expect(length == strlen(wanted[i]) && memcmp(word, wanted[i], length) == 0, "%d", i);
    }
    cr_expect_not(ypi_next_word(&cursor, &word, &length));
    cr_expect_not(ypi_next_word(&cursor, &word, &length), "at the end it stays at the end");
}

Test(words, are_found_whole_only)
{
    cr_expect(ypi_has_word("slow stress", "slow", 4));
    cr_expect(ypi_has_word("slow stress", "stress", 6));
    cr_expect(ypi_has_word("slow stress", "slowest", 4), "the word is not terminated");
    cr_expect_not(ypi_has_word("slow stress", "slo", 3));
    cr_expect_not(ypi_has_word("slow stress", "tress", 5));
    cr_expect_not(ypi_has_word("slow stress", "Slow", 4));
    cr_expect_not(ypi_has_word("slow stress", "slow stress", 11));
    cr_expect_not(ypi_has_word("slow", "", 0));
    cr_expect_not(ypi_has_word("", "slow", 4));
    cr_expect_not(ypi_has_word(NULL, "slow", 4));
}

static const char *nearest(const char *word)
{
    static const char *const names[] = {
        "--seed",    "--set", "--speed",
        "--timeout", "--co",  "stress/detection/global.c::fit[channels=100-batch=4-cpu]"};
    return ypi_nearest(word, names, sizeof names / sizeof names[0]);
}

Test(words, nearest_is_found)
{
    static const struct {
        const char *word, *wanted;
    } table[] = {
        {"--sede", "--seed"},
        {"--sett", "--set"},
        {"--speeed", "--speed"},
        {"--timeuot", "--timeout"},
        {"--seed", "--seed"},
        {"--coo", "--co"},
        {"--sed", "--seed" /* first */},
        /* Ids are long, and that is where a hint is needed most. */
        {"stress/detection/global.c::fit[channels=100-batch=5-cpu]",
         "stress/detection/global.c::fit[channels=100-batch=4-cpu]"},
    };
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        const char *found = nearest(table[i].word);
        cr_expect(found != NULL && strcmp(found, table[i].wanted) == 0, "%s: %s, wanted %s",
                  table[i].word, found != NULL ? found : "none", table[i].wanted);
    }
}

Test(words, far_ones_are_not_near)
{
    const char *const words[] = {"", "x", "--history", "--banana", "nothing/like/it.c::at[all]"};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        cr_expect_null(nearest(words[i]), "%s: %s", words[i], nearest(words[i]));
    cr_expect_null(ypi_nearest("word", NULL, 0));
    char *huge = ypi_calloc(100001, 1);
    memset(huge, 'x', 100000);
    cr_expect_null(nearest(huge));
    free(huge);
}

Test(words, near_ones_may_be_too_long_to_compare)
{
    for (int length = 250; length <= 300; length += 5) {
        char *name = ypi_format("%0*d", length, 1);
        char *word = ypi_format("%0*d", length - 3, 1);
        const char *names[] = {name};
        const char *found = ypi_nearest(word, names, 1);
        cr_expect_eq(found, length < 256 ? name : NULL, "%d", length);
        free(name);
        free(word);
    }
}

/* -- numbers ------------------------------------------------------------------------------- */

Test(numbers, sizes)
{
    static const struct {
        const char *text;
        uint64_t wanted;
    } table[] = {
        {"0", 0},
        {"64K", 65536},
        {"64k", 65536},
        {"64KiB", 65536},
        {"64kb", 64000},
        {"1.5MB", 1500000},
        {"1500B", 1500},
        {"1.5G", UINT64_C(3) << 29},
        {"1T", UINT64_C(1) << 40},
        {"1e3", 1000},
        {"8388607T", UINT64_C(8388607) << 40},
    };
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        uint64_t got = 77;
        cr_expect(ypi_parse_size(table[i].text, &got), "%s", table[i].text);
        cr_expect_eq(got, table[i].wanted, "%s: %" PRIu64, table[i].text, got);
    }
    static const char *const bad[] = {"",      "-1",  "+1",   " 1",       "1 ",     "1 M",
                                      "M",     "64Q", "8iB",  "8BB",      "64MiBs", ".5G",
                                      "1e400", "nan", "1e30", "8388608T", "1,5G"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        uint64_t got = 0;
        cr_expect_not(ypi_parse_size(bad[i], &got), "'%s' is taken as %" PRIu64, bad[i], got);
    }
}

Test(numbers, unsigned_64)
{
    static const struct {
        const char *text;
        uint64_t wanted;
    } table[] = {
        {"0", 0},
        {"18446744073709551615", UINT64_MAX},
        {"0x10", 16},
        {"0XfF", 255},
        /* A leading zero is no sign of octal: --seed 010 is ten. */
        {"010", 10},
        {"08", 8},
    };
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        uint64_t got = 77;
        cr_expect(ypi_parse_u64(table[i].text, &got), "%s", table[i].text);
        cr_expect_eq(got, table[i].wanted, "%s: %" PRIu64, table[i].text, got);
    }
    static const char *const bad[] = {
        "",     "18446744073709551616", "-1", "+1", " 1", "1 ", "1.0", "1e3", "0x", "0xg", "one",
        "1_000"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        uint64_t got = 0;
        cr_expect_not(ypi_parse_u64(bad[i], &got), "'%s' is taken as %" PRIu64, bad[i], got);
    }
}

Test(numbers, signed_64)
{
    long long got = 0;
    cr_expect(ypi_parse_i64("-9223372036854775808", &got) && got == INT64_MIN);
    cr_expect(ypi_parse_i64("9223372036854775807", &got) && got == INT64_MAX);
    cr_expect(ypi_parse_i64("-010", &got) && got == -10);
    cr_expect(ypi_parse_i64("0", &got) && got == 0);
    static const char *const bad[] = {
        "", "9223372036854775808", " 1", "1 ", "1.0", "0x10", "1e3", "-", "--1", "\t1"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        cr_expect_not(ypi_parse_i64(bad[i], &got), "'%s' is taken as %lld", bad[i], got);
}

Test(numbers, doubles)
{
    static const struct {
        const char *text;
        double wanted;
    } table[] = {{"1e3", 1000},
                 {"-0.5", -0.5},
                 {".5", 0.5},
                 {"1.7976931348623157e308", DBL_MAX},
                 {"2.2250738585072014e-308", DBL_MIN},
                 /* Below the smallest normal number, yet a double: an axis may hold it. */
                 {"5e-324", 5e-324},
                 {"1e-310", 1e-310}};
    double got = 0;
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        cr_expect(ypi_parse_double(table[i].text, &got), "%s", table[i].text);
        cr_expect_eq(got, table[i].wanted, "%s: %g", table[i].text, got);
    }
    static const char *const bad[] = {"",      " 1",     "1 ",     "1x", "1,5", "1e",
                                      "1e400", "-1e400", "1e-400", "-",  "."};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        cr_expect_not(ypi_parse_double(bad[i], &got), "'%s' is taken as %g", bad[i], got);
}

Test(numbers, doubles_print_short)
{
    static const struct {
        double value;
        const char *wanted;
    } table[] = {
        {0.1, "0.1"},       {100, "100"},
        {10, "10"},         {-2.5, "-2.5"},
        {1e6, "1e+06"},     {123456789, "123456789"},
        {1e4, "10000"},     {0, "0"},
        {-0.0, "-0"},       {1.0 / 3, "0.3333333333333333"},
        {5e-324, "5e-324"}, {DBL_MAX, "1.7976931348623157e+308"},
        {INFINITY, "inf"},  {-INFINITY, "-inf"},
        {1e-5, "1e-05"},
    };
    char text[32];
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        ypi_print_double(text, table[i].value);
        cr_expect_str_eq(text, table[i].wanted, "%.17g: %s", table[i].value, text);
    }
    ypi_print_double(text, NAN);
    cr_expect_not_null(strstr(text, "nan"));
}

Test(numbers, doubles_come_back)
{
    struct ypi_seed seed = ypi_seed_of(1, 2, 3);
    for (int i = 0; i < 100000; i++) {
        uint64_t bits = ypi_seed_next(&seed);
        double value = 0;
        double back = 0;
        char text[32];
        memcpy(&value, &bits, sizeof value);
        if (isnan(value))
            continue;
        ypi_print_double(text, value);
        cr_assert(isinf(value) || ypi_parse_double(text, &back), "%s", text);
        cr_assert(isinf(value) || memcmp(&back, &value, sizeof back) == 0, "%a as %s: %a", value,
                  text, back);
    }
}

/* -- figures ------------------------------------------------------------------------------- */

Test(figures, seconds)
{
    static const struct {
        double seconds;
        const char *wanted;
    } table[] = {
        {0, "0 s"},           {1, "1 s"},       {1.5e-3, "1.5 ms"},
        {0.9999, "999.9 ms"}, {0.99996, "1 s"}, {999.94e-6, "999.9 us"},
        {999.96e-6, "1 ms"},  {2e-9, "2 ns"},   {3.21e-12, "3.21 ps"},
        {1e-14, "0.01 ps"},   {3600, "3600 s"}, {NAN, "n/a"},
        {INFINITY, "inf s"},
    };
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        char text[YPI_FIGURE_MAX];
        ypi_format_seconds(text, table[i].seconds);
        cr_expect_str_eq(text, table[i].wanted, "%.17g: %s", table[i].seconds, text);
    }
}

Test(figures, bytes)
{
    static const struct {
        double bytes;
        const char *wanted;
    } table[] = {
        {0, "0 B"},          {1023, "1023 B"},        {1024, "1.0 KiB"},   {1536, "1.5 KiB"},
        {0x1p20, "1.0 MiB"}, {0x1p20 - 1, "1.0 MiB"}, {0x1p30, "1.0 GiB"}, {0x1p40, "1.0 TiB"},
        {0x1p50, "1.0 PiB"}, {0x1p62, "4096.0 PiB"},  {-2048, "-2.0 KiB"}, {NAN, "n/a"},
        {INFINITY, "inf B"}, {0.5, "0.5 B"},
    };
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        char text[YPI_FIGURE_MAX];
        ypi_format_bytes(text, table[i].bytes);
        cr_expect_str_eq(text, table[i].wanted, "%.17g: %s", table[i].bytes, text);
    }
}

Test(figures, rates)
{
    static const struct {
        double rate;
        const char *unit, *wanted;
    } table[] = {
        {1.234e6, "pixels", "1.234 M pixels/s"},
        {999.96, "pixels", "1 k pixels/s"},
        {999.94, "pixels", "999.9 pixels/s"},
        {0.25, "pixels", "0.25 pixels/s"},
        {5, "", "5 items/s"},
        {2.5e9, "B", "2.5 GB/s"},
        {4.2e14, "FLOP", "420 TFLOP/s"},
        {3e21, "items", "3000 E items/s"},
        {NAN, "items", "n/a"},
        {INFINITY, "items", "inf items/s"},
    };
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        char text[YPI_FIGURE_MAX];
        ypi_format_rate(text, table[i].rate, table[i].unit);
        cr_expect_str_eq(text, table[i].wanted, "%.17g: %s", table[i].rate, text);
    }
}

Test(figures, percents)
{
    static const struct {
        double part;
        int digits;
        const char *wanted;
    } table[] = {
        {0, 3, "0 %"},          {0.012345, 3, "1.23 %"},
        {0.999, 2, "100 %"},    {9.99, 3, "999 %"},
        {9.996, 3, "1000 %"},   {38.07, 3, "3810 %"},
        {-96.46, 3, "-9650 %"}, {1234567, 2, "120000000 %"},
        {1e12, 3, "1e+14 %"},   {1e-8, 3, "1e-06 %"},
        {NAN, 3, "n/a"},        {-INFINITY, 3, "-inf %"},
    };
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        char text[YPI_FIGURE_MAX];
        ypi_format_percent(text, table[i].part, table[i].digits);
        cr_expect_str_eq(text, table[i].wanted, "%.17g: %s", table[i].part, text);
    }
}

Test(figures, values)
{
    char text[YPI_FIGURE_MAX];
    ypi_format_value(text, 0.95, "");
    cr_expect_str_eq(text, "0.95");
    ypi_format_value(text, -1234567.8, "m");
    cr_expect_str_eq(text, "-1.23457e+06 m");
    ypi_format_value(text, -INFINITY, "m");
    cr_expect_str_eq(text, "-inf m");
    ypi_format_value(text, NAN, "m");
    cr_expect_str_eq(text, "n/a");
}

Test(figures, long_units_stay_inside)
{
    char unit[300];
    char text[YPI_FIGURE_MAX];
    memset(unit, 'u', sizeof unit - 1);
    unit[sizeof unit - 1] = '\0';
    ypi_format_value(text, 1, unit);
    cr_expect(strlen(text) < YPI_FIGURE_MAX);
    ypi_format_rate(text, 1e7, unit);
    cr_expect(strlen(text) < YPI_FIGURE_MAX && strcmp(text + strlen(text) - 2, "/s") == 0, "%s",
              text);
    ypi_format_rate(text, INFINITY, unit);
    cr_expect(strlen(text) < YPI_FIGURE_MAX);
}

Test(text, words_are_joined)
{
    static const struct {
        const char *words, *joined;
    } table[] = {{"", ""}, {"a", "a"}, {" a  b ", "a or b"}, {"a b c", "a, b or c"}};
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        char *joined = ypi_join_words(table[i].words, "or");
        cr_expect_str_eq(joined, table[i].joined);
        free(joined);
    }
}

Test(text, the_nearest_is_suggested)
{
    static const char *const names[] = {"seed", "set"};
    char *near = ypi_did_you_mean("sede", names, 2), *none = ypi_did_you_mean("banana", names, 2);
    cr_expect_str_eq(near, ", did you mean 'seed'?");
    cr_expect_str_eq(none, "");
    free(near);
    free(none);
    cr_expect(ypi_distance("tags", "tag") == 1 && ypi_distance("", "abc") == 3);
}

Test(text, a_list_grows_by_texts_it_owns)
{
    char **list = NULL;
    for (int i = 0; i < 100; i++)
        list = ypi_list_add(list, i, ypi_format("%d", i));
    cr_expect_str_eq(list[0], "0");
    cr_expect_str_eq(list[99], "99");
    ypi_list_free(list, 100);
    ypi_list_free(NULL, 0);
}

/* Numbers in a text: what the words of yieldpoint.ini are for. A case named like a tag has it. */
#include <stddef.h>
#include <yieldpoint/yieldpoint.h>

/* The sum of the whole numbers in a text, which other characters separate. */
static unsigned long sum_of(const char *text)
{
    unsigned long sum = 0, number = 0;
    for (; *text != '\0'; text++)
        if (*text >= '0' && *text <= '9') {
            number = number * 10 + (unsigned long)(*text - '0');
        } else {
            sum += number;
            number = 0;
        }
    return sum + number;
}

YP_TEST(parser, sums, .tags = "small")
{
    yp_expect(t, sum_of("") == 0, "an empty text has the sum %lu", sum_of(""));
    yp_expect(t, sum_of("1,20 300") == 321, "the sum is %lu", sum_of("1,20 300"));
}

YP_TEST(parser, random, .tags = "fuzz",
        .cases = YP_CASES(yp_case_of("short", .set = YP_SET(yp_set_int("numbers", 1000))),
                          yp_case_of("nightly", .set = YP_SET(yp_set_int("numbers", 1000000)))),
        .budgets = YP_BUDGETS(yp_min_rate("parse", 1e5)))
{
    size_t numbers = (size_t)yp_int(t, "numbers"), at = 0;
    char *text = yp_alloc(t, 4 * numbers + 1);
    unsigned long long state = yp_seed(t) + 1;
    unsigned long wanted = 0;
    for (size_t i = 0; i < numbers; i++) {
        state = state * 6364136223846793005U + 1442695040888963407U;
        unsigned long number = (unsigned long)(state >> 33) % 1000;
        wanted += number;
        for (unsigned long place = 100; place > 0; place /= 10)
            text[at++] = (char)('0' + number / place % 10);
        text[at++] = ' ';
    }
    text[at] = '\0';
    yp_expect(t, sum_of(text) == wanted, "the sum is %lu, not %lu", sum_of(text), wanted);
    unsigned long sum = 0;
    yp_measure (t, "parse", .items = (double)numbers, .unit = "numbers") {
        sum = sum_of(text);
        yp_keep(sum);
    }
}

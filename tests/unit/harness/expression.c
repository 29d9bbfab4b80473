/* and, or, not and parentheses: values by truth table, errors with their place. */
#include "harness/collect/expression.h"
#include "base/text/text.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

TestSuite(expression, .timeout = 60);

static bool in_list(void *arg, const char *word, size_t length)
{
    return ypi_has_word(arg, word, length);
}

static bool holds(const char *expression, const char *words)
{
    bool valid = false;
    struct ypi_expression_error error = {0};
    bool value = ypi_expression(expression, in_list, (void *)(uintptr_t)words, &valid, &error);
    cr_assert(valid, "%s: %s", expression, error.message);
    return value;
}

/* An expression in both languages, for all values of a, b and c. */
#define SAME(text, wanted) \
    for (int i_ = 0; i_ < 8; i_++) { \
        bool a = i_ & 1, b = i_ & 2, c = i_ & 4; \
        (void)a, (void)b, (void)c; \
        char words[8]; \
        snprintf(words, sizeof words, "%s%s%s", a ? "a " : "", b ? "b " : "", c ? "c" : ""); \
        cr_expect_eq(holds(text, words), (wanted), "%s with '%s'", text, words); \
    }

Test(expression,
     one_word){SAME("a", a) SAME(" a ", a) SAME("(a)", a) SAME("((a))", a) SAME("\ta\n", a)}

Test(expression,
     not_binds_closest){SAME("not a", !a) SAME("not not a", a) SAME("not a and b", !a && b)
                            SAME("not a or b", !a || b) SAME("not (a or b)", !(a || b))
                                SAME("not(a and b)", !(a && b)) SAME("a and not b", a && !b)}

Test(expression, and_binds_closer_than_or){
    SAME("a or b and c", a || (b && c)) SAME("a and b or c", (a && b) || c)
        SAME("(a or b) and c", (a || b) && c) SAME("a and (b or c)", a && (b || c))
            SAME("a or not b and c", a || (!b && c)) SAME("not a and b or not c", (!a && b) || !c)}

Test(expression, chains){SAME("a and b and c", a &&b &&c) SAME("a or b or c", a || b || c)
                             SAME("a or b or c and not a", a || b || (c && !a))
                                 SAME("((a)and(b))or((c))", (a && b) || c)}

Test(expression, operators_are_lower_case_and_whole_words)
{
    cr_expect(holds("AND", "AND"));
    cr_expect(holds("android or notable", "android"));
    cr_expect(holds("order", "order"));
    cr_expect_not(holds("nota", "a"));
}

Test(expression, words_may_be_parts_of_ids)
{
    cr_expect(holds("stress/rx.c::fit[channels=100-noise=%2d0.5]",
                    "stress/rx.c::fit[channels=100-noise=%2d0.5]"));
    cr_expect(holds("gr\xc3\xb6\xc3\x9f"
                    "e and not b",
                    "gr\xc3\xb6\xc3\x9f"
                    "e"),
              "UTF-8");
}

static bool count_word(void *arg, const char *word, size_t length)
{
    (void)word, (void)length;
    (*(int *)arg)++;
    return true;
}

Test(expression, shows_every_word)
{
    const char *const texts[] = {"a or b or c", "a and b or c", "not a and b and c"};
    for (int i = 0; i < 3; i++) {
        int count = 0;
        bool valid = false;
        struct ypi_expression_error error;
        ypi_expression(texts[i], count_word, &count, &valid, &error);
        cr_expect(valid && count == 3, "%s: %d", texts[i], count);
    }
}

Test(expression, errors_have_a_place)
{
    static const struct {
        const char *text;
        size_t offset, length;
        const char *message;
    } table[] = {
        {"", 0, 1, "expected a word, 'not' or '(', found the end"},
        {"   ", 3, 1, "expected a word, 'not' or '(', found the end"},
        {"a bcd", 2, 3, "expected 'and', 'or' or the end, found 'bcd'"},
        {"a and", 5, 1, "expected a word, 'not' or '(', found the end"},
        {"a or  ", 6, 1, "expected a word, 'not' or '(', found the end"},
        {"not", 3, 1, "expected a word, 'not' or '(', found the end"},
        {"(a", 2, 1, "expected ')', found the end"},
        {"(a b)", 3, 1, "expected ')', found 'b'"},
        {"a)", 1, 1, "expected 'and', 'or' or the end, found ')'"},
        {"()", 1, 1, "expected a word, 'not' or '(', found ')'"},
        {"and a", 0, 3, "expected a word, 'not' or '(', found 'and'"},
        {"a or or b", 5, 2, "expected a word, 'not' or '(', found 'or'"},
        {"a not b", 2, 3, "expected 'and', 'or' or the end, found 'not'"},
        {"a & b", 2, 1, "expected 'and', 'or' or the end, found '&'"},
        {"!a", 0, 1, "expected a word, 'not' or '(', found '!'"},
        {"a and (b or", 11, 1, "expected a word, 'not' or '(', found the end"},
    };
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        bool valid = true;
        struct ypi_expression_error error = {0};
        bool value =
            ypi_expression(table[i].text, in_list, (void *)(uintptr_t) "a b", &valid, &error);
        cr_expect_not(valid, "%s", table[i].text);
        cr_expect_not(value, "%s", table[i].text);
        cr_expect(error.offset == table[i].offset && error.length == table[i].length,
                  "%s: at %zu for %zu", table[i].text, error.offset, error.length);
        cr_expect_str_eq(error.message, table[i].message, "%s: %s", table[i].text, error.message);
    }
}

/* "(((a)))" or "not not not a". */
static bool nested(const char *open, const char *close, int depth)
{
    struct ypi_text text = {0};
    for (int i = 0; i < depth; i++)
        ypi_text_add(&text, "%s", open);
    ypi_text_add(&text, "a");
    for (int i = 0; i < depth; i++)
        ypi_text_add(&text, "%s", close);
    bool valid = false;
    struct ypi_expression_error error = {0};
    ypi_expression(text.data, in_list, (void *)(uintptr_t) "a", &valid, &error);
    if (!valid)
        cr_expect_not_null(strstr(error.message, "200 levels"), "%s", error.message);
    free(ypi_text_take(&text));
    return valid;
}

Test(expression, nesting_is_bounded)
{
    cr_expect(nested("(", ")", 199));
    cr_expect_not(nested("(", ")", 200));
    cr_expect(nested("not ", "", 199));
    cr_expect_not(nested("not ", "", 200));
    cr_expect_not(nested("(", ")", 1000000), "and the stack holds");
    cr_expect_not(nested("not ", "", 1000000));
}

Test(expression, length_is_not_bounded)
{
    struct ypi_text text = {0};
    for (int i = 0; i < 50000; i++)
        ypi_text_add(&text, "(a) and not b or ");
    ypi_text_add(&text, "c");
    cr_expect(holds(text.data, "a"));
    cr_expect_not(holds(text.data, "a b"));
    free(ypi_text_take(&text));
}

Test(expression, a_long_word_fits_the_message)
{
    char *text = ypi_format("a %01000d", 1);
    bool valid = true;
    struct ypi_expression_error error = {0};
    ypi_expression(text, in_list, (void *)(uintptr_t) "a", &valid, &error);
    cr_expect_not(valid);
    cr_expect(error.offset == 2 && error.length == 1000);
    cr_expect(strlen(error.message) < sizeof error.message);
    free(text);
}

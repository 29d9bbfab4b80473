/* -m and -k: an expression, an id and tags, a line each. */
#include "harness/collect/expression.h"

#include "base/text/text.h"
#include "harness/collect/select.h"
#include "tests/fuzz/fuzz.h"

#include <stdlib.h>
#include <string.h>

/* Whether the word is there among the tags, and how many words were asked for. */
struct asked {
    const char *tags;
    int words;
};

static bool is_tag(void *arg, const char *word, size_t length)
{
    struct asked *asked = arg;
    FUZZ_CHECK(length > 0 && word[strnlen(word, length)] == word[length]);
    asked->words++;
    return ypi_has_word(asked->tags, word, length);
}

/* Whether it is well formed is the same whatever the words mean. */
static bool all(void *arg, const char *word, size_t length)
{
    (void)word, (void)length;
    return *(const bool *)arg;
}

static void check_form(const char *expression, bool valid)
{
    for (int i = 0; i < 2; i++) {
        bool same = false;
        struct ypi_expression_error error;
        (void)ypi_expression(expression, all, &(bool){i == 1}, &same, &error);
        FUZZ_CHECK(same == valid);
    }
}

static bool evaluate(const char *expression, const char *tags, bool *valid)
{
    struct asked asked = {.tags = tags};
    struct ypi_expression_error error = {0};
    bool value = ypi_expression(expression, is_tag, &asked, valid, &error);
    FUZZ_CHECK(*valid || !value);
    FUZZ_CHECK(!*valid || asked.words > 0);
    if (!*valid) {
        FUZZ_CHECK(error.length > 0 && error.offset <= strlen(expression));
        FUZZ_CHECK(error.offset == strlen(expression) ||
                   error.offset + error.length <= strlen(expression));
        FUZZ_CHECK(strlen(error.message) < sizeof error.message && error.message[0] != '\0');
    }
    return value;
}

/* "not (E)" says the opposite, but where that is one level of nesting too many. */
static void check_opposite(const char *expression, const char *tags, bool value, bool valid)
{
    bool opposite_valid = false;
    char *opposite = ypi_format("not (%s)", expression);
    bool opposite_value = evaluate(opposite, tags, &opposite_valid);
    FUZZ_CHECK(!opposite_valid || !valid || opposite_value == !value);
    free(opposite);
}

static void select_by(char *expression, const char *id, const char *tags)
{
    const struct yp_test test = {.group = "group", .name = "name", .file = "file.c"};
    struct yp_case c = {
        .test = &test, .id = (char *)(uintptr_t)id, .tags = (char *)(uintptr_t)tags};
    static char *registered[] = {"small", "stress", "slow"};
    struct ypi_options both = {
        .mark = expression, .keyword = expression, .tags = registered, .tag_count = 3};
    struct ypi_options keyword = {.keyword = expression};
    (void)ypi_selection_is_right(&both);
    if (ypi_selection_is_right(&keyword))
        FUZZ_CHECK(!ypi_is_selected(&c, &both) || ypi_is_selected(&c, &keyword));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_input input = {data, size};
    char *expression = fuzz_line(&input), *id = fuzz_line(&input), *tags = fuzz_rest(&input);
    bool valid = false;
    bool value = evaluate(expression, tags, &valid);
    check_form(expression, valid);
    check_opposite(expression, tags, value, valid);
    select_by(expression, id, tags);
    free(expression);
    free(id);
    free(tags);
    return 0;
}

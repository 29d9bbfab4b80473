#include "harness/vocabulary/substitute.h"

#include "base/text/text.h"
#include "harness/vocabulary/axis.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const char *const own_words[] = {"case", "seed", "device", NULL};

static bool is_name(const char *name, const char *word, size_t length)
{
    return name != NULL && strlen(name) == length && memcmp(name, word, length) == 0;
}

/* Whether it is an axis of the test, or a parameter of its cases, which all have the same. */
static bool is_setting(const struct yp_test *test, const char *word, size_t length)
{
    const struct yp_axis *axis = NULL;
    for (int i = 0; (axis = ypi_axis_at(test, i)) != NULL; i++)
        if (is_name(axis->name, word, length))
            return true;
    for (int i = 0; i < YP_MAX_PARAMETERS && test->cases[0].name != NULL; i++)
        if (is_name(test->cases[0].set[i].name, word, length))
            return true;
    return false;
}

static bool is_known(const struct yp_test *test, const char *word, size_t length)
{
    bool known = is_setting(test, word, length);
    for (int i = 0; own_words[i] != NULL && !known; i++)
        known = is_name(own_words[i], word, length);
    return known;
}

static char *word_value(const struct yp_case *c, const char *word, size_t length)
{
    for (int i = 0; i < c->setting_count; i++)
        if (is_name(c->settings[i].axis, word, length))
            return ypi_setting_text(&c->settings[i]);
    if (is_name("case", word, length))
        return ypi_strdup(yp_case_name(c));
    if (is_name("seed", word, length))
        return ypi_format("%" PRIu64, c->seed);
    return ypi_strdup(is_name("device", word, length) ? yp_device_of(c) : "");
}

/* The next brace that means something: adds what stands before it to `out` (NULL: nowhere), and
 * gives the word between it and its partner. False at the end of the text. */
static bool next_braces(const char **at, struct ypi_text *out, const char **word, size_t *length)
{
    for (;;) {
        size_t plain = strcspn(*at, "{");
        bool doubled = strncmp(*at + plain, "{{", 2) == 0;
        if (out != NULL)
            ypi_text_bytes(out, *at, plain + doubled);
        *at += plain;
        if (**at == '\0')
            return false;
        if (doubled) {
            *at += 2;
            continue;
        }
        *word = *at + 1;
        *length = strcspn(*word, "}");
        *at = *word + *length + ((*word)[*length] == '}');
        return true;
    }
}

char *ypi_substitute(const struct yp_case *c, const char *text, char *(*quote)(const char *value))
{
    struct ypi_text out = {0};
    const char *word = NULL;
    size_t length = 0;
    while (next_braces(&text, &out, &word, &length)) {
        char *value = word_value(c, word, length);
        char *quoted = quote(value);
        ypi_text_add(&out, "%s", quoted != NULL ? quoted : "");
        free(quoted);
        free(value);
    }
    return ypi_text_take(&out);
}

char *ypi_substitute_problem(const struct yp_test *test, const char *field, const char *text)
{
    const char *word = NULL;
    size_t length = 0;
    bool wrong = false;
    while (!wrong && next_braces(&text, NULL, &word, &length))
        wrong = !is_known(test, word, length) || word[length] != '}';
    if (!wrong)
        return NULL;
    struct ypi_text problem = {0};
    int shown = length > 40 ? 40 : (int)length;
    ypi_text_add(&problem, "%s has {%.*s%s: there are ", field, shown, word,
                 word[length] == '}' ? "}" : ", which is not closed");
    const struct yp_axis *axis = NULL;
    for (int i = 0; (axis = ypi_axis_at(test, i)) != NULL; i++)
        ypi_text_add(&problem, "{%s}, ", axis->name);
    for (int i = 0; i < YP_MAX_PARAMETERS && test->cases[0].set[i].name != NULL; i++)
        ypi_text_add(&problem, "{%s}, ", test->cases[0].set[i].name);
    ypi_text_add(&problem, "{case}, {seed} and {device}; a brace itself is written {{");
    return ypi_text_take(&problem);
}

char *ypi_substitute_hidden(const struct yp_test *test)
{
    for (int i = 0; own_words[i] != NULL; i++)
        if (is_setting(test, own_words[i], strlen(own_words[i])))
            return ypi_format("axis '%s' has the name of a word in braces that stands for "
                              "something else: rename it",
                              own_words[i]);
    return NULL;
}

/* What the texts of a command's declaration say. */
#include "harness/case/command.h"

#include "base/text/text.h"
#include "harness/collect/axis.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* -- the words in braces ------------------------------------------------------------------ */

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

char *ypi_command_substitute(const struct yp_case *c, const char *text)
{
    struct ypi_text out = {0};
    const char *word = NULL;
    size_t length = 0;
    while (next_braces(&text, &out, &word, &length)) {
        char *value = word_value(c, word, length);
        char *quoted = ypi_shell_quote(value);
        ypi_text_add(&out, "%s", quoted != NULL ? quoted : "");
        free(quoted);
        free(value);
    }
    return ypi_text_take(&out);
}

static char *word_problem(const struct yp_test *test, const char *field, const char *text)
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
    ypi_text_add(&problem, "{case}, {seed} and {device}; a brace of the shell is written {{");
    return ypi_text_take(&problem);
}

/* An axis or a parameter of the same name would hide it. */
static char *hidden_problem(const struct yp_test *test)
{
    for (int i = 0; own_words[i] != NULL; i++)
        if (is_setting(test, own_words[i], strlen(own_words[i])))
            return ypi_format("axis '%s' of a command has the name of a word that stands for "
                              "something else: rename it",
                              own_words[i]);
    return NULL;
}

/* -- the environment ---------------------------------------------------------------------- */

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\n';
}

/* One quoted part, or one character outside of quotes; false when a quote is not closed. */
static bool take_part(const char **at, struct ypi_text *out)
{
    const char *c = *at;
    if (*c == '\'') {
        size_t length = strcspn(c + 1, "'");
        ypi_text_bytes(out, c + 1, length);
        *at = c + 1 + length + (c[1 + length] == '\'');
        return c[1 + length] == '\'';
    }
    if (*c != '"') {
        c += *c == '\\' && c[1] != '\0';
        ypi_text_bytes(out, c, 1);
        *at = c + 1;
        return true;
    }
    for (c++; *c != '"' && *c != '\0'; c++) {
        if (*c == '\\' && c[1] != '\0' && strchr("\"\\$`", c[1]) != NULL)
            c++;
        ypi_text_bytes(out, c, 1);
    }
    *at = c + (*c == '"');
    return *c == '"';
}

static size_t name_length(const char *assignment)
{
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_";
    size_t length = strspn(assignment, letters);
    if (length > 0)
        while (assignment[length] != '\0' && (strchr(letters, assignment[length]) != NULL ||
                                              strchr("0123456789", assignment[length]) != NULL))
            length++;
    return length;
}

char *ypi_command_assignment(const char **cursor, char **problem)
{
    *problem = NULL;
    while (is_blank(**cursor))
        (*cursor)++;
    if (**cursor == '\0')
        return NULL;
    const char *start = *cursor;
    struct ypi_text word = {0};
    bool closed = true;
    while (closed && **cursor != '\0' && !is_blank(**cursor))
        closed = take_part(cursor, &word);
    char *assignment = ypi_text_take(&word);
    size_t name = name_length(assignment);
    if (!closed)
        *problem = ypi_format(".environment has a quote that is not closed: %.40s", start);
    else if (name == 0 || assignment[name] != '=')
        *problem =
            ypi_format(".environment has '%.40s': allowed is NAME=value, with blanks between "
                       "one and the next",
                       assignment);
    if (*problem == NULL)
        return assignment;
    free(assignment);
    return NULL;
}

static char *environment_problem(const char *text)
{
    char *problem = NULL;
    char *assignment = NULL;
    while ((assignment = ypi_command_assignment(&text, &problem)) != NULL)
        free(assignment);
    return problem;
}

char *ypi_command_problem(const struct yp_test *test)
{
    bool any = test->command != NULL || test->input != NULL || test->environment != NULL;
    if (test->body != ypi_command_body)
        return any ? ypi_strdup(".command, .input and .environment are those of YP_COMMAND") : NULL;
    if (test->command == NULL || test->command[strspn(test->command, " \t\n")] == '\0')
        return ypi_strdup(".command is missing: it is the line that the shell runs");
    char *problem = hidden_problem(test);
    if (problem == NULL)
        problem = word_problem(test, ".command", test->command);
    if (problem == NULL && test->environment != NULL)
        problem = word_problem(test, ".environment", test->environment);
    if (problem == NULL && test->environment != NULL)
        problem = environment_problem(test->environment);
    return problem;
}

/* What the texts of a command's declaration say. */
#include "harness/vocabulary/command_declaration.h"

#include "base/text/text.h"
#include "harness/vocabulary/substitute.h"

#include <stdlib.h>
#include <string.h>
#include <yieldpoint/command.h>

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
    char *problem = ypi_substitute_hidden(test);
    if (problem == NULL)
        problem = ypi_substitute_problem(test, ".command", test->command);
    if (problem == NULL && test->environment != NULL)
        problem = ypi_substitute_problem(test, ".environment", test->environment);
    if (problem == NULL && test->environment != NULL)
        problem = environment_problem(test->environment);
    return problem;
}

#include "harness/collect/expression.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

struct parser {
    const char *start, *at;
    ypi_matches *matches;
    void *arg;
    bool failed;
    int depth;
    struct ypi_expression_error *error;
};

static bool parse_or(struct parser *p);

static void fail(struct parser *p, const char *at, size_t length, const char *expected)
{
    if (p->failed)
        return;
    p->failed = true;
    p->error->offset = (size_t)(at - p->start);
    p->error->length = length > 0 ? length : 1;
    snprintf(p->error->message, sizeof p->error->message, "expected %s, found %s%.*s%s", expected,
             length > 0 ? "'" : "the end", (int)length, at, length > 0 ? "'" : "");
}

/* What ids and tags are made of; bytes from 0x80 are letters of UTF-8. */
static bool is_word(char c)
{
    unsigned char byte = (unsigned char)c;
    return isalnum(byte) || byte >= 0x80 || (c != '\0' && strchr("_.:=/[]+-%", c) != NULL);
}

static size_t peek(struct parser *p)
{
    while (isspace((unsigned char)*p->at))
        p->at++;
    size_t length = 0;
    while (is_word(p->at[length]))
        length++;
    if (length == 0 && *p->at != '\0')
        length = 1;
    return length;
}

static bool is(const struct parser *p, size_t length, const char *word)
{
    return strlen(word) == length && memcmp(p->at, word, length) == 0;
}

static bool accept(struct parser *p, const char *word)
{
    size_t length = peek(p);
    if (!is(p, length, word))
        return false;
    p->at += length;
    return true;
}

static bool parse_not(struct parser *p)
{
    enum { DEEPEST = 200 };
    if (p->failed)
        return false;
    if (++p->depth > DEEPEST) {
        fail(p, p->at, peek(p), "at most 200 levels of nesting");
        return false;
    }
    bool value = false;
    if (accept(p, "not")) {
        value = !parse_not(p);
    } else if (accept(p, "(")) {
        value = parse_or(p);
        if (!p->failed && !accept(p, ")"))
            fail(p, p->at, peek(p), "')'");
    } else {
        size_t length = peek(p);
        if (length == 0 || !is_word(*p->at) || is(p, length, "and") || is(p, length, "or")) {
            fail(p, p->at, length, "a word, 'not' or '('");
        } else {
            value = p->matches(p->arg, p->at, length);
            p->at += length;
        }
    }
    p->depth--;
    return value;
}

static bool parse_and(struct parser *p)
{
    bool value = parse_not(p);
    while (!p->failed && accept(p, "and"))
        value = parse_not(p) && value;
    return value;
}

static bool parse_or(struct parser *p)
{
    bool value = parse_and(p);
    while (!p->failed && accept(p, "or"))
        value = parse_and(p) || value;
    return value;
}

bool ypi_expression(const char *expression, ypi_matches *matches, void *arg, bool *valid,
                    struct ypi_expression_error *error)
{
    struct parser p = {
        .start = expression, .at = expression, .matches = matches, .arg = arg, .error = error};
    bool value = parse_or(&p);
    size_t rest = p.failed ? 0 : peek(&p);
    if (rest > 0)
        fail(&p, p.at, rest, "'and', 'or' or the end");
    *valid = !p.failed;
    return value && *valid;
}

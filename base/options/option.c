#include "base/options/option.h"

#include "base/text/text.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool ypi_option_is_end(const struct ypi_option *option)
{
    return option->name == NULL && option->letter == 0;
}

const struct ypi_option *ypi_option_find(const struct ypi_option *table, const char *name,
                                         size_t length)
{
    for (const struct ypi_option *o = table; !ypi_option_is_end(o); o++) {
        size_t i = 0;
        while (o->name != NULL && i < length && o->name[i] != '\0' &&
               (name[i] == o->name[i] || (name[i] == '_' && o->name[i] == '-')))
            i++;
        if (o->name != NULL && i == length && o->name[i] == '\0')
            return o;
    }
    return NULL;
}

bool ypi_option_takes_value(const struct ypi_option *option)
{
    return option->kind != YPI_OPTION_FLAG &&
           (option->kind != YPI_OPTION_OWN || option->value != NULL);
}

/* -- from a text --------------------------------------------------------------------------- */

static bool set_switch(bool *out, const char *text)
{
    *out = ypi_has_word("yes true on 1", text, strlen(text));
    return *out || ypi_has_word("no false off 0", text, strlen(text));
}

static bool set_int(int *out, const struct ypi_option *o, const char *text)
{
    long long n = 0;
    bool ok = ypi_parse_i64(text, &n) && (double)n >= o->min && (double)n <= o->max;
    *out = ok ? (int)n : *out;
    return ok;
}

static bool set_size(size_t *out, const char *text)
{
    uint64_t n = 0;
    bool ok = ypi_parse_u64(text, &n) && n > 0 && n <= SIZE_MAX;
    *out = ok ? (size_t)n : *out;
    return ok;
}

static bool set_real(double *out, const struct ypi_option *o, const char *text)
{
    double value = 0;
    bool is_off = o->off != 0 && strcmp(text, "off") == 0, ok = is_off;
    if (!is_off && ypi_parse_double(text, &value)) {
        is_off = o->zero_is_off && value == 0;
        ok = is_off || (value > 0 && (o->max > 0 ? value <= o->max : isfinite(value)));
    }
    *out = is_off ? o->off : ok ? value : *out;
    return ok;
}

static bool set_choice(int *out, const char *choices, const char *text)
{
    const char *word = NULL;
    size_t length = 0;
    for (int i = 0; ypi_next_word(&choices, &word, &length); i++)
        if (strlen(text) == length && memcmp(text, word, length) == 0) {
            *out = i;
            return true;
        }
    return false;
}

static bool set_text(char **out, const struct ypi_option *o, const char *text)
{
    if ((o->kind == YPI_OPTION_PATH && text[0] == '\0') || (o->check != NULL && !o->check(text)))
        return false;
    free(*out);
    *out = ypi_strdup(text);
    return true;
}

static char *allowed(const struct ypi_option *o)
{
    if (o->allowed != NULL)
        return ypi_strdup(o->allowed);
    switch (o->kind) {
    case YPI_OPTION_SWITCH:
        return ypi_strdup("yes or no");
    case YPI_OPTION_INT:
        return ypi_format("a whole number from %.0f to %.0f", o->min, o->max);
    case YPI_OPTION_SIZE:
        return ypi_strdup("a whole number of 1 at least");
    case YPI_OPTION_WORD64:
        return ypi_strdup("a whole number from 0 to 2^64-1");
    case YPI_OPTION_BYTES:
        return ypi_strdup("a size above 0 such as 64K, 2G (of 1024^3) or 80GB (of 1000^3)");
    case YPI_OPTION_REAL:
        return ypi_format("a number %s 0%s", o->zero_is_off ? "of at least" : "above",
                          o->off != 0 ? ", or off" : "");
    case YPI_OPTION_CHOICE:
        return ypi_join_words(o->choices, "or");
    case YPI_OPTION_PATH:
        return ypi_strdup("the path of a file");
    default:
        return ypi_strdup("another value");
    }
}

char *ypi_option_set(void *values, const struct ypi_option *option, const char *text)
{
    void *at = (char *)values + option->offset;
    bool ok = true;
    switch (option->kind) {
    case YPI_OPTION_FLAG:
        *(bool *)at = true;
        break;
    case YPI_OPTION_SWITCH:
        ok = set_switch(at, text);
        break;
    case YPI_OPTION_INT:
        ok = set_int(at, option, text);
        break;
    case YPI_OPTION_SIZE:
        ok = set_size(at, text);
        break;
    case YPI_OPTION_WORD64:
        ok = ypi_parse_u64(text, at);
        break;
    case YPI_OPTION_BYTES:
        ok = ypi_parse_size(text, at) && *(uint64_t *)at > 0;
        break;
    case YPI_OPTION_REAL:
        ok = set_real(at, option, text);
        break;
    case YPI_OPTION_CHOICE:
        ok = set_choice(at, option->choices, text);
        break;
    case YPI_OPTION_TEXT:
    case YPI_OPTION_PATH:
        ok = set_text(at, option, text);
        break;
    case YPI_OPTION_WORD:
        *(const char **)at = text;
        break;
    case YPI_OPTION_OWN:
        return option->read(values, option, text);
    }
    return ok ? NULL : allowed(option);
}

/* -- to a text ----------------------------------------------------------------------------- */

static char *real_text(double value, const struct ypi_option *o)
{
    char number[32];
    if (o->off != 0 && (value == o->off || value == 0))
        return ypi_strdup("off");
    if (value == 0)
        return ypi_strdup("");
    ypi_print_double(number, value);
    return ypi_strdup(number);
}

static char *choice_text(const char *choices, int place)
{
    const char *word = NULL;
    size_t length = 0;
    for (int i = 0; i <= place; i++)
        ypi_next_word(&choices, &word, &length);
    return ypi_format("%.*s", (int)length, word);
}

char *ypi_option_text(const void *values, const struct ypi_option *option)
{
    const void *at = (const char *)values + option->offset;
    char *own = NULL;
    switch (option->kind) {
    case YPI_OPTION_FLAG:
    case YPI_OPTION_SWITCH:
        return ypi_strdup(*(const bool *)at ? "yes" : "no");
    case YPI_OPTION_INT:
        return ypi_format("%d", *(const int *)at);
    case YPI_OPTION_SIZE:
        return *(const size_t *)at > 0 ? ypi_format("%zu", *(const size_t *)at) : ypi_strdup("");
    case YPI_OPTION_WORD64:
    case YPI_OPTION_BYTES:
        return ypi_format("%" PRIu64, *(const uint64_t *)at);
    case YPI_OPTION_REAL:
        return real_text(*(const double *)at, option);
    case YPI_OPTION_CHOICE:
        return choice_text(option->choices, *(const int *)at);
    case YPI_OPTION_OWN:
        own = option->write != NULL ? option->write(values, option) : NULL;
        return own != NULL ? own : ypi_strdup("");
    default:
        return ypi_strdup(*(char *const *)at != NULL ? *(char *const *)at : "");
    }
}

void ypi_options_free(void *values, const struct ypi_option *table)
{
    for (const struct ypi_option *o = table; !ypi_option_is_end(o); o++)
        if (o->kind == YPI_OPTION_TEXT || o->kind == YPI_OPTION_PATH) {
            char **text = (void *)((char *)values + o->offset);
            free(*text);
            *text = NULL;
        }
}

void ypi_options_print(const struct ypi_option *table, const char *const *titles)
{
    int group = -1;
    for (const struct ypi_option *o = table; !ypi_option_is_end(o); o++) {
        char left[64];
        const char letter[] = {'-', o->letter, '\0'};
        if (o->help == NULL)
            continue;
        if (o->group != group)
            fputs(titles[group = o->group], stdout);
        snprintf(left, sizeof left, "%s%s%s%s%s%s", o->letter != 0 ? letter : "",
                 o->letter != 0 && o->name != NULL ? ", " : "", o->name != NULL ? "--" : "",
                 o->name != NULL ? o->name : "", o->value != NULL ? " " : "",
                 o->value != NULL ? o->value : "");
        printf("  %-26s %s\n", left, o->help);
    }
}

#include "harness/collect/words.h"

#include "base/text/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Where the words come from and which of them is being read. */
struct source {
    const struct ypi_reader *reader;
    const char *name;
    char **words;
    int count;
    int at;
};

/* -- what is wrong ------------------------------------------------------------------------- */

/* Prints the words with a part of the one at hand underlined. Takes over the message. */
static bool complain(const struct source *s, size_t offset, size_t length, char *message)
{
    fprintf(stderr, "error: %s\n  %s: ", message, s->name);
    free(message);
    size_t column = ypi_columns(s->name, strlen(s->name)) + 4;
    for (int i = 0; i < s->count; i++) {
        fprintf(stderr, "%s%s", i > 0 ? " " : "", s->words[i]);
        if (i < s->at)
            column += ypi_columns(s->words[i], strlen(s->words[i])) + 1;
    }
    fputc('\n', stderr);
    const char *marked = s->words[s->at] + offset;
    ypi_underline(column + ypi_columns(s->words[s->at], offset), ypi_columns(marked, length));
    return false;
}

static bool unknown(const struct source *s, size_t length)
{
    char **names = NULL;
    int count = 0;
    for (const struct ypi_option *o = s->reader->table; !ypi_option_is_end(o); o++)
        if (o->name != NULL)
            names = ypi_list_add(names, count++, ypi_format("--%s", o->name));
    char *given = ypi_format("%.*s", (int)length, s->words[s->at]);
    char *near = ypi_did_you_mean(given, (const char *const *)names, count);
    char *message = ypi_format("unknown option '%s'%s; --help lists them all", given, near);
    free(near);
    ypi_list_free(names, count);
    free(given);
    return complain(s, 0, length, message);
}

/* -- one option ---------------------------------------------------------------------------- */

/* Takes the value: the rest of the word, or the next word. `spelled` is the option as it stands. */
static bool take(struct source *s, const struct ypi_option *option, const char *spelled,
                 const char *rest)
{
    const char *value = rest != NULL ? rest : "";
    if (ypi_option_takes_value(option) && rest == NULL) {
        if (s->at + 1 >= s->count)
            return complain(s, 0, strlen(s->words[s->at]), ypi_format("%s needs a value", spelled));
        value = s->words[++s->at];
    }
    char *allowed = ypi_option_set(s->reader->values, option, value);
    if (allowed == NULL && s->reader->given != NULL)
        s->reader->given(s->reader->values, option, value, s->name);
    if (allowed == NULL)
        return true;
    char *message = ypi_format("%s is '%s': allowed is %s", spelled, value, allowed);
    free(allowed);
    return complain(s, (size_t)(value - s->words[s->at]), strlen(value), message);
}

static bool read_long(struct source *s)
{
    const char *word = s->words[s->at];
    size_t length = strcspn(word, "=");
    const char *rest = word[length] == '=' ? word + length + 1 : NULL;
    const struct ypi_option *o = ypi_option_find(s->reader->table, word + 2, length - 2);
    if (length <= 2 || o == NULL || strncmp(o->name, word + 2, length - 2) != 0)
        return unknown(s, length);
    char *spelled = ypi_format("--%s", o->name);
    bool ok =
        ypi_option_takes_value(o) || rest == NULL
            ? take(s, o, spelled, rest)
            : complain(s, length, strlen(word) - length, ypi_format("%s takes no value", spelled));
    free(spelled);
    return ok;
}

static const struct ypi_option *find_letter(const struct ypi_option *table, char letter)
{
    for (const struct ypi_option *o = table; !ypi_option_is_end(o); o++)
        if (o->letter == letter)
            return o;
    return NULL;
}

/* -qv, -m EXPR, -mEXPR. */
static bool read_letters(struct source *s)
{
    const char *word = s->words[s->at];
    for (size_t i = 1; word[i] != '\0'; i++) {
        const struct ypi_option *o = find_letter(s->reader->table, word[i]);
        if (o == NULL)
            return complain(s, i, 1,
                            ypi_format("unknown option '-%c'; --help lists them all", word[i]));
        const char spelled[] = {'-', word[i], '\0'};
        bool takes = ypi_option_takes_value(o);
        bool ok = take(s, o, spelled, takes && word[i + 1] != '\0' ? word + i + 1 : NULL);
        if (!ok || takes)
            return ok;
    }
    return true;
}

/* -- all of them --------------------------------------------------------------------------- */

bool ypi_words_read(const struct ypi_reader *r, const char *source, char **words, int count)
{
    struct source s = {.reader = r, .name = source, .words = words, .count = count};
    bool options_end = false;
    bool ok = true;
    for (; ok && s.at < s.count; s.at++) {
        const char *word = s.words[s.at];
        if (!options_end && strcmp(word, "--") == 0)
            options_end = true;
        else if (!options_end && strncmp(word, "--", 2) == 0)
            ok = read_long(&s);
        else if (!options_end && word[0] == '-' && word[1] != '\0')
            ok = read_letters(&s);
        else
            r->other(r->values, word);
    }
    return ok;
}

/* The next word at *at, NULL at the end; *open: a quote is not closed. */
static char *split(const char **at, bool *open)
{
    static const char blank[] = " \t\r\n";
    struct ypi_text word = {0};
    char quote = '\0';
    *at += strspn(*at, blank);
    if (**at == '\0')
        return NULL;
    for (; **at != '\0' && (quote != '\0' || strchr(blank, **at) == NULL); (*at)++) {
        if (quote == '\0' && (**at == '"' || **at == '\''))
            quote = **at;
        else if (**at == quote)
            quote = '\0';
        else
            ypi_text_bytes(&word, *at, 1);
    }
    *open = quote != '\0';
    return ypi_text_take(&word);
}

bool ypi_words_read_text(const struct ypi_reader *r, const char *source, const char *text)
{
    struct source s = {.name = source};
    bool open = false;
    bool ok = true;
    for (char *word = NULL; ok && (word = split(&text, &open)) != NULL;) {
        s.at = s.count;
        s.words = ypi_list_add(s.words, s.count++, word);
        ok = !open || complain(&s, 0, strlen(word), ypi_strdup("a quote is not closed"));
    }
    ok = ok && ypi_words_read(r, source, s.words, s.count);
    ypi_list_free(s.words, s.count);
    return ok;
}

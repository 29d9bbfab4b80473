#include "base/text/text.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *checked(void *block)
{
    if (block == NULL) {
        fputs("yieldpoint: out of memory\n", stderr);
        abort();
    }
    return block;
}

void *ypi_calloc(size_t count, size_t size)
{
    return checked(calloc(count > 0 ? count : 1, size > 0 ? size : 1));
}

void *ypi_realloc(void *block, size_t count, size_t size)
{
    return checked(reallocarray(block, count > 0 ? count : 1, size));
}

char *ypi_strdup(const char *text)
{
    return checked(strdup(text));
}

char *ypi_vformat(const char *format, va_list arguments)
{
    struct ypi_text text = {0};
    ypi_text_vadd(&text, format, arguments);
    return ypi_text_take(&text);
}

char *ypi_format(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    char *text = ypi_vformat(format, arguments);
    va_end(arguments);
    return text;
}

char **ypi_list_add(char **list, int count, char *text)
{
    list = ypi_realloc(list, (size_t)count + 1, sizeof *list);
    list[count] = text;
    return list;
}

bool ypi_list_has(const char *const *list, int count, const char *text)
{
    for (int i = 0; i < count; i++)
        if (strcmp(list[i], text) == 0)
            return true;
    return false;
}

void ypi_list_free(char **list, int count)
{
    for (int i = 0; i < count; i++)
        free(list[i]);
    free(list);
}

static void reserve(struct ypi_text *text, size_t more)
{
    size_t need = text->length + more + 1;
    if (need <= text->capacity)
        return;
    text->capacity = need > 2 * text->capacity ? need : 2 * text->capacity;
    text->data = ypi_realloc(text->data, text->capacity, 1);
}

void ypi_text_vadd(struct ypi_text *text, const char *format, va_list arguments)
{
    va_list again;
    va_copy(again, arguments);
    int length = vsnprintf(NULL, 0, format, arguments);
    if (length >= 0) {
        reserve(text, (size_t)length);
        vsnprintf(text->data + text->length, (size_t)length + 1, format, again);
        text->length += (size_t)length;
    }
    va_end(again);
}

void ypi_text_add(struct ypi_text *text, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    ypi_text_vadd(text, format, arguments);
    va_end(arguments);
}

void ypi_text_bytes(struct ypi_text *text, const char *bytes, size_t count)
{
    reserve(text, count);
    if (count > 0) /* `bytes` may be NULL */
        memcpy(text->data + text->length, bytes, count);
    text->length += count;
    text->data[text->length] = '\0';
}

void ypi_text_quoted(struct ypi_text *text, const char *argument, bool always)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "_-+=./:,@%";
    if (!always && argument[0] != '\0' && argument[strspn(argument, plain)] == '\0') {
        ypi_text_add(text, "%s", argument);
        return;
    }
    ypi_text_add(text, "'");
    for (; *argument != '\0'; argument++)
        if (*argument == '\'')
            ypi_text_add(text,
                         "'\\''"); /* nothing can be escaped inside quotes: leave, come back */
        else
            ypi_text_bytes(text, argument, 1);
    ypi_text_add(text, "'");
}

void ypi_text_csv(struct ypi_text *text, const char *field)
{
    char *valid = ypi_utf8(field);
    const char *quote = strpbrk(valid, ",\"\r\n") != NULL ? "\"" : "";
    ypi_text_add(text, "%s", quote);
    for (const char *from = valid; *from != '\0';) {
        size_t plain = strcspn(from, "\"");
        bool quoted = from[plain] == '"';
        ypi_text_bytes(text, from, plain);
        ypi_text_bytes(text, "\"\"", quoted ? 2 : 0);
        from += plain + quoted;
    }
    ypi_text_add(text, "%s", quote);
    free(valid);
}

char *ypi_shell_quote(const char *argument)
{
    struct ypi_text text = {0};
    ypi_text_quoted(&text, argument, false);
    return ypi_text_take(&text);
}

char *ypi_text_take(struct ypi_text *text)
{
    reserve(text, 0);
    text->data[text->length] = '\0';
    char *data = text->data;
    *text = (struct ypi_text){0};
    return data;
}

bool ypi_next_word(const char **cursor, const char **word, size_t *length)
{
    static const char blank[] = " \t\n,";
    *word = *cursor + strspn(*cursor, blank);
    *length = strcspn(*word, blank);
    *cursor = *word + *length;
    return *length > 0;
}

bool ypi_has_word(const char *words, const char *word, size_t length)
{
    const char *cursor = words != NULL ? words : "";
    const char *found = NULL;
    size_t n = 0;
    while (ypi_next_word(&cursor, &found, &n))
        if (n == length && memcmp(found, word, n) == 0)
            return true;
    return false;
}

char *ypi_join_words(const char *words, const char *last)
{
    struct ypi_text text = {0};
    const char *word = NULL, *next = NULL;
    size_t length = 0, next_length = 0;
    bool more = ypi_next_word(&words, &next, &next_length);
    while (more) {
        word = next, length = next_length;
        more = ypi_next_word(&words, &next, &next_length);
        if (text.length > 0)
            ypi_text_add(&text, more ? ", " : " %s ", last);
        ypi_text_add(&text, "%.*s", (int)length, word);
    }
    return ypi_text_take(&text);
}

size_t ypi_character(const char *text)
{
    const unsigned char *s = (const unsigned char *)text;
    size_t length = s[0] < 0x80 ? 1 : s[0] < 0xc2 ? 0 : s[0] < 0xe0 ? 2 : s[0] < 0xf0 ? 3 : 4;
    if (length == 0 || s[0] > 0xf4)
        return 0;
    for (size_t i = 1; i < length; i++)
        if ((s[i] & 0xc0) != 0x80)
            return 0;
    if ((s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xed && s[1] > 0x9f) ||
        (s[0] == 0xf0 && s[1] < 0x90) || (s[0] == 0xf4 && s[1] > 0x8f))
        return 0;
    return length;
}

char *ypi_utf8(const char *text)
{
    struct ypi_text whole = {0};
    while (*text != '\0') {
        size_t right = 0, next = 0;
        while (text[right] != '\0' && (next = ypi_character(text + right)) > 0)
            right += next;
        ypi_text_bytes(&whole, text, right);
        text += right;
        if (*text != '\0') {
            ypi_text_bytes(&whole, "\xef\xbf\xbd", 3);
            text++;
        }
    }
    return ypi_text_take(&whole);
}

void ypi_make_printable(char *text)
{
    for (; *text != '\0'; text++)
        if ((unsigned char)*text < ' ' || *text == 0x7f)
            *text = '?';
}

size_t ypi_columns(const char *text, size_t length)
{
    size_t columns = 0;
    for (size_t i = 0; i < length; i++)
        columns += ((unsigned char)text[i] & 0xc0) != 0x80;
    return columns;
}

void ypi_underline(size_t column, size_t length)
{
    fprintf(stderr, "%*s^", (int)column, "");
    for (size_t i = 1; i < length; i++)
        fputc('~', stderr);
    fputc('\n', stderr);
}

enum { LONGEST_COMPARED = 256 };

size_t ypi_distance(const char *a, const char *b)
{
    size_t row[LONGEST_COMPARED];
    size_t na = strlen(a), nb = strlen(b);
    if (nb >= LONGEST_COMPARED)
        return SIZE_MAX;
    for (size_t j = 0; j <= nb; j++)
        row[j] = j;
    for (size_t i = 1; i <= na; i++) {
        size_t diagonal = row[0];
        row[0] = i;
        for (size_t j = 1; j <= nb; j++) {
            size_t change = diagonal + (a[i - 1] != b[j - 1]);
            diagonal = row[j];
            size_t insert = row[j - 1] + 1;
            size_t erase = row[j] + 1;
            row[j] = change < insert ? change : insert;
            row[j] = row[j] < erase ? row[j] : erase;
        }
    }
    return row[nb];
}

const char *ypi_nearest(const char *word, const char *const *names, int count)
{
    const char *best = NULL;
    size_t length = strlen(word);
    size_t least = length / 3 + 1;
    for (int i = 0; i < count; i++) {
        size_t n = strlen(names[i]);
        if (n > length + least || length > n + least)
            continue;
        size_t d = ypi_distance(word, names[i]);
        if (d <= least && (best == NULL || d < least)) {
            least = d;
            best = names[i];
        }
    }
    return best;
}

char *ypi_did_you_mean(const char *word, const char *const *names, int count)
{
    const char *near = ypi_nearest(word, names, count);
    return near != NULL ? ypi_format(", did you mean '%s'?", near) : ypi_strdup("");
}

bool ypi_parse_i64(const char *text, long long *out)
{
    char *end = NULL;
    errno = 0;
    *out = strtoll(text, &end, 10);
    return errno == 0 && end != text && *end == '\0' && !isspace((unsigned char)*text);
}

bool ypi_parse_u64(const char *text, uint64_t *out)
{
    char *end = NULL;
    /* Hexadecimal where it says so; a leading zero alone is not to mean octal. */
    int base = text[0] == '0' && (text[1] == 'x' || text[1] == 'X') ? 16 : 10;
    errno = 0;
    *out = strtoull(text, &end, base);
    return errno == 0 && end != text && *end == '\0' && isdigit((unsigned char)*text);
}

bool ypi_parse_double(const char *text, double *out)
{
    char *end = NULL;
    errno = 0;
    *out = strtod(text, &end);
    /* Too small for a normal number is reported like too large, but is a double all the same. */
    bool fits = errno == 0 || (isfinite(*out) && *out != 0);
    return fits && end != text && *end == '\0' && !isspace((unsigned char)*text);
}

/* The number that stands before a unit of `unit` bytes and blanks. */
static bool parse_before(const char *text, size_t unit, double *out)
{
    size_t length = strlen(text) - unit;
    while (length > 0 && text[length - 1] == ' ')
        length--;
    char *number = ypi_format("%.*s", (int)length, text);
    bool right = ypi_parse_double(number, out);
    free(number);
    return right;
}

bool ypi_parse_part(const char *text, double *out)
{
    size_t length = strlen(text);
    bool percent = length > 0 && text[length - 1] == '%';
    if (!parse_before(text, percent, out))
        return false;
    *out /= percent ? 100 : 1;
    return true;
}

bool ypi_parse_duration(const char *text, double *out)
{
    static const struct {
        char unit;
        double seconds;
    } units[] = {{'s', 1}, {'m', 60}, {'h', 3600}};
    size_t length = strlen(text);
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (length > 0 && text[length - 1] == units[i].unit) {
            if (!parse_before(text, 1, out))
                return false;
            *out *= units[i].seconds;
            return true;
        }
    return ypi_parse_double(text, out);
}

bool ypi_parse_size(const char *text, uint64_t *out)
{
    char *end = NULL;
    errno = 0;
    double value = strtod(text, &end);
    if (errno != 0 || end == text || !isdigit((unsigned char)*text))
        return false;
    const char *units = "KMGT";
    const char *unit = *end != '\0' ? strchr(units, toupper((unsigned char)*end)) : NULL;
    int power = unit != NULL ? (int)(unit - units + 1) : 0;
    end += power > 0;
    bool decimal = strcasecmp(end, "B") == 0;
    if (*end != '\0' && !decimal && (power == 0 || strcasecmp(end, "iB") != 0))
        return false;
    for (int i = 0; i < power; i++)
        value *= decimal ? 1000 : 1024;
    if (!(value < 0x1p63))
        return false;
    *out = (uint64_t)value;
    return true;
}

void ypi_print_double(char out[32], double value)
{
    size_t shortest = 32;
    for (int digits = 1; digits <= 17; digits++) {
        char text[32];
        snprintf(text, sizeof text, "%.*g", digits, value);
        bool last = digits == 17 && shortest == 32; /* NaN is never equal */
        if ((strtod(text, NULL) == value || last) && strlen(text) <= shortest) {
            shortest = strlen(text);
            memcpy(out, text, sizeof text);
        }
    }
}

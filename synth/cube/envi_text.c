#include "synth/cube/envi_text.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define KEY_MAX 64
#define SHOWN 40 /* characters of a wrong value in a message */

static const char *const key_names[YPI_ENVI_KEYS] = {
    [YPI_SAMPLES] = "samples",
    [YPI_LINES] = "lines",
    [YPI_BANDS] = "bands",
    [YPI_HEADER_OFFSET] = "header offset",
    [YPI_DATA_TYPE] = "data type",
    [YPI_INTERLEAVE] = "interleave",
    [YPI_BYTE_ORDER] = "byte order",
    [YPI_COMPRESSION] = "file compression",
    [YPI_MAJOR_FRAME] = "major frame offsets",
    [YPI_MINOR_FRAME] = "minor frame offsets",
    [YPI_WAVELENGTH] = "wavelength",
    [YPI_WAVELENGTH_UNITS] = "wavelength units",
    [YPI_FWHM] = "fwhm",
    [YPI_BBL] = "bbl",
    [YPI_BAND_NAMES] = "band names",
    [YPI_DESCRIPTION] = "description",
    [YPI_IGNORE] = "data ignore value",
    [YPI_SCALE] = "reflectance scale factor",
    [YPI_DEFAULT_BANDS] = "default bands",
    [YPI_GAINS] = "data gain values",
    [YPI_OFFSETS] = "data offset values",
    [YPI_UNITS] = "data units",
    [YPI_CLASSES] = "classes",
    [YPI_CLASS_NAMES] = "class names",
    [YPI_CLASS_LOOKUP] = "class lookup",
};

/* ---- parsing ---- */

struct parser {
    struct ypi_envi_text *out;
    char *at, *end;
    int line;
};

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n' || c == '\v' || c == '\f';
}

/* Removes blanks from both ends, in place. */
static char *trim(char *from, char *to)
{
    while (from < to && is_blank(*from))
        from++;
    while (to > from && is_blank(to[-1]))
        to--;
    *to = '\0';
    return from;
}

/* The key of a name, compared in lower case with one blank for any number of blanks and
 * underscores; YPI_ENVI_KEYS: unknown. */
static enum ypi_envi_key find_key(const char *from, const char *to)
{
    char name[KEY_MAX];
    size_t length = 0;
    for (; from < to; from++) {
        char c = is_blank(*from) || *from == '_' ? ' ' : (char)tolower((unsigned char)*from);
        if (c == ' ' && (length == 0 || name[length - 1] == ' '))
            continue;
        if (length + 1 == sizeof name)
            return YPI_ENVI_KEYS;
        name[length++] = c;
    }
    while (length > 0 && name[length - 1] == ' ')
        length--;
    name[length] = '\0';
    int key = 0;
    while (key < YPI_ENVI_KEYS && strcmp(name, key_names[key]) != 0)
        key++;
    return (enum ypi_envi_key)key;
}

/* The end of the line that begins at `at`; old systems end it with \r alone. */
static char *line_end(char *at, const char *end)
{
    while (at < end && *at != '\n' && *at != '\r')
        at++;
    return at;
}

static void next_line(struct parser *c, char *end)
{
    if (end + 1 < c->end && end[0] == '\r' && end[1] == '\n')
        end++;
    c->at = end < c->end ? end + 1 : end;
    c->line++;
}

static int lines_within(const char *from, const char *to)
{
    int lines = 0;
    for (; from < to; from++)
        lines += *from == '\n' || (*from == '\r' && from[1] != '\n');
    return lines;
}

/* Keys that the values cannot be read without: an empty one is refused, with its line. */
static bool is_needed(enum ypi_envi_key key)
{
    return key == YPI_SAMPLES || key == YPI_LINES || key == YPI_BANDS || key == YPI_DATA_TYPE ||
           key == YPI_INTERLEAVE;
}

/* Keys that only describe the cube, of which the last one counts, as in GDAL. Two different values
 * of another key change what is read. */
static bool is_description(enum ypi_envi_key key)
{
    return key == YPI_DESCRIPTION || key == YPI_BAND_NAMES || key == YPI_UNITS ||
           key == YPI_DEFAULT_BANDS || key == YPI_CLASSES || key == YPI_CLASS_NAMES ||
           key == YPI_CLASS_LOOKUP;
}

/* An empty value says as much as a missing key. */
static enum yp_status keep(struct parser *c, enum ypi_envi_key key, const char *value, int line)
{
    if (key == YPI_ENVI_KEYS || (value[0] == '\0' && !is_needed(key)))
        return YP_OK;
    const char *before = c->out->keys[key].value;
    if (before != NULL && strcasecmp(before, value) != 0 && !is_description(key))
        return yp_set_error(YP_IO,
                            "%s:%d: %s is there again, and in line %d it was another: which one "
                            "counts? remove the other",
                            c->out->path, line, key_names[key], c->out->keys[key].line);
    c->out->keys[key].value = value;
    c->out->keys[key].line = line;
    return YP_OK;
}

/* A value in braces ends at the closing brace; the rest of that line is ignored. */
static enum yp_status parse_braces(struct parser *c, enum ypi_envi_key key, char *brace)
{
    int line = c->line;
    char *close = memchr(brace, '}', (size_t)(c->end - brace));
    if (close == NULL)
        return yp_set_error(YP_IO, "%s:%d: the brace { is not closed to the end of the file",
                            c->out->path, line);
    c->line += lines_within(brace, close);
    next_line(c, line_end(close, c->end));
    return keep(c, key, trim(brace + 1, close), line);
}

static enum yp_status parse_line(struct parser *c)
{
    char *end = line_end(c->at, c->end), *equals = memchr(c->at, '=', (size_t)(end - c->at));
    char *first = c->at;
    while (first < end && is_blank(*first))
        first++;
    if (first == end || *first == ';' || equals == NULL) {
        next_line(c, end);
        return YP_OK;
    }
    enum ypi_envi_key key = find_key(c->at, equals);
    char *value = equals + 1;
    while (value < end && is_blank(*value))
        value++;
    /* The list may begin in the next line. */
    char *brace = value;
    while (brace < c->end && is_blank(*brace))
        brace++;
    if (brace < c->end && *brace == '{') {
        c->line += lines_within(value, brace);
        return parse_braces(c, key, brace);
    }
    int line = c->line;
    next_line(c, end);
    value = trim(value, end);
    return keep(c, key, *value == ';' ? "" : value, line);
}

enum yp_status ypi_envi_parse(struct ypi_envi_text *out, const char *path, char *text,
                              size_t length)
{
    struct parser c = {.out = out, .at = text, .end = text + length, .line = 1};
    *out = (struct ypi_envi_text){.path = path};
    const char *nul = memchr(text, '\0', length);
    if (nul != NULL)
        return yp_set_error(YP_IO, "%s: byte %td is 0: a header is a text", path, nul - text);
    char *first = text + (length >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0 ? 3 : 0);
    char *end = line_end(first, c.end);
    next_line(&c, end);
    const char *word = trim(first, end);
    if (strcasecmp(word, "ENVI") != 0)
        return yp_set_error(YP_IO,
                            "%s:1: the first line is '%.*s': an ENVI header begins with ENVI", path,
                            SHOWN, word);
    enum yp_status status = YP_OK;
    while (status == YP_OK && c.at < c.end)
        status = parse_line(&c);
    return status;
}

/* ---- values ---- */

enum yp_status ypi_envi_value_error(const struct ypi_envi_text *text, enum ypi_envi_key key,
                                    const char *allowed)
{
    const char *value = text->keys[key].value;
    if (value == NULL)
        return yp_set_error(YP_IO, "%s: %s is missing: must be %s", text->path, key_names[key],
                            allowed);
    return yp_set_error(YP_IO, "%s:%d: %s is '%.*s'%s: must be %s", text->path,
                        text->keys[key].line, key_names[key], SHOWN, value,
                        strlen(value) > SHOWN ? "..." : "", allowed);
}

/* Whether only blanks or a comment follow. */
static bool at_end(const char *at)
{
    while (is_blank(*at))
        at++;
    return *at == '\0' || *at == ';';
}

enum yp_status ypi_envi_integer(const struct ypi_envi_text *text, enum ypi_envi_key key,
                                uint64_t least, uint64_t *value)
{
    const char *at = text->keys[key].value;
    char *end = NULL;
    errno = 0;
    unsigned long long read =
        at != NULL && isdigit((unsigned char)*at) ? strtoull(at, &end, 10) : 0;
    if (end != NULL && errno == 0 && at_end(end) && read >= least && read <= INT64_MAX) {
        *value = read;
        return YP_OK;
    }
    return ypi_envi_value_error(text, key,
                                least > 0 ? "a whole number of 1 at least" : "a whole number");
}

enum yp_status ypi_envi_number(const struct ypi_envi_text *text, enum ypi_envi_key key,
                               double *value)
{
    const char *at = text->keys[key].value;
    char *end = NULL;
    double read = at != NULL ? strtod(at, &end) : 0;
    if (end != NULL && end != at && at_end(end)) {
        *value = read;
        return YP_OK;
    }
    return ypi_envi_value_error(text, key, "a number");
}

/* Skips blanks, one comma and comments to the next entry. */
static const char *skip_to_number(const char *at)
{
    for (bool comma = false;; at++) {
        if (*at == ',' && !comma)
            comma = true;
        else if (*at == ';')
            while (at[1] != '\0' && at[1] != '\n' && at[1] != '\r')
                at++;
        else if (!is_blank(*at))
            return at;
    }
}

static const char *first_number(const char *value)
{
    while (is_blank(*value))
        value++;
    return *value == ';' ? skip_to_number(value) : value;
}

size_t ypi_envi_count(const char *value)
{
    size_t count = 0;
    for (const char *at = first_number(value); *at != '\0'; at = skip_to_number(at)) {
        char *end = NULL;
        strtod(at, &end);
        if (end == at)
            return 0;
        at = end;
        count++;
    }
    return count;
}

static enum yp_status wrong_count(const struct ypi_envi_text *text, enum ypi_envi_key key,
                                  size_t there, const char *more, size_t count)
{
    return yp_set_error(YP_IO, "%s:%d: %s has %zu%s entries: must be %zu, one for each band",
                        text->path, text->keys[key].line, key_names[key], there, more, count);
}

/* Writes to `floats` or to `doubles`, whichever is not NULL. */
static enum yp_status read_list(const struct ypi_envi_text *text, enum ypi_envi_key key,
                                size_t count, double factor, float *floats, double *doubles)
{
    const char *value = text->keys[key].value, *at = first_number(value);
    size_t i = 0;
    for (; *at != '\0'; at = skip_to_number(at), i++) {
        char *end = NULL;
        double number = strtod(at, &end);
        if (end == at)
            return yp_set_error(YP_IO, "%s:%d: entry %zu of %s is '%.*s': must be a number",
                                text->path, text->keys[key].line + lines_within(value, at), i + 1,
                                key_names[key], (int)strcspn(at, ",;\r\n"), at);
        at = end;
        if (i == count)
            return wrong_count(text, key, count, " or more", count);
        if (floats != NULL)
            floats[i] = (float)(number * factor);
        else
            doubles[i] = number * factor;
    }
    return i == count ? YP_OK : wrong_count(text, key, i, "", count);
}

enum yp_status ypi_envi_numbers(const struct ypi_envi_text *text, enum ypi_envi_key key,
                                size_t count, double factor, float *values)
{
    return read_list(text, key, count, factor, values, NULL);
}

enum yp_status ypi_envi_doubles(const struct ypi_envi_text *text, enum ypi_envi_key key,
                                size_t count, double *values)
{
    return read_list(text, key, count, 1, NULL, values);
}

enum yp_status ypi_envi_names(const struct ypi_envi_text *text, enum ypi_envi_key key, size_t count,
                              const char **names)
{
    /* The text is a private copy; only the keys point to it as const. */
    char *at = (char *)text->keys[key].value;
    size_t i = 0;
    while (*at != '\0') {
        char *end = at + strcspn(at, ",");
        bool last = *end == '\0';
        char *name = trim(at, end);
        if (last && *name == '\0')
            break;
        if (i == count)
            return wrong_count(text, key, count, " or more", count);
        names[i++] = name;
        at = last ? end : end + 1;
    }
    return i == count ? YP_OK : wrong_count(text, key, i, "", count);
}

/* The header is a Python dictionary of three keys. */
#include "base/system/npy.h"

#include "base/system/file.h"

#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAGIC "\x93NUMPY"
#define PREFIX_MAX 12 /* magic, version, length of the header */
#define HEADER_MAX ((size_t)1 << 20)
#define ALIGNMENT 64

struct header {
    const char *path;
    const char *at; /* the next character of the dictionary */
    bool has_type, has_order, has_shape;
    struct ypi_npy npy;
};

static enum yp_status wrong(const struct header *h, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static enum yp_status wrong(const struct header *h, const char *format, ...)
{
    char what[256];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(what, sizeof what, format, arguments);
    va_end(arguments);
    return yp_set_error(YP_IO, "%s: .npy header: %s", h->path, what);
}

static void skip_blanks(struct header *h)
{
    while (isspace((unsigned char)*h->at))
        h->at++;
}

static bool accept(struct header *h, char c)
{
    skip_blanks(h);
    if (*h->at != c)
        return false;
    h->at++;
    return true;
}

/* A string in quotes of either kind, without escapes; false when there is none. */
static bool parse_quoted(struct header *h, char *out, size_t capacity)
{
    skip_blanks(h);
    char quote = *h->at;
    if (quote != '\'' && quote != '"')
        return false;
    const char *end = strchr(h->at + 1, quote);
    if (end == NULL || (size_t)(end - h->at) > capacity)
        return false;
    memcpy(out, h->at + 1, (size_t)(end - h->at) - 1);
    out[end - h->at - 1] = '\0';
    h->at = end + 1;
    return true;
}

static bool big_endian_machine(void)
{
    const uint16_t one = 1;
    return *(const unsigned char *)&one == 0;
}

static enum yp_status parse_descr(struct header *h)
{
    static const char *const known[] = {"f4", "f8", "u1", "u2", "u4", "u8",
                                        "i1", "i2", "i4", "i8", "b1"};
    char descr[32];
    const char *allowed = "f4, f8, u1, u2, u4, u8, i1, i2, i4, i8 or b1 after < or > (or |)";
    if (!parse_quoted(h, descr, sizeof descr))
        return wrong(h, "descr is %.24s: must be a quoted type: %s", h->at, allowed);
    const char *name = strchr("<>|=", descr[0]) != NULL && descr[0] != '\0' ? descr + 1 : descr;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        size_t size = (size_t)(known[i][1] - '0');
        if (strcmp(name, known[i]) != 0 || (descr[0] == '|' && size > 1))
            continue;
        h->npy.kind = known[i][0];
        h->npy.size = size;
        h->npy.big_endian =
            size > 1 && (descr[0] == '>' || (descr[0] != '<' && big_endian_machine()));
        h->has_type = true;
        return YP_OK;
    }
    return wrong(h, "descr is '%s': must be %s", descr, allowed);
}

static enum yp_status parse_shape(struct header *h)
{
    const char *begin = h->at;
    if (!accept(h, '('))
        return wrong(h, "shape is %.24s: must be a tuple", begin);
    while (!accept(h, ')')) {
        char *end = NULL;
        errno = 0;
        skip_blanks(h);
        uint64_t size = isdigit((unsigned char)*h->at) ? strtoull(h->at, &end, 10) : 0;
        if (end == NULL || errno != 0 || size > INT64_MAX)
            return wrong(h, "shape is %.48s: must be whole numbers", begin);
        if (h->npy.axes == YPI_NPY_AXES)
            return wrong(h, "shape is %.48s: must have %d axes at most", begin, YPI_NPY_AXES);
        h->npy.shape[h->npy.axes++] = size;
        h->at = *end == 'L' ? end + 1 : end; /* as Python 2 wrote them */
        skip_blanks(h);
        if (*h->at != ')' && !accept(h, ','))
            return wrong(h, "shape is %.48s: must be numbers with commas between", begin);
    }
    h->has_shape = true;
    return YP_OK;
}

static enum yp_status parse_fortran(struct header *h)
{
    skip_blanks(h);
    if (strncmp(h->at, "True", 4) == 0)
        h->npy.fortran = true, h->at += 4;
    else if (strncmp(h->at, "False", 5) == 0)
        h->at += 5;
    else
        return wrong(h, "fortran_order is %.24s: must be True or False", h->at);
    h->has_order = true;
    return YP_OK;
}

static enum yp_status parse_entry(struct header *h)
{
    char key[32];
    if (!parse_quoted(h, key, sizeof key) || !accept(h, ':'))
        return wrong(h, "'%.24s': must be a quoted key and a colon", h->at);
    if (strcmp(key, "descr") == 0 && !h->has_type)
        return parse_descr(h);
    if (strcmp(key, "fortran_order") == 0 && !h->has_order)
        return parse_fortran(h);
    if (strcmp(key, "shape") == 0 && !h->has_shape)
        return parse_shape(h);
    return wrong(h, "the key '%s': must be descr, fortran_order and shape, each once", key);
}

static enum yp_status parse_dictionary(struct header *h)
{
    if (!accept(h, '{'))
        return wrong(h, "begins with '%.24s': must be a dictionary", h->at);
    while (!accept(h, '}')) {
        enum yp_status status = parse_entry(h);
        if (status != YP_OK)
            return status;
        skip_blanks(h);
        if (*h->at != '}' && !accept(h, ','))
            return wrong(h, "'%.24s': must be a comma or a closing brace", h->at);
    }
    skip_blanks(h);
    if (*h->at != '\0')
        return wrong(h, "'%.24s' after the dictionary: must be nothing", h->at);
    if (!h->has_type || !h->has_order || !h->has_shape)
        return wrong(h, "%s is missing",
                     !h->has_type    ? "descr"
                     : !h->has_order ? "fortran_order"
                                     : "shape");
    return YP_OK;
}

/* -- reading ----------------------------------------------------------------------------------- */

/* Offset and length of the header's text. */
static enum yp_status read_prefix(int fd, const char *path, uint64_t base, uint64_t *begin,
                                  size_t *length)
{
    unsigned char prefix[PREFIX_MAX] = {0};
    struct header h = {.path = path};
    enum yp_status status = ypi_read_at(fd, path, base, prefix, 10);
    if (status != YP_OK)
        return status;
    unsigned version = prefix[6];
    if (version < 1 || version > 3)
        return wrong(&h, "version %u.%u: must be 1.0, 2.0 or 3.0", version, prefix[7]);
    *begin = base + (version == 1 ? 10 : 12);
    *length = prefix[8] | (size_t)prefix[9] << 8;
    if (version > 1) {
        status = ypi_read_at(fd, path, base + 10, prefix + 10, 2);
        *length |= (size_t)prefix[10] << 16 | (size_t)prefix[11] << 24;
    }
    if (status == YP_OK && *length > HEADER_MAX)
        return wrong(&h, "has %zu bytes: must have %zu at most", *length, HEADER_MAX);
    return status;
}

static enum yp_status parse(struct header *h, char *text, size_t length)
{
    text[length] = '\0';
    if (strlen(text) != length)
        return wrong(h, "byte %zu is 0: must be a text", 10 + strlen(text));
    h->at = text;
    return parse_dictionary(h);
}

enum yp_status ypi_npy_read(int fd, const char *path, struct ypi_npy *out)
{
    return ypi_npy_read_at(fd, path, 0, out);
}

enum yp_status ypi_npy_read_at(int fd, const char *path, uint64_t base, struct ypi_npy *out)
{
    struct header h = {.path = path};
    uint64_t begin = 0;
    size_t length = 0;
    enum yp_status status = read_prefix(fd, path, base, &begin, &length);
    if (status != YP_OK)
        return status;
    char *text = malloc(length + 1);
    if (text == NULL)
        return yp_set_error(YP_OUT_OF_MEMORY, "%s: out of memory for its header", path);
    status = ypi_read_at(fd, path, begin, text, length);
    if (status == YP_OK)
        status = parse(&h, text, length);
    free(text);
    h.npy.offset = begin + length;
    *out = h.npy;
    return status;
}

/* -- writing ----------------------------------------------------------------------------------- */

size_t ypi_npy_text(char *to, size_t capacity, const char *descr, const char *shape)
{
    char text[256];
    int length = snprintf(text, sizeof text,
                          "{'descr': '%s', 'fortran_order': False, 'shape': (%s), }", descr, shape);
    size_t whole = (10 + (size_t)length + 1 + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    if (capacity < whole)
        return whole;
    memset(to, ' ', whole);
    memcpy(to, MAGIC "\x01", 8); /* version 1.0: the string's NUL is the second byte of it */
    to[8] = (char)((whole - 10) & 0xff);
    to[9] = (char)((whole - 10) >> 8);
    memcpy(to + 10, text, (size_t)length);
    to[whole - 1] = '\n';
    return whole;
}

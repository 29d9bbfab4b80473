#include "base/text/xml.h"

#include "base/numbers/fnv1a.h"
#include "base/text/text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* What XML 1.0 has no character for is written as #x1B, as pytest does. */
static bool is_allowed(const char *c, size_t length)
{
    unsigned char first = (unsigned char)*c;
    bool control = first < ' ' && first != '\t' && first != '\n' && first != '\r';
    bool no_character =
        length == 3 && (memcmp(c, "\xef\xbf\xbe", 3) == 0 || memcmp(c, "\xef\xbf\xbf", 3) == 0);
    return length > 0 && !control && first != 127 && !no_character;
}

static void put_escaped(FILE *out, const char *c, size_t length, bool attribute)
{
    if (!is_allowed(c, length))
        for (size_t i = 0; i < (length > 0 ? length : 1); i++)
            fprintf(out, "#x%02X", (unsigned char)c[i]);
    else if (*c == '&')
        fputs("&amp;", out);
    else if (*c == '<')
        fputs("&lt;", out);
    else if (*c == '>')
        fputs("&gt;", out);
    else if (*c == '"' && attribute)
        fputs("&quot;", out);
    else if (*c == '\r' || (attribute && (*c == '\n' || *c == '\t')))
        fprintf(out, "&#%d;", *c); /* a reader would make a blank or a line end of it */
    else
        fwrite(c, 1, length, out);
}

void ypi_xml_put(FILE *out, const char *text, bool attribute)
{
    while (*text != '\0') {
        size_t length = ypi_character(text);
        put_escaped(out, text, length, attribute);
        text += length > 0 ? length : 1;
    }
}

/* Many readers hold an attribute whole and bound it, and a person sees its beginning. */
enum { ATTRIBUTE_MAX = 8192 };

static bool is_long(const char *value)
{
    return strnlen(value, ATTRIBUTE_MAX + 1) > ATTRIBUTE_MAX;
}

/* What is too long ends with its hash, so that two names are never one. */
static char *bounded(const char *value)
{
    size_t kept = 0;
    char hash[33];
    while (kept < ATTRIBUTE_MAX) {
        size_t length = ypi_character(value + kept);
        kept += length > 0 ? length : 1;
    }
    ypi_fnv128(value, hash);
    return ypi_format("%.*s... (%zu bytes, hash %s)", (int)kept, value, strlen(value), hash);
}

void ypi_xml_attribute(FILE *out, const char *name, const char *value)
{
    char *shorter = is_long(value) ? bounded(value) : NULL;
    fprintf(out, " %s=\"", name);
    ypi_xml_put(out, shorter != NULL ? shorter : value, true);
    fputc('"', out);
    free(shorter);
}

void ypi_xml_property(FILE *out, const char *name, const char *part, const char *value)
{
    char *whole = ypi_format("%s%s%s", name, part[0] != '\0' ? " " : "", part);
    fputs("<property", out);
    ypi_xml_attribute(out, "name", whole);
    ypi_xml_attribute(out, "value", value);
    fputs("/>", out);
    free(whole);
}

void ypi_xml_number(FILE *out, const char *name, const char *part, double value)
{
    char text[32];
    if (isnan(value))
        return;
    ypi_print_double(text, value);
    ypi_xml_property(out, name, part, text);
}

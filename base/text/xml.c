#include "base/text/xml.h"

#include "base/text/text.h"

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

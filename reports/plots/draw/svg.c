#include "reports/plots/draw/draw.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define REPLACEMENT "\xEF\xBF\xBD" /* U+FFFD */

/* XML 1.0, section 2.2: no control characters but tab and line ends, no U+FFFE and U+FFFF. */
static bool is_xml(const char *text, size_t length)
{
    const unsigned char c = (unsigned char)*text;
    if (length == 1)
        return c >= 0x20 || c == '\t' || c == '\n' || c == '\r';
    return length != 3 || memcmp(text, "\xEF\xBF\xBE", 2) != 0 || (unsigned char)text[2] < 0xBE;
}

void ypi_svg_escape(struct ypi_text *to, const char *text)
{
    while (*text) {
        size_t length = ypi_character(text);
        if (length == 0 || !is_xml(text, length))
            ypi_text_add(to, REPLACEMENT);
        else if (*text == '&')
            ypi_text_add(to, "&amp;");
        else if (*text == '<')
            ypi_text_add(to, "&lt;");
        else if (*text == '>')
            ypi_text_add(to, "&gt;");
        else if (*text == '"')
            ypi_text_add(to, "&quot;");
        else if (*text == '\'')
            ypi_text_add(to, "&#39;");
        else if (*text == '\r')
            ypi_text_add(to, "&#13;");
        else
            ypi_text_bytes(to, text, length);
        text += length > 0 ? length : 1;
    }
}

/* In parts of the font's size, as DejaVu Sans has them, which is wide. */
static double character_width(const char *c, size_t length)
{
    if (length > 2)
        return 1;
    if (length == 2)
        return 0.7;
    if (strchr(" ijl.,:;|!'I()[]/", *c) != NULL)
        return 0.4;
    if (strchr("frt-", *c) != NULL)
        return 0.42;
    if (strchr("mMWw@%", *c) != NULL)
        return 0.99;
    return *c >= 'A' && *c <= 'Z' ? 0.76 : 0.64;
}

double ypi_svg_width(const char *text, double size)
{
    double width = 0;
    while (*text) {
        size_t length = ypi_character(text);
        width += character_width(text, length > 0 ? length : 3) * size;
        text += length > 0 ? length : 1;
    }
    return width;
}

/* Where the character before `at` begins. */
static const char *before(const char *text, const char *at)
{
    at--;
    while (at > text && ((unsigned char)*at & 0xC0) == 0x80)
        at--;
    return at;
}

char *ypi_svg_shortened(const char *text, double size, double width)
{
    char *whole = ypi_utf8(text);
    if (ypi_svg_width(whole, size) <= width)
        return whole;
    const double each = (width - ypi_svg_width("…", size)) / 2;
    const char *head = whole;
    double used = 0;
    while (*head) {
        size_t length = ypi_character(head);
        used += character_width(head, length) * size;
        if (used > each)
            break;
        head += length;
    }
    const char *tail = whole + strlen(whole);
    while (tail > head) {
        const char *one = before(whole, tail);
        if (ypi_svg_width(one, size) > each)
            break;
        tail = one;
    }
    char *out = ypi_format("%.*s…%s", (int)(head - whole), whole, tail);
    free(whole);
    return out;
}

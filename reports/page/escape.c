#include "reports/page/escape.h"

#include <stdbool.h>
#include <string.h>

#define REPLACEMENT "\xef\xbf\xbd"

/* A line's end and a tab are text; U+0080 to U+009F are controls, too. */
static bool is_control(const char *at)
{
    unsigned char c = (unsigned char)*at;
    return (c < 0x20 && c != '\n' && c != '\t') || c == 0x7f ||
           (c == 0xc2 && (unsigned char)at[1] < 0xa0);
}

static const char *entity(char c)
{
    switch (c) {
    case '&':
        return "&amp;";
    case '<':
        return "&lt;";
    case '>':
        return "&gt;";
    case '"':
        return "&quot;";
    case '\'':
        return "&#39;";
    default:
        return NULL;
    }
}

/* Line and paragraph separator, at which older readers of JavaScript end a line. */
static bool is_separator(const char *at)
{
    return strncmp(at, "\xe2\x80\xa8", 3) == 0 || strncmp(at, "\xe2\x80\xa9", 3) == 0;
}

static const char *escape(const char *at, char made[8])
{
    static const char digits[] = "0123456789abcdef";
    unsigned char c = (unsigned char)*at;
    if (*at == '"')
        return "\\\"";
    if (*at == '\\')
        return "\\\\";
    if (*at == '\n')
        return "\\n";
    if (is_separator(at))
        return at[2] == '\xa8' ? "\\u2028" : "\\u2029";
    if (c != '\t' && c != '<' && c != '>' && c != '&')
        return NULL;
    memcpy(made, "\\u00", 4);
    made[4] = digits[c >> 4];
    made[5] = digits[c & 15];
    made[6] = '\0';
    return made;
}

/* Spans of plain characters are copied at once. */
static void put(struct ypi_text *out, const char *text, bool json)
{
    const char *from = text != NULL ? text : "";
    const char *at = from;
    char made[8];
    while (*at != '\0') {
        size_t length = ypi_character(at);
        const char *instead = length == 0 || is_control(at) ? REPLACEMENT
                              : json                        ? escape(at, made)
                                                            : entity(*at);
        if (instead != NULL) {
            ypi_text_bytes(out, from, (size_t)(at - from));
            ypi_text_bytes(out, instead, strlen(instead));
        }
        at += length > 0 ? length : 1;
        if (instead != NULL)
            from = at;
    }
    ypi_text_bytes(out, from, (size_t)(at - from));
}

void ypi_page_html(struct ypi_text *out, const char *text)
{
    put(out, text, false);
}

static void separate(struct ypi_text *out)
{
    if (out->length > 0 && strchr("[{:,", out->data[out->length - 1]) == NULL)
        ypi_text_bytes(out, ",", 1);
}

void ypi_page_string(struct ypi_text *out, const char *text)
{
    separate(out);
    ypi_text_bytes(out, "\"", 1);
    put(out, text, true);
    ypi_text_bytes(out, "\"", 1);
}

void ypi_page_number(struct ypi_text *out, size_t number)
{
    separate(out);
    ypi_text_add(out, "%zu", number);
}

void ypi_page_open(struct ypi_text *out, char bracket)
{
    separate(out);
    ypi_text_bytes(out, &bracket, 1);
}

void ypi_page_close(struct ypi_text *out, char bracket)
{
    ypi_text_bytes(out, &bracket, 1);
}

void ypi_page_key(struct ypi_text *out, const char *name)
{
    ypi_page_string(out, name);
    ypi_text_bytes(out, ":", 1);
}

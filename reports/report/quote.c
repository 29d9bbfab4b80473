#include "reports/report/quote.h"

#include <stdlib.h>
#include <string.h>

/* The most backquotes in a row. */
static int longest_row(const char *text, size_t length)
{
    int most = 0;
    int row = 0;
    for (size_t i = 0; i < length; i++) {
        row = text[i] == '`' ? row + 1 : 0;
        most = row > most ? row : most;
    }
    return most;
}

/* As much of the text as ends with a whole character. */
static size_t length_of(const char *text, size_t most)
{
    size_t length = strlen(text);
    if (length <= most)
        return length;
    while (most > 0 && ((unsigned char)text[most] & 0xc0) == 0x80)
        most--;
    return most;
}

static void repeat(struct ypi_text *out, char c, int count)
{
    for (int i = 0; i < count; i++)
        ypi_text_bytes(out, &c, 1);
}

static void add_plain(struct ypi_text *out, const char *text, size_t length, bool lines)
{
    for (size_t i = 0; i < length; i++) {
        const unsigned char c = (unsigned char)text[i];
        if (lines && (c == '\n' || c == '\t'))
            ypi_text_bytes(out, &text[i], 1);
        else if (c < ' ' || c == 0x7f)
            ypi_text_add(out, " ");
        else
            ypi_text_bytes(out, &text[i], 1);
    }
}

void ypi_markdown_span(struct ypi_text *out, const char *text, size_t most)
{
    char *clean = ypi_utf8(text);
    const size_t length = length_of(clean, most);
    const int fence = longest_row(clean, length) + 1;
    /* One blank is taken off each end again; without it a backquote would join the fence. */
    const bool padded = length == 0 || fence > 1 || clean[0] == ' ' || clean[length - 1] == ' ';
    repeat(out, '`', fence);
    ypi_text_add(out, "%s", padded ? " " : "");
    add_plain(out, clean, length, false);
    ypi_text_add(out, "%s%s", clean[length] != '\0' ? "..." : "", padded ? " " : "");
    repeat(out, '`', fence);
    free(clean);
}

void ypi_markdown_block(struct ypi_text *out, const char *language, const char *text, size_t most)
{
    char *clean = ypi_utf8(text);
    const size_t length = length_of(clean, most);
    int fence = longest_row(clean, length) + 1;
    fence = fence < 3 ? 3 : fence;
    repeat(out, '`', fence);
    ypi_text_add(out, "%s\n", language);
    add_plain(out, clean, length, true);
    ypi_text_add(out, "%s%s", clean[length] != '\0' ? "..." : "",
                 length > 0 && clean[length - 1] == '\n' && clean[length] == '\0' ? "" : "\n");
    repeat(out, '`', fence);
    ypi_text_add(out, "\n");
    free(clean);
}

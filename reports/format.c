#include "reports/format.h"

#include "base/numbers/slack.h"
#include "base/text/text.h"
#include "harness/history/history.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void ypi_format_share(char out[YPI_FIGURE_MAX], double share)
{
    if (isnan(share))
        snprintf(out, YPI_FIGURE_MAX, "n/a");
    else
        snprintf(out, YPI_FIGURE_MAX, "%+.1f %%", 100 * share);
}

static char *new_figure(void)
{
    static char figures[16][YPI_FIGURE_MAX];
    static unsigned made;
    return figures[made++ % 16];
}

const char *ypi_seconds(double seconds)
{
    char *out = new_figure();
    ypi_format_seconds(out, seconds);
    return out;
}

const char *ypi_seconds_of(const cJSON *object, const char *name)
{
    return ypi_seconds(ypi_real(object, name));
}

const char *ypi_bytes_of(const cJSON *object, const char *name)
{
    char *out = new_figure();
    ypi_format_bytes(out, ypi_real(object, name));
    return out;
}

const char *ypi_rate(double rate, const char *unit)
{
    char *out = new_figure();
    ypi_format_rate(out, rate, unit);
    return out;
}

const char *ypi_plural(long long count)
{
    return count == 1 ? "" : "s";
}

void ypi_format_measurement(char out[YPI_FIGURE_MAX], const cJSON *measurement, double seconds)
{
    double items = ypi_real(measurement, "items");
    double flops = ypi_real(measurement, "flops");
    double bytes = ypi_real(measurement, "bytes");
    if (items > 0)
        ypi_format_rate(out, items / seconds, ypi_text_of(measurement, "unit"));
    else if (flops > 0)
        ypi_format_rate(out, flops / seconds, "FLOP");
    else if (bytes > 0)
        ypi_format_rate(out, bytes / seconds, "B");
    else
        ypi_format_seconds(out, seconds);
}

void ypi_format_part(char out[YPI_FIGURE_MAX], const cJSON *measurement)
{
    const char *bound = ypi_text_of(measurement, "bound");
    double share = ypi_real(measurement, "share");
    *out = '\0';
    if (*bound && share >= YPI_LEAST_SHARE)
        snprintf(out, YPI_FIGURE_MAX, ", %.*g of %.90s", share < 100 ? 2 : 4, share, bound);
}

static bool continues(char c)
{
    return ((unsigned char)c & 0xc0) == 0x80; /* of a character whose first byte went before */
}

int ypi_line_columns(const char *text)
{
    return (int)ypi_columns(text, strcspn(text, "\n"));
}

/* 0x9b and its like begin a command too, as a character of two bytes. */
static bool is_command(const char *text)
{
    unsigned char c = (unsigned char)text[0];
    return c < 0x20 || c == 0x7f || (c == 0xc2 && (unsigned char)text[1] < 0xa0);
}

/* Writes the first `columns` of a line; returns what follows them. */
static const char *put_columns(const char *text, int columns)
{
    for (; *text && *text != '\n'; text++) {
        if (!continues(*text) && columns-- == 0)
            break;
        if (is_command(text)) {
            putchar('?');
            text += (unsigned char)*text == 0xc2;
        } else {
            putchar(*text);
        }
    }
    return text;
}

int ypi_put_line(const char *text, int width)
{
    int all = ypi_line_columns(text);
    bool cut = width > 3 && all > width;
    (void)put_columns(text, cut ? width - 3 : all);
    if (cut)
        fputs("...", stdout);
    return cut ? width : all;
}

/* How many columns to write so that the line ends before a blank, if it must be broken. */
static int break_at(const char *text, int width)
{
    int columns = 0;
    int last = 0;
    int all = ypi_line_columns(text);
    if (all <= width)
        return all;
    for (; *text && columns <= width; text++) {
        if (*text == ' ' && columns > 0)
            last = columns;
        columns += !continues(*text);
    }
    return last ? last : width;
}

static void put_broken(const char *text, int indent, int width)
{
    for (const char *before = ""; *text && *text != '\n'; before = "\n") {
        if (*before)
            printf("%s%*s", before, indent, "");
        text = put_columns(text, break_at(text, width));
        text += *text == ' ';
    }
    putchar('\n');
}

static void put_all(const char *text, int indent, bool first, int width)
{
    while (*text) {
        if (first)
            printf("%*s", indent, "");
        first = true;
        put_broken(text, indent, width);
        text += strcspn(text, "\n");
        text += *text == '\n';
    }
}

void ypi_put_lines(const char *text, int indent)
{
    put_all(text, indent, true, INT_MAX - 1);
}

void ypi_put_text(const char *text, int indent)
{
    if (!*text)
        putchar('\n');
    put_all(text, indent, false, isatty(STDOUT_FILENO) ? YPI_LINE_WIDTH - indent : INT_MAX - 1);
}

void ypi_put_outcome(const char *outcome, int width)
{
    static const char *const good[] = {"passed", "met", NULL};
    static const char *const bad[] = {"failed", "error", "not met", "unmeasured", NULL};
    const char *colour = "33";
    const char *wish = getenv("NO_COLOR");
    bool plain = !isatty(STDOUT_FILENO) || (wish && *wish);
    for (int i = 0; good[i]; i++)
        if (strcmp(outcome, good[i]) == 0)
            colour = "32";
    for (int i = 0; bad[i]; i++)
        if (strcmp(outcome, bad[i]) == 0)
            colour = "31";
    if (plain)
        printf("%-*s", width, outcome);
    else
        printf("\033[%sm%-*s\033[0m", colour, width, outcome);
}

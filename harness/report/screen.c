#include "harness/report/screen.h"

#include "base/text/text.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

/* Narrower ones are taken for a mistake, as pytest does. */
enum { USUAL_COLUMNS = 80, LEAST_COLUMNS = 40 };

static bool is_set(const char *name)
{
    const char *value = getenv(name);
    return value != NULL && value[0] != '\0';
}

static bool is_coloured(bool terminal)
{
    const char *wish = getenv("PY_COLORS");
    const char *kind = getenv("TERM");
    if (wish != NULL && (strcmp(wish, "0") == 0 || strcmp(wish, "1") == 0))
        return wish[0] == '1';
    if (is_set("NO_COLOR"))
        return false;
    return is_set("FORCE_COLOR") || (terminal && (kind == NULL || strcmp(kind, "dumb") != 0));
}

static int columns_of(int fd)
{
    struct winsize size = {0};
    const char *told = getenv("COLUMNS");
    long long columns = 0;
    if (told == NULL || !ypi_parse_i64(told, &columns) || columns <= 0)
        columns = ioctl(fd, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
    return columns < LEAST_COLUMNS || columns > 10000 ? USUAL_COLUMNS : (int)columns;
}

void ypi_screen_open(struct ypi_screen *s, FILE *out, enum ypi_colouring how)
{
    bool terminal = isatty(fileno(out)) == 1;
    *s = (struct ypi_screen){.out = out,
                             .columns = columns_of(fileno(out)),
                             .terminal = terminal,
                             .coloured = how == YPI_COLOUR_AUTO ? is_coloured(terminal)
                                                                : how == YPI_COLOUR_YES};
}

const char *ypi_colour(const struct ypi_screen *s, enum ypi_colour colour)
{
    static const char *const begins[] = {
        [YPI_PLAIN] = "",       [YPI_BOLD] = "\033[1m",    [YPI_GREEN] = "\033[32m",
        [YPI_RED] = "\033[31m", [YPI_YELLOW] = "\033[33m", [YPI_MAGENTA] = "\033[35m",
        [YPI_CYAN] = "\033[36m"};
    return s->coloured ? begins[colour] : "";
}

const char *ypi_colour_end(const struct ypi_screen *s)
{
    return s->coloured ? "\033[0m" : "";
}

/* Without what begins and ends colours. */
static int visible_columns(const char *text)
{
    int columns = 0;
    while (*text != '\0') {
        size_t plain = strcspn(text, "\033");
        columns += (int)ypi_columns(text, plain);
        text += plain;
        text += *text == '\033' ? strcspn(text, "m") : 0;
        text += *text == 'm';
    }
    return columns;
}

static void repeat(FILE *to, char with, int times)
{
    for (int i = 0; i < times; i++)
        fputc(with, to);
}

void ypi_screen_rule(const struct ypi_screen *s, FILE *to, char with, enum ypi_colour colour,
                     const char *title)
{
    int space = s->columns - visible_columns(title) - 2;
    int left = space > 2 ? space / 2 : 1;
    int right = space > 2 ? space - left : 1;
    bool coloured = s->coloured && colour != YPI_PLAIN;
    const char *end = coloured ? ypi_colour_end(s) : "";
    fputs(coloured ? ypi_colour(s, colour) : "", to);
    repeat(to, with, left);
    fprintf(to, " %s%s ", title, coloured ? ypi_colour(s, colour) : "");
    repeat(to, with, right);
    fprintf(to, "%s\n", end);
}

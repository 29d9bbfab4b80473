#include "harness/record/reproduce.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool is_plain(const char *argument)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "_-+=./:,@%";
    return *argument != '\0' && argument[strspn(argument, plain)] == '\0';
}

static void write_quoted(FILE *out, const char *argument)
{
    fputc('\'', out);
    for (; *argument; argument++) {
        if (*argument == '\'')
            fputs("'\\''", out); /* nothing can be escaped inside quotes: leave them, come back */
        else
            fputc(*argument, out);
    }
    fputc('\'', out);
}

static void write_argument(FILE *out, const char *argument)
{
    if (is_plain(argument))
        fputs(argument, out);
    else
        write_quoted(out, argument);
}

static char *finish(FILE *out, char **text)
{
    bool failed = ferror(out) != 0;
    if (fclose(out) != 0 || failed) {
        free(*text);
        return NULL;
    }
    return *text;
}

char *ypi_shell_quote(const char *argument)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    if (!out)
        return NULL;
    write_argument(out, argument);
    return finish(out, &text);
}

char *ypi_reproduce(const char *program, const char *id, uint64_t seed, const char *const *extra,
                    int extra_count)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    if (!out)
        return NULL;
    write_argument(out, program);
    fputc(' ', out);
    write_quoted(out, id); /* always: a reader then sees where the id ends */
    fprintf(out, " --seed %" PRIu64, seed);
    for (int i = 0; i < extra_count; i++) {
        fputc(' ', out);
        write_argument(out, extra[i]);
    }
    return finish(out, &text);
}

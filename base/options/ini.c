#include "base/options/ini.h"

#include "base/text/text.h"

#include <ctype.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct reading {
    const char *path;
    char *text; /* the line read last */
    size_t size;
    int line;
    char *section; /* "" before the first */
    bool wrong;
    ypi_ini_take_line *take;
    void *arg;
    /* Not handed over yet: the next line may be a part of it. `section` is NULL: none. */
    struct {
        char *section, *name, *value;
        int line;
    } entry;
};

static void tell(struct reading *r, int line, const char *message)
{
    fprintf(stderr, "error: %s:%d: %s\n", r->path, line, message);
    r->wrong = true;
}

static void hand_over(struct reading *r)
{
    if (r->entry.section == NULL)
        return;
    char *message = r->take(r->arg, r->entry.line, r->entry.section, r->entry.name, r->entry.value);
    if (message != NULL)
        tell(r, r->entry.line, message);
    free(message);
    free(r->entry.section);
    free(r->entry.name);
    free(r->entry.value);
    r->entry.section = NULL;
}

/* -- a line -------------------------------------------------------------------------------- */

static bool is_blank(char c)
{
    return isspace((unsigned char)c) != 0;
}

/* Where one of `ends` stands first, or a comment begins behind a blank with one of `marks`, or the
 * text ends. */
static size_t length_to(const char *text, const char *ends, const char *marks)
{
    size_t length = 0;
    while (text[length] != '\0' && strchr(ends, text[length]) == NULL &&
           (length == 0 || strchr(marks, text[length]) == NULL || !is_blank(text[length - 1])))
        length++;
    return length;
}

/* Without blanks around it. The caller frees. */
static char *copy_of(const char *text, size_t length)
{
    while (length > 0 && is_blank(text[0]))
        text++, length--;
    while (length > 0 && is_blank(text[length - 1]))
        length--;
    return ypi_format("%.*s", (int)length, text);
}

/* Up to a comment. */
static char *value_of(const char *text)
{
    return copy_of(text, length_to(text, "", ";"));
}

static void go_on(struct reading *r, const char *text)
{
    char *before = r->entry.value;
    char *more = value_of(text);
    r->entry.value = ypi_format("%s%s%s", before, before[0] != '\0' ? " " : "", more);
    free(before);
    free(more);
}

/* Up to the last `]`. */
static bool begin_section(struct reading *r, const char *text)
{
    size_t length = length_to(text, "", ";#");
    while (length > 0 && text[length - 1] != ']')
        length--;
    if (length == 0)
        return false;
    hand_over(r);
    free(r->section);
    r->section = ypi_format("%.*s", (int)length - 2, text + 1);
    char *message = r->take(r->arg, r->line, r->section, NULL, NULL);
    if (message != NULL)
        tell(r, r->line, message);
    free(message);
    return true;
}

static bool begin_entry(struct reading *r, const char *text)
{
    size_t length = length_to(text, "=:", ";");
    if (text[length] != '=' && text[length] != ':')
        return false;
    hand_over(r);
    r->entry.section = ypi_strdup(r->section);
    r->entry.name = copy_of(text, length);
    r->entry.value = value_of(text + length + 1);
    r->entry.line = r->line;
    return true;
}

static void read_line(struct reading *r)
{
    static const char mark[] = "\xef\xbb\xbf"; /* of UTF-8, before the first line */
    const char *at = r->text;
    const bool indented = is_blank(at[0]);
    if (r->line == 1 && strncmp(at, mark, sizeof mark - 1) == 0)
        at += sizeof mark - 1;
    while (is_blank(*at))
        at++;
    if (*at == '\0' || *at == ';' || *at == '#')
        return;
    if (indented && r->entry.section != NULL) {
        go_on(r, at);
    } else if (*at == '[' ? !begin_section(r, at) : !begin_entry(r, at)) {
        hand_over(r); /* what is wrong with it comes first */
        tell(r, r->line, "not a [section], a name = value or a comment");
    }
}

/* `file` is closed; NULL: errno says why. */
static enum ypi_ini read_stream(FILE *file, const char *path, ypi_ini_take_line *take, void *arg)
{
    struct reading r = {.path = path, .section = ypi_strdup(""), .take = take, .arg = arg};
    for (ssize_t got = 0; file != NULL && (got = getline(&r.text, &r.size, file)) >= 0;) {
        r.line++;
        if (strlen(r.text) < (size_t)got)
            tell(&r, r.line, "a byte of it is 0: not a text");
        read_line(&r);
    }
    const bool unreadable = file == NULL || ferror(file) != 0;
    if (unreadable)
        fprintf(stderr, "error: %s: %s\n", path, strerror(errno));
    hand_over(&r);
    if (file != NULL)
        fclose(file);
    free(r.section);
    free(r.text);
    return unreadable ? YPI_INI_UNREADABLE : r.wrong ? YPI_INI_WRONG : YPI_INI_OK;
}

enum ypi_ini ypi_ini_read_lines(const char *path, ypi_ini_take_line *take, void *arg)
{
    return read_stream(fopen(path, "re"), path, take, arg);
}

enum ypi_ini ypi_ini_read_text(const char *path, const char *text, size_t length,
                               ypi_ini_take_line *take, void *arg)
{
    return length == 0
               ? YPI_INI_OK
               : read_stream(fmemopen((char *)(uintptr_t)text, length, "r"), path, take, arg);
}

struct plain {
    ypi_ini_take *take;
    void *arg;
};

static char *take_entry(void *arg, int line, const char *section, const char *name,
                        const char *value)
{
    const struct plain *plain = arg;
    (void)line;
    return name != NULL ? plain->take(plain->arg, section, name, value) : NULL;
}

enum ypi_ini ypi_ini_read(const char *path, ypi_ini_take *take, void *arg)
{
    struct plain plain = {take, arg};
    return ypi_ini_read_lines(path, take_entry, &plain);
}

bool ypi_ini_section_is_anothers(const char *section, const char *const *own, int count)
{
    for (int i = 0; i < count; i++)
        if (ypi_distance(section, own[i]) <= strlen(own[i]) / 4)
            return false;
    return section[0] != '\0';
}

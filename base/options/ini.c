#include "base/options/ini.h"

#include "base/text/text.h"

#include <ctype.h>
#include <errno.h>
#include <ini.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct reading {
    const char *path;
    FILE *file;
    char *text; /* the line read last, whole */
    size_t size;
    int line;
    bool continues; /* it is indented, so perhaps a part of the value before */
    char *section;  /* "" before the first */
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

/* inih wants non-zero for "handled"; an error is remembered instead, so that all are reported. A
 * line that continues a value comes under that value's name. */
static int handle(void *user, const char *section, const char *name, const char *value)
{
    struct reading *r = user;
    (void)section; /* cut short by inih */
    if (r->continues && r->entry.section != NULL && strcmp(name, r->entry.name) == 0) {
        char *before = r->entry.value;
        r->entry.value = ypi_format("%s%s%s", before, before[0] != '\0' ? " " : "", value);
        free(before);
        return 1;
    }
    hand_over(r);
    r->entry.section = ypi_strdup(r->section);
    r->entry.name = ypi_strdup(name);
    r->entry.value = ypi_strdup(value);
    r->entry.line = r->line;
    return 1;
}

/* Where a comment begins behind other text, or the line ends. */
static size_t without_comment(const char *text)
{
    size_t length = 0;
    while (text[length] != '\0' && (length == 0 || strchr(";#", text[length]) == NULL ||
                                    isspace((unsigned char)text[length - 1]) == 0))
        length++;
    return length;
}

/* Sections are read here: inih would take the first `]` for the end of one, and cut its name. */
static bool begins_section(struct reading *r)
{
    static const char mark[] = "\xef\xbb\xbf"; /* of UTF-8, before the first line */
    const char *at = r->text;
    if (r->line == 1 && strncmp(at, mark, sizeof mark - 1) == 0)
        at += sizeof mark - 1;
    at += strspn(at, " \t");
    size_t length = without_comment(at);
    while (length > 0 && at[length - 1] != ']')
        length--;
    if (at[0] != '[' || length == 0 || (r->continues && r->entry.section != NULL))
        return false;
    hand_over(r);
    free(r->section);
    r->section = ypi_format("%.*s", (int)length - 2, at + 1);
    char *message = r->take(r->arg, r->line, r->section, NULL, NULL);
    if (message != NULL)
        tell(r, r->line, message);
    free(message);
    return true;
}

/* inih would cut a line at the end of its buffer and take the rest for a line of its own. */
static char *read_line(char *line, int capacity, void *user)
{
    struct reading *r = user;
    if (getline(&r->text, &r->size, r->file) < 0)
        return NULL;
    r->line++;
    r->continues = isspace((unsigned char)r->text[0]) != 0;
    bool section = begins_section(r);
    if (!section && strcspn(r->text, "\n") > (size_t)capacity - 1) {
        char *message = ypi_format("the line is longer than %d bytes: a value may go on in the "
                                   "next line, indented",
                                   capacity - 1);
        tell(r, r->line, message);
        free(message);
    }
    snprintf(line, (size_t)capacity, "%s", section ? "[]" : r->text);
    return line;
}

/* `file` is closed; NULL: errno says why. */
static enum ypi_ini read_stream(FILE *file, const char *path, ypi_ini_take_line *take, void *arg)
{
    struct reading r = {
        .path = path, .section = ypi_strdup(""), .take = take, .arg = arg, .file = file};
    int line = r.file != NULL ? ini_parse_stream(read_line, &r, handle, &r) : -1;
    if (line < 0 || ferror(r.file) != 0) {
        fprintf(stderr, "error: %s: %s\n", path, strerror(errno));
        line = -1;
    }
    hand_over(&r);
    if (line > 0)
        tell(&r, line, "not a [section], a name = value or a comment");
    if (r.file != NULL)
        fclose(r.file);
    free(r.section);
    free(r.text);
    return line < 0 ? YPI_INI_UNREADABLE : r.wrong ? YPI_INI_WRONG : YPI_INI_OK;
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

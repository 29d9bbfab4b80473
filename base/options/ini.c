#include "base/options/ini.h"

#include "base/text/text.h"

#include <ctype.h>
#include <errno.h>
#include <ini.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct reading {
    const char *path;
    FILE *file;
    int line;       /* read last */
    bool continues; /* it is indented, so perhaps a part of the value before */
    bool wrong;
    ypi_ini_take *take;
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
    char *message = r->take(r->arg, r->entry.section, r->entry.name, r->entry.value);
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
    if (r->continues && r->entry.section != NULL && strcmp(section, r->entry.section) == 0 &&
        strcmp(name, r->entry.name) == 0) {
        char *before = r->entry.value;
        r->entry.value = ypi_format("%s%s%s", before, before[0] != '\0' ? " " : "", value);
        free(before);
        return 1;
    }
    hand_over(r);
    r->entry.section = ypi_strdup(section);
    r->entry.name = ypi_strdup(name);
    r->entry.value = ypi_strdup(value);
    r->entry.line = r->line;
    return 1;
}

/* inih would cut a line at the end of its buffer and take the rest for a line of its own. */
static char *read_line(char *line, int capacity, void *user)
{
    struct reading *r = user;
    if (fgets(line, capacity, r->file) == NULL)
        return NULL;
    r->line++;
    r->continues = isspace((unsigned char)line[0]) != 0;
    int next = strchr(line, '\n') != NULL ? '\n' : getc(r->file);
    if (next != '\n' && next != EOF) {
        char *message = ypi_format("the line is longer than %d bytes: a value may go on in the "
                                   "next line, indented",
                                   capacity - 1);
        tell(r, r->line, message);
        free(message);
    }
    while (next != '\n' && next != EOF)
        next = getc(r->file);
    return line;
}

enum ypi_ini ypi_ini_read(const char *path, ypi_ini_take *take, void *arg)
{
    struct reading r = {.path = path, .take = take, .arg = arg, .file = fopen(path, "r")};
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
    return line < 0 ? YPI_INI_UNREADABLE : r.wrong ? YPI_INI_WRONG : YPI_INI_OK;
}

bool ypi_ini_section_is_anothers(const char *section, const char *const *own, int count)
{
    for (int i = 0; i < count; i++)
        if (ypi_distance(section, own[i]) <= strlen(own[i]) / 4)
            return false;
    return section[0] != '\0';
}

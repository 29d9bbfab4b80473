#include "harness/collect/config.h"

#include "base/text.h"

#include <errno.h>
#include <ini.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct reading {
    struct ypi_options *o;
    char **options;
    const char *path;
    FILE *file;
    int line; /* read last */
    bool failed;
};

static void register_tag(struct ypi_options *o, const char *name, const char *help)
{
    if (ypi_is_tag(o, name, strlen(name)))
        return;
    size_t room = (size_t)o->tag_count + 1;
    o->tags = ypi_realloc(o->tags, room, sizeof *o->tags);
    o->tag_help = ypi_realloc(o->tag_help, room, sizeof *o->tag_help);
    o->tags[o->tag_count] = ypi_strdup(name);
    o->tag_help[o->tag_count++] = ypi_strdup(help);
}

static void register_built_in(struct ypi_options *o)
{
    static const char *const built_in[][2] = {
        {"stress", "stays right and inside its memory as the scale grows"},
        {"perf", "speed over sizes, batches, precisions"},
        {"small", "seconds: every build"},
        {"medium", "up to a minute: every merge"},
        {"large", "true sizes: nightly"},
        {"xl", "beyond memory: by hand"},
        {"slow", "left out of a gate by -m \"not slow\""},
        {"gpu", "needs a GPU; every case of a cuda device carries it"},
    };
    for (size_t i = 0; i < sizeof built_in / sizeof built_in[0]; i++)
        register_tag(o, built_in[i][0], built_in[i][1]);
}

static bool is_tag_name(const char *name)
{
    size_t plain = strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_");
    return plain > 0 && name[plain] == '\0' && strcmp(name, "and") != 0 &&
           strcmp(name, "or") != 0 && strcmp(name, "not") != 0;
}

static void refuse(struct reading *r, const char *what, const char *section, const char *name)
{
    fprintf(stderr, "error: %s:%d: %s, at '%s' in [%s]\n", r->path, r->line, what, name, section);
    r->failed = true;
}

static void take_history(struct reading *r, const char *value)
{
    if (value[0] == '\0') {
        refuse(r, "history is empty: allowed is the path of a file", "yieldpoint", "history");
        return;
    }
    free(r->o->history);
    r->o->history = value[0] == '/' ? ypi_strdup(value) : ypi_format("%s/%s", r->o->root, value);
}

/* A value that goes on in an indented line comes again under its name. */
static void take_options(struct reading *r, const char *value)
{
    char *before = *r->options;
    *r->options = before != NULL ? ypi_format("%s %s", before, value) : ypi_strdup(value);
    free(before);
}

/* inih wants non-zero for "handled"; a refusal is remembered instead, so that all are told. */
static int handle(void *user, const char *section, const char *name, const char *value)
{
    struct reading *r = user;
    if (strcmp(section, "tags") == 0) {
        if (!is_tag_name(name))
            refuse(r, "a tag is letters, digits and _, and not 'and', 'or' or 'not'", section,
                   name);
        else
            register_tag(r->o, name, value);
    } else if (strcmp(section, "yieldpoint") == 0 && strcmp(name, "options") == 0) {
        take_options(r, value);
    } else if (strcmp(section, "yieldpoint") == 0 && strcmp(name, "history") == 0) {
        take_history(r, value);
    } else if (strcmp(section, "synth") != 0) { /* which `yieldpoint synth` reads */
        refuse(r, "known are [yieldpoint] options, history and any name in [tags]", section, name);
    }
    return 1;
}

/* inih would cut a line at the end of its buffer and take the rest for a line of its own. */
static char *read_line(char *line, int room, void *user)
{
    struct reading *r = user;
    if (fgets(line, room, r->file) == NULL)
        return NULL;
    r->line++;
    int next = strchr(line, '\n') != NULL ? '\n' : getc(r->file);
    if (next != '\n' && next != EOF) {
        fprintf(stderr,
                "error: %s:%d: the line is longer than %d bytes: a value may go on in the next "
                "line, indented\n",
                r->path, r->line, room - 1);
        r->failed = true;
    }
    while (next != '\n' && next != EOF)
        next = getc(r->file);
    return line;
}

/* The nearest directory upwards that holds `file`; NULL: none. */
static char *holder(const char *start, const char *file)
{
    char *directory = ypi_strdup(start);
    for (;;) {
        char *path = ypi_format("%s/%s", directory, file);
        bool there = access(path, F_OK) == 0;
        free(path);
        char *slash = strrchr(directory, '/');
        if (there || slash == NULL || directory[0] == '\0') {
            if (there)
                return directory;
            free(directory);
            return NULL;
        }
        *slash = '\0';
    }
}

bool ypi_config_read(struct ypi_options *o, char **options)
{
    char *here = getcwd(NULL, 0);
    const char *start = here != NULL ? here : ".";
    o->root = holder(start, "yieldpoint.ini");
    bool has_file = o->root != NULL;
    if (o->root == NULL)
        o->root = holder(start, ".git");
    if (o->root == NULL)
        o->root = ypi_strdup(start);
    free(here);

    register_built_in(o);
    if (!has_file)
        return true;
    char *path = ypi_format("%s/yieldpoint.ini", o->root);
    struct reading reading = {.o = o, .options = options, .path = path, .file = fopen(path, "r")};
    int line = reading.file != NULL ? ini_parse_stream(read_line, &reading, handle, &reading) : -1;
    if (reading.file != NULL && ferror(reading.file))
        line = -1;
    if (line > 0)
        fprintf(stderr, "error: %s:%d: not a [section], a name = value or a comment\n", path, line);
    else if (line < 0)
        fprintf(stderr, "error: %s: %s\n", path, strerror(errno));
    if (reading.file != NULL)
        fclose(reading.file);
    free(path);
    return line == 0 && !reading.failed;
}

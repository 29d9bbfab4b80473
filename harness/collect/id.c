/* Ids and tags of cases. */
#include "harness/collect/internal.h"

#include "base/text/text.h"
#include "harness/collect/tags.h"
#include "harness/vocabulary/axis.h"

#include <stdlib.h>
#include <string.h>

/* Behind the last `directory` of the path; NULL when it goes through none. */
static const char *behind(const char *file, const char *directory)
{
    const char *found = NULL;
    for (const char *at = file; (at = strstr(at, directory)) != NULL; at++)
        if (at == file || at[-1] == '/')
            found = at + strlen(directory);
    return found;
}

const char *ypi_test_path(const char *file)
{
    const char *suite = behind(file, "suites/");
    if (suite != NULL)
        return suite;
    const char *tests = behind(file, "tests/");
    if (tests != NULL)
        return tests - strlen("tests/");
    while (strncmp(file, "./", 2) == 0 || strncmp(file, "../", 3) == 0)
        file = strchr(file, '/') + 1;
    return file;
}

/* Everything with a meaning in an id is written as %xx inside a value; not a `-`, since what
 * follows one is an axis only where a `=` stands behind it, nor a `:`, which means something in
 * front of the bracket only. */
static void add_escaped(struct ypi_text *id, const char *value)
{
    for (const char *c = value; *c != '\0'; c++) {
        unsigned char byte = (unsigned char)*c;
        if (strchr("[]%=", *c) != NULL || byte <= ' ' || byte == 127)
            ypi_text_add(id, "%%%02x", byte);
        else
            ypi_text_bytes(id, c, 1);
    }
}

char *ypi_id_escape(const char *value)
{
    struct ypi_text id = {0};
    add_escaped(&id, value);
    return ypi_text_take(&id);
}

static void add_setting(struct ypi_text *id, const struct ypi_setting *s)
{
    char *value = ypi_setting_text(s);
    add_escaped(id, s->axis);
    ypi_text_add(id, "=");
    add_escaped(id, value);
    free(value);
}

char *ypi_make_id(const struct yp_case *c)
{
    struct ypi_text id = {0};
    ypi_text_add(&id, "%s::%s", ypi_test_path(c->test->file), c->test->name);
    const char *before = "[";
    if (c->decl != NULL) {
        ypi_text_add(&id, "%s", before);
        add_escaped(&id, c->decl->name);
        before = "-";
    }
    for (int pass = 0; pass < 2; pass++) /* parameters belong to the name in front of them */
        for (int i = 0; i < c->setting_count; i++) {
            const struct ypi_setting *s = &c->settings[i];
            if (s->parameter ? pass == 1 || !s->given : pass == 0)
                continue;
            ypi_text_add(&id, "%s", before);
            add_setting(&id, s);
            before = "-";
        }
    if (c->device[0] != '\0') {
        ypi_text_add(&id, "%s%s", before, c->device);
        before = "-";
    }
    if (before[0] == '-')
        ypi_text_add(&id, "]");
    return ypi_text_take(&id);
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

char *ypi_make_tags(const struct yp_case *c, const struct ypi_options *o)
{
    bool named = c->decl != NULL && ypi_is_tag(o, c->decl->name, strlen(c->decl->name));
    const struct ypi_device_kind *kind = ypi_device_kind(c->device);
    char *all = ypi_format("%s %s %s %s %s", c->test->tags != NULL ? c->test->tags : "",
                           c->decl != NULL && c->decl->tags != NULL ? c->decl->tags : "",
                           named ? c->decl->name : "", kind != NULL ? kind->tag : "",
                           ypi_ranks(c) > 1 ? "ranks" : "");
    char **words = NULL;
    int count = 0;
    const char *cursor = all;
    const char *word = NULL;
    size_t length = 0;
    while (ypi_next_word(&cursor, &word, &length))
        words = ypi_list_add(words, count++, ypi_format("%.*s", (int)length, word));
    if (count > 0)
        qsort(words, (size_t)count, sizeof *words, by_text);
    struct ypi_text tags = {0};
    for (int i = 0; i < count; i++)
        if (i == 0 || strcmp(words[i], words[i - 1]) != 0)
            ypi_text_add(&tags, "%s%s", tags.length > 0 ? " " : "", words[i]);
    ypi_list_free(words, count);
    free(all);
    return ypi_text_take(&tags);
}

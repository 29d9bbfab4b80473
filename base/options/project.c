#include "base/options/project.h"

#include "base/options/ini.h"
#include "base/text/text.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char *below(const char *directory, const char *path)
{
    return ypi_format("%s/%s", strcmp(directory, "/") == 0 ? "" : directory, path);
}

char *ypi_nearest_above(const char *file)
{
    char *here = getcwd(NULL, 0);
    char *found = ypi_nearest_from(here != NULL ? here : ".", file);
    free(here);
    return found;
}

char *ypi_nearest_from(const char *from, const char *file)
{
    char *directory = ypi_strdup(from);
    for (;;) {
        char *path = below(directory, file);
        char *slash = strrchr(directory, '/');
        bool found = access(path, F_OK) == 0;
        if (found || slash == NULL || directory[1] == '\0') {
            free(directory);
            if (found)
                return path;
            free(path);
            return NULL;
        }
        free(path);
        slash[slash == directory] = '\0';
    }
}

/* The directory that holds `path`, which is taken over. */
static char *directory_of(char *path)
{
    char *slash = path != NULL ? strrchr(path, '/') : NULL;
    if (slash != NULL)
        slash[slash == path] = '\0';
    return path;
}

static bool is_tag_name(const char *name)
{
    size_t plain = strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_");
    return plain > 0 && name[plain] == '\0' && strcmp(name, "and") != 0 &&
           strcmp(name, "or") != 0 && strcmp(name, "not") != 0;
}

static void add_tag(struct ypi_project *p, const char *name, const char *help)
{
    p->tags = ypi_list_add(p->tags, p->tag_count, ypi_strdup(name));
    p->tag_help = ypi_list_add(p->tag_help, p->tag_count++, ypi_strdup(help));
}

static char *refusal(const char *what, const char *section, const char *name)
{
    return ypi_format("%s, at '%s' in [%s]", what, name, section);
}

static char *take(void *arg, const char *section, const char *name, const char *value)
{
    static const char *const own[] = {"yieldpoint", "tags"};
    struct ypi_project *p = arg;
    bool general = strcmp(section, "yieldpoint") == 0;
    if (strcmp(section, "tags") == 0) {
        if (!is_tag_name(name))
            return refusal("a tag is letters, digits and _, and not 'and', 'or' or 'not'", section,
                           name);
        add_tag(p, name, value);
    } else if (general && strcmp(name, "options") == 0) {
        char *before = p->options;
        p->options = before != NULL ? ypi_format("%s %s", before, value) : ypi_strdup(value);
        free(before);
    } else if (general && strcmp(name, "history") == 0) {
        if (value[0] == '\0')
            return refusal("history is empty: allowed is the path of a file", section, name);
        free(p->history);
        p->history = value[0] == '/' ? ypi_strdup(value) : below(p->root, value);
    } else if (!ypi_ini_section_is_anothers(section, own, 2)) {
        return refusal("known are [yieldpoint] options, history and any name in [tags]", section,
                       name);
    }
    return NULL;
}

bool ypi_project_read(struct ypi_project *p)
{
    char *ini = ypi_nearest_above("yieldpoint.ini");
    *p = (struct ypi_project){
        .root = directory_of(ini != NULL ? ypi_strdup(ini) : ypi_nearest_above(".git"))};
    if (p->root == NULL)
        p->root = getcwd(NULL, 0);
    if (p->root == NULL)
        p->root = ypi_strdup(".");
    bool ok = ini == NULL || ypi_ini_read(ini, take, p) == YPI_INI_OK;
    free(ini);
    if (p->history == NULL)
        p->history = below(p->root, ".yieldpoint/history.db");
    return ok;
}

void ypi_project_clear(struct ypi_project *p)
{
    free(p->root);
    free(p->history);
    free(p->options);
    ypi_list_free(p->tags, p->tag_count);
    ypi_list_free(p->tag_help, p->tag_count);
    *p = (struct ypi_project){0};
}

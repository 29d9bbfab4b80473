#include "base/options/project.h"

#include "base/options/ini.h"
#include "base/text/text.h"

#include <fnmatch.h>
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

/* -- what is in the file ------------------------------------------------------------------- */

/* Where the names of hosts are made up for a day, as those of containers are, YIELDPOINT_MACHINE is
 * a lasting one. */
static bool is_this_machine(const char *pattern)
{
    char host[256] = "";
    const char *given = getenv("YIELDPOINT_MACHINE");
    bool named = gethostname(host, sizeof host - 1) == 0;
    return (named && fnmatch(pattern, host, 0) == 0) ||
           (given != NULL && fnmatch(pattern, given, 0) == 0);
}

static void add_tag(struct ypi_project *p, const char *name, const char *help)
{
    p->tags = ypi_list_add(p->tags, p->tag_count, ypi_strdup(name));
    p->tag_help = ypi_list_add(p->tag_help, p->tag_count++, ypi_strdup(help));
}

static void add_options(struct ypi_project *p, const char *section, const char *value)
{
    p->options_from = ypi_list_add(p->options_from, p->option_count, ypi_format("[%s]", section));
    p->options = ypi_list_add(p->options, p->option_count++, ypi_strdup(value));
}

static void set_history(struct ypi_project *p, const char *section, const char *value)
{
    free(p->history);
    free(p->history_from);
    p->history = value[0] == '/' ? ypi_strdup(value) : below(p->root, value);
    p->history_from = ypi_format("[%s]", section);
}

static char *refusal(const char *what, const char *section, const char *name)
{
    return ypi_format("%s, at '%s' in [%s]", what, name, section);
}

static char *take(void *arg, const char *section, const char *name, const char *value)
{
    static const char *const own[] = {"yieldpoint", "tags", "machine"};
    static const char machine[] = "machine ";
    struct ypi_project *p = arg;
    bool of_machine = strncmp(section, machine, sizeof machine - 1) == 0;
    bool general = strcmp(section, "yieldpoint") == 0 || of_machine;
    bool meant = !of_machine || is_this_machine(section + sizeof machine - 1);
    if (strcmp(section, "tags") == 0) {
        if (!is_tag_name(name))
            return refusal("a tag is letters, digits and _, and not 'and', 'or' or 'not'", section,
                           name);
        add_tag(p, name, value);
    } else if (general && strcmp(name, "options") == 0) {
        if (meant)
            add_options(p, section, value);
    } else if (general && strcmp(name, "history") == 0) {
        if (value[0] == '\0')
            return refusal("history is empty: allowed is the path of a file", section, name);
        if (meant)
            set_history(p, section, value);
    } else if (of_machine || !ypi_ini_section_is_anothers(section, own, 3)) {
        return refusal(
            "known are options and history in [yieldpoint] and in [machine NAME], and any "
            "name in [tags]",
            section, name);
    }
    return NULL;
}

/* -- where it is ---------------------------------------------------------------------------- */

static const char file_name[] = "yieldpoint.ini";

static char *whole(const char *path)
{
    char *real = realpath(path, NULL);
    return real != NULL ? real : ypi_strdup(path);
}

static char *file_in(const char *root)
{
    char *file = below(root, file_name);
    if (access(file, F_OK) == 0)
        return file;
    free(file);
    return NULL;
}

static void find(struct ypi_project *p, const struct ypi_project_search *s)
{
    if (s->file != NULL) {
        p->file = whole(s->file);
    } else if (s->root == NULL) {
        p->file = ypi_nearest_above(file_name);
        if (p->file == NULL && s->beside != NULL)
            p->file = ypi_nearest_from(s->beside, file_name);
    }
    if (s->root != NULL) {
        p->root = whole(s->root);
        p->why = "asked for";
        if (p->file == NULL)
            p->file = file_in(p->root);
        return;
    }
    p->why = "the directory of the file";
    if (p->file != NULL)
        p->root = directory_of(ypi_strdup(p->file));
    if (p->root == NULL) {
        p->root = directory_of(ypi_nearest_above(".git"));
        p->why = "it holds .git";
    }
    if (p->root == NULL) {
        p->root = getcwd(NULL, 0);
        p->why = "the working directory";
    }
    if (p->root == NULL)
        p->root = ypi_strdup(".");
}

char *ypi_project_history_why(const struct ypi_project *p)
{
    return p->history_from != NULL ? ypi_format("%s in %s", p->history_from, p->file)
           : p->file != NULL       ? ypi_format("below the root: %s, %s", p->why, p->file)
                                   : ypi_format("below the root: %s", p->why);
}

bool ypi_project_read(struct ypi_project *p, const struct ypi_project_search *search)
{
    *p = (struct ypi_project){0};
    find(p, search);
    bool ok = p->file == NULL || ypi_ini_read(p->file, take, p) == YPI_INI_OK;
    if (p->history == NULL)
        p->history = below(p->root, ".yieldpoint/history.db");
    return ok;
}

void ypi_project_clear(struct ypi_project *p)
{
    free(p->root);
    free(p->file);
    free(p->history);
    free(p->history_from);
    ypi_list_free(p->options, p->option_count);
    ypi_list_free(p->options_from, p->option_count);
    ypi_list_free(p->tags, p->tag_count);
    ypi_list_free(p->tag_help, p->tag_count);
    *p = (struct ypi_project){0};
}

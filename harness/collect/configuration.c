#include "harness/collect/configuration.h"

#include "base/options/project.h"
#include "base/system/self.h"
#include "base/text/text.h"
#include "harness/collect/sources.h"
#include "harness/collect/tags.h"
#include "harness/collect/words.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* -- the project --------------------------------------------------------------------------- */

static bool read_project(struct ypi_project *project, const struct ypi_options *asked)
{
    char *sources = ypi_sources_directory(ypi_self_path());
    const struct ypi_project_search search = {
        .file = asked->config, .root = asked->rootdir, .beside = sources};
    bool ok = ypi_project_read(project, &search);
    free(sources);
    return ok;
}

/* -- reading ------------------------------------------------------------------------------- */

static void add_id(void *values, const char *word)
{
    struct ypi_options *o = values;
    o->ids = ypi_list_add(o->ids, o->id_count++, ypi_strdup(word));
}

static void add_given(void *values, const struct ypi_option *option, const char *text,
                      const char *where)
{
    struct ypi_options *o = values;
    o->given = ypi_realloc(o->given, (size_t)o->given_count + 1, sizeof *o->given);
    o->given[o->given_count++] =
        (struct ypi_given){.option = option, .text = ypi_strdup(text), .where = ypi_strdup(where)};
}

struct line {
    int argc;
    char **argv;
};

/* What is nearer to the user than the file. */
static bool read_near(const struct ypi_reader *reader, const struct line *line)
{
    const char *environment = getenv("YIELDPOINT_OPTIONS");
    return (environment == NULL ||
            ypi_words_read_text(reader, "YIELDPOINT_OPTIONS", environment)) &&
           ypi_words_read(reader, program_invocation_short_name, line->argv + 1,
                          line->argc > 0 ? line->argc - 1 : 0);
}

static bool read_file(const struct ypi_reader *reader, const struct ypi_project *project)
{
    const struct ypi_options *o = reader->values;
    bool ok = true;
    for (int i = 0; ok && i < project->option_count; i++) {
        char *where = ypi_format("%s, %s options", "yieldpoint.ini", project->options_from[i]);
        ok = ypi_words_read_text(reader, where, project->options[i]);
        if (ok && (o->config != NULL || o->rootdir != NULL)) {
            fprintf(stderr,
                    "error: %s: -c and --rootdir say which file is read, and stand on the command "
                    "line or in YIELDPOINT_OPTIONS\n",
                    where);
            ok = false;
        }
        free(where);
    }
    return ok;
}

/* Twice: the words that are nearest say where the file is, whose options come before them. */
enum ypi_exit ypi_options_read(struct ypi_options *o, int argc, char **argv)
{
    int errors = 0;
    const struct line line = {argc, argv};
    struct ypi_reader reader = {.table = ypi_options_table(&errors), .values = o, .other = add_id};
    struct ypi_project project = {0};
    ypi_options_begin(o);
    bool ok = read_near(&reader, &line);
    if (ok) {
        struct ypi_options asked = *o;
        ypi_options_begin(o);
        reader.given = add_given;
        ok = read_project(&project, &asked);
        o->root = ypi_strdup(project.root);
        o->root_why = project.why;
        o->file = project.file != NULL ? ypi_strdup(project.file) : NULL;
        o->history = ypi_strdup(project.history);
        o->history_why = ypi_project_history_why(&project);
        if (project.history_from != NULL)
            o->history_from = ypi_format("yieldpoint.ini, %s", project.history_from);
        ypi_register_tags(o, project.tags, project.tag_help, project.tag_count);
        ypi_options_clear(&asked);
        ok = ok && read_file(&reader, &project) && read_near(&reader, &line) &&
             ypi_options_complete(o);
        ypi_project_clear(&project);
    }
    return errors > 0 ? YPI_EXIT_INTERRUPTED : ok ? YPI_EXIT_OK : YPI_EXIT_USAGE;
}

/* -- telling ------------------------------------------------------------------------------- */

/* Names of one option, as --lf and --last-failed are. */
static bool same_option(const struct ypi_option *a, const struct ypi_option *b)
{
    return a->kind == b->kind && a->offset == b->offset && a->read == b->read && a->arg == b->arg;
}

static bool is_asked(const struct ypi_option *option)
{
    static const char *const asking[] = {"show-config", "help", "version", "markers"};
    return option->name != NULL &&
           ypi_list_has(asking, sizeof asking / sizeof *asking, option->name);
}

/* All values that were given to an option that keeps all of them, else the one that holds. */
static char *value_of(const struct ypi_options *o, const struct ypi_option *option)
{
    struct ypi_text text = {0};
    if (option->kind != YPI_OPTION_OWN || option->write != NULL) {
        char *value = ypi_option_text(o, option);
        ypi_text_quoted(&text, value, false);
        bool none = value[0] == '\0' || (option->kind == YPI_OPTION_INT && value[0] == '-');
        free(value);
        char *quoted = ypi_text_take(&text);
        if (!none)
            return quoted;
        free(quoted);
        return ypi_strdup("");
    }
    for (int i = 0; i < o->given_count; i++)
        if (same_option(o->given[i].option, option)) {
            if (text.length > 0)
                ypi_text_add(&text, " ");
            ypi_text_quoted(&text, option->value != NULL ? o->given[i].text : "yes", false);
        }
    return text.length > 0 ? ypi_text_take(&text) : ypi_strdup("");
}

/* NULL: it was not given. */
static const char *given_where(const struct ypi_options *o, const struct ypi_option *option)
{
    const char *where = NULL;
    for (int i = 0; i < o->given_count; i++)
        if (same_option(o->given[i].option, option))
            where = o->given[i].where;
    return where != NULL && strcmp(where, program_invocation_short_name) == 0 ? "command line"
                                                                              : where;
}

const char *ypi_history_why(const struct ypi_options *o)
{
    int errors = 0;
    static const char name[] = "history";
    const struct ypi_option *option =
        ypi_option_find(ypi_options_table(&errors), name, sizeof name - 1);
    const char *where = given_where(o, option);
    return where != NULL ? where : o->history_why;
}

static const char *source_of(const struct ypi_options *o, const struct ypi_option *option)
{
    const char *where = given_where(o, option);
    if (where != NULL)
        return where;
    if (option->name != NULL && strcmp(option->name, "history") == 0)
        return o->history_from != NULL ? o->history_from : "built in, below the root";
    return ypi_option_is_usual(o, option) ? "built in" : "another option";
}

void ypi_show_configuration(const struct ypi_options *o)
{
    int errors = 0;
    printf("root: %s (%s)\n", o->root, o->root_why);
    printf("file: %s\n\n", o->file != NULL ? o->file : "none");
    for (const struct ypi_option *option = ypi_options_table(&errors); !ypi_option_is_end(option);
         option++) {
        const char letter[] = {'-', option->letter, '\0'};
        if (option->help == NULL || is_asked(option))
            continue;
        char *value = value_of(o, option);
        printf("%s%-*s  %-28s  %s\n", option->name != NULL ? "--" : "",
               option->name != NULL ? 20 : 22, option->name != NULL ? option->name : letter, value,
               source_of(o, option));
        free(value);
    }
    putchar('\n');
    for (int i = 0; i < o->tag_count; i++)
        printf("%-22s  %-28s  %s\n", o->tags[i], "tag",
               i < o->built_in_tags ? "built in" : "yieldpoint.ini, [tags]");
}

#include "harness/collect/program_options.h"

#include "base/text/text.h"
#include "harness/vocabulary/linked.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <yieldpoint/option.h>

static const struct yp_option *const *own_options(size_t *count)
{
    struct ypi_linked all = ypi_linked_all(YPI_LINKED_OPTIONS);
    *count = (size_t)(all.end - all.begin);
    return (const struct yp_option *const *)all.begin;
}

/* -- values that bodies read ---------------------------------------------------------------- */

/* They reach the case's process, and commands, by the environment. */
static char *variable_of(const struct yp_option *o)
{
    char *name = ypi_format("YIELDPOINT_OPTION_%s", o->name);
    for (char *c = name; *c != '\0'; c++)
        *c = (char)toupper((unsigned char)*c);
    return name;
}

const char *ypi_option_value(const struct yp_option *option)
{
    char *variable = variable_of(option);
    const char *value = getenv(variable);
    free(variable);
    return value;
}

void ypi_program_options_forget(void)
{
    size_t count = 0;
    const struct yp_option *const *own = own_options(&count);
    for (size_t i = 0; i < count; i++) {
        char *variable = variable_of(own[i]);
        unsetenv(variable);
        free(variable);
    }
}

static char *write_value(const void *values, const struct ypi_option *option)
{
    (void)values;
    const struct yp_option *o = option->arg;
    const char *value = o->axis == NULL ? ypi_option_value(o) : NULL;
    return value != NULL ? ypi_strdup(value) : NULL;
}

/* -- reading -------------------------------------------------------------------------------- */

/* With the whole path, so that the id and the line that reproduces hold from anywhere. Links stay:
 * what they lead to may have another name than the files beside them. Whether there is such a file
 * its reader says, who knows all the names it may go by. */
char *ypi_whole_path(const char *path)
{
    char *here = path[0] == '/' ? ypi_strdup("") : getcwd(NULL, 0);
    if (here == NULL)
        return NULL;
    bool direct = path[0] == '/' || strcmp(here, "/") == 0;
    char *whole = ypi_format("%s%s%s", direct ? "" : here, path[0] == '/' ? "" : "/", path);
    free(here);
    return whole;
}

void ypi_options_set_axis(struct ypi_options *o, const char *axis, const char *value)
{
    for (int i = 0; i < o->set_count; i++)
        if (strcmp(o->sets[i].axis, axis) == 0 && strcmp(o->sets[i].value, value) == 0)
            return; /* once more would be the same case once more */
    o->sets = ypi_realloc(o->sets, (size_t)o->set_count + 1, sizeof *o->sets);
    o->sets[o->set_count++] =
        (struct ypi_set){.axis = ypi_strdup(axis), .value = ypi_strdup(value)};
}

static char *read_value(void *values, const struct ypi_option *option, const char *text)
{
    const struct yp_option *o = option->arg;
    if (o->value != NULL && text[0] == '\0')
        return ypi_strdup(o->path ? "the path of a file" : o->value);
    char *value = o->path            ? ypi_whole_path(text)
                  : o->value == NULL ? ypi_strdup("yes")
                                     : ypi_strdup(text);
    if (value == NULL)
        return ypi_strdup("a path from /: the working directory is gone");
    if (o->axis != NULL) {
        ypi_options_set_axis(values, o->axis, value);
    } else {
        char *variable = variable_of(o);
        setenv(variable, value, 1);
        free(variable);
    }
    free(value);
    return NULL;
}

/* -- the table ------------------------------------------------------------------------------ */

/* NULL, or what is wrong with a declaration. */
static const char *problem(const struct yp_option *o, const struct ypi_option *before)
{
    if (ypi_option_find(before, o->name, strlen(o->name)) != NULL)
        return "there is an option of this name";
    if ((o->axis != NULL || o->path) && o->value == NULL)
        return "one that sets an axis or is a path takes a value: .value is its name in --help";
    return NULL;
}

/* The name as it is written in words: never freed, like the declaration it is made of. */
static const char *name_in_words(const char *name)
{
    char *copy = ypi_strdup(name);
    for (char *c = copy; *c != '\0'; c++)
        *c = *c == '_' ? '-' : *c;
    return copy;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct ypi_option *)a)->name, ((const struct ypi_option *)b)->name);
}

struct ypi_option *ypi_with_program_options(const struct ypi_option *common, int *errors)
{
    size_t count = 0, own = 0;
    const struct yp_option *const *declared = own_options(&own);
    while (!ypi_option_is_end(&common[count]))
        count++;
    struct ypi_option *table = ypi_calloc(count + own + 1, sizeof *table);
    memcpy(table, common, count * sizeof *table);
    size_t all = count;
    for (size_t i = 0; i < own; i++) {
        const struct yp_option *o = declared[i];
        const char *wrong = problem(o, table);
        if (wrong != NULL) {
            fprintf(stderr, "error: %s:%d: option %s: %s\n", o->file, o->line, o->name, wrong);
            ++*errors;
            continue;
        }
        table[all++] = (struct ypi_option){.name = name_in_words(o->name),
                                           .value = o->value,
                                           .help = o->help != NULL ? o->help : "",
                                           .kind = YPI_OPTION_OWN,
                                           .group = YPI_GROUP_PROGRAM,
                                           .again = YPI_PROGRAM_AGAIN,
                                           .read = read_value,
                                           .write = write_value,
                                           .arg = o};
    }
    if (all > count)
        qsort(table + count, all - count, sizeof *table, by_name);
    return table;
}

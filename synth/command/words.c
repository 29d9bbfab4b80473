/* Reads the options of a command: those of an ini file, and over them those of the command line. */
#include "synth/command/internal.h"

#include "base/options/arguments.h"
#include "base/options/ini.h"
#include "base/options/project.h"
#include "base/text/text.h"

#include <stdlib.h>
#include <string.h>

/* ---- the ini file ---- */

struct reading {
    const char *command; /* and the section */
    const struct ypi_option *options;
    void *values;
    bool shared; /* a yieldpoint.ini, which has sections of other programs too */
};

static char *take_entry(void *arg, const char *section, const char *name, const char *value)
{
    const struct reading *r = arg;
    if (strcmp(section, r->command) != 0) {
        bool anothers = r->shared ? ypi_ini_section_is_anothers(section, &r->command, 1)
                                  : ypi_has_word("yieldpoint tags", section, strlen(section));
        return anothers
                   ? NULL
                   : ypi_format("'%s' in [%s]: the section is [%s]", name, section, r->command);
    }
    const struct ypi_option *option = ypi_option_find(r->options, name, strlen(name));
    if (option == NULL || strcmp(option->name, "config") == 0 || strcmp(option->name, "help") == 0)
        return ypi_format("'%s' in [%s]: known are the options of `yieldpoint %s --help`", name,
                          section, section);
    char *allowed = ypi_option_set(r->values, option, value);
    char *message =
        allowed != NULL ? ypi_format("%s is '%s': must be %s", name, value, allowed) : NULL;
    free(allowed);
    return message;
}

/* ---- both ---- */

static bool read_arguments(const struct reading *r, void *values, int argc, char **argv)
{
    char *hint = ypi_format("; `yieldpoint %s --help` tells them", r->command);
    bool valid = ypi_arguments_read(
        &(struct ypi_arguments){.options = r->options, .values = values, .hint = hint}, argc, argv);
    free(hint);
    return valid;
}

static void *value_of(const struct reading *r, void *values, const char *name)
{
    return (char *)values + ypi_option_find(r->options, name, strlen(name))->offset;
}

int ypi_command_read(const char *command, const struct ypi_option *options, void *given,
                     void *values, int argc, char **argv)
{
    static const int codes[] = {[YPI_INI_OK] = YPI_SYNTH_OK,
                                [YPI_INI_WRONG] = YPI_SYNTH_USAGE,
                                [YPI_INI_UNREADABLE] = YPI_SYNTH_FILE};
    struct reading r = {.command = command, .options = options, .values = values};
    int code = read_arguments(&r, given, argc, argv) ? YPI_SYNTH_OK : YPI_SYNTH_USAGE;
    const bool *help = value_of(&r, given, "help");
    char *const *config = value_of(&r, given, "config");
    if (code == YPI_SYNTH_OK && !*help) {
        char *nearest = *config == NULL ? ypi_nearest_above("yieldpoint.ini") : NULL;
        const char *ini = *config != NULL ? *config : nearest;
        r.shared = nearest != NULL;
        if (ini != NULL)
            code = codes[ypi_ini_read(ini, take_entry, &r)];
        free(nearest);
    }
    if (code == YPI_SYNTH_OK)
        read_arguments(&r, values, argc, argv);
    ypi_options_free(given, options);
    return code;
}

int ypi_command_refuse(const char *command, const char *what)
{
    fprintf(stderr, "yieldpoint: %s; `yieldpoint %s --help` tells all\n", what, command);
    return YPI_SYNTH_USAGE;
}

#include "base/arguments.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void ypi_usage_error(int argc, char **argv, int index, const char *format, ...)
{
    va_list arguments;
    fputs("yieldpoint: ", stderr);
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    int before = fprintf(stderr, "\n  yieldpoint") - 1;
    int length = 1;
    for (int i = 0; i < argc; i++) {
        int written = fprintf(stderr, " %s", argv[i]);
        if (i < index)
            before += written;
        else if (i == index)
            length = written - 1;
    }
    fprintf(stderr, "\n%*s", before + 1, "");
    for (int i = 0; i < (length > 0 ? length : 1); i++)
        fputc('^', stderr);
    fputs("\n`yieldpoint --help` lists what there is\n", stderr);
}

int ypi_place_of(int argc, char **argv, const char *value)
{
    for (int i = 0; i < argc; i++)
        if (value >= argv[i] && value <= argv[i] + strlen(argv[i]))
            return i;
    return argc;
}

/* "--id X", "--id=X", "-n X" and "-nX"; *value is what stands in the same word, or NULL. */
static const struct ypi_report_option *find(const struct ypi_report_option *options, char *word,
                                            char **value)
{
    *value = NULL;
    for (; options->name; options++) {
        size_t length = strlen(options->name);
        if (strncmp(word, options->name, length) != 0)
            continue;
        if (word[length] == '\0')
            return options;
        if (length == 2 && options->value)
            *value = word + length;
        else if (length > 2 && word[length] == '=')
            *value = word + length + 1;
        if (*value)
            return options;
    }
    return NULL;
}

/* How many words the option at argv[i] takes; 0: it is wrong, and that was told. */
static int take(int argc, char **argv, int i, const struct ypi_report_option *options)
{
    char *value = NULL;
    const struct ypi_report_option *option = find(options, argv[i], &value);
    if (!option) {
        ypi_usage_error(argc, argv, i, "%s: there is no such option", argv[i]);
        return 0;
    }
    if (option->flag) {
        if (value) {
            ypi_usage_error(argc, argv, i, "%s takes no value", option->name);
            return 0;
        }
        *option->flag = true;
        return 1;
    }
    if (value) {
        *option->value = value;
        return 1;
    }
    if (i + 1 >= argc) {
        ypi_usage_error(argc, argv, i + 1, "%s needs a value", option->name);
        return 0;
    }
    *option->value = argv[i + 1];
    return 2;
}

bool ypi_report_options(int argc, char **argv, const struct ypi_report_option *options, char **word)
{
    bool only_words = false;
    for (int i = 1; i < argc;) {
        if (!only_words && strcmp(argv[i], "--") == 0) {
            only_words = true;
            i++;
        } else if (!only_words && argv[i][0] == '-' && argv[i][1] != '\0') {
            int taken = take(argc, argv, i, options);
            if (taken == 0)
                return false;
            i += taken;
        } else if (word && !*word) {
            *word = argv[i++];
        } else {
            ypi_usage_error(argc, argv, i, "%s: one word too many", argv[i]);
            return false;
        }
    }
    return true;
}

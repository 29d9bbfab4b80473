#include "base/options/arguments.h"

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
    /* Of the command, unless that is what there is none of. */
    if (index > 0)
        fprintf(stderr, "\n`yieldpoint %s --help` lists what there is\n", argv[0]);
    else
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
static const struct ypi_option *find(const struct ypi_option *options, const char *word,
                                     const char **value)
{
    *value = NULL;
    if (strncmp(word, "--", 2) == 0) {
        size_t length = strcspn(word + 2, "=");
        if (word[2 + length] == '=')
            *value = word + 2 + length + 1;
        return length > 0 ? ypi_option_find(options, word + 2, length) : NULL;
    }
    for (const struct ypi_option *o = options; !ypi_option_is_end(o); o++)
        if (o->letter != 0 && word[0] == '-' && word[1] == o->letter) {
            *value = word[2] != '\0' ? word + 2 : NULL;
            return *value == NULL || ypi_option_takes_value(o) ? o : NULL;
        }
    return NULL;
}

/* How many words the option at argv[i] takes; 0: it is wrong, which was reported. */
static int take(const struct ypi_arguments *a, int argc, char **argv, int i)
{
    const char *value = NULL;
    const struct ypi_option *option = find(a->options, argv[i], &value);
    if (option == NULL) {
        ypi_usage_error(argc, argv, i, "%s: there is no such option%s", argv[i],
                        a->hint != NULL ? a->hint : "");
        return 0;
    }
    const char letter[] = {option->letter, '\0'};
    const char *dashes = option->name != NULL ? "--" : "-";
    const char *name = option->name != NULL ? option->name : letter;
    bool takes = ypi_option_takes_value(option);
    int words = 1;
    if (value != NULL && !takes) {
        ypi_usage_error(argc, argv, i, "%s%s takes no value", dashes, name);
        return 0;
    }
    if (value == NULL && (!takes || option->kind == YPI_OPTION_SWITCH))
        value = "yes";
    else if (value == NULL && i + 1 < argc)
        value = argv[i + 1], words = 2;
    if (value == NULL) {
        ypi_usage_error(argc, argv, i + 1, "%s%s needs a value", dashes, name);
        return 0;
    }
    while (value != NULL) {
        char *allowed = ypi_option_set(a->values, option, value);
        if (allowed != NULL) {
            ypi_usage_error(argc, argv, i + words - 1, "%s%s is '%s': must be %s", dashes, name,
                            value, allowed);
            free(allowed);
            return 0;
        }
        const bool more = option->several && i + words < argc && argv[i + words][0] != '-';
        value = more ? argv[i + words++] : NULL;
    }
    return words;
}

/* "--json", "--history=" where a value follows, "-n=". */
static void list(const struct ypi_option *options)
{
    for (const struct ypi_option *o = options; !ypi_option_is_end(o); o++) {
        const char *value = ypi_option_takes_value(o) ? "=" : "";
        if (o->name != NULL)
            printf("--%s%s\n", o->name, value);
        if (o->letter != 0)
            printf("-%c%s\n", o->letter, value);
    }
}

bool ypi_arguments_read(const struct ypi_arguments *a, int argc, char **argv)
{
    bool only_words = false;
    if (argc > 1 && strcmp(argv[argc - 1], "--list-options") == 0) {
        list(a->options);
        exit(fflush(stdout) == 0 ? EXIT_SUCCESS : EXIT_FAILURE);
    }
    for (int i = 1 + a->names; i < argc;) {
        bool is_option = argv[i][0] == '-' && argv[i][1] != '\0';
        if (!only_words && strcmp(argv[i], "--") == 0) {
            only_words = true;
            i++;
        } else if (!only_words && (is_option || a->hint != NULL)) {
            int taken = take(a, argc, argv, i);
            if (taken == 0)
                return false;
            i += taken;
        } else if (a->word != NULL && *a->word == NULL) {
            *a->word = argv[i++];
        } else if (a->words != NULL) {
            a->words[(*a->word_count)++] = argv[i++];
        } else {
            ypi_usage_error(argc, argv, i, "%s: one word too many", argv[i]);
            return false;
        }
    }
    return true;
}

/* Options as a table: an entry says how a value is read, what is allowed, where it is kept, how it
 * is written again and what it is for, whether it comes as a word or stands in an ini file. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

enum ypi_option_kind {
    YPI_OPTION_FLAG,   /* bool; takes no value */
    YPI_OPTION_SWITCH, /* bool; alone it is yes */
    YPI_OPTION_INT,    /* int, from `min` to `max` */
    YPI_OPTION_SIZE,   /* size_t, from 1 */
    YPI_OPTION_WORD64, /* uint64_t */
    YPI_OPTION_BYTES,  /* uint64_t above 0: 64K, 2GiB, 80GB; see ypi_parse_size() */
    YPI_OPTION_REAL,   /* double above 0, up to `max`; or off, which is `off`; 0: no such */
    YPI_OPTION_CHOICE, /* int or enum: the place of the value among `choices` */
    YPI_OPTION_TEXT,   /* char *, owned */
    YPI_OPTION_PATH,   /* the same, not empty */
    YPI_OPTION_WORD,   /* const char *, not owned */
    YPI_OPTION_OWN,    /* `read` knows */
};

struct ypi_option {
    const char *name;  /* "seed" is --seed; NULL: it has a letter alone */
    char letter;       /* 'v' is -v; 0: none */
    const char *value; /* stands for its value in the help; YPI_OPTION_OWN: NULL takes none */
    const char *help;  /* NULL: not listed */
    enum ypi_option_kind kind;
    size_t offset;        /* in the structure of values */
    int group;            /* its title in the help */
    int again;            /* place in the line that does the same again; 0: no part of it */
    double min, max, off; /* see the kinds */
    bool zero_is_off;     /* of YPI_OPTION_REAL: 0 is `off` too */
    bool several;         /* words up to the next option are more values, each set in turn */
    const char *choices;  /* words, separated by blanks */
    const char *allowed;  /* printed for a bad value; NULL: made of kind and limits */
    bool (*check)(const char *text); /* of texts; NULL: all are allowed */
    /* Of YPI_OPTION_OWN. NULL, or what is allowed: the caller frees. */
    char *(*read)(void *values, const struct ypi_option *option, const char *text);
    /* The value again, NULL where there is none: the caller frees. NULL: there never is. */
    char *(*write)(const void *values, const struct ypi_option *option);
    const void *arg; /* for these two */
};

/* Tables end with an entry that has neither name nor letter. */
#define YPI_OPTIONS_END \
    { \
        .name = NULL, .letter = 0 \
    }
bool ypi_option_is_end(const struct ypi_option *option);

/* The option of this name, with - or _ between its words; NULL: none. */
const struct ypi_option *ypi_option_find(const struct ypi_option *table, const char *name,
                                         size_t length);
bool ypi_option_takes_value(const struct ypi_option *option);

/* Reads `text` into the structure of values. NULL, or what is allowed: the caller frees. */
char *ypi_option_set(void *values, const struct ypi_option *option, const char *text);
/* The value as ypi_option_set() takes it; "" where there is none. The caller frees. */
char *ypi_option_text(const void *values, const struct ypi_option *option);
/* Frees what the options own. */
void ypi_options_free(void *values, const struct ypi_option *table);

/* Prints a line an option, and before the first of each group its title. */
void ypi_options_print(const struct ypi_option *table, const char *const *titles);

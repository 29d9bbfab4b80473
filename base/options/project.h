/* The project that a program belongs to, and its yieldpoint.ini. */
#pragma once

#include <stdbool.h>

/* Where to look. What is NULL is not asked for. */
struct ypi_project_search {
    const char *file;   /* this one and no other */
    const char *root;   /* the project: its file is yieldpoint.ini in it, if there is one */
    const char *beside; /* a directory to look in, and above it, after the working directory */
};

struct ypi_project {
    char *file;          /* whole path; NULL: none */
    char *root;          /* whole path: where the file is, else .git, else the working directory */
    const char *why;     /* the root is this: "it holds .git" */
    char *history;       /* from the root; without any ROOT/.yieldpoint/history.db */
    char *history_from;  /* the section that says so; NULL: none does */
    char **options;      /* texts of options; a later one wins */
    char **options_from; /* the section of each: "[yieldpoint]" */
    int option_count;
    char **tags, **tag_help; /* of [tags] */
    int tag_count;
};

/* Finds the root and reads the file; of its sections [machine NAME] those where the pattern NAME
 * (as of a shell) fits the host's name, or the name that YIELDPOINT_MACHINE gives this machine;
 * none is no error, one that was asked for is to be there. False after telling stderr every line
 * that is wrong and what is allowed; *p is to be cleared then too. */
bool ypi_project_read(struct ypi_project *p, const struct ypi_project_search *search);
void ypi_project_clear(struct ypi_project *p);

/* Why its history is that file: "[yieldpoint] in /p/yieldpoint.ini", "below the root, which holds
 * .git". The caller frees. */
char *ypi_project_history_why(const struct ypi_project *p);

/* The path of the nearest `file`, from the working directory up; NULL: none. The caller frees. */
char *ypi_nearest_above(const char *file);
/* The same from the directory `from` upwards, as far as its path says. */
char *ypi_nearest_from(const char *from, const char *file);

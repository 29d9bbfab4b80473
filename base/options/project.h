/* The project that a program is started in, and its yieldpoint.ini. */
#ifndef YPI_PROJECT_H
#define YPI_PROJECT_H

#include <stdbool.h>

struct ypi_project {
    char *root;              /* where yieldpoint.ini is, else .git, else the working directory */
    char *history;           /* of [yieldpoint], from the root; else ROOT/.yieldpoint/history.db */
    char *options;           /* of [yieldpoint]; NULL: none */
    char **tags, **tag_help; /* of [tags] */
    int tag_count;
};

/* Finds the root and reads the file; none is no error. False after telling stderr every line that
 * is wrong and what is allowed; *p is to be cleared then too. */
bool ypi_project_read(struct ypi_project *p);
void ypi_project_clear(struct ypi_project *p);

/* The path of the nearest `file`, from the working directory upwards. NULL: none. The caller frees.
 */
char *ypi_nearest_above(const char *file);
/* The same from the directory `from` upwards, as far as its path says. */
char *ypi_nearest_from(const char *from, const char *file);

#endif

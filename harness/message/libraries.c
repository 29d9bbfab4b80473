#include "harness/message/libraries.h"

#include "base/system/file.h"
#include "base/text/text.h"

#include <errno.h>
#include <inttypes.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define NAME "libraries"

/* Not by their inodes, which some file systems in user space number anew. */
static void write_state(char out[64], const struct stat *file)
{
    snprintf(out, 64, "%jd %jd %ld", (intmax_t)file->st_size, (intmax_t)file->st_mtim.tv_sec,
             file->st_mtim.tv_nsec);
}

/* "SIZE SECONDS NANOSECONDS PATH", a line each. */
static int add_line(struct dl_phdr_info *object, size_t size, void *text)
{
    struct stat file;
    char state[64];
    (void)size;
    if (object->dlpi_name == NULL || object->dlpi_name[0] != '/' ||
        strchr(object->dlpi_name, '\n') != NULL || stat(object->dlpi_name, &file) != 0)
        return 0;
    write_state(state, &file);
    ypi_text_add(text, "%s %s\n", state, object->dlpi_name);
    return 0;
}

char *ypi_libraries_list(void)
{
    struct ypi_text text = {0};
    dl_iterate_phdr(add_line, &text);
    return ypi_text_take(&text);
}

enum yp_status ypi_libraries_write(const char *list, const char *directory)
{
    char *path = ypi_format("%s/" NAME, directory);
    FILE *file = fopen(path, "we");
    bool ok = file != NULL && fputs(list, file) >= 0;
    if (file != NULL)
        ok = fclose(file) == 0 && ok;
    enum yp_status status = ok ? YP_OK : yp_set_error(YP_IO, "%s: %s", path, strerror(errno));
    free(path);
    return status;
}

/* Where the path of a line begins, whose end is cut. */
static const char *path_in(char *line)
{
    enum { BEFORE = 3 };
    char *at = line;
    line[strcspn(line, "\n")] = '\0';
    for (int i = 0; i < BEFORE && at != NULL; i++)
        at = strchr(at + (i > 0), ' ');
    return at != NULL ? at + 1 : NULL;
}

char *ypi_libraries_replaced(const char *channel)
{
    char directory[YPI_PATH_MAX];
    ypi_directory_of(directory, channel);
    char *list = ypi_format("%s/" NAME, directory);
    FILE *file = fopen(list, "re");
    char *line = NULL;
    char *found = NULL;
    size_t capacity = 0;
    while (file != NULL && found == NULL && getline(&line, &capacity, file) > 0) {
        struct stat now;
        char state[64] = "";
        const char *path = path_in(line);
        if (path == NULL)
            continue;
        if (stat(path, &now) == 0)
            write_state(state, &now);
        if (strncmp(state, line, (size_t)(path - line) - 1) != 0 ||
            strlen(state) != (size_t)(path - line) - 1)
            found = ypi_strdup(path);
    }
    free(line);
    if (file != NULL)
        fclose(file);
    free(list);
    return found;
}

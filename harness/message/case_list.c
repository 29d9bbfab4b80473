#include "harness/message/case_list.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define NAME "cases"
#define HEAD "yieldpoint cases 1"

/* NUL ends each text, for an id may hold any other byte: the head, then device and id of each. */
void ypi_case_list_add(struct ypi_text *list, const char *device, const char *id)
{
    if (list->length == 0)
        ypi_text_bytes(list, HEAD, sizeof HEAD);
    ypi_text_bytes(list, device, strlen(device) + 1);
    ypi_text_bytes(list, id, strlen(id) + 1);
}

enum yp_status ypi_case_list_write(const struct ypi_text *list, const char *directory)
{
    char *path = ypi_format("%s/" NAME, directory);
    char *part = ypi_format("%s.part", path); /* nobody reads half of it */
    FILE *file = fopen(part, "we");
    bool ok = file != NULL &&
              (list->length == 0 || fwrite(list->data, 1, list->length, file) == list->length);
    if (file != NULL)
        ok = fclose(file) == 0 && ok;
    ok = ok && rename(part, path) == 0;
    enum yp_status status = ok ? YP_OK : yp_set_error(YP_IO, "%s: %s", path, strerror(errno));
    free(part);
    free(path);
    return status;
}

/* All of a file, with a NUL behind it; the caller frees. NULL: it cannot be read. */
static char *read_all(const char *path, size_t *size)
{
    struct stat there;
    ssize_t got = 0;
    char *bytes = NULL;
    int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC); /* does not wait for a pipe */
    *size = 0;
    if (fd >= 0 && fstat(fd, &there) == 0 && S_ISREG(there.st_mode)) {
        bytes = ypi_calloc((size_t)there.st_size + 1, 1);
        while (*size < (size_t)there.st_size &&
               (got = read(fd, bytes + *size, (size_t)there.st_size - *size)) > 0)
            *size += (size_t)got;
    }
    if (fd >= 0)
        close(fd);
    return bytes;
}

bool ypi_case_list_read(struct ypi_case_list *out, const char *directory)
{
    size_t size = 0;
    char *path = ypi_format("%s/" NAME, directory);
    *out = (struct ypi_case_list){.text = read_all(path, &size)};
    free(path);
    if (out->text == NULL || size < sizeof HEAD || memcmp(out->text, HEAD, sizeof HEAD) != 0) {
        ypi_case_list_clear(out);
        return false;
    }
    const char *end = out->text + size;
    int capacity = 0;
    for (const char *at = out->text + sizeof HEAD; at < end;) {
        const char *id = at + strlen(at) + 1;
        if (id >= end)
            break; /* torn */
        if (out->count == capacity) {
            capacity = 2 * capacity + 64;
            out->list = ypi_realloc(out->list, (size_t)capacity, sizeof *out->list);
        }
        out->list[out->count++] = (struct ypi_listed_case){at, id};
        at = id + strlen(id) + 1;
    }
    return true;
}

void ypi_case_list_clear(struct ypi_case_list *list)
{
    free(list->list);
    free(list->text);
    *list = (struct ypi_case_list){0};
}

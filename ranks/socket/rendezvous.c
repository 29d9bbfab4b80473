#include "ranks/socket/rendezvous.h"

#include "base/system/atomic_file.h"
#include "base/system/file.h"
#include "base/text/text.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FIRST_LINE "yieldpoint ranks 1"
enum { SIZE_MAX_OF_FILE = 4096 };

static void path_of(char out[YPI_PATH_MAX], const char *directory)
{
    snprintf(out, YPI_PATH_MAX, "%s/" YPK_RENDEZVOUS, directory);
}

static void add_hex(struct ypi_text *text, const char *key, const uint8_t *bytes)
{
    ypi_text_add(text, "%s ", key);
    for (int i = 0; i < YPK_TOKEN; i++)
        ypi_text_add(text, "%02x", bytes[i]);
    ypi_text_add(text, "\n");
}

enum yp_status ypk_meeting_write(const struct ypk_meeting *meeting, const char *directory)
{
    struct ypi_text text = {.data = NULL};
    struct ypi_atomic_file file;
    char path[YPI_PATH_MAX];
    path_of(path, directory);
    ypi_text_add(&text, FIRST_LINE "\n");
    add_hex(&text, "token", meeting->token);
    add_hex(&text, "answer", meeting->answer);
    ypi_text_add(&text, "size %d\nnode %d\nhost %s\nunix %s\nport %d\n", meeting->size,
                 meeting->node, meeting->endpoint.host, meeting->endpoint.unix_name,
                 (int)meeting->endpoint.port);
    for (int i = 0; i < YPK_ADDRESSES && meeting->endpoint.address[i][0] != '\0'; i++)
        ypi_text_add(&text, "address %s\n", meeting->endpoint.address[i]);
    ypi_text_add(&text, "end\n");
    enum yp_status status = ypi_atomic_create(&file, path);
    if (status == YP_OK) {
        fchmod(file.fd, S_IRUSR | S_IWUSR);
        status = ypi_write_at(file.fd, path, 0, text.data, text.length);
        if (status == YP_OK)
            status = ypi_atomic_publish(&file, true);
        if (status != YP_OK)
            ypi_atomic_abandon(&file);
    }
    free(text.data);
    return status;
}

static bool take_hex(const char *text, uint8_t *out)
{
    for (int i = 0; i < YPK_TOKEN; i++) {
        unsigned value;
        if (sscanf(text + (size_t)i * 2, "%2x", &value) != 1)
            return false;
        out[i] = (uint8_t)value;
    }
    return true;
}

static bool take_number(const char *text, int *out)
{
    long long value;
    if (!ypi_parse_i64(text, &value) || value < -1 || value > 1 << 24)
        return false;
    *out = (int)value;
    return true;
}

/* One line: a key, a blank, its value. */
static bool take_line(struct ypk_meeting *out, const char *line, int *addresses)
{
    const char *value = strchr(line, ' ');
    struct ypk_endpoint *to = &out->endpoint;
    if (value == NULL)
        return false;
    const size_t key = (size_t)(value++ - line);
    if (strncmp(line, "token", key) == 0)
        return take_hex(value, out->token);
    if (strncmp(line, "answer", key) == 0)
        return take_hex(value, out->answer);
    if (strncmp(line, "size", key) == 0)
        return take_number(value, &out->size);
    if (strncmp(line, "node", key) == 0)
        return take_number(value, &out->node);
    if (strncmp(line, "port", key) == 0)
        return take_number(value, &to->port);
    if (strncmp(line, "host", key) == 0)
        return snprintf(to->host, sizeof to->host, "%s", value) < (int)sizeof to->host;
    if (strncmp(line, "unix", key) == 0)
        return snprintf(to->unix_name, sizeof to->unix_name, "%s", value) <
               (int)sizeof to->unix_name;
    if (strncmp(line, "address", key) == 0 && *addresses < YPK_ADDRESSES) {
        char *address = to->address[(*addresses)++];
        return snprintf(address, sizeof to->address[0], "%s", value) < (int)sizeof to->address[0];
    }
    return false;
}

bool ypk_meeting_read(struct ypk_meeting *out, const char *directory)
{
    char text[SIZE_MAX_OF_FILE];
    char path[YPI_PATH_MAX];
    char *rest = text;
    int addresses = 0;
    path_of(path, directory);
    *out = (struct ypk_meeting){.size = 0};
    /* A network file system looks again for a name that was not there when its directory is opened.
     */
    const int fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd >= 0)
        close(fd);
    if (ypi_read_file(path, text, sizeof text) == 0 || strcmp(strsep(&rest, "\n"), FIRST_LINE) != 0)
        return false;
    for (char *line; (line = strsep(&rest, "\n")) != NULL;) {
        if (strcmp(line, "end") == 0)
            return true;
        if (!take_line(out, line, &addresses))
            return false;
    }
    return false;
}

void ypk_meeting_remove(const char *directory)
{
    char path[YPI_PATH_MAX];
    path_of(path, directory);
    unlink(path);
}

#include "base/system/cgroup_path.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static bool read_groups(const char *root, char *out, size_t size)
{
    char path[PATH_MAX];
    size_t length = 0;
    snprintf(path, sizeof path, "%s/proc/self/cgroup", root);
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return false;
    for (ssize_t got; (got = read(file, out + length, size - 1 - length)) > 0;)
        length += (size_t)got;
    close(file);
    out[length] = '\0';
    return length > 0;
}

/* "cpu,cpuacct" holds "cpu"; "" holds "" only. */
static bool holds(const char *names, size_t length, const char *controller)
{
    size_t wanted = strlen(controller);
    for (const char *end = names + length;; names++) {
        size_t one = strcspn(names, ",:");
        if (one == wanted && memcmp(names, controller, wanted) == 0)
            return true;
        names += one;
        if (names >= end)
            return false;
    }
}

bool ypi_cgroup_path(const char *root, const char *controller, char *out, size_t size)
{
    char text[4096];
    char *rest = NULL;
    if (!read_groups(root, text, sizeof text))
        return false;
    for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
        const char *names = strchr(line, ':');
        const char *path = names ? strchr(names + 1, ':') : NULL;
        if (!path || !holds(names + 1, (size_t)(path - names - 1), controller))
            continue;
        snprintf(out, size, "%s", strcmp(path + 1, "/") == 0 ? "" : path + 1);
        return true;
    }
    return false;
}

bool ypi_cgroup_above(char *group)
{
    char *slash = strrchr(group, '/');
    if (slash)
        *slash = '\0';
    return slash != NULL;
}

#include "base/system/cgroup_path.h"

#include "base/system/file.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

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
    char file[PATH_MAX];
    char text[4096];
    char *rest = NULL;
    snprintf(file, sizeof file, "%s/proc/self/cgroup", root);
    (void)ypi_read_file(file, text, sizeof text);
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

#include "device/cpu/task.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define ENTRIES_SIZE 4096

int ypi_tasks(const char *root, pid_t *out, int capacity)
{
    _Alignas(struct dirent64) char entries[ENTRIES_SIZE];
    char path[PATH_MAX];
    int count = 0;
    snprintf(path, sizeof path, "%s/proc/self/task", root);
    int directory = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (directory < 0)
        return 0;
    for (ssize_t size; (size = getdents64(directory, entries, sizeof entries)) > 0;) {
        for (ssize_t at = 0; at < size;) {
            const struct dirent64 *entry = (const void *)(entries + at);
            at += entry->d_reclen;
            if (!isdigit((unsigned char)entry->d_name[0]))
                continue;
            if (count < capacity)
                out[count] = (pid_t)strtol(entry->d_name, NULL, 10);
            count++;
        }
    }
    close(directory);
    return count;
}

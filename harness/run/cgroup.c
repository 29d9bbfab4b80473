#include "harness/run/cgroup.h"

#include "base/system/cgroup_path.h"
#include "base/system/file.h"
#include "base/system/process.h"
#include "base/text/text.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool write_text(const char *directory, const char *file, const char *text)
{
    char *path = ypi_format("%s/%s", directory, file);
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    free(path);
    if (fd < 0)
        return false;
    bool ok = write(fd, text, strlen(text)) == (ssize_t)strlen(text);
    close(fd);
    return ok;
}

/* This process's own group: version 1's pids hierarchy, else version 2's single one. */
static char *own_group(void)
{
    static const char *const mounts[] = {"/sys/fs/cgroup/pids", "/sys/fs/cgroup"};
    static const char *const controllers[] = {"pids", ""};
    for (int i = 0; i < 2; i++) {
        char group[4096];
        struct stat status;
        if (!ypi_cgroup_path("", controllers[i], group, sizeof group))
            continue;
        char *path = ypi_format("%s%s", mounts[i], group);
        if (stat(path, &status) == 0)
            return path;
        free(path);
    }
    return NULL;
}

static void move_to(const char *group)
{
    char pid[32];
    snprintf(pid, sizeof pid, "%d", (int)getpid());
    write_text(group, "cgroup.procs", pid);
}

#define GROUP_PREFIX "yieldpoint-"

/* A group can only be removed when nothing is in it, so this takes none from a living run. */
static void remove_stale_groups(const char *own)
{
    DIR *directory = opendir(own);
    const struct dirent *entry = NULL;
    while (directory != NULL && (entry = readdir(directory)) != NULL) {
        if (strncmp(entry->d_name, GROUP_PREFIX, strlen(GROUP_PREFIX)) != 0)
            continue;
        pid_t owner = (pid_t)atoi(entry->d_name + strlen(GROUP_PREFIX));
        if (ypi_process_state(owner) == '\0')
            unlinkat(dirfd(directory), entry->d_name, AT_REMOVEDIR);
    }
    if (directory != NULL)
        closedir(directory);
}

char *ypi_cgroup_enter(int limit)
{
    char *own = own_group();
    if (own == NULL)
        return NULL;
    remove_stale_groups(own);
    char *group = ypi_format("%s/" GROUP_PREFIX "%d", own, (int)getpid());
    free(own);
    if (mkdir(group, 0755) == 0) {
        char text[64] = "";
        char *current = ypi_format("%s/pids.current", group);
        move_to(group);
        bool counted = ypi_read_file(current, text, sizeof text) > 0 && atoi(text) > 0;
        free(current);
        snprintf(text, sizeof text, "%d", atoi(text) + limit);
        if (counted && write_text(group, "pids.max", text))
            return group;
        ypi_cgroup_leave(group);
        return NULL;
    }
    free(group);
    return NULL;
}

uint64_t ypi_cgroup_refusals(const char *group)
{
    char *path = ypi_format("%s/pids.events", group);
    char text[256];
    size_t size = ypi_read_file(path, text, sizeof text);
    free(path);
    const char *at = size > 0 ? strstr(text, "max ") : NULL;
    return at != NULL ? strtoull(at + 4, NULL, 10) : 0;
}

void ypi_cgroup_leave(char *group)
{
    if (group == NULL)
        return;
    char *slash = strrchr(group, '/');
    *slash = '\0';
    move_to(group);
    *slash = '/';
    rmdir(group);
    free(group);
}

#include "gate/workplace.h"

#include "base/system/file.h"
#include "base/text/text.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define PREFIX "yieldpoint-gate-"
#define LOCK "lock"

static int lock_of(const char *directory)
{
    char *path = ypi_format("%s/" LOCK, directory);
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    free(path);
    if (fd < 0 || flock(fd, LOCK_EX | LOCK_NB) == 0)
        return fd;
    close(fd);
    return -1;
}

/* One that no process holds is a dead one's; one that is only being made has no lock file yet. */
static void remove_if_stale(const char *path)
{
    struct stat s;
    char *lock = ypi_format("%s/" LOCK, path);
    bool whole = lstat(lock, &s) == 0 && s.st_uid == geteuid();
    int fd = whole ? lock_of(path) : -1;
    /* Suites that it had started end themselves, and may write a little longer. */
    for (int i = 0; fd >= 0 && i < 40 && access(path, F_OK) == 0; i++) {
        ypi_remove_tree(path);
        (void)poll(NULL, 0, i > 0 ? 50 : 0);
    }
    if (fd >= 0)
        close(fd);
    free(lock);
}

static void remove_stale(const char *parent)
{
    DIR *directory = opendir(parent);
    const struct dirent *entry = NULL;
    while (directory != NULL && (entry = readdir(directory)) != NULL) {
        if (strncmp(entry->d_name, PREFIX, sizeof PREFIX - 1) != 0)
            continue;
        char *path = ypi_format("%s/%s", parent, entry->d_name);
        remove_if_stale(path);
        free(path);
    }
    if (directory != NULL)
        closedir(directory);
}

enum yp_status ypi_workplace_open(struct ypi_workplace *w)
{
    static const char template[] = "/" PREFIX "XXXXXX";
    const char *parent = getenv("TMPDIR");
    if (parent == NULL || *parent != '/' || strlen(parent) + sizeof template > sizeof w->path)
        parent = "/tmp";
    w->lock = -1;
    remove_stale(parent);
    snprintf(w->path, sizeof w->path, "%s%s", parent, template);
    if (mkdtemp(w->path) == NULL) {
        enum yp_status status =
            yp_set_error(YP_IO, "%s: cannot be made: %s", w->path, strerror(errno));
        *w->path = '\0';
        return status;
    }
    w->lock = lock_of(w->path);
    return YP_OK;
}

void ypi_workplace_close(struct ypi_workplace *w)
{
    if (*w->path != '\0')
        ypi_remove_tree(w->path);
    if (w->lock >= 0)
        close(w->lock);
    *w = (struct ypi_workplace){.lock = -1};
}

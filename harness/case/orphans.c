#include "harness/case/orphans.h"

#include "base/system/process.h"
#include "base/text/text.h"
#include "harness/body/child.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

void ypi_orphans_check(struct yp_case *t)
{
    enum { CAPACITY = 4096, SHOWN = 5 };
    pid_t reaped = 0;
    while ((reaped = waitpid(-1, NULL, WNOHANG | __WALL)) > 0) {
    }
    /* Whatever a case starts becomes its child at the latest when it has lost its parent. Looking
     * into the threads' directories of /proc makes the kernel keep an entry of each, for which
     * the reaper of the process has to wait. */
    if (reaped < 0 && errno == ECHILD)
        return;
    pid_t *found = ypi_calloc(CAPACITY, sizeof *found);
    int count = ypi_descendants(getpid(), found, CAPACITY);
    struct ypi_text list = {0};
    int live = 0;
    for (int i = 0; i < count; i++) {
        char state = ypi_process_state(found[i]);
        if (state == 'Z' || state == '\0')
            continue;
        char name[64];
        ypi_process_name(found[i], name);
        if (live++ < SHOWN)
            ypi_text_add(&list, "%s%s (pid %d)", live > 1 ? ", " : "", name, (int)found[i]);
    }
    if (live > SHOWN)
        ypi_text_add(&list, ", ...");
    if (live > 0) {
        ypi_kill_tree(getpid(), false);
        while (waitpid(-1, NULL, WNOHANG) > 0) {
        }
        ypi_child_fail(t, YPI_CAUSE_ORPHANS, NULL, 0, "left %d process%s running: %s", live,
                       live > 1 ? "es" : "", list.data);
    }
    free(ypi_text_take(&list));
    free(found);
}

/* That by which MPICH asks its launcher, and which MPI_Finalize() closes; -1: there is none. */
static int descriptor_of_launcher(void)
{
    const char *number = getenv("PMI_FD");
    return number != NULL ? atoi(number) : -1;
}

char *ypi_descriptors(void)
{
    struct ypi_text list = {0};
    const int launcher = descriptor_of_launcher();
    DIR *directory = opendir("/proc/self/fd");
    const struct dirent *entry = NULL;
    while (directory != NULL && (entry = readdir(directory)) != NULL) {
        char target[512];
        ssize_t length = readlinkat(dirfd(directory), entry->d_name, target, sizeof target);
        /* A file that was removed meanwhile is still the same. */
        static const char removed[] = " (deleted)";
        ssize_t end = length - (ssize_t)sizeof removed + 1;
        if (end > 0 && memcmp(target + end, removed, sizeof removed - 1) == 0)
            length = end;
        const int number = atoi(entry->d_name);
        if (length > 0 && number != dirfd(directory) && number != launcher)
            ypi_text_add(&list, "%s (%.*s)\n", entry->d_name, (int)length, target);
    }
    if (directory != NULL)
        closedir(directory);
    return ypi_text_take(&list);
}

char *ypi_descriptors_lost(const char *before)
{
    char *now = ypi_descriptors();
    struct ypi_text lost = {0};
    /* Where they cannot be listed any more, one that is open is believed to be what it was. */
    bool listed = strchr(now, '\n') != NULL;
    for (const char *line = before; *line != '\0'; line += strcspn(line, "\n") + 1) {
        int length = (int)strcspn(line, "\n") + 1;
        char *one = ypi_format("%.*s", length, line);
        const char *at = strstr(now, one);
        bool same = at != NULL && (at == now || at[-1] == '\n');
        if (listed ? !same : fcntl(atoi(one), F_GETFD) < 0)
            ypi_text_add(&lost, "%s%.*s", lost.length > 0 ? ", " : "", length - 1, line);
        free(one);
    }
    free(now);
    if (lost.length > 0)
        return ypi_text_take(&lost);
    free(ypi_text_take(&lost));
    return NULL;
}

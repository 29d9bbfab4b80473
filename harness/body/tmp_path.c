/* A case's directories: made here, removed by the runner. */
#include "harness/message/tmp_path.h"
#include "base/heap/heap.h"

#include "harness/body/state.h"

#include <linux/magic.h>
#include <stdlib.h>
#include <sys/vfs.h>
#include <unistd.h>
#include <yieldpoint/tmp_path.h>

static const char *path_below(struct yp_case *t, enum ypi_tmp_place place, const char *parent)
{
    YPI_HEAP_OWN;
    const struct ypi_job *job = ypi_child_job(t);
    char **path = &t->child->tmp_paths[place];
    if (*path == NULL &&
        ypi_tmp_path_make(job->channel, job->attempt, place, parent, path) != YP_OK)
        ypi_child_quit(t, YPI_CAUSE_EXIT, "no directory for its files can be made: %s",
                       yp_last_error());
    return *path;
}

const char *yp_tmp_path(struct yp_case *t)
{
    const char *given = getenv("TMPDIR");
    return path_below(t, YPI_TMP_DISK, given != NULL && given[0] != '\0' ? given : "/tmp");
}

const char *yp_tmp_path_in_memory(struct yp_case *t, uint64_t bytes)
{
    static const char memory[] = "/dev/shm";
    struct statfs s;
    if (t->child->tmp_paths[YPI_TMP_MEMORY] != NULL)
        return t->child->tmp_paths[YPI_TMP_MEMORY];
    bool there = statfs(memory, &s) == 0 && s.f_type == TMPFS_MAGIC && access(memory, W_OK) == 0 &&
                 (double)s.f_bavail * (double)s.f_bsize >= (double)bytes;
    return there ? path_below(t, YPI_TMP_MEMORY, memory) : yp_tmp_path(t);
}

void ypi_child_forget_tmp_paths(struct ypi_child *child)
{
    for (int i = 0; i < YPI_TMP_PLACES; i++) {
        free(child->tmp_paths[i]);
        child->tmp_paths[i] = NULL;
    }
}

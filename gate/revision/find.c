/* From the name of a revision to a commit. */
#include "base/system/file.h"
#include "base/text/text.h"
#include "gate/revision.h"
#include "gate/revision/cache.h"
#include "gate/revision/git.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum yp_status ypi_revision_find(const struct ypi_recipe *r, const char *name,
                                 struct ypi_revision *out)
{
    bool worktree = strcmp(name, YPI_WORKTREE) == 0;
    *out = (struct ypi_revision){.name = ypi_strdup(name), .worktree = worktree};
    char *commit = NULL;
    if (worktree && r->bare)
        return yp_set_error(YP_INVALID, YPI_WORKTREE ": %s is a bare repository: it has no files",
                            r->root);
    if (worktree) {
        enum yp_status status = ypi_cache_make(r);
        if (status != YP_OK)
            return status;
        out->snapshot = ypi_cache_snapshot(r);
        commit = ypi_gate_snapshot(r->root, out->snapshot);
        if (commit == NULL)
            return yp_last_status();
    } else if ((commit = ypi_gate_commit(r->root, name)) == NULL) {
        return yp_set_error(YP_INVALID,
                            "%s: there is no such commit in %s; a branch, a tag, a hash, HEAD~1 "
                            "or " YPI_WORKTREE " for what is not committed is wanted",
                            name, r->root);
    }
    snprintf(out->commit, sizeof out->commit, "%s", commit);
    free(commit);
    return YP_OK;
}

void ypi_revision_clear(struct ypi_revision *r)
{
    if (r->snapshot != NULL)
        ypi_remove_tree(r->snapshot); /* of a build that was there already */
    free(r->snapshot);
    free(r->name);
    free(r->source);
    free(r->build);
    ypi_list_free(r->programs, r->program_count);
    if (r->lock > 0)
        close(r->lock);
    *r = (struct ypi_revision){0};
}

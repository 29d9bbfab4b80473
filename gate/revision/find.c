/* From the name of a revision to a commit. */
#include "base/text/text.h"
#include "gate/revision.h"
#include "gate/revision/cache.h"
#include "gate/revision/git.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The tree as it stands, with new files and without ignored ones, as a commit that nothing refers
 * to. An index of its own, so that the user's stays as it is; always the same author and time, so
 * that the same files are the same commit. NULL with yp_last_error() set. */
static char *snapshot(const struct ypi_recipe *r)
{
    static const char *const read_tree[] = {"read-tree", "HEAD", NULL};
    static const char *const add[] = {"add", "--all", "--", ".", ":(exclude,glob)**/.yieldpoint/**",
                                      NULL};
    static const char *const write_tree[] = {"write-tree", NULL};
    char *index = ypi_format("%s/index-%d", r->cache, (int)getpid());
    char *variable = ypi_format("GIT_INDEX_FILE=%s", index);
    const char *const more[] = {variable,
                                "GIT_AUTHOR_NAME=yieldpoint",
                                "GIT_AUTHOR_EMAIL=yieldpoint",
                                "GIT_AUTHOR_DATE=@0 +0000",
                                "GIT_COMMITTER_NAME=yieldpoint",
                                "GIT_COMMITTER_EMAIL=yieldpoint",
                                "GIT_COMMITTER_DATE=@0 +0000",
                                NULL};
    char *commit = NULL;
    char *tree = NULL;
    char *done = ypi_gate_git(r->root, read_tree, more);
    free(done);
    if (done != NULL && (done = ypi_gate_git(r->root, add, more)) != NULL)
        tree = ypi_gate_git(r->root, write_tree, more);
    if (tree != NULL) {
        free(done);
        const char *const commit_tree[] = {
            "commit-tree", tree, "-p", "HEAD", "-m", "work that is not committed", NULL};
        commit = ypi_gate_git(r->root, commit_tree, more);
    }
    free(tree);
    unlink(index);
    free(variable);
    free(index);
    return commit;
}

enum yp_status ypi_revision_find(const struct ypi_recipe *r, const char *name,
                                 struct ypi_revision *out)
{
    bool worktree = strcmp(name, YPI_WORKTREE) == 0;
    *out = (struct ypi_revision){.name = ypi_strdup(name), .worktree = worktree};
    char *commit = NULL;
    if (worktree) {
        enum yp_status status = ypi_cache_make(r);
        if (status != YP_OK)
            return status;
        commit = snapshot(r);
        if (commit == NULL)
            return yp_last_status();
    } else {
        char *object = ypi_format("%s^{commit}", name);
        const char *const words[] = {"rev-parse",        "--verify", "--quiet",
                                     "--end-of-options", object,     NULL};
        commit = ypi_gate_git(r->root, words, NULL);
        free(object);
        if (commit == NULL)
            return yp_set_error(
                YP_INVALID,
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
    free(r->name);
    free(r->source);
    free(r->build);
    ypi_list_free(r->programs, r->program_count);
    if (r->lock > 0)
        close(r->lock);
    *r = (struct ypi_revision){0};
}

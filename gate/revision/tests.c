/* Test sources from outside the revisions, for commits that have none: a copy below the cache,
 * whose path follows from what is in it. All revisions are built with the same one, and what
 * changes in the user's directory while a command runs changes nothing in it. */
#include "gate/revision/tests.h"
#include "base/system/file.h"
#include "base/text/text.h"
#include "gate/revision/cache.h"
#include "gate/revision/digest.h"
#include "gate/revision/walk.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A node id begins behind the last directory of this name, so that the ids are the same whatever
 * the directory above is called. */
#define NAME "tests"

static enum yp_status failed(const char *path)
{
    return yp_set_error(YP_IO, "%s: cannot be copied: %s", path, strerror(errno));
}

static bool read_whole(const char *path, struct ypi_text *out)
{
    static char block[1 << 16];
    FILE *file = fopen(path, "re");
    for (size_t got = 1; file != NULL && got > 0;) {
        got = fread(block, 1, sizeof block, file);
        ypi_text_bytes(out, block, got);
    }
    bool right = file != NULL && !ferror(file);
    if (file != NULL)
        fclose(file);
    return right;
}

static enum yp_status copy_file(const char *from, const char *to, bool runs, struct ypi_digest *d)
{
    struct ypi_text bytes = {0};
    enum yp_status status = YP_OK;
    if (!read_whole(from, &bytes))
        status = failed(from);
    else if (!ypi_write_file(to, bytes.data, bytes.length) || chmod(to, runs ? 0755 : 0644) != 0)
        status = failed(to);
    ypi_digest_word(d, runs);
    ypi_digest_bytes(d, bytes.data != NULL ? bytes.data : "", bytes.length);
    free(ypi_text_take(&bytes));
    return status;
}

/* Of repositories and of Yieldpoint itself: nothing that a test is made of. */
static bool is_passed_over(const FTSENT *at)
{
    return at->fts_level > 0 &&
           (strcmp(at->fts_name, ".git") == 0 || strcmp(at->fts_name, ".yieldpoint") == 0);
}

static enum yp_status copy_entry(const FTSENT *at, const char *to, struct ypi_digest *d)
{
    switch (at->fts_info) {
    case FTS_D:
        return mkdir(to, 0777) == 0 || errno == EEXIST ? YP_OK : failed(to);
    case FTS_DP:
        return YP_OK;
    case FTS_F:
        if (!S_ISREG(at->fts_statp->st_mode))
            break;
        return copy_file(at->fts_accpath, to, (at->fts_statp->st_mode & S_IXUSR) != 0, d);
    case FTS_DC:
        return yp_set_error(YP_INVALID, "%s: this link leads to a directory above it",
                            at->fts_path);
    case FTS_SLNONE:
        return yp_set_error(YP_INVALID, "%s: this link leads nowhere", at->fts_path);
    case FTS_DNR:
    case FTS_ERR:
    case FTS_NS:
        errno = at->fts_errno;
        return failed(at->fts_path);
    default:
        break;
    }
    return yp_set_error(YP_INVALID, "%s: neither a file nor a directory", at->fts_path);
}

/* What links lead to is copied, since they may lead out of the directory. */
static enum yp_status copy(const char *from, const char *to, struct ypi_digest *d, int *count)
{
    FTS *tree = ypi_walk(from, FTS_LOGICAL);
    enum yp_status status = tree != NULL ? YP_OK : failed(from);
    while (status == YP_OK && tree != NULL) {
        FTSENT *at = ypi_walk_next(tree);
        if (at == NULL) {
            status = errno == 0 ? YP_OK : failed(from);
            break;
        }
        const char *below = at->fts_path + strlen(from);
        if (is_passed_over(at)) {
            (void)fts_set(tree, at, FTS_SKIP);
            continue;
        }
        char *path = at->fts_level == 0 && at->fts_info == FTS_F
                         ? ypi_format("%s/%s", to, at->fts_name)
                         : ypi_format("%s%s", to, below);
        *count += at->fts_info == FTS_F;
        ypi_digest_text(d, path + strlen(to));
        status = copy_entry(at, path, d);
        free(path);
    }
    if (tree != NULL)
        fts_close(tree);
    return status;
}

/* With the place locked by this process alone. */
static bool move(const char *part, const char *place)
{
    if (ypi_cache_is_made(place))
        return true;
    ypi_remove_tree(place); /* what a killed process left */
    if (rename(part, place) == 0)
        return true;
    (void)failed(place);
    return false;
}

/* The place's lock, shared, with the copy in it, which need not be `part`: another process may have
 * been first, with the same files. Locked anew once it is there, and looked at again, as that of a
 * build (build.c). -1 with yp_last_error() set. */
static int put_in_place(const char *part, const char *place)
{
    static const volatile bool never = false;
    int lock = ypi_cache_lock(place, false, stderr, &never);
    while (lock >= 0 && !ypi_cache_is_made(place)) {
        close(lock);
        lock = ypi_cache_lock(place, true, stderr, &never);
        const bool moved = lock >= 0 && move(part, place);
        if (lock >= 0)
            close(lock);
        lock = moved ? ypi_cache_lock(place, false, stderr, &never) : -1;
    }
    ypi_remove_tree(part); /* where it is not in its place */
    return lock;
}

static enum yp_status take(struct ypi_recipe *r, const char *from, const char *part)
{
    char *inside = ypi_format("%s/" NAME, part);
    struct ypi_digest d = {0};
    char name[YPI_DIGEST_MAX];
    int count = 0;
    ypi_remove_tree(part); /* of a killed process with the same number */
    enum yp_status status =
        mkdir(part, 0777) == 0 && mkdir(inside, 0777) == 0 ? YP_OK : failed(inside);
    if (status == YP_OK)
        status = copy(from, inside, &d, &count);
    if (status == YP_OK && count == 0)
        status = yp_set_error(YP_INVALID, "%s: there is no file in it", from);
    if (status == YP_OK)
        status = ypi_cache_mark_tests(part, from);
    free(inside);
    if (status != YP_OK) {
        ypi_remove_tree(part);
        return status;
    }
    ypi_digest_print(&d, name);
    char *place = ypi_cache_tests(r, name);
    int lock = put_in_place(part, place);
    if (lock >= 0) {
        r->tests_lock = lock;
        r->tests = ypi_format("%s/" NAME, place);
    }
    status = lock >= 0 ? YP_OK : yp_last_status();
    free(place);
    return status;
}

enum yp_status ypi_tests_take(struct ypi_recipe *r, const char *from)
{
    char *whole = realpath(from, NULL);
    if (whole == NULL)
        return yp_set_error(YP_INVALID,
                            "%s: %s; a directory of test sources, or one of them, is wanted", from,
                            strerror(errno));
    char *part = ypi_cache_snapshot(r);
    enum yp_status status = ypi_cache_make(r);
    if (status == YP_OK)
        status = take(r, whole, part);
    free(part);
    free(whole);
    return status;
}

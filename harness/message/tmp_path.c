#include "harness/message/tmp_path.h"

#include "base/system/file.h"
#include "base/text/text.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define NAME "yieldpoint-" /* of directories: then the run's, the item's number and the attempt */
#define LINK ".tmp"        /* behind number and attempt: then the place */
#define RUN "run-"         /* of a run's directory: see plan.c */
#define CHANNEL ".channel" /* behind the number */

/* "DIRECTORY/12.channel" of attempt 1 to "DIRECTORY/12-1.tmp0". */
static char *link_of(const char *channel, int attempt, enum ypi_tmp_place place)
{
    size_t length = strlen(channel) - strlen(CHANNEL);
    return ypi_format("%.*s-%d" LINK "%d", (int)length, channel, attempt, (int)place);
}

/* The part of a run directory's name that no other run's has; not ended by a NUL. */
static const char *run_of(const char *directory, size_t length, size_t *size)
{
    while (length > 0 && directory[length - 1] == '/')
        length--;
    size_t begin = length;
    while (begin > 0 && directory[begin - 1] != '/')
        begin--;
    size_t skipped = strncmp(directory + begin, RUN, strlen(RUN)) == 0 ? strlen(RUN) : 0;
    *size = length - begin - skipped;
    return directory + begin + skipped;
}

/* "PARENT/yieldpoint-RUN-12-1" */
static char *target_of(const char *channel, const char *link, const char *parent)
{
    const char *slash = strrchr(channel, '/');
    size_t size = 0;
    const char *run = run_of(channel, (size_t)(slash - channel), &size);
    const char *number = strrchr(link, '/') + 1;
    return ypi_format("%s/" NAME "%.*s-%.*s", parent, (int)size, run,
                      (int)(strstr(number, LINK) - number), number);
}

static bool is_own_directory(const char *path)
{
    struct stat there;
    return lstat(path, &there) == 0 && S_ISDIR(there.st_mode) && there.st_uid == geteuid();
}

enum yp_status ypi_tmp_path_make(const char *channel, int attempt, enum ypi_tmp_place place,
                                 const char *parent, char **path)
{
    char *whole = realpath(parent, NULL);
    if (whole == NULL)
        return yp_set_error(YP_IO, "%s: %s", parent, strerror(errno));
    char *link = link_of(channel, attempt, place);
    char *target = target_of(channel, link, whole);
    enum yp_status status = YP_OK;
    if (symlink(target, link) != 0 && errno != EEXIST)
        status = yp_set_error(YP_IO, "%s: %s", link, strerror(errno));
    else if (mkdir(target, 0700) != 0 && !(errno == EEXIST && is_own_directory(target)))
        status = yp_set_error(YP_IO, "%s: %s", target, strerror(errno));
    free(whole);
    free(link);
    if (status == YP_OK)
        *path = target;
    else
        free(target);
    return status;
}

/* Where the link leads, which the caller frees. NULL: it is no link, or one to what this run's
 * cases have not been given: a case can put anything there. */
static char *read_link(const char *directory, size_t length, const char *link)
{
    char target[YPI_PATH_MAX];
    ssize_t got = readlink(link, target, sizeof target - 1);
    if (got <= 0)
        return NULL;
    target[got] = '\0';
    size_t size = 0;
    const char *run = run_of(directory, length, &size);
    const char *name = strrchr(target, '/');
    bool ours = name != NULL && size > 0 && strncmp(name + 1, NAME, strlen(NAME)) == 0 &&
                strncmp(name + 1 + strlen(NAME), run, size) == 0 &&
                name[1 + strlen(NAME) + size] == '-' && is_own_directory(target);
    return ours ? ypi_strdup(target) : NULL;
}

static void end_one(const char *channel, char *link, bool kept, struct ypi_result *r)
{
    char *target = read_link(channel, (size_t)(strrchr(channel, '/') - channel), link);
    if (target != NULL && kept)
        ypi_result_note(r, "its files are kept in %s", target);
    else if (target != NULL)
        ypi_remove_tree(target);
    unlink(link);
    free(target);
}

void ypi_tmp_path_end(const char *channel, int attempt, enum ypi_keep_tmp keep,
                      struct ypi_result *r)
{
    bool kept = keep == YPI_KEEP_TMP_ALL || (keep == YPI_KEEP_TMP_FAILED && r->failure_count > 0);
    if (r->c->test->fixture && !kept)
        return; /* its users come: removed with the run's directory */
    for (int place = 0; place < YPI_TMP_PLACES; place++) {
        char *link = link_of(channel, attempt, (enum ypi_tmp_place)place);
        end_one(channel, link, kept, r);
        free(link);
    }
}

void ypi_tmp_path_remove(const char *directory, const char *entry)
{
    if (strstr(entry, LINK) == NULL)
        return;
    char *link = ypi_format("%s/%s", directory, entry);
    char *target = read_link(directory, strlen(directory), link);
    if (target != NULL)
        ypi_remove_tree(target);
    free(target);
    free(link);
}

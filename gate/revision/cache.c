#include "gate/revision/cache.h"

#include "base/system/file.h"
#include "base/text/text.h"
#include "gate/revision/digest.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define MARK "made"
#define LOCK ".lock"
#define SNAPSHOT "snapshot-"
#define TESTS "tests-"
#define UNKNOWN "-" /* in the place of a digest */
/* No process needs as long to build what it has taken a snapshot of. */
#define SNAPSHOT_SECONDS (24 * 3600.0)

enum yp_status ypi_cache_make(const struct ypi_recipe *r)
{
    char *inside = ypi_format("%s/" MARK, r->cache);
    enum yp_status status = ypi_make_parents(inside);
    free(inside);
    return status;
}

char *ypi_cache_place(const struct ypi_recipe *r, const char *commit)
{
    const char *const parts[] = {r->project, r->setup, r->options, r->build,
                                 r->suites,  r->tools, r->tests};
    struct ypi_digest d = {0};
    char name[YPI_DIGEST_MAX];
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        ypi_digest_text(&d, parts[i] != NULL ? parts[i] : "");
    ypi_digest_print(&d, name);
    return ypi_format("%s/%.20s-%.8s", r->cache, commit, name);
}

char *ypi_cache_tests(const struct ypi_recipe *r, const char *name)
{
    return ypi_format("%s/" TESTS "%.16s", r->cache, name);
}

char *ypi_cache_snapshot(const struct ypi_recipe *r)
{
    static int count; /* both sides of a gate may be one */
    return ypi_format("%s/" SNAPSHOT "%d-%d", r->cache, (int)getpid(), count++);
}

/* What is removed takes its lock's file with it. Who has opened that file before has locked what
 * nobody else can find. */
static bool is_still_at(int fd, const char *path)
{
    struct stat own;
    struct stat there;
    return fstat(fd, &own) == 0 && stat(path, &there) == 0 && own.st_dev == there.st_dev &&
           own.st_ino == there.st_ino;
}

static int open_lock(const char *path)
{
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (fd < 0)
        (void)yp_set_error(YP_IO, "%s: %s", path, strerror(errno));
    return fd;
}

int ypi_cache_lock(const char *place, bool alone, FILE *progress, const volatile bool *stop)
{
    static const struct timespec pause = {.tv_nsec = 100000000};
    char *path = ypi_format("%s" LOCK, place);
    int fd = open_lock(path);
    bool printed = false;
    while (fd >= 0) {
        if (flock(fd, (alone ? LOCK_EX : LOCK_SH) | LOCK_NB) == 0) {
            if (is_still_at(fd, path))
                break;
            close(fd);
            fd = open_lock(path);
            continue;
        }
        if (!printed)
            fprintf(progress, "waiting for another build of %s\n", place);
        printed = true;
        if (*stop) {
            close(fd);
            (void)yp_set_error(YP_UNSUPPORTED, "interrupted");
            fd = -1;
            break;
        }
        nanosleep(&pause, NULL);
    }
    free(path);
    return fd;
}

bool ypi_cache_is_made(const char *place)
{
    char *mark = ypi_format("%s/" MARK, place);
    /* Its time is when the build was used last. */
    bool made = utimensat(AT_FDCWD, mark, NULL, 0) == 0;
    free(mark);
    return made;
}

static enum yp_status mark_as(const char *place, const char *text)
{
    char *mark = ypi_format("%s/" MARK, place);
    char *part = ypi_format("%s.part", mark);
    FILE *file = fopen(part, "w");
    if (file != NULL)
        fputs(text, file);
    bool right = file != NULL && fflush(file) == 0 && fsync(fileno(file)) == 0;
    if (file != NULL && fclose(file) != 0)
        right = false;
    right = right && rename(part, mark) == 0;
    enum yp_status status =
        right ? YP_OK : yp_set_error(YP_IO, "%s: cannot be written: %s", mark, strerror(errno));
    free(part);
    free(mark);
    return status;
}

enum yp_status ypi_cache_mark(const char *place, const struct ypi_recipe *r, const char *commit,
                              const char *code)
{
    const char *usual = r->build != NULL ? "none" : "meson";
    char *text =
        ypi_format("code %s\ncommit %s\nsetup %s\noptions %s\nbuild %s\nsuites %s\ntests %s\n%s",
                   *code != '\0' ? code : UNKNOWN, commit, r->setup != NULL ? r->setup : usual,
                   r->options != NULL ? r->options : "", r->build != NULL ? r->build : "ninja",
                   r->suites != NULL ? r->suites : "by meson",
                   r->tests != NULL ? r->tests : "the revision's own", r->tools);
    enum yp_status status = mark_as(place, text);
    free(text);
    return status;
}

void ypi_cache_code(const char *place, char out[33])
{
    char *mark = ypi_format("%s/" MARK, place);
    static const char before[] = "code ";
    char text[64];
    (void)ypi_read_file(mark, text, sizeof text);
    const char *code = text + sizeof before - 1;
    bool known = strncmp(text, before, sizeof before - 1) == 0 &&
                 strspn(code, "0123456789abcdef") == YPI_DIGEST_MAX - 1 &&
                 code[YPI_DIGEST_MAX - 1] == '\n';
    snprintf(out, YPI_DIGEST_MAX, "%.*s", known ? YPI_DIGEST_MAX - 1 : 0, code);
    free(mark);
}

enum yp_status ypi_cache_mark_tests(const char *place, const char *from)
{
    char *text = ypi_format("tests from %s\n", from);
    enum yp_status status = mark_as(place, text);
    free(text);
    return status;
}

struct place {
    char *path;
    bool tests; /* a copy of test sources, not a build */
    struct timespec used;
};

static int by_use(const void *a, const void *b)
{
    const struct timespec *x = &((const struct place *)a)->used;
    const struct timespec *y = &((const struct place *)b)->used;
    if (x->tv_sec != y->tv_sec)
        return x->tv_sec < y->tv_sec ? 1 : -1;
    return (x->tv_nsec < y->tv_nsec) - (x->tv_nsec > y->tv_nsec);
}

/* Not while anybody uses it. */
static void remove_place(const char *path)
{
    char *lock = ypi_format("%s" LOCK, path);
    int fd = open_lock(lock);
    if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0 && is_still_at(fd, lock)) {
        char *mark = ypi_format("%s/" MARK, path);
        unlink(mark); /* first: half a build is none */
        free(mark);
        ypi_remove_tree(path);
        unlink(lock);
    }
    if (fd >= 0)
        close(fd);
    free(lock);
}

static void remove_snapshot(const struct ypi_recipe *r, const char *name)
{
    struct stat s;
    char *path = ypi_format("%s/%s", r->cache, name);
    if (strncmp(name, SNAPSHOT, sizeof SNAPSHOT - 1) == 0 && stat(path, &s) == 0 &&
        difftime(time(NULL), s.st_mtime) > SNAPSHOT_SECONDS)
        ypi_remove_tree(path);
    free(path);
}

void ypi_cache_prune(const struct ypi_recipe *r)
{
    struct place *places = NULL;
    int count = 0;
    DIR *directory = opendir(r->cache);
    const struct dirent *entry = NULL;
    while (directory != NULL && (entry = readdir(directory)) != NULL) {
        struct stat s;
        remove_snapshot(r, entry->d_name);
        char *mark = ypi_format("%s/%s/" MARK, r->cache, entry->d_name);
        if (entry->d_name[0] != '.' && stat(mark, &s) == 0) {
            places = ypi_realloc(places, (size_t)count + 1, sizeof *places);
            places[count++] =
                (struct place){.path = ypi_format("%s/%s", r->cache, entry->d_name),
                               .tests = strncmp(entry->d_name, TESTS, sizeof TESTS - 1) == 0,
                               .used = s.st_mtim};
        }
        free(mark);
    }
    if (directory != NULL)
        closedir(directory);
    if (count > 0)
        qsort(places, (size_t)count, sizeof *places, by_use);
    int kept[2] = {0, 0};
    for (int i = 0; i < count; i++) {
        if (kept[places[i].tests]++ >= r->keep)
            remove_place(places[i].path);
        free(places[i].path);
    }
    free(places);
}

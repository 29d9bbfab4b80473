/* What a fixture provides, and what a case is given: memory of the runner, mapped here. */
#include "base/heap/heap.h"
#include "base/system/process.h"
#include "base/text/text.h"
#include "harness/body/state.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static int open_of_runner(const struct yp_case *t, int fd, int how)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/fd/%d", (int)ypi_child_job(t)->runner, fd);
    return open(path, how | O_CLOEXEC);
}

static struct ypi_mapped map(int fd, size_t bytes, int protection)
{
    void *at = fd >= 0 ? mmap(NULL, bytes, protection, MAP_SHARED, fd, 0) : MAP_FAILED;
    return at != MAP_FAILED ? (struct ypi_mapped){.at = at, .bytes = bytes}
                            : (struct ypi_mapped){0};
}

/* Of memory like this the kernel gives more than there is, and then ends whatever process it finds,
 * for this belongs to none. Some is left for the users of the fixture. */
static void check_size(const struct yp_case *t, size_t bytes)
{
    const uint64_t limit = ypi_child_job(t)->memory_limit;
    const uint64_t available = ypi_memory_available();
    if (limit > 0 && bytes > limit)
        ypi_child_quit(t, YPI_CAUSE_OUT_OF_MEMORY,
                       "a fixture's %zu bytes are more than --memory-limit allows, %" PRIu64, bytes,
                       limit);
    if (available > 0 && bytes > available / 8 * 7)
        ypi_child_quit(t, YPI_CAUSE_OUT_OF_MEMORY,
                       "a fixture's %zu bytes are more than seven eighths of the %" PRIu64
                       " that are free",
                       bytes, available);
}

/* All of it is taken at once: what is not there would be a bus error when it is written. */
static bool renew(int fd, size_t bytes)
{
    int error = fd < 0 || ftruncate(fd, 0) != 0 ? errno : 0;
    if (error == 0)
        error = posix_fallocate(fd, 0, (off_t)bytes);
    errno = error;
    return error == 0;
}

/* Of a fixture of each rank, in the process that reads it. */
static struct ypi_mapped take_own(size_t bytes)
{
    void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return at != MAP_FAILED ? (struct ypi_mapped){.at = at, .bytes = bytes}
                            : (struct ypi_mapped){0};
}

static struct ypi_mapped take_of_run(const struct yp_case *t, size_t bytes)
{
    struct ypi_mapped taken = {0};
    const int fd = open_of_runner(t, t->child->job->provided, O_RDWR);
    if (renew(fd, bytes))
        taken = map(fd, bytes, PROT_READ | PROT_WRITE);
    const int error = errno;
    if (fd >= 0)
        close(fd);
    errno = error;
    return taken;
}

void *yp_provide(struct yp_case *t, size_t bytes)
{
    YPI_HEAP_OWN;
    struct ypi_child *child = t->child;
    struct ypi_mapped *to =
        child->making != NULL ? &child->given[child->making->number] : &child->provided;
    if (!t->test->fixture)
        ypi_child_quit(t, YPI_CAUSE_USAGE,
                       "yp_provide() in a case that is no fixture: allowed in YP_FIXTURE");
    if (to->at != NULL)
        ypi_child_quit(t, YPI_CAUSE_USAGE, "yp_provide() a second time: allowed is once");
    if (bytes == 0 || bytes > PTRDIFF_MAX)
        ypi_child_quit(t, YPI_CAUSE_USAGE, "yp_provide() of %zu bytes: allowed are 1 to %td", bytes,
                       PTRDIFF_MAX);
    check_size(t, bytes);
    *to = child->making != NULL ? take_own(bytes) : take_of_run(t, bytes);
    if (to->at == NULL)
        ypi_child_quit(t, YPI_CAUSE_OUT_OF_MEMORY, "a fixture's %zu bytes: %s", bytes,
                       strerror(errno));
    return to->at;
}

void ypi_child_makes(struct yp_case *t, const struct ypi_own_fixture *fixture)
{
    struct ypi_child *child = t->child;
    const struct ypi_mapped *made =
        child->making != NULL ? &child->given[child->making->number] : NULL;
    if (made != NULL && made->at != NULL)
        mprotect(made->at, made->bytes, PROT_READ);
    child->making = fixture;
}

/* Whether this word of .fixtures is meant by `name`: whole, or as its test. */
static bool is_word(const char *word, size_t length, const char *name, bool whole)
{
    if (whole)
        return strlen(name) == length && memcmp(name, word, length) == 0;
    const char *begin = word;
    size_t end = 0;
    while (end < length && word[end] != '[')
        end++;
    for (size_t i = 0; i + 2 <= end; i++)
        if (word[i] == ':' && word[i + 1] == ':')
            begin = word + i + 2;
    const size_t test = (size_t)(word + end - begin);
    return strlen(name) == test && memcmp(name, begin, test) == 0;
}

/* The number of the only one that is meant; -1: there is none, or several. */
static int find(const struct yp_case *t, const char *name, bool whole)
{
    const char *cursor = t->test->fixtures != NULL ? t->test->fixtures : "";
    const char *word = NULL;
    size_t length = 0;
    int found = -1;
    int count = 0;
    for (int i = 0; ypi_next_word(&cursor, &word, &length); i++)
        if (is_word(word, length, name, whole)) {
            found = i;
            count++;
        }
    return count == 1 ? found : -1;
}

static int number_of(const struct yp_case *t, const char *name)
{
    int number = name != NULL ? find(t, name, true) : -1;
    if (number < 0 && name != NULL)
        number = find(t, name, false);
    if (number < 0)
        ypi_child_quit(t, YPI_CAUSE_USAGE, "no one fixture is '%s': .fixtures is \"%s\"",
                       name != NULL ? name : "(null)",
                       t->test->fixtures != NULL ? t->test->fixtures : "");
    return number;
}

static bool is_own(const struct yp_case *t, int number)
{
    const struct ypi_job *job = t->child->job;
    for (int i = 0; i < job->own_count; i++)
        if (job->own[i].number == number)
            return true;
    return false;
}

/* The runner's memory is seen on its own machine alone. */
static void check_host(const struct yp_case *t, const char *name)
{
    char host[64] = "";
    const char *of_runner = t->child->job->host;
    gethostname(host, sizeof host - 1);
    if (of_runner != NULL && strcmp(host, of_runner) != 0)
        ypi_child_quit(t, YPI_CAUSE_EXIT,
                       "fixture '%s' is in the memory of %s, and this rank is on %s: with "
                       ".each_rank each rank makes one",
                       name, of_runner, host);
}

const void *yp_fixture(struct yp_case *t, const char *name, size_t *bytes)
{
    YPI_HEAP_OWN;
    const int number = number_of(t, name);
    struct ypi_mapped *given = &t->child->given[number];
    if (given->at == NULL && is_own(t, number))
        ypi_child_quit(t, YPI_CAUSE_USAGE, "fixture '%s' has provided nothing", name);
    if (given->at == NULL) {
        struct stat there;
        check_host(t, name);
        const int fd = open_of_runner(t, t->child->job->given[number], O_RDONLY);
        const bool known = fd >= 0 && fstat(fd, &there) == 0;
        if (known && there.st_size > 0)
            *given = map(fd, (size_t)there.st_size, PROT_READ);
        const int error = errno;
        if (fd >= 0)
            close(fd);
        if (known && there.st_size == 0)
            ypi_child_quit(t, YPI_CAUSE_USAGE, "fixture '%s' has provided nothing", name);
        if (given->at == NULL)
            ypi_child_quit(t, YPI_CAUSE_EXIT, "fixture '%s' cannot be had: %s", name,
                           strerror(error));
    }
    if (bytes != NULL)
        *bytes = given->bytes;
    return given->at;
}

static void unmap(struct ypi_mapped *m)
{
    if (m->at != NULL)
        munmap(m->at, m->bytes);
    *m = (struct ypi_mapped){0};
}

void ypi_child_leave_fixtures(struct ypi_child *child)
{
    unmap(&child->provided);
    for (int i = 0; i < YP_MAX_FIXTURES; i++)
        unmap(&child->given[i]);
}

/* A link among the ranks of a node is a ring: each rank copies what the one before has just
 * written, so that every byte comes from another processor's cache, or from memory. The time is
 * that of a handshake and of the copy; writing is not part of an exchange. */
#include "ranks/link.h"

#include "base/system/clock.h"

#include <fcntl.h>
#include <math.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define PAGE ((size_t)4096)
/* Of one copy. Larger operations are extrapolated: no cache holds them. */
#define COPY_MOST ((size_t)128 << 20)
/* From here on an operation is two copies of half the size, which need no more memory together than
 * the operation's own arrays, and so come from the same cache. */
#define TWO_COPIES ((size_t)128 << 10)
#define PART ((size_t)1024)
#define LINE 64 /* so much comes with the handshake */
#define LOST_SECONDS 10.0
enum { CALLS_MOST = 100000, SPINS = 2000, LOOKS = 1024 };

/* At the begin of a rank's memory. From the next page on a copy's source and destination follow. */
struct head {
    _Atomic uint64_t come;
};

struct ypk_link {
    struct ypk_communicator *c;
    enum ypk_probed what;
    size_t bytes;           /* of the operation */
    size_t step;            /* bytes of a copy; 0: by the communicator's own operation */
    size_t others;          /* of them from the rank before */
    double factor;          /* copies of an operation */
    double clock;           /* seconds of a reading */
    int handshakes, copies; /* of a run */
    bool in_parts;
    uint64_t come; /* as in its head */
    size_t size;   /* of a rank's memory */
    char *own, *before, *behind;
};

/* What a rank copies at least, and how much of it from another rank. Where ranks reach each other's
 * memory, each makes a part of the sums from all copies at once: in an all-reduce of S bytes it
 * reads S/n of its own and (n - 1)/n S of the others', and writes S/n for each; in a reduce-scatter
 * it reads as much and writes S/n. A copy reads and writes its bytes, so it is half of that sum. */
static double least_bytes(enum ypk_probed what, double bytes, double ranks, double *others)
{
    const double from_others = what == YPK_PROBE_EXCHANGE ? bytes : (ranks - 1) / ranks * bytes;
    const double all = what == YPK_PROBE_ALL_REDUCE       ? bytes
                       : what == YPK_PROBE_REDUCE_SCATTER ? (1 + 1 / ranks) / 2 * bytes
                                                          : from_others;
    *others = fmin(from_others, all);
    return all;
}

/* -- the memory of the ranks ---------------------------------------------------------------- */

static char *map(int file, size_t size)
{
    char *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    return memory != MAP_FAILED ? memory : NULL;
}

/* Where another rank finds the memory of this one: a file without a name, which is gone with its
 * process. */
struct whereabouts {
    int64_t process, file;
    uint64_t inode; /* ranks in containers may know a process by different numbers */
};

static char *map_of(const struct whereabouts *there, size_t size)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%lld/fd/%lld", (long long)there->process,
             (long long)there->file);
    struct stat about;
    char *memory = NULL;
    const int file = open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK);
    if (file >= 0 && fstat(file, &about) == 0 && about.st_ino == there->inode &&
        about.st_size == (off_t)size)
        memory = map(file, size);
    if (file >= 0)
        close(file);
    return memory;
}

/* The rank's own memory, touched by itself first. */
static int make_own(struct ypk_link *l)
{
    const int file = memfd_create("yieldpoint-link", MFD_CLOEXEC);
    if (file >= 0 && ftruncate(file, (off_t)l->size) == 0)
        l->own = map(file, l->size);
    if (l->own != NULL)
        memset(l->own, 0, l->size);
    return file;
}

/* Whether all ranks have come so far; each must. */
static enum yp_status agree(const struct ypk_link *l, bool *fine)
{
    int64_t all = *fine;
    const enum yp_status status = ypk_all_reduce(l->c, &all, 1, YPK_INT64, YPK_MIN);
    *fine = all != 0;
    return status;
}

static void let_go(struct ypk_link *l)
{
    if (l->behind != NULL && l->behind != l->before)
        munmap(l->behind, l->size);
    if (l->before != NULL)
        munmap(l->before, l->size);
    if (l->own != NULL)
        munmap(l->own, l->size);
    l->own = l->before = l->behind = NULL;
}

/* Leaves l->own as NULL where the ranks do not see each other's memory. */
static enum yp_status share(struct ypk_link *l)
{
    const int ranks = ypk_size(l->c);
    const int rank = ypk_rank(l->c);
    struct whereabouts *all = calloc((size_t)ranks, sizeof *all);
    const int file = make_own(l);
    struct stat about = {.st_ino = 0};
    bool fine = l->own != NULL && all != NULL && fstat(file, &about) == 0;
    const struct whereabouts own = {.process = getpid(), .file = file, .inode = about.st_ino};
    enum yp_status status = agree(l, &fine);
    if (status == YP_OK && fine)
        status = ypk_all_gather(l->c, &own, sizeof own, all);
    if (status == YP_OK && fine && all != NULL) {
        l->before = map_of(&all[(rank + ranks - 1) % ranks], l->size);
        l->behind = ranks > 2 ? map_of(&all[(rank + 1) % ranks], l->size) : l->before;
        fine = l->before != NULL && l->behind != NULL;
        status = agree(l, &fine);
    }
    if (file >= 0)
        close(file);
    free(all);
    if (!fine || status != YP_OK)
        let_go(l);
    return status;
}

/* -- a run ------------------------------------------------------------------------------------ */

static struct head *head(char *memory)
{
    return (struct head *)(void *)memory;
}

/* What the rank behind reads, and where this one copies to. */
static char *shown(char *memory)
{
    return memory + PAGE;
}

static char *kept(const struct ypk_link *l)
{
    return l->own + PAGE + (l->size - PAGE) / 2;
}

/* Until the rank has come so far; false: it is lost. */
static bool wait_for(char *memory, uint64_t come)
{
    double end = 0;
    for (unsigned i = 0; atomic_load_explicit(&head(memory)->come, memory_order_acquire) < come;
         i++) {
        if (i < SPINS)
            continue;
        sched_yield(); /* which may be what the other one waits for */
        if (i % LOOKS != 0)
            continue;
        if (end > 0 && ypi_now() > end)
            return false;
        end = end > 0 ? end : ypi_now() + LOST_SECONDS;
    }
    return true;
}

/* Says that it has come, and waits for its neighbours. */
static bool meet(struct ypk_link *l)
{
    const uint64_t come = ++l->come;
    atomic_store_explicit(&head(l->own)->come, come, memory_order_release);
    return wait_for(l->before, come) && wait_for(l->behind, come);
}

/* Seconds of a handshake. */
static double handshakes(struct ypk_link *l, int calls)
{
    bool fine = meet(l);
    const double begin = ypi_now();
    for (int i = 0; i < calls && fine; i++)
        fine = meet(l);
    return fine ? (ypi_now() - begin) / calls : INFINITY;
}

static void write_anew(struct ypk_link *l)
{
    uint64_t *out = (uint64_t *)(void *)shown(l->own);
    for (size_t i = 0; i < l->step / sizeof *out; i++)
        out[i] = l->come + i;
}

/* Small parts go through registers; of large ones memcpy() knows that no cache holds them. Which is
 * faster depends on the size and the processor, so runs take turns. */
static void copy_part(const struct ypk_link *l, const char *from, size_t begin, size_t end)
{
    char *to = kept(l);
    const size_t part = l->in_parts ? PART : l->step;
    for (size_t at = begin; at < end; at += part)
        memcpy(to + at, from + at, part < end - at ? part : end - at);
}

/* Seconds of a copy. What is copied was written just before, by another processor. */
static double copies(struct ypk_link *l, int calls)
{
    double sum = 0;
    for (int i = 0; i < calls; i++) {
        write_anew(l);
        if (!meet(l))
            return INFINITY;
        const double begin = ypi_now();
        copy_part(l, shown(l->before), 0, l->others);
        copy_part(l, shown(l->own), l->others, l->step);
        sum += ypi_now() - begin - l->clock;
        if (!meet(l)) /* the one behind has read it */
            return INFINITY;
    }
    return fmax(sum / calls, 0);
}

/* On the slowest rank. All ranks have the same times, and so the same number of calls. */
static enum yp_status run_about(struct ypk_link *l, double (*part)(struct ypk_link *l, int calls),
                                int *calls, double seconds, double *each)
{
    for (;;) {
        enum yp_status status = ypk_barrier(l->c);
        if (status != YP_OK)
            return status;
        *each = part(l, *calls);
        status = ypk_all_reduce(l->c, each, 1, YPK_DOUBLE, YPK_MAX);
        if (status == YP_OK && isinf(*each))
            status = yp_set_error(YP_IO, "ranks: a rank was not there for %g s of a probe of %s",
                                  LOST_SECONDS, ypk_probe_name(l->what));
        if (status != YP_OK || *each * *calls >= seconds / 2 || *calls >= CALLS_MOST)
            return status;
        const double wanted = fmax(2.0 * *calls, seconds / fmax(*each, 1e-9));
        *calls = wanted < CALLS_MOST ? (int)wanted : CALLS_MOST;
    }
}

static enum yp_status run_memory(struct ypk_link *l, double seconds, double *each)
{
    double copied = 0;
    l->in_parts = !l->in_parts;
    enum yp_status status = run_about(l, handshakes, &l->handshakes, seconds / 4, each);
    if (status == YP_OK && l->step > LINE)
        status = run_about(l, copies, &l->copies, seconds, &copied);
    *each += l->factor * copied;
    return status;
}

enum yp_status ypk_link_run(struct ypk_link *link, double seconds, double *each)
{
    if (link->step > 0)
        return run_memory(link, seconds, each);
    struct ypk_figure figure = {.least = NAN};
    const enum yp_status status = ypk_probe(link->c, link->what, link->bytes, seconds, &figure);
    *each = figure.least;
    return status;
}

/* -- open and close --------------------------------------------------------------------------- */

static double clock_seconds(void)
{
    enum { READINGS = 64 };
    double least = INFINITY;
    for (int i = 0; i < READINGS; i++) {
        const double begin = ypi_now();
        least = fmin(least, ypi_now() - begin);
    }
    return least;
}

enum yp_status ypk_link_open(struct ypk_link **out, struct ypk_communicator *c,
                             enum ypk_probed what, size_t bytes)
{
    const size_t ranks = (size_t)ypk_size(c);
    const struct ypk_place place = ypk_place_of(c);
    enum yp_status status = YP_OK;
    *out = NULL;
    if (ranks < 2 || what == YPK_PROBE_BARRIER || bytes == 0)
        return yp_set_error(YP_INVALID,
                            "ranks: a link for %zu bytes of %s among %zu ranks: allowed are 1 byte "
                            "and more of an operation with data, 2 ranks and more",
                            bytes, ypk_probe_name(what), ranks);
    struct ypk_link *l = calloc(1, sizeof *l);
    if (l == NULL)
        return yp_set_error(YP_OUT_OF_MEMORY, "out of memory: a link of ranks");
    l->c = c;
    l->what = what;
    l->bytes = bytes > ranks * sizeof(float) ? bytes : ranks * sizeof(float);
    l->handshakes = l->copies = 1;
    l->clock = clock_seconds();
    double others = 0;
    const double least = fmax(least_bytes(what, (double)bytes, (double)ranks, &others), 1);
    l->factor = fmax(least >= (double)TWO_COPIES ? 2 : 1, least / (double)COPY_MOST);
    const size_t words = (size_t)ceil(least / l->factor / sizeof(uint64_t));
    const size_t one_copy = words * sizeof(uint64_t);
    const size_t from_others = (size_t)ceil(others / l->factor);
    l->others = from_others < one_copy ? from_others : one_copy;
    l->size = PAGE + 2 * ((one_copy + PAGE - 1) / PAGE) * PAGE;
    if (place.local_size == (int)ranks)
        status = share(l);
    l->step = l->own != NULL ? one_copy : 0;
    if (status == YP_OK)
        *out = l;
    else
        ypk_link_close(l);
    return status;
}

bool ypk_link_is_memory(const struct ypk_link *link)
{
    return link->step > 0;
}

void ypk_link_close(struct ypk_link *link)
{
    if (link == NULL)
        return;
    let_go(link);
    free(link);
}

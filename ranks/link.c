/* A link among the ranks of a node is a ring: each rank copies what the one before has just
 * written, so that every byte comes from another processor's cache, or from memory. */
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
/* Of one step. Larger operations are extrapolated: no cache holds them. */
#define STEP_MOST ((size_t)128 << 20)
/* From here on an operation is two steps of half the size, which need no more memory together than
 * the operation's own arrays, and so come from the same cache. */
#define TWO_STEPS ((size_t)128 << 10)
#define LOST_SECONDS 10.0
enum { CALLS_MOST = 100000, SPINS = 2000, LOOKS = 1024 };

/* At the begin of a rank's memory; two buffers of a step follow, from the next page on. */
struct head {
    _Atomic uint64_t done; /* steps */
};

struct ypk_link {
    struct ypk_communicator *c;
    enum ypk_probed what;
    size_t bytes;  /* of the operation */
    size_t step;   /* bytes of a step; 0: by the communicator's own operation */
    double factor; /* steps of an operation */
    int calls;     /* steps of a run */
    uint64_t number;
    size_t size; /* of a rank's memory */
    char *own, *before, *behind;
};

/* What a rank moves at least. It receives what its bus carries (Patarasuk and Yuan, "Bandwidth
 * optimal all-reduce algorithms for clusters of workstations", JPDC 69, 2009). Where ranks read
 * each other's memory, sums are made from all copies at once, and a rank reads and writes less:
 * S/n of its own, 2 (n - 1)/n S of the others' and S of results in an all-reduce, S and S/n in a
 * reduce-scatter. A copy reads and writes, so it is half of that sum. */
static double least_bytes(enum ypk_probed what, double bytes, double ranks)
{
    const double bus = ypk_bus_bytes(what, bytes, (int)ranks);
    if (what == YPK_PROBE_ALL_REDUCE)
        return fmin(bus, (3 - 1 / ranks) / 2 * bytes);
    if (what == YPK_PROBE_REDUCE_SCATTER)
        return fmin(bus, (1 + 1 / ranks) / 2 * bytes);
    return bus;
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
    if (status == YP_OK && fine) {
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

static char *buffer(const struct ypk_link *l, char *memory, uint64_t number)
{
    return memory + PAGE + (number % 2) * (l->size - PAGE) / 2;
}

/* Until the rank has done so many steps; false: it is lost. */
static bool wait_for(char *memory, uint64_t steps)
{
    double end = 0;
    for (unsigned i = 0; atomic_load_explicit(&head(memory)->done, memory_order_acquire) < steps;
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

/* The one before has written, and the one behind has read, what this one now reads and writes. */
static bool step(struct ypk_link *l)
{
    const uint64_t done = l->number++;
    if (!wait_for(l->before, done) || !wait_for(l->behind, done))
        return false;
    memcpy(buffer(l, l->own, done + 1), buffer(l, l->before, done), l->step);
    atomic_store_explicit(&head(l->own)->done, done + 1, memory_order_release);
    return true;
}

/* Seconds a step on the slowest rank. */
static enum yp_status run_steps(struct ypk_link *l, double *each)
{
    enum yp_status status = ypk_barrier(l->c);
    bool fine = status == YP_OK && step(l); /* the ranks now start together */
    const double begin = ypi_now();
    for (int i = 0; i < l->calls && fine; i++)
        fine = step(l);
    *each = fine ? (ypi_now() - begin) / l->calls : INFINITY;
    if (status == YP_OK)
        status = ypk_all_reduce(l->c, each, 1, YPK_DOUBLE, YPK_MAX);
    if (status == YP_OK && isinf(*each))
        status = yp_set_error(YP_IO, "ranks: a rank was not there for %g s of a probe of %s",
                              LOST_SECONDS, ypk_probe_name(l->what));
    return status;
}

/* All ranks have the same times, and so the same number of steps. */
static enum yp_status run_about(struct ypk_link *l, double seconds, double *each)
{
    enum yp_status status = run_steps(l, each);
    while (status == YP_OK && *each * l->calls < seconds / 2 && l->calls < CALLS_MOST) {
        const double wanted = fmax(2.0 * l->calls, seconds / fmax(*each, 1e-9) / 2);
        l->calls = wanted < CALLS_MOST ? (int)wanted : CALLS_MOST;
        status = run_steps(l, each);
    }
    return status;
}

enum yp_status ypk_link_run(struct ypk_link *link, double seconds, double *each)
{
    if (link->step > 0) {
        const enum yp_status status = run_about(link, seconds, each);
        *each *= link->factor;
        return status;
    }
    struct ypk_figure figure = {.least = NAN};
    const enum yp_status status = ypk_probe(link->c, link->what, link->bytes, seconds, &figure);
    *each = figure.least;
    return status;
}

/* -- open and close --------------------------------------------------------------------------- */

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
    l->calls = 1;
    const double least = fmax(least_bytes(what, (double)bytes, (double)ranks), 1);
    l->factor = least >= (double)TWO_STEPS ? 2 : 1;
    l->factor = fmax(l->factor, least / (double)STEP_MOST);
    const size_t one_step = (size_t)ceil(least / l->factor);
    l->size = PAGE + 2 * ((one_step + PAGE - 1) / PAGE) * PAGE;
    if (place.local_size == (int)ranks)
        status = share(l);
    l->step = l->own != NULL ? one_step : 0;
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

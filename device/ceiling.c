/* Probes: a kernel, its buffers, and the threads it runs on at once. */
#include "ceiling.h"

#include "kernels.h"
#include "levels.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

/* The clock is looked at after so much: some 10 to 30 us each. */
#define CHUNK ((size_t)128 << 10)
#define STEPS 4096
#define TRIAL_SECONDS 0.003
enum { TRIALS = 3 };
#define PAGE ((size_t)4096)

struct worker {
    struct ypi_probe *probe;
    pthread_t thread;
    int cpu;
    bool started;
    char *from, *to;
    size_t at; /* where in the buffers the next chunk begins */
    double begin, end, done;
};

struct ypi_probe {
    enum yp_ceiling ceiling;
    const struct ypi_kernel *kernel;
    size_t working; /* bytes of each buffer */
    size_t chunk;
    int threads;
    double seconds;
    pthread_mutex_t lock;
    pthread_cond_t wake, rest;
    int round, busy; /* under the lock */
    bool over;
    _Atomic int arrived; /* in this round */
    _Atomic double start;
    struct worker *workers;
};

const char *yp_ceiling_name(enum yp_ceiling ceiling)
{
    static const char *const names[YP_CEILINGS] = {"none", "read", "copy", "fill", "fp64",
                                                   "fp32", "bf16", "int8", "int32"};
    return ceiling < YP_CEILINGS ? names[ceiling] : "?";
}

static bool is_traffic(enum yp_ceiling ceiling)
{
    return ceiling == YP_READ || ceiling == YP_COPY || ceiling == YP_FILL;
}

static double clock_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* -- one thread's part --------------------------------------------------------------------- */

static double run_chunk(struct worker *w)
{
    const struct ypi_probe *p = w->probe;
    struct ypi_kernel_work work = {.steps = STEPS, .bytes = p->chunk};
    if (!is_traffic(p->ceiling)) {
        p->kernel->run(&work);
        return STEPS * p->kernel->amount;
    }
    if (w->at + p->chunk > p->working)
        w->at = 0;
    work.from = w->from + w->at;
    work.to = w->to + w->at;
    p->kernel->run(&work);
    w->at += p->chunk;
    return (double)p->chunk * p->kernel->amount;
}

/* All begin together: the last to arrive says when. */
static void meet(struct worker *w)
{
    struct ypi_probe *p = w->probe;
    if (atomic_fetch_add(&p->arrived, 1) + 1 == p->threads)
        atomic_store(&p->start, clock_now());
    while (atomic_load(&p->start) <= 0)
        sched_yield();
}

static void work(struct worker *w)
{
    meet(w);
    double end = atomic_load(&w->probe->start) + w->probe->seconds;
    w->begin = clock_now();
    w->done = 0;
    do {
        w->done += run_chunk(w);
        w->end = clock_now();
    } while (w->end < end);
}

static bool get_buffers(struct worker *w)
{
    const struct ypi_probe *p = w->probe;
    if (!is_traffic(p->ceiling))
        return true;
    size_t bytes = p->working + PAGE;
    char *both = mmap(NULL, 2 * bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (both == MAP_FAILED)
        return false;
    madvise(both, 2 * bytes, MADV_HUGEPAGE);
    w->from = both;
    w->to = both + bytes;
    uint64_t *words = (uint64_t *)(void *)w->from; /* by the thread itself: near to it */
    for (size_t i = 0; i < p->working / sizeof *words; i++)
        words[i] = (i + 1) * UINT64_C(0x9e3779b97f4a7c15);
    if (p->ceiling != YP_READ)
        memset(w->to, 0x5a, p->working);
    return true;
}

static void *live(void *argument)
{
    struct worker *w = argument;
    struct ypi_probe *p = w->probe;
    cpu_set_t own;
    CPU_ZERO(&own);
    CPU_SET((unsigned)w->cpu, &own);
    sched_setaffinity(0, sizeof own, &own);
    bool ready = get_buffers(w);
    int round = 0;
    pthread_mutex_lock(&p->lock);
    w->started = ready;
    for (;;) {
        if (--p->busy == 0)
            pthread_cond_signal(&p->rest);
        while (p->round == round && !p->over)
            pthread_cond_wait(&p->wake, &p->lock);
        round = p->round;
        if (p->over)
            break;
        pthread_mutex_unlock(&p->lock);
        work(w);
        pthread_mutex_lock(&p->lock);
    }
    pthread_mutex_unlock(&p->lock);
    return NULL;
}

/* -- all of them --------------------------------------------------------------------------- */

double ypi_probe_run(struct ypi_probe *p, double seconds)
{
    p->seconds = seconds;
    atomic_store(&p->arrived, 0);
    atomic_store(&p->start, 0);
    if (p->threads == 1) {
        work(&p->workers[0]);
    } else {
        pthread_mutex_lock(&p->lock);
        p->busy = p->threads;
        p->round++;
        pthread_cond_broadcast(&p->wake);
        while (p->busy > 0)
            pthread_cond_wait(&p->rest, &p->lock);
        pthread_mutex_unlock(&p->lock);
    }
    double begin = INFINITY;
    double end = 0;
    double done = 0;
    for (int i = 0; i < p->threads; i++) {
        const struct worker *w = &p->workers[i];
        begin = fmin(begin, w->begin);
        end = fmax(end, w->end);
        done += w->done;
    }
    return done / (end - begin);
}

/* Threads that do not come to life, or have no memory, end the probe. */
static bool start_threads(struct ypi_probe *p)
{
    int count = 0;
    bool ok = true;
    if (p->threads == 1) {
        p->workers[0].started = get_buffers(&p->workers[0]);
        return p->workers[0].started;
    }
    p->busy = p->threads;
    while (count < p->threads &&
           pthread_create(&p->workers[count].thread, NULL, live, &p->workers[count]) == 0)
        count++;
    pthread_mutex_lock(&p->lock);
    p->busy -= p->threads - count;
    while (p->busy > 0)
        pthread_cond_wait(&p->rest, &p->lock);
    for (int i = 0; i < count; i++)
        ok = ok && p->workers[i].started;
    pthread_mutex_unlock(&p->lock);
    ok = ok && count == p->threads;
    if (!ok)
        p->threads = count; /* those that have to be ended */
    return ok;
}

static const struct ypi_kernel *best_kernel(struct ypi_probe *p, bool memory, enum yp_isa isa)
{
    size_t count = 0;
    const struct ypi_kernel *all = ypi_kernels(&count);
    const struct ypi_kernel *best = NULL;
    double rate = 0;
    for (size_t i = 0; i < count; i++) {
        const struct ypi_kernel *k = &all[i];
        if (k->ceiling != p->ceiling || k->isa > isa || (k->runs != NULL && !k->runs()) ||
            (k->streaming && !memory))
            continue;
        p->kernel = k;
        double now = 0;
        for (int trial = 0; trial < TRIALS; trial++)
            now = fmax(now, ypi_probe_run(p, TRIAL_SECONDS));
        if (now > rate) {
            rate = now;
            best = k;
        }
    }
    return best;
}

static void lay_out(struct ypi_probe *p, const struct ypi_level *level, const int *cpus)
{
    /* Both buffers of a copy, and the one of the others, are together what the level is to hold. */
    size_t working = level != NULL ? level->working / (p->ceiling == YP_COPY ? 2 : 1) : 0;
    p->working = working / PAGE * PAGE > PAGE ? working / PAGE * PAGE : PAGE;
    p->chunk = p->working < CHUNK ? p->working : CHUNK;
    for (int i = 0; i < p->threads; i++)
        p->workers[i] = (struct worker){.probe = p, .cpu = cpus[i]};
}

struct ypi_probe *ypi_probe_open(enum yp_ceiling ceiling, const struct ypi_level *level,
                                 int threads, enum yp_isa isa)
{
    const int *cpus = NULL;
    int allowed = ypi_own_processors(&cpus);
    if (ceiling <= YP_NO_CEILING || ceiling >= YP_CEILINGS) {
        yp_set_error(YP_INVALID, "ceiling is %d: allowed is 1 to %d", (int)ceiling,
                     YP_CEILINGS - 1);
        return NULL;
    }
    if (is_traffic(ceiling) != (level != NULL) || threads < 0) {
        yp_set_error(YP_INVALID,
                     "probe of %s: a level is for traffic only, and threads (%d) are 0 or more",
                     yp_ceiling_name(ceiling), threads);
        return NULL;
    }
    struct ypi_probe *p = calloc(1, sizeof *p);
    struct worker *workers = calloc(YPI_PROCESSORS_MAX, sizeof *workers);
    if (p == NULL || workers == NULL || allowed == 0) {
        yp_set_error(YP_OUT_OF_MEMORY, "probe of %s: no memory", yp_ceiling_name(ceiling));
        free(p);
        free(workers);
        return NULL;
    }
    p->ceiling = ceiling;
    p->workers = workers;
    p->threads = threads > 0 && threads < allowed ? threads : allowed;
    pthread_mutex_init(&p->lock, NULL);
    pthread_cond_init(&p->wake, NULL);
    pthread_cond_init(&p->rest, NULL);
    lay_out(p, level, cpus);
    if (!start_threads(p)) {
        yp_set_error(YP_OUT_OF_MEMORY, "probe of %s on %d threads: %s", yp_ceiling_name(ceiling),
                     p->threads, strerror(errno));
        ypi_probe_close(p);
        return NULL;
    }
    p->kernel = best_kernel(p, level != NULL && level->size == 0, isa);
    return p;
}

size_t ypi_probe_bytes(const struct ypi_probe *p)
{
    if (!is_traffic(p->ceiling))
        return 0;
    return (size_t)p->threads * p->working * (p->ceiling == YP_READ ? 1 : 2);
}

void ypi_probe_close(struct ypi_probe *p)
{
    if (p == NULL)
        return;
    pthread_mutex_lock(&p->lock);
    p->over = true;
    pthread_cond_broadcast(&p->wake);
    pthread_mutex_unlock(&p->lock);
    for (int i = 0; i < p->threads; i++) {
        struct worker *w = &p->workers[i];
        if (w->thread != 0)
            pthread_join(w->thread, NULL);
        if (w->from != NULL)
            munmap(w->from, 2 * (p->working + PAGE));
    }
    pthread_cond_destroy(&p->rest);
    pthread_cond_destroy(&p->wake);
    pthread_mutex_destroy(&p->lock);
    free(p->workers);
    free(p);
}

/* -- emptying the caches ------------------------------------------------------------------- */

size_t ypi_cache_flush_bytes(void)
{
    struct ypi_level levels[YPI_LEVELS_MAX];
    int count = ypi_levels(0, levels, YPI_LEVELS_MAX);
    return levels[count - 1].total / 2; /* memory's is four times the largest cache */
}

void ypi_cache_flush(void *scratch)
{
    uint64_t *words = scratch;
    size_t count = ypi_cache_flush_bytes() / sizeof *words;
    for (size_t i = 0; i < count; i += 8)
        words[i]++; /* every line is fetched and made dirty */
    __asm__ volatile("" : : "g"(words) : "memory");
}

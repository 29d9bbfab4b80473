/* Probes: a kernel, its buffers, and the threads that it runs on at once. */
#include "device/ceiling/ceiling.h"

#include "base/system/clock.h"
#include "base/system/thread.h"
#include "device/ceiling/kernels.h"

#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* The clock is looked at after so much, some 5 to 100 us: reading it takes 50 ns. */
#define CHUNK_BYTES ((size_t)256 << 10)
#define CHUNK_STEPS 4096
/* A share of each run before it counts: clocks change when wide vectors begin. */
#define WARM_UP 0.125
#define TRIAL_SECONDS 0.002
#define HUGE_PAGE ((size_t)2 << 20)
#define STACK_BYTES ((size_t)256 << 10)
enum { TRIALS = 3, CANDIDATES = 3, PAGE = 4096 };

struct worker {
    struct ypi_probe *probe;
    pthread_t thread;
    int cpu;
    bool created, ready;
    char *from, *to; /* NULL: this ceiling has no use for it */
    size_t at;       /* where in the buffers the next chunk begins */
    double begin, end, done;
};

/* The last one to arrive says when all may go. */
struct gate {
    _Atomic int arrived;
    _Atomic double opened; /* 0: not yet */
};

struct ypi_probe {
    enum yp_ceiling ceiling;
    bool cached; /* what is worked on has to be in a cache when the time begins */
    const struct ypi_kernel *kernel;
    size_t buffer; /* bytes of each */
    size_t chunk;
    size_t passes; /* over a chunk */
    int threads;
    double seconds;
    struct worker *workers;
    struct gate warm, go;
    pthread_mutex_t lock;
    pthread_cond_t wake, rest;
    int round, busy; /* these three under the lock */
    bool over;
};

const char *yp_ceiling_name(enum yp_ceiling ceiling)
{
    static const char *const names[YP_CEILINGS] = {"none",
                                                   "read",
                                                   "copy",
                                                   "fill",
                                                   "fp64",
                                                   "fp32",
                                                   "bf16",
                                                   "int8",
                                                   "int32",
                                                   "tf32",
                                                   "fp16",
                                                   "fp8",
                                                   "upload",
                                                   "download",
                                                   "upload pageable",
                                                   "download pageable",
                                                   "launch",
                                                   "all-reduce",
                                                   "all-gather",
                                                   "reduce-scatter",
                                                   "point to point"};
    return ceiling < YP_CEILINGS ? names[ceiling] : "?";
}

/* -- one thread's part --------------------------------------------------------------------- */

/* Operations, or bytes moved. */
static double run_chunk(struct worker *w)
{
    const struct ypi_probe *p = w->probe;
    struct ypi_kernel_work work = {.steps = CHUNK_STEPS, .bytes = p->chunk, .passes = p->passes};
    if (!ypi_is_memory_traffic(p->ceiling)) {
        p->kernel->run(&work);
        return CHUNK_STEPS * p->kernel->amount;
    }
    /* What the last run left is the oldest in the caches, or out of them. */
    if (w->at + p->chunk > p->buffer)
        w->at = 0;
    work.from = w->from != NULL ? w->from + w->at : NULL;
    work.to = w->to != NULL ? w->to + w->at : NULL;
    p->kernel->run(&work);
    w->at += p->chunk;
    return (double)(p->chunk * p->passes) * p->kernel->amount;
}

static double pass_gate(struct gate *gate, int threads)
{
    double opened = 0;
    if (atomic_fetch_add(&gate->arrived, 1) + 1 == threads)
        atomic_store(&gate->opened, ypi_now());
    while ((opened = atomic_load(&gate->opened)) <= 0)
        sched_yield();
    return opened;
}

static void warm_up(struct worker *w)
{
    const struct ypi_probe *p = w->probe;
    double end = pass_gate(&w->probe->warm, p->threads) + WARM_UP * p->seconds;
    size_t missing = p->cached ? p->buffer : 0;
    do {
        run_chunk(w);
        missing -= missing < p->chunk ? missing : p->chunk;
    } while (missing > 0 || ypi_now() < end);
}

static void work(struct worker *w)
{
    warm_up(w);
    double end = pass_gate(&w->probe->go, w->probe->threads) + w->probe->seconds;
    w->done = 0;
    w->begin = ypi_now();
    do {
        w->done += run_chunk(w);
        w->end = ypi_now();
    } while (w->end < end);
}

static char *get_buffer(size_t bytes)
{
    char *buffer = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (buffer == MAP_FAILED)
        return NULL;
    if (bytes >= HUGE_PAGE)
        madvise(buffer, bytes, MADV_HUGEPAGE);
    return buffer;
}

/* Called by the thread that will use them, so that they are near to it. */
static bool get_buffers(struct worker *w)
{
    const struct ypi_probe *p = w->probe;
    bool reads = p->ceiling == YP_READ || p->ceiling == YP_COPY;
    bool writes = p->ceiling == YP_FILL || p->ceiling == YP_COPY;
    if (reads && (w->from = get_buffer(p->buffer)) == NULL)
        return false;
    if (writes && (w->to = get_buffer(p->buffer)) == NULL)
        return false;
    /* No zeros: processors may be quicker with them. */
    uint64_t *words = (uint64_t *)(void *)w->from;
    for (size_t i = 0; reads && i < p->buffer / sizeof *words; i++)
        words[i] = (i + 1) * UINT64_C(0x9e3779b97f4a7c15);
    if (writes)
        memset(w->to, YPI_KERNEL_FILL, p->buffer);
    return true;
}

static void *live(void *argument)
{
    struct worker *w = argument;
    struct ypi_probe *p = w->probe;
    cpu_set_t own;
    CPU_ZERO(&own);
    CPU_SET((size_t)w->cpu, &own);
    sched_setaffinity(0, sizeof own, &own);
    ypi_touch_stack(); /* it goes to sleep after its probe is over */
    bool ready = get_buffers(w);
    int round = 0;
    pthread_mutex_lock(&p->lock);
    w->ready = ready;
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

static void run_on_threads(struct ypi_probe *p)
{
    pthread_mutex_lock(&p->lock);
    p->busy = p->threads;
    p->round++;
    pthread_cond_broadcast(&p->wake);
    while (p->busy > 0)
        pthread_cond_wait(&p->rest, &p->lock);
    pthread_mutex_unlock(&p->lock);
}

static void reset_gate(struct gate *gate)
{
    atomic_store(&gate->arrived, 0);
    atomic_store(&gate->opened, 0);
}

static double rate_of(const struct worker *workers, int count)
{
    double begin = INFINITY;
    double end = 0;
    double done = 0;
    for (int i = 0; i < count; i++) {
        begin = fmin(begin, workers[i].begin);
        end = fmax(end, workers[i].end);
        done += workers[i].done;
    }
    return done / (end - begin);
}

double ypi_probe_run(struct ypi_probe *p, double seconds)
{
    p->seconds = seconds > 0 ? seconds : 0;
    reset_gate(&p->warm);
    reset_gate(&p->go);
    if (p->threads == 1)
        work(&p->workers[0]);
    else
        run_on_threads(p);
    return rate_of(p->workers, p->threads);
}

static bool create_thread(struct worker *w)
{
    w->created = ypi_thread_begin(&w->thread, live, w, STACK_BYTES);
    return w->created;
}

/* False when a thread does not come to life, or has no memory. */
static bool start_threads(struct ypi_probe *p)
{
    int created = 0;
    bool ok = true;
    p->busy = p->threads;
    while (created < p->threads && create_thread(&p->workers[created]))
        created++;
    pthread_mutex_lock(&p->lock);
    p->busy -= p->threads - created;
    while (p->busy > 0)
        pthread_cond_wait(&p->rest, &p->lock);
    for (int i = 0; i < p->threads; i++)
        ok = ok && p->workers[i].ready;
    pthread_mutex_unlock(&p->lock);
    return ok;
}

static bool start(struct ypi_probe *p)
{
    return p->threads == 1 ? get_buffers(&p->workers[0]) : start_threads(p);
}

/* Bytes are moved quicker by vectors, or past the caches, or as the C library does it, depending on
 * the processor, on where they are and on how many threads do it at once. */
static void choose_kernel(struct ypi_probe *p, enum yp_isa isa)
{
    const struct ypi_kernel *candidates[CANDIDATES] = {
        ypi_kernel_best(p->ceiling, isa, false),
        ypi_kernel_best(p->ceiling, YP_ISA_BASELINE, false),
        p->cached ? NULL : ypi_kernel_best(p->ceiling, isa, true)};
    const struct ypi_kernel *best = candidates[0];
    double highest = 0;
    for (int i = 0; i < TRIALS * CANDIDATES && ypi_is_memory_traffic(p->ceiling); i++) {
        p->kernel = candidates[i % CANDIDATES];
        double rate = p->kernel != NULL ? ypi_probe_run(p, TRIAL_SECONDS) : 0;
        if (rate > highest) {
            highest = rate;
            best = p->kernel;
        }
    }
    p->kernel = best;
}

/* The buffers of a copy hold together what the one of the others holds. */
static void lay_out(struct ypi_probe *p, const struct ypi_level *level, const int *cpus)
{
    size_t bytes =
        ypi_is_memory_traffic(p->ceiling) ? level->working / (p->ceiling == YP_COPY ? 2 : 1) : 0;
    p->buffer = bytes > PAGE ? bytes / PAGE * PAGE : PAGE;
    p->chunk = p->buffer < CHUNK_BYTES ? p->buffer : CHUNK_BYTES;
    p->passes = CHUNK_BYTES / p->chunk;
    p->cached = ypi_is_memory_traffic(p->ceiling) && level->size > 0;
    for (int i = 0; i < p->threads; i++)
        p->workers[i] = (struct worker){.probe = p, .cpu = cpus[i]};
}

static bool check(enum yp_ceiling ceiling, const struct ypi_level *level, int threads,
                  enum yp_isa isa)
{
    if (ceiling <= YP_NO_CEILING || ceiling >= YP_CEILINGS)
        yp_set_error(YP_INVALID, "ceiling is %d: allowed are %d to %d", (int)ceiling,
                     YP_NO_CEILING + 1, YP_CEILINGS - 1);
    else if ((int)ceiling >= (int)YPI_CPU_CEILINGS)
        yp_set_error(YP_UNSUPPORTED, "ceiling is %s: processors have none",
                     yp_ceiling_name(ceiling));
    else if (ypi_is_memory_traffic(ceiling) && level == NULL)
        yp_set_error(YP_INVALID, "level is NULL: the probe of %s needs a level of memory",
                     yp_ceiling_name(ceiling));
    else if (threads < 0)
        yp_set_error(YP_INVALID, "threads is %d: allowed is 0, for all, and more", threads);
    else if (isa >= YP_ISAS)
        yp_set_error(YP_INVALID, "isa is %d: allowed are 0 to %d", (int)isa, YP_ISAS - 1);
    else
        return true;
    return false;
}

struct ypi_probe *ypi_probe_open(enum yp_ceiling ceiling, const struct ypi_level *level,
                                 int threads, enum yp_isa isa)
{
    int allowed = 0;
    if (!check(ceiling, level, threads, isa))
        return NULL;
    const int *cpus = ypi_own_processors(&allowed);
    if (allowed == 0)
        allowed = 1; /* which is then the calling thread's, whatever that is */
    struct ypi_probe *p = calloc(1, sizeof *p);
    threads = threads > 0 && threads < allowed ? threads : allowed;
    if (p != NULL)
        p->workers = calloc((size_t)threads, sizeof *p->workers);
    if (p == NULL || p->workers == NULL) {
        yp_set_error(YP_OUT_OF_MEMORY, "out of memory: a probe of %s", yp_ceiling_name(ceiling));
        free(p);
        return NULL;
    }
    p->ceiling = ceiling;
    p->threads = threads;
    pthread_mutex_init(&p->lock, NULL);
    pthread_cond_init(&p->wake, NULL);
    pthread_cond_init(&p->rest, NULL);
    lay_out(p, level, cpus);
    if (!start(p)) {
        yp_set_error(YP_OUT_OF_MEMORY, "out of memory: a probe of %s: %d threads with %zu bytes",
                     yp_ceiling_name(ceiling), threads, ypi_probe_bytes(p) / (size_t)threads);
        ypi_probe_close(p);
        return NULL;
    }
    choose_kernel(p, isa < yp_isa() ? isa : yp_isa());
    return p;
}

size_t ypi_probe_bytes(const struct ypi_probe *p)
{
    size_t buffers = ypi_is_memory_traffic(p->ceiling) ? 1 : 0;
    if (p->ceiling == YP_COPY)
        buffers = 2;
    return (size_t)p->threads * p->buffer * buffers;
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
        if (w->created)
            pthread_join(w->thread, NULL);
        if (w->from != NULL)
            munmap(w->from, p->buffer);
        if (w->to != NULL)
            munmap(w->to, p->buffer);
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
    return levels[count - 1].total / 2; /* twice all caches of the largest level */
}

void ypi_cache_flush(void *scratch)
{
    enum { LINE = 64 };
    volatile char *bytes = scratch;
    size_t count = ypi_cache_flush_bytes();
    for (size_t i = 0; i < count; i += LINE)
        bytes[i]++; /* every line is fetched and made dirty */
}

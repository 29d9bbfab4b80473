/* The loader's workers: what they do, and which processors they are on. */
#include "models/data/loader_internal.h"

#include "base/system/clock.h"

#include <dirent.h>
#include <errno.h>
#include <sched.h>
#include <stdlib.h>

static bool may_make(const struct data_loader *l)
{
    return l->ahead < l->depth && l->begun_count < l->o.items && !l->rewinding;
}

static void wait_for_space(struct ypi_loader_worker *w)
{
    struct data_loader *l = w->loader;
    if (l->begun_count < l->o.items && !l->rewinding)
        w->waits_since = ypi_now();
    pthread_cond_wait(&l->space, &l->lock);
    ypi_loader_stop_clock(w);
}

static void *work(void *arg)
{
    struct ypi_loader_worker *w = arg;
    struct data_loader *l = w->loader;
    pthread_mutex_lock(&l->lock);
    while (!l->closing) {
        if (!may_make(l)) {
            wait_for_space(w);
            continue;
        }
        size_t at = ypi_loader_begin(l, ypi_loader_next(l), YPI_MAKING);
        l->ahead++;
        l->making++;
        pthread_mutex_unlock(&l->lock);
        double seconds = ypi_loader_make(l, at);
        pthread_mutex_lock(&l->lock);
        l->making--;
        l->seen.made++;
        l->seen.worker_making += seconds;
        l->slots[at].state = YPI_READY;
        pthread_cond_broadcast(&l->made);
    }
    pthread_mutex_unlock(&l->lock);
    return NULL;
}

struct cpus {
    cpu_set_t sets[YPI_LOADER_CPUS / CPU_SETSIZE];
};

/* The processors that any thread of the process may use, ascending: the calling thread may be bound
 * to one. Returns how many there are. */
static size_t allowed_cpus(int out[YPI_LOADER_CPUS])
{
    struct cpus all = {0};
    struct cpus one = {0};
    DIR *tasks = opendir("/proc/self/task");
    const struct dirent *entry = NULL;
    while (tasks != NULL && (entry = readdir(tasks)) != NULL) { /* NOLINT(concurrency-mt-unsafe) */
        pid_t task = (pid_t)strtol(entry->d_name, NULL, 10);
        if (task > 0 && sched_getaffinity(task, sizeof one, one.sets) == 0)
            CPU_OR_S(sizeof all, all.sets, all.sets, one.sets);
    }
    if (tasks != NULL)
        closedir(tasks);
    size_t count = 0;
    for (int cpu = 0; cpu < YPI_LOADER_CPUS; cpu++)
        if (CPU_ISSET_S((size_t)cpu, sizeof all, all.sets))
            out[count++] = cpu;
    return count;
}

/* As pthread_create, on `cpu`; -1: wherever the system puts it. */
static int start(struct ypi_loader_worker *w, int cpu)
{
    pthread_attr_t attributes;
    int failure = pthread_attr_init(&attributes);
    if (failure != 0)
        return failure;
    struct cpus one = {0};
    if (cpu >= 0) {
        CPU_SET_S((size_t)cpu, sizeof one, one.sets);
        failure = pthread_attr_setaffinity_np(&attributes, sizeof one, one.sets);
    }
    if (failure == 0)
        failure = pthread_create(&w->thread, &attributes, work, w);
    pthread_attr_destroy(&attributes);
    return failure;
}

enum yp_status ypi_loader_start(struct data_loader *l)
{
    int allowed[YPI_LOADER_CPUS];
    const int *cpus = l->o.cpus;
    size_t count = l->o.cpu_count;
    if (cpus == NULL && l->o.workers > 1 && (count = allowed_cpus(allowed)) > 1)
        cpus = allowed;
    for (int i = 0; i < l->o.workers; i++) {
        struct ypi_loader_worker *w = &l->worker[i];
        *w = (struct ypi_loader_worker){.loader = l};
        int cpu = cpus != NULL ? cpus[(size_t)i % count] : -1, failure = start(w, cpu);
        if (failure == EINVAL && l->o.cpus != NULL)
            return yp_set_error(YP_INVALID,
                                "data_loader_options.cpus[%zu] is %d: must be a processor that "
                                "this process may use",
                                (size_t)i % count, cpu);
        if (failure == EINVAL && cpu >= 0) /* taken from the process since it was asked for */
            failure = start(w, cpu = -1);
        if (failure != 0)
            break;
        pthread_mutex_lock(&l->lock); /* those before it look */
        l->workers++;
        l->seen.bound += cpu >= 0;
        pthread_mutex_unlock(&l->lock);
    }
    return YP_OK;
}
